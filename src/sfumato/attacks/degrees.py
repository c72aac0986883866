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

from sfumato.attacks._flips import PAIRS, FlipAttack, above
from sfumato.data.arrays import IntArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.errors import PolicyError
from sfumato.models.degree_attack import telling
from sfumato.randomness import Randomness


class DegreeGuesses(FlipAttack):
    """Know numbers of ties; look for the best connected people, and tell people apart who differ in a few ties."""

    name: ClassVar[str] = "degrees"
    paper: ClassVar[str] = "multitype §4.4.2"

    hubs: int = Field(default=10, ge=1, description="best connected people to look for")
    apart: int = Field(default=10, ge=1, description="ties by which the people of a pair differ")

    def play(self, graph: Graph, chance: Randomness) -> dict[str, Any]:
        more, fewer = pairs_apart(graph.degrees, self.apart, chance.child("pairs"))
        hubs, flip = np.argsort(-graph.degrees, kind="stable")[: self.hubs], EdgeChannel.symmetric(self.mu)
        found, right = [], []
        for seen in self.flips(graph, chance):
            degrees = seen.degrees
            found.append(np.mean([_found(degrees, int(hub), graph.degrees, flip) for hub in hubs]))
            ahead = degrees[more] - degrees[fewer]
            right.append(float(np.mean(np.where(ahead == 0, 0.5, ahead > 0))) if len(more) else 0.5)
        told = {"hubs": len(hubs), "hubs_found": round(float(np.mean(found)), 4)}
        return told | (self._compared(right, graph.nodes) if len(more) else {"pairs": 0})

    def _compared(self, right: list[float], nodes: int) -> dict[str, Any]:
        share, promised = float(np.mean(right)), telling(self.apart, nodes - 2, self.mu)
        error = math.sqrt(promised * (1 - promised) / self.trials)  # one hub can be in every pair: trials count, not pairs
        return {"pairs_told_apart": round(share, 4), "promised": round(promised, 4), "beyond": above(share, promised, error)}


def pairs_apart(degrees: IntArray, apart: int, chance: Randomness) -> tuple[IntArray, IntArray]:
    """Up to a thousand pairs of people, one with `apart` ties more; none when nobody differs so."""
    if apart >= len(degrees):
        raise PolicyError(f"{len(degrees)} people cannot differ by {apart} ties", where="--apart")
    order = np.argsort(degrees, kind="stable")
    ranked = degrees[order]
    first, last = (np.searchsorted(ranked, degrees + apart, side=side) for side in ("left", "right"))
    fewer = np.flatnonzero(last > first)
    fewer = fewer[chance.child("who").permutation(len(fewer))[:PAIRS]]
    among = chance.child("whom").uniform(len(fewer))
    more = order[first[fewer] + np.floor(among * (last - first)[fewer]).astype(np.int64)]
    return more, fewer


def _found(published: IntArray, hub: int, degrees: IntArray, flip: EdgeChannel) -> float:
    """The chance that the hub is picked among the nodes nearest to what its number of ties becomes on average."""
    wanted = flip.slope * degrees[hub] + flip.add * (len(degrees) - 1)
    away = np.abs(published - wanted)
    return float(away[hub] == away.min()) / int((away == away.min()).sum())
