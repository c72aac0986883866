"""The locality properties of a column, cut into partitions: equal values tied, a share sampled, each with its order.

Paper
    [multitype §5.3, §5.5, §5.7.1]

Notation
    σ            the share of all localities of a partition that is sampled
    point        a distinct value of a partition; the records that share it move together
    locality     (i, j, k, side): points with d_i < d_j < d_k and which of the two gaps is at least as wide

Invariants
    I1  Every sampled locality comes with the order of the gap that its inequality does not imply: with `wide`
        (x_j − x_i ≥ x_k − x_j) it is x_j ≤ x_k, with `narrow` it is x_i ≤ x_j; the other order follows. So the sampled
        localities hold with absolute values, not only in their linear form.
    I2  Equal values are one point, so no locality is tight merely because two people agree.

Departures
    The printed method samples the linear forms alone; then 63 % of the sampled localities break once points pass each other. With
    σ = 1 only the localities that Rules 1 and 2 do not imply are posted, and the whole order with them.

>>> import numpy as np
>>> from sfumato.randomness import Randomness
>>> pattern = localities(np.array([3, 5, 11, 27]), np.zeros(4, int), 1.0, Randomness(1))
>>> pattern.points.tolist(), pattern.triples.tolist()
([0, 1, 2, 3], [[0, 1, 2, 0], [0, 2, 3, 0]])
>>> pattern.order.tolist()
[[0, 1], [1, 2], [2, 3]]
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray, places_within
from sfumato.randomness import Randomness


@dataclass(frozen=True, slots=True)
class KeptPattern:
    """What a column keeps: `points[record]`, sampled `triples` (i, j, k, side) and `order` pairs (lower, upper) over points."""

    points: IntArray
    triples: IntArray
    order: IntArray
    edges: IntArray
    """The first point of every partition, and the number of points."""
    home: IntArray
    """The partition of every record."""
    quads: IntArray = field(default_factory=lambda: np.empty((0, 4), np.int64))
    """Points (a, b, c, d): the first two are no farther apart than the last two."""

    def and_order(self, quads: IntArray) -> KeptPattern:
        """The pattern with an order of distances, and the order of values it needs."""
        return replace(self, quads=quads, order=np.unique(np.concatenate([self.order, quads[:, :2]]), axis=0))

    def and_also(self, triples: IntArray) -> KeptPattern:
        """The pattern with more localities, each with the order it needs."""
        order = np.unique(np.concatenate([self.order, _order(triples)]), axis=0)
        return replace(self, triples=np.concatenate([self.triples, triples]), order=order)


def localities(values: IntArray, home: IntArray, sample: float, chance: Randomness) -> KeptPattern:
    """The pattern of a column; `home` is the partition of every record, numbered without gaps."""
    points = points_of(values, home)
    by_point, partition = np.empty(points.max(initial=-1) + 1, np.float64), np.empty(points.max(initial=-1) + 1, np.int64)
    by_point[points], partition[points] = values, home
    edges = np.searchsorted(partition, np.arange(home.max(initial=-1) + 2))
    complete = sample >= 1.0
    found = [_of_partition(by_point, start, end, complete) for start, end in pairwise(edges)]
    counts = np.array([rows.shape[0] for rows in found], dtype=np.int64)
    triples = np.concatenate([np.empty((0, 4), np.int64), *found])[sampled(counts, sample, chance)]
    return KeptPattern(points, triples, _chain(edges) if complete else _order(triples), edges, home)


def points_of(values: IntArray, home: IntArray) -> IntArray:
    """The point of every record: distinct (partition, value) pairs, numbered in that order."""
    order = np.lexsort((values, home))
    fresh = np.zeros(values.size, dtype=np.int64)
    fresh[1:] = (np.diff(home[order]) != 0) | (np.diff(values[order]) != 0)
    points = np.empty(values.size, dtype=np.int64)
    points[order] = np.cumsum(fresh)  # I2
    return points


def _of_partition(by_point: NDArray[np.float64], start: int, end: int, pruned: bool) -> IntArray:
    from sfumato.methods.replacing.kernels.localities import extract

    rows: IntArray = extract(by_point[start:end], pruned)
    rows[:, :3] += start
    return rows


def sampled(counts: IntArray, share: float, chance: Randomness) -> IntArray:
    """Indices of a uniform sample of round(share · count) entries from every group of `counts` consecutive ones."""
    total = int(counts.sum())
    if share >= 1.0:
        return np.arange(total, dtype=np.int64)
    group = np.repeat(np.arange(counts.size), counts)
    order = np.lexsort((chance.words(total), group))
    rank = places_within(counts)
    wanted = np.repeat(np.floor(share * counts + 0.5).astype(np.int64), counts)
    return np.sort(order[rank < wanted])


def _chain(edges: IntArray) -> IntArray:
    """All neighbours (p − 1, p) inside the partitions that `edges` delimit."""
    upper = np.setdiff1d(np.arange(edges[-1], dtype=np.int64), edges)
    return np.column_stack([upper - 1, upper])


def _order(triples: IntArray) -> IntArray:
    """The pairs (lower, upper) that the triples need beside their inequality."""
    from sfumato.methods.replacing.kernels.localities import WIDE

    i, j, k, side = triples.T
    pairs: IntArray = np.unique(np.column_stack([np.where(side == WIDE, j, i), np.where(side == WIDE, k, j)]), axis=0)  # I1
    return pairs
