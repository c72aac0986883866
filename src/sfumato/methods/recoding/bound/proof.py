"""From a recoding problem to a release and a proof: the best grouping that was found, and what no grouping can be below.

Regions are proven one by one: a region is *closed* when its groups cost no more than its bound. First prices bound all regions at
once; nodes whose use would cost more than the known groups are dropped; what is left of a region is solved exactly when it is
small. Where shares are limited, groups that the prices suggest (`guided`) are a second start. What is left of the time goes to
prices and to neighbourhoods in turns, to whichever of them closed more of the gap for its time lately.

Guarantee: `ProvenArrangement.bound` is at most the cost of every release in the space (`space`), and at most its `total`.

Invariants
    I1  The groups at hand never get more costly, so the outcome is at least as good as every start.
    I2  A bound only replaces a lower one. A bound by the solver counts only when every node that could make a release cheaper than
        the known one was in the program.

Cost: as many seconds as are given, less when everything is closed or nothing helps any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.methods.recoding.bound.arrangement import Arrangement
from sfumato.methods.recoding.bound.guided import guided_starts
from sfumato.methods.recoding.bound.neighbourhoods import NeighbourhoodSearch, Surroundings
from sfumato.methods.recoding.bound.prices import PriceBound, Prices, compile_kernel
from sfumato.methods.recoding.bound.program import TOLERANCE, part_of, solve
from sfumato.methods.recoding.bound.readings import NEVER
from sfumato.methods.recoding.bound.space import Nodes, RecodingSpace
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.problem import Grouping

SMALL, LARGE = 40_000, 80_000
"""Memberships of a region that is solved before, and after, neighbourhoods were."""
TURN, LEAST = 0.2, 3.0
"""A turn takes this share of the time that is left for turns, and at least so many seconds."""
PROVEN = 1e-5
"""A gap below this is the solver's tolerance."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ProvenArrangement:
    """The best arrangement and the bound, both as totals over the records that are to be published."""

    now: Arrangement
    bound: float
    solved: bool
    """Whether the solver's word is part of the bound; else it is computed in whole numbers."""

    @property
    def total(self) -> float:
        return self.now.total

    @property
    def proven(self) -> bool:
        return self.total - self.bound <= PROVEN * self.total


def optimize(
    space: RecodingSpace,
    start: Grouping,
    *,
    seconds: float,
    budget: int = 0,
    spend: bool = True,
    progress: Progress | None = None,
) -> ProvenArrangement:
    """Improve a start and bound it, for so many seconds of this thread.

    The bound is about releases that suppress up to `budget` records by choice; whether the arrangement does so is for `spend`.
    """
    compile_kernel()
    desk = _Desk(space, Arrangement.of(space, start), budget, spend, time.thread_time() + seconds)
    steps: list[Callable[[], None]] = [
        lambda: desk.price(0.03),
        lambda: desk.close(SMALL, 0.35),
        lambda: desk.price(0.3),
        lambda: desk.follow(0.1),
        lambda: desk.take_turns(0.7),
        lambda: desk.close(LARGE, 0.6),
        lambda: desk.take_turns(1.0),
    ]
    for number, step in enumerate(steps):
        if desk.open.any() and desk.left > 0:
            step()
        if progress is not None:
            progress((number + 1) / len(steps))
    return ProvenArrangement(desk.now, min(float(desk.bound.sum()), desk.now.total), desk.solved)


class _Desk:
    """What is known so far."""

    def __init__(self, space: RecodingSpace, now: Arrangement, budget: int, spend: bool, end: float) -> None:
        self.space, self.now, self.budget, self.end = space, now, budget, end
        self.spend = spend
        self.nodes = space.nodes(seconds=0.2 * self.left)
        self.prices_of = PriceBound(space, self.nodes, may_suppress=budget > 0)
        self.prices: Prices | None = None
        self.bound: FloatArray = np.zeros(self.prices_of.regions)
        self.solved = False
        self.turns = 0

    @property
    def left(self) -> float:
        return self.end - time.thread_time()

    @property
    def cost(self) -> FloatArray:
        """What the groups and the suppressed records of each region cost."""
        cost = np.bincount(self.now.region, weights=self.now.cost * self.now.size, minlength=len(self.bound))
        region, suppressed = self.space.units.region, self.now.suppressed
        dropped = np.bincount(region, weights=suppressed * self.space.suppressed_cost, minlength=len(self.bound))
        return np.asarray(cost + dropped, dtype=np.float64)

    @property
    def open(self) -> BoolArray:
        """Regions that might still be improved; all or none where they share a budget."""
        gap, cost = self.cost - self.bound, self.cost
        if self.budget:
            gap, cost = np.full(len(gap), gap.sum()), np.full(len(cost), cost.sum())
        unclosed: BoolArray = (gap > 2 * TOLERANCE * cost) & (gap > 1e-12)
        return unclosed

    def price(self, share: float) -> None:
        """Raise the price bound, for a share of the time that is left; with quotas where there are prices already."""
        if self.prices is not None:
            self.prices_of, self.prices = self.prices_of.with_quotas(self.prices)
        self.prices = self.prices_of.ascend(self.now.total, seconds=share * self.left, start=self.prices)
        if not self.budget or not self.solved:
            self.bound = np.maximum(self.bound, np.minimum(self.prices.by_region / self.space.scale, self.cost))  # I2

    def follow(self, share: float) -> None:
        """Begin again from groups that the prices suggest, each searched for a share of the time, where that is cheaper."""
        assert self.prices is not None
        if self.now.suppressed.any() or not self.space.shared:
            return  # a search publishes everybody, and where only numbers are claimed it finds better groups by itself
        for start in guided_starts(self.prices_of, self.prices):
            found = refine(self.space.problem, [start], objective=self.space.objective, seconds=0.5 * share * self.left)
            self.now = min(self.now, Arrangement.of(self.space, found), key=lambda one: one.total)  # I1

    def take_turns(self, share: float) -> None:
        """Neighbourhoods and prices, for a share of the time: next comes what closed more of the gap for its time."""
        end = time.thread_time() + share * self.left
        rates: dict[Callable[[float], None], float] = {self.improve: np.inf, self.price: np.inf}
        while self.open.any() and (left := end - time.thread_time()) > 0 and max(rates.values()) > 0:
            turn = max(rates, key=lambda one: rates[one])
            gap, begin = self.gap, time.thread_time()
            turn(max(TURN * left, min(LEAST, left)) / self.left)
            rates[turn] = (gap - self.gap) / max(time.thread_time() - begin, 1e-3)

    @property
    def gap(self) -> float:
        return float((self.cost - self.bound).sum())

    def improve(self, share: float) -> None:
        """Solve neighbourhoods of the open regions, others than in earlier turns."""
        assert self.prices is not None
        self.turns += 1
        around = Surroundings.of(self.prices_of, self.prices)
        search = NeighbourhoodSearch(self.now, around, self.open, budget=self.budget * self.spend, seed=self.turns)
        search.run(time.thread_time() + share * self.left)
        self.now = search.now  # I1

    def close(self, most: int, share: float) -> None:
        """Solve open regions exactly, small ones first, when at most so many memberships are left of them."""
        assert self.prices is not None
        end = time.thread_time() + share * self.left
        owner = self.prices_of.node_region
        slack = self.prices_of.slack(self.prices)
        priced = self.prices.by_region
        for regions in self._jobs():
            if time.thread_time() > end:
                break
            wanted = np.isin(owner, regions)
            gap = self.cost[regions].sum() * self.space.scale - priced[regions].sum()
            nodes = self.nodes.only(wanted & (slack <= gap * (1 + 1e-9) + 1))
            if len(nodes.member) <= most:
                self._solve(regions, nodes, self._complete(gap), max(end - time.thread_time(), 0.5))

    def _jobs(self) -> list[IntArray]:
        """Sets of regions to solve together."""
        regions = np.flatnonzero(self.open)
        if self.budget:
            return [np.arange(len(self.bound))]
        size = np.bincount(self.prices_of.node_region, weights=np.diff(self.nodes.start), minlength=len(self.bound))
        return [np.array([region]) for region in regions[np.argsort(size[regions])]]

    def _complete(self, gap: float) -> bool:
        """Whether no node outside the list can be part of a cheaper release: using one would cost more than the gap (I2)."""
        assert self.prices is not None
        top = int(self.prices.u.max(initial=0))
        return self.nodes.cap >= NEVER or self.space.least * (self.nodes.cap - top) > gap

    def _solve(self, regions: IntArray, nodes: Nodes, complete: bool, seconds: float) -> None:
        unit = np.flatnonzero(np.isin(self.space.units.region, regions) & (self.space.count > 0))
        before = float(self.cost[regions].sum())
        answer = solve(self.space, part_of(self.space, nodes, unit, self.space.count[unit], budget=self.budget), seconds=seconds)
        groups = np.flatnonzero(np.isin(self.now.region, regions))
        if self.spend or not answer.suppressed.any():
            self.now = self.now.replaced(groups, unit, answer) or self.now  # I1
        proven = min(answer.bound, before)  # a release that needs a dropped node costs at least what was known before
        if complete and proven > float(self.bound[regions].sum()):
            self.solved = True
            self.bound[regions] = 0.0
            self.bound[regions[0]] = proven  # only the sum over the regions means anything where they were solved together
