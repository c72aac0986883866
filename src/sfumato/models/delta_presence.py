"""δ-presence: nobody of the population can be told to be in the table, or not to be, with more than a given certainty.

Guarantee: for every person of the population the probability of being in the table is at least `at_least` and at most
`at_most`, for an adversary who knows the quasi-identifiers of the whole population.

Definition: of the F people of the population who fit a class, f stand behind its rows: f / F for each of them; 0 for
those who fit no class. Who is left out of the release counts as not in it.

Paper: Nergiz, Atzori, Clifton (2007).
Departures
    The paper's tables generalize a column everywhere alike, so that everybody fits one class. A person who fits several
    classes has bounds. Persons who fit the same classes have at most all rows of these classes, and at least the rows
    of classes that fit no other person.
Invariants
    I1  The share of a union lies between the shares of its parts, so groups that satisfy it satisfy it together.

>>> presence = example_classes("1100", "1000")
>>> DeltaPresence(at_most=0.5).satisfied(presence).tolist(), DeltaPresence(at_least=0.3,
...     at_most=0.5).satisfied(presence).tolist()
([True, True], [True, False])
>>> DeltaPresence(at_most=0.5).achieved(presence)
{'at_least': 0.25, 'at_most': 0.5}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from sfumato.core.arrays import BoolArray, FloatArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.base import Example, Model, Safer, all_hold, example_classes, round_significant

IN = "1"
"""The value of a person of the population who is in the table."""


class DeltaPresence(Model):  # I1
    """For every person of the population the probability to be in the table is between two bounds."""

    name: ClassVar[str] = "delta-presence"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="δ-presence",
        holds=(
            "The probability of being in the data lies between {found.at_least %} and "
            "{found.at_most %} (allowed: {asked.at_least %} to {asked.at_most %})."
        ),
        violated=(
            "The probability of being in the data reaches from {found.at_least %} to {found.at_most %} "
            "(allowed: {asked.at_least %} to {asked.at_most %})."
        ),
        headline=(
            "An adversary who knows the population believes anyone to be in the data with probability "
            "{found.at_least %} to {found.at_most %}."
        ),
        limit="It does not protect sensitive values.",
    )
    sentence: ClassVar[str] = (
        "may find of everybody in the population that they are in the table with a chance between {at_least} and"
        " {at_most} only"
    )
    paper: ClassVar[str] = "Nergiz, Atzori, Clifton 2007"
    bounds_candidates: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = False
    needs_everybody: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    levels: ClassVar[Mapping[str, Safer]] = {"at_most": "less", "at_least": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"at_most": 0.6}, holds=example_classes("1100", "100"), fails=example_classes("1100", "110")),
        Example(
            {"at_least": 0.05, "at_most": 0.9},
            holds=example_classes("1100", "10"),
            fails=example_classes("1100", "000"),
        ),
    )

    at_least: float = Field(
        default=0.0, ge=0, le=1, description="smallest probability that a person of the population is in the table"
    )
    at_most: float = Field(ge=0, le=1, description="largest probability")

    @model_validator(mode="after")
    def _ordered(self) -> DeltaPresence:
        if self.at_least > self.at_most:
            raise ValueError("'at_least' is larger than 'at_most'")
        return self

    @property
    def of_population(self) -> bool:
        return True

    def satisfied(self, linkage: Linkage) -> BoolArray:
        shares = [_present(spread) for spread in linkage.spread.values()]
        return all_hold(
            linkage, [(share >= self.at_least - 1e-12) & (share <= self.at_most + 1e-12) for share in shares]
        )

    def covers(self, other: Any) -> bool:
        return isinstance(other, DeltaPresence) and self.at_least >= other.at_least and self.at_most <= other.at_most

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        shares = np.concatenate([np.zeros(0), *(_present(spread) for spread in linkage.spread.values())])
        least, most = (float(shares.min()), float(shares.max())) if len(shares) else (0.0, 1.0)
        return {"at_least": round_significant(least), "at_most": round_significant(most)}


def _present(spread: ValueDistribution) -> FloatArray:
    """The share of each kind that is in the table."""
    inside = np.array([label == IN for label in spread.labels], dtype=np.bool_)[spread.value]
    present = np.bincount(spread.kind(), weights=spread.shares() * inside, minlength=spread.kinds)
    return present.astype(np.float64)
