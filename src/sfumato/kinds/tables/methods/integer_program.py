"""The integer program: how many records of each unit are published at each node, and which nodes are in use.

    minimize    Σ c(t)·x(i, t)  +  s·Σ z(i)
    where       Σₜ x(i, t) + z(i) = n(i)                every record is published once, or suppressed
                x(i, t) ≤ n(i)·y(t)                     only at nodes in use
                Σᵢ x(i, t) ≥ k·y(t)                     and those have k records,
                Σ{i has v} x(i, t) ≤ m(t)               no value more often than m(t), a whole number,
                l·m(t) ≤ Σᵢ x(i, t)                     and that is at most one in l of them (frequency),
                Σᵥ d(v, t) ≥ l·y(t)                     or l different values, d(v, t) ≤ Σ{i has v} x(i, t) (distinct)
                Σ z(i) ≤ budget

Counts of records may be fractions when only sizes, or sizes and shares of one column, are claimed: once the nodes in
use and the levels m are known, the rest is a flow with whole bounds, from units to values of nodes to nodes. With other
requirements on values they are whole numbers. In the end the counts are solved once more, as whole numbers, on the
nodes in use.

Paper: [obfuscation §3.3], with units and counts instead of tuples.

Notation
    shares    (sensitive column, largest share of one value) of every requirement on shares
    variety   (sensitive column, fewest different values) of every requirement on different values

Departures
    Claims that are not linear (entropy, recursive, t-closeness) are represented by what they imply. The program is then
    a relaxation: its bound holds, and whether its answer satisfies the requirements is for the models to say. Two
    different values are asked for without d: for every value the others must have at least y(t) records.

Cost: HiGHS through scipy; its answers are exact up to its tolerances (10⁻⁶), for which `TOLERANCE` is taken off
the bound.


Arrangement
-----------
An arrangement: which records of each unit are in which group, and which are suppressed by choice.

Invariants
    I1  Every record of a unit is in exactly one group or suppressed.
    I2  An arrangement becomes another only where that costs less and the models say that every new group satisfies the
        requirements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.kinds.tables.methods.class_merging import Entries
from sfumato.kinds.tables.methods.greedy_clustering import implied
from sfumato.kinds.tables.methods.price_bound import Nodes, RecodingSpace
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem

_LEVELS = 40
"""Levels that are looked at for what whole numbers say."""
TOLERANCE = 2e-6
"""What is taken off the solver's bound, as a share of it."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Some records of a space that are to be arranged anew, and the nodes they may go to."""

    unit: IntArray
    count: IntArray
    node_cost: FloatArray
    member: IntArray
    """Per membership the index of the unit in `unit`."""
    owner: IntArray
    """Per membership its node."""
    budget: int = 0
    """Records that may be suppressed."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """The best arrangement that was found (none: no member), and a bound on all of them."""

    member: IntArray
    owner: IntArray
    count: IntArray
    cost: float
    bound: float
    suppressed: IntArray
    """Records of each unit of the part that are suppressed."""

    @property
    def found(self) -> bool:
        return bool(np.isfinite(self.cost))


def claims_on_values(space: RecodingSpace) -> tuple[list[tuple[int, float]], list[tuple[int, int]]]:
    """Shares and variety: the sensitive column's place among the tags, and its limit."""
    least: dict[int, float] = {}
    hidden = space.claims.hidden
    for requirement in space.problem.requirements:
        limit = requirement.model.demand().largest_share
        if limit < 1.0:
            least |= {at: min(limit, least.get(at, 1.0)) for at in map(hidden.index, requirement.hide)}
    _, distinct = implied(space.problem)
    shares, shared = list(least.items()), set(least)
    variety = [(hidden.index(name), kinds) for name, kinds in distinct.items() if kinds > 1]
    return shares, [
        (column, kinds) for column, kinds in variety if column not in shared or _kinds_matter(shares, column, kinds)
    ]


def _kinds_matter(shares: list[tuple[int, float]], column: int, kinds: int) -> bool:
    """Whether so many values are more than the shares imply by themselves."""
    return all(kinds > math.ceil(1.0 / limit - 1e-9) for at, limit in shares if at == column)


def states(problem: RecodingProblem) -> bool:
    """Whether the program states the claims completely: sizes, different values and shares."""
    return all(requirement.model.demand().sufficient for requirement in problem.requirements)


def part_of(space: RecodingSpace, nodes: Nodes, unit: IntArray, count: IntArray, *, budget: int = 0) -> Neighbourhood:
    """The part of these records with the nodes that can be used by them alone."""
    index = np.full(len(space.count), -1, dtype=np.int64)
    index[unit] = np.arange(len(unit))
    member = index[nodes.member]
    owner = nodes.owner
    inside = member >= 0
    member, owner = member[inside], owner[inside]
    enough = np.bincount(owner, weights=count[member], minlength=len(nodes)) >= space.least
    kept = enough[owner]
    number = np.cumsum(enough) - 1
    return Neighbourhood(unit, count, nodes.cost[enough] / space.scale, member[kept], number[owner[kept]], budget)


class Program:
    """Rows and columns under construction: x per membership, then y per node, then what requirements on values need."""

    def __init__(self, space: RecodingSpace, part: Neighbourhood) -> None:
        self.space, self.part = space, part
        self.pairs, self.nodes = len(part.member), len(part.node_cost)
        self.width = self.pairs + self.nodes
        self.cost = [part.node_cost[part.owner], np.zeros(self.nodes)]
        self.upper = [part.count[part.member].astype(np.float64), np.ones(self.nodes)]
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._low: list[FloatArray] = []
        self._high: list[FloatArray] = []
        self._rows = 0
        self.shares, self.variety = claims_on_values(space)
        self.levels: IntArray = np.zeros(0, dtype=np.int64)
        """The columns m, and the sizes of nodes where what m asks of them is no whole number: all must be whole."""
        self._state()

    @property
    def flows(self) -> bool:
        """Whether whole nodes in use and whole levels leave a flow, so that counts need not be asked to be whole."""
        return len(self.shares) <= 1 and not self.variety

    def _state(self) -> None:
        part = self.part
        pair, y = np.arange(self.pairs), self.pairs + part.owner
        suppressed = self._columns(len(part.unit), self.space.suppressed_cost, part.count) if part.budget else None
        entries = [(part.member, pair, 1.0)]
        if suppressed is not None:
            entries.append((np.arange(len(part.unit)), suppressed, 1.0))
            self._add([(np.zeros(len(suppressed), np.int64), suppressed, 1.0)], 1, -np.inf, float(part.budget))
        self._add(entries, len(part.unit), part.count, part.count)
        self._add([(pair, pair, 1.0), (pair, y, -part.count[part.member])], self.pairs, -np.inf, 0.0)
        node = np.arange(self.nodes)
        self._add(
            [(part.owner, pair, 1.0), (node, self.pairs + node, -float(self.space.least))], self.nodes, 0.0, np.inf
        )
        for column, limit in self.shares:
            self._limit(column, limit)
        for column, kinds in self.variety:
            self._differ(column) if kinds == 2 else self._vary(column, kinds)

    def _columns(self, number: int, cost: float, upper: IntArray | FloatArray | float) -> IntArray:
        """New columns."""
        first, self.width = self.width, self.width + number
        self.cost.append(np.full(number, cost))
        self.upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (number,)))
        return np.arange(first, self.width)

    def _add(self, entries: list[tuple[IntArray, IntArray, Any]], rows: int, low: Any, high: Any) -> None:
        """New rows; entries are (row, column, factor)."""
        for row, column, factor in entries:
            spread = np.broadcast_to(np.asarray(factor, dtype=np.float64), (len(row),))
            self._entries.append((self._rows + row, column, spread))
        self._low.append(np.broadcast_to(np.asarray(low, dtype=np.float64), (rows,)))
        self._high.append(np.broadcast_to(np.asarray(high, dtype=np.float64), (rows,)))
        self._rows += rows

    def _values(self, column: int) -> tuple[IntArray, IntArray, IntArray]:
        """Per membership its (node, value) pair; per pair its node and the records that could be there."""
        value = self.space.units.tags[self.part.unit[self.part.member], column].astype(np.int64)
        pairs = equivalence_classes_of([self.part.owner, value])
        room = np.bincount(pairs.of, weights=self.part.count[self.part.member], minlength=len(pairs)).astype(np.int64)
        return pairs.of, self.part.owner[pairs.first], room

    def _totals(self) -> IntArray:
        """One column per node that counts its records, so that rows about single values stay short."""
        if not hasattr(self, "_total"):
            self._total = self._columns(self.nodes, 0.0, float(self.part.count.sum()))
            entries = [(self.part.owner, np.arange(self.pairs), 1.0), (np.arange(self.nodes), self._total, -1.0)]
            self._add(entries, self.nodes, 0.0, 0.0)
        return self._total

    def _limit(self, column: int, limit: float) -> None:
        """No value has more than its share; nothing to say of values with too few records to reach it."""
        of, node, room = self._values(column)
        tight = room > limit * self.space.least
        row = np.cumsum(tight) - 1
        pair = np.flatnonzero(tight[of])
        used, totals = np.arange(self.nodes), self._totals()
        most = np.bincount(self.part.owner, weights=self.part.count[self.part.member], minlength=self.nodes)
        level = self._columns(self.nodes, 0.0, np.floor(most * limit + 1e-9))
        self.levels = np.concatenate(
            [self.levels, level, *([totals] if abs(1 / limit - round(1 / limit)) > 1e-9 else [])]
        )
        self._add(
            [(row[of[pair]], pair, 1.0), (np.arange(int(tight.sum())), level[node[tight]], -1.0)],
            int(tight.sum()),
            -np.inf,
            0.0,
        )
        self._add([(used, level, 1.0 / limit), (used, totals, -1.0)], self.nodes, -np.inf, 0.0)
        for slope, base in _edges(limit, self.space.least):
            entries = [(used, level, slope), (used, self.pairs + used, base), (used, totals, -1.0)]
            self._add(entries, self.nodes, -np.inf, 0.0)

    def _differ(self, column: int) -> None:
        """For every value at least one record has another, where a node is used."""
        of, node, _ = self._values(column)
        row = np.arange(len(node))
        entries = [(of, np.arange(self.pairs), -1.0), (row, self._totals()[node], 1.0), (row, self.pairs + node, -1.0)]
        self._add(entries, len(node), 0.0, np.inf)

    def _vary(self, column: int, kinds: int) -> None:
        """At least so many values, where a node is used; the counts are whole, so a value is there or not."""
        of, node, _ = self._values(column)
        shown = self._columns(len(node), 0.0, 1.0)
        row = np.arange(len(node))
        self._add([(of, np.arange(self.pairs), 1.0), (row, shown, -1.0)], len(node), 0.0, np.inf)
        self._add([(row, self.pairs + node, 1.0), (row, shown, -1.0)], len(node), 0.0, np.inf)
        used = np.arange(self.nodes)
        self._add([(node, shown, 1.0), (used, self.pairs + used, -float(kinds))], self.nodes, 0.0, np.inf)

    def run(self, *, whole: bool, seconds: float, fixed: bool = False, gap: float = 0.0) -> Any:
        """The solver's result; `whole` counts are whole numbers, `fixed` uses every node."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        row, column, factor = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        matrix = csr_array((factor, (row, column)), shape=(self._rows, self.width))
        integrality = np.zeros(self.width, dtype=np.int64)
        integrality[: self.pairs] = int(whole)
        integrality[self.pairs : self.pairs + self.nodes] = 1
        integrality[self.levels] = 1
        lower = np.zeros(self.width)
        lower[self.pairs : self.pairs + self.nodes] = fixed
        return milp(
            np.concatenate(self.cost),
            integrality=integrality,
            bounds=Bounds(lower, np.concatenate(self.upper)),
            constraints=LinearConstraint(matrix, np.concatenate(self._low), np.concatenate(self._high)),
            options={"time_limit": seconds, "mip_rel_gap": gap, "presolve": True},
        )


def _edges(limit: float, least: int) -> list[tuple[float, float]]:
    """What levels and sizes that are whole say beyond m ≤ limit·n and n ≥ least: lines n ≥ slope·m + base below all
    such pairs."""
    needed = [max(math.ceil(m / limit - 1e-9), least) for m in range(_LEVELS)]
    edges, at = [], 0
    while at < _LEVELS - 1:
        slope, to = min(((needed[m] - needed[at]) / (m - at), -m) for m in range(at + 1, _LEVELS))
        base = needed[at] - slope * at
        if slope > 0 and 1e-6 < base <= (1 / limit - slope) * (
            _LEVELS - 1
        ):  # so the line is below every later pair, too
            edges.append((slope, base - 1e-9))
        at = -to
    return edges


def solve(space: RecodingSpace, part: Neighbourhood, *, seconds: float, gap: float = 0.0) -> Arranged:
    """Solve the program of a part, and once more in whole numbers on the nodes that it uses."""
    program = Program(space, part)
    if not program.width:
        return _nothing(part, np.inf)  # time was over before a node was listed; with none, nothing can be published
    result = program.run(whole=not program.flows, seconds=seconds, gap=gap)
    bound = _safe(result.mip_dual_bound)
    if result.x is None:
        return _nothing(part, np.inf if result.status == 2 else bound)
    used = result.x[program.pairs : program.pairs + program.nodes] > 0.5
    return _rounded(space, _restricted(part, used), part, bound, seconds, np.flatnonzero(used[part.owner]))


def _safe(bound: float | None) -> float:
    """The solver's bound, lowered by its tolerances."""
    return 0.0 if bound is None or not np.isfinite(bound) else max(bound * (1 - TOLERANCE), 0.0)


def _nothing(part: Neighbourhood, bound: float) -> Arranged:
    none = np.zeros(0, dtype=np.int64)
    return Arranged(none, none, none, np.inf, bound, np.zeros(len(part.unit), dtype=np.int64))


def _restricted(part: Neighbourhood, used: NDArray[np.bool_]) -> Neighbourhood:
    kept = used[part.owner]
    number = np.cumsum(used) - 1
    return Neighbourhood(
        part.unit, part.count, part.node_cost[used], part.member[kept], number[part.owner[kept]], part.budget
    )


def _rounded(
    space: RecodingSpace, small: Neighbourhood, part: Neighbourhood, bound: float, seconds: float, where: IntArray
) -> Arranged:
    """Whole counts on the nodes in use."""
    program = Program(space, small)
    result = program.run(whole=True, seconds=max(seconds, 1.0), fixed=True)
    if result.x is None:
        return _nothing(part, bound)
    count = np.rint(result.x[: program.pairs]).astype(np.int64)
    placed = np.bincount(small.member, weights=count, minlength=len(part.unit)).astype(np.int64)
    suppressed = part.count - placed
    if (suppressed < 0).any() or int(suppressed.sum()) > part.budget:
        return _nothing(part, bound)
    some = np.flatnonzero(count)
    cost = float(count @ small.node_cost[small.owner] + suppressed.sum() * space.suppressed_cost)
    return Arranged(part.unit[small.member[some]], small.owner[some], count[some], cost, bound, suppressed)


# Arrangement
# -----------


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
        return (
            float(self.cost[groups] @ self.size[groups])
            + float(self.suppressed[units].sum()) * self.space.suppressed_cost
        )

    def records_of(self, groups: IntArray) -> tuple[IntArray, IntArray]:
        """The units in some groups and how many records each has there or among the suppressed."""
        inside = np.isin(self.entries.group, groups)
        count = np.bincount(
            self.entries.unit[inside], weights=self.entries.count[inside], minlength=len(self.suppressed)
        )
        unit = np.flatnonzero(count)
        return unit, count[unit].astype(np.int64) + self.suppressed[unit]

    def replaced(self, groups: IntArray, unit: IntArray, answer: Arranged) -> Arrangement | None:
        """The arrangement with these groups taken apart and put together as the answer says; none when that is no gain
        (I2)."""
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
