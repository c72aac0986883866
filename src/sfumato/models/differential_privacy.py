"""(ε, δ)-differential privacy by sampling: whether one person is in the table changes what may be published by little.

Guarantee: for every table, every person and every set of possible releases, the probability of the set with the person
is at most exp(ε) times that without, plus δ; and the other way round. Neighbours are tables that differ in one record.

Paper: Li, Qardaji, Su (2012), Theorem 5; Bild, Kuhn, Prasser (2018) for the search.

The argument
    Every record is drawn with probability β, generalized by a map that does not depend on the data, and published when
    at least k drawn records look alike in *every* published column. A person changes one cell only. If n records of the
    cell are in the table with the person, j of them are drawn with probability f(j; n, β); without the person with f(j;
    n − 1, β) = f(j; n, β) · (n − j) / (n (1 − β)). -   With the person j is at most e^ε times as likely, exactly when j
    ≤ γ n, γ = 1 − (1 − β) e^−ε. Larger j ≥ k
        are the exceptions: together δ = max over n of Σ f(j; n, β) over j ≥ max(k, ⌊γ n⌋ + 1). Cells with fewer than k
        drawn
    records all look the same. -   Without the person j is at most 1 / (1 − β) times as likely, so ε ≥ −ln(1 − β) is
    asked for; no exception. A choice of the map by the exponential mechanism with ε₀ is one more step, and composes to
    ε₀ + ε.

Invariants
    I1  The maximum over n is taken over all n: the tail is at most exp(−n D) with D the divergence of γ from β
        (Chernoff), so beyond the n at which this falls below what was found nothing larger can follow. The same bound
        stands where too many sizes would have to be looked at.
    I2  What is not covered by a draw (no fraction, no threshold) has δ = 1.
    I3  As long as γ n < k the exceptions are j ≥ k, and more records make them likelier: of those sizes the largest is
        enough.

>>> round(exceptions(Sampling(0.5, 30, 0.0), 1.0), 6) < 0.01, exceptions(Sampling(0.9, 30, 0.0), 1.0)
(True, 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.wording import Wording
from sfumato.models.base import Example, Model, Safer, round_significant

_MOST_BITS = 21
"""Thresholds of up to 2^20 look-alikes are tried."""
_AT_ONCE = 256
"""Sizes of a cell that are looked at together."""
_MOST_SIZES = 1 << 20
"""Sizes that are looked at one by one; what is beyond them is bounded (I1)."""
_LARGEST = 1e15
"""Cells that no table has, and that are no exact numbers any more."""


class Sampling(NamedTuple):
    """Each record with probability `fraction`, published where `threshold` look alike, the map chosen with `search` of
    ε."""

    fraction: float
    threshold: int
    search: float = 0.0


class DifferentialPrivacy(Model):
    """One person changes the probability of any release by at most a factor e^ε, plus δ (by sampling and
    k-anonymity)."""

    name: ClassVar[str] = "differential-privacy"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="Differential privacy",
        holds=(
            "With ε = {asked.epsilon}, δ is at most {found.delta} (limit: {asked.delta}), if records were sampled as"
            " declared."
        ),
        violated="With ε = {asked.epsilon}, δ is {found.delta} (limit: {asked.delta}).",
        headline=(
            "One person's presence changes the probability of any release by a factor of at most "
            "{exp found.epsilon} (ε = {found.epsilon}), plus {found.delta}."
        ),
        limit="It relies on the declared sampling.",
    )
    sentence: ClassVar[str] = (
        "must find almost the same release without any one person: chances differ by a factor of at most e to the "
        "{epsilon}, but for a chance of {delta}"
    )
    paper: ClassVar[str] = "Li, Qardaji, Su 2012; Bild, Kuhn, Prasser 2018"
    judges: ClassVar[type] = Sampling
    monotone: ClassVar[bool] = False
    needs_sensitive: ClassVar[bool] = False
    bounds_candidates: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    levels: ClassVar[Mapping[str, Safer]] = {"epsilon": "less", "delta": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"epsilon": 1.0, "delta": 1e-3}, holds=Sampling(0.5, 60), fails=Sampling(0.5, 5)),
        Example({"epsilon": 1.0, "delta": 1e-3}, holds=Sampling(0.3, 60, 0.2), fails=Sampling(0.9, 60)),
    )

    epsilon: float = Field(gt=0, le=20, description="logarithm of the largest ratio of probabilities")
    delta: float = Field(gt=0, lt=1, description="probability that the factor may be exceeded")

    def satisfied(self, seen: Sampling) -> BoolArray:
        return np.array([exceptions(seen, self.epsilon) <= self.delta], dtype=np.bool_)

    def achieved(self, seen: Sampling) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": _rounded_up(exceptions(seen, self.epsilon))}

    def covers(self, other: Any) -> bool:
        return isinstance(other, DifferentialPrivacy) and self.epsilon <= other.epsilon and self.delta <= other.delta

    def threshold(self, fraction: float, search: float) -> int:
        """The fewest look-alikes that are enough; 0 when no number is."""

        def enough(k: int) -> bool:
            return exceptions(Sampling(fraction, k, search), self.epsilon) <= self.delta

        high = next((1 << power for power in range(_MOST_BITS) if enough(1 << power)), 0)
        low = high // 2 + 1 if high else 0
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle + 1, high)
        return low


def as_sampling_model(model: Model) -> DifferentialPrivacy | None:
    """The model when it is one of a draw, else nothing."""
    return model if isinstance(model, DifferentialPrivacy) else None


def exceptions(seen: Sampling, epsilon: float) -> float:
    """δ of a draw at this ε, over all sizes of a cell (I1)."""
    beta, k, left = seen.fraction, seen.threshold, epsilon - seen.search
    if not 0 < beta < 1 or k < 1 or left < -math.log1p(-beta) - 1e-12:
        return 1.0  # I2
    gamma = 1 - (1 - beta) * math.exp(-left)
    divergence = gamma * math.log(gamma / beta) + (1 - gamma) * math.log((1 - gamma) / (1 - beta))
    if k > _LARGEST * gamma:
        return min(1.0, math.exp(-k * divergence / gamma))  # I1, at the smallest size that matters
    worst, n = 0.0, max(k, math.ceil(k / gamma) - 2)  # I3
    last = n + _MOST_SIZES
    while math.exp(-n * divergence) > worst and n < last:
        sizes = np.arange(n, n + _AT_ONCE)
        worst = max(worst, float(_tails(sizes, beta, np.maximum(k, np.floor(gamma * sizes + 1e-12) + 1)).max()))
        n += _AT_ONCE
    return max(worst, math.exp(-n * divergence)) if worst == 0.0 or n >= last else worst


def _tails(sizes: IntArray, beta: float, first: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(Binomial(n, β) ≥ first) for each size n."""
    from scipy.stats import binom

    tails: NDArray[np.float64] = binom.sf(first - 1, sizes, beta)
    return tails


def _rounded_up(value: float) -> float:
    written = round_significant(value)
    return written if written >= value else round_significant(value * (1 + 1e-5))
