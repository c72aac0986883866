"""neighbourhood: who recognizes so many nodes and knows a person's ties to them tells the person from others no better
than this.

Guarantee
    An adversary knows for certain which published nodes stand for `known` people, and who is tied to which of these.
    Shown the nodes of the person and of any person else, they say which is whose and are right with at most
    `success_at_most` (one half is a coin), whatever the ties are. Who must find the person among more people is right
    no more often. Friends of friends and numbers of ties to others are not looked at; see `degree-attack` and
    `structural-attack`.

Argument
    Each of the two nodes has `known` published pairs. Pairs in which the two people do not differ say nothing; at worst
    they differ in all. Then 2 · known pairs were flipped independently with μ, each a vote that is right with 1 − μ,
    and the best guess is their majority, a coin where votes are equal: success = Pr(B > known) + ½ Pr(B = known), B ~
    Bin(2 · known, 1 − μ).

Paper
    [multitype §4.4] for adversaries who know accounts; the promise is ours.

>>> NeighbourhoodAttackModel(known=1, success_at_most=0.9).level(EdgeChannel.symmetric(0.25), 10)
{'known': 1, 'success_at_most': 0.75}
>>> NeighbourhoodAttackModel(known=10, success_at_most=0.9).needed_mu(1000)
0.358
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.wording import Wording
from sfumato.data.edge_channel import EdgeChannel, binomial_probabilities
from sfumato.models.base import Example, Safer, round_significant
from sfumato.models.channel_model import ChannelModel, PublishedChannel, best_success_over_releases, smallest_mu


class NeighbourhoodAttackModel(ChannelModel):
    """An adversary who recognizes some nodes tells two people apart by their edges to them with at most this
    probability."""

    name: ClassVar[str] = "neighbourhood"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="Known neighbors",
        holds=(
            "Two people are distinguished with probability at most {found.success_at_most %} (limit: "
            "{asked.success_at_most %}, {asked.known} people recognized)."
        ),
        violated=(
            "Two people may be distinguished with probability up to {found.success_at_most %} (limit:"
            " {asked.success_at_most %})."
        ),
        headline=(
            "An adversary who recognizes {asked.known} people tells two others apart by their ties to "
            "them with probability at most {found.success_at_most %}."
        ),
        limit="Friends of friends and numbers of ties are not covered. Guessing alone gives 50 %.",
    )
    sentence: ClassVar[str] = (
        "and recognizes {known} people may tell two others apart by their ties to them with a chance of at most"
        " {success_at_most}"
    )
    paper: ClassVar[str] = "multitype §4.4"
    levels: ClassVar[Mapping[str, Safer]] = {"success_at_most": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            {"known": 2, "success_at_most": 0.8},
            holds=PublishedChannel(EdgeChannel.symmetric(0.35), 500),
            fails=PublishedChannel(EdgeChannel.symmetric(0.1), 500),
        ),
    )

    known: int = Field(ge=1, description="number of published nodes that the adversary recognizes")
    success_at_most: float = Field(
        gt=0.5, lt=1, description="largest probability to tell two people apart; 0.5 is a coin toss"
    )

    def success(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        """The chance of the best guess; over several publications a bound."""
        return best_success_over_releases(
            lambda mu: majority_success(min(self.known, max(nodes - 2, 0)), mu), (flip, *beside)
        )

    def holds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> bool:
        return self.success(flip, nodes, beside) <= self.success_at_most * (1 + 1e-12)

    def level(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, Any]:
        return {"known": self.known, "success_at_most": round_significant(self.success(flip, nodes, beside))}

    def needed_mu(self, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        return smallest_mu(lambda flip: self.holds(flip, nodes, beside))

    def covered(self) -> Mapping[str, str]:
        return {"neighbourhood": f"who recognizes {self.known} published nodes and knows everybody's ties to them"}


def majority_success(known: int, mu: float) -> float:
    """How often most of 2 · known votes are right that are each right with 1 − μ; a coin where they are equal."""
    first, law = binomial_probabilities(2 * known, 1 - mu)
    votes = first + np.arange(len(law))
    return float(law[votes > known].sum() + law[votes == known].sum() / 2)
