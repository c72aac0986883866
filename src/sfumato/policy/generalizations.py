"""From what a policy says about a column, and the values met in it, to how the column may be generalized.

A hierarchy over many values costs seconds to build, and several onlookers ask for the same one. What was built is kept,
under everything it depends on: the entry of the policy, the content of the file it names, the boundary, and the values.

Invariants
    I1  Two requests get the same object only when nothing they depend on differs.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json.encoder import encode_basestring as quoted
from pathlib import Path
from typing import Any

from sfumato.core.confinement import declared_path
from sfumato.core.errors import PolicyError
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.io.file_contents import is_there
from sfumato.io.hierarchy_files import build_generalization, is_standing, level_number
from sfumato.io.value_coding import is_coded, with_table
from sfumato.policy.policy import Policy, boundary_place

_KEPT: OrderedDict[tuple[Any, ...], tuple[Any, Generalization]] = OrderedDict()
_MOST = 48


def generalization_of(policy: Policy, name: str, values: Sequence[str]) -> Generalization:
    """How a quasi-identifier may be generalized; `values` are the distinct original values."""
    column = policy.columns[name]
    key = (_said(column.hierarchy, policy.base), _written(column.boundary), name, tuple(values))  # I1
    if key not in _KEPT:
        _KEPT[key] = (
            column.hierarchy,
            _built(policy, name, values),
        )  # an object that is kept cannot lend its number to another
        while len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    _KEPT.move_to_end(key)
    return _KEPT[key][1]


def _said(spec: Any, base: Path) -> str:
    """The entry of the policy in a form that can be compared; of a file its content, of a tree made in code the tree
    itself."""
    if isinstance(spec, str | Path) and is_standing(spec):
        file = declared_path(base, spec)
        return "file " + (hashlib.sha256(file.read_bytes()).hexdigest() if is_there(file) else str(file))
    if is_coded(spec):
        return _written(with_table(spec, base))
    if isinstance(spec, Generalization):
        return f"object {id(spec)}"
    return _written(spec)


def _written(entry: Any) -> str:
    """The same text for an entry built in code and for the one that a file says: 5 and "5" mean the same width."""
    if isinstance(entry, Mapping):
        return "{" + ",".join(f"{quoted(str(key))}:{_written(value)}" for key, value in entry.items()) + "}"
    if isinstance(entry, list | tuple):
        return "[" + ",".join(map(_written, entry)) + "]"
    return "null" if entry is None else quoted(str(entry))


def _built(policy: Policy, name: str, values: Sequence[str]) -> Generalization:
    column = policy.columns[name]
    try:
        domain = build_generalization(column.hierarchy, values, column=name, base=policy.base)
    except PolicyError as error:
        raise PolicyError(error.what, where=error.where or _where(policy, name, "hierarchy"), hint=error.hint) from None
    if column.boundary is None or not isinstance(domain, Hierarchy):
        return domain
    where = boundary_place(policy.document, name)
    if isinstance(column.boundary, dict):
        level = column.boundary.get("level", -1)
        number = level if isinstance(level, int) else level_number(column.hierarchy, level, values, column=name)
        return domain.bounded_at(number, where=where)
    return domain.bounded(column.boundary, where=where)


def _where(policy: Policy, name: str, key: str) -> str:
    return policy.document.where("columns", name, key)


def keep_generalizations(policy: Policy) -> Policy:
    """The same policy with its hierarchy files read in, so that it no longer needs the folder it came from."""
    columns = {}
    for name, column in policy.columns.items():
        spec = column.hierarchy
        if is_standing(spec):
            spec = build_generalization(spec, [], column=name, base=policy.base)
        spec = with_table(spec, policy.base)
        columns[name] = column.model_copy(update={"hierarchy": spec})
    return replace(policy, columns=columns)
