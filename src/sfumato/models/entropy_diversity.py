"""Entropy diversity: the values among everybody's candidates have at least the entropy of l equally frequent ones, by an estimator.

Guarantee, by estimator
    shannon       the entropy of the candidates' own values, −Σ p ln p: what an outsider who draws one of them is missing. The
                  same as l-diversity of the kind `entropy`
    grassberger   the entropy of the law that the candidates' values were drawn from, of which a few candidates show too little.
                  It speaks about people like these, not about these: two candidates with two values count as seven. ARX
                  offers it, and so do we; a promise to the people in the table it is not

Notation
    n, N          how many candidates have a value; how many there are
    G             G₁ = −γ − ln 2, G₂ = 2 − γ − ln 2, Gₙ = Gₙ₋₁ for odd n, Gₙ = Gₙ₋₂ + 2/(n − 1) for even n
    grassberger   ln N − Σ (n/N) Gₙ

Papers: Machanavajjhala et al. (2006); Grassberger (2003).

Invariants
    I1  Gₙ − ln n is largest at n = 2: 0.0365. So shannon's entropy of at least ln l + 0.0365 implies grassberger's of at least
        ln l; it survives joining groups, which grassberger's does not, and is what methods look for (`by_group`).
    I2  Weights that are no whole numbers (somebody who stands in several buckets) were not drawn: the estimate is 0.

>>> EntropyDiversity(l=2).achieved(crowd("ab", "aabc")), EntropyDiversity(l=2, estimator="grassberger").achieved(crowd("aabb"))
({'l': 2.0, 'estimator': 'shannon'}, {'l': 1.92834, 'estimator': 'grassberger'})
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.data.arrays import BoolArray, FloatArray
from sfumato.data.linkage import Linkage, Spread
from sfumato.models.base import Example, Model, Safer, crowd, everywhere, rounded
from sfumato.models.l_diversity import LDiversity

MARGIN = 2 - float(np.euler_gamma) - 2 * math.log(2)
"""G₂ − ln 2, the most that the estimate can fall below shannon's entropy (I1)."""


class EntropyDiversity(Model):
    """The values among everybody's candidates have the entropy of l equally frequent ones, by a chosen estimator."""

    name: ClassVar[str] = "entropy-diversity"
    sentence: ClassVar[str] = "must find values of {hide} with the entropy of {l} equally frequent ones (estimator: {estimator})"
    paper: ClassVar[str] = "Machanavajjhala et al. 2006; Grassberger 2003"
    monotone: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    levels: ClassVar[Mapping[str, Safer]] = {"l": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"l": 2.5}, holds=crowd("abc", "aabcd"), fails=crowd("abc", "aaaabc")),
        Example({"l": 2, "estimator": "grassberger"}, holds=crowd("aabbcc", "ab"), fails=crowd("aabb", "aabbcc")),
    )

    l: float = Field(ge=1, description="how many equally frequent values would have as much entropy")
    estimator: Literal["shannon", "grassberger"] = Field(default="shannon", description="of the candidates, or of people like them")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return everywhere(linkage, [self._level(spread) >= self.l * (1 - 1e-12) for spread in linkage.spread.values()])

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        levels = [float(self._level(spread).min()) for spread in linkage.spread.values() if spread.kinds]
        return {"l": rounded(min(levels, default=0.0)), "estimator": self.estimator}

    def by_group(self) -> Model:  # I1
        return LDiversity(l=self.l * (math.exp(MARGIN) if self.estimator == "grassberger" else 1.0), kind="entropy")

    def covers(self, other: Any) -> bool:
        return isinstance(other, EntropyDiversity) and self.estimator == other.estimator and self.l >= other.l

    def _level(self, spread: Spread) -> FloatArray:
        of = np.log(spread.weight) if self.estimator == "shannon" else _digammas(spread)
        inside = np.bincount(spread.kind(), weights=spread.shares() * of, minlength=spread.kinds)
        levels: FloatArray = np.exp(np.log(np.maximum(spread.total(), 1)) - inside)
        return levels


def _digammas(spread: Spread) -> FloatArray:
    """Gₙ of every weight; beyond all bounds where a weight is no whole number (I2)."""
    weight = np.asarray(spread.weight)
    whole = np.rint(weight).astype(np.int64)
    even = np.concatenate([[0.0], np.cumsum(2 / np.arange(1, int(whole.max(initial=0)) + 2, 2))]) - np.euler_gamma - math.log(2)
    return np.where(np.abs(weight - whole) < 1e-9, even[whole // 2], np.inf)
