"""Records cut into disjoint blocks of alike ones: what an outsider is left with is the own block.

The records are put into the best of a few Gray orders and cut into blocks of (almost) equal size; then records of different
blocks trade places within pieces of the order as long as the blocks become more alike.

Paper
    Takes the place of the ring [multitype 3.2, 3.6]. A ring's windows of length k are k ways to cut the same order into blocks, and
    its error rate is the mean over them (k divides n); so the best cut of the order is never worse than the ring.
Invariants
    I1  Looks at items only, never at labels, and draws nothing: whoever knows all item sets can cut the same blocks, and whoever
        does not learns nothing from how they were cut.
    I2  Every block has at least `size` records.
Cost
    O(piece) per record looked at; pieces of a sweep are independent and run on `jobs` threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.errors import Infeasible
from sfumato.methods.baskets.distances import relative_matrix
from sfumato.methods.baskets.gray import entropy_columns, gray_order
from sfumato.methods.baskets.segments import gray_tsp_order
from sfumato.methods.baskets.voting import vote

_TOURS_UP_TO = 20_000
_HOT = 0.025
"""Of the distances of records, which lie in 0 … 1, what an exchange may cost at first."""


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Records block by block: block b holds ``order[starts[b]:starts[b + 1]]``."""

    order: IntArray
    starts: IntArray

    @property
    def sizes(self) -> IntArray:
        return np.diff(self.starts)

    @property
    def block(self) -> IntArray:
        """The block of each place of the order."""
        return np.repeat(np.arange(len(self.sizes), dtype=np.int64), self.sizes)

    def of_size(self, size: int) -> NDArray[np.int32]:
        """The blocks with so many records, one row each."""
        first = self.starts[:-1][self.sizes == size]
        rows: NDArray[np.int32] = self.order[first[:, None] + np.arange(size)[None, :]].astype(np.int32)
        return rows


@dataclass(frozen=True, slots=True)
class BlockEffort:
    """How hard to search: records per piece, sweeps over the order, exchanges looked at per record, neighbours tried."""

    piece: int
    sweeps: int = 2
    steps: int = 150
    passes: int = 12
    nearest: int = 16

    @classmethod
    def for_size(cls, count: int, size: int) -> BlockEffort:
        """Thorough on thousands of records, brisk on a million; small blocks trade more often, so their pieces are smaller."""
        if count <= 10_000:
            return cls(piece=4096 if size >= 8 else 2048, steps=300, passes=20, nearest=32)
        return cls(piece=800) if count <= 200_000 else cls(piece=384, sweeps=1, steps=60, passes=4, nearest=12)


def cut(count: int, size: int) -> IntArray:
    """Where blocks begin: as many as can have `size` records, all of the same size or one more.

    >>> cut(11, 3).tolist()
    [0, 3, 7, 11]
    """
    if count < size:
        what = f"{count} records cannot each have {size} candidates"
        raise Infeasible(what, where="protect", hint=f"ask for at most {count} candidates, or give more records")
    blocks = count // size
    return np.arange(blocks + 1, dtype=np.int64) * count // blocks  # I2


def partition(sets: Sets, size: int, *, jobs: int = 1, effort: BlockEffort | None = None) -> Partition:
    """The records in blocks of at least `size` alike ones."""
    starts = cut(len(sets), size)
    chosen = effort or BlockEffort.for_size(len(sets), size)
    order = start_order(sets, starts)  # I1
    if size < 2 or len(starts) < 3:
        return Partition(order, starts)
    for sweep in range(chosen.sweeps):
        pieces = _pieces(starts, chosen.piece, shifted=sweep % 2 == 1)
        improve = partial(_improved, sets, order, starts, chosen)
        for (first, last), rows in zip(pieces, _each(improve, pieces, jobs), strict=True):
            order[starts[first] : starts[last]] = rows
    return Partition(order, starts)


def _each(improve: Callable[[tuple[int, int]], IntArray], pieces: list[tuple[int, int]], jobs: int) -> list[IntArray]:
    """All pieces improved: several at a time, or here where there is one at a time."""
    if min(jobs, len(pieces)) <= 1:
        return list(map(improve, pieces))
    with ThreadPoolExecutor(max_workers=jobs) as crew:
        return list(crew.map(improve, pieces))


def start_order(sets: Sets, starts: IntArray) -> IntArray:
    """The Gray order with columns as they come or by entropy, or a short tour on either: the one whose blocks err least."""
    by_entropy = entropy_columns(sets)
    orders = [gray_order(sets), gray_order(sets, by_entropy)]
    if len(sets) <= _TOURS_UP_TO:
        orders += [gray_tsp_order(sets), gray_tsp_order(sets, columns=by_entropy)]
    return min(orders, key=lambda order: block_error(sets, Partition(order, starts)))


def block_error(sets: Sets, blocks: Partition) -> float:
    """The bit error rate of the majority vote in every block: the mean over records of wrong items over own items."""
    wrong = 0.0
    for size in np.unique(blocks.sizes).tolist():
        rows = blocks.of_size(size)
        wrong += float((vote(sets, rows).distance / np.maximum(sets.sizes[rows], 1)).sum())
    return wrong / max(len(sets), 1)


def _pieces(starts: IntArray, piece: int, *, shifted: bool) -> list[tuple[int, int]]:
    """Runs of whole blocks of about `piece` records; shifted by half a piece, so that no seam stays a seam."""
    blocks = len(starts) - 1
    each = max(2, round(piece * blocks / int(starts[-1])))
    if blocks <= each:
        return [(0, blocks)]
    bounds = sorted({0, *range(each // 2 if shifted else each, blocks, each), blocks})
    return list(pairwise(bounds))


def _improved(sets: Sets, order: IntArray, starts: IntArray, effort: BlockEffort, piece: tuple[int, int]) -> IntArray:
    """The records of some blocks after trading places, block by block."""
    from sfumato.methods.baskets.kernels.exchange import anneal, exchange, sums_of_distances

    first, last = piece
    rows = order[starts[first] : starts[last]]
    sizes = np.diff(starts[first : last + 1])
    far = relative_matrix(sets.take(rows))
    block = np.repeat(np.arange(last - first, dtype=np.int64), sizes)
    members = _slots(sizes)
    near, close = sums_of_distances(far, members), _nearest(far, effort.nearest)
    anneal(far, near, block, members, close, effort.steps * len(rows), _HOT)
    near, active = sums_of_distances(far, members), np.ones(len(rows), dtype=bool)
    for _ in range(effort.passes):
        if not exchange(far, near, block, members, close, active):
            break
    return rows[members[members >= 0]]


def _slots(sizes: IntArray) -> IntArray:
    """For each block its places in the piece, −1 beyond its size."""
    offset = np.arange(int(sizes.max()), dtype=np.int64)[None, :]
    begin = (np.cumsum(sizes) - sizes)[:, None]
    return np.where(offset < sizes[:, None], begin + offset, -1).astype(np.int64)


def _nearest(far: NDArray[np.float32], count: int) -> IntArray:
    """For every record the `count` most similar ones; itself may be among them."""
    kept = min(count + 1, far.shape[0] - 1)
    return np.argpartition(far, kept, axis=1)[:, :kept].astype(np.int64)
