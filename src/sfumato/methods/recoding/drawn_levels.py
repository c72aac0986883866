"""Levels by the exponential mechanism: what `sampled` generalizes by, chosen by chance with a part of ε, exactly.

Notation
    β, k      each record is drawn with β, and cells with fewer than k drawn records are not published
    φ(n)      what is published on average of a cell of n records, as a whole number: the sum of its steps d(0), …, d(n − 1)
    d(n)      the step from n to n + 1 records, in units of 1/`STEP`: β (P(J ≥ k) + k P(J = k − 1)), J the drawn ones of n, over
              the largest value that this can have, rounded down
    w(g)      the detail that levels g keep, as a whole number from 0 to W: the mean over columns of one minus level over height
    s(g)      the score of g: w(g) times the sum of φ over the cells that records fall into at these levels

Guarantee
    One record more adds a step to one cell: every score grows by at least 0 and by at most `STEP` · W. So when g is taken with
    chances proportional to exp(ε₀ s(g) / (`STEP` · W)), one record more multiplies each weight by a number between 1 and e^ε₀, and
    their sum as well: every chance changes by a factor between e^−ε₀ and e^ε₀. That is ε₀-differential privacy; since all scores
    move the same way, half of the exponent need not be given away as for scores that may move both ways.
    The choice looks at the table only; the draw that follows is independent of it, so the two compose
    (`models.differential_privacy`).

Invariants
    I1  Steps and weights of detail depend on β, k and the hierarchies alone, and lie between 0 and their bound whatever rounding
        does.
    I2  Scores are whole numbers and ε₀ is the fraction that its floating-point number is: chances are compared without rounding. A
        choice is drawn uniformly and kept with exp(−x), x = ε₀ (best − s(g)) / (`STEP` · W), else drawn again.
    I3  exp(−x) of a fraction x is decided by whole random numbers (`happens`): with x ≤ 1, the number of the first draw that
        fails among chances x, x/2, x/3, … is odd with exp(−x).

Paper: McSherry, Talwar (2007) for the mechanism; Canonne, Kamath, Steinke (2020) for exp(−x); Bild, Kuhn, Prasser (2018) for
choosing levels of a sampled table so. The score is our own: counting records in cells of at least k changes by k when one record
comes, what is published on average by a multiple of the root of k.

>>> steps = PublishedSteps(0.5, 20)
>>> bool((steps.up_to >= 0).all()), int(steps.largest()) <= STEP, steps.worth(np.array([0, 40])) > steps.worth(np.array([20, 20]))
(True, True, True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.randomness import Randomness

STEP = 1 << 20
"""The largest step, as a whole number."""
_BEYOND = 12.0
"""Standard deviations above which a cell is always published."""
_MOST_STEPS = 1 << 24


class PublishedSteps:
    """φ for one draw."""

    def __init__(self, fraction: float, threshold: int) -> None:
        from scipy.stats import binom

        last = (threshold + _BEYOND * math.sqrt(threshold) + _BEYOND**2) / fraction
        sizes = np.arange(int(min(last, _MOST_STEPS)) + 1)
        alone: FloatArray = binom.pmf(threshold - 1, sizes, fraction)
        rising = binom.sf(threshold - 1, sizes, fraction) + threshold * alone
        bound = 1 + threshold * float(alone.max())
        step = np.clip(np.floor(STEP * rising / bound), 0, STEP).astype(np.int64)  # I1
        self.beyond = int(min(math.floor(STEP / bound), STEP))
        """The step of cells that are larger than all that are listed: one more record is one more drawn with β."""
        self.up_to: IntArray = np.concatenate([[0], np.cumsum(step)])

    def largest(self) -> int:
        """The largest step that there is."""
        return max(int(np.diff(self.up_to).max(initial=0)), self.beyond)

    def worth(self, cells: IntArray) -> int:
        """The sum of φ over cells of these sizes."""
        known = len(self.up_to) - 1
        more = np.maximum(cells - known, 0)
        return int(self.up_to[np.minimum(cells, known)].sum()) + self.beyond * int(more.sum())


def detail(levels: Sequence[int], heights: Sequence[int]) -> tuple[int, int]:
    """w and W of a choice of levels (I1).

    >>> detail([0, 1], [2, 3]), detail([2, 3], [2, 3])
    ((10, 12), (0, 12))
    """
    whole = math.lcm(*(max(height, 1) for height in heights)) if heights else 1
    kept = sum(whole * (max(height, 1) - level) // max(height, 1) for level, height in zip(levels, heights, strict=True))
    return kept, whole * len(heights)


def taken(scores: Sequence[int], budget: float, span: int, randomness: Randomness) -> int:
    """The place of a score, drawn by the exponential mechanism with ε₀ = `budget`; a record adds at most `span` to a score (I2)."""
    best, slope = max(scores), Fraction(budget) / span
    while True:
        place = below(len(scores), randomness)
        if happens(slope * (best - scores[place]), randomness):
            return place


def happens(x: Fraction, randomness: Randomness) -> bool:
    """True with probability exp(−x), exactly (I3)."""
    while x > 1:
        if not happens(Fraction(1), randomness):
            return False
        x -= 1
    turn = 1
    while below(x.denominator * turn, randomness) < x.numerator:
        turn += 1
    return turn % 2 == 1


def below(bound: int, randomness: Randomness) -> int:
    """A whole number below a bound of any size, each as likely as the others."""
    size = (bound.bit_length() + 7) // 8
    most = (1 << 8 * size) // bound * bound
    while True:
        drawn = int.from_bytes(randomness.bytes(size), "little")
        if drawn < most:
            return drawn % bound


def kept_of(count: int, fraction: float, randomness: Randomness) -> IntArray:
    """Which of so many records are drawn, each with `fraction`, rounded down to a whole number of 2⁻⁶⁴."""
    limit = np.uint64(min(math.floor(Fraction(fraction) * (1 << 64)), (1 << 64) - 1))
    return np.flatnonzero(randomness.words(count) < limit)
