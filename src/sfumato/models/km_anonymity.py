"""k^m-anonymity: an adversary who knows up to m items of a person has at least k candidate records.

Guarantee
    Any set of at most m items that a person has fits at least k published records. Nothing is said about adversaries
    who know more than m items, and nothing about labels.
Paper
    Terrovitis, Mamoulis, Kalnis, "Privacy-preserving anonymization of set-valued data" (2008), as cited in [multitype
    2].

>>> import numpy as np
>>> link = Linkage(np.array([1, 1]), np.array([4, 2]))
>>> KmAnonymity(k=3, m=2).satisfied(link).tolist(), KmAnonymity(k=3, m=2).achieved(link)
([True, False], {'k': 2, 'm': 2})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, example_classes


class KmAnonymity(Model):
    """An adversary who knows up to m items of a person has at least k candidates."""

    name: ClassVar[str] = "km-anonymity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="k^m-anonymity",
        holds="Any {asked.m item/items} of a person fit at least {found.k record/records} (required: {asked.k}).",
        violated="Some {asked.m item/items} of a person fit only {found.k record/records} (required: {asked.k}).",
        headline=(
            "An adversary who knows at most {asked.m item/items} of a person is left with at least {found.k"
            " record/records}."
        ),
        limit="It promises nothing against an adversary who knows more items, and nothing about labels.",
    )
    sentence: ClassVar[str] = "and up to {m} items of a person must find at least {k} records that fit"
    paper: ClassVar[str] = "multitype §2"
    bounds_candidates: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("baskets",)
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"k": 3, "m": 2}, holds=example_classes("aaa", "aaaa"), fails=example_classes("aaa", "aa")),
    )

    k: int = Field(ge=1, description="smallest number of candidates")
    m: int = Field(ge=1, le=8, description="largest number of items that the adversary knows")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return linkage.candidates >= self.k

    def demand(self) -> Demand:
        return Demand(candidates=self.k, sufficient=True)

    @property
    def known_items(self) -> int | None:
        return self.m

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"k": int(linkage.candidates.min()) if len(linkage.candidates) else 0, "m": self.m}
