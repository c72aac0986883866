"""What ``policy.yaml`` asks for, read a second time: columns, requirements, and what adversaries know.

Three ways to write a requirement::

    - k-anonymity: {k: 5}                                  # given all quasi-identifiers, hiding all sensitive columns
    - {given: [hospital], hide: zip, by: {l-diversity: {l: 2}}}
    - "age, icd9 -> race : 3-diversity"                    # no value above a share of 1/3

Invariants
    I1  Every scalar stays the text that was written; nothing is turned into a truth value, a number or a day on the
        way.
    I2  A duplicate key is refused: another reader may take the other value and judge another requirement.
    I3  *Given* defaults to the published quasi-identifiers; *hide*, for models that speak of values, to the published
        sensitive columns. A model of all releases together hides sensitive columns also where this release leaves them
        out.

>>> columns = {"age": WrittenColumn("quasi-identifier", True), "illness": WrittenColumn("sensitive", True)}
>>> columns["zip"] = WrittenColumn("quasi-identifier", False)
>>> asked = read_claim({"p-sensitivity": {"p": "2"}}, columns)
>>> asked.given, asked.hide, asked.level
(('age',), ('illness',), {'p': '2'})
>>> asked = read_claim("age -> illness, ward : 3-diversity", columns)
>>> asked.hide, asked.level, asked.composite
(('illness', 'ward'), {'l': '3', 'kind': 'frequency'}, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sfumato.audit.recount.definitions import DEFINITIONS
from sfumato.core.errors import ReleaseError

_SHORT = {
    "anonymity": ("k-anonymity", "k", {}),
    "sensitivity": ("p-sensitivity", "p", {}),
    "diversity": ("l-diversity", "l", {"kind": "frequency"}),
    "closeness": ("t-closeness", "t", {}),
}
UNKNOWN = "a claim"
"""Stands for the model of a short claim whose word is none of these."""
_NO = {"false", "no", "off", "n", "f", "0"}


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """Role of a column, and whether it is in the release."""

    role: str
    published: bool
    hierarchy: Any = None
    """What is said of how it may be made coarser, as it is written."""


@dataclass(frozen=True, slots=True)
class WrittenRequirement:
    """One requirement as the policy asks for it."""

    model: str
    given: tuple[str, ...]
    hide: tuple[str, ...]
    level: Mapping[str, Any]
    composite: bool = False
    """Whether only the combination of the sensitive columns is protected."""


@dataclass(frozen=True, slots=True)
class WrittenPolicy:
    """The parts of the policy that the recount needs."""

    columns: Mapping[str, WrittenColumn]
    asked: tuple[WrittenRequirement, ...]
    population: Mapping[str, str] = field(default_factory=dict)
    """What is said of the population, as it is written."""
    knows: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()
    """What adversaries know: (given, determined) columns."""


_Reader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where it is there. It takes most texts apart for `policy.yaml_document`, too; what the pieces mean is decided
here once more."""


class _Plain(_Reader):  # type: ignore[misc]
    """Mappings, lists, text and nothing (I1)."""


def _text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(node.value)


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
    pairs = [(str(key.value), loader.construct_object(value, deep=True)) for key, value in node.value]
    if len({key for key, _ in pairs}) < len(pairs):  # I2
        raise yaml.YAMLError("a key stands twice")
    return dict(pairs)


for _kind in ("bool", "int", "float", "timestamp", "binary", "merge", "value"):
    _Plain.add_constructor(f"tag:yaml.org,2002:{_kind}", _text)
_Plain.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_policy(file: Path) -> WrittenPolicy:
    """The policy in a file."""
    try:
        tree = yaml.load(file.read_text(encoding="utf-8-sig"), Loader=_Plain)  # noqa: S506 - a safe loader
        columns = {name: _column(entry) for name, entry in (tree.get("columns") or {}).items()}
        asked = tuple(read_claim(entry, columns) for entry in tree.get("protect") or ())
        knows = tuple(_arrow(text) for text in _names(tree.get("knows"), ()))
        return WrittenPolicy(columns, asked, dict(tree.get("population") or {}), knows)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError, ValueError, RecursionError):
        raise ReleaseError(f"{file.name} cannot be read") from None


def _column(entry: Any) -> WrittenColumn:
    if isinstance(entry, str):
        return WrittenColumn(entry, True)
    return WrittenColumn(
        str(entry["role"]), str(entry.get("publish", "true")).lower() not in _NO, entry.get("hierarchy")
    )


def read_claim(entry: Any, columns: Mapping[str, WrittenColumn]) -> WrittenRequirement:
    """One entry under ``protect``."""
    if isinstance(entry, str):
        return _short(entry)
    given, hide = _published(columns, "quasi-identifier"), _published(columns, "sensitive")
    explicit = not entry.keys().isdisjoint(("given", "hide", "by"))
    ((model, level),) = (entry["by"] if explicit else entry).items()
    known = DEFINITIONS.get(model)
    if explicit:
        given, hidden = _names(entry.get("given"), given), _names(entry.get("hide"), hide)
    else:
        hidden = hide if known is None or known.hides else ()
    if known is not None and known.joint and not hidden:  # I3
        hidden = tuple(name for name, column in columns.items() if column.role == "sensitive")
    return WrittenRequirement(model, given, hidden, dict(level or {}), explicit and "hide" in entry and len(hidden) > 1)


def _short(text: str) -> WrittenRequirement:
    sides, _, by = text.rpartition(":")
    given, hide = _arrow_sides(sides)
    level, _, word = by.strip().partition("-")
    if word not in _SHORT:
        return WrittenRequirement(UNKNOWN, given, hide, {})
    model, parameter, fixed = _SHORT[word]
    return WrittenRequirement(model, given, hide, {parameter: level, **fixed}, len(hide) > 1)


def _arrow(text: str) -> tuple[frozenset[str], frozenset[str]]:
    given, determined = _arrow_sides(text.replace("→", "->"))
    return frozenset(given), frozenset(determined)


def _arrow_sides(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    left, arrow, right = text.partition("->")
    if not arrow:
        raise ValueError("an arrow is missing")
    one, other = ([name.strip() for name in side.split(",") if name.strip()] for side in (left, right))
    return tuple(one), tuple(other)


def _published(columns: Mapping[str, WrittenColumn], role: str) -> tuple[str, ...]:
    return tuple(name for name, column in columns.items() if column.role == role and column.published)


def _names(value: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    if value is None:
        return default
    return (value,) if isinstance(value, str) else tuple(value)
