"""δ-disclosure privacy: every sensitive value is about as frequent among any person's candidates as in the whole
release.

Guarantee: the share of a value among a person's candidates differs from its share in the release by a factor below exp
δ, in both directions; so every value of the release occurs among each person's candidates.

Paper: Brickell and Shmatikov (2008), Definition 2.
Departures: candidates who lack a value of the release, or have one that a stated reference lacks, are said to have the level
    `WITHOUT`, since no δ allows them.
Invariants
    I1  Joining groups gives shares between those of the parts, and those of the release stay what they are: no factor is larger.

>>> DeltaDisclosure(delta=0.5).achieved(example_classes("aab", "abb")), DeltaDisclosure(delta=2).satisfied(example_classes("ab", "aa")).tolist()
({'delta': 0.405465}, [True, False])
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.base import ComparingModel, Example, Safer, all_hold, example_classes, round_significant

WITHOUT = 1e9
"""The level of candidates who lack a value of the release."""


class DeltaDisclosure(ComparingModel):  # I1
    """Every sensitive value is about as frequent in an equivalence class as in the whole release."""

    name: ClassVar[str] = "delta-disclosure"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="δ-disclosure privacy",
        holds=(
            "Shares of {hide} values differ from the overall shares by a factor of at most "
            "{exp found.delta} (limit: {exp asked.delta})."
        ),
        violated=(
            (
                "Shares of {hide} values differ from the overall shares by a factor of {exp found.delta} (limit: {exp"
                " asked.delta})."
            ),
            (
                "An equivalence class lacks a value of {hide} that occurs elsewhere (limit: a factor of {exp"
                " asked.delta})."
            ),
        ),
        headline=(
            "For an adversary who knows {given}, every value of {hide} stays within a factor of "
            "{exp found.delta} of its overall share."
        ),
        limit="It does not bound the class size.",
    )
    sentence: ClassVar[str] = (
        "may not see the share of any value of {hide} change by a factor beyond e to the {delta} "
        "(the whole table is counted {reference})"
    )
    paper: ClassVar[str] = "Brickell, Shmatikov 2008"
    levels: ClassVar[Mapping[str, Safer]] = {"delta": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"delta": 0.5}, holds=example_classes("aab", "abb"), fails=example_classes("aab", "bb")),
    )

    delta: float = Field(gt=0, le=WITHOUT / 2, description="largest absolute logarithm of the ratio of shares")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(linkage, [_farthest(spread) < self.delta for spread in self.spreads(linkage).values()])

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        largest = [float(_farthest(spread).max(initial=0.0)) for spread in self.spreads(linkage).values()]
        return {"delta": round_significant(max(largest, default=0.0))}

    def covers(self, other: Any) -> bool:
        return isinstance(other, DeltaDisclosure) and self.delta <= other.delta and self.reference == other.reference

    def excluded(self, column: str, labels: Sequence[str]) -> BoolArray:
        return self.missing_from_reference(column, labels)


def _farthest(spread: ValueDistribution) -> FloatArray:
    """The largest |ln q/p| of each kind."""
    overall = spread.overall()
    met = overall[spread.value]
    factor = np.where(met > 0, np.abs(np.log(spread.shares() / np.where(met > 0, met, 1.0))), WITHOUT)
    largest = np.maximum.reduceat(factor, spread.start[:-1]) if len(factor) else np.zeros(spread.kinds)
    return np.where(spread.distinct() < np.count_nonzero(overall), WITHOUT, largest)
