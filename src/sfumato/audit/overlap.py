"""What published baskets alone rule out: two rows whose possible worlds have no set in common never stand for the same person.

The person behind a row is one of its worlds, so the rows compatible with that person are among those that overlap the row. If
they are too few, or show too few labels, a promise is broken whoever the people are; if not, nothing is proven without the
original records.

Notation
    sure, maybe, out ~ items of the base that are not in doubt, items of the base in doubt, doubtful items outside the base.
    Where two bases differ, one of the two rows must give way: this one where only its item is in doubt, the other where only
    the other's is, either where both are, neither means no common world. Overlap: each gives way at most as often as its
    threshold says, and both together often enough.
Cost
    Rows looked at x all rows, in blocks of bounded memory.

>>> worlds = PublishedBaskets.of([["a"], ["a", "b"], ["c"]], [["b"], [], []], [1, 0, 0])
>>> overlaps(worlds, np.array([0, 2])).toarray().tolist()
[[True, True, False], [False, False, True]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.worlds import PublishedBaskets

_ENTRIES = 4_000_000
_BITS = 20


def overlaps(worlds: PublishedBaskets, rows: NDArray[np.int64]) -> Any:
    """Sparse matrix, the given rows x all rows: true where they have a possible world in common."""
    from scipy.sparse import csr_matrix, vstack

    sure, maybe, out = _kinds_of_item(worlds)
    weights = (sure + maybe * (1 << _BITS) + out * (1 << 2 * _BITS)).T.tocsr()
    sizes = [np.asarray(kind.sum(axis=1), dtype=np.int64).reshape(-1) for kind in (sure, maybe)]
    step = max(1, _ENTRIES // max(len(worlds), 1))
    blocks = []
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        common = [_fields((kind[some] @ weights).toarray()) for kind in (sure, maybe, out)]
        blocks.append(csr_matrix(_meet(common, [size[some] for size in sizes], sizes, worlds.threshold[some], worlds.threshold)))
    return vstack(blocks).tocsr()


def _kinds_of_item(worlds: PublishedBaskets) -> tuple[Any, Any, Any]:
    base, doubt = worlds.base.matrix().astype(np.int64), worlds.doubt.matrix().astype(np.int64)
    both = base.multiply(doubt).tocsr()
    return (base - both).tocsr(), both, (doubt - both).tocsr()


def _fields(total: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    mask = (1 << _BITS) - 1
    return [total & mask, total >> _BITS & mask, total >> 2 * _BITS]


def _meet(
    common: list[list[NDArray[np.int64]]],
    mine: list[NDArray[np.int64]],
    theirs: list[NDArray[np.int64]],
    threshold: NDArray[np.int64],
    thresholds: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """`common[p][q]`: items that are of kind p here and of kind q there (sure, maybe, out)."""
    (ss, sm, so), (ms, mm, mo), (os, om, _) = common
    torn = mine[0][:, None] - ss - sm - so + theirs[0][None, :] - ss - ms - os
    here = mine[1][:, None] - ms - mm - mo + os
    there = theirs[1][None, :] - sm - mm - om + so
    room = threshold[:, None] + thresholds[None, :]
    fits = (torn == 0) & (here <= threshold[:, None]) & (there <= thresholds[None, :]) & (here + there + mo + om <= room)
    return np.asarray(fits, dtype=bool)
