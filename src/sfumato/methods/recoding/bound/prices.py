"""The price bound: whatever prices records are given, no release costs less than the prices minus what nodes could gain by them.

Guarantee: let every record of unit i carry any price u(i). A release publishes each record at one node, and the records at a node t
satisfy the claims, so what they are priced above their cost, Σ (u − c(t)), is at most the node's gain: over the sets that are large
enough and show enough different values (`kernels.node_prices`) or, where a claim limits shares, over those in which no value has
more than its share (`kernels.share_prices`, `shares`). Summed over the nodes, the release costs at least

    L(u) = Σᵢ n(i)·u(i) − Σₜ max(gain(t), 0).

With tolls w(B) ≥ 0 for every node in use inside a box that has room for r(B) of them (`quotas`), a release costs at least

    L(u, w) = Σᵢ n(i)·u(i) − Σ w(B)·r(B) − Σₜ max(gain(t) − Σ{t inside B} w(B), 0).

This holds for every u and w, so nothing depends on how they were found. L is computed in whole numbers on costs that were rounded
down: there is no rounding error to allow for.

Paper: the Lagrangian dual of the program in [obfuscation §3.3] on counts; not in the paper.

Invariants
    I1  Prices stay at or below the cap of the list of nodes: a node that is not listed costs at least the cap, nobody gains
        there, and L is complete without it.
    I2  Where records may be suppressed, no price exceeds what that costs.
    I3  Regions share no node, so L falls into one bound per region.

Departures
    Prices look at one hidden column. Claims on others, recursive diversity and t-closeness enter only through the sizes and the
    numbers of different values that they imply (`implied`). That can only lower the bound.

Cost: an evaluation is two passes over the memberships of the nodes; the ascent takes some hundreds of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.bound.quotas import Quotas, find_quotas
from sfumato.methods.recoding.bound.readings import rounded_down
from sfumato.methods.recoding.bound.space import Nodes, RecodingSpace

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
    """How L changes with the prices and with the tolls: records that no node takes (or too many do), groups without room."""

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
        from sfumato.methods.recoding.kernels.node_prices import node_gains
        from sfumato.methods.recoding.kernels.share_prices import share_gains

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

        `target` is what a known release costs; steps are as long as if L could reach it. Most steps look only at nodes that are
        near to gaining something; all nodes are looked at from time to time, and only then a bound counts.
        """
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

    Units of many records are wanted too little or too much by many, yet their prices are on the same scale as all others. So a
    price of n records moves by its slope over √n, between one step for all of them and one for each.
    """

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
    """Compile on first use what the ascent needs, before anybody looks at the clock."""
    from sfumato.methods.recoding.kernels.node_prices import node_gains
    from sfumato.methods.recoding.kernels.share_prices import share_gains

    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    listed = one, np.zeros(0, dtype=np.int32), none, none, none, none, none
    node_gains(*listed, 1, 1, False, none, none)
    share_gains(*listed, one, False, none, none)


def _uphill(way: FloatArray, u: IntArray, top: int) -> FloatArray:
    """The direction without what leads above the top."""
    return np.where((u >= top) & (way > 0), 0.0, way)
