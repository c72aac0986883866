"""Spend the allowed suppression on outliers: records far from all others, which make their equivalence classes coarse.

A record that is left out loses everything, and so it counts as lost. It is left out only where the others of its class
gain more than that: either they stay together without it, or, where they are too few, each joins the class that it
makes least coarser. So the total loss only falls, at equal requirements.

Invariants
    I1  The total loss, with every suppressed record counted as lost, falls with every record that is left out.
    I2  At most as many records are left out as the policy allows, and never a part of those that look alike.
    I3  Claims that compare with the whole release, people in several rows, populations and ledgers leave nobody out.
    I4  The models themselves say that every group of the result satisfies the requirements; else nobody is left out.

Cost: classes that are worth a look × classes × columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.kinds.tables.methods.multidimensional_partitioning import counts_persons
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem

LEAST_GAIN = 0.05
"""What leaving a record out must gain at least, in lost records."""
_LOOKED_AT = 1_000
"""Classes that are looked at, the most costly first."""
_SHARED_UNIT = ("loss", "ntil")
"""Objectives in which a record that is lost costs 1."""


def without_outliers(problem: RecodingProblem, grouping: Grouping, objective: str, allowed: int) -> Grouping:
    """Return the grouping without the outliers that cost the others more than they are worth, at most so many."""
    if not allowed or grouping.published is not None or not _can_spend(problem, objective):
        return grouping
    found = _Classes.of(problem, grouping, objective)
    for group in found.costly():
        allowed -= found.improve(int(group), allowed)
    made = found.grouping()
    fine = made.groups and Claims(problem).hold(made).all()  # I4
    return made if fine else grouping


def _can_spend(problem: RecodingProblem, objective: str) -> bool:
    """Return whether who is left out changes nothing but the groups of the others (I3)."""
    plain = problem.whole is None and problem.multiplicity is None and problem.undivided is None
    alone = not problem.beside and problem.others is None and not counts_persons(problem)
    loose = problem.uniform and not any(
        one.model.compares or one.model.compares_release for one in problem.requirements
    )
    return plain and alone and loose and objective in _SHARED_UNIT


@dataclass
class _Classes:
    """Entries (records of one cell in one class) and the box around every class."""

    problem: RecodingProblem
    costs: Costs
    claims: Claims
    cell: IntArray
    count: IntArray
    group: IntArray
    """The class of every entry; −1 where it is left out."""
    low: IntArray
    """Classes × columns: the lowest code, and in `high` the highest."""
    high: IntArray
    size: IntArray
    cost: FloatArray
    """What a record of each class costs."""
    members: list[IntArray] = field(default_factory=list)

    @classmethod
    def of(cls, problem: RecodingProblem, grouping: Grouping, objective: str) -> _Classes:
        costs, columns = Costs.of(problem, objective), len(problem.domains)
        low = np.full((grouping.groups, columns), np.iinfo(np.int64).max, dtype=np.int64)
        high = np.full((grouping.groups, columns), -1, dtype=np.int64)
        codes = problem.points[problem.cell_point[grouping.cell]].astype(np.int64)
        np.minimum.at(low, grouping.group, codes)
        np.maximum.at(high, grouping.group, codes)
        size = np.bincount(grouping.group, weights=grouping.count, minlength=grouping.groups).astype(np.int64)
        order = np.argsort(grouping.group, kind="stable")
        ends = np.cumsum(np.bincount(grouping.group, minlength=grouping.groups))[:-1]
        made = cls(
            problem, costs, Claims(problem), grouping.cell, grouping.count, grouping.group.copy(), low, high, size,
            np.zeros(grouping.groups), np.split(order, ends),
        )  # fmt: skip
        made.cost = made.price(low, high)
        return made

    def codes(self, entries: IntArray) -> IntArray:
        return self.problem.points[self.problem.cell_point[self.cell[entries]]].astype(np.int64)

    def price(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return what a record in each of some boxes costs."""
        total = np.zeros(len(low))
        for column, domain in enumerate(self.problem.domains):
            total += self.costs.column(column, *domain.close(low[:, column], high[:, column] + 1))
        return total

    def costly(self) -> IntArray:
        """Return the classes whose records together lose more than one record is worth, the most costly first."""
        lost = self.cost * self.size
        order = np.argsort(-lost, kind="stable")[:_LOOKED_AT]
        return order[lost[order] > 1.0 + LEAST_GAIN]

    def improve(self, group: int, allowed: int) -> int:
        """Leave the outlier of a class out where that gains, and return how many records that takes."""
        entries = self.members[group]
        if len(entries) < 2 or self.size[group] * self.cost[group] <= 1.0 + LEAST_GAIN:
            return 0
        worth = [
            (self._loss_without(entries, place) + float(self.count[entry]), place)
            for place, entry in enumerate(entries.tolist())
            if self.count[entry] <= allowed  # I2
            and self.count[entry] == self.problem.row_cell.counts[self.cell[entry]]
        ]
        if not worth:
            return 0
        least, place = min(worth)
        before = float(self.size[group] * self.cost[group])
        rest, out = np.delete(entries, place), int(entries[place])
        if least > before - LEAST_GAIN:
            return 0
        if self._holds(rest):
            self._stay(group, rest, out)
            return int(self.count[out])
        return self._join(group, rest, out, before)

    def _loss_without(self, entries: IntArray, place: int) -> float:
        rest = np.delete(entries, place)
        codes = self.codes(rest)
        return float(self.price(codes.min(axis=0)[None], codes.max(axis=0)[None])[0] * self.count[rest].sum())

    def _holds(self, entries: IntArray) -> bool:
        alone = Grouping(self.cell[entries], np.zeros(len(entries), dtype=np.int64), self.count[entries])
        return bool(self.claims.hold(alone).all())

    def _stay(self, group: int, rest: IntArray, out: int) -> None:
        codes = self.codes(rest)
        self.low[group], self.high[group] = codes.min(axis=0), codes.max(axis=0)
        self.size[group] -= self.count[out]
        self.cost[group] = self.price(self.low[group][None], self.high[group][None])[0]
        self.members[group], self.group[out] = rest, -1

    def _join(self, group: int, rest: IntArray, out: int, before: float) -> int:
        """Let each of the others join the class that it makes least coarser, where all that still gains (I1)."""
        low, high, size, cost = self.low.copy(), self.high.copy(), self.size.copy(), self.cost.copy()
        open_to = self._same_region(group)
        open_to[group] = False
        homes, paid = [], float(self.count[out])
        for entry in rest.tolist():
            code, many = self.codes(np.array([entry]))[0], self.count[entry]
            lower, upper = np.minimum(low, code), np.maximum(high, code)
            price = self.price(lower, upper)
            more = np.where(open_to, price * (size + many) - cost * size, np.inf)
            home = int(more.argmin())
            paid += float(more[home])
            if paid > before - LEAST_GAIN:
                return 0
            low[home], high[home], cost[home], size[home] = lower[home], upper[home], price[home], size[home] + many
            homes.append(home)
        low[group], high[group], size[group], cost[group] = 0, 0, 0, 0.0
        self.low, self.high, self.size, self.cost = low, high, size, cost
        for entry, home in zip(rest.tolist(), homes, strict=True):
            self.group[entry] = home
            self.members[home] = np.append(self.members[home], entry)
        self.members[group], self.group[out] = np.zeros(0, dtype=np.int64), -1
        return int(self.count[out])

    def _same_region(self, group: int) -> BoolArray:
        """Return which classes records of this one may join: of the same region, and not empty."""
        point = self.problem.cell_point[self.cell]
        region = np.full(len(self.size), -1, dtype=np.int64)
        inside = self.group >= 0
        region[self.group[inside]] = self.problem.regions.of[point[inside]]
        same: BoolArray = (region == region[group]) & (self.size > 0)
        return same

    def grouping(self) -> Grouping:
        """Return the classes as they are now, numbered without gaps."""
        inside = np.flatnonzero(self.group >= 0)
        _, number = np.unique(self.group[inside], return_inverse=True)
        return Grouping(self.cell[inside], number.astype(np.int64), self.count[inside])
