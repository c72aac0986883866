"""Mondrian: cut the space of records again and again, each time where it saves most, as long as every part is safe.

Strict multidimensional partitioning on points with counts. A cut divides the node of a hierarchy into its children, or a
range at its median. All groups are cut in the same round, so a round is a few passes over arrays; where a number of records
decides, one compiled pass cuts one group after the other (`kernels.cutting`), with the same result.

Paper: LeFevre, DeWitt, Ramakrishnan (2006); boundaries by starting from the maximum allowed microdata [boundaries Def. 9].

Invariants
    I1  Groups start as regions and only ever shrink, so none crosses a region.
    I2  A cut is made only when every part satisfies the claims; a group that is not cut any more is final.
    I3  A point is never divided: all records of a point are published alike. Where people in several rows are counted it is
        (`people_cuts`).

Departures
    Children that are not safe by themselves stay together under their parent, with the smallest safe child when they need it,
    instead of forbidding the cut. The column to cut is the one that saves most of the objective, not the widest.

Cost: rounds × columns passes over the points that are still in play; rounds grow with the logarithm of the number of points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.cell_costs import cell_costs
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.people_cuts import counts_people, cut_people
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.recoding.trees import ranks_of, trees_of

Progress = Callable[[float], None]


def mondrian(
    problem: RecodingProblem, *, objective: str = "loss", progress: Progress | None = None, claims: Claims | None = None
) -> Grouping:
    """Partition the points that need not be suppressed; regions are the first groups (I1).

    Cuts are judged by `claims`, those of the problem unless others are given.
    """
    if claims is None and counts_people(problem):
        return cut_people(problem, objective)
    claims = claims or Claims(problem)
    if claims.by_size:
        return problem.grouping(_one_by_one(problem, claims.fewest, objective))
    return in_rounds(problem, claims, objective=objective, progress=progress)


def _one_by_one(problem: RecodingProblem, fewest: int, objective: str) -> IntArray:
    """The group of each point where the number of records decides everything: the same cuts, in one compiled pass."""
    from sfumato.methods.recoding.kernels.cutting import CuttingDesk, cut_by_size

    point = np.flatnonzero(~problem.out)
    region = problem.regions.of[point]
    order = point[np.argsort(region, kind="stable")]
    first = np.concatenate([np.flatnonzero(np.diff(region[np.argsort(region, kind="stable")], prepend=-1)), [len(order)]])
    trees = trees_of(problem)
    widest = max(2, int(trees.child.max(initial=0)) + 1) + 1
    base = np.cumsum([0, *(domain.size for domain in problem.domains)]).astype(np.int64)
    lowest, highest = np.zeros((2, len(problem.domains)), dtype=np.int64)
    size, lo, last, becomes, records, kept = np.zeros((6, widest), dtype=np.int64)
    chosen, weight, middle, best = (np.zeros(n, dtype=np.int64) for n in (len(order), int(base[-1]), 2, 3))
    desk = CuttingDesk(
        chosen, weight, base, lowest, highest, size, lo, last, becomes, np.zeros(widest), records, middle, np.zeros(1), best, kept
    )
    codes, costs = np.ascontiguousarray(problem.points), cell_costs(problem, objective)
    return cut_by_size(codes, problem.counts, order, first.astype(np.int64), fewest, costs, trees, desk)


def in_rounds(problem: RecodingProblem, claims: Claims, *, objective: str = "loss", progress: Progress | None = None) -> Grouping:
    """All groups are cut in the same round, whatever the claims."""
    play = _Play(problem, claims, Costs.of(problem, objective))
    final = np.full(len(problem.points), -1, dtype=np.int64)
    point = np.flatnonzero(~problem.out)
    of = np.unique(problem.regions.of[point], return_inverse=True)[1].astype(np.int64)
    found = 0
    while len(point):
        part = play.cut(point, of)
        idle = part < 0  # I2
        number = np.unique(of[idle], return_inverse=True)[1]
        final[point[idle]] = found + number
        found += int(number.max(initial=-1)) + 1
        point, of = point[~idle], group([of[~idle], part[~idle]]).of
        if progress is not None:
            progress(1.0 - len(point) / len(final))
    return problem.grouping(final)  # I3


@dataclass(frozen=True, slots=True)
class _Play:
    """Everything a round needs besides the points that are still in play."""

    problem: RecodingProblem
    claims: Claims
    costs: Costs

    def cut(self, point: IntArray, of: IntArray) -> IntArray:
        """For each point the part its group falls into by the best safe cut; −1 when the group cannot be cut."""
        chosen = np.full(len(point), -1, dtype=np.int64)
        large = np.bincount(of, weights=self.problem.counts[point]) >= 2 * self.claims.fewest
        inside = large[of]
        if inside.any():
            chosen[inside] = self._cut(point[inside], (np.cumsum(large) - 1)[of[inside]], int(large.sum()))
        return chosen

    def _cut(self, point: IntArray, of: IntArray, groups: int) -> IntArray:
        best = np.zeros(groups)
        chosen = np.full(len(point), -1, dtype=np.int64)
        for column, child in self._proposals(point, of, groups):
            part, safe = self._safe_parts(point, of, child, groups)
            gain = self._gain(point, of, part, column, groups)
            better = safe & (gain > best)
            best[better] = gain[better]
            chosen = np.where(better[of], part, chosen)
        return chosen

    def _proposals(self, point: IntArray, of: IntArray, groups: int) -> Iterator[tuple[int, IntArray]]:
        """Cuts worth trying: the column and, for each point, the child it falls into."""
        for column in range(len(self.problem.domains)):
            yield from ((column, child) for child in self._cuts(column, point, of, groups))

    def _cuts(self, column: int, point: IntArray, of: IntArray, groups: int) -> Iterator[IntArray]:
        domain, code = self.problem.domains[column], self.problem.points[point, column].astype(np.int64)
        lo, hi = _extent(of, code, groups, domain.size)
        if (lo == hi).all():
            return
        if isinstance(domain, Hierarchy):
            child = children(domain, code, lo, hi, of)
            del code  # with many classes every array counts
            yield child
        else:
            below, above = medians(of, code, self.problem.counts[point], groups)
            yield (code >= below[of]).astype(np.int64)
            yield (code >= above[of]).astype(np.int64)

    def _safe_parts(self, point: IntArray, of: IntArray, child: IntArray, groups: int) -> tuple[IntArray, BoolArray]:
        """Parts made of the children so that they are safe, and for which groups that succeeds with two parts or more (I2)."""
        classes = group([of, child])
        owner = of[classes.first]
        size = np.bincount(classes.of, weights=self.problem.counts[point], minlength=len(classes))
        unsafe = ~self._hold(point, classes.of, len(classes))
        several = np.bincount(owner, minlength=groups) > 1
        needy = np.bincount(owner, weights=unsafe, minlength=groups) > 0
        fine = np.bincount(owner, weights=~unsafe, minlength=groups)
        possible = several & (fine > 0)
        waiting, added = needy & possible, 0
        while waiting.any():
            waiting &= ~self._leftover_holds(point, of, unsafe[classes.of], waiting, groups)
            possible &= ~waiting | ((fine > 1) & (added < 1))  # the last safe child would leave nothing to cut
            waiting &= possible
            unsafe[_smallest(owner, size, ~unsafe & waiting[owner])] = True
            fine, added = fine - waiting, added + 1
        return np.where(unsafe, len(classes) + owner, np.arange(len(classes)))[classes.of], possible

    def _leftover_holds(self, point: IntArray, of: IntArray, unsafe: BoolArray, asked: BoolArray, groups: int) -> BoolArray:
        """For the groups asked about: do the children marked unsafe satisfy the claims together?"""
        inside = unsafe & asked[of]
        verdict = np.zeros(groups, dtype=np.bool_)
        there = np.bincount(of[inside], minlength=groups) > 0
        verdict[there] = self._hold(point[inside], (np.cumsum(there) - 1)[of[inside]], int(there.sum()))
        return verdict

    def _hold(self, point: IntArray, of: IntArray, groups: int) -> BoolArray:
        """The claims for groups of whole points."""
        if self.claims.by_size:
            return np.bincount(of, weights=self.problem.counts[point], minlength=groups) >= self.claims.fewest
        return self.claims.hold(self.problem.grouping_of(point, of))

    def _gain(self, point: IntArray, of: IntArray, part: IntArray, column: int, groups: int) -> FloatArray:
        """What each group saves in the cut column."""
        domain = self.problem.domains[column]
        count = self.problem.counts[point]
        code = self.problem.points[point, column].astype(np.int64)
        size = np.bincount(part, weights=count)
        after = self._cost(column, *_extent(part, code, len(size), domain.size))
        before = self._cost(column, *_extent(of, code, groups, domain.size))
        owner = np.zeros(len(size), dtype=np.int64)
        owner[part] = of
        return before * np.bincount(of, weights=count, minlength=groups) - np.bincount(owner, after * size, groups)

    def _cost(self, column: int, lo: IntArray, last: IntArray) -> FloatArray:
        """The cost of the closed extents; 0 where there is nobody."""
        cost = np.zeros(len(lo))
        some = lo <= last
        cost[some] = self.costs.column(column, *self.problem.domains[column].close(lo[some], last[some] + 1))
        return cost


def _extent(of: IntArray, code: IntArray, groups: int, size: int) -> tuple[IntArray, IntArray]:
    """Smallest and largest code in each group."""
    lo = np.full(groups, size, dtype=np.int64)
    last = np.full(groups, -1, dtype=np.int64)
    np.minimum.at(lo, of, code)
    np.maximum.at(last, of, code)
    return lo, last


def children(tree: Hierarchy, code: IntArray, lo: IntArray, last: IntArray, of: IntArray) -> IntArray:
    """For each code the child, of the lowest node around its group, that it stands under, counted among its siblings."""
    above, rank = tree.ancestors, ranks_of(tree)
    depth = np.zeros(len(lo), dtype=np.int64)
    for row in above[1:]:
        depth += row[lo] == row[last]
    return rank[above][np.minimum(depth + 1, len(above) - 1)[of], code]


def medians(of: IntArray, code: IntArray, count: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """For each group the code of its median record, where a range may be cut before it, and the next code, to cut after it."""
    values = group([of, code])
    owner, value = of[values.first], code[values.first]
    weight = np.bincount(values.of, weights=count, minlength=len(values))
    total = np.bincount(owner, weights=weight, minlength=groups)
    before = np.cumsum(weight) - weight - (np.cumsum(total) - total)[owner]
    start = np.searchsorted(owner, np.arange(groups))
    rank = start + np.bincount(owner, weights=2 * (before + weight) < total[owner], minlength=groups).astype(np.int64)
    after = np.minimum(rank + 1, len(values) - 1)
    return value[rank], np.where(owner[after] == np.arange(groups), value[after], value[rank])


def _smallest(owner: IntArray, size: NDArray[Any], among: BoolArray) -> IntArray:
    """For each owner its smallest class among the marked ones."""
    marked = np.flatnonzero(among)
    order = marked[np.lexsort((size[marked], owner[marked]))]
    return order[np.unique(owner[order], return_index=True)[1]]
