"""A domain: the ordered leaves of a column, and which intervals of them may be published.

A published cell stands for an interval ``[lo, hi)`` of leaves. A hierarchy allows the intervals of its nodes; a numeric
range allows every interval. Everything a method or a metric needs of a column is said in these terms.

Notation
    leaf      code 0 … size − 1 of an original value, in an order where related values are neighbours
    close     the smallest publishable interval around a set of leaves
    ceiling   how far a boundary lets each leaf be generalized ([boundaries Def. 4])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.data.text_values import interval_ends_text, parse_number, parse_numbers

MISSING = ""
"""A missing value is a value of its own; this is how it is written."""


class Generalization(ABC):
    """Ordered leaves and the intervals of them that may be published."""

    leaves: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.leaves)

    @cached_property
    def code_of(self) -> dict[str, int]:
        return {leaf: code for code, leaf in enumerate(self.leaves)}

    def values(self, lo: int, hi: int) -> list[str]:
        """The values of the data below an interval: its leaves, unless several values share one."""
        return list(self.leaves[lo:hi])

    @abstractmethod
    def close(self, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        """The smallest publishable intervals around the given ones."""

    @abstractmethod
    def label(self, lo: int, hi: int) -> str:
        """How the publishable interval ``[lo, hi)`` is written."""

    @abstractmethod
    def interval(self, label: str) -> tuple[int, int] | None:
        """The leaves a published label stands for; ``None`` when it is no label of this domain."""

    @abstractmethod
    def height(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Height of the subtree below each interval over the height of the whole, in [0, 1] ([boundaries Def. 10])."""

    def width(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """(|subset| − 1) / (|domain| − 1), the loss of a cell; 0 for a leaf, 1 for everything."""
        return (hi - lo - 1) / max(self.size - 1, 1)

    def ceiling(self) -> tuple[IntArray, IntArray]:
        """For every leaf the largest interval it may be published as; here everything."""
        return np.zeros(self.size, dtype=np.int64), np.full(self.size, self.size, dtype=np.int64)

    def labels(self, lo: IntArray, hi: IntArray) -> list[str]:
        """`label` for many intervals; equal intervals are written once."""
        key = lo * (self.size + 1) + hi
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        written = [self.label(int(lo[i]), int(hi[i])) for i in first]
        return [written[i] for i in inverse]


@dataclass(frozen=True, slots=False)
class Ranges(Generalization):
    """Numbers in their order; every interval may be published, written ``lo-hi`` with both ends included.

    Two spellings of one number (``1``, ``1.0``) are two leaves side by side; an end that is spelt like a leaf means
    that leaf.

    >>> ages = Ranges(("17", "18", "25", "40"))
    >>> ages.label(0, 3), ages.label(1, 2), ages.interval("17-25")
    ('17-25', '18', (0, 3))
    """

    leaves: tuple[str, ...]
    numbers: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        read = parse_numbers(self.leaves, "ranges")
        object.__setattr__(self, "numbers", np.array([float(value) for value in read], dtype=np.float64))

    @classmethod
    def of(cls, values: Sequence[str], *, column: str) -> Ranges:
        """The domain of a numeric column; a missing value is refused because it has no place in an order."""
        ordered = sorted(zip(parse_numbers(values, column), values, strict=True))
        return cls(tuple(leaf for _, leaf in ordered))

    def close(self, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        return lo, hi

    def label(self, lo: int, hi: int) -> str:
        return self.leaves[lo] if hi - lo == 1 else f"{self.leaves[lo]}-{self.leaves[hi - 1]}"

    def interval(self, label: str) -> tuple[int, int] | None:
        if label in self.code_of:
            return self.code_of[label], self.code_of[label] + 1
        ends = interval_ends_text(label) if not label.endswith(")") else None
        if ends is None:
            return None
        lo, hi = self._edge(ends[0], "left"), self._edge(ends[1], "right")
        return None if lo is None or hi is None or lo >= hi else (lo, hi)

    def _edge(self, text: str, side: Literal["left", "right"]) -> int | None:
        """How many leaves lie before the range (left), or before what follows it (right)."""
        if text in self.code_of:
            return self.code_of[text] + (side == "right")
        value = parse_number(text)
        return None if value is None else int(np.searchsorted(self.numbers, float(value), side=side))

    def width(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Length of the range over the length of the whole column."""
        span = float(self.numbers[-1] - self.numbers[0]) or 1.0
        widths: FloatArray = (self.numbers[hi - 1] - self.numbers[lo]) / span
        return widths

    def height(self, lo: IntArray, hi: IntArray) -> FloatArray:
        return self.width(lo, hi)
