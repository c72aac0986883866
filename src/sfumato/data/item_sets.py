"""Many small sets over one universe of items, held sparsely: the form of everything set-valued.

Row i is ``items[starts[i]:starts[i + 1]]``, item codes in ascending order, each at most once. Memory grows with the
number of items present, never with records x universe; `packed` gives the bit view where the universe is small enough
to pay for it.

Invariants
    I1  `starts` ascends from 0 to ``len(items)``; the codes of one row ascend strictly and lie in 0 … width − 1.

>>> rows = Sets.of([[2, 0], [1], []], width=3)
>>> rows.sizes.tolist(), rows.row(0).tolist()
([2, 1, 0], [0, 2])
>>> rows.hamming(rows.take([1, 1, 1])).tolist()
[3, 0, 1]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.errors import DataError

WORD = 64


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Rows of item codes over a universe of `width` items."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    width: int

    def __post_init__(self) -> None:
        if self.starts[0] != 0 or self.starts[-1] != len(self.items) or (np.diff(self.starts) < 0).any():
            raise DataError("row boundaries of the sets do not fit their items", where="sets")
        if len(self.items) and not (self.items.min() >= 0 and self.items.max() < self.width):
            raise DataError("an item code lies outside the universe", where="sets")

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]], width: int) -> Sets:
        """From any rows of codes; order and repetitions inside a row do not matter."""
        clean = [sorted(set(row)) for row in rows]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in clean], dtype=np.int64)]).astype(np.int64)
        flat = np.fromiter((item for row in clean for item in row), dtype=np.int32, count=int(starts[-1]))
        return cls(starts, flat, width)

    @classmethod
    def from_flat(cls, rows: ArrayLike, items: ArrayLike, count: int, width: int) -> Sets:
        """From (row, item) pairs in any order; repeated pairs count once."""
        row, item = np.asarray(rows, dtype=np.int64), np.asarray(items, dtype=np.int64)
        keys = row * max(width, 1) + item
        if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
            keys.sort()
            keys = keys[np.append(True, keys[1:] != keys[:-1])]  # I1
        row, item = np.divmod(keys, max(width, 1))
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count), dtype=np.int64)]).astype(np.int64)
        return cls(starts, item.astype(np.int32), width)

    @classmethod
    def stacked(cls, parts: Sequence[Sets]) -> Sets:
        """The rows of all parts, one after another; all over the same universe."""
        starts = np.concatenate([[0], np.cumsum(np.concatenate([part.sizes for part in parts]))]).astype(np.int64)
        return cls(starts, np.concatenate([part.items for part in parts]), parts[0].width)

    @classmethod
    def from_dense(cls, bits: ArrayLike) -> Sets:
        """From a 0/1 matrix, one row per record."""
        matrix = np.asarray(bits).astype(bool)
        row, item = np.nonzero(matrix)
        return cls.from_flat(row, item, matrix.shape[0], matrix.shape[1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The row of every entry of `items`."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)

    def row(self, index: int) -> NDArray[np.int32]:
        return self.items[self.starts[index] : self.starts[index + 1]]

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Sets:
        """The named rows, in the named order."""
        chosen = np.asarray(rows, dtype=np.int64)
        sizes = self.sizes[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        inside = np.arange(starts[-1], dtype=np.int64) - np.repeat(starts[:-1], sizes)
        return Sets(starts, self.items[np.repeat(self.starts[chosen], sizes) + inside], self.width)

    def renamed(self, codes: NDArray[np.int64], width: int) -> Sets:
        """The same rows with item j called ``codes[j]``, in a universe of `width` items."""
        moved = codes.astype(np.int32)[self.items] if len(self.items) else self.items
        if len(codes) < 2 or (codes[1:] > codes[:-1]).all():
            return Sets(self.starts, moved, width)
        return Sets.from_flat(self.owners, moved, len(self), width)

    def having(self, item: int) -> NDArray[np.int64]:
        """The rows that have the item."""
        return np.searchsorted(self.starts, np.flatnonzero(self.items == item), side="right") - 1

    def support(self) -> NDArray[np.int64]:
        """In how many rows each item occurs."""
        return np.bincount(self.items, minlength=self.width).astype(np.int64)

    def dense(self) -> NDArray[np.bool_]:
        bits = np.zeros((len(self), self.width), dtype=bool)
        bits[self.owners, self.items] = True
        return bits

    def packed(self) -> NDArray[np.uint64]:
        """Rows as bit strings of 64-bit words, item j at bit j % 64 of word j // 64."""
        words = np.zeros((len(self), (self.width + WORD - 1) // WORD), dtype=np.uint64)
        bits = np.uint64(1) << (self.items % WORD).astype(np.uint64)
        np.bitwise_or.at(words, (self.owners, self.items // WORD), bits)
        return words

    def matrix(self) -> Any:
        """A scipy CSR matrix of ones (int32), for counting common items by products."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.items), dtype=np.int32)
        return csr_matrix((ones, self.items, self.starts), shape=(len(self), self.width))

    def hamming(self, other: Sets) -> NDArray[np.int64]:
        """Row by row: how many items are in exactly one of the two rows."""
        mine = self.owners * self.width + self.items
        theirs = other.owners * self.width + other.items
        both = np.concatenate([mine, theirs])
        both.sort(kind="stable")  # two ascending runs (I1): a stable sort merges them in one pass
        new = np.ones(len(both) + 1, dtype=bool)
        np.not_equal(both[1:], both[:-1], out=new[1:-1])
        apart = both[new[1:] & new[:-1]]
        return np.bincount(apart // max(self.width, 1), minlength=len(self)).astype(np.int64)

    def equals(self, other: Sets) -> bool:
        """Whether both have the same rows."""
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.items, other.items)

    def classes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Equal rows share a class: (one row of each class, the class of every row)."""
        seen: dict[bytes, int] = {}
        first: list[int] = []
        belongs = np.empty(len(self), dtype=np.int64)
        for index in range(len(self)):
            key = self.row(index).tobytes()
            if key not in seen:
                seen[key] = len(first)
                first.append(index)
            belongs[index] = seen[key]
        return np.array(first, dtype=np.int64), belongs
