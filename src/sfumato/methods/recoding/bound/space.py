"""The recoding space: units of records, and the generalized tuples that a release may publish them as.

Guarantee: every release of a recoding problem publishes each record as a tuple of publishable intervals, one per column, within
the record's boundaries. `RecodingSpace.nodes` lists the tuples that matter: those that cost less than a cap, hold enough records to
be published, and are *closed*, which means that no smaller tuple contains the same records.

Paper: the generalized tuples of [obfuscation §3.3]; regions are those of [boundaries Def. 9].

Notation
    unit      records with equal quasi-identifiers and equal values of the columns that claims speak of (`methods._units`)
    node      a generalized tuple of one region, with the units below it
    cost      of one record at a node, in parts of 1 / `scale`, rounded down: whole numbers, so that sums of them are exact
    cap       nodes that cost at least this need not be listed

Invariants
    I1  A node that is not closed is never needed: whoever is published there may as well be published at the smaller tuple.
    I2  `cost` / `scale` is at most the true cost, so a bound on the rounded costs is a bound on the true ones.
    I3  Every closed node that costs less than `cap` and holds enough records is listed, once.

Cost: readings (`_readings`) are combined from the cheapest to the most costly; a combination takes one sort of the units that it
reads. The list ends with the memory or the time that is given, and `cap` says how far it got.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.generalization import Generalization
from sfumato.methods.recoding.bound.readings import ReadColumn, column_of
from sfumato.methods.recoding.bound.shares import needed_records, shared_column
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.greedy_clustering import implied
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.recoding.units import Units

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
        """Costs are counted in parts of one in this many; a power of two, so large that totals still fit into 64 bits."""
        most = sum(float(self.costs.column(i, *_everything(domain))[0]) for i, domain in enumerate(self.problem.domains))
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
        return [column_of(domain, self.costs, number, self.scale) for number, domain in enumerate(self.problem.domains)]  # I2

    def nodes(self, *, seconds: float, units: IntArray | None = None, pairs: int = PAIRS) -> Nodes:
        """The closed nodes of some units (of all that are published), until time or room is used up (I3)."""
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
            return group([*read, self.region[inside]]).of
        name = self.region[inside]
        for at, span in zip(read, spans, strict=True):
            name = name * span + at
        return name

    def _closed(self, member: IntArray, first: IntArray, interval: list[IntArray]) -> BoolArray:
        """Whether the smallest publishable intervals around the members are those that were read (I1)."""
        closed = np.ones(len(first), dtype=np.bool_)
        for codes, domain, column, at in zip(self.codes, self.space.problem.domains, self.space.columns, interval, strict=True):
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
