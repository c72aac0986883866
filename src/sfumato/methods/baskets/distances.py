"""Hamming distances between all rows of a short stretch of records.

Common items are counted by a matrix product: dense when the stretch uses few different items, sparse otherwise.

>>> from sfumato.data.sets import Sets
>>> hamming_matrix(Sets.of([[0, 1], [1], [2]], width=3)).tolist()
[[0, 1, 3], [1, 0, 2], [3, 2, 0]]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.sets import Sets

_DENSE_BELOW = 600
_SPARSE_BELOW = 8
"""Rows that have less than one in so many of the items are compared along their items."""


def hamming_matrix(sets: Sets) -> NDArray[np.int32]:
    """Entry (a, b): how many items are in exactly one of the rows a and b."""
    sizes = sets.sizes.astype(np.int32)
    return sizes[:, None] + sizes[None, :] - 2 * _common(sets)


def relative_matrix(sets: Sets) -> NDArray[np.float32]:
    """Hamming distance over the sum of the sizes (Dice's dissimilarity), 0 for equal rows and 1 for disjoint ones.

    Sparse rows are compared along their items, dense ones by a product of matrices; the figures are the same.
    """
    small = _compact(sets)
    if len(sets.items) * _SPARSE_BELOW < len(sets) * small.width:
        from sfumato.methods.baskets.kernels.common_items import relative_distances

        return relative_distances(small.starts, small.items, small.width)
    sizes = np.maximum(sets.sizes, 1).astype(np.float32)
    return hamming_matrix(sets).astype(np.float32) / (sizes[:, None] + sizes[None, :])


def _compact(sets: Sets) -> Sets:
    """The same rows over the items in use."""
    used, local = np.unique(sets.items, return_inverse=True)
    return Sets(sets.starts, local.astype(np.int32), max(len(used), 1))


def _common(sets: Sets) -> NDArray[np.int32]:
    small = _compact(sets)
    if small.width <= _DENSE_BELOW:
        bits = small.dense().astype(np.float32)
        return (bits @ bits.T).astype(np.int32)
    matrix = small.matrix()
    return np.asarray((matrix @ matrix.T).toarray(), dtype=np.int32)
