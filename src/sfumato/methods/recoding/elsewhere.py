"""Boxes from elsewhere: what other groupings of the same records came to, kept for those who still look for better groups.

A search keeps most boxes that it began with, however long it goes on: to open one that is better, several others have to change at
the same time. A search from another start ends with other boxes, which are as good on the whole, and each of which other boxes
already agree with. Offered one by one to the first search, some of them are what it could not find by itself.

Other starts are lattice sweeps (`lattice`) under other weights of the columns: combinations of levels are visited in another order.

Invariants
    I1  A box is offered only to records of its region, and where enough of those that stood in it are.
    I2  Nothing depends on anything but the groupings, and numbers that are given.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.lattice import MOST, WORK, lattice_sweep
from sfumato.methods.recoding.opening import KnownBoxes
from sfumato.methods.recoding.problem import Grouping
from sfumato.methods.recoding.rebuilding import Rebuilding
from sfumato.methods.recoding.units import Entries

if TYPE_CHECKING:
    from sfumato.methods.recoding.ground import Ground

SPREAD = 0.3
"""How far weights of columns differ: the deviation of their logarithms."""
KEPT = 24
"""Groupings that are remembered, the latest ones."""


def other_start(ground: Ground, number: int) -> Grouping:
    """A lattice sweep under weights of its own (I2)."""
    costs = Costs.of(ground.problem, ground.objective)
    factor = np.exp(SPREAD * np.random.default_rng(number).standard_normal(len(costs.weights)))
    return lattice_sweep(ground.problem, costs=replace(costs, weights=costs.weights * factor))


def sweep_work(ground: Ground) -> int:
    """What such a start takes, in the comparisons of a search: about half of the points leave a sweep early."""
    return min(WORK, MOST * len(ground.problem.points)) // 2


def boxes_of(ground: Ground, entries: Entries) -> KnownBoxes:
    """What the groups are published as, in the ground's order of columns."""
    state = Rebuilding(ground, entries, 0).state
    lo, last = np.empty(state.lo.shape, dtype=np.int64), np.empty(state.lo.shape, dtype=np.int64)
    for column, source in enumerate(ground.columns):
        ends = state.lo[:, column].astype(np.int64), state.last[:, column].astype(np.int64) + 1
        lo[:, column], last[:, column] = ground.problem.domains[source].close(*ends)
    return lo, last - 1, np.asarray(state.region, dtype=np.int64)


@dataclass
class KnownElsewhere:
    """Groupings that were found elsewhere, and their boxes."""

    ground: Ground
    found: list[tuple[Entries, KnownBoxes]] = field(default_factory=list)

    def keep(self, entries: Entries) -> None:
        self.found = [*self.found[1 - KEPT :], (entries, boxes_of(self.ground, entries))]

    def within(self, unit: IntArray) -> KnownBoxes:
        """The boxes in which enough of these units stood together (I1), each once."""
        inside = np.zeros(len(self.ground.units.cell), dtype=np.bool_)
        inside[unit] = True
        columns = len(self.ground.columns)
        chosen = [np.zeros((0, 2 * columns + 1), dtype=np.int64)]
        for entries, (lo, last, region) in self.found:
            here = np.bincount(entries.group, weights=entries.count * inside[entries.unit], minlength=len(region))
            chosen.append(np.column_stack([lo, last, region])[here >= self.ground.claims.fewest])
        each = np.unique(np.concatenate(chosen), axis=0)
        lo, last = (np.ascontiguousarray(side) for side in (each[:, :columns], each[:, columns:-1]))
        return lo, last, np.ascontiguousarray(each[:, -1])
