"""Records cut into disjoint blocks of alike ones: what an adversary is left with is the own block.

The records are put into the best of a few Gray orders and cut into blocks of (almost) equal size; then records of
different blocks trade places within pieces of the order as long as the blocks become more alike.

Paper
    Takes the place of the ring [multitype 3.2, 3.6]. A ring's windows of length k are k ways to cut the same order into
    blocks, and its error rate is the mean over them (k divides n); so the best cut of the order is never worse than the
    ring.
Invariants
    I1  Depends on items only, never on labels or random numbers. An adversary who knows all item sets can compute the
        blocks; any other adversary learns nothing from them.
    I2  Every block has at least `size` records.
Cost
    O(piece) per record looked at; pieces of a sweep are independent and run on `jobs` threads.


Segments
--------
The Gray-TSP order: the Gray order cut where neighbours are close, each piece replaced by a shorter path.

Paper
    [multitype 3.6.1, Eq. 3.1].
Notation
    near[j] ~ H(r_j, r_{j+1}) along the Gray order, [smallest, largest] ~ [m, M].
Departures
    Eq. 3.1 leaves H(r_0, r_1) open: it is 0. A cut into pieces of m … M records may not exist (400 records, [300,
    350]); then the fewest pieces of nearly equal size are used.
Cost
    Cutting O((M − m) n); each piece O(M²) distances.

>>> cut_points(np.array([5, 1, 5, 1, 5]), 6, 2, 3)
[0, 2, 4, 6]
>>> cut_points(np.ones(399), 400, 300, 350)
[0, 200, 400]


Gray
----
Records in the order of the Gray code of their characteristic vectors.

Two records are compared at the first column where they differ; an even number of common items before it puts the record
without that item first, an odd number the record with it. So the order is a lexicographic one on the item lists, with
the direction alternating from entry to entry, and no bit string is ever built.

Paper
    [multitype 3.6.1, Table 3.5].
Departures
    The thesis takes the columns as they come. `entropy_columns` puts the columns that split the records most evenly
    first, which costs nothing and lowers the error on dense data.
Cost
    A sort of the records per depth, over those records only that still tie.

>>> from sfumato.data.item_sets import Sets
>>> rows = Sets.of([[0, 1], [1, 2], [0, 1, 3], [1, 2, 3], [0, 1, 2], [0, 2, 3]], width=4)  # Table 3.1
>>> (gray_order(rows) + 1).tolist()
[2, 4, 1, 3, 5, 6]


Distances
---------
Hamming distances between all rows of a short stretch of records.

Common items are counted by a matrix product: dense when the stretch uses few different items, sparse otherwise.

>>> from sfumato.data.item_sets import Sets
>>> hamming_matrix(Sets.of([[0, 1], [1], [2]], width=3)).tolist()
[[0, 1, 3], [1, 0, 2], [3, 2, 0]]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.effort import EFFORTS, USUAL, Effort
from sfumato.core.errors import Infeasible
from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.methods.voting import vote

_TOURS_UP_TO = 20_000
BRISK = 200_000
"""Up to so many records a search goes over them twice, over more of them once."""
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
    """How hard to search: records per piece, sweeps over the order, exchanges looked at per record, neighbours
    tried."""

    piece: int
    sweeps: int = 2
    steps: int = 150
    passes: int = 12
    nearest: int = 16

    @classmethod
    def for_size(cls, count: int, size: int, effort: Effort = USUAL) -> BlockEffort:
        """Many steps on thousands of records, few on a million; small blocks trade more often, so their pieces are
        smaller."""
        if count <= 10_000:
            usual = cls(piece=4096 if size >= 8 else 2048, steps=300, passes=20, nearest=32)
        elif count <= BRISK:
            usual = cls(piece=800)
        else:
            usual = cls(piece=384, sweeps=1, steps=60, passes=4, nearest=12)
        return replace(usual, sweeps=sweeps_of(usual.sweeps, effort))


def sweeps_of(usual: int, effort: Effort) -> int:
    """Return how often an effort goes over an order: quick half as often as usual, thorough three times as often.

    >>> [sweeps_of(2, effort) for effort in EFFORTS]
    [1, 2, 6]
    """
    return {"quick": usual // 2, "balanced": usual, "thorough": 3 * usual}[effort]


def sweeps_told(effort: Effort, count: int) -> str:
    """Return in a sentence how often each effort goes over an order of so many records."""
    usual = 2 if count <= BRISK else 1
    told = ", ".join(f"{each} {sweeps_of(usual, each)}" for each in EFFORTS)
    return f"effort: {effort} (times the search goes over all records: {told})"


def block_starts(count: int, size: int) -> IntArray:
    """Where blocks begin: as many as can have `size` records, all of the same size or one more.

    >>> block_starts(11, 3).tolist()
    [0, 3, 7, 11]
    """
    if count < size:
        what = f"{count} records cannot each have {size} candidates"
        raise Infeasible(what, where="protect", hint=f"ask for at most {count} candidates, or give more records")
    blocks = count // size
    return np.arange(blocks + 1, dtype=np.int64) * count // blocks  # I2


def partition(sets: Sets, size: int, *, jobs: int = 1, effort: BlockEffort | Effort = USUAL) -> Partition:
    """Return the records in blocks of at least `size` alike ones: the best of the start and what every sweep made of
    it, so that more sweeps are never worse."""
    starts = block_starts(len(sets), size)
    chosen = effort if isinstance(effort, BlockEffort) else BlockEffort.for_size(len(sets), size, effort)
    order = start_order(sets, starts)  # I1
    best = Partition(order.copy(), starts)
    if size < 2 or len(starts) < 3:
        return best
    least = block_error(sets, best)
    for sweep in range(chosen.sweeps):
        pieces = _pieces(starts, chosen.piece, shifted=sweep % 2 == 1)
        improve = partial(_improved, sets, order, starts, chosen)
        for (first, last), rows in zip(pieces, _each(improve, pieces, jobs), strict=True):
            order[starts[first] : starts[last]] = rows
        made = Partition(order.copy(), starts)
        if (error := block_error(sets, made)) <= least:
            best, least = made, error
    return best


def _each(improve: Callable[[tuple[int, int]], IntArray], pieces: list[tuple[int, int]], jobs: int) -> list[IntArray]:
    """All pieces improved: several at a time, or here where there is one at a time."""
    if min(jobs, len(pieces)) <= 1:
        return list(map(improve, pieces))
    with ThreadPoolExecutor(max_workers=jobs) as crew:
        return list(crew.map(improve, pieces))


def start_order(sets: Sets, starts: IntArray) -> IntArray:
    """The Gray order with columns as they come or by entropy, or a short tour on either: the one whose blocks err
    least."""
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
    from sfumato.kinds.baskets.methods.kernels.blocks import anneal, exchange, sums_of_distances

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


# Segments
# --------


SMALLEST, LARGEST = 300, 350


def gray_tsp_order(
    sets: Sets, smallest: int = SMALLEST, largest: int = LARGEST, columns: NDArray[np.int64] | None = None
) -> IntArray:
    """The records in Gray-TSP order."""
    from sfumato.kinds.baskets.methods.kernels.blocks import shorten

    order = gray_order(sets, columns)
    sorted_sets = sets.take(order)
    near = sorted_sets.take(np.arange(len(sets) - 1)).hamming(sorted_sets.take(np.arange(1, len(sets))))
    bounds = cut_points(near, len(sets), smallest, largest)
    for begin, end in pairwise(bounds):
        path = np.arange(end - begin, dtype=np.int64)
        shorten(hamming_matrix(sorted_sets.take(np.arange(begin, end))), path)
        order[begin:end] = order[begin:end][path]
    return order


def cut_points(near: NDArray[np.int64], count: int, smallest: int, largest: int) -> list[int]:
    """Where the pieces begin and end so that the distances across the cuts sum to the least [multitype Eq. 3.1]."""
    across = np.concatenate([[0], near])
    best = np.full(count + 1, np.inf)
    best[0], before = 0.0, np.zeros(count + 1, dtype=np.int64)
    for i in range(smallest, count + 1):
        low = max(0, i - largest)
        costs = best[low : i - smallest + 1] + across[low : i - smallest + 1]
        choice = int(np.argmin(costs))
        best[i], before[i] = costs[choice], low + choice
    if not np.isfinite(best[count]):
        return _even_cuts(count, largest)
    points = [count]
    while points[-1] > 0:
        points.append(int(before[points[-1]]))
    return points[::-1]


def _even_cuts(count: int, largest: int) -> list[int]:
    pieces = math.ceil(count / largest)
    return [round(piece * count / pieces) for piece in range(pieces + 1)]


# Gray
# ----


def gray_order(sets: Sets, columns: NDArray[np.int64] | None = None) -> IntArray:
    """The records in Gray order; `columns` lists the items from the most to the least significant."""
    ranked = sets if columns is None else _ranked(sets, columns)
    group = np.zeros(len(sets), dtype=np.int64)
    order = np.arange(len(sets), dtype=np.int64)
    open_places = np.arange(len(sets), dtype=np.int64)
    sizes, depth = ranked.sizes, 0
    while len(open_places):
        rows = order[open_places]
        key = _key(ranked, rows, sizes, depth)
        by = np.lexsort((key, group[open_places]))
        order[open_places], key = rows[by], key[by]
        open_places = _refine(group, open_places, key, sizes[order[open_places]] > depth)
        depth += 1
    return order


def _ranked(sets: Sets, columns: NDArray[np.int64]) -> Sets:
    rank = np.empty(sets.width, dtype=np.int64)
    rank[columns] = np.arange(sets.width)
    return Sets.from_flat(sets.owners, rank[sets.items], len(sets), sets.width)


def _key(ranked: Sets, rows: IntArray, sizes: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
    """The item at this depth, ascending at odd and descending at even depths; a record that has ended counts as past
    the end."""
    place = ranked.starts[rows] + depth
    ended = sizes[rows] <= depth
    item = np.where(
        ended, ranked.width, ranked.items[np.minimum(place, len(ranked.items) - 1)] if len(ranked.items) else 0
    )
    return np.asarray(item if depth % 2 else ranked.width - item, dtype=np.int64)


def _refine(group: NDArray[np.int64], places: IntArray, key: NDArray[np.int64], goes_on: NDArray[np.bool_]) -> IntArray:
    """Split the groups by key and return the places that still tie with a neighbour and have items left."""
    old = group[places]
    new = np.ones(len(places), dtype=bool)
    new[1:] = (old[1:] != old[:-1]) | (key[1:] != key[:-1])
    first = places[np.maximum.accumulate(np.where(new, np.arange(len(places)), 0))]
    group[places] = first
    alone = new & np.append(new[1:], True)
    still: IntArray = places[~alone & goes_on]
    return still


def entropy_columns(sets: Sets) -> NDArray[np.int64]:
    """Items from the most to the least informative: those nearest to being in half of the records first."""
    share = np.abs(sets.support() / max(len(sets), 1) - 0.5)
    return np.argsort(share, kind="stable").astype(np.int64)


# Distances
# ---------


_DENSE_BELOW = 600
_SPARSE_BELOW = 8
"""Rows that have less than one in so many of the items are multiplied as a sparse matrix."""


def hamming_matrix(sets: Sets) -> NDArray[np.int32]:
    """Entry (a, b): how many items are in exactly one of the rows a and b."""
    sizes = sets.sizes.astype(np.int32)
    return sizes[:, None] + sizes[None, :] - 2 * _common(sets)


def relative_matrix(sets: Sets) -> NDArray[np.float32]:
    """Hamming distance over the sum of the sizes (Dice's dissimilarity), 0 for equal rows and 1 for disjoint ones."""
    sizes = np.maximum(sets.sizes, 1).astype(np.float32)
    return hamming_matrix(sets).astype(np.float32) / (sizes[:, None] + sizes[None, :])


def _compact(sets: Sets) -> Sets:
    """The same rows over the items in use."""
    used, local = np.unique(sets.items, return_inverse=True)
    return Sets(sets.starts, local.astype(np.int32), max(len(used), 1))


def _common(sets: Sets) -> NDArray[np.int32]:
    small = _compact(sets)
    if small.width <= _DENSE_BELOW and len(small.items) * _SPARSE_BELOW >= len(small) * small.width:
        bits = small.dense().astype(np.float32)
        return (bits @ bits.T).astype(np.int32)
    matrix = small.matrix()
    return np.asarray((matrix @ matrix.T).toarray(), dtype=np.int32)
