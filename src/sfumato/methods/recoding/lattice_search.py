"""The cheapest node of a lattice of levels, found with as few looks at nodes as possible, and proven where the search ends by
itself.

A node costs its bound, known beforehand, and something extra, known only after a look; or it is not allowed. Nodes whose bound is
not below the best cost so far need no look. What else is learned from a look depends on the claims (`full_domain`):

    not allowed, and claims survive joining   all nodes below are not allowed
    extra e, and more records never hurt      all nodes below cost at least e more than their bound

Looks are chosen as Flash does: a path leads from the most promising node upwards, and is searched by halving; before that every
column alone is asked how low it can be, all others being as coarse as they can.

Paper: Kohlmayer, Prasser, Eckert, Kemper, Kuhn (2012) for paths and halving; Samarati (2001) for what a look says of other nodes.

Invariants
    I1  A node is put aside only when its bound, or what a look at a node above it said, shows that it cannot be cheaper than the
        best.
    I2  The answer is proven only when no node is left that is not put aside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.methods.recoding.full_domain import FullDomain, Node

Progress = Callable[[float], None]
_CLOSE = 1e-12


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The best node that was found; none when not even the coarsest is allowed."""

    node: Node | None
    cost: float
    proven: bool
    looks: int


def cheapest(lattice: FullDomain, *, most: int, progress: Progress | None = None) -> Cheapest:
    """The cheapest node, with at most so many nodes in memory and looks."""
    if prod(map(float, lattice.shape)) > most:
        return _descended(lattice, most)
    search = _Looks(lattice, most)
    search.run(progress)
    return Cheapest(search.best, search.cost, not search.open().any(), len(search.seen))  # I2


class _Looks:
    def __init__(self, lattice: FullDomain, most: int) -> None:
        self.lattice, self.most = lattice, most
        means = [np.array([rung.mean for rung in column]) for column in lattice.columns]
        grid = np.zeros(lattice.shape)
        for place, mean in enumerate(means):
            grid = grid + mean.reshape([-1 if other == place else 1 for other in range(len(means))])
        self.plain: FloatArray = grid
        self.bound: FloatArray = grid.copy()
        """What each node costs at least; infinite for those that are put aside or known (I1)."""
        self.seen: dict[Node, float | None] = {}
        self.best: Node | None = None
        self.cost = float("inf")

    def open(self) -> np.ndarray:
        """Nodes that may be cheaper than the best."""
        return self.bound < self.cost - _CLOSE

    def run(self, progress: Progress | None) -> None:
        self.look(self.lattice.top)
        if self.lattice.joining:
            self._columns_alone()
        total = max(int(self.open().sum()), 1)
        while len(self.seen) < self.most and (left := self.open()).any():
            flat = int(np.argmin(np.where(left, self.bound, np.inf)))
            self._halve(self._path(tuple(map(int, np.unravel_index(flat, self.bound.shape))), left))
            if progress is not None:
                progress(1 - int(left.sum()) / total)

    def look(self, node: Node) -> bool:
        """Whether a node is allowed; what is learned is kept."""
        if node in self.seen:
            return self.seen[node] is not None
        extra = self.seen[node] = self.lattice.surcharge(node)
        below = tuple(slice(0, level + 1) for level in node)
        if extra is None:
            self.bound[below if self.lattice.joining else node] = np.inf
            return False
        if self.lattice.growing and extra > 0:
            np.maximum(self.bound[below], self.plain[below] + extra, out=self.bound[below])
        cost = float(self.plain[node]) + extra
        if cost < self.cost - _CLOSE:
            self.best, self.cost = node, cost
        self.bound[node] = np.inf
        return True

    def _columns_alone(self) -> None:
        """How low each column can be at all."""
        top = self.lattice.top
        for place, height in enumerate(top):
            for level in range(height - 1, -1, -1):
                if not self.look((*top[:place], level, *top[place + 1 :])):
                    break

    def _path(self, node: Node, left: np.ndarray) -> list[Node]:
        """From a node upwards through nodes that are still open, always to the cheapest next one."""
        path = [node]
        while True:
            above = [(*node[:place], level + 1, *node[place + 1 :]) for place, level in enumerate(node)]
            further = [one for one in above if all(a <= b for a, b in zip(one, self.lattice.top, strict=True)) and left[one]]
            if not further:
                return path
            node = min(further, key=lambda one: float(self.plain[one]))
            path.append(node)

    def _halve(self, path: list[Node]) -> None:
        """The lowest allowed node of a path, by halving."""
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            if self.look(path[middle]):
                high = middle - 1
            else:
                low = middle + 1


def _descended(lattice: FullDomain, most: int) -> Cheapest:
    """From the coarsest node downwards, always to the cheapest next node that is allowed; too many nodes for more."""
    node, looks = lattice.top, 1
    extra = lattice.surcharge(node)
    if extra is None:
        return Cheapest(None, float("inf"), False, looks)
    cost = lattice.bound(node) + extra
    while looks < most:
        below = [(*node[:place], level - 1, *node[place + 1 :]) for place, level in enumerate(node) if level]
        found = [(lattice.bound(one) + extra, one) for one in below if (extra := lattice.surcharge(one)) is not None]
        looks += len(below)
        if not found or min(found)[0] >= cost - _CLOSE:
            return Cheapest(node, cost, False, looks)
        cost, node = min(found)
    return Cheapest(node, cost, False, looks)
