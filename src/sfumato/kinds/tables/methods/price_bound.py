"""The price bound: whatever prices records are given, no release costs less than the prices minus what nodes could gain
by them.

Guarantee: let every record of unit i carry any price u(i). A release publishes each record at one node, and the records
at a node t satisfy the requirements, so what they are priced above their cost, Σ (u − c(t)), is at most the node's
gain: over the sets that are large enough and show enough different values (`kernels.node_prices`) or, where a
requirement limits shares, over those in which no value has more than its share (`kernels.share_prices`, `shares`).
Summed over the nodes, the release costs at least

    L(u) = Σᵢ n(i)·u(i) − Σₜ max(gain(t), 0).

With tolls w(B) ≥ 0 for every node in use inside a box that can hold r(B) of them (`quotas`), a release costs at least

    L(u, w) = Σᵢ n(i)·u(i) − Σ w(B)·r(B) − Σₜ max(gain(t) − Σ{t inside B} w(B), 0).

This holds for every u and w, so nothing depends on how they were found. L is computed in whole numbers on costs that
were rounded down: there is no rounding error to allow for.

Paper: the Lagrangian dual of the program in [obfuscation §3.3] on counts; not in the paper.

Invariants
    I1  Prices stay at or below the cap of the list of nodes: a node that is not listed costs at least the cap, nobody
        gains there, and L is complete without it.
    I2  Where records may be suppressed, no price exceeds what that costs.
    I3  Regions share no node, so L falls into one bound per region.

Departures
    Prices look at one sensitive column. Claims on others, recursive diversity and t-closeness enter only through the
    sizes and the numbers of different values that they imply (`implied`). That can only lower the bound.

Cost: an evaluation is two passes over the memberships of the nodes; the ascent takes some hundreds of them.


Quotas
------
Quotas: a generalized tuple can hold a limited number of groups, which prices of records alone ignore.

Let B be a node with N records, and let every published node need at least `least`. Nodes *inside* B, whose units are
all units of B, take records of B alone, so a release uses at most r(B) = ⌊N / least⌋ of them. The relaxation behind
prices only keeps to N / least: with nine records and k = 5 it uses eighteen tenths of a group.

Guarantee: whatever toll w(B) ≥ 0 is taken for every node in use inside B, a release costs at least what it costs with
the tolls paid and Σ w(B)·r(B) given back, because no more than r(B) nodes pay w(B). So tolls are prices of a second
kind (`prices`).

Notation
    quota     a box B with its r(B) and some of the nodes inside it; leaving nodes out keeps it true

Cost: the nodes of least slack are compared with one another through the units that they share, `WORK` comparisons at
most.


Space
-----
The recoding space: units of records, and the generalized tuples that a release may publish them as.

Guarantee: every release of a recoding problem publishes each record as a tuple of publishable intervals, one per
column, within the record's boundaries. `RecodingSpace.nodes` lists the tuples that matter: those that cost less than a
cap, hold enough records to be published, and are *closed*, which means that no smaller tuple contains the same records.

Paper: the generalized tuples of [obfuscation §3.3]; regions are those of [boundaries Def. 9].

Notation
    unit      records with equal quasi-identifiers and equal values of the columns that claims speak of
              (`methods._units`)
    node      a generalized tuple of one region, with the units below it
    cost      of one record at a node, in parts of 1 / `scale`, rounded down: whole numbers, so that sums of them are
              exact
    cap       nodes that cost at least this need not be listed

Invariants
    I1  A node that is not closed is never needed: its records can be published at the smaller tuple as well.
    I2  `cost` / `scale` is at most the true cost, so a bound on the rounded costs is a bound on the true ones.
    I3  Every closed node that costs less than `cap` and holds enough records is listed, once.

Cost: readings (`_readings`) are combined from the cheapest to the most costly; a combination takes one sort of the
units that it reads. The list ends with the memory or the time that is given, and `cap` says how far it got.


Readings
--------
Readings of a column: sets of disjoint publishable intervals, such that every publishable interval is in exactly one of
them.

A hierarchy has one reading per depth. An ordered column without hierarchy has, for every length, as many readings as it
takes to place intervals of that length everywhere.

Invariants
    I1  A leaf is read as an interval only when its boundary allows that.
    I2  Every publishable interval that costs less than `beyond` is in exactly one reading.


Shares
------
What requirements on shares say of numbers: how many records a group needs when one of its values occurs m times.

Guarantee: a group that satisfies the requirements, and in which some value of the column occurs m times, has at least
``needed[m]`` records.

Notation
    V    different values of the column among all records
    h    the least entropy that a requirement asks for

Invariants
    I1  Every rounding lowers `needed`, by more than the tolerance with which models compare.
    I2  `needed` never falls: with more equal values a group needs no fewer records, or is said to need no more than it
        does.

Departures
    One column is looked at: that of the smallest share. What claims say of other columns, and of different values
    beside shares, is left out, which can only lower a bound. Entropy: with one value m times among n records the others
    are spread evenly over the V − 1 other values at best, so n is enough only where that has entropy h.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, FloatArray, IntArray, positions_in_runs
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.class_merging import Units
from sfumato.kinds.tables.methods.greedy_clustering import implied
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem
from sfumato.models.base import Demand

_MOMENTUM = 0.9
_PATIENCE = 15
_SHRINK = 0.6
_PROGRESS = 1e-6
_FLAT = 1e-6
_STEPS = 100
_WORK = 1_000_000
"""Memberships that most steps look at."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices, tolls, and what they prove."""

    u: IntArray
    w: IntArray
    by_region: IntArray
    """L of each region, in parts of 1 / `RecodingSpace.scale`."""

    @property
    def total(self) -> int:
        return int(self.by_region.sum())


class Slope(NamedTuple):
    """How L changes with the prices and with the tolls: records that no node takes (or too many do), groups beyond a
    quota."""

    records: IntArray
    groups: IntArray


class PriceBound:
    """The function L over the nodes of a space."""

    def __init__(self, space: RecodingSpace, nodes: Nodes, *, may_suppress: bool, quotas: Quotas | None = None) -> None:
        self.space, self.nodes = space, nodes
        self.quotas = quotas or Quotas.none(len(nodes))
        self.top = min(nodes.cap, space.highest)  # I1
        if may_suppress:
            self.top = min(self.top, int(rounded_down(np.array([space.suppressed_cost]), space.scale)[0]))  # I2
        self.region = space.units.region
        self.node_region = self.region[nodes.member[nodes.start[:-1]]]
        self.box_region = self.node_region[self.quotas.box] if quotas else np.zeros(0, dtype=np.int64)
        self.regions = int(self.region.max(initial=0)) + 1

    def at(self, u: IntArray, w: IntArray | None = None) -> tuple[Prices, Slope]:
        """L at prices that do not exceed the top and tolls that are not negative, and its slope."""
        w = np.zeros(len(self.quotas), dtype=np.int64) if w is None else w
        gain, taken = self._gains(u, w, full=False)
        records = np.zeros(self.regions, dtype=np.int64)
        np.add.at(records, self.region, self.space.count * u)
        np.subtract.at(records, self.node_region, np.maximum(gain, 0))  # I3
        np.subtract.at(records, self.box_region, w * self.quotas.most)
        return Prices(u, w, records), Slope(self.space.count - taken, self.quotas.excess(gain > 0))

    def slack(self, prices: Prices) -> IntArray:
        """By how much L rises when a node is known to be used: nothing where its gain is positive."""
        gain, _ = self._gains(prices.u, prices.w, full=True)
        return np.maximum(-gain, 0)

    def _gains(self, u: IntArray, w: IntArray, *, full: bool) -> tuple[IntArray, IntArray]:
        from sfumato.kinds.tables.methods.kernels.price_bound import node_gains, share_gains

        gain, taken = np.zeros(len(self.nodes), dtype=np.int64), np.zeros(len(u), dtype=np.int64)
        nodes, space = self.nodes, self.space
        listed = nodes.start, nodes.member, nodes.cost, space.count, space.tag, u, self.quotas.tolls(w)
        if space.shared:
            share_gains(*listed, space.needed, full, gain, taken)
        else:
            node_gains(*listed, space.least, space.kinds, full, gain, taken)
        return gain, taken

    def cheapest(self) -> IntArray:
        """Each unit's cheapest node: prices at which nobody gains, so that L is their sum."""
        u = np.full(len(self.space.count), self.top, dtype=np.int64)
        np.minimum.at(u, self.nodes.member, np.repeat(self.nodes.cost, np.diff(self.nodes.start)))
        return u

    def with_quotas(self, prices: Prices) -> tuple[PriceBound, Prices]:
        """The bound with the quotas that matter at these prices, and the same prices for it."""
        slack = self.slack(prices)
        paying = np.diff(self.quotas.start) > 0
        paying[self.quotas.box[prices.w > 0]] = True
        quotas = find_quotas(self.space, self.nodes, np.where(paying, 0, slack))
        raised = PriceBound(self.space, self.nodes, may_suppress=False, quotas=quotas)
        raised.top = self.top
        return raised, raised.at(prices.u, quotas.carried(self.quotas, prices.w))[0]

    def ascend(self, target: float, *, seconds: float, start: Prices | None = None) -> Prices:
        """Better and better prices, by steps along the records that are wanted too little or too much.

        `target` is what a known release costs; steps are as long as if L could reach it. Most steps look only at nodes
        that are near to gaining something; all nodes are looked at from time to time, and only then a bound counts."""
        end, aim = time.thread_time() + seconds, target * self.space.scale
        best = start or self.at(self.cheapest())[0]
        climb = _Climb(best, aim)
        while time.thread_time() < end and climb.theta > _FLAT and best.total < aim:
            near = self._near(climb.now)
            for _ in range(_STEPS):
                climb.step(near)
                if time.thread_time() > end:
                    break
            here = self.at(climb.best.u, climb.best.w)[0]
            climb.judge(here.total > best.total * (1 + _PROGRESS), best)
            best = here if here.total > best.total else best
        return best

    def _near(self, prices: Prices) -> PriceBound:
        """The bound over the nodes of least slack alone, as many as are quick to look at."""
        length = np.diff(self.nodes.start)
        if len(self.nodes.member) <= _WORK:
            return self
        order = np.argsort(self.slack(prices))
        chosen = np.zeros(len(order), dtype=np.bool_)
        chosen[order[: int(np.searchsorted(np.cumsum(length[order]), _WORK))]] = True
        near = PriceBound(self.space, self.nodes.only(chosen), may_suppress=False)
        near.top, near.quotas, near.box_region = self.top, self.quotas.only(chosen), self.box_region
        return near


class _Climb:
    """The state of an ascent: where it stands, in which direction it was going, and how bold its steps are.

    Units of many records are wanted too little or too much by many, yet their prices are on the same scale as all
    others. So a price of n records moves by its slope over √n, between one step for all of them and one for each."""

    def __init__(self, start: Prices, target: float) -> None:
        self.now = self.best = start
        self.target = target
        self.way: FloatArray = np.zeros(len(start.u))
        self.toll_way: FloatArray = np.zeros(len(start.w))
        self.theta = 1.0
        self.highest = -1
        self.idle = 0

    def step(self, bound: PriceBound) -> None:
        """One step; some without progress make the next ones shorter."""
        here, slope = bound.at(self.now.u, self.now.w)
        self.idle = 0 if here.total > self.highest * (1 + _PROGRESS) else self.idle + 1
        if here.total > self.highest:
            self.highest, self.best = here.total, here
        if self.idle >= _PATIENCE:
            self.now, self.theta, self.idle = self.best, self.theta * _SHRINK, 0
            return
        stiff = np.sqrt(np.maximum(bound.space.count, 1))
        self.way = _uphill(_MOMENTUM * self.way + slope.records / stiff, here.u, bound.top)
        self.toll_way = -_uphill(-(_MOMENTUM * self.toll_way + slope.groups), -here.w, 0)
        weight = bound.space.least  # a toll is paid once for a group, a price by each of its records
        steepness = float((stiff * self.way) @ self.way) + weight * float(self.toll_way @ self.toll_way)
        length = self.theta * max(self.target - here.total, 0.0) / max(steepness, 1.0)
        u = np.minimum(np.rint(here.u + length * self.way), bound.top).astype(np.int64)
        w = np.maximum(np.rint(here.w + weight * length * self.toll_way), 0).astype(np.int64)
        self.now = Prices(u, w, here.by_region)

    def judge(self, better: bool, known: Prices) -> None:
        """After all nodes were looked at: go on from here, or return to the best prices and take shorter steps."""
        self.highest = -1
        if not better:
            self.theta *= _SHRINK
            self.now = known


def compile_kernel() -> None:
    """Compile on first use what the ascent needs, before any person looks at the clock."""
    from sfumato.kinds.tables.methods.kernels.price_bound import node_gains, share_gains

    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    listed = one, np.zeros(0, dtype=np.int32), none, none, none, none, none
    node_gains(*listed, 1, 1, False, none, none)
    share_gains(*listed, one, False, none, none)


def _uphill(way: FloatArray, u: IntArray, top: int) -> FloatArray:
    """The direction without what leads above the top."""
    return np.where((u >= top) & (way > 0), 0.0, way)


# Quotas
# ------


WORK = 6_000_000
"""Most pairs of nodes and shared units that are looked at."""
ROOM = 6
"""Boxes with a quota above this are skipped: in large ones the part of a group that does not fit weighs little."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """Boxes, how many groups they can hold, and the nodes inside them."""

    box: IntArray
    """The box of each quota, as a node of the list that they were found in."""
    most: IntArray
    start: IntArray
    """Node t is inside the boxes of ``quota[start[t]:start[t + 1]]``."""
    quota: IntArray

    @classmethod
    def none(cls, nodes: int) -> Quotas:
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, np.zeros(nodes + 1, dtype=np.int64), nothing)

    def __len__(self) -> int:
        return len(self.box)

    def tolls(self, w: IntArray) -> IntArray:
        """What each node pays when the quotas have these tolls."""
        paid: IntArray = np.concatenate([[0], np.cumsum(w[self.quota])])
        tolls: IntArray = paid[self.start[1:]] - paid[self.start[:-1]]
        return tolls

    def excess(self, used: BoolArray) -> IntArray:
        """By how many the nodes in use exceed each quota."""
        inside = np.repeat(used, np.diff(self.start))
        return np.bincount(self.quota[inside], minlength=len(self.box)) - self.most

    def only(self, chosen: BoolArray) -> Quotas:
        """The same quotas for some of the nodes."""
        length = np.diff(self.start)
        kept = self.quota[np.repeat(chosen, length)]
        return Quotas(self.box, self.most, np.concatenate([[0], np.cumsum(length[chosen])]), kept)

    def carried(self, before: Quotas, w: IntArray) -> IntArray:
        """The tolls of earlier quotas on the same boxes; 0 on new ones."""
        tolls = np.zeros(len(self), dtype=np.int64)
        common, mine, theirs = np.intersect1d(self.box, before.box, return_indices=True)
        if len(common):
            tolls[mine] = w[theirs]
        return tolls


def find_quotas(space: RecodingSpace, nodes: Nodes, slack: IntArray) -> Quotas:
    """Return the quotas among the small nodes of least slack that can be exceeded: more nodes inside than groups that
    fit."""
    if not len(nodes):
        return Quotas.none(0)
    records = np.add.reduceat(space.count[nodes.member], nodes.start[:-1])
    near = _nearest(nodes, np.where(records < ROOM * space.least, slack, np.iinfo(np.int64).max))
    inner, outer = _containments(nodes.only(near))
    number = np.flatnonzero(near)
    inner, outer = number[inner], number[outer]
    most = records // space.least
    inside = np.bincount(outer, minlength=len(nodes))
    tight = (most * space.least < records) & (inside > most)
    box = np.flatnonzero(tight)
    kept = tight[outer]
    inner, quota = inner[kept], np.searchsorted(box, outer[kept])
    order = np.argsort(inner, kind="stable")
    start = np.searchsorted(inner[order], np.arange(len(nodes) + 1)).astype(np.int64)
    return Quotas(box, most[box].astype(np.int64), start, quota[order])


def _nearest(nodes: Nodes, slack: IntArray) -> BoolArray:
    """As many nodes of least slack as can be compared: those that share a unit meet once for every unit."""
    chosen = np.zeros(len(nodes), dtype=np.bool_)
    order = np.argsort(slack, kind="stable")
    order = order[slack[order] < 1 << 61]
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        chosen[:] = False
        chosen[order[:middle]] = True
        meetings = np.bincount(nodes.only(chosen).member).astype(np.float64)
        low, high = (middle, high) if float(meetings @ meetings) <= WORK else (low, middle - 1)
    chosen[:] = False
    chosen[order[:low]] = True
    return chosen


def _containments(nodes: Nodes) -> tuple[IntArray, IntArray]:
    """All pairs (inner, outer) of nodes such that every unit of the inner one is below the outer one, and each with
    itself."""
    by_unit = np.argsort(nodes.member, kind="stable")
    unit, owner = nodes.member[by_unit].astype(np.int64), nodes.owner[by_unit]
    degree = np.bincount(unit)
    first = np.cumsum(degree) - degree
    length = degree[unit]
    left = np.repeat(owner, length)
    inside = positions_in_runs(length)
    right = owner[np.repeat(first[unit], length) + inside]
    pair, shared = np.unique(left * len(nodes) + right, return_counts=True)
    inner, outer = pair // len(nodes), pair % len(nodes)
    whole = shared == np.diff(nodes.start)[inner]
    return inner[whole], outer[whole]


# Space
# -----


PAIRS = 32_000_000
"""Most memberships of units in nodes that a list may have."""
HIGHEST = 8
"""Prices are at most so many times what a suppressed record costs."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """Closed nodes with the units below them."""

    start: IntArray
    """Members of node t are ``member[start[t]:start[t + 1]]``."""
    member: NDArray[np.int32]
    cost: IntArray
    cap: int

    def __len__(self) -> int:
        return len(self.cost)

    @property
    def owner(self) -> IntArray:
        """The node of each membership."""
        return np.repeat(np.arange(len(self.cost)), np.diff(self.start))

    def only(self, chosen: BoolArray) -> Nodes:
        """The same list with some nodes alone."""
        length = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(length[chosen])])
        return Nodes(start, self.member[np.repeat(chosen, length)], self.cost[chosen], self.cap)


class RecodingSpace:
    """Units with their counts, what intervals cost, and what every published node needs."""

    def __init__(self, problem: RecodingProblem, objective: str, *, beside: int = 0) -> None:
        self.problem, self.objective = problem, objective
        self.beside = beside
        """Other columns of the policy's figure that a suppressed record loses as well."""
        self.claims = Claims(problem)
        self.units = Units(problem, self.claims)
        self.costs = Costs.of(problem, objective)
        kept = np.where(problem.out[problem.cell_point], 0, problem.row_cell.counts)
        self.count = np.bincount(self.units.of_cell, weights=kept, minlength=len(self.units.cell)).astype(np.int64)
        """Records of each unit that are to be published."""
        size, distinct = implied(problem)
        self.kinds = max(distinct.values(), default=1)
        """How many different values of some column every published node shows."""
        self.least = max(size, self.claims.fewest, self.kinds)
        """Fewest records of any published node."""
        self.shared = shared_column(problem, self.claims)
        """The hidden column of which no value may have more than its share; empty when shares are not limited."""
        self.varied = self.shared or max(distinct, key=lambda name: distinct[name], default="")
        """The hidden column that prices look at: that of shares, else the one that must show most different values."""

    @cached_property
    def scale(self) -> int:
        """Costs are counted in parts of one in this many; a power of two, so large that totals still fit into 64
        bits."""
        most = sum(
            float(self.costs.column(i, *_everything(domain))[0]) for i, domain in enumerate(self.problem.domains)
        )
        total = self.problem.records * (most + self.suppressed_cost) * HIGHEST
        return 1 << int(58 - np.ceil(np.log2(total or 1.0)))  # where nothing can be lost any scale will do

    @property
    def highest(self) -> int:
        """No price is above this."""
        return int(self.scale * HIGHEST * self.suppressed_cost)

    @cached_property
    def needed(self) -> IntArray:
        """Fewest records of a published node where one value of the shared column occurs 0, 1, 2… times."""
        return needed_records(self.problem, self.shared, self.least)

    @cached_property
    def tag(self) -> IntArray:
        """The value of the column that prices look at, for each unit."""
        if not self.varied:
            return np.zeros(len(self.count), dtype=np.int64)
        return self.units.tags[:, self.claims.hidden.index(self.varied)].astype(np.int64)

    @cached_property
    def base(self) -> float:
        """What the records cost when all are published as they are: nothing, but for the entropy objective."""
        total = np.zeros(len(self.problem.points))
        for column in range(len(self.problem.domains)):
            code = self.problem.points[:, column].astype(np.int64)
            total += self.costs.column(column, code, code + 1)
        return float(total @ self.problem.counts)

    @property
    def suppressed_cost(self) -> float:
        """What a suppressed record costs: the most in every column, also in those that are not of this problem."""
        most = float(np.log2(self.problem.records)) if self.objective == "entropy_loss" else 1.0
        return most * (len(self.problem.names) + self.beside) / len(self.problem.names)

    def figure(self, total: float, suppressed: int) -> float:
        """The policy's figure when the published records cost `total` together: the mean over all records."""
        return (total + suppressed * self.suppressed_cost - self.base) / self.problem.records

    def total(self, grouping: Grouping) -> float:
        """What the records of a grouping cost together."""
        return float((self.costs.per_record(self.problem, grouping)[grouping.group] * grouping.count).sum())

    @cached_property
    def columns(self) -> list[ReadColumn]:
        return [
            column_of(domain, self.costs, number, self.scale) for number, domain in enumerate(self.problem.domains)
        ]  # I2

    def nodes(self, *, seconds: float, units: IntArray | None = None, pairs: int = PAIRS) -> Nodes:
        """Yield the closed nodes of some units (of all published ones), until time or memory is used up (I3)."""
        placed = np.flatnonzero(self.count > 0) if units is None else units
        lists = _Lists(self, placed)
        end = time.thread_time() + seconds
        floor = sum(column.floor for column in self.columns)
        unlisted = min(floor - column.floor + column.beyond for column in self.columns)
        for least, combination in _cheapest_first([column.least for column in self.columns]):
            if least >= unlisted or lists.pairs > pairs or time.thread_time() > end:
                return lists.nodes(min(least, unlisted))
            lists.add(combination)
        return lists.nodes(unlisted)


class _Lists:
    """Nodes under construction."""

    def __init__(self, space: RecodingSpace, placed: IntArray) -> None:
        self.space, self.placed = space, placed
        self.codes = [np.ascontiguousarray(column, dtype=np.int64) for column in space.units.codes[placed].T]
        self.count = space.count[placed]
        self.region = space.units.region[placed]
        self.pairs = 0
        self._parts: list[tuple[IntArray, NDArray[np.int32], IntArray]] = []

    def add(self, combination: tuple[int, ...]) -> None:
        """The closed nodes of one combination of readings."""
        read, inside = self._read(combination)
        if not len(inside):
            return
        name = self._names(read, inside)
        order = np.argsort(name)
        first = np.flatnonzero(np.diff(name[order], prepend=-1))
        enough = np.add.reduceat(self.count[inside[order]], first) >= self.space.least
        length = np.diff(np.append(first, len(order)))
        order, length = order[np.repeat(enough, length)], length[enough]
        if not len(length):
            return
        first = np.cumsum(length) - length
        interval = [key[order[first]] for key in read]
        closed = self._closed(inside[order], first, interval)
        cost = sum(column.cost[at[closed]] for column, at in zip(self.space.columns, interval, strict=True))
        chosen = self.placed[inside[order[np.repeat(closed, length)]]].astype(np.int32)
        self._parts.append((length[closed], chosen, np.asarray(cost, dtype=np.int64)))
        self.pairs += len(chosen)

    def _read(self, combination: tuple[int, ...]) -> tuple[list[IntArray], IntArray]:
        """The units that every column reads as some interval, and these intervals."""
        read = [c.reading[r][codes] for c, r, codes in zip(self.space.columns, combination, self.codes, strict=True)]
        inside = np.flatnonzero(np.min(read, axis=0) >= 0)
        return read if len(inside) == len(self.placed) else [at[inside] for at in read], inside

    def _names(self, read: list[IntArray], inside: IntArray) -> IntArray:
        """One number per tuple of intervals and region."""
        spans = [len(column.lo) for column in self.space.columns]
        if np.prod([float(span) for span in spans]) * (float(self.region.max()) + 1) >= 2.0**62:
            return equivalence_classes_of([*read, self.region[inside]]).of
        name = self.region[inside]
        for at, span in zip(read, spans, strict=True):
            name = name * span + at
        return name

    def _closed(self, member: IntArray, first: IntArray, interval: list[IntArray]) -> BoolArray:
        """Whether the smallest publishable intervals around the members are those that were read (I1)."""
        closed = np.ones(len(first), dtype=np.bool_)
        for codes, domain, column, at in zip(
            self.codes, self.space.problem.domains, self.space.columns, interval, strict=True
        ):
            if (column.hi[at] - column.lo[at] > 1).any():
                inside = codes[member]
                lo, last = np.minimum.reduceat(inside, first), np.maximum.reduceat(inside, first)
                around, end = domain.close(lo, last + 1)
                closed &= (around == column.lo[at]) & (end == column.hi[at])
        return closed

    def nodes(self, cap: int) -> Nodes:
        empty = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
        length, member, cost = (np.concatenate(parts) for parts in zip(empty, *self._parts, strict=True))
        return Nodes(np.concatenate([[0], np.cumsum(length)]).astype(np.int64), member, cost, cap)


def _everything(domain: Generalization) -> tuple[IntArray, IntArray]:
    return np.zeros(1, dtype=np.int64), np.full(1, domain.size, dtype=np.int64)


def _cheapest_first(least: list[list[int]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Combinations of one index per list, by their total, which is named too; the lists are sorted."""
    start = (0,) * len(least)
    heap = [(sum(column[0] for column in least), start)]
    while heap:
        total, combination = heapq.heappop(heap)
        yield total, combination
        for column in range(len(least)):
            index = combination[column] + 1
            if index < len(least[column]):
                raised = (*combination[:column], index, *combination[column + 1 :])
                heapq.heappush(heap, (total + least[column][index] - least[column][index - 1], raised))
            if combination[column]:  # columns before the last raised one stay, so that nothing comes twice
                break


# Readings
# --------


NEVER = 1 << 61
"""More than anything costs."""
READINGS = 3_000
"""Most readings of one column without hierarchy: all intervals of up to 77 values, and the shorter intervals of
more."""


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """The publishable intervals of a column and their readings, from cheap to costly."""

    lo: IntArray
    hi: IntArray
    cost: IntArray
    reading: list[IntArray]
    """Per reading: for each leaf the interval it is read as, −1 for leaves outside all of them."""
    least: list[int]
    """The cheapest interval of each reading."""
    beyond: int
    """Intervals that are in no reading cost at least this."""

    @property
    def floor(self) -> int:
        return self.least[0]


def column_of(domain: Generalization, costs: Costs, number: int, scale: int) -> ReadColumn:
    """All readings of a column, sorted by their cheapest interval; costs are whole multiples of 1 / `scale`."""
    if isinstance(domain, Hierarchy):
        lo, hi, readings = _levels(domain)
        beyond = NEVER
    else:
        lo, hi, readings = _windows(domain.size)
        length = int((hi - lo).max())
        rest = np.arange(max(domain.size - length, 0), dtype=np.int64)
        beyond = int(rounded_down(costs.column(number, rest, rest + length + 1), scale).min(initial=NEVER))
    cost = rounded_down(costs.column(number, lo, hi), scale)
    readings = [
        reading for reading in (_below_ceiling(domain, lo, hi, reading) for reading in readings) if (reading >= 0).any()
    ]
    least = [int(cost[reading[reading >= 0]].min()) for reading in readings]
    order = sorted(range(len(readings)), key=lambda i: least[i])
    return ReadColumn(lo, hi, cost, [readings[i] for i in order], [least[i] for i in order], beyond)


def rounded_down(exact: FloatArray, scale: int) -> IntArray:
    """Exact costs as whole multiples of 1 / `scale` that are certainly not above them."""
    return np.maximum(np.floor(exact * scale).astype(np.int64) - 1, 0)


def _below_ceiling(domain: Generalization, lo: IntArray, hi: IntArray, reading: IntArray) -> IntArray:
    floor, roof = domain.ceiling()
    allowed = (reading >= 0) & (lo[reading] >= floor) & (hi[reading] <= roof)  # I1
    return np.where(allowed, reading, -1)


def _levels(tree: Hierarchy) -> tuple[IntArray, IntArray, list[IntArray]]:
    """The distinct intervals of a hierarchy, and for each depth those that no deeper level has read already (I2)."""
    intervals = sorted({(int(lo), int(hi)) for lo, hi in zip(tree.lo, tree.hi, strict=True)})
    number = {interval: i for i, interval in enumerate(intervals)}
    of_node = np.array([number[int(lo), int(hi)] for lo, hi in zip(tree.lo, tree.hi, strict=True)], dtype=np.int64)
    seen: set[int] = set()
    readings = []
    for row in tree.ancestors[::-1]:
        at = of_node[row]
        fresh = set(at.tolist()) - seen
        seen |= fresh
        readings.append(np.where(np.isin(at, list(fresh)), at, -1))
    lo, hi = np.array(intervals, dtype=np.int64).T
    return lo, hi, readings


def _windows(size: int) -> tuple[IntArray, IntArray, list[IntArray]]:
    """Intervals of every length, as long as there are not too many readings."""
    longest = 1
    while longest < size and (longest + 1) * (longest + 2) // 2 <= READINGS:
        longest += 1
    lo, hi, readings, known = [], [], [], 0
    for length, offset in _placements(size, longest):
        begin = np.arange(offset, size - length + 1, length, dtype=np.int64)
        reading = np.full(size, -1, dtype=np.int64)
        covered = np.arange(offset, offset + length * len(begin))
        reading[covered] = known + (covered - offset) // length
        readings.append(reading)
        lo.append(begin)
        hi.append(begin + length)
        known += len(begin)
    return np.concatenate(lo), np.concatenate(hi), readings


def _placements(size: int, longest: int) -> Iterator[tuple[int, int]]:
    for length in range(1, longest + 1):
        for offset in range(min(length, size - length + 1)):
            yield length, offset


# Shares
# ------


_SMALL = 1e-6


def shared_column(problem: RecodingProblem, claims: Claims) -> str:
    """The sensitive column in which the largest share of a value is limited most; empty when no claim limits one."""
    limits = {name: _limit(problem, name) for name in claims.hidden}
    return min((name for name in limits if limits[name] < 1.0), key=lambda name: limits[name], default="")


def needed_records(problem: RecodingProblem, name: str, least: int) -> IntArray:
    """Per number of records with one value: the fewest records of a group that shows it so often."""
    values = np.bincount(problem.cell_values[name], weights=problem.row_cell.counts)
    often = np.arange(int(values.max()) + 1, dtype=np.float64)
    share = min((demand.largest_share for demand in _demands(problem, name)), default=1.0)
    needed = np.maximum(np.ceil((often - _SMALL) / share * (1 - 1e-9)), least)  # I1
    entropy = max((demand.entropy for demand in _demands(problem, name)), default=0.0)
    if entropy > 0:
        needed = np.maximum(needed, _varied_enough(often, entropy, int(np.count_nonzero(values))))
    return np.minimum.accumulate(needed[::-1])[::-1].astype(np.int64)  # I2


def _demands(problem: RecodingProblem, name: str) -> list[Demand]:
    return [requirement.model.demand() for requirement in problem.requirements if name in requirement.hide]


def _limit(problem: RecodingProblem, name: str) -> float:
    """The largest share of a value in a large group."""
    needed = needed_records(problem, name, 1)
    return (len(needed) - 1) / float(needed[-1])


def _varied_enough(often: FloatArray, entropy: float, values: int) -> FloatArray:
    """The fewest records among which one value may occur so often, by halving: until shares are equal, more have more
    entropy."""
    low, high = often.copy(), np.maximum(often * values, 1.0)
    if values < 2:
        return high
    for _ in range(64):
        middle = np.floor((low + high) / 2)
        enough = _most_entropy(often, middle, values) >= entropy - _SMALL  # I1
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    return high


def _most_entropy(often: FloatArray, records: FloatArray, values: int) -> FloatArray:
    """The entropy of so many records when one value occurs so often and the others are spread evenly over all other
    values."""
    share = np.divide(often, records, out=np.ones(len(often)), where=records > 0)
    rest, others = 1.0 - share, np.clip(records - often, 1.0, values - 1.0)
    own = np.where(share > 0, -share * np.log(np.where(share > 0, share, 1.0)), 0.0)
    return own + np.where(rest > 0, -rest * np.log(np.where(rest > 0, rest, 1.0) / others), 0.0)
