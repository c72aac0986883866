"""Large neighbourhoods: take apart groups that cost more than their prices say, with what lies near, and solve that part exactly.

Prices say where a release loses against the bound: a group wastes what it costs above the prices of its records, and the sum of all
waste is about the gap. A neighbourhood grows from a wasteful group along nodes of little slack, which are those that a better
release would use, and is solved as an integer program of its own.

Invariants
    I1  A neighbourhood keeps within one region.
    I2  Every group of the neighbourhood is among its nodes, so the program can always answer what there is already.

Cost: a neighbourhood of some thousand memberships takes the solver between a hundredth of a second and a few seconds.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import BoolArray, FloatArray, IntArray, places_within
from sfumato.methods.recoding.bound.arrangement import Arrangement
from sfumato.methods.recoding.bound.prices import PriceBound, Prices
from sfumato.methods.recoding.bound.program import Neighbourhood, solve
from sfumato.methods.recoding.bound.space import Nodes, RecodingSpace

NEAR = 4_000_000
"""Memberships of the nodes of least slack that neighbourhoods are made of."""
PATIENCE = 2.0
"""Seconds that the solver may spend on one neighbourhood."""


@dataclass(frozen=True)
class Surroundings:
    """The nodes of least slack, looked up by unit."""

    space: RecodingSpace
    u: FloatArray
    """Prices, in true costs."""
    slack: FloatArray
    cost: FloatArray
    start: IntArray
    """Memberships of unit i are ``node[start[i]:start[i + 1]]``."""
    node: IntArray
    first: IntArray
    member: IntArray
    """Units of node t are ``member[first[t]:first[t + 1]]``."""

    @classmethod
    def of(cls, bound: PriceBound, prices: Prices) -> Surroundings:
        slack = bound.slack(prices)
        nodes, slack = _nearest(bound.nodes, slack)
        order = np.argsort(nodes.member, kind="stable")
        units = len(prices.u)
        start = np.searchsorted(nodes.member[order], np.arange(units + 1)).astype(np.int64)
        u, near, cost = (whole / bound.space.scale for whole in (prices.u, slack, nodes.cost))
        return cls(bound.space, u, near, cost, start, nodes.owner[order], nodes.start, nodes.member.astype(np.int64))

    def nodes_of(self, unit: IntArray) -> tuple[IntArray, IntArray]:
        """The memberships of some units: index of the unit, and node."""
        length = self.start[unit + 1] - self.start[unit]
        index = np.repeat(np.arange(len(unit)), length)
        inside = places_within(length)
        return index, self.node[self.start[unit][index] + inside]


def _nearest(nodes: Nodes, slack: IntArray) -> tuple[Nodes, IntArray]:
    length = np.diff(nodes.start)
    order = np.argsort(slack, kind="stable")
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[: int(np.searchsorted(np.cumsum(length[order]), NEAR, side="right"))]] = True
    chosen &= slack < 1 << 61
    return nodes.only(chosen), slack[chosen]


class NeighbourhoodSearch:
    """An arrangement that gets cheaper, neighbourhood by neighbourhood."""

    def __init__(self, start: Arrangement, around: Surroundings, open_regions: BoolArray, *, budget: int, seed: int) -> None:
        self.now, self.around, self.open, self.budget = start, around, open_regions, budget
        self.room = 2_000
        """Most memberships of a neighbourhood; it adapts to what the solver can do in the time."""
        self.draw = np.random.default_rng(seed)
        self._look()
        self.tired = np.zeros(len(start.cost))

    def _look(self) -> None:
        entries = self.now.entries
        self.first = entries.first
        order = np.argsort(entries.unit, kind="stable")
        self.groups_of = entries.group[order]
        self.unit_start = np.searchsorted(entries.unit[order], np.arange(len(self.now.suppressed) + 1))
        priced = np.bincount(entries.group, weights=entries.count * self.around.u[entries.unit], minlength=len(self.now.cost))
        self.waste = np.where(self.open[self.now.region], np.maximum(self.now.cost * self.now.size - priced, 0.0), 0.0)

    def run(self, end: float) -> None:
        """Neighbourhood after neighbourhood until the time is over, or many of them in a row brought nothing."""
        vain, idle = 0, 5 + min(60, len(self.now.cost))
        while time.thread_time() < end and vain < idle and self.waste.sum() > 1e-9:
            vain = 0 if self.improve() else vain + 1

    def improve(self) -> bool:
        """Solve one neighbourhood; whether that helped."""
        weight = self.waste * 0.5**self.tired
        if weight.sum() <= 0:
            return False
        seed = int(self.draw.choice(len(weight), p=weight / weight.sum()))
        groups = self._grown(seed)
        self.tired[groups] += 0.25
        self.tired[seed] += 1.0
        unit, count = self.now.records_of(groups)
        begin = time.thread_time()
        answer = solve(self.around.space, self._part(groups, unit, count), seconds=PATIENCE, gap=1e-4)
        self._adapt(time.thread_time() - begin)
        better = self.now.replaced(groups, unit, answer)
        if better is None:
            return False
        fresh = len(better.cost) - (len(self.now.cost) - len(groups))
        self.tired = np.concatenate([np.delete(self.tired, groups), np.zeros(fresh)])
        self.now = better
        self._look()
        return True

    def _adapt(self, spent: float) -> None:
        self.room = int(np.clip(self.room * (1.1 if spent < PATIENCE / 4 else 0.8 if spent > PATIENCE / 2 else 1.0), 300, 60_000))

    def _grown(self, seed: int) -> IntArray:
        """Groups around a seed, nearest first: reached through nodes of little slack (I1 holds because nodes keep to regions)."""
        chosen: set[int] = set()
        seen: set[int] = set()
        queue: list[tuple[float, int]] = [(0.0, seed)]
        used = 0
        while queue and used < self.room:
            far, group = heapq.heappop(queue)
            if group in chosen:
                continue
            chosen.add(group)
            unit = self.now.entries.unit[self.first[group] : self.first[group + 1]]
            _, nodes = self.around.nodes_of(unit)
            used += len(nodes) + len(unit)
            for node in np.unique(nodes).tolist():
                if node not in seen:
                    seen.add(node)
                    self._reach(node, far, queue, chosen)
        return np.array(sorted(chosen), dtype=np.int64)

    def _reach(self, node: int, far: float, queue: list[tuple[float, int]], chosen: set[int]) -> None:
        """Queue the groups of a node's members; of a large node only some."""
        around = self.around
        member = around.member[around.first[node] : around.first[node + 1]]
        if len(member) > 30:
            member = self.draw.choice(member, 30, replace=False)
        distance = far + float(around.slack[node]) + 1e-6 + 0.05 * float(around.cost[node])
        for unit in member.tolist():
            for group in self.groups_of[self.unit_start[unit] : self.unit_start[unit + 1]][:3].tolist():
                if group not in chosen:
                    heapq.heappush(queue, (distance * (1.0 + 0.3 * float(self.draw.random())), group))

    def _part(self, groups: IntArray, unit: IntArray, count: IntArray) -> Neighbourhood:
        """The program of the neighbourhood: near nodes that its records can fill, and the groups' own tuples (I2)."""
        member, node = self.around.nodes_of(unit)
        waste = self.now.total_of(groups, unit) - float(self.around.u[unit] @ count)
        kept = self.around.slack[node] <= max(waste, 0.0) + 1e-9
        member, node = member[kept], node[kept]
        present, owner = np.unique(node, return_inverse=True)
        own_member, own_node, own_cost = self._own(groups, unit)
        member, owner = np.concatenate([member, own_member]), np.concatenate([owner, len(present) + own_node])
        cost = np.concatenate([self.around.cost[present], own_cost])
        enough = np.bincount(owner, weights=count[member], minlength=len(cost)) >= self.around.space.least
        usable = enough[owner]
        spare = self.budget - int(self.now.suppressed.sum()) + int(self.now.suppressed[unit].sum()) if self.budget else 0
        return Neighbourhood(unit, count, cost[enough], member[usable], (np.cumsum(enough) - 1)[owner[usable]], spare)

    def _own(self, groups: IntArray, unit: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The groups' tuples as nodes, with all units of the neighbourhood that fit into them."""
        space, entries = self.around.space, self.now.entries
        inside = np.isin(entries.group, groups)
        number = np.searchsorted(groups, entries.group[inside])
        intervals = space.problem.intervals(space.units.part(entries.unit[inside], number, entries.count[inside]))
        fits = np.ones((len(groups), len(unit)), dtype=np.bool_)
        for column, (lo, hi) in enumerate(intervals):
            code = space.units.codes[unit, column]
            fits &= (code >= lo[:, None]) & (code < hi[:, None])
        fits &= space.units.region[unit] == space.units.region[entries.unit[self.first[groups]]][:, None]
        node, member = np.nonzero(fits)
        return member, node, self.now.cost[groups]
