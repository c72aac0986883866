"""How many edges every k-degree anonymous supergraph must add at least, by counting alone.

Guarantee
    Two arguments, the larger figure counts.
    *All people.* Each added edge raises two degrees by one, and the degrees rise by `sequence.least_rise` at least.
    *Hubs.* Let S be the m people with the largest published degrees D[0] … D[m − 1]. In the end at most m(m − 1)/2 pairs
    inside S are joined, so at least ΣD[:m] − m(m − 1)/2 published edges touch S. At most C of them are original, where C is
    the largest number of original edges that any m people touch; the others were added. ΣD[:m] is at least what
    `sequence.prefix_rises` says.

Invariants
    I1  C is bounded from above: for any set H and 0 ≤ λ ≤ 1 let an edge inside H count 1 − λ for itself and λ for each end that
        is chosen, any other edge 1 for each end. That is at least what the choice touches; the m largest sums bound C.

Cost
    O(D·k²) as the sequence, and O(N) for each of at most `_SIZES` sizes m.

>>> star = Graph.from_pairs([0] * 9, list(range(1, 10)))
>>> least_rise(np.sort(star.degrees)[::-1], 2), fewest_edges(star, 2)
(8, 8)
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.graph import Graph
from sfumato.methods.graphs.degrees.sequence import least_rise, prefix_rises

_SIZES = 20


def fewest_edges(graph: Graph, k: int) -> int:
    """No k-degree anonymous graph that keeps all edges has fewer new ones than this."""
    order = np.argsort(-graph.degrees, kind="stable")
    degrees = graph.degrees[order]
    everybody = -(-least_rise(degrees, k) // 2)
    most = min(_SIZES * k, graph.nodes)
    rises = prefix_rises(degrees, k, most)
    hubs = (_touching(graph, order, m, int(rises[m] + degrees[:m].sum())) for m in range(k, most + 1, k))
    return max(everybody, *hubs)


def _touching(graph: Graph, order: IntArray, m: int, goal: int) -> int:
    return goal - m * (m - 1) // 2 - most_touched(graph, order[:m])


def most_touched(graph: Graph, hubs: IntArray) -> int:
    """At least as many edges as any choice of as many people as `hubs` touches; sharp when the hubs are the best choice."""
    m = len(hubs)
    chosen = np.zeros(graph.nodes, dtype=bool)
    chosen[hubs] = True
    within = np.zeros(graph.nodes, dtype=np.int64)
    within[hubs] = [int(chosen[graph.neighbours_of(int(hub))].sum()) for hub in hubs]
    inside = int(within.sum()) // 2
    whole = inside + _largest(graph.degrees - within, m)  # I1: λ = 0
    halves = (inside + _largest(2 * graph.degrees - within, m)) // 2  # λ = ½
    return min(whole, halves, _largest(graph.degrees, m), graph.size)


def _largest(values: IntArray, count: int) -> int:
    return int(np.partition(values, len(values) - count)[len(values) - count :].sum())
