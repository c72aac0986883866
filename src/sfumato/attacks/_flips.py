"""Outsiders who play on flips of a graph: on every trial the graph is flipped as a publication would be, and a guess is scored.

Beside the share of right guesses stands the exact chance that is promised, and how many standard errors the share lies above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from sfumato.attacks.base import Attack
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.flipping import reflipped
from sfumato.data.graph import Graph
from sfumato.io.graph import read_graph
from sfumato.randomness import Randomness

PAIRS = 1_000
"""Pairs of people who are to be told apart, at most."""


class FlipAttack(Attack):
    """What these outsiders share: a graph to publish, a flip, and a number of trials."""

    target: str = Field(description="the graph: an edge list, GraphML, …")
    mu: float = Field(gt=0, lt=0.5, description="chance that a pair flips")
    trials: int = Field(default=20, ge=1, le=10_000, description="flips that are played on")
    seed: int | None = Field(default=None, description="repeats the same flips")

    def run(self) -> dict[str, Any]:
        graph, chance = read_graph(self.target), Randomness(self.seed)
        return {"people": graph.nodes} | self.play(graph, chance)

    def play(self, graph: Graph, chance: Randomness) -> dict[str, Any]:
        """What the outsider gets on this graph."""
        raise NotImplementedError

    def flips(self, graph: Graph, chance: Randomness) -> Iterator[Graph]:
        """One published graph per trial."""
        for trial in range(self.trials):
            yield reflipped(graph, EdgeChannel.symmetric(self.mu), chance.child("trial").child(trial))
            self._progress((trial + 1) / self.trials, "flipping")


def above(share: float, chance: float, error: float) -> float:
    """How many standard errors a share lies above a chance."""
    return round((share - chance) / error, 2) if error else 0.0
