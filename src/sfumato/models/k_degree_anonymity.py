"""k-degree anonymity: everybody shares the published number of ties with at least k − 1 others.

Guarantee: an adversary who knows a person's degree in the published graph finds the person with probability at most
1/k. It does not protect against an adversary who knows more of the structure than degrees. Paper: [obfuscation §3],
after Liu and Terzi.

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 1]), {})
>>> KDegreeAnonymity(k=2).achieved(link)
{'k': 1}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, example_classes


class KDegreeAnonymity(Model):
    """Every node shares its published degree with at least k − 1 others."""

    name: ClassVar[str] = "k-degree-anonymity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="k-degree anonymity",
        holds="Every number of ties is shared by at least {found.k person/people} (required: {asked.k}).",
        violated="A number of ties is shared by only {found.k person/people} (required: {asked.k}).",
        headline=(
            "An adversary who knows a person's number of ties in the published graph is left with at least {found.k"
            " person/people}."
        ),
        limit="It promises nothing against an adversary who knows more of the structure.",
    )
    sentence: ClassVar[str] = "must find at least {k} people with the same number of ties"
    paper: ClassVar[str] = "obfuscation §3"
    needs_sensitive: ClassVar[bool] = False
    bounds_candidates: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("graph",)
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"k": 2}, holds=example_classes("aa", "aaa"), fails=example_classes("aa", "a")),
    )

    k: int = Field(ge=1, description="smallest number of nodes with the same degree")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return linkage.candidates >= self.k

    def demand(self) -> Demand:
        return Demand(candidates=self.k, sufficient=True)

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"k": int(linkage.candidates.min()) if len(linkage.candidates) else 0}
