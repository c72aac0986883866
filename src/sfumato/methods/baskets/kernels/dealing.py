"""Dealing the items of a block to its rows: each item to as many rows as members have it, row sizes as even as can be.

Invariants
    I1  Item by item, as many rows have it as members do.
    I2  Looks at how many members have each item, never at which: any permutation of the members gives the same rows.
Cost
    One pass over the items of all blocks, times the size of a block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit

Dealt = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


@jit
def _tally(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    group: NDArray[np.int32],
    count: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> int:
    """Count the items of one block; lists those seen in `touched`, ascending, and returns how many."""
    kinds = 0
    for row in group:
        for place in range(starts[row], starts[row + 1]):
            item = items[place]
            if count[item] == 0:
                touched[kinds] = item
                kinds += 1
            count[item] += 1
    touched[:kinds].sort()
    return kinds


@jit
def _hand_out(copies: int, turn: int, sizes: NDArray[np.int64], taken: NDArray[np.bool_]) -> None:
    """Mark the `copies` rows with the fewest items so far; among equals the next in turn."""
    taken[:] = False
    for _ in range(copies):
        best = -1
        for step in range(len(sizes)):
            row = (turn + step) % len(sizes)
            if not taken[row] and (best < 0 or sizes[row] < sizes[best]):
                best = row
        taken[best] = True
    for row in range(len(sizes)):
        sizes[row] += taken[row]


@jit
def deal(starts: NDArray[np.int64], items: NDArray[np.int32], members: NDArray[np.int32], width: int) -> Dealt:
    """Boundaries and items of the rows (block by block) and of the doubtful items (one set per block), and the thresholds."""
    blocks, k = members.shape
    count, touched = np.zeros(width, np.int32), np.zeros(width, np.int32)
    base_starts, doubt_starts = np.zeros(blocks * k + 1, np.int64), np.zeros(blocks + 1, np.int64)
    threshold = np.zeros(blocks, np.int64)
    total = 0
    for b in range(blocks):
        for row in members[b]:
            total += starts[row + 1] - starts[row]
    base, doubt = np.empty(total, np.int32), np.empty(total, np.int32)
    sizes, taken = np.zeros(k, np.int64), np.zeros(k, np.bool_)
    at = 0
    for b in range(blocks):
        kinds = _tally(starts, items, members[b], count, touched)
        table = np.zeros((kinds, k), np.bool_)
        sizes[:], at_doubt, sure = 0, doubt_starts[b], 0
        for index in range(kinds):
            item = touched[index]
            _hand_out(count[item], (7 * index + item) % k, sizes, taken)  # I1, I2
            table[index] = taken
            sure += count[item] == k
            if count[item] < k:
                doubt[at_doubt] = item
                at_doubt += 1
            count[item] = 0
        doubt_starts[b + 1] = at_doubt
        largest = 0
        for m in range(k):
            for index in range(kinds):
                if table[index, m]:
                    base[at] = touched[index]
                    at += 1
            base_starts[b * k + m + 1] = at
            largest = max(largest, starts[members[b, m] + 1] - starts[members[b, m]])
        threshold[b] = min(doubt_starts[b + 1] - doubt_starts[b], largest + sizes.max() - 2 * sure)
    return base_starts, base, doubt_starts, doubt[: doubt_starts[blocks]].copy(), threshold


def plain_deal(sets: list[set[int]]) -> tuple[list[set[int]], set[int]]:
    """One block, plainly: the rows and the doubtful items."""
    rows: list[set[int]] = [set() for _ in sets]
    present = sorted(set().union(*sets))
    for index, item in enumerate(present):
        copies, turn = sum(item in one for one in sets), (7 * index + item) % len(sets)
        ranked = sorted(range(len(rows)), key=lambda row: (len(rows[row]), (row - turn) % len(rows)))
        for row in ranked[:copies]:
            rows[row].add(item)
    return rows, {item for item in present if sum(item in one for one in sets) < len(sets)}
