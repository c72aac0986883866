"""Subset anonymity: an adversary who knows up to m quasi-identifiers of a person has at least k candidate rows.

Candidates are the rows that show the same in the known columns; a suppressed cell is like a suppressed cell and nothing
else. Exchanging any two of them contradicts nothing that the adversary knows about these columns, so each belongs to a
given person with probability at most 1/k.

Guarantee: any m known columns, whichever they are, leave everybody among at least k rows that look alike in them.
Nothing is said about adversaries who know more columns, and nothing about sensitive values. Departures: sdcMicro lets a
suppressed cell fit every value, so k wholly suppressed rows would make everybody safe. They do not: a person whose
published values are unique is found by an adversary who knows them, however many rows are suppressed.

>>> import numpy as np
>>> link = Linkage(np.array([1, 1]), np.array([4, 2]))
>>> SubsetAnonymity(k=3, m=2).satisfied(link).tolist(), SubsetAnonymity(k=3, m=2).achieved(link)
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


class SubsetAnonymity(Model):
    """An adversary who knows up to m quasi-identifiers of a person has at least k candidates."""

    name: ClassVar[str] = "subset-anonymity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="k-anonymity for m columns",
        holds=(
            "Any {asked.m column/columns} of {given} leave at least {found.k record/records} (required: {asked.k})."
        ),
        violated=(
            "Some {asked.m column/columns} of {given} leave only {found.k record/records} (required: {asked.k})."
        ),
        headline=("An adversary who knows any {asked.m} of {given} is left with at least {found.k record/records}."),
        limit="It promises nothing against an adversary who knows more columns.",
    )
    sentence: ClassVar[str] = "and up to {m} of them of a person must find at least {k} published rows that fit"
    paper: ClassVar[str] = "Templ, Kowarik, Meindl 2015"
    bounds_candidates: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"k": 3, "m": 2}, holds=example_classes("aaa", "aaaa"), fails=example_classes("aaa", "aa")),
    )

    k: int = Field(ge=1, description="smallest number of candidates")
    m: int = Field(ge=1, le=8, description="largest number of quasi-identifiers that the adversary knows")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return linkage.candidates >= self.k

    def demand(self) -> Demand:
        return Demand(candidates=self.k, sufficient=True)

    @property
    def known_columns(self) -> int | None:
        return self.m

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"k": int(linkage.candidates.min()) if len(linkage.candidates) else 0, "m": self.m}
