"""Entropy diversity: the values among each person's candidates have at least the entropy of l equally frequent ones, by
an estimator.

Guarantee, by estimator
    shannon       the entropy of the candidates' own values, −Σ p ln p: what an adversary who draws one of them is
                  missing. The same as l-diversity of the kind `entropy`
    grassberger   the entropy of the law that the candidates' values were drawn from, of which a few candidates show too little,
                  and never more than as many values as they have: one value is never diverse. It is about people like
                  these, not about these: a, a and b count as 1.95 values, 1.89 by shannon

Notation
    n, N          how many candidates have a value; how many there are
    G             G₁ = −γ − ln 2, G₂ = 2 − γ − ln 2, Gₙ = Gₙ₋₁ for odd n, Gₙ = Gₙ₋₂ + 2/(n − 1) for even n
    grassberger   G_N − Σ (n/N) Gₙ, at most the logarithm of the number of values

Papers: Machanavajjhala et al. (2006); Grassberger (2003); Stammler, Katzenbeisser, Hamacher (2016).

Departures
    Grassberger has ln N where G_N stands here, as in ARX: one candidate alone would count as 3.6 values. With G_N, candidates who
    all have the same value have entropy 0, as they should. ARX asks for l values, too: the same as the bound on the estimate.

Invariants
    I1  Gₙ − ln n is largest at n = 2, and ln N − G_N falls over the odd N and is negative at even ones. Shannon's entropy of ln l'
        needs l' candidates, so ln l + (G₂ − ln 2) + (ln N − G_N) at the first odd N from l on, 3 at least, implies grassberger's
        of ln l; it survives joining groups, which grassberger's does not, and is what methods look for (`by_group`).
    I2  Weights that are no whole numbers (a record with several possible buckets) were not drawn: the estimate is 0.

>>> EntropyDiversity(l=2).achieved(example_classes("ab", "aabc")), EntropyDiversity(l=2, estimator="grassberger").achieved(example_classes("aabb"))
({'l': 2.0, 'estimator': 'shannon'}, {'l': 1.94773, 'estimator': 'grassberger'})
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.base import Example, Model, Safer, all_hold, example_classes, round_significant
from sfumato.models.l_diversity import LDiversity

_FIRST = -float(np.euler_gamma) - math.log(2)
"""G₁."""


class EntropyDiversity(Model):
    """The entropy of the sensitive values in every class is at least that of l equally frequent values."""

    name: ClassVar[str] = "entropy-diversity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        code="entropy-diversity",
        title="Entropy diversity",
        holds=(
            "In every equivalence class {hide} has the entropy of at least {found.l} equal values "
            "(required: {asked.l}, estimator: {asked.estimator})."
        ),
        violated=(
            "In an equivalence class {hide} has the entropy of only {found.l} equal values (required: "
            "{asked.l}, estimator: {asked.estimator})."
        ),
        headline=(
            "An adversary who knows {given} faces values of {hide} as uncertain (entropy) as {found.l} equally frequent"
            " ones."
        ),
        limit="A single guess may be right more often than 1/l.",
    )
    variants: ClassVar[tuple[str, Mapping[str, Wording]]] = (
        "estimator",
        {
            "grassberger": Wording(
                group="privacy",
                code="entropy-diversity",
                title="Entropy diversity (estimated)",
                holds=(
                    "In every equivalence class {hide} has the entropy of at least {found.l} equal values "
                    "(required: {asked.l}, estimator: {asked.estimator})."
                ),
                violated=(
                    "In an equivalence class {hide} has the entropy of only {found.l} equal values (required: "
                    "{asked.l}, estimator: {asked.estimator})."
                ),
                headline=(
                    "Estimated from the records that match {given}, {hide} is as uncertain (entropy) as "
                    "{found.l} equally frequent values."
                ),
                limit="It describes people like these, not these people.",
            )
        },
    )
    sentence: ClassVar[str] = (
        "must find values of {hide} with the entropy of {l} equally frequent ones (estimator: {estimator})"
    )
    paper: ClassVar[str] = "Machanavajjhala et al. 2006; Grassberger 2003"
    monotone: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    levels: ClassVar[Mapping[str, Safer]] = {"l": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"l": 2.5}, holds=example_classes("abc", "aabcd"), fails=example_classes("abc", "aaaabc")),
        Example(
            {"l": 2, "estimator": "grassberger"},
            holds=example_classes("aabbcc", "ab"),
            fails=example_classes("aabb", "aabbcc"),
        ),
        Example(
            {"l": 1.5, "estimator": "grassberger"}, holds=example_classes("aab"), fails=example_classes("a", "aab")
        ),
    )

    l: float = Field(ge=1, description="number of equally frequent values with the same entropy")
    estimator: Literal["shannon", "grassberger"] = Field(
        default="shannon", description="shannon: entropy of the class; grassberger: estimate for the population"
    )

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(linkage, [self._level(spread) >= self.l * (1 - 1e-12) for spread in linkage.spread.values()])

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        levels = [float(self._level(spread).min()) for spread in linkage.spread.values() if spread.kinds]
        return {"l": round_significant(min(levels, default=0.0)), "estimator": self.estimator}

    def by_group(self) -> Model:  # I1
        return LDiversity(
            l=self.l * (math.exp(margin(self.l)) if self.estimator == "grassberger" else 1.0), kind="entropy"
        )

    def covers(self, other: Any) -> bool:
        return isinstance(other, EntropyDiversity) and self.estimator == other.estimator and self.l >= other.l

    def _level(self, spread: ValueDistribution) -> FloatArray:
        of = np.log if self.estimator == "shannon" else corrected_logarithms
        inside = np.bincount(spread.kind(), weights=spread.shares() * of(spread.weight), minlength=spread.kinds)
        known = inside < np.inf
        levels: FloatArray = np.exp(np.where(known, of(np.maximum(spread.total(), 1)), 0.0) - inside)
        return levels if self.estimator == "shannon" else np.minimum(levels, spread.distinct())


def corrected_logarithms(weights: NDArray[Any]) -> FloatArray:
    """Gₙ of every weight; beyond all bounds where a weight is no whole number (I2)."""
    whole = np.rint(weights).astype(np.int64)
    even = np.concatenate([[0.0], np.cumsum(2 / np.arange(1, int(whole.max(initial=0)) + 2, 2))]) + _FIRST
    return np.where(np.abs(weights - whole) < 1e-9, even[whole // 2], np.inf)


def margin(l: float) -> float:
    """The most that the estimate can fall below shannon's entropy of l candidates or more (I1)."""
    odd = max(math.ceil(l) | 1, 3)
    pair, at_odd = corrected_logarithms(np.array([2, odd]))
    return float(pair - math.log(2) + max(math.log(odd) - at_odd, 0.0))
