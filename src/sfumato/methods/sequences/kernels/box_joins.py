"""Which boxes of two lists of classes meet or contain each other, column by column.

Twin: `sfumato.data.boxes` does the same for whole tables at once.

Cost: boxes are sorted into blocks by one leading column; a block that cannot meet is skipped.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray


@jit
def meets(lo: IntArray, hi: IntArray, a_lo: IntArray, a_hi: IntArray) -> bool:
    """Do two boxes intersect in every column?"""
    for m in range(len(lo)):  # noqa: SIM110 - the compiler wants the loop
        if lo[m] >= a_hi[m] or a_lo[m] >= hi[m]:
            return False
    return True


@jit
def inside(lo: IntArray, hi: IntArray, a_lo: IntArray, a_hi: IntArray) -> bool:
    """Does the first box lie inside the second?"""
    for m in range(len(lo)):  # noqa: SIM110 - the compiler wants the loop
        if lo[m] < a_lo[m] or a_hi[m] < hi[m]:
            return False
    return True


@jit
def box_pairs(
    lo: IntArray, hi: IntArray, c_lo: IntArray, c_hi: IntArray, lead: int, block: IntArray, contain: bool
) -> tuple[IntArray, IntArray]:
    """Rows of the boxes c that meet (or, with `contain`, contain) each box; c is sorted into blocks by its interval in `lead`."""
    start = np.zeros(len(lo) + 1, np.int64)
    found = np.empty(max(64, 2 * len(lo)), np.int64)
    total = 0
    for q in range(len(lo)):
        for b in range(len(block) - 1):
            first = block[b]
            if lead >= 0 and contain and (lo[q, lead] < c_lo[first, lead] or c_hi[first, lead] < hi[q, lead]):
                continue
            if lead >= 0 and not contain and (lo[q, lead] >= c_hi[first, lead] or c_lo[first, lead] >= hi[q, lead]):
                continue
            for c in range(first, block[b + 1]):
                if inside(lo[q], hi[q], c_lo[c], c_hi[c]) if contain else meets(lo[q], hi[q], c_lo[c], c_hi[c]):
                    if total == len(found):
                        found = np.concatenate((found, np.empty(len(found), np.int64)))
                    found[total] = c
                    total += 1
        start[q + 1] = total
    return start, found[:total].copy()
