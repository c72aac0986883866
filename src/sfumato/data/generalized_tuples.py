"""Which boxes meet, and which contain which: the one geometric question behind every join of releases.

Boxes are sorted by the columns in which both sides are single leaves, where meeting means being equal; only pairs that
agree there are compared in the other columns.

Cost: output-sensitive when releases publish leaves; pairs are expanded in slices of bounded size, so memory stays flat.

>>> import numpy as np
>>> leaves, broad = np.array([[0], [1], [2]]), np.array([[0], [2]])
>>> [pair.tolist() for pair in intersecting_pairs(leaves, leaves + 1, broad, np.array([[2], [3]]))]
[[0, 1, 2], [0, 0, 1]]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.core.arrays import IntArray, positions_in_runs
from sfumato.data.equivalence_classes import equivalence_classes_of

_SLICE = 2_000_000


def intersecting_pairs(lo: IntArray, hi: IntArray, other_lo: IntArray, other_hi: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (i, j) of boxes that intersect in every column, sorted."""
    return _pairs(lo, hi, other_lo, other_hi, contain=False)


def containing_pairs(lo: IntArray, hi: IntArray, other_lo: IntArray, other_hi: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (i, j) where box i lies inside box j, sorted."""
    return _pairs(lo, hi, other_lo, other_hi, contain=True)


def _pairs(
    lo: IntArray, hi: IntArray, other_lo: IntArray, other_hi: IntArray, *, contain: bool
) -> tuple[IntArray, IntArray]:
    found: list[tuple[IntArray, IntArray]] = []
    for mine, single in _patterns(lo, hi):
        for theirs, other_single in _patterns(other_lo, other_hi):
            exact = np.flatnonzero(single & other_single)
            rest = np.flatnonzero(~(single & other_single))
            for i, j in _agreeing(lo[mine][:, exact], other_lo[theirs][:, exact]):
                i, j = mine[i], theirs[j]
                for m in rest:
                    a, b, c, d = lo[i, m], hi[i, m], other_lo[j, m], other_hi[j, m]
                    keep = (c <= a) & (b <= d) if contain else (a < d) & (c < b)
                    i, j = i[keep], j[keep]
                found.append((i, j))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    i, j = np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])
    order = np.lexsort((j, i))
    return i[order], j[order]


def _patterns(lo: IntArray, hi: IntArray) -> Iterator[tuple[IntArray, np.ndarray]]:
    """Rows by the set of columns in which they are single leaves."""
    single = (hi - lo) == 1
    classes = equivalence_classes_of([single[:, m].astype(np.int64) for m in range(lo.shape[1])], rows=len(lo))
    for number, first in enumerate(classes.first):
        yield np.flatnonzero(classes.of == number), single[first]


def _agreeing(mine: IntArray, theirs: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of rows with equal leaves, in slices."""
    both = np.concatenate([mine, theirs])
    classes = equivalence_classes_of([both[:, m] for m in range(both.shape[1])], rows=len(both))
    of, other = classes.of[: len(mine)], classes.of[len(mine) :]
    order = np.argsort(other, kind="stable")
    start = np.searchsorted(other[order], np.arange(len(classes) + 1))
    width = (start[1:] - start[:-1])[of]
    for rows in _slices(width):
        i = np.repeat(rows, width[rows])
        offset = positions_in_runs(width[rows])
        yield i, order[np.repeat(start[of[rows]], width[rows]) + offset]


def _slices(width: IntArray) -> Iterator[IntArray]:
    """Runs of rows whose pairs together fit into one slice (a single wide row is a slice of its own)."""
    rows = np.flatnonzero(width)
    if not len(rows):
        return
    number = (np.cumsum(width[rows]) - 1) // _SLICE
    for part in np.unique(number):
        yield rows[number == part]
