"""An arrangement: which records of each unit are in which group, and which are suppressed by choice.

Invariants
    I1  Every record of a unit is in exactly one group or suppressed.
    I2  An arrangement becomes another only where that costs less and the models say that every new group satisfies the claims.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.bound.program import Arranged
from sfumato.methods.recoding.bound.space import RecodingSpace
from sfumato.methods.recoding.problem import Grouping
from sfumato.methods.recoding.units import Entries


@dataclass(frozen=True)
class Arrangement:
    """Groups of units with what one record of each group costs."""

    space: RecodingSpace
    entries: Entries
    suppressed: IntArray
    """Records of each unit that are suppressed by choice."""
    cost: FloatArray

    @classmethod
    def of(cls, space: RecodingSpace, grouping: Grouping) -> Arrangement:
        entries = space.units.entries(grouping)
        return cls(space, entries, np.zeros(len(space.count), dtype=np.int64), _costs(space, entries))

    @property
    def region(self) -> IntArray:
        """The region of each group."""
        return self.space.units.region[self.entries.unit[self.entries.first[:-1]]]

    @property
    def size(self) -> IntArray:
        return np.bincount(self.entries.group, weights=self.entries.count, minlength=len(self.cost)).astype(np.int64)

    @property
    def total(self) -> float:
        """What all records cost that are not suppressed beforehand."""
        return float(self.cost @ self.size) + float(self.suppressed.sum()) * self.space.suppressed_cost

    def total_of(self, groups: IntArray, units: IntArray) -> float:
        """What some groups and the suppressed records of some units cost."""
        return float(self.cost[groups] @ self.size[groups]) + float(self.suppressed[units].sum()) * self.space.suppressed_cost

    def records_of(self, groups: IntArray) -> tuple[IntArray, IntArray]:
        """The units in some groups and how many records each has there or among the suppressed."""
        inside = np.isin(self.entries.group, groups)
        count = np.bincount(self.entries.unit[inside], weights=self.entries.count[inside], minlength=len(self.suppressed))
        unit = np.flatnonzero(count)
        return unit, count[unit].astype(np.int64) + self.suppressed[unit]

    def replaced(self, groups: IntArray, unit: IntArray, answer: Arranged) -> Arrangement | None:
        """The arrangement with these groups taken apart and put together as the answer says; none when that is no gain (I2)."""
        before = self.total_of(groups, unit)
        if not answer.found or answer.cost >= before - 1e-9 * max(before, 1.0):
            return None
        number = np.unique(answer.owner, return_inverse=True)[1]
        if not self.space.claims.hold(self.space.units.part(answer.member, number, answer.count)).all():
            return None
        kept = ~np.isin(self.entries.group, groups)
        entries = Entries.tidy(
            np.concatenate([self.entries.unit[kept], answer.member]),
            np.concatenate([self.entries.group[kept], len(self.cost) + number]),
            np.concatenate([self.entries.count[kept], answer.count]),
        )
        suppressed = self.suppressed.copy()
        suppressed[unit] = answer.suppressed  # I1
        left = np.delete(self.cost, groups)
        fresh = _costs(self.space, Entries.tidy(answer.member, number, answer.count))
        return Arrangement(self.space, entries, suppressed, np.concatenate([left, fresh]))

    def grouping(self) -> Grouping:
        """The same in cells; suppressed records are in no group."""
        out = np.flatnonzero(self.suppressed)
        groups = len(self.cost)
        whole = Entries(
            np.concatenate([self.entries.unit, out]),
            np.concatenate([self.entries.group, np.full(len(out), groups, dtype=np.int64)]),
            np.concatenate([self.entries.count, self.suppressed[out]]),
        )
        cells = self.space.units.grouping(whole)
        kept = cells.group < groups
        return Grouping(cells.cell[kept], cells.group[kept], cells.count[kept])


def _costs(space: RecodingSpace, entries: Entries) -> FloatArray:
    """What one record of each group costs, published as the smallest tuple around the group."""
    return space.costs.per_record(space.problem, space.units.part(entries.unit, entries.group, entries.count))
