"""A policy file edited piece by piece: comments, order and quoting stay where they are.

The file is the only state: every page reads it, every edit writes it. Who edits says which text they saw (`digest`); when the file
has changed since, in another tab or in an editor, the edit is refused instead of undoing what somebody else wrote.

>>> text = "version: 1  # first\\ncolumns:\\n  age: other  # years\\n"
>>> print(edited(text, ("columns", "age"), {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}), end="")
version: 1  # first
columns:
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10]}} # years
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import SingleQuotedScalarString

from sfumato.errors import PolicyError
from sfumato.policy.read import parse_yaml

Path = Sequence[str | int]
_ONE_LINE = 90
_NOTHING = ("null", "~", "")
"""Words that YAML takes for nothing unless they are quoted."""
REMOVE = object()
"""Given as a value: take the entry out."""


def digest(text: str) -> str:
    """A short name of a text: which version of a policy somebody saw."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def edited(text: str, path: Path, value: Any) -> str:
    """The text with one entry set (or removed); everything else as it was written."""
    parse_yaml(text, name="policy")  # the strict reader bounds depth and size before anything else looks at it
    tree = _load(text)
    node = tree
    for at, part in enumerate(path[:-1]):
        node = _child(node, part, [] if isinstance(path[at + 1], int) else {})
    last = path[-1]
    if value is REMOVE:
        if isinstance(node, CommentedMap):
            node.pop(last, None)
        elif isinstance(last, int) and last < len(node):
            del node[last]
    elif isinstance(node, CommentedSeq) and isinstance(last, int) and last >= len(node):
        node.append(_plain(value))
    else:
        _set(node, last, _plain(value))
    return _dump(tree)


def _child(node: Any, part: str | int, empty: Any) -> Any:
    """The entry below, made when it is not there; a scalar (``age: other``, ``data: people.csv``) opens into a mapping."""
    if isinstance(node, CommentedMap) and (part not in node or node[part] is None):
        _set(node, part, _plain(empty))
    if isinstance(node, CommentedMap) and isinstance(node[part], str) and isinstance(empty, dict):
        _set(node, part, _plain({"source" if part == "data" else "role": node[part]}))
    return node[part]


def _set(node: Any, key: Any, value: Any) -> None:
    """Set an entry and keep the comment that stands beside it."""
    comment = node.ca.items.get(key)
    node[key] = value
    if comment is not None:
        node.ca.items[key] = comment


def _plain(value: Any) -> Any:
    """Values as the writer wants them: scalars as text (the strict reader knows nothing else), what is short on one line."""
    if not isinstance(value, dict | list | tuple):
        return SingleQuotedScalarString(value) if str(value).lower() in _NOTHING else str(value)
    node: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        node = CommentedMap({str(key): _plain(entry) for key, entry in value.items()})
    else:
        node = CommentedSeq([_plain(entry) for entry in value])
    if len(json.dumps(value)) <= _ONE_LINE:
        node.fa.set_flow_style()
    return node


class _AllText(VersionedResolver):
    """Takes no scalar for a number, a date or a truth value."""

    @property
    def versioned_resolver(self) -> Any:
        return {}


def _writer() -> YAML:
    writer = YAML(typ="rt")
    writer.Resolver = _AllText  # 01234 and NO are texts and stay as they are written
    writer.preserve_quotes = True
    writer.width = 120
    writer.indent(mapping=2, sequence=4, offset=2)
    return writer


def _load(text: str) -> Any:
    try:
        return _writer().load(text)
    except YAMLError:
        raise PolicyError("not valid YAML", where="policy", hint="check indentation and quotes") from None


def _dump(tree: Any) -> str:
    out = io.StringIO()
    _writer().dump(tree, out)
    return out.getvalue()
