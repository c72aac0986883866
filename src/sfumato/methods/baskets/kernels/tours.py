"""A short path through a stretch of records with both ends fixed: reversals and relocations until nothing helps.

Paper
    [multitype 3.6.1]: a heuristic for the travelling salesman inside each segment of the Gray order.
Departures
    The thesis uses a genetic algorithm; exchanging two edges (2-opt) and moving up to three records (Or-opt) is faster and
    finds shorter paths.
Cost
    O(m²) per round for m records; a handful of rounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray


@jit
def _reversals(far: NDArray[np.int32], path: IntArray) -> int:
    """Reverse inner stretches whenever that shortens the path; returns what was saved."""
    saved = 0
    for i in range(len(path) - 3):
        for j in range(i + 2, len(path) - 1):
            before = far[path[i], path[i + 1]] + far[path[j], path[j + 1]]
            after = far[path[i], path[j]] + far[path[i + 1], path[j + 1]]
            if after < before:
                path[i + 1 : j + 1] = path[i + 1 : j + 1][::-1].copy()
                saved += before - after
    return saved


@jit
def _relocations(far: NDArray[np.int32], path: IntArray, block: int) -> int:
    """Move inner blocks of `block` records, either way round, whenever that shortens the path; returns what was saved."""
    saved, size = 0, len(path)
    for i in range(1, size - block):
        first, last = path[i], path[i + block - 1]
        out = far[path[i - 1], first] + far[last, path[i + block]] - far[path[i - 1], path[i + block]]
        gain, where, turn = 0, -1, False
        for j in range(size - 1):
            if i - 1 <= j < i + block:
                continue
            base = far[path[j], path[j + 1]]
            ahead = out + base - far[path[j], first] - far[last, path[j + 1]]
            back = out + base - far[path[j], last] - far[first, path[j + 1]]
            if ahead > gain:
                gain, where, turn = ahead, j, False
            if back > gain:
                gain, where, turn = back, j, True
        if where < 0:
            continue
        saved += gain
        moved = path[i : i + block].copy()
        if turn:
            moved = moved[::-1].copy()
        if where > i:
            path[i : where - block + 1] = path[i + block : where + 1].copy()
            path[where - block + 1 : where + 1] = moved
        else:
            path[where + 1 + block : i + block] = path[where + 1 : i].copy()
            path[where + 1 : where + 1 + block] = moved
    return saved


@jit
def shorten(far: NDArray[np.int32], path: IntArray) -> int:
    """Improve `path` in place, ends fixed; returns how much shorter it became."""
    total = 0
    while True:
        saved = _reversals(far, path)
        for block in range(1, 4):
            if len(path) > block + 1:
                saved += _relocations(far, path, block)
        total += saved
        if saved == 0:
            return total
