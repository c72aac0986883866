"""`global`: full-domain recoding; one level per column for all people, with a budget of records that may be left out.

The codebook of such a release is one line per column, which some users need; it loses more than a recoding in which
everybody is written as finely as their own group allows. The lattice of levels is that of `full_domain`, the search
that of `lattice_search`.

Guarantee: up to `nodes` combinations of levels the release is the cheapest of its kind, and the private report says so;
above that, or where people have several rows, it is the best that was found. Paper: Samarati (2001); Kohlmayer,
Prasser, Eckert, Kemper, Kuhn (2012).

Invariants
    I1  Without a budget, columns that no claim ties together are looked at by themselves; with one, all together,
        because a record that is left out is left out of all columns.
    I2  An optimum is stated only of a search that ended by itself, over all columns, for claims judged class by class.


Full domain
-----------
Full-domain recoding: every column is published at one level of its hierarchy, and records that are not safe there are
suppressed.

A choice of one level per column is a node of a lattice; going up makes classes larger and cells coarser. What a node
costs is what its levels cost on average, and more for every record that it leaves out.

Paper: Samarati (2001); LeFevre, DeWitt, Ramakrishnan (2005).

Notation
    rung      one way to write a column: a cut through its hierarchy at one depth, no leaf above its ceiling; of numbers
              without a hierarchy 1, 2, 4, … parts of about equally many records
    node      one rung per column
    bound     the mean cost of the rungs over all records: what the node costs when nobody is left out
    extra     what leaving records out adds to the bound; never negative, because a record left out costs as much as a
              cell can

Invariants
    I1  Rungs of a column are nested, so classes of a node are parts of the classes of every node above it.
    I2  Left out are whole classes that break a requirement; where claims see some of the columns only, or compare with
        the release, until none is left that does.
    I3  Where more records never hurt (numbers and different values), a record that a node leaves out is left out by
        every node below: its class there is a part of one that was not enough. So ``extra`` of a node is at most that
        of every node below.
    I4  Where claims survive joining classes and nobody may be left out, a node below one that breaks a requirement
        breaks one, too.
    I5  If a class must be published as a whole or not at all, suppressing one record suppresses its class.

Departures: of a class that breaks a requirement on shares a part might have been saved; it is left out as a whole, so
that nobody's absence depends on a single value.


Lattice search
--------------
The cheapest node of a lattice of levels, found with as few looks at nodes as possible, and proven where the search ends
by itself.

A node costs its bound, known beforehand, and something extra, known only after a look; or it is not allowed. Nodes
whose bound is not below the best cost so far need no look. What else is learned from a look depends on the claims
(`full_domain`):

    not allowed, and claims survive joining   all nodes below are not allowed
    extra e, and more records never hurt      all nodes below cost at least e more than their bound

Looks are chosen as Flash does: a path leads from the most promising node upwards, and is searched by halving; before
that every column alone is asked how low it can be, all others being as coarse as they can.

Paper: Kohlmayer, Prasser, Eckert, Kemper, Kuhn (2012) for paths and halving; Samarati (2001) for what a look says of
other nodes.

Invariants
    I1  A node is put aside only when its bound, or what a look at a node above it said, shows that it cannot be cheaper
        than the best.
    I2  The answer is proven only when no node is left that is not put aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log2, prod
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.form import Optimality, RecodedProvenance
from sfumato.kinds.tables.methods.person_requirements import Fit, PersonModel
from sfumato.kinds.tables.methods.recoding import (
    Component,
    RecodingMethod,
    components,
    known_quasi_identifiers,
    publish_recoding,
    suppression_budget,
)
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_history import HISTORY
from sfumato.kinds.tables.methods.recoding_problem import Cells, Claims, Grouping, RecodingProblem
from sfumato.policy.policy import Policy
from sfumato.release.method import Task
from sfumato.release.release import Release


class Global(RecodingMethod):
    """Generalize every column to one level (full-domain recoding), with the least loss and limited suppression."""

    name: ClassVar[str] = "global"
    on_classes: ClassVar[bool] = True
    paper: ClassVar[str] = "Samarati 2001; Kohlmayer et al. 2012"
    mixed: ClassVar[bool] = True
    one_level: ClassVar[bool] = True

    nodes: int = Field(default=200_000, ge=1, description="largest lattice for which the optimum is proven")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 3, "it writes every column at one level, so that a codebook is one line per column"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        budget = policy.utility.suppress_at_most
        may = f"up to {budget:.3%} of the records may be left out" if budget else "nobody is left out who need not be"
        return [*super().describe(policy, data), f"levels: one per column, the cheapest combination; {may}"]

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return self._searched(problem, task, 0)[1]

    def release(self, task: Task, problem: RecodingProblem) -> Release:
        spare = suppression_budget(task.policy, problem, task.withheld)
        if not spare:
            return self._stated(task, problem, components(problem), spare)
        return self._stated(task, problem, [Component(problem)], spare)  # I1

    def _stated(self, task: Task, problem: RecodingProblem, parts: list[Component], spare: int) -> Release:
        if len(parts) > 1 or not parts[0].problem.requirements or HISTORY in problem.names or task.withheld:
            return publish_recoding(task, problem, [(part, self._part(part.problem, task, spare)) for part in parts])
        found, grouping = self._searched(parts[0].problem, task, spare)
        said = _statement(task.policy, problem, found)
        made = publish_recoding(task, problem, [(parts[0], grouping)])
        return (
            made
            if said is None
            else replace(made, trace=RecodedProvenance(made.trace.rows, optimality=said, lasting=True))
        )

    def _part(self, problem: RecodingProblem, task: Task, spare: int) -> Grouping:
        if not problem.requirements:
            return problem.grouping(np.arange(len(problem.points)))
        return self._searched(problem, task, spare)[1]

    def _searched(self, problem: RecodingProblem, task: Task, spare: int) -> tuple[CheapestNode, Grouping]:
        beside = len(task.policy.quasi_identifiers) - len(problem.names)
        lattice = FullDomain(problem, task.policy.utility.minimize, spare=spare, beside=max(beside, 0))
        task.progress(0.0, f"looking at {prod(lattice.shape):,} combinations of levels")
        found = cheapest_node(lattice, most=self.nodes, progress=lambda done: task.progress(done, "choosing levels"))
        grouping = None if found.node is None else lattice.grouping(found.node)
        if grouping is None:
            raise Infeasible(
                "no combination of levels is safe, not even the coarsest",
                where="person" if lattice.fit is not None else "",
                hint="ask for less, widen a boundary, or allow more records to be suppressed",
            )
        return found, grouping


def _statement(policy: Policy, problem: RecodingProblem, found: CheapestNode) -> Optimality | None:
    """Return the proven optimality statement for the data holder (I2)."""
    objective = policy.utility.minimize
    whole = problem.names == policy.quasi_identifiers == known_quasi_identifiers(policy)
    whole = whole and not policy.utility.importance
    if not found.proven or not whole or objective == "entropy_loss" or policy.person is not None or problem.beside:
        return None
    inside = problem.records - problem.suppressed
    figure = (found.cost * inside + problem.suppressed) / problem.records
    return Optimality(
        objective=objective,
        lower_bound=float(f"{figure:.6g}"),
        proven_optimal=True,
        space="one level of its hierarchy for every column, classes that break a claim suppressed as a whole",
        proof="every combination of levels was looked at, or is excluded by its cost or by a coarser one",
    )


# Full domain
# -----------


Node = tuple[int, ...]
_PARTS = 64


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to write a column: for each leaf its cell and what that costs, and the mean over the records."""

    cells: Cells
    cost: FloatArray
    mean: float
    mark: IntArray
    """A random number per leaf, equal for leaves that are written alike."""


class FullDomain:
    """The lattice of a recoding problem."""

    def __init__(self, problem: RecodingProblem, objective: str, *, spare: int = 0, beside: int = 0) -> None:
        self.problem, self.spare = problem, spare
        self.points = np.flatnonzero(~problem.out)
        self.codes = problem.points[self.points]
        self.count = problem.counts[self.points]
        self.records = int(self.count.sum())
        own = sum(problem.weights.get(name, 1.0) > 0 for name in problem.names)
        whole = log2(max(problem.records, 1)) if objective == "entropy_loss" else 1.0
        self.lost = whole * (own + beside) / max(own, 1)
        """What a record costs that is left out, columns that are published as they are included."""
        self.claims = Claims(problem)
        self.fit = Fit(problem) if any(isinstance(one.model, PersonModel) for one in problem.requirements) else None
        self.columns = _rungs(problem, Costs.of(problem, objective), self.codes, self.count)
        self.start = np.cumsum([0, *(domain.size for domain in problem.domains[:-1])])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.columns))

    @property
    def top(self) -> Node:
        return tuple(len(column) - 1 for column in self.columns)

    @property
    def growing(self) -> bool:
        """Whether more records in a class never hurt (I3)."""
        demands = [requirement.model.demand() for requirement in self.problem.requirements]
        return self.fit is None and all(demand.sufficient and demand.largest_share == 1 for demand in demands)

    @property
    def joining(self) -> bool:
        """Whether a node that breaks a requirement says so of all nodes below (I4)."""
        held = all(requirement.model.monotone for requirement in self.problem.requirements)
        return self.growing or (self.fit is None and not self.spare and held)

    def bound(self, node: Node) -> float:
        """What a node costs at least."""
        return sum(column[level].mean for column, level in zip(self.columns, node, strict=True))

    def surcharge(self, node: Node) -> float | None:
        """What leaving records out adds to the bound; nothing when more would have to be left out than may be."""
        inside = self.kept(node)
        if inside is None:
            return None
        out = ~inside
        if not out.any():
            return 0.0
        codes = self.codes[out]
        cost = sum(
            column[level].cost[codes[:, place]]
            for place, (column, level) in enumerate(zip(self.columns, node, strict=True))
        )
        return float(self.count[out] @ np.maximum(self.lost - cost, 0.0)) / max(self.records, 1)

    def kept(self, node: Node) -> BoolArray | None:
        """Which points are published at a node; nothing when too many are not."""
        inside = np.ones(len(self.points), dtype=np.bool_)
        if self.problem.uniform:
            of, size = self._classes(node, inside)
            inside = (size >= self.claims.fewest)[of]
            inside = self._undivided(inside)
            if self.claims.by_size:
                return self._few_out(inside)
        while self._few_out(inside) is not None:
            made = self._grouping(node, inside)
            holds = self._holding(made)
            if holds.all():
                return inside
            if not self.spare:
                return None
            broken = np.zeros(len(self.problem.points), dtype=np.bool_)
            broken[self.problem.cell_point[made.cell[~holds[made.group]]]] = True
            inside = self._undivided(inside & ~broken[self.points])  # I2
        return None

    def _undivided(self, inside: BoolArray) -> BoolArray:
        """The same without those who share an undivided class with a person who is left out (I5)."""
        if self.problem.undivided is None or self.problem.undivided[0] not in self.problem.names or inside.all():
            return inside
        column, classes = self.problem.undivided
        of = self.codes[:, self.problem.names.index(column)]
        lost = np.intersect1d(of[~inside], list(classes))
        verdict: BoolArray = inside & ~np.isin(of, lost)
        return verdict

    def _few_out(self, inside: BoolArray) -> BoolArray | None:
        left = self.records - int(self.count[inside].sum())
        return inside if left <= self.spare and left < self.records else None

    def _holding(self, grouping: Grouping) -> BoolArray:
        holds = self.problem.satisfied(grouping)
        return holds & ~self.fit.broken(grouping) if self.fit is not None and holds.all() else holds

    def _classes(self, node: Node, inside: BoolArray) -> tuple[IntArray, IntArray]:
        """The class of each point that is inside, and the records of each class."""
        from sfumato.kinds.tables.methods.kernels.partitioning import coarse_classes

        marks = np.concatenate([column[level].mark for column, level in zip(self.columns, node, strict=True)])
        codes = self.codes if inside.all() else self.codes[inside]
        return coarse_classes(codes, np.zeros(len(codes), dtype=np.int64), self.count[inside], marks, self.start, 0)

    def _grouping(self, node: Node, inside: BoolArray) -> Grouping:
        of, size = self._classes(node, inside)
        made = self.problem.grouping_of(self.points[inside], of)
        if self.problem.uniform and self.fit is None:
            return made
        first = np.zeros(len(size), dtype=np.int64)
        first[of[::-1]] = np.arange(len(of))[::-1]
        return Grouping(made.cell, made.group, made.count, self._written(node, self.codes[inside][first]))

    def _written(self, node: Node, codes: CodeArray) -> tuple[Cells, ...]:
        chosen = zip(self.columns, node, strict=True)
        return tuple(column[level].cells.taken(codes[:, place]) for place, (column, level) in enumerate(chosen))

    def grouping(self, node: Node) -> Grouping | None:
        """What is published at a node; classes are compared cell by cell here, without random numbers."""
        inside = self.kept(node)
        if inside is None:
            return None
        cells = self._written(node, self.codes[inside])
        alike = equivalence_classes_of([side for column in cells for side in column.sides()], rows=int(inside.sum()))
        made = self.problem.grouping_of(self.points[inside], alike.of)
        return Grouping(made.cell, made.group, made.count, tuple(column.taken(alike.first) for column in cells))


def _rungs(problem: RecodingProblem, costs: Costs, codes: CodeArray, count: IntArray) -> list[list[Rung]]:
    """The rungs of every column from fine to coarse; those that write everybody alike are one, by its lowest names."""
    bits = np.random.default_rng(20_07)
    table = []
    for place, domain in enumerate(problem.domains):
        tally = np.bincount(codes[:, place], count, domain.size).astype(np.float64)
        found: list[Rung] = []
        for cells in _cuts(domain, tally):
            if found and np.array_equal(cells.lo, found[-1].cells.lo) and np.array_equal(cells.hi, found[-1].cells.hi):
                continue
            cost = costs.column(place, cells.lo, cells.hi)
            alike = equivalence_classes_of(cells.sides()).of
            mark = bits.integers(-(1 << 62), 1 << 62, int(alike.max(initial=0)) + 1)[alike]
            found.append(Rung(cells, cost, float(cost @ tally) / max(float(tally.sum()), 1.0), mark))
        table.append(found)
    return table


def _cuts(domain: Generalization, tally: FloatArray) -> Iterator[Cells]:
    """Nested ways to write a column, from fine to coarse (I1)."""
    if isinstance(domain, Hierarchy):
        for row in domain.ancestors[::-1]:
            yield Cells.at(domain, np.minimum(row, domain.ceiling_nodes))
        return
    leaf = np.arange(domain.size, dtype=np.int64)
    yield Cells(leaf, leaf + 1)
    middle = (np.cumsum(tally) - tally / 2) / max(tally.sum(), 1.0)
    parts = 1
    while parts < min(domain.size, _PARTS):
        parts *= 2
    while (parts := parts // 2) >= 1:
        part = np.minimum((middle * parts).astype(np.int64), parts - 1)
        yield Cells(np.searchsorted(part, part, side="left"), np.searchsorted(part, part, side="right"))


# Lattice search
# --------------


Progress = Callable[[float], None]
_CLOSE = 1e-12


@dataclass(frozen=True, slots=True)
class CheapestNode:
    """The best node that was found; none when not even the coarsest is allowed."""

    node: Node | None
    cost: float
    proven: bool
    looks: int


def cheapest_node(lattice: FullDomain, *, most: int, progress: Progress | None = None) -> CheapestNode:
    """The cheapest node, with at most so many nodes in memory and looks."""
    if prod(map(float, lattice.shape)) > most:
        return _descended(lattice, most)
    search = _Looks(lattice, most)
    search.run(progress)
    return CheapestNode(search.best, search.cost, not search.open().any(), len(search.seen))  # I2


class _Looks:
    def __init__(self, lattice: FullDomain, most: int) -> None:
        self.lattice, self.most = lattice, most
        means = [np.array([rung.mean for rung in column]) for column in lattice.columns]
        grid = np.zeros(lattice.shape)
        for place, mean in enumerate(means):
            grid = grid + mean.reshape([-1 if other == place else 1 for other in range(len(means))])
        self.plain: FloatArray = grid
        self.bound: FloatArray = grid.copy()
        """What each node costs at least; infinite for those that are put aside or known (I1)."""
        self.seen: dict[Node, float | None] = {}
        self.best: Node | None = None
        self.cost = float("inf")

    def open(self) -> np.ndarray:
        """Nodes that may be cheaper than the best."""
        return self.bound < self.cost - _CLOSE

    def run(self, progress: Progress | None) -> None:
        self.look(self.lattice.top)
        if self.lattice.joining:
            self._columns_alone()
        total = max(int(self.open().sum()), 1)
        while len(self.seen) < self.most and (left := self.open()).any():
            flat = int(np.argmin(np.where(left, self.bound, np.inf)))
            self._halve(self._path(tuple(map(int, np.unravel_index(flat, self.bound.shape))), left))
            if progress is not None:
                progress(1 - int(left.sum()) / total)

    def look(self, node: Node) -> bool:
        """Whether a node is allowed; what is learned is kept."""
        if node in self.seen:
            return self.seen[node] is not None
        extra = self.seen[node] = self.lattice.surcharge(node)
        below = tuple(slice(0, level + 1) for level in node)
        if extra is None:
            self.bound[below if self.lattice.joining else node] = np.inf
            return False
        if self.lattice.growing and extra > 0:
            np.maximum(self.bound[below], self.plain[below] + extra, out=self.bound[below])
        cost = float(self.plain[node]) + extra
        if cost < self.cost - _CLOSE:
            self.best, self.cost = node, cost
        self.bound[node] = np.inf
        return True

    def _columns_alone(self) -> None:
        """How low each column can be at all."""
        top = self.lattice.top
        for place, height in enumerate(top):
            for level in range(height - 1, -1, -1):
                if not self.look((*top[:place], level, *top[place + 1 :])):
                    break

    def _path(self, node: Node, left: np.ndarray) -> list[Node]:
        """From a node upwards through nodes that are still open, always to the cheapest next one."""
        path = [node]
        while True:
            above = [(*node[:place], level + 1, *node[place + 1 :]) for place, level in enumerate(node)]
            further = [
                one for one in above if all(a <= b for a, b in zip(one, self.lattice.top, strict=True)) and left[one]
            ]
            if not further:
                return path
            node = min(further, key=lambda one: float(self.plain[one]))
            path.append(node)

    def _halve(self, path: list[Node]) -> None:
        """The lowest allowed node of a path, by halving."""
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            if self.look(path[middle]):
                high = middle - 1
            else:
                low = middle + 1


def _descended(lattice: FullDomain, most: int) -> CheapestNode:
    """From the coarsest node downwards, always to the cheapest next node that is allowed; too many nodes for more."""
    node, looks = lattice.top, 1
    extra = lattice.surcharge(node)
    if extra is None:
        return CheapestNode(None, float("inf"), False, looks)
    cost = lattice.bound(node) + extra
    while looks < most:
        below = [(*node[:place], level - 1, *node[place + 1 :]) for place, level in enumerate(node) if level]
        found = [(lattice.bound(one) + extra, one) for one in below if (extra := lattice.surcharge(one)) is not None]
        looks += len(below)
        if not found or min(found)[0] >= cost - _CLOSE:
            return CheapestNode(node, cost, False, looks)
        cost, node = min(found)
    return CheapestNode(node, cost, False, looks)
