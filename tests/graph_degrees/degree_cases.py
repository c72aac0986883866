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
    bits = np.arange(1 << len(pairs), dtype=np.int64)
    degrees = np.zeros((len(bits), nodes), dtype=np.int8)
    for place, (u, v) in enumerate(pairs):
        present = ((bits >> place) & 1).astype(np.int8)
        degrees[:, u] += present
        degrees[:, v] += present
    rarest = (degrees[:, :, None] == degrees[:, None, :]).sum(axis=2).min(axis=1) if nodes else np.zeros(1)
    return bits, rarest, degrees.sum(axis=1) // 2


def fewest_by_brute_force(graph: Graph, k: int) -> int:
    """The fewest edges to add, over all graphs that contain this one."""
    bits, rarest, sizes = everything(graph.nodes)
    own = sum(1 << place for place, (u, v) in enumerate(combinations(range(graph.nodes), 2)) if graph.has_edges([u], [v])[0])
    return int(sizes[((bits & own) == own) & (rarest >= k)].min()) - graph.size


def random_graph(nodes: int, density: float, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(nodes, 1)
    drawn = rng.random(len(low)) < density
    return Graph.from_pairs(low[drawn], high[drawn], nodes)
