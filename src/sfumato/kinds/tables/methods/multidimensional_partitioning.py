"""Mondrian: cut the space of records again and again, each time where it saves most, as long as every part is safe.

Strict multidimensional partitioning on points with counts. A cut divides the node of a hierarchy into its children, or
a range at its median. All groups are cut in the same round, so a round is a few passes over arrays; where a number of
records decides, one compiled pass cuts one group after the other (`kernels.partitioning`), with the same result.

Paper: LeFevre, DeWitt, Ramakrishnan (2006); boundaries by starting from the maximum allowed microdata [boundaries Def.
9].

Invariants
    I1  Groups start as regions and only ever shrink, so none crosses a region.
    I2  A cut is made only when every part satisfies the requirements; a group that is not cut any more is final.
    I3  A point is never divided: all records of a point are published alike. Where people in several rows are counted
        it is (`people_cuts`).

Departures
    Children that are not safe by themselves stay together under their parent, with the smallest safe child when they
    need it, instead of forbidding the cut. The column to cut is the one that saves most of the objective, not the
    widest.

Cost: rounds × columns passes over the points that are still in play; rounds grow with the logarithm of the number of
points.


People cuts
-----------
Mondrian's cuts where one person may have several rows: the input of the compiled pass, from a recoding problem.

The pass (`kernels.person_partitioning`) judges every part with M, all rows of a person that fit what the part is
published as, so that holds whatever the other parts become. It divides points: a rest that is too small borrows
records, not whole points.


Trees
-----
The hierarchies of a problem's columns as flat arrays that compiled passes read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.class_merging import normalize_grouping
from sfumato.kinds.tables.methods.person_requirements import (
    HAVING,
    WHOSE,
    NoCertainValue,
    PersonModel,
    RowsOfDifferentPersons,
    ValueShareOfPersons,
    rows_of_several,
)
from sfumato.kinds.tables.methods.recoding_costs import Costs, cell_costs
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem, Requirement

if TYPE_CHECKING:
    from sfumato.kinds.tables.methods.kernels.partitioning import Trees
    from sfumato.kinds.tables.methods.kernels.person_partitioning import Crowd, CrowdWish, Ends, PeopleBoard, Run


Progress = Callable[[float], None]


def mondrian(
    problem: RecodingProblem, *, objective: str = "loss", progress: Progress | None = None, claims: Claims | None = None
) -> Grouping:
    """Partition the points that need not be suppressed; regions are the first groups (I1).

    Cuts are judged by `claims`, those of the problem unless others are given.
    """
    if claims is None and counts_persons(problem):
        return partition_persons(problem, objective)
    claims = claims or Claims(problem)
    if claims.by_size:
        return problem.grouping(_one_by_one(problem, claims.fewest, objective))
    return in_rounds(problem, claims, objective=objective, progress=progress)


def _one_by_one(problem: RecodingProblem, fewest: int, objective: str) -> IntArray:
    """The group of each point where the number of records decides everything: the same cuts, in one compiled pass."""
    from sfumato.kinds.tables.methods.kernels.partitioning import CuttingDesk, cut_by_size

    point = np.flatnonzero(~problem.out)
    region = problem.regions.of[point]
    order = point[np.argsort(region, kind="stable")]
    first = np.concatenate(
        [np.flatnonzero(np.diff(region[np.argsort(region, kind="stable")], prepend=-1)), [len(order)]]
    )
    trees = trees_of(problem)
    widest = max(2, int(trees.child.max(initial=0)) + 1) + 1
    base = np.cumsum([0, *(domain.size for domain in problem.domains)]).astype(np.int64)
    lowest, highest = np.zeros((2, len(problem.domains)), dtype=np.int64)
    size, lo, last, becomes, records, kept = np.zeros((6, widest), dtype=np.int64)
    chosen, weight, middle, best = (np.zeros(n, dtype=np.int64) for n in (len(order), int(base[-1]), 2, 3))
    desk = CuttingDesk(
        chosen,
        weight,
        base,
        lowest,
        highest,
        size,
        lo,
        last,
        becomes,
        np.zeros(widest),
        records,
        middle,
        np.zeros(1),
        best,
        kept,
    )
    codes, costs = np.ascontiguousarray(problem.points), cell_costs(problem, objective)
    return cut_by_size(codes, problem.counts, order, first.astype(np.int64), fewest, costs, trees, desk)


def in_rounds(
    problem: RecodingProblem, claims: Claims, *, objective: str = "loss", progress: Progress | None = None
) -> Grouping:
    """All groups are cut in the same round, whatever the requirements."""
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
        point, of = point[~idle], equivalence_classes_of([of[~idle], part[~idle]]).of
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
        """Parts made of the children so that they are safe, and for which groups that succeeds with two parts or more
        (I2)."""
        classes = equivalence_classes_of([of, child])
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

    def _leftover_holds(
        self, point: IntArray, of: IntArray, unsafe: BoolArray, asked: BoolArray, groups: int
    ) -> BoolArray:
        """For the groups asked about: do the children marked unsafe satisfy the claims together?"""
        inside = unsafe & asked[of]
        verdict = np.zeros(groups, dtype=np.bool_)
        there = np.bincount(of[inside], minlength=groups) > 0
        verdict[there] = self._hold(point[inside], (np.cumsum(there) - 1)[of[inside]], int(there.sum()))
        return verdict

    def _hold(self, point: IntArray, of: IntArray, groups: int) -> BoolArray:
        """The requirements for groups of whole points."""
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
    """For each code the child, of the lowest node around its group, that it stands under, counted among its
    siblings."""
    above, rank = tree.ancestors, ranks_of(tree)
    depth = np.zeros(len(lo), dtype=np.int64)
    for row in above[1:]:
        depth += row[lo] == row[last]
    return rank[above][np.minimum(depth + 1, len(above) - 1)[of], code]


def medians(of: IntArray, code: IntArray, count: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """For each group the code of its median record, where a range may be cut before it, and the next code, to cut after
    it."""
    values = equivalence_classes_of([of, code])
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


# People cuts
# -----------


def counts_persons(problem: RecodingProblem) -> bool:
    """Whether something is asked of people, and the compiled pass knows all that is asked."""
    known = all(isinstance(one.model, PersonModel) or one.model.demand().sufficient for one in problem.requirements)
    return known and problem.uniform and any(isinstance(one.model, PersonModel) for one in problem.requirements)


def partition_persons(problem: RecodingProblem, objective: str) -> Grouping:
    """The groups of a problem in which people are counted; groups are safe unless a region is not safe as a whole."""
    from sfumato.kinds.tables.methods.kernels.person_partitioning import cut_for_people

    rows = np.flatnonzero(~problem.out[problem.row_point.of])
    region = problem.regions.of[problem.row_point.of[rows]]
    order = rows[np.argsort(region, kind="stable")]
    first = np.concatenate([np.flatnonzero(np.diff(np.sort(region), prepend=-1)), [len(order)]]).astype(np.int64)
    found = cut_for_people(_board(problem, objective), order, first, _room(problem, len(order)))
    return normalize_grouping(problem.row_cell.of[rows], found[rows], np.ones(len(rows), dtype=np.int64))


def _board(problem: RecodingProblem, objective: str) -> PeopleBoard:
    from sfumato.kinds.tables.methods.kernels.person_partitioning import CrowdDesk, PeopleBoard

    hidden = [
        column.name for column in problem.sensitive if column.name != WHOSE and not column.name.startswith(HAVING)
    ]
    crowd, wanted = _crowd(problem, hidden), _wanted(problem, hidden)
    people, values, had = (int(codes.max(initial=0)) + 1 for codes in (crowd.person, crowd.value, crowd.having))
    box, whole = np.zeros((2, 2, len(problem.domains)), dtype=np.int64)
    tally, value, having, largest = (np.zeros(n, dtype=np.int64) for n in (people, values, had, len(hidden)))
    desk = CrowdDesk(tally, value, having, box, whole, largest)
    return PeopleBoard(crowd, wanted, trees_of(problem), _ends(problem), cell_costs(problem, objective), desk)


def _crowd(problem: RecodingProblem, hidden: Sequence[str]) -> Crowd:
    from sfumato.kinds.tables.methods.kernels.person_partitioning import Crowd

    columns = {column.name: column.codes for column in problem.sensitive}
    value = _beside([columns[name] for name in hidden], problem.rows)
    having = _beside([columns.get(HAVING + name, columns[name]) for name in hidden], problem.rows)
    codes = np.ascontiguousarray(problem.points[problem.row_point.of])
    point, whose = problem.row_point.of.astype(np.int64), columns[WHOSE].astype(np.int64)
    return Crowd(codes, point, whose, value, having, *rows_of_several(problem, problem.names))


def _beside(columns: Sequence[np.ndarray], rows: int) -> IntArray:
    """Columns as one array of records × columns."""
    return np.ascontiguousarray(np.array(columns, dtype=np.int64).reshape(len(columns), rows).T)


def _wanted(problem: RecodingProblem, hidden: Sequence[str]) -> CrowdWish:
    """What the requirements come to in numbers."""
    from sfumato.kinds.tables.methods.kernels.person_partitioning import CrowdWish

    people = [one.model for one in problem.requirements if isinstance(one.model, PersonModel)]
    others = [one for one in problem.requirements if not isinstance(one.model, PersonModel)]
    k = max((model.k for model in people if isinstance(model, RowsOfDifferentPersons)), default=1)
    sure = {model.column for model in people if isinstance(model, NoCertainValue)}
    shares = {model.column: model for model in sorted(_shares(people), key=lambda model: -model.share)}
    mine = [shares.get(HAVING + name) for name in hidden]
    value_of = np.zeros((len(hidden), max([1, *(len(one.value) for one in mine if one is not None)])), dtype=np.int64)
    for place, one in enumerate(mine):
        if one is not None:
            value_of[place, : len(one.value)] = one.value
    return CrowdWish(
        Claims(problem).fewest, k,
        np.array([max(_demanded(others, name, "distinct"), default=0) for name in hidden], dtype=np.int64),
        _shares_of([min(_demanded(others, name, "largest_share"), default=1.0) for name in hidden]),
        _shares_of([1.0 if one is None else one.share for one in mine]),
        np.array([name in sure for name in hidden], dtype=np.int64),
        np.array([0 if one is None else one.values for one in mine], dtype=np.int64),
        value_of,
    )  # fmt: skip


def _shares(people: Sequence[PersonModel]) -> list[ValueShareOfPersons]:
    return [model for model in people if isinstance(model, ValueShareOfPersons)]


def _shares_of(shares: Sequence[float]) -> FloatArray:
    return np.array(shares, dtype=np.float64)


def _demanded(others: Sequence[Requirement], name: str, what: str) -> list[float]:
    return [getattr(one.model.demand(), what) for one in others if name in one.hide]


def _ends(problem: RecodingProblem) -> Ends:
    """First leaf and the one after the last below every node, beside the nodes of the trees."""
    from sfumato.kinds.tables.methods.kernels.person_partitioning import Ends

    above = [(domain, domain.ancestors) for domain in problem.domains if isinstance(domain, Hierarchy)]
    none = np.zeros(0, dtype=np.int64)
    low = np.concatenate([none, *(domain.lo[nodes].ravel() for domain, nodes in above)]).astype(np.int64)
    return Ends(low, np.concatenate([none, *(domain.hi[nodes].ravel() for domain, nodes in above)]).astype(np.int64))


def _room(problem: RecodingProblem, many: int) -> Run:
    from sfumato.kinds.tables.methods.kernels.person_partitioning import Run

    span, cut, members, part, start, most, rest, best, size = (
        np.zeros(n, dtype=np.int64) for n in (4, 4, many, many, many + 2, many + 1, many, problem.rows, many + 1)
    )
    extent = np.zeros((many + 1, 2 * len(problem.domains)), dtype=np.int64)
    return Run(span, cut, members, part, start, most, rest, best, np.zeros(1), extent, size)


# Trees
# -----


def trees_of(problem: RecodingProblem) -> Trees:
    """The hierarchies of all columns as the compiled pass reads them."""
    from sfumato.kinds.tables.methods.kernels.partitioning import Trees

    none = np.zeros((0, 0), dtype=np.int64)
    above = [domain.ancestors if isinstance(domain, Hierarchy) else none for domain in problem.domains]
    ranks = [
        ranks_of(domain)[rows] if isinstance(domain, Hierarchy) else none
        for domain, rows in zip(problem.domains, above, strict=True)
    ]
    before = np.cumsum([0, *(rows.size for rows in above)])[:-1]
    return Trees(
        np.where([rows.size > 0 for rows in above], before, -1).astype(np.int64),
        np.array([len(rows) for rows in above], dtype=np.int64),
        np.array([domain.size for domain in problem.domains], dtype=np.int64),
        np.concatenate([rows.ravel() for rows in above]).astype(np.int64),
        np.concatenate([rows.ravel() for rows in ranks]).astype(np.int64),
    )


def ranks_of(tree: Hierarchy) -> IntArray:
    """The place of each node among its siblings."""
    order = np.argsort(tree.parent[:-1], kind="stable")
    rank = np.zeros(len(tree.names), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.searchsorted(tree.parent[order], tree.parent[order])
    return rank
