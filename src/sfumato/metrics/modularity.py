"""How much more people keep to their own group than chance would have it, before a flip.

Paper
    [multitype §4.3.4], Eqs. 4.11-4.13, after Newman.

Notation
    I      ties inside groups; K_g the degrees of group g added up; h the number of edges, all of them before the flip.
    Q      I/h − Σ_g (K_g / 2h)².

Departures
    [multitype Eq. 4.11] is Newman's modularity only with half of each between-group share on either side of the diagonal;
    pairs inside a group of z people are z(z − 1)/2, so Eq. 4.12 must subtract z² − z; Eq. 4.13 must divide by 1 − 2μ. The
    standard error (delta method) is ours: the gradient of Q at a pair depends only on the two groups, so it sums in closed form.

Cost
    O(N + h); no matrix of groups is made.

>>> from sfumato.data.graph import Graph
>>> two_triangles = Graph.from_pairs([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])
>>> modularity(two_triangles, EdgeChannel.symmetric(0.0), [0, 0, 0, 1, 1, 1])
(0.5, 0.0)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.data.arrays import FloatArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.errors import DataError


def modularity(graph: Graph, flip: EdgeChannel, partition: ArrayLike) -> tuple[float, float]:
    """Recovered modularity of a given partition of the published graph, and its standard error.

    The error holds for a partition chosen without looking at this graph; for one found on it see `metrics.communities`.
    """
    groups = np.unique(np.asarray(partition), return_inverse=True)[1]
    if len(groups) != graph.nodes:
        raise DataError("the partition does not name a group for every node", hint="give one group per published node")
    people = np.bincount(groups).astype(np.float64)
    inside_pairs = float((people * (people - 1) / 2).sum())
    partners = np.full(graph.nodes, graph.nodes - 1.0)
    return judged(graph, flip, groups, inside_pairs, partners)


def judged(
    graph: Graph, flip: EdgeChannel, groups: NDArray[np.int64], inside_pairs: float, partners: FloatArray
) -> tuple[float, float]:
    """Modularity over the pairs that were looked at: `inside_pairs` of them in one group, `partners` for each person."""
    low, high = graph.edges()
    pairs = float(partners.sum()) / 2
    edges = (graph.size - pairs * flip.add) / flip.slope
    if edges <= 0:
        return math.nan, math.nan
    inside = (float((groups[low] == groups[high]).sum()) - flip.add * inside_pairs) / flip.slope
    volume: FloatArray = np.bincount(groups, weights=(graph.degrees - partners * flip.add) / flip.slope).astype(np.float64)
    value = inside / edges - float((volume**2).sum()) / (4 * edges**2)
    slope = _Gradient(inside, volume, edges)
    everywhere = slope.squares_everywhere(np.bincount(groups).astype(np.float64)) * pairs / max(graph.pairs, 1)
    tied = (float((slope.at(groups[low], groups[high]) ** 2).sum()) - flip.add * everywhere) / flip.slope
    gain = flip.variance_with_edge - flip.variance_without_edge
    return value, math.sqrt(max(flip.variance_without_edge * everywhere + gain * tied, 0.0))


class _Gradient:
    """∂Q/∂(pair) = α·[same group] + β − γ(K_g + K_h)."""

    def __init__(self, inside: float, volume: FloatArray, edges: float) -> None:
        self.volume = volume
        self.same = 1 / edges
        self.base = -inside / edges**2 + (volume**2).sum() / (2 * edges**3)
        self.pull = 1 / (2 * edges**2)

    def at(self, first: NDArray[Any], second: NDArray[Any]) -> FloatArray:
        pulled = self.base - self.pull * (self.volume[first] + self.volume[second])
        return np.asarray(pulled + self.same * (first == second))

    def squares_everywhere(self, people: FloatArray) -> float:
        """Σ over all pairs of people of the squared gradient, group by group."""
        half = self.base / 2 - self.pull * self.volume  # gradient between groups is half_g + half_h
        count, first, second = people.sum(), (people * half).sum(), (people * half**2).sum()
        all_pairs = count * second + first**2 - 2 * second  # Σ of (half + half)² over distinct people
        within = 2 * half
        extra = (people * (people - 1) / 2 * ((within + self.same) ** 2 - within**2)).sum()
        return float(all_pairs + extra)
