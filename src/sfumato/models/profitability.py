"""Profitability: publishing a record pays for the publisher, given an attacker who attacks whenever that pays for the
attacker.

A game of two. An attack on a record succeeds with probability 1 / candidates; it brings the attacker `gain` and costs
`cost`, so it is made when gain / candidates > cost. A published record brings the publisher `benefit`; a successful
attack costs the publisher `loss`.

Guarantee: for all people benefit ≥ loss / candidates, or the attack is not worth its cost. What is found is the
smallest benefit with which publishing would pay.

Paper: Wan, Vorobeychik, Xia, Clayton, Kantarcioglu, Ganta, Heatherly, Malin (2015), the prosecutor's and the
journalist's game: in the second, candidates are people of the population (``population:``), because the attacker does
not know who is in the table. Departures: the paper's benefit shrinks with the information that generalization takes
away; here it is the same for every record, so that the promise can be read off a release. Invariants
    I1  The benefit that is needed falls with the number of candidates, so joining groups never raises it.

>>> game = Profitability(benefit=1, loss=4, gain=4, cost=1)
>>> game.achieved(example_classes("abc", "abcdef")), game.demand().candidates
({'benefit': 1.33333, 'loss': 4.0, 'gain': 4.0, 'cost': 1.0}, 4)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.wording import Wording
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, Safer, example_classes, round_significant
from sfumato.models.k_map import KMap

_MOST = 1 << 40


class Profitability(Model):  # I1
    """Publishing a record is profitable against an adversary who attacks whenever an attack is profitable."""

    name: ClassVar[str] = "profitability"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="No profitable attack",
        holds="Publishing pays if a record is worth {found.benefit} or more (stated worth: {asked.benefit}).",
        violated="Publishing pays only if a record is worth {found.benefit} (stated worth: {asked.benefit}).",
        headline=(
            "For every record, an attack does not pay, or its expected damage to the publisher is at most"
            " {asked.benefit}."
        ),
        limit="It is an economic argument. An attack may still be profitable for the attacker.",
    )
    sentence: ClassVar[str] = (
        "must gain nothing by an attack that brings {gain} and costs {cost}, or its expected damage, at {loss} each, "
        "must not exceed the {benefit} that publishing a record brings (game: {game})"
    )
    paper: ClassVar[str] = "Wan et al. 2015"
    bounds_candidates: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = False
    levels: ClassVar[Mapping[str, Safer]] = {"benefit": "less"}
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            {"benefit": 1, "loss": 4, "gain": 4, "cost": 1},
            holds=example_classes("abcd", "abcdef"),
            fails=example_classes("abc", "abcdef"),
        ),
    )

    benefit: float = Field(ge=0, description="benefit of a published record for the publisher")
    loss: float = Field(ge=0, description="loss of the publisher by a successful attack")
    gain: float = Field(ge=0, description="gain of a successful attack for the adversary")
    cost: float = Field(ge=0, description="cost of an attack for the adversary")

    game: Literal["journalist"] | None = Field(
        default=None,
        description="journalist: candidates are people of the 'population:'; absent: the prosecutor's game",
    )

    @property
    def of_population(self) -> bool:
        return self.game is not None

    def satisfied(self, linkage: Linkage) -> BoolArray:
        return self._needed(linkage.candidates) <= self.benefit * (1 + 1e-12)

    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        needed = float(self._needed(linkage.candidates).max(initial=0.0))
        return self.required() | {"benefit": round_significant(needed)}

    def demand(self) -> Demand:
        return Demand() if self.of_population else Demand(candidates=self._fewest(), sufficient=True)

    def by_group(self) -> Model:
        return KMap(k=self._fewest()) if self.of_population else self

    def _fewest(self) -> int:
        """The fewest candidates with which it pays."""
        low, high = 1, _MOST
        while low < high:
            middle = (low + high) // 2
            pays = bool(self.satisfied(Linkage(np.array([middle]), np.array([middle])))[0])
            low, high = (low, middle) if pays else (middle + 1, high)
        return low

    def _needed(self, candidates: IntArray) -> FloatArray:
        """The benefit that makes up for attacks on people with so many candidates."""
        attacked = self.gain > self.cost * candidates * (1 + 1e-12)
        needed: FloatArray = np.where(attacked, self.loss / np.maximum(candidates, 1), 0.0)
        return needed
