"""The best groups of consecutive numbers: a shortest path through the sorted values.

Every group of an optimal solution for one column is a run of the sorted values with at least k and fewer than 2k of them; the
squared distances from the mean of a run follow from running sums.

Paper: Hansen, Mukherjee (2003).
Cost: records × k.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import FloatArray, IntArray

_FAR = 1e300


@jit
def best_runs(values: FloatArray, fewest: int) -> IntArray:
    """For each of the sorted values the number of its group; at least `fewest` values."""
    many = len(values)
    first = np.zeros(many + 1, dtype=np.float64)
    second = np.zeros(many + 1, dtype=np.float64)
    for place in range(many):
        first[place + 1] = first[place] + values[place]
        second[place + 1] = second[place] + values[place] * values[place]
    best = np.full(many + 1, _FAR, dtype=np.float64)
    back = np.zeros(many + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(fewest, many + 1):
        for size in range(fewest, min(2 * fewest - 1, end) + 1):
            begin = end - size
            total = first[end] - first[begin]
            cost = best[begin] + (second[end] - second[begin]) - total * total / size
            if cost < best[end]:
                best[end] = cost
                back[end] = begin
    of = np.zeros(many, dtype=np.int64)
    end = many
    number = 0
    while end > 0:
        for place in range(back[end], end):
            of[place] = number
        number += 1
        end = back[end]
    return of


def plain_best_runs(values: FloatArray, fewest: int) -> IntArray:
    """The same by trying all sizes of the last run, again and again."""
    from functools import cache

    @cache
    def best(end: int) -> tuple[float, tuple[int, ...]]:
        if end == 0:
            return 0.0, ()
        found = [(_FAR, ())]
        for begin in range(max(0, end - 2 * fewest + 1), end - fewest + 1):
            before, cuts = best(begin)
            if before < _FAR:
                run = values[begin:end]
                found.append((before + float(((run - run.mean()) ** 2).sum()), (*cuts, begin)))  # type: ignore[arg-type]
        return min(found)

    cuts = best(len(values))[1]
    return np.searchsorted(np.array(cuts), np.arange(len(values)), side="right") - 1
