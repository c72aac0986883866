"""Aggregates over records that lie in several files: what each file adds, put together exactly.

>>> from sfumato.audit.rule_values import read
>>> one, two = (Partial.of(value, np.arange(2)) for value in (read(["1", "2"]), read(["0.5", "7"])))
>>> value = one.plus(two).value("mean")
>>> value.parts.tolist(), value.denominator
([21], 8)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.rule_values import Value, scalar
from sfumato.errors import DataError


@dataclass(frozen=True)
class Partial:
    """How many values there are, and of numbers their sum, the smallest and the largest."""

    count: int = 0
    total: Fraction = Fraction(0)
    least: Fraction | None = None
    most: Fraction | None = None
    texts: bool = False

    @classmethod
    def of(cls, value: Value, rows: NDArray[np.int64]) -> Partial:
        """What some rows add."""
        if value.denominator == 0 or not len(rows):
            return cls(len(rows), texts=value.denominator == 0)
        found, over = value.parts[rows].astype(object), value.denominator
        return cls(len(rows), Fraction(int(found.sum()), over), Fraction(int(found.min()), over), Fraction(int(found.max()), over))

    def plus(self, other: Partial) -> Partial:
        """Both together."""
        least = min((one for one in (self.least, other.least) if one is not None), default=None)
        most = max((one for one in (self.most, other.most) if one is not None), default=None)
        return Partial(self.count + other.count, self.total + other.total, least, most, self.texts or other.texts)

    def value(self, function: str) -> Value:
        """The aggregate; mean, min and max of nothing are missing."""
        if function == "count":
            return scalar(Fraction(self.count))
        if self.texts:
            raise DataError("a rule calculates with a text", hint="check the column's values")
        mean = self.total / self.count if self.count else None
        found = {"sum": self.total, "mean": mean, "min": self.least, "max": self.most}[function]
        return Value(np.zeros(1, dtype=np.int64), 1, np.ones(1, dtype=bool)) if found is None else scalar(found)
