"""Foreign keys: a column whose every value is a key of some table, by name, by kind and by containment.

Small whole numbers from 1 upwards are contained in every numbered table, so containment alone proves nothing there. Three things
are added up: what containment proves, what the names say (`names.kinship`) and how much of the parent is used.

Notation
    chance  that all d distinct values are keys of the parent when drawn from what they could have been: whole numbers from 0 to
            the largest one, or all texts of that length (at most 8) over 36 signs; (share of these that are keys) ^ d
    cover   −2 · (share of the parent's keys that occur), part of the weight

Departures
    For every column only the best parent is proposed. References of several columns are taken from the schema, never guessed.
    A column without any value, or of an empty table, is proposed by its name and switched off: no row speaks for it.

Cost: columns × keys of the same kind; most pairs end at the smallest and largest value, or at the first value that is no key.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> tables = {"artist": Table(pa.table({"id": ["1", "2", "3"]})), "album": Table(pa.table({"artist_id": ["1", "1", "2", "3"]}))}
>>> [each.rule for each in ForeignKeys().propose(DataView.of(tables))]
['album.artist_id references artist.id']
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sfumato.data.words import words
from sfumato.discover.names import HIGHER, TWIN, kinship, stem
from sfumato.discover.personal import names_people
from sfumato.discover.proposal import Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.templates.keys import usable
from sfumato.discover.view import ColumnView, DataView

_COVER = -2.0
_LISTED = -5.0
_SIGNS = 36


class ForeignKeys(Template):
    """`child.column references parent.key`."""

    name: ClassVar[str] = "foreign keys"
    order: ClassVar[int] = 20

    def propose(self, view: DataView) -> Iterator[Proposal]:
        if len(view.tables()) < 2 and None in view.tables():
            return
        parents = [_Parent(key, _is_people(view, key)) for key in view.columns if _is_parent(key)]
        best = [link for column in view.columns if (link := _best(column, parents))]
        main = {link.ends: link.parent.column for link in best if link.related <= HIGHER}
        for link in best:
            copy = link.related > HIGHER and main.get(link.ends) not in (None, link.parent.column)
            if not copy:
                view.link(link.child, link.parent.column)
            if link.parent.people and len(link.ends) == 2:
                view.naming.add(link.child)
            yield link.proposal(copy=copy)
        yield from _unspoken(view)


@dataclass(frozen=True)
class _Parent:
    column: ColumnView
    people: bool


@dataclass(frozen=True)
class _Link:
    child: ColumnView
    parent: _Parent
    chance: float
    related: float

    @property
    def ends(self) -> frozenset[str | None]:
        return frozenset((self.child.table, self.parent.column.table))

    @property
    def weight(self) -> float:
        return self.related + _COVER * len(self.child.values) / len(self.parent.column.values)

    def proposal(self, *, copy: bool) -> Proposal:
        off = "a copy of what another reference to that table already gives" if copy else ""
        rule = f"{self.child} references {self.parent.column}"
        return Proposal(rule, ForeignKeys.name, self.child.known, self.chance, self.weight, off=off)


def _is_parent(column: ColumnView) -> bool:
    return column.is_key and usable(column) and _counts_or_names(column)


def _counts_or_names(column: ColumnView) -> bool:
    return column.unit == "text" or (column.unit == "number" and column.exact and column.scale == 1)


def _is_people(view: DataView, key: ColumnView) -> bool:
    return any(names_people(column.words) for column in view.tables()[key.table])


def _best(child: ColumnView, parents: list[_Parent]) -> _Link | None:
    """The parent for which most speaks, if enough does."""
    if not usable(child) or not _counts_or_names(child) or _is_own_key(child):
        return None
    links = [_link(child, parent) for parent in parents if parent.column is not child and _contained(child, parent.column)]
    found = min(links, key=lambda link: link.chance + link.weight, default=None)
    return found if found is not None and found.chance + found.weight <= _LISTED else None


def _is_own_key(child: ColumnView) -> bool:
    """`customer.customer_id`, `customer.id`: what numbers the rows of its own table points nowhere."""
    return child.is_key and "".join(stem(child.words)) in ("", "".join(words(child.table or "")))


def _contained(child: ColumnView, parent: ColumnView) -> bool:
    if parent.unit not in (child.unit, "text") or len(child.values) > len(parent.values):
        return False
    if child.table == parent.table and child.is_key:
        return False
    return child.values[0] in parent.value_set and child.value_set <= parent.value_set


def _link(child: ColumnView, parent: _Parent) -> _Link:
    key = parent.column
    related = kinship(child.words, child.table or "", key.words, key.table or "", people=parent.people)
    return _Link(child, parent, len(child.values) * math.log10(_share(child, key)) if child.values else 0.0, related)


def _share(child: ColumnView, key: ColumnView) -> float:
    """The share of keys among the values that a column of this kind could have had."""
    if key.unit == "number":
        top = int(child.levels.max())
        inside = int(((key.levels >= min(0, int(child.levels.min()))) & (key.levels <= top)).sum())
        return min(1.0, inside / max(top - min(0, int(child.levels.min())) + 1, 1))
    length = min(max(map(len, key.values)), 8)
    return min(1.0, len(key.values) / float(_SIGNS**length))


def _unspoken(view: DataView) -> Iterator[Proposal]:
    """Columns without values whose names alone point at a table."""
    named = [_Parent(columns[0], False) for columns in view.tables().values() if columns[0].is_key or not columns[0].rows]
    for child in view.columns:
        if child.values or _names_itself(child):
            continue
        links = [_link(child, parent) for parent in named if parent.column.table != child.table]
        best = min(links, key=lambda link: link.related, default=None)
        if best is not None and best.related <= TWIN:
            off = "no row speaks for it, only the name"
            yield Proposal(f"{child} references {best.parent.column}", ForeignKeys.name, 0, 0.0, best.related, off=off)


def _names_itself(child: ColumnView) -> bool:
    return "".join(stem(child.words)) == "".join(words(child.table or ""))
