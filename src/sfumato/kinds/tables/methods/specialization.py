"""Specializing: make what is published finer, one column at a time, as long as every requirement holds for its own
adversary.

For requirements that speak of different columns. Groups are then not judged one by one: cutting a column changes the
classes of every requirement that sees it, and of no other. So all records that agree on the columns which these claims
have in common are cut alike.

Paper: top-down specialization is that of Fung, Wang, Yu (2005); requirements with columns of their own are ours.

Notation
    entry     some records of a cell that are published alike; its box is what they are published as
    unit      of a column c: entries with equal boxes in the columns that *all* requirements on c see. Every class of
              such a requirement lies within one unit, so units are cut independently of each other

Invariants
    I1  Boxes only shrink, and contain their records; what was within the boundaries stays there.
    I2  A unit is cut only when every class that comes of it satisfies its requirement, the records that stay behind
        included.
    I3  In the end boxes shrink to what their unit needs. Then classes can become equal, which a monotone model
        survives.

Departures: children that are not safe stay at the parent, instead of forbidding the cut for the others.

Cost: each cut is a few passes over the entries for every column; as many cuts as hierarchies are deep (ranges: log of
their size), and more where parts stay behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.class_merging import normalize_grouping
from sfumato.kinds.tables.methods.multidimensional_partitioning import medians
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Cells, Grouping, RecodingProblem, Requirement


@dataclass(frozen=True, slots=True)
class Cut:
    """New intervals of one column for all entries, and what they save."""

    column: int
    lo: IntArray
    hi: IntArray
    gain: float


def specialize(problem: RecodingProblem, start: Grouping, *, objective: str = "loss") -> Grouping:
    """A finer release than a `start` that holds; the best cut first, until none helps."""
    board = _Boxes(problem, start, Costs.of(problem, objective))
    while True:
        cuts = [cut for column in range(len(problem.names)) for cut in board.cuts(column)]
        best = max(cuts, key=lambda cut: cut.gain, default=None)
        if best is None or best.gain <= 1e-12:
            break
        board.lo[:, best.column], board.hi[:, best.column] = best.lo, best.hi
    board.shrink()
    return board.grouping()


class _Boxes:
    """Entries with their boxes."""

    def __init__(self, problem: RecodingProblem, start: Grouping, costs: Costs) -> None:
        self.problem, self.costs = problem, costs
        self.cell, self.count = start.cell, start.count
        self.code = problem.points[problem.cell_point[start.cell]].astype(np.int64)
        boxes = problem.intervals(start)
        self.lo = np.stack([lo[start.group] for lo, _ in boxes], axis=1).astype(np.int64)
        self.hi = np.stack([hi[start.group] for _, hi in boxes], axis=1).astype(np.int64)
        self.seen = [[problem.names.index(name) for name in problem.given(one)] for one in problem.requirements]
        self.shared = [self._shared(column) for column in range(len(problem.names))]

    def _shared(self, column: int) -> list[int]:
        """The columns that all requirements on a column see."""
        sets = [set(columns) for columns in self.seen if column in columns]
        return sorted(set.intersection(*sets)) if sets else [column]

    def units(self, column: int) -> IntArray:
        return equivalence_classes_of(
            [side[:, other] for other in self.shared[column] for side in (self.lo, self.hi)]
        ).of

    def cuts(self, column: int) -> Iterator[Cut]:
        """The cuts of a column that are safe."""
        units = self.units(column)
        before = self.costs.column(column, self.lo[:, column], self.hi[:, column])
        for lo, hi in self._proposals(column, units):
            lo, hi = self._safe(column, units, lo, hi)
            gain = float((before - self.costs.column(column, lo, hi)) @ self.count)
            yield Cut(column, lo, hi, gain)

    def _proposals(self, column: int, units: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Everybody one step finer: the child on the way to the leaf, or the half of the range around the median of the
        unit."""
        domain, code = self.problem.domains[column], self.code[:, column]
        lo, hi = self.lo[:, column], self.hi[:, column]
        if isinstance(domain, Hierarchy):
            yield _below(domain, code, lo, hi)
            return
        for cut in medians(units, code, self.count, int(units.max(initial=-1)) + 1):
            at = np.clip(cut[units], lo, hi)
            high = code >= at
            yield np.where(high & (at > lo), at, lo), np.where(~high & (at < hi), at, hi)

    def _safe(self, column: int, units: IntArray, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        """The proposal where it is safe, the old interval elsewhere (I2)."""
        old_lo, old_hi = self.lo[:, column], self.hi[:, column]
        fine = self._hold(column, units, lo, hi)
        child = equivalence_classes_of([units, lo, hi])
        down = (np.bincount(child.of, weights=~fine, minlength=len(child)) == 0)[child.of]
        lo, hi = np.where(down, lo, old_lo), np.where(down, hi, old_hi)
        if not down.all():
            broken = np.bincount(units, weights=~self._hold(column, units, lo, hi)) > 0
            lo, hi = np.where(broken[units], old_lo, lo), np.where(broken[units], old_hi, hi)
        return lo, hi

    def _hold(self, column: int, units: IntArray, lo: IntArray, hi: IntArray) -> BoolArray:
        """For each entry: would its classes hold, for every requirement that sees the column? Units are looked at by
        themselves."""
        verdict = np.ones(len(units), dtype=np.bool_)
        for requirement, seen in zip(self.problem.requirements, self.seen, strict=True):
            if column in seen:
                others = [side[:, other] for other in seen if other != column for side in (self.lo, self.hi)]
                verdict &= self._satisfied(requirement, equivalence_classes_of([units, lo, hi, *others]).of)
        return verdict

    def _satisfied(self, requirement: Requirement, classes: IntArray) -> BoolArray:
        seen = self.problem.linkage(Grouping(self.cell, classes, self.count), requirement.hide)
        return np.asarray(requirement.model.satisfied(seen))[classes]

    def shrink(self) -> None:
        """Every unit gets the smallest publishable interval around its records (I3)."""
        for column, domain in enumerate(self.problem.domains):
            units, code = self.units(column), self.code[:, column]
            number = int(units.max(initial=-1)) + 1
            lo, hi = np.full(number, domain.size, dtype=np.int64), np.zeros(number, dtype=np.int64)
            np.minimum.at(lo, units, code)
            np.maximum.at(hi, units, code + 1)
            lo, hi = domain.close(lo, hi)
            self.lo[:, column], self.hi[:, column] = lo[units], hi[units]  # I1

    def grouping(self) -> Grouping:
        """Entries with equal boxes as groups that bring their boxes along."""
        sides = [side[:, column] for column in range(self.lo.shape[1]) for side in (self.lo, self.hi)]
        alike = equivalence_classes_of(sides, rows=len(self.cell))
        published = tuple(
            Cells(lo[alike.first], hi[alike.first]) for lo, hi in zip(sides[::2], sides[1::2], strict=True)
        )
        tidy = normalize_grouping(self.cell, alike.of, self.count)
        return Grouping(tidy.cell, tidy.group, tidy.count, published)


def _below(tree: Hierarchy, code: IntArray, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
    """The largest node below an interval on the way to a leaf; the interval itself when it is the leaf."""
    new_lo, new_hi = lo, hi
    found = np.zeros(len(code), dtype=np.bool_)
    for row in tree.ancestors:
        node = row[code]
        smaller = ~found & (tree.hi[node] - tree.lo[node] < hi - lo)
        new_lo, new_hi = np.where(smaller, tree.lo[node], new_lo), np.where(smaller, tree.hi[node], new_hi)
        found |= smaller
    return new_lo, new_hi
