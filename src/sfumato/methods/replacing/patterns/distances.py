"""The order of distances: of two pairs of values of a partition, which are farther apart.

A locality compares two gaps that share a value; here the four values are different, so that the order of distances in a whole
partition can be kept as far as one likes.

Paper
    [multitype ch. 5] names the order of distances as work to be done.

Notation
    quad    points (a, b, c, d) with d_a < d_b, d_c < d_d and d_b − d_a ≤ d_d − d_c: the first two are no farther apart

Invariants
    I1  x_b − x_a ≤ x_d − x_c is posted together with x_a ≤ x_b; then x_c ≤ x_d follows, and |x_b − x_a| ≤ |x_d − x_c|.
    I2  Every choice of four points of a partition and of one of their three pairings is as likely as any other; none comes twice.

>>> quads(np.array([0, 1, 5, 20]), np.array([0, 4]), 1, Randomness(1)).shape
(1, 4)
"""

from __future__ import annotations

from math import comb

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.randomness import Randomness

_PAIRINGS = np.array([[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]])


def possible(edges: IntArray) -> int:
    """How many quads partitions with so many points have."""
    return sum(3 * comb(int(size), 4) for size in np.diff(edges))


def quads(by_point: IntArray, edges: IntArray, count: int, chance: Randomness) -> IntArray:
    """Rows (a, b, c, d) of `count` different quads inside partitions; `by_point` are the values, ascending in each partition."""
    sizes = np.diff(edges)
    ways = np.array([comb(int(size), 4) for size in sizes], dtype=np.float64)
    ends = np.cumsum(ways) / max(ways.sum(), 1)
    drawn: set[tuple[int, ...]] = set()
    turn = 0
    while len(drawn) < count:  # I2
        source = chance.child(turn)
        home = np.minimum(np.searchsorted(ends, source.child("home").uniform(2 * count), side="right"), len(sizes) - 1)
        places = np.floor(source.child("points").uniform(8 * count).reshape(-1, 4) * sizes[home][:, None]).astype(np.int64)
        pairing = source.child("pairing").integers(3, 2 * count)
        for own, four, way in zip(home.tolist(), np.sort(places, axis=1), pairing.tolist(), strict=True):
            if len(drawn) < count and len(set(four.tolist())) == 4:
                drawn.add(tuple((edges[own] + four[_PAIRINGS[way]]).tolist()))
        turn += 1
    return _oriented(by_point, np.array(sorted(drawn), dtype=np.int64).reshape(-1, 4))


def _oriented(by_point: IntArray, pairs: IntArray) -> IntArray:
    """The nearer pair first; each pair upwards."""
    near = by_point[pairs[:, 1]] - by_point[pairs[:, 0]] <= by_point[pairs[:, 3]] - by_point[pairs[:, 2]]
    found: IntArray = np.where(near[:, None], pairs, pairs[:, [2, 3, 0, 1]])  # I1
    return found
