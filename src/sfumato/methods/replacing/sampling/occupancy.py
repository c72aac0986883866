"""How many records get each value when all tables are to be equally likely: `a determines b`, `at_least(k, …)`.

Guarantee
    Every assignment of N records to L values in which each used value occurs at least k times has a probability in proportion to
    R to the number of used values. With R right sides per value that is the uniform law over the tables of `a determines b`
    (k = 1), with R = 1 over those of `at_least(k, …)`.

Notation
    n_v    records with value v; an assignment has Π of w(n_v) · N! with w(0) = 1, w(n) = R/n! for n ≥ k
    x      tilt: w(n)·xⁿ gives the same law for the fixed sum Σ n_v = N; x makes N the mean

Invariants
    I1  The counts are independent terms with a fixed total (`totals`); given them all orders of the records are equally likely,
        which is the N!/Π n_v! that w leaves out.
    I2  Counts are listed up to 40 deviations beyond max(k, x). What is cut off has less than e⁻³⁶ of the mass when values are
        many or well filled; `made` declines otherwise, unless N is small enough to list everything.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.replacing.sampling.totals import TotalSampler
from sfumato.randomness import Randomness

_MOST_VALUES = 1_000_000
_LISTED = 400
_MANY = 20


class Occupancy:
    """Draws the value (its rank) of every record."""

    def __init__(self, records: int, values: int, least: int, rights: int, last: int) -> None:
        self.records = records
        counts = np.concatenate([[0], np.arange(least, last + 1)]).astype(np.int64)
        factorials = np.array([math.lgamma(count + 1) for count in counts.tolist()])
        level = np.where(counts > 0, math.log(rights), 0.0) - factorials
        weights = level + counts * math.log(_tilt(level, counts, records / values))
        chances: FloatArray = np.exp(weights - weights.max())
        self.counts = counts[chances > 0]
        self.sampler = TotalSampler([self.counts[:, None]], [chances[chances > 0]], np.zeros(values, dtype=np.int64))

    @classmethod
    def made(cls, records: int, values: int, least: int, rights: int) -> Occupancy | None:
        """The sampler, or None when it would be inexact (I2) or too large."""
        if values > _MOST_VALUES or records < least:
            return None
        filled = records / values
        if records > _LISTED and values < _MANY and least > max(1.0, filled / 2):
            return None
        reach = max(least, filled, 30.0)
        last = records if records <= _LISTED else min(records, math.ceil(2 * reach + 40 * math.sqrt(reach) + 60))
        return cls(records, values, least, rights, last)

    def draw(self, random: Randomness) -> IntArray:
        """A value for every record."""
        often = self.counts[self.sampler.draw(np.array([self.records]), random)]
        used = np.repeat(np.arange(len(often), dtype=np.int64), often)
        return used[random.permutation(self.records)]  # I1


def _tilt(level: FloatArray, counts: IntArray, mean: float) -> float:
    """The x that gives one value `mean` records on average, by bisection of its logarithm."""
    low, high = -60.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        power = level + counts * middle
        mass = np.exp(power - power.max())
        low, high = (middle, high) if float(mass @ counts) / float(mass.sum()) < mean else (low, middle)
    return math.exp((low + high) / 2)
