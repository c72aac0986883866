"""edge-privacy: whatever is published, the odds that two people are tied change by a factor of at most e^ε.

Guarantee
    Edge-level local differential privacy by randomized response: it protects one tie, not one person, who has many; a
    person with d ties is protected at d·ε, and a number of ties is no secret at any useful ε. Said here so that nobody
    takes it for more. Several publications flip independently: the largest odds of what is seen together are the
    products of each one's, exactly.
Paper
    Warner (1965); [multitype §4.2] for the flip.

>>> EdgePrivacy(epsilon=1.0).needed_mu(1000)
0.269
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from sfumato.core.wording import Wording
from sfumato.data.edge_channel import EdgeChannel, epsilon_of
from sfumato.models.base import Example, Safer, round_significant
from sfumato.models.channel_model import ChannelModel, PublishedChannel


class EdgePrivacy(ChannelModel):
    """One edge is protected by differential privacy with this epsilon; a person has many edges."""

    name: ClassVar[str] = "edge-privacy"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="Edge privacy",
        holds="The privacy loss for one tie is ε = {found.epsilon} (limit: {asked.epsilon}).",
        violated=(
            "The privacy loss for one tie is ε = {found.epsilon}, above the limit {asked.epsilon}. Increase the noise."
        ),
        headline=(
            "What is published changes the odds that two people are tied by a factor of at most "
            "{exp found.epsilon} (ε = {found.epsilon})."
        ),
        limit="It is about one tie, not one person: with d ties the exponent is d times as large.",
    )
    sentence: ClassVar[str] = "may learn so little of any one tie that its log odds change by at most {epsilon}"
    paper: ClassVar[str] = "Warner 1965"
    levels: ClassVar[Mapping[str, Safer]] = {"epsilon": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            {"epsilon": 3.0},
            holds=PublishedChannel(EdgeChannel.symmetric(0.05), 500),
            fails=PublishedChannel(EdgeChannel.symmetric(0.04), 500),
        ),
    )

    epsilon: float = Field(gt=0, description="largest change of the log odds of one edge")

    @property
    def tie_epsilon(self) -> float | None:
        return self.epsilon

    def holds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> bool:
        return epsilon_of((flip, *beside)) <= self.epsilon * (1 + 1e-12)

    def level(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, Any]:
        return {"epsilon": round_significant(epsilon_of((flip, *beside)))}

    def needed_mu(self, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        """1/(1 + e^ε) for what earlier publications leave of ε, rounded up to four digits after the point."""
        left = self.epsilon - (epsilon_of(beside) if beside else 0.0)
        return min(0.5, math.ceil(1e4 / (1 + math.exp(left)) - 1e-9) / 1e4) if left > 0 else 0.5

    def covered(self) -> Mapping[str, str]:
        return {"edge": "what can be learned about one edge alone, by an adversary who knows all others"}
