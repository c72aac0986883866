"""Counts of patterns in a graph of which a few edges have changed, from the counts before.

A flip that is worth publishing leaves most of a graph as it was, so that most copies of a pattern are the old ones: what
changes is counted around the edges that go and come (`kernels.changed_edges`). The numbers are the same as those of a graph that is
counted anew, to the last copy.

Cost
    For each changed edge the neighbours of the neighbours of its ends, and a copy of the adjacency; where that is more than
    counting anew, it is counted anew.

>>> from sfumato.data.pattern import TiePattern
>>> ring = PatternCounts(Graph.from_pairs([0, 1, 2, 3, 4], [1, 2, 3, 4, 0]))
>>> change = EdgeChange(lost=np.array([1]), gained=np.array([3]))  # 0-1 goes, 0-3 comes
>>> [int(Recounted(ring, change).copies(TiePattern.named(name))) for name in ("edge", "triangle", "square")]
[5, 1, 0]
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.flipping import EdgeChange
from sfumato.data.graph import Graph
from sfumato.metrics.pattern_counts import PatternCounts


def recounted(before: PatternCounts, change: EdgeChange) -> PatternCounts:
    """The counts after the change, by whatever way is shorter."""
    near = Recounted(before, change)
    return near if near.pays_off() else PatternCounts(change.applied(before.graph))


class Recounted(PatternCounts):
    """Copies of small patterns after a change, by what it changed."""

    def __init__(self, before: PatternCounts, change: EdgeChange) -> None:
        self.before, self.change = before, change
        self._known: dict[str, int] = {}

    @cached_property
    def graph(self) -> Graph:  # type: ignore[override]
        """The graph after the change; most counts do without."""
        return self.change.applied(self.before.graph)

    @property
    def nodes(self) -> int:
        return self.before.nodes

    @cached_property
    def degrees(self) -> IntArray:
        gone, come = self._touched(self.change.lost), self._touched(self.change.gained)
        return np.asarray(self.before.degrees + come - gone)

    def _touched(self, codes: IntArray) -> IntArray:
        """How many of these pairs everybody has."""
        return np.bincount(np.concatenate(np.divmod(codes, max(self.nodes, 1))), minlength=self.nodes)

    def pays_off(self) -> bool:
        """Whether fewer steps lead around the changed edges than through the whole graph."""
        graph = self.before.graph
        low, high = self._ends
        steps = float((graph.degrees[low] + graph.degrees[high]).sum()) * self._typical
        return steps + len(graph.neighbours) < float((graph.degrees.astype(np.float64) ** 2).sum())

    @property
    def _typical(self) -> float:
        """Neighbours of the person at the end of a tie, on average; people with many are met more often."""
        degrees = self.before.degrees.astype(np.float64)
        return float((degrees**2).sum() / max(degrees.sum(), 1.0))

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        low, high = np.divmod(np.concatenate([self.change.lost, self.change.gained]), max(self.nodes, 1))
        return low, high

    def _triangle(self) -> int:
        return self.before._count("triangle") + self._walks[0]

    def _path(self) -> int:
        return self.before._count("path") + self._walks[1]

    def _square(self) -> int:
        return self.before._count("square") + self._walks[2]

    def _paw(self) -> int:
        return self.before._count("paw") + self._rings[0]

    def _diamond(self) -> int:
        return self.before._count("diamond") + self._rings[1]

    def _clique(self) -> int:
        return self.before._count("clique") + self._rings[2]

    @cached_property
    def _walks(self) -> tuple[int, ...]:
        from sfumato.metrics.kernels.changed_edges import changed_walks

        return tuple(map(int, changed_walks(*self._changed)))

    @cached_property
    def _rings(self) -> tuple[int, ...]:
        from sfumato.metrics.kernels.changed_edges import changed_rings

        return tuple(map(int, changed_rings(*self._changed)))

    @property
    def _changed(self) -> tuple[Any, ...]:
        graph = self.before.graph
        return graph.starts, graph.neighbours, *self._ends, len(self.change.lost)
