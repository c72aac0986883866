"""Distances of all pairs of a piece of records, counted along the items: what two sparse rows share is found without looking at
anything they do not have.

Notation
    rows[first[i]:fill[i]] ~ the rows seen so far that have item i, ascending.
Cost
    One step for every item that two rows have in common, and one for every pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit


@jit
def relative_distances(starts: NDArray[np.int64], items: NDArray[np.int32], width: int) -> NDArray[np.float32]:
    """Items in exactly one of two rows over the sum of their sizes (an empty row counts as one item), for every pair."""
    count = len(starts) - 1
    first = np.zeros(width + 1, np.int64)
    for item in items:
        first[item + 1] += 1
    for item in range(width):
        first[item + 1] += first[item]
    fill, rows = first.copy(), np.zeros(len(items), np.int64)
    common, far = np.zeros(count, np.int64), np.zeros((count, count), np.float32)
    for a in range(count):
        common[:a] = 0
        for place in range(starts[a], starts[a + 1]):
            item = items[place]
            for at in range(first[item], fill[item]):
                common[rows[at]] += 1
            rows[fill[item]] = a
            fill[item] += 1
        mine = starts[a + 1] - starts[a]
        for b in range(a):
            other = starts[b + 1] - starts[b]
            apart = np.float32(mine + other - 2 * common[b]) / np.float32(max(mine, 1) + max(other, 1))
            far[a, b] = apart
            far[b, a] = apart
    return far
