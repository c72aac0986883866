"""`one-person`: the outsider who knows a whole graph but for the ties of one person, and reads noisy figures.

A coin decides whether that person, the best connected one, has all of their ties or none. The figures are drawn by the mechanisms
that publish them, and the outsider says what the coin was, by the likelihood of all noise before repair, which is the best guess
there is. With a `limit` the figures are those of `node-private-figures`, without one those of `private-figures`.

Beside the share of right guesses stands what is promised: e^ε / (1 + e^ε) under node-level ε-differential privacy; figures of
edge-level ε promise a person with d ties no more than that at d·ε, which is nothing for somebody with many.

Paper
    Kasiviswanathan, Nissim, Raskhodnikova, Smith (2013) for the promise; the game is the definition.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks._flips import above
from sfumato.attacks.base import Attack
from sfumato.attacks.one_tie import Figures, belief_in_tie
from sfumato.data.graph import Graph
from sfumato.errors import PolicyError
from sfumato.io.graph import read_graph
from sfumato.methods.graphs.node_private_figures import at_most, counted_degrees, node_shares, noisy, sensitivity
from sfumato.methods.graphs.private_figures import shares_of
from sfumato.randomness import Randomness


class OnePerson(Attack):
    """Know everything but the ties of the best connected person; guess from noisy figures whether there are any."""

    name: ClassVar[str] = "one-person"
    paper: ClassVar[str] = "Kasiviswanathan et al. 2013"

    target: str = Field(description="the graph: an edge list, GraphML, …")
    epsilon: float = Field(gt=0, le=20, description="epsilon of the figures")
    limit: int | None = Field(default=None, ge=1, description="ties of a person that count; absent: figures of edge-level privacy")
    trials: int = Field(default=400, ge=1, le=100_000, description="draws of the figures")
    seed: int | None = Field(default=None, description="repeats coins and rungs; the noise of the library is always new")

    def run(self) -> dict[str, Any]:
        graph, chance = read_graph(self.target), Randomness(self.seed)
        if graph.size == 0:
            raise PolicyError("a graph without ties has nobody to look for", where=self.target)
        low, high = graph.edges()
        hub = int(graph.degrees.argmax())
        others = (low != hub) & (high != hub)
        alone = Graph.from_pairs(low[others], high[others], graph.nodes, graph.labels)
        game = _Game(alone, graph, self.epsilon, self.limit)
        right = 0
        for trial in range(self.trials):
            there = chance.child("coin").child(trial).integer(2)
            belief = game.belief(there, chance.child("rung").child(trial))
            right += (belief > 0) == bool(there) if belief else chance.child("even").child(trial).integer(2)
            self._progress((trial + 1) / self.trials, "drawing figures")
        ties = int(graph.degrees[hub])
        promised = 1 / (1 + math.exp(-self.epsilon * (ties if self.limit is None else 1)))
        share, error = right / self.trials, math.sqrt(promised * (1 - promised) / self.trials)
        figures = {"people": graph.nodes, "ties": ties, "trials": self.trials, "right": round(share, 4)}
        return figures | {"promised": round(promised, 4), "beyond": above(share, promised, error)}


class _Game:
    """The figures without and with the ties of one person, and what noise on them tells."""

    def __init__(self, without: Graph, with_: Graph, epsilon: float, limit: int | None) -> None:
        self.epsilon, self.limit, self.nodes = epsilon, limit, with_.nodes
        self.figures = (Figures.of(without), Figures.of(with_)) if limit is None else None
        self.degrees = [counted_degrees(graph, limit or 1) for graph in (without, with_)]

    def belief(self, there: int, chance: Randomness) -> float:
        """The logarithm of how much likelier the figures are with the ties than without them."""
        if self.figures is not None:
            return belief_in_tie(self.figures, there, self.nodes, shares_of(self.epsilon, triangles=True), chance)
        limit, shares = self.limit or 1, node_shares(self.epsilon)
        edges, below = noisy(self.degrees[there], self.nodes, limit, shares)
        away = [
            shares["edges"] / sensitivity("edges", limit) * abs(edges - int(degrees.sum()) // 2)
            + shares["degrees"] / sensitivity("degrees", limit) * int(np.abs(below - at_most(degrees, self.nodes, limit)).sum())
            for degrees in self.degrees
        ]
        return away[0] - away[1]
