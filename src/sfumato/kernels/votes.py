"""The published form of many small groups of sets: majority base, doubtful items, largest distance.

Row j of `members` names the original rows that published record j must be able to stand for.

Paper
    [multitype 3.5]: bit voting, distance bitmap, distance threshold.
Departures
    "Ties are resolved arbitrarily": here an item present in exactly half of the group is left out.
Cost
    One pass over the items of all groups: records x group size x items per record.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import jit

Flat = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


@jit
def _tally(starts: NDArray[np.int64], items: NDArray[np.int32], group: NDArray[np.int32], count: NDArray[np.int32],
           touched: NDArray[np.int32]) -> int:
    """Count the items of one group; lists the items seen in `touched` and returns how many there are."""
    kinds = 0
    for row in group:
        for place in range(starts[row], starts[row + 1]):
            item = items[place]
            if count[item] == 0:
                touched[kinds] = item
                kinds += 1
            count[item] += 1
    return kinds


@jit
def vote(starts: NDArray[np.int64], items: NDArray[np.int32], members: NDArray[np.int32], width: int) -> Flat:
    """Boundaries and items of base and doubt, the thresholds, and each group's distance to each member."""
    n, k = members.shape
    count, touched = np.zeros(width, np.int32), np.zeros(width, np.int32)
    base_starts, doubt_starts = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for j in range(n):
        kinds = _tally(starts, items, members[j], count, touched)
        base_starts[j + 1], doubt_starts[j + 1] = base_starts[j], doubt_starts[j]
        for item in touched[:kinds]:
            base_starts[j + 1] += 2 * count[item] > k
            doubt_starts[j + 1] += count[item] < k
            count[item] = 0
    base, doubt = np.empty(base_starts[n], np.int32), np.empty(doubt_starts[n], np.int32)
    threshold, distance = np.zeros(n, np.int64), np.zeros(n * k, np.int64)
    for j in range(n):
        kinds = _tally(starts, items, members[j], count, touched)
        touched[:kinds].sort()
        at_base, at_doubt = base_starts[j], doubt_starts[j]
        for item in touched[:kinds]:
            if 2 * count[item] > k:
                base[at_base] = item
                at_base += 1
            if count[item] < k:
                doubt[at_doubt] = item
                at_doubt += 1
        size = at_base - base_starts[j]
        for m in range(k):
            row = members[j, m]
            apart = size + starts[row + 1] - starts[row]
            for place in range(starts[row], starts[row + 1]):
                apart -= 2 * (2 * count[items[place]] > k)
            distance[j * k + m] = apart
            threshold[j] = max(threshold[j], apart)
        for item in touched[:kinds]:
            count[item] = 0
    return base_starts, base, doubt_starts, doubt, threshold, distance


def plain_vote(bits: NDArray[np.bool_], members: NDArray[np.int32]) -> tuple[NDArray[np.bool_], ...]:
    """The same on a dense 0/1 matrix: base, doubt, distances (records x group size)."""
    groups = bits[members]
    count = groups.sum(axis=1)
    base = 2 * count > members.shape[1]
    distance = (groups != base[:, None, :]).sum(axis=2)
    return base, (count > 0) & (count < members.shape[1]), distance
