"""The space of legal records, numbered: how many there are and which is number r, for many numbers at once.

Four shapes, from cheap to general: a few intervals of one ordered column; an explicit table of legal combinations; a tree of
ordered columns joined by comparisons (`a < b`, `b <= c + 30`), counted by prefix sums; and the product of independent spaces.

Invariants
    I1  `codes` is a bijection from 0 … size − 1 onto the legal records, so uniform ranks give uniform legal records and distinct
        ranks give distinct records.
    I2  In a tree the number of completions below a column depends on its own value only, and legal child values form an
        interval, so prefix sums count them.

Paper: per-record parts of [obfuscation §5.1, Stage 1.2], without a solver.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.methods.replacing.sampling import keyed
from sfumato.policy.rules.tree import ColumnValue

Records = dict[ColumnValue, IntArray]


class LegalSpace(Protocol):
    """Legal combinations of some columns."""

    @property
    def columns(self) -> tuple[ColumnValue, ...]: ...

    @property
    def size(self) -> int: ...

    def codes(self, ranks: IntArray) -> Records: ...


@dataclass(frozen=True)
class Intervals:
    """One column whose legal codes are the given runs low … high."""

    column: ColumnValue
    lows: IntArray
    highs: IntArray

    @property
    def columns(self) -> tuple[ColumnValue, ...]:
        return (self.column,)

    @property
    def size(self) -> int:
        return int((self.highs - self.lows + 1).sum())

    def codes(self, ranks: IntArray) -> Records:
        if len(self.lows) == 1:
            return {self.column: ranks + int(self.lows[0])}
        ends: IntArray = np.cumsum(self.highs - self.lows + 1)
        run = np.searchsorted(ends, ranks, side="right")
        return {self.column: self.highs[run] - (ends[run] - 1 - ranks)}


@dataclass(frozen=True)
class Listing:
    """An explicit table of legal combinations; one row each."""

    columns: tuple[ColumnValue, ...]
    rows: IntArray

    @property
    def size(self) -> int:
        return len(self.rows)

    def codes(self, ranks: IntArray) -> Records:
        return {column: self.rows[ranks, place] for place, column in enumerate(self.columns)}


@dataclass(frozen=True)
class Branch:
    """A column of a tree: for each code of its parent, the interval of its own codes that is legal."""

    column: ColumnValue
    parent: int
    low: IntArray
    high: IntArray


class Tree:
    """Ordered columns joined by interval constraints without a cycle; branch 0 is the root, parents come before children."""

    def __init__(self, branches: list[Branch], allowed: list[NDArray[np.bool_]]) -> None:
        self.branches = branches
        self._columns = tuple(branch.column for branch in branches)
        below = [allow.astype(object if _huge(allowed) else np.int64) for allow in allowed]
        self._prefix: list[NDArray[Any]] = [np.zeros(0)] * len(branches)
        for place in range(len(branches) - 1, -1, -1):
            self._prefix[place] = np.concatenate([[0], np.cumsum(below[place])])
            branch = branches[place]
            if place:
                below[branch.parent] = below[branch.parent] * self._between(place)  # I2
        self.weights = below[0]
        self._size = int(self._prefix[0][-1])

    @property
    def columns(self) -> tuple[ColumnValue, ...]:
        return self._columns

    @property
    def size(self) -> int:
        return self._size

    def _between(self, place: int) -> NDArray[Any]:
        branch = self.branches[place]
        prefix = self._prefix[place]
        low = np.clip(branch.low, 0, len(prefix) - 1)
        high = np.clip(branch.high + 1, low, len(prefix) - 1)
        return np.asarray(prefix[high] - prefix[low])

    def codes(self, ranks: IntArray) -> Records:
        prefix = self._prefix[0]
        root = np.searchsorted(prefix, ranks, side="right") - 1  # I1
        return self.given_root(root.astype(np.int64), (ranks - prefix[root]))

    def given_root(self, root: IntArray, rest: IntArray) -> Records:
        """The records whose first column is `root`, numbered by `rest` among those with the same root."""
        found = [root]
        left = [rest]
        for place, branch in enumerate(self.branches[1:], start=1):
            parent = branch.parent
            above = found[parent]
            prefix = self._prefix[place]
            low = np.clip(branch.low[above], 0, len(prefix) - 1)
            high = np.clip(branch.high[above] + 1, low, len(prefix) - 1)
            many = prefix[high] - prefix[low]
            own, rank = left[parent] // many, left[parent] % many
            left[parent] = own
            target = prefix[low] + rank
            code = np.searchsorted(prefix, target, side="right") - 1
            found.append(code.astype(np.int64))
            left.append(target - prefix[code])
        return dict(zip(self.columns, found, strict=True))


def _huge(allowed: list[NDArray[np.bool_]]) -> bool:
    return math.prod(len(allow) for allow in allowed) >= keyed.LARGEST


@dataclass(frozen=True)
class Product:
    """Independent spaces side by side."""

    factors: tuple[LegalSpace, ...]

    @property
    def columns(self) -> tuple[ColumnValue, ...]:
        return tuple(column for factor in self.factors for column in factor.columns)

    @property
    def size(self) -> int:
        return math.prod(factor.size for factor in self.factors)

    def codes(self, ranks: IntArray) -> Records:
        found: Records = {}
        for factor in reversed(self.factors):
            ranks, own = ranks // factor.size, ranks % factor.size  # I1
            found.update(factor.codes(own))
        return found


def draw(space: LegalSpace, key: bytes, records: IntArray) -> Records:
    """A uniform legal record for each record number; a function of key and number only."""
    if isinstance(space, Product):
        found: Records = {}
        for place, factor in enumerate(space.factors):
            found.update(draw(factor, derived(key, place), records))
        return found
    return space.codes(_wide(key, space.size, records) if space.size > keyed.LARGEST else keyed.ranks(key, space.size, records))


def _wide(key: bytes, size: int, records: IntArray) -> IntArray:
    """Ranks beyond 62 bits, as Python's integers; 64 more bits than the size make the remainder's bias negligible."""
    lanes = size.bit_length() // 64 + 2
    total = np.zeros(len(records), dtype=object)
    cipher = keyed.Cipher(key)
    for lane in range(lanes):
        total = total * (1 << 64) + cipher.words(records, lane).astype(object)
    return total % size


def derived(key: bytes, name: int | str) -> bytes:
    """An independent key."""
    import hashlib

    return hashlib.sha256(key + b"\0" + str(name).encode()).digest()[:16]
