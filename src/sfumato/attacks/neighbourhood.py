"""`neighbourhood`: the outsider who recognizes some nodes and knows everybody's ties to them, played on flips of a graph.

On every trial's flip, which is drawn as a publication would draw it, the outsider is shown the nodes of two people and says which
is whose: each known node to which only one of the two is tied is a vote from either node, and most votes win, or a coin. That is
the best guess there is when all flips are alike. Known nodes are drawn by chance, or are the best connected people, whom many
know.

Beside the share of right guesses stands what is promised: the exact chance for the same pairs (`expected`), which the share may
exceed by chance only (`beyond` counts standard errors), and that of the model `neighbourhood`, for people who differ in all known
ties.

Paper
    [multitype §4.4] for adversaries who know accounts.

Cost
    One flip of the graph per trial.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.attacks._flips import PAIRS, FlipAttack, above
from sfumato.data.arrays import IntArray
from sfumato.data.graph import Graph
from sfumato.errors import PolicyError
from sfumato.models.neighbourhood import majority
from sfumato.randomness import Randomness


class KnownTies(FlipAttack):
    """Recognize some nodes; tell two other people apart by their ties to them."""

    name: ClassVar[str] = "neighbourhood"
    paper: ClassVar[str] = "multitype §4.4"

    known: int = Field(default=10, ge=1, description="people whose nodes the outsider recognizes")
    whom: Literal["any", "hubs"] = Field(default="hubs", description="known are any people, or the best connected ones")

    def play(self, graph: Graph, chance: Randomness) -> dict[str, Any]:
        if self.known > graph.nodes - 2:
            raise PolicyError(f"{graph.nodes} people cannot hold {self.known} known ones and two others", where="--known")
        known = self._known(graph, chance)
        first, second = _pairs(np.setdiff1d(np.arange(graph.nodes), known), chance.child("pairs"))
        one, other = (ties_to(graph, who, known) for who in (first, second))
        right = []
        for seen in self.flips(graph, chance):
            votes = ((one != other) * np.where(one, 1, -1) * (2 * ties_to(seen, first, known) - 1)).sum(axis=1)
            votes += ((one != other) * np.where(other, 1, -1) * (2 * ties_to(seen, second, known) - 1)).sum(axis=1)
            right.append(np.where(votes == 0, 0.5, votes > 0))
        return {"known": self.known, "pairs": len(first)} | self._compared(np.array(right), one != other)

    def _known(self, graph: Graph, chance: Randomness) -> IntArray:
        if self.whom == "hubs":
            return np.argsort(-graph.degrees, kind="stable")[: self.known]
        return chance.child("known").permutation(graph.nodes)[: self.known]

    def _compared(self, right: np.ndarray, differ: np.ndarray) -> dict[str, Any]:
        ties = differ.sum(axis=1)
        chance = {count: majority(count, self.mu) for count in np.unique(ties).tolist()}
        expected = float(np.mean([chance[count] for count in ties.tolist()]))
        error = float(right.mean(axis=1).std(ddof=1)) / math.sqrt(self.trials) if self.trials > 1 else 0.0
        share = float(right.mean())
        return {
            "told_apart": round(share, 4),
            "expected": round(expected, 4),
            "promised": round(majority(self.known, self.mu), 4),
            "beyond": above(share, expected, error),
        }


def _pairs(people: IntArray, chance: Randomness) -> tuple[IntArray, IntArray]:
    """Up to a thousand pairs, nobody in two of them."""
    drawn = people[chance.permutation(len(people))][: 2 * min(PAIRS, len(people) // 2)]
    return drawn[::2], drawn[1::2]


def ties_to(graph: Graph, people: IntArray, known: IntArray) -> np.ndarray:
    """people x known: who is tied to whom."""
    return graph.has_edges(np.repeat(people, len(known)), np.tile(known, len(people))).reshape(len(people), len(known))
