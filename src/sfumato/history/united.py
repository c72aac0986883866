"""Joint classes for outsiders who do not know who is in which release: people who came or left later may trade places, too.

Guarantee
    Two joint classes are united when each of them, wherever it is absent from a table and the other is not, has only people whose
    values the other's cells cover, and they look alike wherever both are present. Then any two of their people may trade all
    their rows of the bundle, being absent included, and nobody who does not know who is in which release can tell. All classes of
    a union must agree in pairs, so every permutation of its people is possible.
    Of somebody of whom a column was never told only a cell that says nothing (``*``) is known to cover them.
    Each table is judged by the people of the union who stand in it: an outsider may still know that somebody is in one release.

Paper: the unifying view of [sequential §6]; the outsider who knows more is the default.

Notation
    hull   of a class in a column: the smallest interval of leaves around the values of its people; a cell that is an interval
           covers all of them exactly when it covers the hull
    look   what a class, or a union, looks like in a table of the bundle, in the columns that make the class; −1 where it is absent

Cost: classes × tables; those without a number of a lineage, or whose number is wrong, also the unions that are tried for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.hierarchy import ROOT
from sfumato.history.bundles import Bundles
from sfumato.history.joint import Joint
from sfumato.history.people_sheet import PeopleSheet
from sfumato.history.values import LeafValues

_TRIED = 200
"""Unions that are looked at for one class before it stays by itself."""
_FAR = np.iinfo(np.int64).max


def united_classes(bundles: Bundles, joint: Joint) -> Joint:
    """The joint classes with those united that only their presence tells apart.

    Where memories number lineages, people of one number are tried with each other and with nobody else; a number that unites
    people who cannot trade places is not believed.
    """
    if not len(joint.signs):
        return joint
    named = np.where(joint.of >= 0, bundles.lineage, -1)
    finer = group([joint.of + 1, named + 1])
    of = np.where(joint.of >= 0, finer.of, -1)
    kept, of[joint.of >= 0] = np.unique(of[joint.of >= 0], return_inverse=True)
    person = finer.first[kept]
    looks = _ClassLooks(bundles, joint, of, person)
    if all((table.look >= 0).all() for table in looks.tables):
        return joint
    union = _Unions(looks, named[person], np.bincount(of[of >= 0])).unions()
    return replace(joint, of=np.where(of >= 0, union[of], -1), mixed=True)


@dataclass(frozen=True)
class _TableLooks:
    """What classes look like in one table."""

    look: IntArray
    """Per class, −1 where it is absent."""
    cells: list[tuple[int, IntArray, IntArray]]
    """Per column that makes the classes: its place, and each class's cell as an interval of leaves."""

    def covers(self, at: IntArray, lo: IntArray, hi: IntArray) -> BoolArray:
        """Whether the cells of these classes cover these hulls."""
        fine = np.ones(len(at), dtype=np.bool_)
        for column, low, high in self.cells:
            fine &= (low[at] <= lo[:, column]) & (hi[:, column] <= high[at])
        return fine


class _ClassLooks:
    """Per class the hull of its people's values, and what it looks like in every table."""

    def __init__(self, bundles: Bundles, joint: Joint, of: IntArray, person: IntArray) -> None:
        names = sorted({name for some in joint.names for name in some})
        self.column = {name: place for place, name in enumerate(names)}
        self.values = LeafValues(bundles)
        self.lo, self.hi = self._hulls(names, of, len(person))
        self.tables = list(self._tables(joint, person))
        self.looks = np.stack([table.look for table in self.tables], axis=1)

    def _hulls(self, names: list[str], of: IntArray, count: int) -> tuple[IntArray, IntArray]:
        lo, hi = np.zeros((count, len(names)), dtype=np.int64), np.zeros((count, len(names)), dtype=np.int64)
        inside = of >= 0
        for place, name in enumerate(names):
            codes = self.values.codes(name)[inside]
            pairs = group([of[inside], codes + 1])
            classes, codes = of[inside][pairs.first], codes[pairs.first]
            low, high = np.full(count, _FAR), np.full(count, -1)
            np.minimum.at(low, classes, codes)
            np.maximum.at(high, classes, codes + 1)
            lo[:, place], hi[:, place] = low, np.where(low < 0, _FAR, high)  # what nobody remembers lies anywhere
        return lo, hi

    def _tables(self, joint: Joint, person: IntArray) -> Iterator[_TableLooks]:
        for sheet, names in zip(joint.sheets, joint.names, strict=True):
            code = {name: sheet.cells[name][person] for name in (names or [next(iter(sheet.cells))])}
            for place, release in enumerate(sheet.releases):
                said = {name: np.where(mine >= 0, sheet.said(name)[mine, place], -1) for name, mine in code.items()}
                there = next(iter(said.values())) >= 0
                look = np.full(len(person), -1, dtype=np.int64)
                look[there] = group([said[name][there] for name in names], rows=int(there.sum())).of
                cells = []
                for name in names:
                    low, high = self._intervals(sheet, name, release)
                    cells.append((self.column[name], low[said[name]], high[said[name]]))
                yield _TableLooks(look, cells)

    def _intervals(self, sheet: PeopleSheet, name: str, release: int) -> tuple[IntArray, IntArray]:
        """The leaves behind every label of a column; one that says nothing also covers what nobody remembers."""
        low, high = self.values.intervals(sheet, name, release)
        mute = np.array([label == ROOT for label in sheet.labels[name]], dtype=np.bool_)
        mute &= (low == 0) & (high == self.values.domain(name).size)
        return np.where(mute, -1, low), np.where(mute, _FAR, high)


class _Unions:
    """Classes that are joined to unions: those of one number at once where they agree, the others one by one."""

    def __init__(self, looks: _ClassLooks, named: IntArray, size: IntArray) -> None:
        self.looks, self.named, self.size = looks, named, size
        self.of_number: dict[int, list[int]] = defaultdict(list)
        self.count = 0
        self.look = np.full_like(looks.looks, -1)
        self.cell = np.zeros_like(looks.looks)
        """Per union and table a class that stands in it there."""
        self.lo, self.hi = np.zeros_like(looks.lo), np.zeros_like(looks.hi)

    def unions(self) -> IntArray:
        """The union of every class."""
        union, alone = self._by_number()
        absent = (self.looks.looks < 0).sum(axis=1)
        order = np.lexsort((-self.size, absent))
        for one in order[alone[order]].tolist():
            union[one] = self._place(one)
        return union

    def _by_number(self) -> tuple[IntArray, BoolArray]:
        """Classes of one number that agree are one union; and who is left."""
        named = np.flatnonzero(self.named >= 0)
        number = group([self.named[named]])
        agree = np.ones(len(number), dtype=np.bool_)
        for t, table in enumerate(self.looks.tables):
            there = table.look[named] >= 0
            cell = np.full(len(number), -1, dtype=np.int64)
            cell[number.of[there]] = named[there]
            agree[number.of[there][table.look[cell[number.of[there]]] != table.look[named[there]]]] = False
            away = np.flatnonzero(~there & (cell[number.of] >= 0))
            mine = named[away]
            agree[number.of[away][~table.covers(cell[number.of[away]], self.looks.lo[mine], self.looks.hi[mine])]] = False
            self.cell[: len(number), t] = cell
        place = np.where(agree, np.cumsum(agree) - 1, -1)
        self.count = int(agree.sum())
        union = np.full(len(self.named), -1, dtype=np.int64)
        union[named] = place[number.of]
        self.cell[: self.count] = self.cell[: len(number)][agree]
        self._merged(union)
        return union, union < 0

    def _merged(self, union: IntArray) -> None:
        inside = union >= 0
        for t, table in enumerate(self.looks.tables):
            cell = self.cell[: self.count, t]
            self.look[: self.count, t] = np.where(cell >= 0, table.look[cell], -1)
        self.lo[: self.count] = _FAR
        self.hi[: self.count] = -1
        np.minimum.at(self.lo, union[inside], self.looks.lo[inside])
        np.maximum.at(self.hi, union[inside], self.looks.hi[inside])

    def _place(self, one: int) -> int:
        mine, number = self.looks.looks[one], int(self.named[one])
        last = int(np.flatnonzero(mine >= 0)[-1])
        tried = self.of_number[number] if number >= 0 else np.flatnonzero(self.look[: self.count, last] == mine[last]).tolist()
        place = next((place for place in tried[:_TRIED] if self._fits(one, place)), -1)
        if place < 0:
            place, self.count = self.count, self.count + 1
            self.lo[place], self.hi[place] = self.looks.lo[one], self.looks.hi[one]
            if number >= 0:
                self.of_number[number].append(place)
        new = (mine >= 0) & (self.look[place] < 0)
        self.look[place, new], self.cell[place, new] = mine[new], one
        self.lo[place] = np.minimum(self.lo[place], self.looks.lo[one])
        self.hi[place] = np.maximum(self.hi[place], self.looks.hi[one])
        return place

    def _fits(self, one: int, place: int) -> bool:
        mine, theirs = self.looks.looks[one], self.look[place]
        both = (mine >= 0) & (theirs >= 0)
        if not np.array_equal(mine[both], theirs[both]):
            return False
        tables, lo, hi = self.looks.tables, self.looks.lo[[one]], self.looks.hi[[one]]
        new = np.flatnonzero((theirs >= 0) & (mine < 0)).tolist()
        old = np.flatnonzero((mine >= 0) & (theirs < 0)).tolist()
        return all(tables[t].covers(self.cell[place, [t]], lo, hi).all() for t in new) and all(
            tables[t].covers(np.array([one]), self.lo[[place]], self.hi[[place]]).all() for t in old
        )
