"""`degrees`: the adversary who knows numbers of ties and nothing else, played on flips of a graph.

Two games, each played anew on every trial's flip, which is drawn as a publication would draw it:

hubs    for each of the best connected people the node whose published degree is nearest to its expected degree
pairs   two people whose degrees differ by `apart`; the node with the larger published degree is guessed, or a coin
        decides

The share of right guesses is compared with the guarantee: for pairs the exact probability of `degree-attack`. The share
exceeds it only by sampling error, so `beyond` counts standard errors above it.

Paper
    [multitype §4.4.2] for published numbers of ties.

Cost
    One flip of the graph per trial.


Neighbourhood
-------------
`neighbourhood`: the adversary who recognizes some nodes and knows each person's ties to them, played on flips of a
graph.

On every trial's flip, which is drawn as a publication would draw it, the adversary is shown the nodes of two people and
says which is whose: each known node to which only one of the two is tied is a vote from either node, and most votes
win, or a coin. That is the best guess there is when all flips are alike. Known nodes are drawn at random, or are the
best connected people, whom many know.

The share of right guesses is compared with the guarantee: the exact probability for the same pairs (`expected`), which
the share exceeds only by sampling error (`beyond` counts standard errors), and that of the model `neighbourhood`, for
people who differ in all known edges.

Paper
    [multitype §4.4] for adversaries who know accounts.

Cost
    One flip of the graph per trial.


Degree signatures
-----------------
`degree-signatures`: the adversary who knows how many ties a person has in a published graph, and perhaps the friends'
numbers.

k-degree anonymity leaves at least k people for every number of ties. An adversary who also knows the published degree
of each friend has as candidates those whose friends have the same degrees, often one person: the guarantee does not
cover this. The figures are counted on the published graph alone, so nobody's name is needed.

Paper
    [obfuscation §3.4] for numbers of ties.


Flips
-----
Outsiders who play on flips of a graph: on every trial the graph is flipped as a publication would be, and a guess is
scored.

Beside the share of right guesses stands the exact chance that is promised, and how many standard errors the share lies
above it.


One tie
-------
`one-tie`: the adversary who knows a whole graph but for one tie, and reads noisy figures (`private-figures`).

A coin decides whether the tie is there; figures are drawn by the mechanisms that publish them, and the adversary says
what the coin was. The guess is the best there is: by the likelihood of the noise in the number of edges, in every
sorted degree *before* repair, and of the rung of the triangles. Degrees that do not depend on the edge have independent
noise, and are not drawn. What is published is made from these figures alone, so its readers get no more.

Beside the share of right guesses stands what edge-level ε-differential privacy promises, e^ε / (1 + e^ε), and how many
standard errors the share lies above it.

Paper
    Hay, Li, Miklau, Jensen (2009) and Zhang et al. (2015) for the mechanisms; the game is the definition.


One person
----------
`one-person`: the adversary who knows a whole graph but for the ties of one person, and reads noisy figures.

A coin decides whether that person, the best connected one, has all of their ties or none. The figures are drawn by the
mechanisms that publish them, and the adversary says what the coin was, by the likelihood of all noise before repair,
which is the best guess there is. With a `limit` the figures are those of `node-private-figures`, without one those of
`private-figures`.

Beside the share of right guesses stands what is promised: e^ε / (1 + e^ε) under node-level ε-differential privacy;
figures of edge-level ε promise a person with d ties no more than that at d·ε, which is nothing for a person with many.

Paper
    Kasiviswanathan, Nissim, Raskhodnikova, Smith (2013) for the promise; the game is the definition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.core.errors import PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.edge_flips import flip_edges_keeping_names
from sfumato.kinds.graphs.form import Edges, published_graph
from sfumato.kinds.graphs.methods.private_figures import (
    counted_degrees,
    cumulative_degrees,
    epsilon_shares,
    node_epsilon_shares,
    noisy_figures,
    sensitivity,
)
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern
from sfumato.models.degree_attack import distinguishing_success
from sfumato.models.neighbourhood_attack import majority_success
from sfumato.release.attack import Attack, ReleaseAttack
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView


class DegreeSignatures(ReleaseAttack):
    """Know the degree of a person and of all neighbors; count the nodes that match."""

    name: ClassVar[str] = "degree-signatures"
    paper: ClassVar[str] = "obfuscation §3.4"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)
    headline: ClassVar[str] = "found_by_ties"

    original: str = Field(default="", description="not needed: everything is counted on the published graph")

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        if not isinstance(exhibit.form, Edges) or not exhibit.form.grown:
            return ""
        return (
            "people are hidden by their degree alone; an adversary who also knows the "
            "published degree of each friend of a person often has one candidate"
        )

    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        graph = exhibit.once(published_graph)
        by_ties, by_friends = alike(graph.degrees), alike(signatures(graph))
        return {
            "people": graph.nodes,
            "fewest_by_ties": int(by_ties.min(initial=graph.nodes)),
            "found_by_ties": round(float((1 / by_ties).mean()), 4),
            "fewest_by_friends": int(by_friends.min(initial=graph.nodes)),
            "found_by_friends": round(float((1 / by_friends).mean()), 4),
            "alone_by_friends": round(float((by_friends == 1).mean()), 4),
        }


def signatures(graph: Graph) -> IntArray:
    """A number for all people, the same for people whose friends have the same numbers of ties."""
    rows = [tuple(np.sort(graph.degrees[graph.neighbours_of(person)]).tolist()) for person in range(graph.nodes)]
    seen: dict[tuple[int, ...], int] = {}
    return np.array([seen.setdefault(row, len(seen)) for row in rows], dtype=np.int64)


def alike(values: IntArray) -> IntArray:
    """For everybody how many share the value."""
    _, of, often = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(often[of.reshape(-1)], dtype=np.int64)


# Flips
# -----


PAIRS = 1_000
"""Pairs of people who are to be told apart, at most."""


class FlipAttack(Attack):
    """What these adversaries share: a graph to publish, a flip, and a number of trials."""

    target: str = Field(description="the graph: an edge list, GraphML, …")
    mu: float = Field(gt=0, lt=0.5, description="flip probability of a pair")
    trials: int = Field(default=20, ge=1, le=10_000, description="number of trials")
    seed: int | None = Field(default=None, description="repeats the same flips")

    def run(self) -> dict[str, Any]:
        graph, chance = read_graph(self.target), Randomness(self.seed)
        return {"people": graph.nodes} | self.play(graph, chance)

    def play(self, graph: Graph, chance: Randomness) -> dict[str, Any]:
        """What the adversary gets on this graph."""
        raise NotImplementedError

    def flips(self, graph: Graph, chance: Randomness) -> Iterator[Graph]:
        """One published graph per trial."""
        for trial in range(self.trials):
            yield flip_edges_keeping_names(graph, EdgeChannel.symmetric(self.mu), chance.child("trial").child(trial))
            self._progress((trial + 1) / self.trials, "flipping")


def standard_errors_above(share: float, chance: float, error: float) -> float:
    """How many standard errors a share lies above a chance."""
    return round((share - chance) / error, 2) if error else 0.0


# Degrees
# -------


class DegreeGuesses(FlipAttack):
    """Know degrees; look for the nodes with the most edges, and tell apart nodes of similar degree."""

    name: ClassVar[str] = "degrees"
    paper: ClassVar[str] = "multitype §4.4.2"

    hubs: int = Field(default=10, ge=1, description="number of nodes with the most edges to search for")
    apart: int = Field(default=10, ge=1, description="difference of the degrees of a pair")

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
        share, promised = float(np.mean(right)), distinguishing_success(self.apart, nodes - 2, self.mu)
        error = math.sqrt(
            promised * (1 - promised) / self.trials
        )  # one hub can be in every pair: trials count, not pairs
        return {
            "pairs_told_apart": round(share, 4),
            "promised": round(promised, 4),
            "beyond": standard_errors_above(share, promised, error),
        }


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


# Neighbourhood
# -------------


class NeighbourhoodAttack(FlipAttack):
    """Recognize some nodes; tell two other people apart by their edges to them."""

    name: ClassVar[str] = "neighbourhood"
    paper: ClassVar[str] = "multitype §4.4"

    known: int = Field(default=10, ge=1, description="number of nodes that the adversary recognizes")
    whom: Literal["any", "hubs"] = Field(
        default="hubs", description="which nodes are known: any, or those with the most edges"
    )

    def play(self, graph: Graph, chance: Randomness) -> dict[str, Any]:
        if self.known > graph.nodes - 2:
            raise PolicyError(
                f"{graph.nodes} people cannot hold {self.known} known ones and two others", where="--known"
            )
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
        chance = {count: majority_success(count, self.mu) for count in np.unique(ties).tolist()}
        expected = float(np.mean([chance[count] for count in ties.tolist()]))
        error = float(right.mean(axis=1).std(ddof=1)) / math.sqrt(self.trials) if self.trials > 1 else 0.0
        share = float(right.mean())
        return {
            "told_apart": round(share, 4),
            "expected": round(expected, 4),
            "promised": round(majority_success(self.known, self.mu), 4),
            "beyond": standard_errors_above(share, expected, error),
        }


def _pairs(people: IntArray, chance: Randomness) -> tuple[IntArray, IntArray]:
    """Up to a thousand pairs, nobody in two of them."""
    drawn = people[chance.permutation(len(people))][: 2 * min(PAIRS, len(people) // 2)]
    return drawn[::2], drawn[1::2]


def ties_to(graph: Graph, people: IntArray, known: IntArray) -> np.ndarray:
    """Return a matrix people x known: whether there is an edge."""
    return graph.has_edges(np.repeat(people, len(known)), np.tile(known, len(people))).reshape(len(people), len(known))


# One tie
# -------


@dataclass(frozen=True)
class TrueFigures:
    """The true figures of a graph."""

    edges: int
    degrees: IntArray
    triangles: int
    first: int
    """The first rung of the ladder of triangles."""

    @classmethod
    def of(cls, graph: Graph) -> TrueFigures:
        from sfumato.kinds.graphs.methods.private_figures import common_neighbours
        from sfumato.kinds.graphs.subgraph_counts import PatternCounts

        triangles = int(PatternCounts(graph).copies(SubgraphPattern.named("triangle")))
        return cls(graph.size, np.sort(graph.degrees), triangles, common_neighbours(graph))


class OneTie(Attack):
    """Know everything except one edge; guess from noisy figures whether it exists."""

    name: ClassVar[str] = "one-tie"
    paper: ClassVar[str] = "Hay et al. 2009; Zhang et al. 2015"

    target: str = Field(description="the graph: an edge list, GraphML, …")
    epsilon: float = Field(gt=0, le=20, description="edge-level epsilon of the figures")
    trials: int = Field(default=400, ge=1, le=100_000, description="number of trials")
    seed: int | None = Field(
        default=None, description="repeats coins and rungs; the noise of the library is always new"
    )

    def run(self) -> dict[str, Any]:
        from sfumato.kinds.graphs.methods.private_figures import epsilon_shares

        graph, chance = read_graph(self.target), Randomness(self.seed)
        if graph.size == 0:
            raise PolicyError("a graph without ties has none to look for", where=self.target)
        low, high = graph.edges()
        gone = chance.child("tie").integer(graph.size)
        kept = np.arange(graph.size) != gone
        worlds = (TrueFigures.of(Graph.from_pairs(low[kept], high[kept], graph.nodes)), TrueFigures.of(graph))
        shares = epsilon_shares(self.epsilon, triangles=True)
        right = 0
        for trial in range(self.trials):
            there = chance.child("coin").child(trial).integer(2)
            belief = log_odds_of_edge(worlds, there, graph.nodes, shares, chance.child("rung").child(trial))
            right += (belief > 0) == bool(there) if belief else chance.child("even").child(trial).integer(2)
            self._progress((trial + 1) / self.trials, "drawing figures")
        share, promised = right / self.trials, 1 / (1 + math.exp(-self.epsilon))
        error = math.sqrt(promised * (1 - promised) / self.trials)
        figures = {
            "people": graph.nodes,
            "trials": self.trials,
            "right": round(share, 4),
            "promised": round(promised, 4),
        }
        return figures | {"beyond": standard_errors_above(share, promised, error)}


def log_odds_of_edge(
    worlds: tuple[TrueFigures, TrueFigures], there: int, nodes: int, shares: dict[str, float], chance: Randomness
) -> float:
    """The logarithm of how much likelier the figures are with the tie than without it."""
    from sfumato.kinds.graphs.methods.private_figures import ladder_mechanism, ladder_rung, laplace_mechanism

    truth, (without, with_) = worlds[there], worlds
    edges = laplace_mechanism([truth.edges], 1, shares["edges"])[0]
    apart = np.flatnonzero(without.degrees != with_.degrees)
    degrees = np.array(laplace_mechanism(truth.degrees[apart].tolist(), 2, shares["degrees"]))
    told = ladder_mechanism(truth.triangles, truth.first, max(nodes - 2, 1), shares["triangles"], chance)
    belief = shares["edges"] * (abs(edges - without.edges) - abs(edges - with_.edges))
    nearer = np.abs(degrees - without.degrees[apart]) - np.abs(degrees - with_.degrees[apart])
    belief += shares["degrees"] / 2 * float(nearer.sum())
    rungs = [ladder_rung(told, world.triangles, world.first, max(nodes - 2, 1)) for world in worlds]
    return belief + shares["triangles"] / 2 * (rungs[0] - rungs[1])


# One person
# ----------


class OnePerson(Attack):
    """Know everything except the edges of the node with the most edges; guess from noisy figures whether it has any."""

    name: ClassVar[str] = "one-person"
    paper: ClassVar[str] = "Kasiviswanathan et al. 2013"

    target: str = Field(description="the graph: an edge list, GraphML, …")
    epsilon: float = Field(gt=0, le=20, description="epsilon of the figures")
    limit: int | None = Field(
        default=None,
        ge=1,
        description="largest number of edges of a person that count; absent: figures of edge-level privacy",
    )
    trials: int = Field(default=400, ge=1, le=100_000, description="number of trials")
    seed: int | None = Field(
        default=None, description="repeats coins and rungs; the noise of the library is always new"
    )

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
        return figures | {"promised": round(promised, 4), "beyond": standard_errors_above(share, promised, error)}


class _Game:
    """The figures without and with the ties of one person, and what noise on them tells."""

    def __init__(self, without: Graph, with_: Graph, epsilon: float, limit: int | None) -> None:
        self.epsilon, self.limit, self.nodes = epsilon, limit, with_.nodes
        self.figures = (TrueFigures.of(without), TrueFigures.of(with_)) if limit is None else None
        self.degrees = [counted_degrees(graph, limit or 1) for graph in (without, with_)]

    def belief(self, there: int, chance: Randomness) -> float:
        """The logarithm of how much likelier the figures are with the ties than without them."""
        if self.figures is not None:
            return log_odds_of_edge(
                self.figures, there, self.nodes, epsilon_shares(self.epsilon, triangles=True), chance
            )
        limit, shares = self.limit or 1, node_epsilon_shares(self.epsilon)
        edges, below = noisy_figures(self.degrees[there], self.nodes, limit, shares)
        away = [
            shares["edges"] / sensitivity("edges", limit) * abs(edges - int(degrees.sum()) // 2)
            + shares["degrees"]
            / sensitivity("degrees", limit)
            * int(np.abs(below - cumulative_degrees(degrees, self.nodes, limit)).sum())
            for degrees in self.degrees
        ]
        return away[0] - away[1]
