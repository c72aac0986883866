"""Whether the nodes of a graph are of two kinds: people and what they have, with ties from one kind to the other only.

Ties inside a kind cannot be, so an outsider sees through flips there, and what is promised for one kind of nodes does not hold.

A graph of people is cut into two halves without a tie inside only by chance: every tie beyond those that hold its components
together (its cycles) closes an odd cycle with a chance of about one half, and one odd cycle is enough. From `CYCLES` = 20
on that is no chance any more (2⁻²⁰). Fewer cycles, a tree above all, tell nothing.

    two halves ⇔ the double cover (v, 0) - (w, 1) for every tie v - w has twice as many components as the graph

>>> ring = Graph.from_pairs(np.arange(100), (np.arange(100) + 1) % 100)
>>> shelf = Graph.from_pairs(np.repeat(np.arange(10), 5), 10 + np.arange(50) % 15)
>>> halves(ring), halves(shelf)
(False, True)
"""

from __future__ import annotations

import numpy as np

from sfumato.data.graph import Graph

CYCLES = 20
_TIES_LOOKED_AT = 300


def halves(graph: Graph) -> bool:
    """Whether the graph falls into two halves without a tie inside, which is no chance."""
    if graph.size < CYCLES or _has_triangle(graph):
        return False
    low, high = graph.edges()
    components = _components(low, high, graph.nodes)
    if graph.size - graph.nodes + components < CYCLES:
        return False
    cover = _components(np.concatenate([low, high]), graph.nodes + np.concatenate([high, low]), 2 * graph.nodes)
    return cover == 2 * components


def _has_triangle(graph: Graph) -> bool:
    """Whether one of the first ties closes a triangle, as it does in nearly every graph of people."""
    low, high = graph.edges()
    ends = zip(low[:_TIES_LOOKED_AT].tolist(), high[:_TIES_LOOKED_AT].tolist(), strict=True)
    return any(np.intersect1d(graph.neighbours_of(a), graph.neighbours_of(b), assume_unique=True).size for a, b in ends)


def _components(low: np.ndarray, high: np.ndarray, nodes: int) -> int:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ties = coo_array((np.ones(len(low), dtype=np.int8), (low, high)), shape=(nodes, nodes))
    return int(connected_components(ties, directed=False, return_labels=False))
