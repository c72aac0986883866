"""A taxonomy for top-down specialization: from any node the next step towards a target, and what each node costs.

Paper: [sequential §2.2, §5.2]

Invariants
    I1  Nodes that cover the same leaves are one node: a step down always says more.
    I2  ``path[target, d]`` is the ancestor of `target` at depth d; a step from v towards it is ``path[target, depth[v] + 1]``.

>>> tree = Taxonomy.of_intervals([(0, 1), (1, 2), (2, 3), (0, 2), (0, 2), (0, 3)])
>>> len(tree), tree.step(tree.root, tree.number(1, 2)) == tree.number(0, 2)
(5, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Taxonomy:
    """A laminar family of intervals of leaves with its root first."""

    lo: IntArray
    hi: IntArray
    parent: IntArray
    depth: IntArray
    path: IntArray

    @classmethod
    def of_intervals(cls, intervals: Iterable[tuple[int, int]]) -> Taxonomy:
        """From the intervals of a hierarchy's nodes, in any order and with repetitions (I1)."""
        distinct = sorted(set(intervals), key=lambda node: (node[0], -node[1]))
        lo, hi = (np.array(side, dtype=np.int64) for side in zip(*distinct, strict=True))
        parent, depth, above = np.zeros(len(lo), dtype=np.int64), np.zeros(len(lo), dtype=np.int64), [0]
        for node in range(1, len(lo)):
            while hi[above[-1]] < hi[node] or hi[above[-1]] <= lo[node]:
                above.pop()
            parent[node], depth[node] = above[-1], depth[above[-1]] + 1
            above.append(node)
        return cls(lo, hi, parent, depth, _paths(parent, depth))

    @classmethod
    def halving(cls, size: int) -> Taxonomy:
        """For a range without hierarchy: halves of halves."""
        intervals: list[tuple[int, int]] = []
        open_nodes = [(0, size)]
        while open_nodes:
            lo, hi = open_nodes.pop()
            intervals.append((lo, hi))
            if hi - lo > 1:
                middle = (lo + hi) // 2
                open_nodes += [(lo, middle), (middle, hi)]
        return cls.of_intervals(intervals)

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def root(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return int(self.hi[0] - self.lo[0])

    @cached_property
    def _number(self) -> dict[tuple[int, int], int]:
        return {(int(a), int(b)): node for node, (a, b) in enumerate(zip(self.lo, self.hi, strict=True))}

    def number(self, lo: int, hi: int) -> int:
        return self._number[lo, hi]

    def numbers(self, lo: IntArray, hi: IntArray) -> IntArray:
        """The smallest node around each interval."""
        pairs, place = np.unique(np.stack([lo, hi], axis=1), axis=0, return_inverse=True)
        found = [self._around(int(a), int(b)) for a, b in pairs]
        return np.array(found, dtype=np.int64)[place.ravel()]

    def _around(self, lo: int, hi: int) -> int:
        exact = self._number.get((lo, hi))
        if exact is not None:
            return exact
        fits = np.flatnonzero((self.lo <= lo) & (self.hi >= hi))
        return int(fits[np.argmin(self.hi[fits] - self.lo[fits])])

    def step(self, node: int, target: int) -> int:
        return int(self.path[target, self.depth[node] + 1])

    def ceilings(self, lo: IntArray, hi: IntArray) -> IntArray:
        """For every node the highest one that its records may rise to; `lo`, `hi` are the ceilings of the leaves."""
        at = self.lo
        within = (lo[at] <= self.lo) & (self.hi <= hi[at])
        return np.where(within, self.numbers(lo[at], hi[at]), np.arange(len(self)))

    def loss(self) -> FloatArray:
        """LM of every node: (|node| − 1) / (|domain| − 1)."""
        loss: FloatArray = (self.hi - self.lo - 1) / max(self.size - 1, 1)
        return loss

    def entropy(self, counts: IntArray) -> FloatArray:
        """EM of every node: entropy of the value given the node, with the table's own frequencies."""
        below = np.concatenate([[0], np.cumsum(counts)])
        terms = np.where(counts > 0, counts * np.log2(np.maximum(counts, 1)), 0.0)
        logs = np.concatenate([[0.0], np.cumsum(terms)])
        total = below[self.hi] - below[self.lo]
        weighted = logs[self.hi] - logs[self.lo]
        safe = np.maximum(total, 1)
        entropy: FloatArray = np.where(total > 0, np.log2(safe) - weighted / safe, 0.0)
        return entropy.clip(min=0.0)


def _paths(parent: IntArray, depth: IntArray) -> IntArray:
    path = np.full((len(parent), int(depth.max(initial=0)) + 2), -1, dtype=np.int64)
    for node in range(len(parent)):
        path[node, : depth[node] + 1] = 0
        here = node
        for level in range(int(depth[node]), 0, -1):
            path[node, level] = here  # I2
            here = int(parent[here])
    return path
