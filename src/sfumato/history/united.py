"""Joint classes for outsiders who do not know who is in which release: people who came or left later may trade places, too.

Guarantee
    Two joint classes are united when each of them, wherever it is absent from a table and the other is not, has only people whose
    values the other's cells cover, and they look alike wherever both are present. Then any two of their people may trade all
    their rows of the bundle, being absent included, and nobody who does not know who is in which release can tell. All classes of
    a union must agree in pairs, so every permutation of its people is possible.
    Each table is judged by the people of the union who stand in it: an outsider may still know that somebody is in one release.

Paper: the unifying view of [sequential §6]; the outsider who knows more is the default.

Notation
    hull   of a class in a column: the smallest interval of leaves around the values of its people; a cell that is an interval
           covers all of them exactly when it covers the hull
    sign   what a class, or a union, looks like in a table of the bundle; −1 where it is absent

Cost: classes × tables, plus the unions that are tried for each class.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.history.bundles import Bundles, PeopleSheet
from sfumato.history.joint import Joint
from sfumato.history.values import LeafValues

_TRIED = 200
"""Unions that are looked at for one class before it stays by itself."""


def united_classes(bundles: Bundles, joint: Joint) -> Joint:
    """The joint classes with those united that only their presence tells apart.

    Where memories number lineages, people of one number are tried with each other and with nobody else; a number that unites
    people who cannot trade places is not believed.
    """
    if not len(joint.signs) or (joint.signs >= 0).all():
        return joint
    named = np.where(joint.of >= 0, bundles.lineage, -1)
    finer = group([joint.of + 1, named + 1])
    of = np.where(joint.of >= 0, finer.of, -1)
    kept, of[joint.of >= 0] = np.unique(of[joint.of >= 0], return_inverse=True)
    person = finer.first[kept]
    union = _Unions(bundles, Joint(joint.sheets, of, joint.signs[joint.of[person]]), named[person]).unions()
    return replace(joint, of=np.where(of >= 0, union[of], -1))


class _Unions:
    """Classes that are joined to unions, the most complete ones first."""

    def __init__(self, bundles: Bundles, joint: Joint, named: IntArray) -> None:
        self.joint, self.named = joint, named
        self.hulls = _Hulls(bundles, joint)
        self.of_number: dict[int, list[int]] = defaultdict(list)
        self.signs: list[IntArray] = []
        self.lo: list[IntArray] = []
        self.hi: list[IntArray] = []
        self.at: dict[tuple[int, int], list[int]] = defaultdict(list)
        """(table, sign) → the unions that look so there."""

    def unions(self) -> IntArray:
        """The union of every class."""
        signs = self.joint.signs
        size = np.bincount(self.joint.of[self.joint.of >= 0], minlength=len(signs))
        order = np.lexsort((-size, (signs < 0).sum(axis=1)))
        union = np.zeros(len(signs), dtype=np.int64)
        for one in order.tolist():
            union[one] = self._place(one)
        return union

    def _place(self, one: int) -> int:
        sign, number = self.joint.signs[one], int(self.named[one])
        last = int(np.flatnonzero(sign >= 0)[-1])
        tried = self.of_number[number] if number >= 0 else self.at[last, int(sign[last])]
        place = next((place for place in tried[:_TRIED] if self._fits(one, place)), -1)
        if place >= 0:
            return self._join(one, place)
        if number >= 0:
            self.of_number[number].append(len(self.signs))
        return self._begin(one)

    def _fits(self, one: int, place: int) -> bool:
        mine, theirs = self.joint.signs[one], self.signs[place]
        both = (mine >= 0) & (theirs >= 0)
        if not np.array_equal(mine[both], theirs[both]):
            return False
        lo, hi = self.hulls.lo[one], self.hulls.hi[one]
        new = np.flatnonzero((theirs >= 0) & (mine < 0))
        old = np.flatnonzero((mine >= 0) & (theirs < 0))
        return self.hulls.covered(lo, hi, new, theirs) and self.hulls.covered(self.lo[place], self.hi[place], old, mine)

    def _join(self, one: int, place: int) -> int:
        sign = self.joint.signs[one]
        for table in np.flatnonzero((sign >= 0) & (self.signs[place] < 0)).tolist():
            self.at[table, int(sign[table])].append(place)
        self.signs[place] = np.maximum(self.signs[place], sign)
        self.lo[place] = np.minimum(self.lo[place], self.hulls.lo[one])
        self.hi[place] = np.maximum(self.hi[place], self.hulls.hi[one])
        return place

    def _begin(self, one: int) -> int:
        sign = self.joint.signs[one]
        for table in np.flatnonzero(sign >= 0).tolist():
            self.at[table, int(sign[table])].append(len(self.signs))
        self.signs.append(sign.copy())
        self.lo.append(self.hulls.lo[one].copy())
        self.hi.append(self.hulls.hi[one].copy())
        return len(self.signs) - 1


class _Hulls:
    """Per class the hull of its people's values, and per table and sign the cells as intervals."""

    def __init__(self, bundles: Bundles, joint: Joint) -> None:
        names = sorted({name for sheet in joint.sheets for name in sheet.columns if bundles.is_known(name)})
        values = LeafValues(bundles)
        self.column = {name: place for place, name in enumerate(names)}
        count = len(joint.signs)
        self.lo = np.zeros((count, len(names)), dtype=np.int64)
        self.hi = np.zeros((count, len(names)), dtype=np.int64)
        inside = joint.of >= 0
        for place, name in enumerate(names):
            codes = values.codes(name)[inside]
            low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
            np.minimum.at(low, joint.of[inside], codes)
            np.maximum.at(high, joint.of[inside], codes + 1)
            self.lo[:, place] = low
            self.hi[:, place] = np.where(low < 0, np.iinfo(np.int64).max, high)  # what nobody remembers is covered by nothing
        self.cells = [self._intervals(sheet, t, joint, values) for t, sheet in enumerate(joint.sheets)]

    def _intervals(self, sheet: PeopleSheet, t: int, joint: Joint, values: LeafValues) -> list[tuple[int, IntArray, IntArray]]:
        """(column, lo, hi) of every sign of a table, for the columns that outsiders know."""
        found = []
        first = _first_of_sign(joint, t)
        for name in sorted(sheet.columns & self.column.keys()):
            lo, hi = values.intervals(sheet, name)
            code = sheet.cells[name][first]
            found.append((self.column[name], lo[code], hi[code]))
        return found

    def covered(self, lo: IntArray, hi: IntArray, tables: IntArray, signs: IntArray) -> bool:
        """Whether hulls lie inside the cells of these signs in these tables."""
        return all(
            low[signs[t]] <= lo[column] and hi[column] <= high[signs[t]]
            for t in tables.tolist()
            for column, low, high in self.cells[t]
        )


def _first_of_sign(joint: Joint, t: int) -> IntArray:
    """One person for every sign of a table."""
    classes = np.flatnonzero(joint.signs[:, t] >= 0)
    people = np.zeros(len(joint.signs), dtype=np.int64)
    inside = np.flatnonzero(joint.of >= 0)
    people[joint.of[inside]] = inside
    found = np.zeros(int(joint.signs[:, t].max(initial=-1)) + 1, dtype=np.int64)
    found[joint.signs[classes, t]] = people[classes]
    return found
