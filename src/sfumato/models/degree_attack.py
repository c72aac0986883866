"""degree-attack: bounds how well an adversary who knows a person's degree tells the person from another of nearly the
same degree.

Guarantee
    Somebody has at most `apart` ties more or fewer than the person. An adversary who knows both numbers, looks at the
    published numbers of ties of the two nodes and at the tie between them, and says which node is whose, is right with
    at most `success_at_most` (one half is a coin). Who must find the person among more people is right no more often.
    It does not cover a node without a neighbour in degree, such as a hub with `apart` + 1 edges more than any other
    node. It is about degrees only; `neighbourhood` and `structural-attack` are about the edges.

Argument
    Beside the tie between the two, each node has n = N − 2 pairs. With δ more ties, a symmetric flip μ and B(m) ~
    Bin(m, μ),

        X − Y = δ + B(n − δ) − B(n + δ),

    whatever the numbers of ties are: an untied pair gains, a tied one loses with the same μ. Sums of coins are ordered
    by likelihood ratio (a tie that is kept with 1 − μ against one that appears with μ; the rest is common and
    log-concave), so the best guess takes the node with more published ties for the person with more, and a coin where
    they are equal:

        success = Pr(X > Y) + ½ Pr(X = Y).

Paper
    [multitype §4.4.2] for the published number of ties; the promise is ours.

>>> DegreeAttack(apart=1, success_at_most=0.9).level(EdgeChannel.symmetric(0.25),
...     3)["success_at_most"]     # one pair each
0.75
>>> DegreeAttack(apart=10, success_at_most=0.6).needed_mu(1000)
0.2538
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


class DegreeAttack(ChannelModel):
    """An adversary who knows a degree tells two nodes of similar degree apart with at most this probability."""

    name: ClassVar[str] = "degree-attack"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="Degree attack",
        holds=(
            "Two people {asked.apart tie/ties} apart are distinguished with probability at most "
            "{found.success_at_most %} (limit: {asked.success_at_most %})."
        ),
        violated=(
            "Two people {asked.apart tie/ties} apart may be distinguished with probability up to "
            "{found.success_at_most %} (limit: {asked.success_at_most %})."
        ),
        headline=(
            "An adversary tells two people whose numbers of ties differ by at most {asked.apart} apart "
            "with probability at most {found.success_at_most %}."
        ),
        limit="A person far better connected than everybody else is not covered. Guessing alone gives 50 %.",
    )
    sentence: ClassVar[str] = (
        "and the number of ties of a person may tell the person from somebody with up to {apart} ties more or "
        "fewer with a chance of at most {success_at_most}"
    )
    paper: ClassVar[str] = "multitype §4.4.2"
    levels: ClassVar[Mapping[str, Safer]] = {"success_at_most": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            {"apart": 5, "success_at_most": 0.6},
            holds=PublishedChannel(EdgeChannel.symmetric(0.2), 1000),
            fails=PublishedChannel(EdgeChannel.symmetric(0.02), 1000),
        ),
    )

    apart: int = Field(ge=1, description="largest difference of two degrees that must not be distinguished")
    success_at_most: float = Field(
        gt=0.5, lt=1, description="largest probability to tell the two apart; 0.5 is a coin toss"
    )

    def success(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        """The chance of the best guess; over several publications a bound."""
        return best_success_over_releases(lambda mu: distinguishing_success(self.apart, nodes - 2, mu), (flip, *beside))

    def holds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> bool:
        return self.success(flip, nodes, beside) <= self.success_at_most * (1 + 1e-12)

    def level(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, Any]:
        return {"apart": self.apart, "success_at_most": round_significant(self.success(flip, nodes, beside))}

    def needed_mu(self, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        return smallest_mu(lambda flip: self.holds(flip, nodes, beside))

    def covered(self) -> Mapping[str, str]:
        return {
            "degrees": (
                f"who knows a number of ties, for people beside whom somebody has at most {self.apart} more or fewer"
            )
        }


def distinguishing_success(apart: int, pairs: int, mu: float) -> float:
    """The best guess between two nodes of `pairs` pairs each, of which one has `apart` ties more."""
    if apart > pairs or mu <= 0.0:
        return 1.0  # nobody can have so many ties more, or nothing was flipped
    first, gained = binomial_probabilities(pairs - apart, mu)
    second, lost = binomial_probabilities(pairs + apart, mu)
    below = np.concatenate([[0.0], np.cumsum(lost)])
    more = apart + first + np.arange(len(gained)) - second  # lost values below this one leave X above Y
    under, equal = below[np.clip(more, 0, len(lost))], below[np.clip(more + 1, 0, len(lost))]
    return float(min(1.0, (gained * (under + equal)).sum() / 2))
