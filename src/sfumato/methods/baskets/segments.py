"""The Gray-TSP order: the Gray order cut where neighbours are close, each piece replaced by a shorter path.

Paper
    [multitype 3.6.1, Eq. 3.1].
Notation
    near[j] ~ H(r_j, r_{j+1}) along the Gray order, [smallest, largest] ~ [m, M].
Departures
    Eq. 3.1 leaves H(r_0, r_1) open: it is 0. A cut into pieces of m … M records may not exist (400 records, [300, 350]);
    then the fewest pieces of nearly equal size are used.
Cost
    Cutting O((M − m) n); each piece O(M²) distances.

>>> cut_points(np.array([5, 1, 5, 1, 5]), 6, 2, 3)
[0, 2, 4, 6]
>>> cut_points(np.ones(399), 400, 300, 350)
[0, 200, 400]
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.methods.baskets.distances import hamming_matrix
from sfumato.methods.baskets.gray import gray_order

SMALLEST, LARGEST = 300, 350


def gray_tsp_order(
    sets: Sets, smallest: int = SMALLEST, largest: int = LARGEST, columns: NDArray[np.int64] | None = None
) -> IntArray:
    """The records in Gray-TSP order."""
    from sfumato.methods.baskets.kernels.tours import shorten

    order = gray_order(sets, columns)
    sorted_sets = sets.take(order)
    near = sorted_sets.take(np.arange(len(sets) - 1)).hamming(sorted_sets.take(np.arange(1, len(sets))))
    bounds = cut_points(near, len(sets), smallest, largest)
    for begin, end in pairwise(bounds):
        path = np.arange(end - begin, dtype=np.int64)
        shorten(hamming_matrix(sorted_sets.take(np.arange(begin, end))), path)
        order[begin:end] = order[begin:end][path]
    return order


def cut_points(near: NDArray[np.int64], count: int, smallest: int, largest: int) -> list[int]:
    """Where the pieces begin and end so that the distances across the cuts sum to the least [multitype Eq. 3.1]."""
    across = np.concatenate([[0], near])
    best = np.full(count + 1, np.inf)
    best[0], before = 0.0, np.zeros(count + 1, dtype=np.int64)
    for i in range(smallest, count + 1):
        low = max(0, i - largest)
        costs = best[low : i - smallest + 1] + across[low : i - smallest + 1]
        choice = int(np.argmin(costs))
        best[i], before[i] = costs[choice], low + choice
    if not np.isfinite(best[count]):
        return _even_cuts(count, largest)
    points = [count]
    while points[-1] > 0:
        points.append(int(before[points[-1]]))
    return points[::-1]


def _even_cuts(count: int, largest: int) -> list[int]:
    pieces = math.ceil(count / largest)
    return [round(piece * count / pieces) for piece in range(pieces + 1)]
