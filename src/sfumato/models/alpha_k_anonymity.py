"""(α, k)-anonymity: at least k candidates for all people, and no sensitive value has more than a share α of them.

Guarantee: a record is found with probability at most 1/k, a sensitive value guessed with probability at most α.
Paper: Wong, Li, Fu, Wang (2006), as cited in [boundaries §1].

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 0, 1, 1]), {"illness": (np.array([0, 1, 1, 0, 1]), ("flu", "gout"))})
>>> AlphaK(alpha=0.5, k=2).satisfied(link).tolist()
[False, True]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, all_hold, example_classes, round_significant


class AlphaK(Model):
    """Every person has at least k candidates, and no sensitive value has a share above alpha among them.

    A value of a combination has at most the share of each of its parts, and candidates are counted without values.
    """

    name: ClassVar[str] = "alpha-k-anonymity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="(α, k)-anonymity",
        holds=(
            "The smallest equivalence class has {found.k record/records} (required: {asked.k}); the "
            "largest share of a {hide} value is {found.alpha %} (limit: {asked.alpha %})."
        ),
        violated=(
            "The smallest equivalence class has {found.k record/records} (required: {asked.k}); the "
            "largest share of a {hide} value is {found.alpha %} (limit: {asked.alpha %})."
        ),
        headline=(
            "An adversary who knows {given} is left with at least {found.k} {unit} and guesses {hide} "
            "with probability at most {found.alpha %}."
        ),
        limit="Values may be similar in meaning.",
    )
    sentence: ClassVar[str] = (
        "must be left with at least {k} candidates, and no value of {hide} may have a share above {alpha} among them"
    )
    paper: ClassVar[str] = "Wong, Li, Fu, Wang 2006"
    bounds_candidates: ClassVar[bool] = True
    levels: ClassVar[Mapping[str, Safer]] = {"alpha": "less", "k": "more"}
    hides_combinations: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"alpha": 0.6, "k": 3}, holds=example_classes("aaabb", "abc"), fails=example_classes("aaabb", "ab")),
        Example({"alpha": 0.6, "k": 3}, holds=example_classes("abc"), fails=example_classes("abc", "aaab")),
    )

    alpha: float = Field(gt=0, le=1, description="largest share of one sensitive value")
    k: int = Field(ge=1, description="smallest number of candidates")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        spreads = linkage.spread.values()
        limited = [spread.largest() <= self.alpha * spread.total() + 1e-9 for spread in spreads]
        return all_hold(linkage, [linkage.candidates >= self.k, *limited])

    def demand(self) -> Demand:
        return Demand(self.k, math.ceil(1 / self.alpha - 1e-9), self.alpha, sufficient=True)

    def covers(self, other: Any) -> bool:
        return isinstance(other, AlphaK) and self.alpha <= other.alpha and self.k >= other.k

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        shares = [
            float((spread.largest() / spread.total()).max()) for spread in linkage.spread.values() if spread.kinds
        ]
        fewest = int(linkage.candidates.min()) if len(linkage.candidates) else 0
        return {"alpha": round_significant(max(shares, default=0.0)), "k": fewest}
