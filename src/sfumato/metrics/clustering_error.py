"""Clustering error: the share of records that k-means puts into another cluster because of the release.

Paper
    [multitype §5.7.2]: CE = 1/(2n) Σ_i (|C_i ∪ C'_i| − |C_i ∩ C'_i|).

Departures
    The text does not say which cluster of the release answers to which of the original: the assignment that makes the error least
    is used. Both clusterings start from the same records, so that the error is the release's and not that of two random starts.

>>> import numpy as np
>>> mismatch(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
0.25
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.metrics._replaced import PairedMetric, paired
from sfumato.release.exhibit import Exhibit

_MOST_ROUNDS = 60


class ClusteringError(PairedMetric):
    """Share of records in another k-means cluster than before."""

    name: ClassVar[str] = "clustering_error"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "multitype §5.7.2"

    def measure(self, exhibit: Exhibit) -> float:
        before, after = paired(exhibit)
        clusters = int(exhibit.parameters.get("clusters", 5))
        return clustering_error(before, after, min(clusters, len(before)))


def clustering_error(before: FloatArray, after: FloatArray, clusters: int, seed: int = 0) -> float:
    """The error with columns scaled to the spread of the original."""
    if not before.size:
        return 0.0
    spread = np.ptp(before, axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    before, after = before / scale, after / scale
    starts = spread_starts(before, clusters, np.random.default_rng(seed))
    return mismatch(kmeans(before, starts), kmeans(after, starts), clusters)


def mismatch(one: IntArray, other: IntArray, clusters: int) -> float:
    """Share of records outside the best assignment of clusters to clusters."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((clusters, clusters))
    np.add.at(shared, (one, other), 1)
    rows, columns = linear_sum_assignment(-shared)
    return float(1 - shared[rows, columns].sum() / max(1, one.size))


def spread_starts(points: FloatArray, clusters: int, rng: np.random.Generator) -> IntArray:
    """Records far apart: each next one with probability in proportion to its squared distance from those chosen."""
    chosen = [int(rng.integers(len(points)))]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < clusters:
        total = nearest.sum()
        chosen.append(int(rng.choice(len(points), p=nearest / total)) if total > 0 else int(rng.integers(len(points))))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.int64)


def kmeans(points: FloatArray, starts: IntArray) -> NDArray[np.int64]:
    """The cluster of every point by Lloyd's iteration from the given records."""
    centres, label = points[starts].copy(), np.full(len(points), -1, np.int64)
    for _ in range(_MOST_ROUNDS):
        distance = (centres**2).sum(axis=1) - 2 * points @ centres.T
        fresh = distance.argmin(axis=1)
        if (fresh == label).all():
            break
        label = fresh
        for cluster in np.unique(label):
            centres[cluster] = points[label == cluster].mean(axis=0)
    return label
