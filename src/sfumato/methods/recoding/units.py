"""Units: the records that a search may exchange for one another, and groupings of them.

Cells that differ only in sensitive values which no claim speaks about are one unit.

Invariants
    I1  `entries` and `grouping` undo each other up to which of a unit's cells goes where, which no claim and no cost can see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.problem import Grouping, RecodingProblem


@dataclass(frozen=True, slots=True)
class Entries:
    """`count[e]` records of unit `unit[e]` in group `group[e]`; sorted by group, groups numbered without gaps."""

    unit: IntArray
    group: IntArray
    count: IntArray

    @classmethod
    def tidy(cls, unit: IntArray, group_: IntArray, count: IntArray) -> Entries:
        """Add up entries of the same unit and group, and number groups anew."""
        pairs = group([group_, unit])
        owner = group_[pairs.first]
        number = np.cumsum(np.diff(owner, prepend=-1) > 0) - 1
        total = np.bincount(pairs.of, weights=count, minlength=len(pairs)).astype(np.int64)
        return cls(unit[pairs.first], number, total)

    @property
    def first(self) -> IntArray:
        """Where the entries of each group begin, and the end."""
        return np.searchsorted(self.group, np.arange(int(self.group.max(initial=-1)) + 2)).astype(np.int64)


class Units:
    """The units of a problem."""

    def __init__(self, problem: RecodingProblem, claims: Claims) -> None:
        self.problem = problem
        hidden = [problem.cell_values[name] for name in claims.hidden]
        classes = group([problem.cell_point, *hidden])
        self.of_cell = classes.of
        self.cell = classes.first
        """One cell of each unit."""
        self.point = problem.cell_point[self.cell]
        self.codes = np.ascontiguousarray(problem.points[self.point], dtype=np.int32)
        self.tags = np.ascontiguousarray(
            np.stack([values[self.cell] for values in hidden], axis=1) if hidden else np.zeros((len(self.cell), 0)), dtype=np.int32
        )
        self.region = problem.regions.of[self.point]

    def entries(self, grouping: Grouping) -> Entries:
        return Entries.tidy(self.of_cell[grouping.cell], grouping.group, grouping.count)

    def part(self, unit: IntArray, group_: IntArray, count: IntArray) -> Grouping:
        """Groups of units as a grouping that claims can be asked about."""
        return Grouping(self.cell[unit], group_, count)

    def grouping(self, entries: Entries) -> Grouping:
        """Hand the places of each unit out to its cells, in order (I1)."""
        placed = np.flatnonzero(~self.problem.out[self.problem.cell_point])
        cells = placed[np.argsort(self.of_cell[placed], kind="stable")]
        order = np.argsort(entries.unit, kind="stable")
        cell_end = np.cumsum(self.problem.row_cell.counts[cells])
        entry_end = np.cumsum(entries.count[order])
        ends = np.union1d(cell_end, entry_end)
        cell = cells[np.searchsorted(cell_end, ends)]
        owner = entries.group[order][np.searchsorted(entry_end, ends)]
        return _added_up(cell, owner, np.diff(ends, prepend=0))


def _added_up(cell: IntArray, owner: IntArray, count: NDArray[np.int64]) -> Grouping:
    pairs = group([owner, cell])
    total = np.bincount(pairs.of, weights=count, minlength=len(pairs)).astype(np.int64)
    return Grouping(cell[pairs.first], owner[pairs.first], total)
