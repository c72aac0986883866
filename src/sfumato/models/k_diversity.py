"""k-diversity: no sensitive value has a larger share than 1/k among the links that joining all releases leaves for a
person.

Guarantee: counted over cliques of published rows that may belong to the person. The share is the paper's measure, not a
probability: cliques are not equally many in all possible worlds, and each further release with the column counts its
values anew. Paper: [sequential Def. 4.2] Invariants
    I1  ``largest · k ≤ total`` is decided in exact arithmetic, for fractional k too; weights that are no whole numbers
        are rounded, and compared up to that.

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 0, 1, 1]), {"illness": (np.array([0, 1, 1, 2, 1]), ("flu", "gout",
...     "cold"))})
>>> KDiversity(k=1.5).satisfied(link).tolist(), KDiversity(k=2).satisfied(link).tolist(), KDiversity(k=2).achieved(link)
([True, True], [False, True], {'k': 1.5})
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.models.base import Demand, Example, Model, Safer, all_hold, example_classes, round_significant


class KDiversity(Model):
    """No sensitive value has a share above 1/k among a person's links in the join of all releases.

    A value of a combination has at most the share of each of its parts.
    """

    name: ClassVar[str] = "k-diversity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="k-diversity",
        holds=(
            "In the join of all releases no {hide} value exceeds 1/{found.k} of a person's links (limit: 1/{asked.k})."
        ),
        violated=(
            "In the join of all releases a {hide} value reaches 1/{found.k} of a person's links (limit: 1/{asked.k})."
        ),
        headline=(
            "When an adversary joins all releases, no value of {hide} has more than 1/{found.k} of a person's possible"
            " links."
        ),
        limit="The share is not a probability: possible links are not equally likely.",
    )
    sentence: ClassVar[str] = "may find no value of {hide} in more than one of {k} of a person's possible links"
    paper: ClassVar[str] = "sequential Def. 4.2"
    joint: ClassVar[bool] = True
    levels: ClassVar[Mapping[str, Safer]] = {"k": "more"}
    hides_combinations: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"k": 1.5}, holds=example_classes("aab", "ab"), fails=example_classes("aab", "aaab")),
    )

    k: float = Field(ge=1, description="the largest share of one value is at most 1/k; k may be fractional")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(linkage, [self._enough(spread) for spread in linkage.spread.values()])

    def _enough(self, spread: ValueDistribution) -> BoolArray:
        wanted = Fraction(str(self.k))
        if spread.total().dtype.kind == "f":  # shares of several buckets added up, which are rounded
            return np.asarray(spread.largest() * float(wanted) <= spread.total() * (1 + _ROUNDED))
        pairs = zip(spread.total().tolist(), spread.largest().tolist(), strict=True)
        return np.array([Fraction(most) * wanted <= Fraction(total) for total, most in pairs], dtype=np.bool_)  # I1

    def demand(self) -> Demand:
        return Demand(distinct=math.ceil(self.k), largest_share=1 / self.k, sufficient=True)

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        levels = [_level(spread) for spread in linkage.spread.values() if spread.kinds]
        return {"k": round_significant(min(levels, default=0.0))}

    def required(self) -> dict[str, Any]:
        return {"k": self.k if self.k % 1 else int(self.k)}


_ROUNDED = 1e-9
"""The largest relative error of weights that are no whole numbers."""


def _level(spread: ValueDistribution) -> float:
    pairs = zip(spread.total().tolist(), spread.largest().tolist(), strict=True)
    return min(float(Fraction(total) / Fraction(most)) for total, most in pairs)
