"""p-sensitivity: among each person's candidates every sensitive column shows at least p different values.

Guarantee: no sensitive value is certain for any person (p ≥ 2); p possibilities remain in each sensitive column.
Paper: [boundaries Def. 3]
Departures: the paper's Properties 2 and 5 name distinct quasi-identifier values; sensitive ones are meant.

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 1]), {"illness": (np.array([0, 1, 1]), ("flu", "gout"))})
>>> PSensitivity(p=2).satisfied(link).tolist()
[True, False]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, Short, all_hold, example_classes


class PSensitivity(Model):
    """Every equivalence class has at least p distinct values in each sensitive column.

    A combination has at least as many different values as each of its columns.
    """

    name: ClassVar[str] = "p-sensitivity"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="p-sensitivity",
        holds=(
            "Every equivalence class has at least {found.p different value/different values} of {hide} (required:"
            " {asked.p})."
        ),
        violated=(
            "An equivalence class has only {found.p different value/different values} of {hide} (required: {asked.p})."
        ),
        headline=(
            "An adversary who knows {given} is left with at least {found.p different value/different values} of {hide}."
        ),
        limit="One value may be far more frequent than the others.",
    )
    sentence: ClassVar[str] = "must find at least {p} different values of {hide}"
    paper: ClassVar[str] = "boundaries Def. 3"
    levels: ClassVar[Mapping[str, Safer]] = {"p": "more"}
    hides_combinations: ClassVar[bool] = True
    short: ClassVar[Short | None] = Short("sensitivity", "p")
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"p": 3}, holds=example_classes("abc", "aabd"), fails=example_classes("abc", "aaab")),
    )

    p: int = Field(ge=1, description="smallest number of distinct values of each sensitive column")

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return all_hold(linkage, [spread.distinct() >= self.p for spread in linkage.spread.values()])

    def demand(self) -> Demand:
        return Demand(distinct=self.p, sufficient=True)

    def covers(self, other: Any) -> bool:
        return isinstance(other, PSensitivity) and self.p >= other.p

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        return {
            "p": min((int(spread.distinct().min()) for spread in linkage.spread.values() if spread.kinds), default=0)
        }
