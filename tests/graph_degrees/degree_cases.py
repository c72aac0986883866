"""Brute force for degree anonymity: all graphs on a few people at once, one bit for each pair."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from sfumato.data.graph import Graph


def anonymous(degrees, k) -> bool:
    """Whether everybody shares the degree with k − 1 others."""
    degrees = list(degrees)
    return all(degrees.count(degree) >= k for degree in degrees)


@cache
def everything(nodes: int):
    """Every graph on the people: its bits, how many people share the rarest degree, and its number of edges."""
    pairs = list(combinations(range(nodes), 2))
    bits = np.arange(1 << len(pairs), dtype=np.int32)
    degrees = np.zeros((nodes, len(bits)), dtype=np.int8)
    for place, (u, v) in enumerate(pairs):
        present = ((bits >> place) & 1).astype(np.int8)
        degrees[u] += present
        degrees[v] += present
    rarest = np.full(len(bits), nodes, dtype=np.int8)
    for degree in range(nodes):
        sharing = (degrees == degree).sum(axis=0, dtype=np.int8)
        np.minimum(rarest, sharing, out=rarest, where=sharing > 0)
    return bits, rarest, degrees.sum(axis=0, dtype=np.int8) // 2


@cache
def lawful(nodes: int, k: int):
    """The bits and the number of edges of every graph in which k people share each degree."""
    bits, rarest, sizes = everything(nodes)
    return bits[rarest >= k], sizes[rarest >= k]


def fewest_by_brute_force(graph: Graph, k: int) -> int:
    """The fewest edges to add, over all graphs that contain this one."""
    bits, sizes = lawful(graph.nodes, k)
    joined = graph.has_edges(*np.triu_indices(graph.nodes, 1))  # in the order of `combinations`
    own = sum(1 << place for place in np.flatnonzero(joined).tolist())
    return int(sizes[(bits & own) == own].min()) - graph.size


def random_graph(nodes: int, density: float, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(nodes, 1)
    drawn = rng.random(len(low)) < density
    return Graph.from_pairs(low[drawn], high[drawn], nodes)
