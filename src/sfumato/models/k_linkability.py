"""k-linkability: every person has at least k possible sensitive values for an adversary who joins all releases.

Guarantee: with every release published so far, an adversary who knows a person's quasi-identifiers is left with at
least k different sensitive values. It does not bound how likely each of them is. Paper: [sequential Def. 4.2]

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 0, 1, 1]), {"illness": (np.array([0, 1, 1, 2, 2]), ("flu", "gout",
...     "cold"))})
>>> KLinkability(k=2).satisfied(link).tolist(), KLinkability(k=2).achieved(link)
([True, False], {'k': 1})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, all_hold, example_classes


class KLinkability(Model):
    """Every person can be linked to at least k sensitive values in the join of all releases.

    A combination has at least as many different values as each of its columns.
    """

    name: ClassVar[str] = "k-linkability"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="k-linkability",
        holds=(
            "Joining all releases leaves at least {found.k different value/different values} of {hide} (required:"
            " {asked.k})."
        ),
        violated=(
            "Joining all releases leaves only {found.k different value/different values} of {hide} for "
            "somebody (required: {asked.k})."
        ),
        headline=(
            "An adversary who knows {given} and joins all releases is left with at least "
            "{found.k different value/different values} of {hide}."
        ),
        limit="One value may be far more likely than the others.",
    )
    sentence: ClassVar[str] = "must be left with at least {k} values of {hide}, all releases together"
    paper: ClassVar[str] = "sequential Def. 4.2"
    joint: ClassVar[bool] = True
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    hides_combinations: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"k": 3}, holds=example_classes("abc", "aabd"), fails=example_classes("abc", "aaab")),
    )

    k: int = Field(ge=1, description="smallest number of sensitive values that a person can be linked to")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(linkage, [spread.distinct() >= self.k for spread in linkage.spread.values()])

    def demand(self) -> Demand:
        return Demand(distinct=self.k, sufficient=True)

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {
            "k": min((int(spread.distinct().min()) for spread in linkage.spread.values() if spread.kinds), default=0)
        }
