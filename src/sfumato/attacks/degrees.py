"""`degrees`: the outsider who knows numbers of ties and nothing else, played on flips of a graph.

Two games, each played anew on every trial's flip, which is drawn as a publication would draw it:

hubs    for each of the best connected people the node whose published number of ties is nearest to what theirs becomes on average
pairs   two people of whom one has `apart` ties more; the node with more published ties is taken for that person, or a coin decides

Beside the share of right guesses stands what is promised: for pairs the exact chance of `degree-attack`, which the share may exceed
by chance only, so `beyond` counts standard errors above it.

Paper
    [multitype §4.4.2] for published numbers of ties.

Cost
    One flip of the graph per trial.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.base import Attack
from sfumato.data.arrays import IntArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.flipping import reflipped
from sfumato.errors import PolicyError
from sfumato.io.graph import read_graph
from sfumato.models.degree_attack import telling
from sfumato.randomness import Randomness

_PAIRS = 1_000


class DegreeGuesses(Attack):
    """Know numbers of ties; look for the best connected people, and tell people apart who differ in a few ties."""

    name: ClassVar[str] = "degrees"
    paper: ClassVar[str] = "multitype §4.4.2"

    target: str = Field(description="the graph: an edge list, GraphML, …")
    mu: float = Field(gt=0, lt=0.5, description="chance that a pair flips")
    trials: int = Field(default=20, ge=1, le=10_000, description="flips that are played on")
    hubs: int = Field(default=10, ge=1, description="best connected people to look for")
    apart: int = Field(default=10, ge=1, description="ties by which the people of a pair differ")
    seed: int | None = Field(default=None, description="repeats the same flips")

    def run(self) -> dict[str, Any]:
        graph, flip, chance = read_graph(self.target), EdgeChannel.symmetric(self.mu), Randomness(self.seed)
        more, fewer = pairs_apart(graph.degrees, self.apart, chance.child("pairs"))
        hubs = np.argsort(-graph.degrees, kind="stable")[: self.hubs]
        found, right = [], []
        for trial in range(self.trials):
            degrees = reflipped(graph, flip, chance.child("trial").child(trial)).degrees
            found.append(np.mean([_found(degrees, int(hub), graph.degrees, flip) for hub in hubs]))
            ahead = degrees[more] - degrees[fewer]
            right.append(float(np.mean(np.where(ahead == 0, 0.5, ahead > 0))) if len(more) else 0.5)
            self._progress((trial + 1) / self.trials, "flipping")
        told = {"people": graph.nodes, "hubs": len(hubs), "hubs_found": round(float(np.mean(found)), 4)}
        return told | (self._compared(right, graph.nodes) if len(more) else {"pairs": 0})

    def _compared(self, right: list[float], nodes: int) -> dict[str, Any]:
        share, promised = float(np.mean(right)), telling(self.apart, nodes - 2, self.mu)
        error = math.sqrt(promised * (1 - promised) / self.trials)  # one hub can be in every pair: trials count, not pairs
        beyond = round((share - promised) / error, 2) if error else 0.0
        return {"pairs_told_apart": round(share, 4), "promised": round(promised, 4), "beyond": beyond}


def pairs_apart(degrees: IntArray, apart: int, chance: Randomness) -> tuple[IntArray, IntArray]:
    """Up to a thousand pairs of people, one with `apart` ties more; none when nobody differs so."""
    if apart >= len(degrees):
        raise PolicyError(f"{len(degrees)} people cannot differ by {apart} ties", where="--apart")
    order = np.argsort(degrees, kind="stable")
    ranked = degrees[order]
    first, last = (np.searchsorted(ranked, degrees + apart, side=side) for side in ("left", "right"))
    fewer = np.flatnonzero(last > first)
    fewer = fewer[chance.child("who").permutation(len(fewer))[:_PAIRS]]
    among = chance.child("whom").uniform(len(fewer))
    more = order[first[fewer] + np.floor(among * (last - first)[fewer]).astype(np.int64)]
    return more, fewer


def _found(published: IntArray, hub: int, degrees: IntArray, flip: EdgeChannel) -> float:
    """The chance that the hub is picked among the nodes nearest to what its number of ties becomes on average."""
    wanted = flip.slope * degrees[hub] + flip.add * (len(degrees) - 1)
    away = np.abs(published - wanted)
    return float(away[hub] == away.min()) / int((away == away.min()).sum())
