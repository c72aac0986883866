"""The policy as it may be shown: without sources, ledger, keys or paths, with the hierarchies it names beside it."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.data.hierarchy import Hierarchy
from sfumato.io.coding import is_coded, with_table
from sfumato.io.hierarchies import build_generalization, is_standing, save_hierarchy
from sfumato.policy.policy import Policy
from sfumato.policy.read import write_yaml

_PRIVATE = ("ledger", "key")


def write_public_policy(policy: Policy, method: Mapping[str, Any], folder: Path) -> None:
    """``policy.yaml`` and ``hierarchies/`` in a release folder."""
    (folder / "policy.yaml").write_text(public_policy(policy, method, folder), encoding="utf-8")


def public_policy(policy: Policy, method: Mapping[str, Any], folder: Path | None = None) -> str:
    """The text of ``policy.yaml``; hierarchies are written beside it when there is a folder."""
    tree = {key: copy.deepcopy(value) for key, value in policy.document.tree.items() if key not in _PRIVATE}
    tree["data"] = {"kind": policy.data.name} | _shown(policy)
    if policy.columns:
        tree["columns"] = {name: _column(policy, name, folder) for name in policy.columns}
    if policy.population is not None:
        tree["population"] = policy.population.shown()
    tree["method"] = dict(method)
    return write_yaml(_texts(tree))


def _shown(policy: Policy) -> dict[str, Any]:
    values = policy.data.model_dump(exclude_defaults=True)
    if values.get("people"):  # that there was such a table, not where it lay
        values["people"] = "people"
    return {key: value for key, value in values.items() if key not in policy.data.private}


def _column(policy: Policy, name: str, folder: Path | None) -> Any:
    column = policy.columns[name]
    entry = {key: value for key, value in column.model_dump().items() if key in column.model_fields_set and value is not None}
    spec = column.hierarchy
    if folder is not None and is_standing(spec) and not isinstance(spec, Mapping):
        entry["hierarchy"] = _copied(policy, name, folder)
    if is_coded(spec):
        entry["hierarchy"] = with_table(spec, policy.base)
    return entry["role"] if set(entry) == {"role"} else entry


def _copied(policy: Policy, name: str, folder: Path) -> str:
    """The hierarchy as a file of the release; it comes from the data holder's files, not from the data."""
    hierarchy = build_generalization(policy.columns[name].hierarchy, [], column=name, base=policy.base)
    file = folder / "hierarchies" / f"{list(policy.columns).index(name) + 1}-{re.sub(r'[^A-Za-z0-9_-]', '_', name)}.csv"
    file.parent.mkdir(exist_ok=True)
    if isinstance(hierarchy, Hierarchy):
        save_hierarchy(hierarchy, file)
    return file.relative_to(folder).as_posix()


def _texts(value: Any) -> Any:
    """Plain mappings, lists and scalars only."""
    if isinstance(value, Mapping):
        return {str(key): _texts(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
