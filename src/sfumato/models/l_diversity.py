"""l-diversity: the sensitive values among each person's candidates are at least l well represented.

Guarantee, by kind
    distinct    at least l different values
    frequency   no value has more than 1/l of the candidates: a guess is right with probability at most 1/l
    entropy     the entropy of the values is at least log l
    recursive   the most frequent value is less than c times as frequent as the l-th and all rarer ones together

Paper: [obfuscation §3.3], [versatile §2]; the kinds are those of Machanavajjhala et al. (2006).
Invariants
    I1  What is equal is not less: a person in several buckets is a mixture of shares, whose sums are not exact, and the
        strict inequality of the recursive kind must not be won by the last bit.
    I2  All four kinds survive joining groups (frequency: a mixture of shares ≤ 1/l; entropy is concave; recursive: l −
        1 largest values of the union are covered by those of the parts).

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 0, 1, 1]), {"illness": (np.array([0, 1, 1, 0, 1]), ("flu", "gout"))})
>>> LDiversity(l=2).satisfied(link).tolist(), LDiversity(l=2, kind="frequency").satisfied(link).tolist()
([True, True], [False, True])
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.base import Demand, Example, Model, Safer, Short, all_hold, example_classes, round_significant

Kind = Literal["distinct", "frequency", "entropy", "recursive"]
_WEAKER: dict[str, tuple[str, ...]] = {
    "frequency": ("frequency", "entropy", "distinct"),
    "entropy": ("entropy", "distinct"),
    "distinct": ("distinct",),
    "recursive": ("recursive",),
}


class LDiversity(Model):  # I2
    """Every equivalence class has at least l well-represented sensitive values.

    A combination splits the values of its columns. Splitting adds values, lowers the largest share and raises the
    entropy; the l − 1 most frequent parts lie in at most l − 1 values, so what is left beside them does not shrink
    (recursive)."""

    name: ClassVar[str] = "l-diversity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="l-diversity (distinct)",
        code="l-diversity",
        holds=(
            "Every equivalence class has at least {found.l different value/different values} of {hide} (required:"
            " {asked.l})."
        ),
        violated=(
            "An equivalence class has only {found.l different value/different values} of {hide} (required: {asked.l})."
        ),
        headline=(
            "An adversary who knows {given} is left with at least {found.l different value/different values} of {hide}."
        ),
        limit="One value may be far more frequent than the others.",
    )
    variants: ClassVar[tuple[str, Mapping[str, Wording]]] = (
        "kind",
        {
            "frequency": Wording(
                group="privacy",
                title="l-diversity (frequency)",
                code="l-diversity",
                holds="No value of {hide} covers more than 1/{found.l} of an equivalence class (limit: 1/{asked.l}).",
                violated="A value of {hide} covers 1/{found.l} of an equivalence class (limit: 1/{asked.l}).",
                headline=(
                    "An adversary who knows {given} guesses {hide} correctly with probability at most 1/{found.l}."
                ),
                limit="Values may be similar in meaning.",
            ),
            "entropy": Wording(
                group="privacy",
                title="l-diversity (entropy)",
                code="l-diversity",
                holds=(
                    "In every equivalence class {hide} has the entropy of at least {found.l} equally frequent "
                    "values (required: {asked.l})."
                ),
                violated=(
                    "In an equivalence class {hide} has the entropy of only {found.l} equally frequent values "
                    "(required: {asked.l})."
                ),
                headline=(
                    "An adversary who knows {given} faces values of {hide} as uncertain (entropy) as {found.l} "
                    "equally frequent ones."
                ),
                limit="A single guess may be right more often than 1/l.",
            ),
            "recursive": Wording(
                group="privacy",
                title="l-diversity (recursive)",
                code="l-diversity",
                holds=(
                    "In every equivalence class {hide} is recursively diverse up to rank {found.l} (required: "
                    "{asked.l}, factor {asked.c})."
                ),
                violated=(
                    "In an equivalence class {hide} is recursively diverse only up to rank {found.l} "
                    "(required: {asked.l}, factor {asked.c})."
                ),
                headline=(
                    "For an adversary who knows {given}, the top value of {hide} stays below {asked.c} times "
                    "ranks {asked.l} and rarer together."
                ),
                limit="It gives no probability by itself.",
            ),
        },
    )
    sentence: ClassVar[str] = (
        "must be left with at least {l} different values of {hide} ({kind}; factor {c} for the recursive kind)"
    )
    paper: ClassVar[str] = "versatile §2; obfuscation §3.3"
    levels: ClassVar[Mapping[str, Safer]] = {"l": "more"}
    hides_combinations: ClassVar[bool] = True
    short: ClassVar[Short | None] = Short("diversity", "l", {"kind": "frequency"})
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"l": 3}, holds=example_classes("abc", "aaabd"), fails=example_classes("abc", "aabb")),
        Example({"l": 2, "kind": "frequency"}, holds=example_classes("ab", "aabc"), fails=example_classes("ab", "aab")),
        Example(
            {"l": 2.5, "kind": "entropy"}, holds=example_classes("abc", "aabcd"), fails=example_classes("abc", "aaaabc")
        ),
        Example(
            {"l": 2, "kind": "recursive", "c": 2},
            holds=example_classes("ab", "aaabb"),
            fails=example_classes("ab", "aaaabb"),
        ),
    )

    l: float = Field(ge=1, description="number of well-represented values")
    kind: Kind = Field(default="distinct", description="distinct, frequency, entropy or recursive")
    c: float = Field(default=3.0, gt=0, description="the factor of recursive diversity")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(linkage, [self._level(spread) >= self.l * (1 - 1e-12) for spread in linkage.spread.values()])

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        levels = [float(self._level(spread).min()) for spread in linkage.spread.values() if spread.kinds]
        return {"l": _whole(round_significant(min(levels, default=0.0))), "kind": self.kind, **self._factor()}

    def demand(self) -> Demand:
        """l different values, whatever the kind; shares for the frequency kind. The other two ask more than that
        says."""
        share = 1 / self.l if self.kind == "frequency" else 1.0
        entropy = math.log(self.l) if self.kind == "entropy" else 0.0
        counted = self.kind in ("distinct", "frequency")
        return Demand(1, math.ceil(self.l - 1e-9), share, counted, entropy, complete=self.kind == "entropy")

    def covers(self, other: Any) -> bool:
        """Frequency is stronger than entropy (entropy ≥ −log of the largest share), and entropy than distinct."""
        if not isinstance(other, LDiversity) or self.l < other.l:
            return False
        return other.kind in _WEAKER[self.kind] and (self.kind != "recursive" or self.c <= other.c)

    def required(self) -> dict[str, Any]:
        return {"l": _whole(self.l), "kind": self.kind, **self._factor()}

    def _factor(self) -> dict[str, Any]:
        return {"c": self.c} if self.kind == "recursive" else {}

    def _level(self, spread: ValueDistribution) -> FloatArray:
        """The largest l that holds for each kind of person."""
        if self.kind == "distinct":
            return spread.distinct().astype(np.float64)
        if self.kind == "frequency":
            levels: FloatArray = spread.total() / spread.largest()
            return levels
        if self.kind == "entropy":
            return _entropy_level(spread)
        return _recursive_level(spread, self.c)


def _whole(level: float) -> float:
    """2 rather than 2.0."""
    return int(level) if level == int(level) else level


def _entropy_level(spread: ValueDistribution) -> FloatArray:
    shares = spread.shares()
    entropy = np.bincount(spread.kind(), weights=-shares * np.log(shares), minlength=spread.kinds)
    return np.exp(entropy)


def _recursive_level(spread: ValueDistribution, c: float) -> FloatArray:
    """The largest l with ``r₁ < c (r_l + … + r_m)``, 0 when there is none; r sorted from frequent to rare."""
    kind = spread.kind()
    order = np.lexsort((-spread.weight, kind))
    weight = spread.weight[order]
    before = np.cumsum(weight) - weight
    rest = np.repeat(np.append(before, weight.sum())[spread.start[1:]], spread.distinct()) - before  # r_i + … + r_m
    fits = spread.largest()[kind] < c * rest * (1 - 1e-12)  # I1
    return np.bincount(kind, weights=fits, minlength=spread.kinds).astype(
        np.float64
    )  # fits holds for a prefix of ranks
