"""k-anonymity: everybody is left among at least k published candidates.

Guarantee: an adversary who knows a person's quasi-identifiers finds the record with probability at most 1/k. Paper:
[boundaries Def. 1, 2]

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 0, 1, 1]), {})
>>> KAnonymity(k=3).satisfied(link).tolist(), KAnonymity(k=3).achieved(link)
([True, False], {'k': 2})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, Short, example_classes


class KAnonymity(Model):
    """Every person has at least k candidates: rows with the same published quasi-identifiers."""

    name: ClassVar[str] = "k-anonymity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="k-anonymity",
        holds="The smallest equivalence class has {found.k record/records} (required: {asked.k}).",
        violated="The smallest equivalence class has only {found.k record/records} (required: {asked.k}).",
        headline="An adversary who knows {given} is left with at least {found.k} {unit}.",
        limit="The candidates may all share one sensitive value.",
    )
    sentence: ClassVar[str] = "must be left with at least {k} candidates"
    paper: ClassVar[str] = "boundaries Def. 2"
    bounds_candidates: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = False
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    short: ClassVar[Short | None] = Short("anonymity", "k")
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"k": 4}, holds=example_classes("aaaa", "aabbb"), fails=example_classes("aaaa", "abc")),
    )

    k: int = Field(ge=1, description="smallest number of candidates of any person")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return linkage.candidates >= self.k

    def demand(self) -> Demand:
        return Demand(candidates=self.k, sufficient=True)

    def covers(self, other: Any) -> bool:
        return isinstance(other, KAnonymity) and self.k >= other.k

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"k": int(linkage.candidates.min()) if len(linkage.candidates) else 0}
