"""Repeated trials of an adversary who plants accounts: plant before publication, search after, count how often it works."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from pydantic import Field

from sfumato.attacks._planting import Planted, planted_worlds
from sfumato.attacks._walking import Found
from sfumato.attacks.base import Attack
from sfumato.data.edge_channel import EdgeChannel
from sfumato.io.graph import read_graph
from sfumato.models._planted import any_bound, path_bound
from sfumato.randomness import Randomness


class PlantedAttack(Attack):
    """What all planting adversaries share: a graph to publish, a flip, accounts, victims and a number of trials."""

    target: str = Field(description="the original graph; every trial plants, publishes and searches")
    mu: float = Field(default=0.001, ge=0, lt=0.5, description="probability that a pair flips")
    add: float | None = Field(default=None, ge=0, lt=0.5, description="probability of a new edge, when not mu")
    planted: int = Field(default=20, ge=2, description="accounts to plant")
    victims: int = Field(default=100, ge=0, description="people to tie them to")
    rho1: int = Field(default=3, ge=1, description="accounts tied to each victim")
    rho2: int = Field(default=1, ge=1, description="accounts in which two victims differ at least")
    releases: int = Field(default=1, ge=1, le=8, description="publications of the graph, each flipped anew; the adversary has all")
    trials: int = Field(default=10, ge=1, description="how often to play")
    seed: int | None = Field(default=None, description="repeat the same trials")

    @abstractmethod
    def search(self, planted: Planted) -> Found:
        """What the adversary finds in one published graph."""

    def run(self) -> dict[str, Any]:
        graph = read_graph(self.target)
        flip = EdgeChannel(self.mu, self.mu if self.add is None else self.add)
        found = []
        for number in range(self.trials):
            self._progress(number / self.trials, f"trial {number + 1} of {self.trials}")
            found.append(self._trial(graph, flip, Randomness(self.seed).child(number)))
        return self._figures(found, flip, graph.nodes + self.planted)

    def _trial(self, graph: Any, flip: EdgeChannel, randomness: Randomness) -> Found:
        told = {"accounts": self.planted, "victims": self.victims, "rho1": self.rho1, "rho2": self.rho2, "releases": self.releases}
        worlds = planted_worlds(graph, flip, randomness, **told)
        return max((self.search(world) for world in worlds), key=lambda found: (found.accounts, found.victims))

    def _figures(self, found: list[Found], flip: EdgeChannel, nodes: int) -> dict[str, Any]:
        hits, beside = sum(one.accounts for one in found), [flip] * (self.releases - 1)
        low, high = wilson(hits, len(found))
        return {
            "attack": self.name,
            "nodes": nodes,
            "releases": self.releases,
            "trials": len(found),
            "found_all_accounts": hits,
            "success_rate": hits / len(found),
            "confidence_95": [low, high],
            "victims_identified_when_found": sum(one.victims for one in found if one.accounts) / hits if hits else 0.0,
            "gave_up": sum(one.gave_up for one in found),
            "mean_steps": sum(one.steps for one in found) / len(found),
            "bound_for_paths": path_bound(flip, self.planted, beside),
            "bound_for_ties": any_bound(flip, self.planted, nodes, beside),
        }


def wilson(hits: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Confidence interval of a success rate that behaves at 0 and 1.

    >>> [round(end, 3) for end in wilson(0, 10)]
    [0.0, 0.278]
    """
    rate, spread = hits / trials, z * z / trials
    centre = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / trials + spread / (4 * trials)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)
