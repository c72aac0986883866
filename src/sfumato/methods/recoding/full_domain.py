"""Full-domain recoding: every column is written at one level of its hierarchy, and whoever is not safe there is left out.

A choice of one level per column is a node of a lattice; going up makes classes larger and cells coarser. What a node costs is what
its levels cost on average, and more for every record that it leaves out.

Paper: Samarati (2001); LeFevre, DeWitt, Ramakrishnan (2005).

Notation
    rung      one way to write a column: a cut through its hierarchy at one depth, no leaf above its ceiling; of numbers without a
              hierarchy 1, 2, 4, … parts of about equally many records
    node      one rung per column
    bound     the mean cost of the rungs over all records: what the node costs when nobody is left out
    extra     what leaving records out adds to the bound; never negative, because a record left out costs as much as a cell can

Invariants
    I1  Rungs of a column are nested, so classes of a node are parts of the classes of every node above it.
    I2  Left out are whole classes that break a claim; where claims see some of the columns only, or compare with the release,
        until none is left that does.
    I3  Where more records never hurt (numbers and different values), a record that a node leaves out is left out by every node
        below: its class there is a part of one that was not enough. So ``extra`` of a node is at most that of every node below.
    I4  Where claims survive joining classes and nobody may be left out, a node below one that breaks a claim breaks one, too.
    I5  Where a problem has classes of which everybody is published or nobody, whoever is left out takes the class along.

Departures: of a class that breaks a claim on shares a part might have been saved; it is left out as a whole, so that nobody's
absence depends on a single value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

import numpy as np

from sfumato.data.arrays import BoolArray, CodeArray, FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.people import Fit, OfPeople
from sfumato.methods.recoding.problem import Cells, Grouping, RecodingProblem

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
        self.fit = Fit(problem) if any(isinstance(one.model, OfPeople) for one in problem.requirements) else None
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
        """Whether a node that breaks a claim says so of all nodes below (I4)."""
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
            column[level].cost[codes[:, place]] for place, (column, level) in enumerate(zip(self.columns, node, strict=True))
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
        """The same without those who share an undivided class with somebody who is left out (I5)."""
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
        from sfumato.methods.recoding.kernels.coarse_classes import coarse_classes

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
        alike = group([side for column in cells for side in column.sides()], rows=int(inside.sum()))
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
            alike = group(cells.sides()).of
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
