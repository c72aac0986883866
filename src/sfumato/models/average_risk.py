"""Average risk: an adversary who tries to re-identify records succeeds with at most this probability on average.

Guarantee: the mean over all people of 1 / candidates is at most `risk` (the marketer's success rate); with `k` nobody has fewer
candidates than that, whatever the mean is (*strict* average risk). With an `attacker` candidates are people of the population:

    marketer     the mean over all rows of 1 / candidates: the share of rows that an adversary links correctly
    journalist   the larger of that and of classes / candidates of a class: the adversary picks a person, not a row

Paper: El Emam and Dankar (2008) for the three attackers; thresholds as in ARX's average and strict-average risk.
Departures: a mean is no property of single groups. Methods that look at one group at a time keep ⌈1/risk⌉ candidates
for all people, which implies the mean and is more than is asked (`by_group`).
Invariants
    I1  Joining groups lowers the mean: the sum of people / candidates is the number of groups.

>>> AverageRisk(risk=0.4).achieved(example_classes("ab", "abc")), AverageRisk(risk=0.4, k=3).satisfied(example_classes("ab", "abc")).tolist()
({'risk': 0.4, 'k': 2}, [False, True])
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, example_classes, round_significant
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_map import KMap


class AverageRisk(Model):  # I1
    """The average re-identification risk is at most this probability; with k, every person also has k candidates
    (strict)."""

    name: ClassVar[str] = "average-risk"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="Average re-identification risk",
        holds=(
            (
                "The average re-identification risk is {found.risk %} (limit: {asked.risk %}); the "
                "smallest equivalence class has {found.k record/records}."
            ),
            "The average re-identification risk is {found.risk %} (limit: {asked.risk %}).",
        ),
        violated=(
            (
                "The average re-identification risk is {found.risk %} (limit: {asked.risk %}); the "
                "smallest equivalence class has {found.k record/records}."
            ),
            "The average re-identification risk is {found.risk %}, above the limit of {asked.risk %}.",
        ),
        headline=(
            "An adversary who knows {given} re-identifies {found.risk %} of the records on average, "
            "each among at least {found.k} {unit}."
        ),
        limit="Single people may be at higher risk.",
    )
    variants: ClassVar[tuple[str, Mapping[str, Wording]]] = (
        "attacker",
        {
            "marketer": Wording(
                group="privacy",
                title="Average risk (marketer)",
                code="average-risk",
                holds=(
                    (
                        "The average re-identification risk is {found.risk %} (limit: {asked.risk %}); the "
                        "smallest equivalence class has {found.k record/records}."
                    ),
                    "The average re-identification risk is {found.risk %} (limit: {asked.risk %}).",
                ),
                violated=(
                    (
                        "The average re-identification risk is {found.risk %} (limit: {asked.risk %}); the "
                        "smallest equivalence class has {found.k record/records}."
                    ),
                    "The average re-identification risk is {found.risk %}, above the limit of {asked.risk %}.",
                ),
                headline=(
                    "An adversary who does not know who was sampled links {found.risk %} of the records correctly on"
                    " average."
                ),
                limit="Single people may be at higher risk.",
            ),
            "journalist": Wording(
                group="privacy",
                title="Average risk (journalist)",
                code="average-risk",
                holds=(
                    (
                        "The average re-identification risk is {found.risk %} (limit: {asked.risk %}); the "
                        "smallest equivalence class has {found.k record/records}."
                    ),
                    "The average re-identification risk is {found.risk %} (limit: {asked.risk %}).",
                ),
                violated=(
                    (
                        "The average re-identification risk is {found.risk %} (limit: {asked.risk %}); the "
                        "smallest equivalence class has {found.k record/records}."
                    ),
                    "The average re-identification risk is {found.risk %}, above the limit of {asked.risk %}.",
                ),
                headline=(
                    "An adversary who does not know who was sampled links {found.risk %} of the records correctly on"
                    " average."
                ),
                limit="Single people may be at higher risk.",
            ),
        },
    )
    sentence: ClassVar[str] = (
        "may on average be right with a chance of at most {risk} when looking for a person, who is always left "
        "among at least {k} candidates (attacker: {attacker})"
    )
    paper: ClassVar[str] = "El Emam, Dankar 2008"
    bounds_candidates: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = False
    compares: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    levels: ClassVar[Mapping[str, Safer]] = {"risk": "less", "k": "more"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"risk": 0.4}, holds=example_classes("ab", "abc"), fails=example_classes("a", "abc")),
        Example({"risk": 0.4, "k": 2}, holds=example_classes("ab", "abc"), fails=example_classes("a", "abcdefgh")),
    )

    risk: float = Field(gt=0, le=1, description="largest average re-identification risk")
    k: int = Field(default=1, ge=1, description="smallest number of candidates (strict average risk)")

    attacker: Literal["journalist", "marketer"] | None = Field(
        default=None,
        description=(
            "journalist or marketer, who do not know who is in the table (needs 'population:'); absent: the prosecutor"
        ),
    )

    @property
    def of_population(self) -> bool:
        return self.attacker is not None

    def satisfied(self, linkage: Linkage) -> BoolArray:
        verdict: BoolArray = linkage.candidates >= self.k
        return verdict & (self._risk(linkage) <= self.risk * (1 + 1e-12))

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        fewest = int(linkage.candidates.min()) if len(linkage.candidates) else 0
        return {"risk": round_significant(self._risk(linkage)), "k": fewest} | (
            {"attacker": self.attacker} if self.attacker else {}
        )

    def _risk(self, linkage: Linkage) -> float:
        mean = _mean(linkage)
        return (
            max(mean, len(linkage.candidates) / max(int(linkage.candidates.sum()), 1))
            if self.attacker == "journalist"
            else mean
        )

    def demand(self) -> Demand:
        return Demand() if self.of_population else Demand(candidates=self.k)

    def by_group(self) -> Model:
        fewest = max(self.k, math.ceil(1 / self.risk - 1e-9))
        return KMap(k=fewest) if self.of_population else KAnonymity(k=fewest)

    def weaker_by_group(self) -> Sequence[Model]:
        if self.of_population:
            return ()
        return [KAnonymity(k=fewest) for fewest in range(self.k, max(self.k, math.ceil(1 / self.risk - 1e-9)))]

    def covers(self, other: Any) -> bool:
        return (
            isinstance(other, AverageRisk)
            and self.attacker == other.attacker
            and self.risk <= other.risk
            and self.k >= other.k
        )


def _mean(linkage: Linkage) -> float:
    people = int(linkage.people.sum())
    return float(np.sum(linkage.people / np.maximum(linkage.candidates, 1))) / people if people else 0.0
