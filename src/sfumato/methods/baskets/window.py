"""The window order: records on a ring so that every k in a row are alike, which is what the error rate depends on.

A tour only asks that neighbours are alike. The error of a ring of degree k is decided inside windows of k records, so this
order minimizes the dissimilarities within all windows. It starts from the best of a few Gray orders, then moves records and
short blocks and reverses stretches, within overlapping pieces of the ring.

Departures
    Takes the place of the Gray-TSP order [multitype 3.6.1]; looks at items only, never at labels. The dissimilarity is
    Hamming distance over the sum of sizes: the error rate divides by the size of a record, and on baskets of very different
    sizes this lowers it more than plain distances or distances over single sizes do.
Cost
    O(piece) per record looked at; memory O(piece²) whatever the number of records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.methods.baskets.distances import relative_matrix
from sfumato.methods.baskets.gray import entropy_columns, gray_order
from sfumato.methods.baskets.rings import members
from sfumato.methods.baskets.segments import gray_tsp_order
from sfumato.methods.baskets.voting import expected_error_rate, vote

_TOURS_UP_TO = 200_000


@dataclass(frozen=True, slots=True)
class RingEffort:
    """How hard to search: records per piece, sweeps over the ring, alternations, passes, block lengths, neighbours tried."""

    piece: int
    sweeps: int = 2
    alternations: int = 1
    passes: int = 3
    blocks: tuple[int, ...] = (1, 3)
    nearest: int = 8

    @classmethod
    def for_size(cls, count: int) -> RingEffort:
        """Thorough on thousands of records, brisk on a million."""
        if count <= 10_000:
            return cls(piece=3000, alternations=2, passes=6, blocks=(1, 2, 3, 5))
        return cls(piece=600) if count <= 200_000 else cls(piece=300, sweeps=1, passes=2)


def window_order(sets: Sets, k: int, effort: RingEffort | None = None) -> IntArray:
    """The records in an order whose k-windows are alike; never worse than the orders it starts from."""
    chosen = effort or RingEffort.for_size(len(sets))
    start = start_order(sets, k)
    size = min(chosen.piece, len(sets) - 2 * (k - 1))
    if k < 2 or size < 2:
        return start
    return min((_searched(sets, start.copy(), k, size, chosen), start), key=lambda order: window_error(sets, order, k))


def start_order(sets: Sets, k: int) -> IntArray:
    """The Gray order with columns as they come or by entropy, or a short tour on either: the one with the least error."""
    by_entropy = entropy_columns(sets)
    orders = [gray_order(sets), gray_order(sets, by_entropy)]
    if len(sets) <= _TOURS_UP_TO:
        orders += [gray_tsp_order(sets), gray_tsp_order(sets, columns=by_entropy)]
    return min(orders, key=lambda order: window_error(sets, order, k))


def window_error(sets: Sets, order: IntArray, k: int) -> float:
    """The bit error rate to expect from the ring of degree k over this order."""
    if len(sets) < k:
        return 0.0
    preimages = order[members(len(sets), k)].astype(np.int32)
    return expected_error_rate(sets, preimages, vote(sets, preimages))


def _searched(sets: Sets, order: IntArray, k: int, size: int, effort: RingEffort) -> IntArray:
    """Sweeps over the ring in pieces; each sweep begins half a piece further, so that no seam stays a seam."""
    edge = k - 1
    for sweep in range(effort.sweeps):
        offset = sweep * size // 2
        for begin in range(offset, offset + len(sets), size):
            inner = min(size, offset + len(sets) - begin)
            places = np.arange(begin - edge, begin + inner + edge) % len(sets)
            order[places] = _improved(sets, order[places], k, effort)
    return order


def _improved(sets: Sets, rows: IntArray, k: int, effort: RingEffort) -> IntArray:
    """A piece of the ring, its first and last k − 1 records kept in place."""
    from sfumato.methods.baskets.kernels.windows import relocate, reverse

    far = relative_matrix(sets.take(rows))
    close = _nearest(far, effort.nearest)
    seq = np.arange(len(rows), dtype=np.int64)
    lo, hi = k - 1, len(rows) - k + 1
    for _ in range(effort.alternations):
        for _ in range(effort.passes):
            if not reverse(far, seq, k, lo, hi, close):
                break
        for block in effort.blocks:
            active = np.ones(len(rows), dtype=bool)
            for _ in range(effort.passes):
                if hi - lo <= block or not relocate(far, seq, k, lo, hi, block, active):
                    break
    return rows[seq]


def _nearest(far: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """For every record the `count` most similar ones; itself may be among them."""
    kept = min(count, len(far) - 1)
    return np.argpartition(far, kept, axis=1)[:, :kept].astype(np.int64)
