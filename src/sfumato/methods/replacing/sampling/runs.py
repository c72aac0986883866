"""The law of a sum of a few numbers from one range, exactly: counted, not transformed.

A few terms of a wide range are what Fourier sums are worst at: φ falls so slowly that every point of a grid as long as the range
matters. Counting needs no grid. Under a tilt the weights of consecutive numbers are w·rʲ, so that every sequence with sum t has the
same weight wᵐ·rᵗ, and what is left is how many there are.

Notation
    m, n   terms, and numbers 0 … n − 1 that each may be
    N(t)   Σ_j (−1)ʲ C(m, j) C(t − jn + m − 1, m − 1) sequences with sum t, in whole numbers of any length

Invariants
    I1  A geometric law on consecutive numbers is log-concave, and so is a sum of such terms: it rises to its peak and falls from
        there, so that halving finds the peak.

>>> law = RunSum(terms=2, numbers=6, weight=1 / 6, rate=0.0)
>>> [round(36 * law.pmf(t)) for t in range(-1, 12)]
[0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

_ABOVE = 1 + 1e-9
"""What rounding may take from a logarithm, put back, so that nothing is ever above the peak."""


def sequences(terms: int, numbers: int, total: int) -> int:
    """How many sequences of numbers 0 … numbers − 1 have this sum.

    >>> sequences(3, 10, 13), sequences(3, 10, 14)
    (75, 75)
    """
    top = terms * (numbers - 1)
    if not 0 <= total <= top:
        return 0
    total = min(total, top - total)
    signed = (
        (-1) ** over * math.comb(terms, over) * math.comb(total - over * numbers + terms - 1, terms - 1)
        for over in range(total // numbers + 1)
    )
    return sum(signed)


@dataclass(frozen=True)
class RunSum:
    """A sum of `terms` numbers 0 … `numbers` − 1, number j with probability weight · e^{rate · j}."""

    terms: int
    numbers: int
    weight: float
    rate: float

    def pmf(self, total: int) -> float:
        return math.exp(self._level(total)) if 0 <= total <= self.terms * (self.numbers - 1) else 0.0

    @cached_property
    def peak(self) -> float:
        """Not below any value of `pmf` (I1)."""
        low, high = 0, self.terms * (self.numbers - 1)
        while low < high:
            middle = (low + high) // 2
            if self._level(middle) < self._level(middle + 1):
                low = middle + 1
            else:
                high = middle
        return math.exp(self._level(low)) * _ABOVE

    def _level(self, total: int) -> float:
        return math.log(sequences(self.terms, self.numbers, total)) + self.terms * math.log(self.weight) + self.rate * total
