"""Localities between partitions: a uniform sample of the triples whose values lie in three partitions, or in two or three.

Paper
    [multitype §5.5], cross-partitions properties

Notation
    triple       points (i, j, k) with d_i < d_j < d_k in three different partitions; j is its middle. Where partitions are classes
                 of a column (`loose`) two are enough: a school may have no more
    rank         a triple's number when all are listed by middle, then by i, then by k

Invariants
    I1  Every triple has one rank, so different ranks drawn uniformly are different triples drawn uniformly.
    I2  Points of a partition are numbered upwards in value, as `points_of` does.

Departures
    The paper leaves the choice of such properties to the owner; here their number is given and chance chooses. Both gaps equal is
    `narrow`, as inside partitions.

Cost
    O(n log n) to count, O(n) for every triple drawn.

>>> import numpy as np
>>> from sfumato.methods.replacing.patterns.localities import localities
>>> values = np.array([0, 9, 4])
>>> crossing(localities(values, np.arange(3), 1.0, Randomness(1)), values, 5, Randomness(1)).tolist()      # 4 − 0 ≤ 9 − 4
[[0, 2, 1, 0]]
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.errors import DataError
from sfumato.methods.replacing.patterns.localities import KeptPattern
from sfumato.randomness import Randomness

LARGEST = 1 << 62
"""The most triples whose ranks fit a word."""


def crossing(inside: KeptPattern, values: IntArray, count: int, chance: Randomness, *, loose: bool = False) -> IntArray:
    """Rows (i, j, k, side) of `count` different localities between the partitions of `inside`, or of all when there are fewer."""
    from sfumato.methods.replacing.kernels.localities import NARROW, WIDE

    by_point = np.empty(int(inside.edges[-1]) if values.size else 0, np.int64)
    by_point[inside.points] = values
    home = np.repeat(np.arange(inside.edges.size - 1), np.diff(inside.edges))
    ends = np.cumsum(middles(by_point, home, inside.edges, loose=loose))
    ranks = _ranks(int(ends[-1]) if ends.size else 0, count, chance)
    middle = np.searchsorted(ends, ranks, side="right")
    before = np.concatenate([[0], ends])[middle]
    found = [_triple(by_point, home, int(j), int(left), loose) for j, left in zip(middle, ranks - before, strict=True)]
    i, j, k = np.array(found, dtype=np.int64).reshape(-1, 3).T
    side = np.where(by_point[j] - by_point[i] <= by_point[k] - by_point[j], NARROW, WIDE)
    return np.column_stack([i, j, k, side]).astype(np.int64)


def middles(by_point: IntArray, home: IntArray, edges: IntArray, *, loose: bool = False) -> IntArray:
    """For every point, how many triples it is the middle of."""
    ranked = np.sort(by_point)
    below = np.searchsorted(ranked, by_point, side="left")
    above = by_point.size - np.searchsorted(ranked, by_point, side="right")
    own_below = np.arange(by_point.size) - edges[home]  # I2
    own_above = edges[home + 1] - 1 - np.arange(by_point.size)
    paired = _around(by_point, own_below, own_above) - own_below * own_above
    apart = (below - own_below) * (above - own_above) - paired
    found: IntArray = below * above - own_below * own_above if loose else apart
    if float(found.sum(dtype=np.float64)) >= LARGEST:
        raise DataError("the column has too many different values for localities across partitions")
    return found


def _around(by_point: IntArray, own_below: IntArray, own_above: IntArray) -> IntArray:
    """For every point, the pairs of one partition with a smaller and a larger value, over all partitions.

    Upwards through the values, a point that is reached stops being a partner of those below it in its partition; once it is
    passed, it is one for those above.
    """
    order = np.argsort(by_point, kind="stable")
    ranked = by_point[order]
    reached, passed = np.cumsum(own_below[order]), np.cumsum(own_above[order])
    last = np.searchsorted(ranked, by_point, side="right") - 1
    first = np.searchsorted(ranked, by_point, side="left")
    found: IntArray = np.concatenate([[0], passed])[first] - reached[last]
    return found


def _ranks(total: int, count: int, chance: Randomness) -> IntArray:
    """The first `count` different ones of a stream of uniform ranks, sorted; all ranks when there are no more."""
    if total <= count:
        return np.arange(total, dtype=np.int64)
    drawn = np.empty(0, np.int64)
    while drawn.size < count:
        drawn = np.concatenate([drawn, chance.integers(total, 2 * count)])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]  # I1
    return np.sort(drawn[:count])


def _triple(by_point: IntArray, home: IntArray, j: int, left: int, loose: bool) -> tuple[int, int, int]:
    """The triple with middle j that has `left` others of that middle before it."""
    elsewhere = loose | (home != home[j])
    lower = np.flatnonzero(elsewhere & (by_point < by_point[j]))
    upper = np.flatnonzero(elsewhere & (by_point > by_point[j]))
    banned = np.bincount(home[upper], minlength=int(home[-1]) + 1)[home[lower]]
    partners = upper.size - (np.where(home[lower] == home[j], banned, 0) if loose else banned)
    ends = np.cumsum(partners)
    place = int(np.searchsorted(ends, left, side="right"))
    i = int(lower[place])
    allowed = upper if loose and home[i] != home[j] else upper[home[upper] != home[i]]
    return i, j, int(allowed[left - int(ends[place] - partners[place])])
