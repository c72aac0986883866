"""Flip every pair of a graph independently, in time that grows with what changes and not with N².

Guarantee
    Every edge is lost with probability q and every non-edge becomes an edge with probability a, all independently;
    nodes get new names, a uniform permutation. The draws are cryptographic unless a seed is given.

Paper
    [multitype §4.2], the symmetric flip q = a = μ and naive anonymization before it.

Invariants
    I1  The gap to the next chosen pair is geometric, so every pair is chosen with the same probability, independently.
    I2  Pairs are chosen among *all* pairs and then thrown away where an edge stood: what is left is a choice among
        non-edges.

Cost
    O(h + a·N²/2) draws, in blocks; memory for the published edges only.

>>> from sfumato.data.graph import Graph
>>> published = flip_edges(Graph.from_pairs([0, 1], [1, 2]), EdgeChannel.symmetric(0.0), Randomness(seed=1))
>>> sorted(published.degrees.tolist())
[1, 1, 2]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph, contained_in_sorted

_BLOCK = 1 << 20


def flip_edges(graph: Graph, flip: EdgeChannel, randomness: Randomness) -> Graph:
    """The graph under new names, with every pair flipped."""
    renamed = graph.relabelled(randomness.child("names").permutation(graph.nodes))
    return flip_edges_keeping_names(renamed, flip, randomness)


def flip_edges_keeping_names(graph: Graph, flip: EdgeChannel, randomness: Randomness) -> Graph:
    """The graph under the same names, with every pair flipped."""
    return EdgeChange.drawn(graph, flip, randomness).applied(graph)


@dataclass(frozen=True, eq=False)
class EdgeChange:
    """What a flip changes in a graph: edges that go and edges that come, as codes, ascending."""

    lost: IntArray
    gained: IntArray

    @classmethod
    def drawn(cls, graph: Graph, flip: EdgeChannel, randomness: Randomness) -> EdgeChange:
        """Every pair flipped."""
        lost = graph.codes[chosen(graph.size, flip.delete, randomness.child("lost"))]
        gained = pair_codes(chosen(graph.pairs, flip.add, randomness.child("gained")), graph.nodes)
        return cls(lost, gained[~contained_in_sorted(graph.codes, gained)])  # I2

    def applied(self, graph: Graph) -> Graph:
        """The graph after it."""
        kept = np.delete(graph.codes, np.searchsorted(graph.codes, self.lost))
        return Graph.from_codes(merged(kept, self.gained), graph.nodes)


def chosen(count: int, chance: float, randomness: Randomness) -> IntArray:
    """Each of 0 … count − 1 with probability `chance`, ascending, by skipping from one to the next.

    >>> chosen(5, 1.0, Randomness(seed=1)).tolist()
    [0, 1, 2, 3, 4]
    """
    blocks = list(_chosen_blocks(count, chance, randomness))
    return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)


def _chosen_blocks(count: int, chance: float, randomness: Randomness) -> Iterator[IntArray]:
    if chance <= 0 or count == 0:
        return
    if chance >= 1:
        yield np.arange(count, dtype=np.int64)
        return
    last, scale = -1, np.log1p(-chance)
    while last < count:
        draws = min(_BLOCK, int((count - last) * chance * 1.05) + 64)
        gaps = np.floor(np.log1p(-randomness.uniform(draws)) / scale) + 1  # I1
        places = last + np.cumsum(np.minimum(gaps, float(count) + 1).astype(np.int64))
        last = int(places[-1])
        yield places[: np.searchsorted(places, count)]


def pair_codes(index: IntArray, nodes: int) -> IntArray:
    """The code `low · nodes + high` of the index-th pair in the order (0,1), (0,2), …, (1,2), …; the indices come
    ascending.

    >>> [divmod(code, 4) for code in pair_codes(np.arange(6), 4).tolist()]
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    first = _pairs_before(np.arange(nodes + 1), nodes)
    low = np.repeat(np.arange(nodes), np.diff(np.searchsorted(index, first)))
    codes: IntArray = low * nodes + (index - first[low] + low + 1)
    return codes


def _pairs_before(low: IntArray, nodes: int) -> IntArray:
    before: IntArray = low * (2 * nodes - low - 1) // 2
    return before


def merged(first: IntArray, second: IntArray) -> IntArray:
    """Two ascending arrays without common values as one ascending array."""
    if len(second) * 8 < len(first):
        return np.insert(first, np.searchsorted(first, second), second)
    both = np.concatenate([first, second])
    both.sort(kind="stable")  # timsort finds the two runs
    return both
