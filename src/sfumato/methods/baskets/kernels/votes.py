"""The published form of many small groups of sets: majority base, doubtful items, largest distance.

Row j of `members` names the original rows that published record j must be able to stand for.

Paper
    [multitype 3.5]: bit voting, distance bitmap, distance threshold.
Departures
    "Ties are resolved arbitrarily": here an item that exactly half of the group has is shown when that costs less bit error
    rate, which weighs each record by 1/size; where that ties too, so as to keep the number of rows that show the item close
    to the number of records that have it. Always dropping tied items biases every count downwards. `vote` may be given rates
    at which decisions are turned round, by item and cell: see `cells`.
Notation
    cell ~ 2·count + shown, the way a group of k has an item: by how many, and whether the majority shows it.
Cost
    One pass over the items of all groups: records x group size x items per record.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit

Flat = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


@jit
def _tally(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    group: NDArray[np.int32],
    count: NDArray[np.int32],
    weight: NDArray[np.float64],
    touched: NDArray[np.int32],
) -> tuple[int, float]:
    """Count and weigh the items of one group; lists those seen in `touched`, returns how many, and the group's weight."""
    kinds, total = 0, 0.0
    for row in group:
        share = 1.0 / max(1, starts[row + 1] - starts[row])
        total += share
        for place in range(starts[row], starts[row + 1]):
            item = items[place]
            if count[item] == 0:
                touched[kinds] = item
                weight[item] = 0.0
                kinds += 1
            count[item] += 1
            weight[item] += share
    return kinds, total


@jit
def _decide(
    k: int,
    touched: NDArray[np.int32],
    count: NDArray[np.int32],
    weight: NDArray[np.float64],
    total: float,
    owed: NDArray[np.float64],
    shown: NDArray[np.bool_],
) -> None:
    """Which of the items are shown; `owed` is by how many rows each item has been shown too rarely so far."""
    for item in touched:
        lead = 2 * weight[item] - total
        if 2 * count[item] != k:
            shown[item] = 2 * count[item] > k
        elif abs(lead) > 1e-9 * total:
            shown[item] = lead > 0
        else:
            shown[item] = owed[item] >= 0
        owed[item] += count[item] / k - shown[item]


@jit
def _turn_round(
    touched: NDArray[np.int32],
    count: NDArray[np.int32],
    rates: NDArray[np.float32],
    due: NDArray[np.float64],
    shown: NDArray[np.bool_],
) -> None:
    """Reverse decisions at the given rates, evenly along the groups; `due` is what each item has coming."""
    for item in touched:
        rate = rates[item, 2 * count[item] + shown[item]]
        if rate > 0:
            due[item] += rate
            if due[item] >= 1:
                due[item] -= 1
                shown[item] = not shown[item]


@jit
def cells(
    starts: NDArray[np.int64], items: NDArray[np.int32], members: NDArray[np.int32], width: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Items x cells: in how many groups the majority leaves an item there, and what reversing all of them would cost."""
    n, k = members.shape
    count, touched, weight = np.zeros(width, np.int32), np.zeros(width, np.int32), np.zeros(width, np.float64)
    shown, owed = np.zeros(width, np.bool_), np.zeros(width, np.float64)
    groups, cost = np.zeros((width, 2 * k + 2), np.int64), np.zeros((width, 2 * k + 2), np.float64)
    for j in range(n):
        kinds, total = _tally(starts, items, members[j], count, weight, touched)
        _decide(k, touched[:kinds], count, weight, total, owed, shown)
        for item in touched[:kinds]:
            cell = 2 * count[item] + shown[item]
            groups[item, cell] += 1
            cost[item, cell] += abs(2 * weight[item] - total) / k
            count[item] = 0
    return groups, cost


@jit
def vote(
    starts: NDArray[np.int64], items: NDArray[np.int32], members: NDArray[np.int32], width: int, rates: NDArray[np.float32]
) -> Flat:
    """Boundaries and items of base and doubt, the thresholds, and each group's distance to each member.

    `rates` has items x cells, or no rows where the majority decides everything.
    """
    n, k = members.shape
    count, touched, weight = np.zeros(width, np.int32), np.zeros(width, np.int32), np.zeros(width, np.float64)
    shown, owed, due = np.zeros(width, np.bool_), np.zeros(width, np.float64), np.full(width, 0.5)
    base_starts, doubt_starts = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for j in range(n):
        kinds, total = _tally(starts, items, members[j], count, weight, touched)
        _decide(k, touched[:kinds], count, weight, total, owed, shown)
        if len(rates):
            _turn_round(touched[:kinds], count, rates, due, shown)
        base_starts[j + 1], doubt_starts[j + 1] = base_starts[j], doubt_starts[j]
        for item in touched[:kinds]:
            base_starts[j + 1] += shown[item]
            doubt_starts[j + 1] += count[item] < k
            count[item] = 0
    base, doubt = np.empty(base_starts[n], np.int32), np.empty(doubt_starts[n], np.int32)
    threshold, distance = np.zeros(n, np.int64), np.zeros(n * k, np.int64)
    owed[:], due[:] = 0.0, 0.5
    for j in range(n):
        kinds, total = _tally(starts, items, members[j], count, weight, touched)
        _decide(k, touched[:kinds], count, weight, total, owed, shown)
        if len(rates):
            _turn_round(touched[:kinds], count, rates, due, shown)
        touched[:kinds].sort()
        at_base, at_doubt = base_starts[j], doubt_starts[j]
        for item in touched[:kinds]:
            if shown[item]:
                base[at_base] = item
                at_base += 1
            if count[item] < k:
                doubt[at_doubt] = item
                at_doubt += 1
        for m in range(k):
            row = members[j, m]
            apart = at_base - base_starts[j] + starts[row + 1] - starts[row]
            for place in range(starts[row], starts[row + 1]):
                apart -= 2 * shown[items[place]]
            distance[j * k + m] = apart
            threshold[j] = max(threshold[j], apart)
        for item in touched[:kinds]:
            count[item] = 0
    return base_starts, base, doubt_starts, doubt, threshold, distance


def plain_vote(
    bits: NDArray[np.bool_], members: NDArray[np.int32], rates: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.bool_], ...]:
    """The same on a dense 0/1 matrix: base, doubt, distances (records x group size)."""
    groups, k = bits[members], members.shape[1]
    count = groups.sum(axis=1)
    share = 1.0 / np.maximum(groups.sum(axis=2), 1)
    lead = 2 * np.einsum("jm,jmi->ji", share, groups) - share.sum(axis=1, keepdims=True)
    base, owed = 2 * count > k, np.zeros(bits.shape[1])
    for j in range(len(members)):
        tied = 2 * count[j] == k
        even = np.abs(lead[j]) <= 1e-9 * share[j].sum()
        base[j] = np.where(tied, np.where(even, owed >= 0, lead[j] > 0), base[j])
        owed += count[j] / k - base[j]
    if rates is not None:
        due = np.full(bits.shape[1], 0.5)
        for j in range(len(members)):
            due += np.where(count[j] > 0, rates[np.arange(len(due)), 2 * count[j] + base[j]], 0)
            base[j] ^= due >= 1
            due -= due >= 1
    distance = (groups != base[:, None, :]).sum(axis=2)
    return base, (count > 0) & (count < k), distance
