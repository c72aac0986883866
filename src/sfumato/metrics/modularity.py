"""How much more people keep to their own group than chance would have it, before a flip.

Paper
    [multitype §4.3.4], Eqs. 4.11-4.13, after Newman.

Notation
    I      ties inside groups; K_g the degrees of group g added up; h the number of edges, all of them before the flip.
    Q      I/h − Σ_g (K_g / 2h)².

Departures
    [multitype Eq. 4.11] is Newman's modularity only with half of each between-group share on either side of the diagonal; pairs inside
    a group of z people are z(z − 1)/2, so Eq. 4.12 must subtract z² − z; Eq. 4.13 must divide by 1 − 2μ. The standard error
    (delta method) is ours: the gradient of Q at a pair depends only on the two groups, so it sums in closed form.

Cost
    O(N + h); no matrix of groups is made.

>>> from sfumato.data.graph import Graph
>>> two_triangles = Graph.from_pairs([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])
>>> modularity(two_triangles, Flip.symmetric(0.0), [0, 0, 0, 1, 1, 1])
(0.5, 0.0)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.data.flip import Flip
from sfumato.data.graph import Graph
from sfumato.errors import DataError
from sfumato.randomness import Randomness

Floats = NDArray[np.float64]


def modularity(graph: Graph, flip: Flip, partition: ArrayLike) -> tuple[float, float]:
    """Recovered modularity of a given partition of the published graph, and its standard error.

    The error holds for a partition chosen without looking at this graph; one that was searched for on it looks better than it is.
    """
    groups = np.unique(np.asarray(partition), return_inverse=True)[1]
    if len(groups) != graph.nodes:
        raise DataError("the partition does not name a group for every node", hint="give one group per published node")
    low, high = graph.edges()
    same = groups[low] == groups[high]
    people = np.bincount(groups).astype(np.float64)
    edges = (graph.size - graph.pairs * flip.add) / flip.slope
    if edges <= 0:
        return math.nan, math.nan
    inside = (same.sum() - flip.add * (people * (people - 1) / 2).sum()) / flip.slope
    volume = np.bincount(groups, weights=(graph.degrees - (graph.nodes - 1) * flip.add) / flip.slope)
    value = inside / edges - (volume**2).sum() / (4 * edges**2)
    slope = _Gradient(inside, volume, edges)
    everywhere = slope.squares_everywhere(people)
    at_edges = (slope.at(groups[low], groups[high]) ** 2).sum()
    tied = (at_edges - flip.add * everywhere) / flip.slope
    gain = flip.variance_with_edge - flip.variance_without_edge
    return float(value), math.sqrt(max(flip.variance_without_edge * everywhere + gain * tied, 0.0))


class _Gradient:
    """∂Q/∂(pair) = α·[same group] + β − γ(K_g + K_h)."""

    def __init__(self, inside: float, volume: Floats, edges: float) -> None:
        self.volume = volume
        self.same = 1 / edges
        self.base = -inside / edges**2 + (volume**2).sum() / (2 * edges**3)
        self.pull = 1 / (2 * edges**2)

    def at(self, first: NDArray[Any], second: NDArray[Any]) -> Floats:
        pulled = self.base - self.pull * (self.volume[first] + self.volume[second])
        return np.asarray(pulled + self.same * (first == second))

    def squares_everywhere(self, people: Floats) -> float:
        """Σ over all pairs of people of the squared gradient, group by group."""
        half = self.base / 2 - self.pull * self.volume  # gradient between groups is half_g + half_h
        count, first, second = people.sum(), (people * half).sum(), (people * half**2).sum()
        all_pairs = count * second + first**2 - 2 * second  # Σ of (half + half)² over distinct people
        within = 2 * half
        extra = (people * (people - 1) / 2 * ((within + self.same) ** 2 - within**2)).sum()
        return float(all_pairs + extra)


def found_modularity(graph: Graph, flip: Flip) -> tuple[float, float]:
    """Recovered modularity of a split into two groups that is found here: one half of the published edges finds it, the other judges it.

    Judged on the edges that found it, a split of pure noise looks like strong communities. A half is one more flip (half of the
    edges lost, none gained), so nothing else changes. The judging half lacks the very ties that shaped the split: the figure
    errs towards zero.
    """
    half = Flip(0.5, 0.0)
    ours = Randomness(seed=0).child("halves").uniform(graph.size) < 0.5
    finding, judging = (Graph.from_codes(graph.codes[side], graph.nodes) for side in (ours, ~ours))
    return modularity(judging, flip.then(half), leading_split(finding, flip.then(half)))


def leading_split(graph: Graph, flip: Flip) -> NDArray[np.int64]:
    """Two groups by the sign of the leading eigenvector of the recovered modularity matrix [Newman 2006], flip undone."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import LinearOperator, eigsh

    if graph.nodes < 3 or graph.size == 0:
        return np.zeros(graph.nodes, dtype=np.int64)
    matrix = csr_matrix((np.ones(len(graph.neighbours)), graph.neighbours, graph.starts), shape=(graph.nodes, graph.nodes))
    degrees = (graph.degrees - (graph.nodes - 1) * flip.add) / flip.slope
    total = float(degrees.sum()) or 1.0

    def times(vector: Floats) -> Floats:
        flat = vector.ravel()
        undone = (matrix @ flat - flip.add * (flat.sum() - flat)) / flip.slope
        return np.asarray(undone - degrees * (degrees @ flat) / total)

    start = np.cos(np.arange(graph.nodes, dtype=np.float64))
    operator = LinearOperator((graph.nodes, graph.nodes), matvec=times, dtype=np.float64)
    _, vectors = eigsh(operator, k=1, which="LA", v0=start, maxiter=400, tol=1e-3)
    return (vectors[:, 0] > 0).astype(np.int64)
