"""`one-tie`: the outsider who knows a whole graph but for one tie, and reads noisy figures (`private-figures`).

A coin decides whether the tie is there; figures are drawn by the mechanisms that publish them, and the outsider says what the
coin was. The guess is the best there is: by the likelihood of the noise in the number of edges, in every sorted degree *before*
repair, and of the rung of the triangles. Degrees that are the same with and without the tie have noise of their own that says
nothing, and are not drawn. What is published is made from these figures alone, so its readers get no more.

Beside the share of right guesses stands what edge-level ε-differential privacy promises, e^ε / (1 + e^ε), and how many standard
errors the share lies above it.

Paper
    Hay, Li, Miklau, Jensen (2009) and Zhang et al. (2015) for the mechanisms; the game is the definition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks._flips import above
from sfumato.attacks.base import Attack
from sfumato.data.arrays import IntArray
from sfumato.data.graph import Graph
from sfumato.data.pattern import TiePattern
from sfumato.errors import PolicyError
from sfumato.io.graph import read_graph
from sfumato.randomness import Randomness


@dataclass(frozen=True)
class Figures:
    """The true figures of a graph."""

    edges: int
    degrees: IntArray
    triangles: int
    first: int
    """The first rung of the ladder of triangles."""

    @classmethod
    def of(cls, graph: Graph) -> Figures:
        from sfumato.methods.graphs.private_figures import common_neighbours
        from sfumato.metrics.pattern_counts import PatternCounts

        triangles = int(PatternCounts(graph).copies(TiePattern.named("triangle")))
        return cls(graph.size, np.sort(graph.degrees), triangles, common_neighbours(graph))


class OneTie(Attack):
    """Know everything but one tie; guess from noisy figures whether it is there."""

    name: ClassVar[str] = "one-tie"
    paper: ClassVar[str] = "Hay et al. 2009; Zhang et al. 2015"

    target: str = Field(description="the graph: an edge list, GraphML, …")
    epsilon: float = Field(gt=0, le=20, description="edge-level epsilon of the figures")
    trials: int = Field(default=400, ge=1, le=100_000, description="draws of the figures")
    seed: int | None = Field(default=None, description="repeats coins and rungs; the noise of the library is always new")

    def run(self) -> dict[str, Any]:
        from sfumato.methods.graphs.private_figures import shares_of

        graph, chance = read_graph(self.target), Randomness(self.seed)
        if graph.size == 0:
            raise PolicyError("a graph without ties has none to look for", where=self.target)
        low, high = graph.edges()
        gone = chance.child("tie").integer(graph.size)
        kept = np.arange(graph.size) != gone
        worlds = (Figures.of(Graph.from_pairs(low[kept], high[kept], graph.nodes)), Figures.of(graph))
        shares = shares_of(self.epsilon, triangles=True)
        right = 0
        for trial in range(self.trials):
            there = chance.child("coin").child(trial).integer(2)
            belief = belief_in_tie(worlds, there, graph.nodes, shares, chance.child("rung").child(trial))
            right += (belief > 0) == bool(there) if belief else chance.child("even").child(trial).integer(2)
            self._progress((trial + 1) / self.trials, "drawing figures")
        share, promised = right / self.trials, 1 / (1 + math.exp(-self.epsilon))
        error = math.sqrt(promised * (1 - promised) / self.trials)
        figures = {"people": graph.nodes, "trials": self.trials, "right": round(share, 4), "promised": round(promised, 4)}
        return figures | {"beyond": above(share, promised, error)}


def belief_in_tie(worlds: tuple[Figures, Figures], there: int, nodes: int, shares: dict[str, float], chance: Randomness) -> float:
    """The logarithm of how much likelier the figures are with the tie than without it."""
    from sfumato.methods.graphs.noise import ladder, laplace, rung_of

    truth, (without, with_) = worlds[there], worlds
    edges = laplace([truth.edges], 1, shares["edges"])[0]
    apart = np.flatnonzero(without.degrees != with_.degrees)
    degrees = np.array(laplace(truth.degrees[apart].tolist(), 2, shares["degrees"]))
    told = ladder(truth.triangles, truth.first, max(nodes - 2, 1), shares["triangles"], chance)
    belief = shares["edges"] * (abs(edges - without.edges) - abs(edges - with_.edges))
    nearer = np.abs(degrees - without.degrees[apart]) - np.abs(degrees - with_.degrees[apart])
    belief += shares["degrees"] / 2 * float(nearer.sum())
    rungs = [rung_of(told, world.triangles, world.first, max(nodes - 2, 1)) for world in worlds]
    return belief + shares["triangles"] / 2 * (rungs[0] - rungs[1])
