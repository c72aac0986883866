"""k-map: every published row could be any of at least k people of the population that the table is a sample of.

Guarantee: an adversary who knows the quasi-identifiers of the whole population, and not who is in the table, names the
person of a row with probability at most 1/k. k-anonymity implies it. A row that is unique in the table may still fit
many people of the population.

Population (``population:`` in the policy)
    file        a table of the population: people who fit the published cells are counted, which is exact
    fraction    the share that was sampled: a lower bound on the people behind each class at a confidence
                (`tables.sample_weights`)
    weight      a column with how many people a record stands for: their sum over a class
    The last two are graded *estimate*.

Paper: Sweeney (2002), section 5; El Emam, Dankar (2008) for the estimate.
Invariants
    I1  Joining classes adds people, so groups that satisfy it satisfy it together.

>>> import numpy as np
>>> link = Linkage(np.array([1, 2]), np.array([7, 4]))
>>> KMap(k=5).satisfied(link).tolist(), KMap(k=5).achieved(link)
([True, False], {'k': 4})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Example, Model, Safer, example_classes


class KMap(Model):  # I1
    """Every published row fits at least k people of the population."""

    name: ClassVar[str] = "k-map"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="k-map",
        holds="Every record fits at least {found.k person/people} of the population (required: {asked.k}).",
        violated="A record fits only {found.k person/people} of the population (required: {asked.k}).",
        headline=(
            "An adversary who knows {given} of the whole population, not who was sampled, is left with "
            "at least {found.k people/people}."
        ),
        limit="An adversary who knows who is in the data may do better.",
    )
    sentence: ClassVar[str] = (
        "and not who is in the table must find at least {k} people of the population for every row"
    )
    paper: ClassVar[str] = "Sweeney 2002; El Emam, Dankar 2008"
    bounds_candidates: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"k": 4}, holds=example_classes("aaaa", "aabbb"), fails=example_classes("aaaa", "abc")),
    )

    k: int = Field(ge=1, description="smallest number of people of the population that fit a published row")

    @property
    def of_population(self) -> bool:
        return True

    @property
    def people_behind(self) -> int | None:
        return self.k

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return linkage.candidates >= self.k

    def covers(self, other: Any) -> bool:
        return isinstance(other, KMap) and self.k >= other.k

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {"k": int(linkage.candidates.min()) if len(linkage.candidates) else 0}
