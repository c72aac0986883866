"""Starts that follow the prices: nodes take the records that gain most there, one node after the other.

At good prices a cheap release consists of nodes that gain something, and of the records that make them gain. So the nodes of least
slack are asked in turn, each takes the best admissible set among the records that are still there, and whoever is left is given a
higher price and asked for again. What is left in the end joins other groups. Cheap nodes first and dear nodes first lead to
different releases: dear ones take what has no other place, with the partners that a claim on shares asks for, before cheap ones
have used these up.

Invariants
    I1  Every record is in one group, and every group satisfies the claims (`joining`).

Cost: a few looks at every node that is asked, 30 microseconds each; both starts of Adult with three columns take a second. What is
left is compared with all groups, so where much is left there is no such start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.methods.recoding.bound.prices import PriceBound, Prices
from sfumato.methods.recoding.joining import join_until_satisfied
from sfumato.methods.recoding.pricing import columns_of
from sfumato.methods.recoding.problem import Grouping
from sfumato.methods.recoding.units import Entries

_ASKED = 20_000
"""Most nodes that are asked, those of least slack."""
_RAISES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""By how much the prices of the records that are left are raised, as shares of what a suppressed record costs."""
_COMPARED = 300_000_000
"""Most pairs of groups that are compared in a round of joining: some seconds."""


def guided_starts(bound: PriceBound, prices: Prices) -> list[Grouping]:
    """A grouping by cheap nodes first, and one by dear nodes first; none where no node is listed or too much is left."""
    slack = bound.slack(prices)
    asked = np.argsort(slack, kind="stable")[:_ASKED]
    asked = asked[slack[asked] < 1 << 61]
    if not len(asked):
        return []
    cheap = asked[np.argsort(bound.nodes.cost[asked], kind="stable")]
    problem, columns = bound.space.problem, columns_of(bound.space.problem, "width")
    dealt = [_dealt(bound, prices.u, orders) for orders in ([cheap], [cheap[::-1], cheap])]
    return [join_until_satisfied(problem, groups, columns) for groups in dealt if groups is not None]  # I1


def _dealt(bound: PriceBound, u: IntArray, orders: list[IntArray]) -> Grouping | None:
    """Nodes in the first order with the prices as they are, then in the last one with higher and higher prices."""
    dealer = _Dealer(bound)
    dealer.ask(orders[0], u)
    for share in _RAISES if len(orders) > 1 else _RAISES[1:]:
        raised = u + int(share * bound.space.suppressed_cost * bound.space.scale)
        dealer.ask(orders[-1], np.where(dealer.left > 0, np.minimum(raised, bound.space.highest), u))
    return dealer.grouping() if dealer.comparisons <= _COMPARED else None


class _Dealer:
    """Records that are still there, and the groups so far."""

    def __init__(self, bound: PriceBound) -> None:
        self.space, self.nodes = bound.space, bound.nodes
        self.left = self.space.count.copy()
        self._taken = np.zeros(len(self.left), dtype=np.int64)
        self._groups: list[tuple[IntArray, IntArray]] = []

    def ask(self, order: IntArray, u: IntArray) -> None:
        """Every node in turn takes the best set of what is left, where that gains something."""
        start, member = self.nodes.start, self.nodes.member
        for node in order.tolist():
            units = member[start[node] : start[node + 1]]
            there = self.left[units]
            if int(there.sum()) >= self.space.least:
                self._take(units[there > 0], self.nodes.cost[node : node + 1], u)

    def _take(self, units: NDArray[np.int32], cost: IntArray, u: IntArray) -> None:
        from sfumato.methods.recoding.kernels.node_prices import node_gains
        from sfumato.methods.recoding.kernels.share_prices import share_gains

        space, taken = self.space, self._taken
        gain = np.zeros(1, dtype=np.int64)
        listed = np.array([0, len(units)]), units, cost, self.left, space.tag, u, np.zeros(1, dtype=np.int64)
        taken[units] = 0
        if space.shared:
            share_gains(*listed, space.needed, False, gain, taken)
        else:
            node_gains(*listed, space.least, space.kinds, False, gain, taken)
        if gain[0] > 0:
            chosen = units[taken[units] > 0].astype(np.int64)
            self._groups.append((chosen, taken[chosen]))
            self.left[chosen] -= taken[chosen]

    @property
    def comparisons(self) -> int:
        """Pairs that are looked at when whatever is left joins a group, or another one that is left."""
        left = int(np.count_nonzero(self.left))
        return left * (left + len(self._groups))

    def grouping(self) -> Grouping:
        """The groups, and each unit of which something is left as one of its own."""
        rest = np.flatnonzero(self.left)
        parts = [*self._groups, *((rest[at : at + 1], self.left[rest[at : at + 1]]) for at in range(len(rest)))]
        number = np.repeat(np.arange(len(parts)), [len(unit) for unit, _ in parts])
        unit, count = (np.concatenate(column) for column in zip(*parts, strict=True))
        return self.space.units.grouping(Entries.tidy(unit, number, count))
