"""Quotas: a generalized tuple has room for so many groups, which prices of records alone do not know.

Let B be a node with N records, and let every published node need at least `least`. Nodes *inside* B, whose units are all units of
B, take records of B alone, so a release uses at most r(B) = ⌊N / least⌋ of them. The relaxation behind prices only keeps to
N / least: with nine records and k = 5 it uses eighteen tenths of a group.

Guarantee: whatever toll w(B) ≥ 0 is taken for every node in use inside B, a release costs at least what it costs with the tolls
paid and Σ w(B)·r(B) given back, because no more than r(B) nodes pay w(B). So tolls are prices of a second kind (`prices`).

Notation
    quota     a box B with its r(B) and some of the nodes inside it; leaving nodes out keeps it true

Cost: the nodes of least slack are compared with one another through the units that they share, `WORK` comparisons at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray, places_within
from sfumato.methods.recoding.bound.space import Nodes, RecodingSpace

WORK = 6_000_000
"""Most pairs of nodes and shared units that are looked at."""
ROOM = 6
"""Boxes have room for fewer groups than this: in large ones the part of a group that does not fit weighs little."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """Boxes, how many groups they have room for, and the nodes inside them."""

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
    """The quotas among the small nodes of least slack, as far as they can be broken: more nodes inside than there is room for."""
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
    """All pairs (inner, outer) of nodes such that every unit of the inner one is below the outer one, and each with itself."""
    by_unit = np.argsort(nodes.member, kind="stable")
    unit, owner = nodes.member[by_unit].astype(np.int64), nodes.owner[by_unit]
    degree = np.bincount(unit)
    first = np.cumsum(degree) - degree
    length = degree[unit]
    left = np.repeat(owner, length)
    inside = places_within(length)
    right = owner[np.repeat(first[unit], length) + inside]
    pair, shared = np.unique(left * len(nodes) + right, return_counts=True)
    inner, outer = pair // len(nodes), pair % len(nodes)
    whole = shared == np.diff(nodes.start)[inner]
    return inner[whole], outer[whole]
