"""β-likeness: no sensitive value is much more frequent among any person's candidates than in the whole release.

Guarantee: the posterior probability of a value, after linking a person, is at most (1 + β) times its frequency in the
whole release.

Notation
    p, q      the share of a value in the whole release, and among a person's candidates
    gain      (q − p) / p, for values with q > p

Kinds
    basic     gain ≤ β for every value
    enhanced  gain ≤ min(β, −ln p): frequent values, whose gain cannot be large anyway, are protected as well

Paper: Cao and Karras (2012), Definitions 2 and 3. Departures: candidates in which a value breaks −ln p, or which have a
value that a stated reference lacks, are said to have the
    gain `BEYOND`, since no β allows them.
Invariants
    I1  Joining groups gives shares between those of the parts, and p stays what it is; so no gain is larger than the
        largest.

>>> link = example_classes("aab", "abb")
>>> BetaLikeness(beta=0.4).achieved(link), BetaLikeness(beta=0.3).satisfied(link).tolist()
({'beta': 0.333333, 'kind': 'basic'}, [False, False])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.base import ComparingModel, Example, Safer, all_hold, example_classes, round_significant

BEYOND = 1e9
"""The gain of values that no β of the enhanced kind allows."""


class BetaLikeness(ComparingModel):  # I1
    """No sensitive value is much more frequent in an equivalence class than in the whole release."""

    name: ClassVar[str] = "beta-likeness"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="β-likeness",
        holds=(
            "A value of {hide} is at most {1+found.beta} times as frequent in an equivalence class as "
            "overall (limit: {1+asked.beta})."
        ),
        violated=(
            (
                "A value of {hide} is {1+found.beta} times as frequent in an equivalence class as overall (limit:"
                " {1+asked.beta})."
            ),
            (
                "A frequent value of {hide} exceeds the limit of the enhanced kind ({1+asked.beta} times as frequent as"
                " overall)."
            ),
        ),
        headline=(
            "For an adversary who knows {given}, no value of {hide} becomes more than {1+found.beta} times as likely as"
            " overall."
        ),
        limit="Values may become less likely, even impossible.",
    )
    variants: ClassVar[tuple[str, Mapping[str, Wording]]] = (
        "kind",
        {
            "enhanced": Wording(
                group="privacy",
                title="β-likeness (enhanced)",
                code="beta-likeness",
                holds=(
                    "A value of {hide} is at most {1+found.beta} times as frequent in an equivalence class as "
                    "overall (limit: {1+asked.beta})."
                ),
                violated=(
                    "A value of {hide} is {1+found.beta} times as frequent in an equivalence class as overall "
                    "(limit: {1+asked.beta})."
                ),
                headline=(
                    "For an adversary who knows {given}, no value of {hide} becomes more than {1+found.beta} "
                    "times as likely as overall; frequent values less."
                ),
                limit="Values may become less likely, even impossible.",
            )
        },
    )
    sentence: ClassVar[str] = (
        "may not see the share of any value of {hide} grow by more than {beta} times its share overall ({kind}; "
        "the whole release is counted {reference})"
    )
    paper: ClassVar[str] = "Cao, Karras 2012"
    levels: ClassVar[Mapping[str, Safer]] = {"beta": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"beta": 0.5}, holds=example_classes("aab", "abb"), fails=example_classes("aaa", "abb", "bbb")),
        Example(
            {"beta": 2, "kind": "enhanced"}, holds=example_classes("abc", "abc"), fails=example_classes("aaaa", "abcd")
        ),
    )

    beta: float = Field(gt=0, le=BEYOND / 2, description="largest relative gain of a value's share")
    kind: Literal["basic", "enhanced"] = Field(
        default="basic", description="enhanced: frequent values are protected as well"
    )

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(
            linkage, [self._gains(spread) <= self.beta * (1 + 1e-12) for spread in self.spreads(linkage).values()]
        )

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        largest = [float(self._gains(spread).max(initial=0.0)) for spread in self.spreads(linkage).values()]
        return {"beta": round_significant(max(largest, default=0.0)), "kind": self.kind}

    def covers(self, other: Any) -> bool:
        same = isinstance(other, BetaLikeness) and self.reference == other.reference
        return same and self.beta <= other.beta and other.kind in (self.kind, "basic")

    def excluded(self, column: str, labels: Sequence[str]) -> BoolArray:
        return self.missing_from_reference(column, labels)

    def _gains(self, spread: ValueDistribution) -> FloatArray:
        """The largest gain among the candidates of each kind."""
        overall = spread.overall()[spread.value]
        known = np.where(overall > 0, overall, 1.0)
        gain = np.where(overall > 0, np.maximum(spread.shares() / known - 1, 0.0), BEYOND)
        if self.kind == "enhanced":
            gain = np.where(gain > -np.log(known) + 1e-12, BEYOND, gain)
        largest: FloatArray = np.maximum.reduceat(gain, spread.start[:-1]) if len(gain) else np.zeros(spread.kinds)
        return largest
