"""node-privacy: whatever is published, all ties of any one person together change its chances by a factor of at most
e^ε.

Guarantee
    Node-level differential privacy: two graphs of the same people that differ in the ties of one person, in any way and
    however many, give any release with chances within a factor e^ε. One tie is such a difference, so edge-level ε
    follows. Who the people are is taken for known.
Paper
    Kasiviswanathan, Nissim, Raskhodnikova, Smith (2013).

>>> NodePrivacy(epsilon=1.0).satisfied(Spent(0.9)).all()
np.True_
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray
from sfumato.core.wording import Wording
from sfumato.models.base import Example, Model, Safer, round_significant


class Spent(NamedTuple):
    """What all published figures together spend of ε on any one person."""

    epsilon: float


class NodePrivacy(Model):
    """All edges of one person together are protected by differential privacy with this epsilon."""

    name: ClassVar[str] = "node-privacy"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="Node privacy",
        holds="The privacy loss for all ties of a person is ε = {found.epsilon} (limit: {asked.epsilon}).",
        violated=("The privacy loss for all ties of a person is ε = {found.epsilon}, above the limit {asked.epsilon}."),
        headline=(
            "All ties of one person together change the probability of any published result by a "
            "factor of at most {exp found.epsilon} (ε = {found.epsilon})."
        ),
        limit="Who is in the graph counts as known.",
    )
    sentence: ClassVar[str] = (
        "may learn so little of all ties of any one person that log odds change by at most {epsilon}"
    )
    paper: ClassVar[str] = "Kasiviswanathan et al. 2013"
    judges: ClassVar[type] = Spent
    needs_sensitive: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("graph",)
    levels: ClassVar[Mapping[str, Safer]] = {"epsilon": "less"}
    examples: ClassVar[tuple[Example, ...]] = (Example({"epsilon": 2.0}, holds=Spent(2.0), fails=Spent(2.1)),)

    epsilon: float = Field(gt=0, description="largest change of the log odds by all edges of one person")

    @property
    def person_epsilon(self) -> float | None:
        return self.epsilon

    def satisfied(self, seen: Spent) -> BoolArray:
        return np.array([seen.epsilon <= self.epsilon * (1 + 1e-9)], dtype=np.bool_)

    def achieved(self, seen: Spent) -> dict[str, Any]:
        return {"epsilon": round_significant(seen.epsilon)}
