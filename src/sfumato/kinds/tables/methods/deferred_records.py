"""Deferred records: a new record whose class would be costly is published in a later release.

Groups last: who stands together once does so in every later release. A row that waits is missing once, and what a
better group saves is saved again and again. So if the policy allows deferral of new records (``series: {waiting:
0.5%}``), costly classes of new records are dissolved: members that fit no other class are deferred, and the others join
near classes. In the first release of a ledger every record is new.

Invariants
    I1  Nobody waits who was published before, and no more than the policy allows.
    I2  By the models themselves, every group that is left satisfies the requirements; else nobody waits.

Cost: new records of costly classes times classes of new records.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.history.constrain.insertions import WORTH
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_history import HISTORY
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem


class _Dissolved(NamedTuple):
    """How a group is given up: what each who waits saves, who does, and who goes where."""

    worth: float
    waits: IntArray
    moves: IntArray
    targets: IntArray


def defer_costly_records(problem: RecodingProblem, grouping: Grouping, most: int, objective: str) -> Grouping:
    """Return the grouping without some new records, at most so many: those whose classes cost most."""
    if most <= 0 or grouping.published is not None or problem.multiplicity is not None:
        return grouping
    new = _newcomers(problem)[problem.cell_point[grouping.cell]]
    if not new.any():
        return grouping
    batch = _Batch(problem, grouping, new, objective)
    if not batch.dissolve(most):
        return grouping
    found = batch.grouping(grouping, new)
    return found if problem.satisfied(found).all() else grouping  # I2


def _newcomers(problem: RecodingProblem) -> BoolArray:
    """Per point: was nobody there ever published? Everybody in a first release, whose parts must speak of the same
    people (I1)."""
    if HISTORY not in problem.names:
        return np.full(len(problem.points), problem.whole is None)
    found: BoolArray = problem.points[:, problem.names.index(HISTORY)] == 0
    return found


class _Batch:
    """New records one by one, in a shrinking number of classes."""

    def __init__(self, problem: RecodingProblem, grouping: Grouping, new: BoolArray, objective: str) -> None:
        self.problem, self.costs = problem, Costs.of(problem, objective)
        self.cell = np.repeat(grouping.cell[new], grouping.count[new])
        self.names, self.of = np.unique(np.repeat(grouping.group[new], grouping.count[new]), return_inverse=True)
        point = problem.cell_point[self.cell]
        self.code = problem.points[point].astype(np.int64)
        self.size = np.bincount(self.of, minlength=len(self.names))
        self.lo = np.full((len(self.names), self.code.shape[1]), np.iinfo(np.int64).max)
        self.hi = np.zeros_like(self.lo)
        np.minimum.at(self.lo, self.of, self.code)
        np.maximum.at(self.hi, self.of, self.code + 1)
        self.region = np.zeros(len(self.names), dtype=np.int64)
        self.region[self.of] = problem.regions.of[point]
        self.each = self._cost(self.lo, self.hi)
        demands = [requirement.model.demand() for requirement in problem.requirements]
        self.movable = all(
            demand.sufficient and demand.largest_share == 1 for demand in demands
        )  # one more never hurts

    def _cost(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """What a record costs in each box."""
        total = np.zeros(len(lo))
        for column, domain in enumerate(self.problem.domains):
            total += self.costs.column(column, *domain.close(lo[:, column], hi[:, column]))
        return total

    def dissolve(self, most: int) -> int:
        """Give up groups, those first that bring most for all people who waits; how many wait."""
        costly = np.flatnonzero(self.size * self.each >= WORTH)
        queue = [(-self._way(place, most).worth, place) for place in costly.tolist()]
        heapify(queue)
        waiting = 0
        while queue:
            _, place = heappop(queue)
            way = self._way(place, most - waiting)  # others were given up since
            if way.worth < WORTH:
                continue
            if queue and way.worth < -queue[0][0] - 1e-12:
                heappush(queue, (-way.worth, place))
                continue
            self._give_up(place, way)
            waiting += len(way.waits)
        return waiting

    def _way(self, place: int, most: int) -> _Dissolved:
        """The best way to give up a group of which at most so many wait: the others go where they cost least."""
        mine = np.flatnonzero(self.of == place)
        added, targets = self._added(mine, place)
        order = np.argsort(added, kind="stable")
        moved = np.concatenate([[0.0], np.cumsum(added[order])])
        waits = np.arange(1, min(len(mine), most) + 1)
        if not len(waits):
            return _Dissolved(0.0, mine[:0], mine[:0], targets[:0])
        worth = (len(mine) * self.each[place] - moved[len(mine) - waits]) / waits
        best = int(np.argmax(worth))
        movers, stay = order[: len(mine) - waits[best]], order[len(mine) - waits[best] :]
        return _Dissolved(float(worth[best]), mine[stay], mine[movers], targets[movers])

    def _added(self, mine: IntArray, place: int) -> tuple[FloatArray, IntArray]:
        """What everybody of a group adds to the cost of the group where that is least, and which that is."""
        others = np.flatnonzero((self.size > 0) & (self.region == self.region[place]))
        others = others[others != place]
        if not len(others) or not self.movable:
            return np.full(len(mine), np.inf), np.zeros(len(mine), dtype=np.int64)
        code, there = np.repeat(self.code[mine], len(others), axis=0), np.tile(others, len(mine))
        wider = self._cost(np.minimum(self.lo[there], code), np.maximum(self.hi[there], code + 1)).reshape(
            len(mine), -1
        )
        added = wider * (self.size[others] + 1) - (self.each * self.size)[others]
        best = added.argmin(axis=1)
        return added[np.arange(len(mine)), best], others[best]

    def _give_up(self, place: int, way: _Dissolved) -> None:
        self.of[way.waits] = -1
        self.size[place] = 0
        for one, target in zip(way.moves.tolist(), way.targets.tolist(), strict=True):
            self.of[one] = target
            self.size[target] += 1
            self.lo[target] = np.minimum(self.lo[target], self.code[one])
            self.hi[target] = np.maximum(self.hi[target], self.code[one] + 1)
        some = np.unique(way.targets)
        self.each[some] = self._cost(self.lo[some], self.hi[some])

    def grouping(self, before: Grouping, new: BoolArray) -> Grouping:
        """All groups, those of people who were published before as they were."""
        there = self.of >= 0
        records = equivalence_classes_of([self.cell[there], self.names[self.of[there]]])
        cell, of = self.cell[there][records.first], self.names[self.of[there]][records.first]
        number = np.unique(np.concatenate([before.group[~new], of]), return_inverse=True)[1]
        return Grouping(
            np.concatenate([before.cell[~new], cell]), number, np.concatenate([before.count[~new], records.counts])
        )
