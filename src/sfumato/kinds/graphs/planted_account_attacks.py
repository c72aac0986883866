"""Find planted accounts by likelihood alone: no path must survive, and every edge and every degree is evidence.

The strongest adversary played here, and the one that judges what the planner derives. Guesses grow from pairs of joined
nodes, account by account in the order that ties each new one to as many placed ones as possible; the likeliest guesses
are kept. A new account needs only one surviving tie to the first few accounts it was tied to.

Paper
    [multitype §4.5] asks what an adversary who tries all permutations could do; this is the part of it that can be
    computed.

Notation
    score    ln of the likelihood ratio, planted against background, of the ties among the guessed nodes and of their
             degrees.

Departures
    The likelihood *ratio* is used, not the likelihood of [multitype Eq. 4.22]; see `models.structural_attack`.

Cost
    `beam` × degree × accounts² /2 a run, and no more nodes looked at than `budget`: then the beam is narrowed, and
    `gave_up` says so. A beam is a heuristic: failing to find is no proof of safety, finding is proof of danger.


Walk
----
`walk`: the walk-based attack of Backstrom, Dwork and Kleinberg, which wants every degree and every tie as planted.

Paper: [multitype §4.1.1]. It collapses as soon as a single planted degree changes.


Interval walk
-------------
`interval-walk`: the walk-based attack with degree intervals and a budget of wrong ties.

Paper: [multitype §4.4], Algorithm 3; intervals come from the exact law of the published degree unless a width is given.


Planting
--------
Plant accounts in a graph before it is published, tied to each other and to victims so that both survive noise.

Paper
    [multitype §4.4.4] for robust victim ties (ρ1, ρ2), after Backstrom, Dwork and Kleinberg for the planted subgraph.

Notation
    k      accounts, on a path (the backbone) with every other pair tied by a coin.
    ρ1     at least so many accounts are tied to each victim.
    ρ2     any two victims differ in at least so many accounts, either way.

Invariants
    I1  Planted accounts share no neighbours except each other and the victims.
    I2  Nodes are renamed before anything is published; only the experiment knows where the accounts are.


Trials
------
Repeated trials of an adversary who plants accounts: plant before publication, search after, count how often it works.


Walking
-------
Find planted accounts by walking along the backbone, letting degrees and ties be a little wrong.

Paper
    [multitype §4.4], Algorithm 3; the walk-based attack of Backstrom et al. is the case of exact degrees and ties.

Notation
    w      half-width of a degree interval; the exact law of the published degree gives the interval that holds a node
           with the wanted confidence (about ± 12 to 14 at μ = 10⁻³ among 21,000 people).
    m      wrong ties allowed on the whole path.

Departures
    [multitype Alg. 3] increases `level` in place and may revisit nodes; here a node stands on a path once. Intervals
    come from the exact law and not from a fixed w of 3 to 5, which Table 4.2, mislabelled by a factor of ten, suggests.
    When several paths fit, the likeliest is taken.

Cost
    Grows with the number of nodes whose degree fits and with m; counted in steps and capped.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.edge_flips import flip_edges_keeping_names
from sfumato.kinds.graphs.form import Edges
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern
from sfumato.models.structural_attack import path_bound, success_bound
from sfumato.release.attack import Attack
from sfumato.release.view import ReleaseView


@dataclass(frozen=True, eq=False)
class PlantedGraph:
    """A published graph, what the adversary knows, and the truth the experiment keeps to judge by."""

    published: Graph
    flip: EdgeChannel
    ties: NDArray[np.bool_]
    degrees: IntArray
    victims: NDArray[np.bool_]
    true_accounts: IntArray
    true_victims: IntArray

    @property
    def accounts(self) -> int:
        return len(self.degrees)


def plant_and_publish(
    graph: Graph,
    flip: EdgeChannel,
    randomness: Randomness,
    *,
    accounts: int,
    victims: int,
    rho1: int = 3,
    rho2: int = 1,
) -> PlantedGraph:
    """Plant, rename, flip: what an adversary faces, with the truth beside it."""
    return planted_publications(graph, flip, randomness, accounts=accounts, victims=victims, rho1=rho1, rho2=rho2)[0]


def planted_publications(
    graph: Graph,
    flip: EdgeChannel,
    randomness: Randomness,
    *,
    accounts: int,
    victims: int,
    rho1: int = 3,
    rho2: int = 1,
    releases: int = 1,
) -> list[PlantedGraph]:
    """What an adversary faces who has several publications.

    With several publications the adversary can match their nodes, and uses the edges that are in any of them and those
    that are in all: each is a graph with its own flip probabilities."""
    choice = randomness.child("adversary").generator()
    ties = backbone_ties(accounts, choice)
    links = victim_links(accounts, victims, rho1, rho2, choice)
    people = choice.choice(graph.nodes, size=victims, replace=False)
    inside, outside = np.nonzero(np.triu(ties)), np.nonzero(links)
    source = np.concatenate([inside[0], outside[1]]) + graph.nodes
    target = np.concatenate([inside[1] + graph.nodes, people[outside[0]]])
    whole = graph.joined(accounts, source, target)  # I1
    names = randomness.child("names").permutation(whole.nodes)  # I2
    renamed, degrees = whole.relabelled(names), whole.degrees[graph.nodes :]
    drawn = [
        flip_edges_keeping_names(renamed, flip, randomness if not r else randomness.child(f"again {r}"))
        for r in range(releases)
    ]
    beside = ties, degrees, links, names[graph.nodes :], names[people]
    return [PlantedGraph(seen, law, *beside) for seen, law in _seen(drawn, flip)]


def _seen(drawn: list[Graph], flip: EdgeChannel) -> list[tuple[Graph, EdgeChannel]]:
    """The one graph, or what several publications of it show in any and in all of them, with the law of each."""
    if len(drawn) == 1:
        return [(drawn[0], flip)]
    often, nodes = len(drawn), drawn[0].nodes
    codes, counts = np.unique(np.concatenate([graph.codes for graph in drawn]), return_counts=True)
    either = EdgeChannel(flip.delete**often, 1 - (1 - flip.add) ** often)
    every = EdgeChannel(1 - (1 - flip.delete) ** often, flip.add**often)
    return [(Graph.from_codes(codes, nodes), either), (Graph.from_codes(codes[counts == often], nodes), every)]


def backbone_ties(accounts: int, choice: np.random.Generator) -> NDArray[np.bool_]:
    """A path through all accounts in order, and each other pair tied with probability one half."""
    ties = np.triu(choice.random((accounts, accounts)) < 0.5, 2)
    ties |= np.eye(accounts, k=1, dtype=bool)
    return np.asarray(ties | ties.T)


def victim_links(
    accounts: int, victims: int, rho1: int, rho2: int, choice: np.random.Generator, tries: int = 2000
) -> NDArray[np.bool_]:
    """One row of accounts for each victim: ρ1 of them, differing from every other row in at least ρ2 accounts."""
    links = np.zeros((victims, accounts), dtype=bool)
    for victim in range(victims):
        for _ in range(tries):
            row = np.zeros(accounts, dtype=bool)
            row[choice.choice(accounts, size=min(rho1, accounts), replace=False)] = True
            if victim == 0 or int((row & ~links[:victim]).sum(axis=1).min()) >= rho2:
                links[victim] = row
                break
        else:
            raise Infeasible("too many victims for so few accounts", hint="plant more accounts or lower rho2")
    return links


# Trials
# ------


class PlantedAttack(Attack):
    """What all planting adversaries share: a graph to publish, a flip, accounts, victims and a number of trials."""

    target: str = Field(description="the original graph; every trial plants, publishes and searches")
    mu: float = Field(default=0.001, ge=0, lt=0.5, description="probability that a pair flips")
    add: float | None = Field(default=None, ge=0, lt=0.5, description="probability of a new edge, if it is not mu")
    planted: int = Field(default=20, ge=2, description="accounts to plant")
    victims: int = Field(default=100, ge=0, description="number of victims; at most everybody in the graph")
    rho1: int = Field(default=3, ge=1, description="planted accounts connected with each victim")
    rho2: int = Field(default=1, ge=1, description="smallest number of planted accounts in which two victims differ")
    releases: int = Field(
        default=1,
        ge=1,
        le=8,
        description="number of releases of the graph, each perturbed again; the adversary has all",
    )
    trials: int = Field(default=10, ge=1, description="number of trials")
    seed: int | None = Field(default=None, description="repeat the same trials")

    @abstractmethod
    def search(self, planted: PlantedGraph) -> AccountGuess:
        """What the adversary finds in one published graph."""

    def run(self) -> dict[str, Any]:
        graph = read_graph(self.target)
        flip = EdgeChannel(self.mu, self.mu if self.add is None else self.add)
        found = []
        for number in range(self.trials):
            self._progress(number / self.trials, f"trial {number + 1} of {self.trials}")
            found.append(self._trial(graph, flip, Randomness(self.seed).child(number)))
        return self._figures(found, flip, graph.nodes + self.planted)

    def _trial(self, graph: Any, flip: EdgeChannel, randomness: Randomness) -> AccountGuess:
        victims = min(self.victims, graph.nodes)
        told = {
            "accounts": self.planted,
            "victims": victims,
            "rho1": self.rho1,
            "rho2": self.rho2,
            "releases": self.releases,
        }
        worlds = planted_publications(graph, flip, randomness, **told)
        return max((self.search(world) for world in worlds), key=lambda found: (found.accounts, found.victims))

    def _figures(self, found: list[AccountGuess], flip: EdgeChannel, nodes: int) -> dict[str, Any]:
        hits, beside = sum(one.accounts for one in found), [flip] * (self.releases - 1)
        low, high = wilson(hits, len(found))
        return {
            "attack": self.name,
            "nodes": nodes,
            "victims": min(self.victims, nodes - self.planted),
            "releases": self.releases,
            "trials": len(found),
            "found_all_accounts": hits,
            "success_rate": hits / len(found),
            "confidence_95": [low, high],
            "victims_identified_when_found": sum(one.victims for one in found if one.accounts) / hits if hits else 0.0,
            "gave_up": sum(one.gave_up for one in found),
            "mean_steps": sum(one.steps for one in found) / len(found),
            "bound_for_paths": path_bound(flip, self.planted, beside),
            "bound_for_ties": success_bound(flip, self.planted, nodes, beside),
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


# Structural
# ----------


_TINY = 1e-12
_COUNTED_UP_TO, _SAMPLED = 2_000_000, 100_000


class Structural(PlantedAttack):
    """Plant accounts, then search for them by likelihood over all edges and degrees."""

    name: ClassVar[str] = "structural"
    paper: ClassVar[str] = "multitype §4.5"

    beam: int = Field(default=20_000, ge=1, description="guesses kept at every step")
    budget: int = Field(
        default=200_000_000, ge=1_000, description="largest number of nodes per trial; the beam is narrowed to fit"
    )

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        if not isinstance(exhibit.form, Edges):
            return ""
        return (
            "an adversary who planted accounts before publication may find them again, above "
            "all by their degrees, beyond the bound of a requirement on structural attacks"
        )

    def search(self, planted: PlantedGraph) -> AccountGuess:
        return structural_attack(planted, beam=self.beam, budget=self.budget)


def structural_attack(
    planted: PlantedGraph, *, beam: int = 50_000, anchors: int = 3, budget: int = 200_000_000
) -> AccountGuess:
    """The likeliest placement a beam of `beam` guesses finds; where ties are many the beam is narrowed to the
    budget."""
    from sfumato.kinds.graphs.kernels.planted_account_search import extend_guesses

    graph = planted.published
    each = int(anchors * max(graph.degrees.mean(), 1.0)) * planted.accounts
    narrowed = max(1, min(beam, budget // each))
    order, cut, beam = growth_order(planted.ties), narrowed < beam, narrowed
    pair, by_degree = _pair_ratios(planted), _degree_ratios(planted)
    guesses, scores, steps = *_pairs(planted, order, by_degree, beam), 0
    for level in range(2, planted.accounts):
        tied = planted.ties[order[level], order[:level]]
        nearest = np.flatnonzero(tied)[:anchors]
        parent, node, score = extend_guesses(
            graph.starts, graph.neighbours, guesses, scores, tied, nearest, pair, by_degree[order[level]], beam
        )
        if not len(score):
            return AccountGuess(False, 0.0, 0, steps, cut)
        best = _largest(score, beam)
        guesses, scores = np.column_stack([guesses[parent[best]], node[best]]), score[best]
        steps += len(score)
    return replace(_judged(planted, order, guesses[int(np.argmax(scores))], len(guesses), steps), gave_up=cut)


def growth_order(ties: NDArray[np.bool_]) -> IntArray:
    """Start with the most tied account; then always the one with most ties to those before it."""
    order = [int(np.argmax(ties.sum(axis=1)))]
    while len(order) < len(ties):
        back = ties[order].sum(axis=0) + ties.sum(axis=0) / (len(ties) + 1)
        back[order] = -1
        order.append(int(np.argmax(back)))
    return np.array(order)


def _pair_ratios(planted: PlantedGraph) -> FloatArray:
    flip, density = planted.flip, _background(planted.published)
    ratios = np.array(
        [
            [(1 - flip.add) / (1 - density), flip.add / density],
            [flip.delete / (1 - density), (1 - flip.delete) / density],
        ]
    )
    return np.asarray(np.log(np.maximum(ratios, _TINY)))


def _background(graph: Graph) -> float:
    """The chance that two nodes with a common neighbour are joined: people cluster, so density alone would favour any
    clique."""
    from sfumato.kinds.graphs.subgraph_counts import PatternCounts

    if graph.size > _COUNTED_UP_TO:
        return max(_sampled_closure(graph), graph.density, _TINY)
    counts = PatternCounts(graph)
    wedges, triangles = (counts.copies(SubgraphPattern.named(name)) for name in ("wedge", "triangle"))
    return max(float(3 * triangles / wedges) if wedges else 0.0, graph.density, _TINY)


def _sampled_closure(graph: Graph) -> float:
    """The same from a hundred thousand pairs of neighbours, where counting all triangles would take longer than the
    attack."""
    chance = Randomness(seed=0).generator()  # the adversary's own samples; nothing of this is published
    degrees = graph.degrees.astype(np.float64)
    centre = chance.choice(graph.nodes, size=_SAMPLED, p=degrees * (degrees - 1) / (degrees * (degrees - 1)).sum())
    first = chance.integers(0, graph.degrees[centre])
    second = (first + chance.integers(1, graph.degrees[centre])) % graph.degrees[centre]
    ends = graph.neighbours[graph.starts[centre] + first], graph.neighbours[graph.starts[centre] + second]
    return float(graph.has_edges(*ends).mean())


def _degree_ratios(planted: PlantedGraph) -> FloatArray:
    """For each account and each degree: ln Pr(degree | account) − ln share of nodes with about that degree."""
    graph = planted.published
    top = int(graph.degrees.max(initial=0)) + 1
    spread = max(1, round(math.sqrt(graph.nodes * planted.flip.add) / 2))
    window = np.ones(2 * spread + 1) / (2 * spread + 1)
    shares = np.bincount(graph.degrees, minlength=top).astype(np.float64) / graph.nodes
    background = np.convolve(shares, window)[spread : spread + top] + 1 / (graph.nodes * top)
    ratios = np.full((planted.accounts, top), math.log(_TINY))
    for account, degree in enumerate(planted.degrees):
        first, law = planted.flip.degree_law(int(degree), graph.nodes)
        law = law[: max(top - first, 0)]
        ratios[account, first : first + len(law)] = np.log(np.maximum(law, _TINY))
    return ratios - np.log(background)


def _pairs(
    planted: PlantedGraph, order: IntArray, by_degree: FloatArray, beam: int
) -> tuple[NDArray[np.int32], FloatArray]:
    """Every joined pair, both ways round, scored by its degrees."""
    low, high = planted.published.edges()
    first, second = np.concatenate([low, high]), np.concatenate([high, low])
    degrees = planted.published.degrees
    scores = by_degree[order[0], degrees[first]] + by_degree[order[1], degrees[second]]
    best = _largest(scores, 4 * beam)
    return np.column_stack([first[best], second[best]]).astype(np.int32), scores[best]


def _largest(scores: FloatArray, count: int) -> IntArray:
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - count)[len(scores) - count :]


def _judged(planted: PlantedGraph, order: IntArray, guess: NDArray[np.int32], kept: int, steps: int) -> AccountGuess:
    accounts = np.empty(planted.accounts, dtype=np.int64)
    accounts[order] = guess
    right = bool((accounts == planted.true_accounts).all())
    return AccountGuess(right, victims_found(planted, accounts), kept, steps, False)


# Walk
# ----


class Walk(PlantedAttack):
    """Plant accounts, then follow the path whose degrees and edges match exactly."""

    name: ClassVar[str] = "walk"
    paper: ClassVar[str] = "multitype §4.1.1"

    limit: int = Field(default=400_000_000, ge=1, description="largest number of nodes to visit")

    def search(self, planted: PlantedGraph) -> AccountGuess:
        return walk_attack(planted, limit=self.limit)


# Interval walk
# -------------


class IntervalWalk(PlantedAttack):
    """Plant accounts, then follow paths whose degrees are in likely intervals and whose edges nearly match."""

    name: ClassVar[str] = "interval-walk"
    paper: ClassVar[str] = "multitype §4.4"

    width: int | None = Field(
        default=None, ge=0, description="half-width of every degree interval; absent: from the exact distribution"
    )
    confidence: float = Field(
        default=0.9, gt=0, lt=1, description="probability that all planted degrees are in their intervals"
    )
    errors: int = Field(default=0, ge=0, description="wrong edges allowed along the path")
    limit: int = Field(default=400_000_000, ge=1, description="largest number of nodes to visit")

    def search(self, planted: PlantedGraph) -> AccountGuess:
        return interval_walk_attack(
            planted, width=self.width, confidence=self.confidence, errors=self.errors, limit=self.limit
        )


# Walking
# -------


@dataclass(frozen=True, slots=True)
class AccountGuess:
    """What the adversary came up with, judged by the experiment."""

    accounts: bool
    victims: float
    paths: int
    steps: int
    gave_up: bool


def walk_attack(planted: PlantedGraph, *, limit: int = 10**9) -> AccountGuess:
    """The original walk: exact degrees, exact ties."""
    return _walk(planted, planted.degrees, planted.degrees, 0, limit)


def interval_walk_attack(
    planted: PlantedGraph,
    *,
    width: int | None = None,
    confidence: float = 0.9,
    errors: int = 0,
    limit: int = 4 * 10**8,
) -> AccountGuess:
    """Degree intervals of half-width `width`, or by default such that all accounts fall inside with `confidence`."""
    low, high = degree_intervals(planted.degrees, planted.published.nodes, planted.flip, width, confidence)
    return _walk(planted, low, high, errors, limit)


def degree_intervals(
    degrees: IntArray, nodes: int, flip: EdgeChannel, width: int | None, confidence: float
) -> tuple[IntArray, IntArray]:
    """For each account the published degrees to accept."""
    if width is not None:
        centre = np.rint(degrees * (1 - flip.delete) + (nodes - 1 - degrees) * flip.add).astype(np.int64)
        return centre - width, centre + width
    tail = (1 - confidence ** (1 / len(degrees))) / 2
    bounds = [_quantiles(*flip.degree_law(int(degree), nodes), tail) for degree in degrees]
    return np.array([low for low, _ in bounds]), np.array([high for _, high in bounds])


def _quantiles(first: int, law: NDArray[np.float64], tail: float) -> tuple[int, int]:
    cumulative = np.cumsum(law)
    low = int(np.searchsorted(cumulative, tail, side="right"))
    high = int(np.searchsorted(cumulative, 1 - tail, side="left"))
    return first + low, first + min(high, len(law) - 1)


def _walk(planted: PlantedGraph, low: IntArray, high: IntArray, errors: int, limit: int) -> AccountGuess:
    from sfumato.kinds.graphs.kernels.planted_account_search import walk_search

    graph, ties = planted.published, planted.ties
    backwards = _fitting(graph.degrees, low[-1], high[-1]) < _fitting(graph.degrees, low[0], high[0])
    turn = slice(None, None, -1) if backwards else slice(None)  # begin at the end with fewer candidates
    turned = np.ascontiguousarray(ties[turn, turn])
    paths, steps = walk_search(
        graph.starts, graph.neighbours, low[turn].copy(), high[turn].copy(), turned, errors, limit, 1000
    )
    paths = paths[:, turn]
    best = likeliest(planted, paths)
    right = best is not None and bool((best == planted.true_accounts).all())
    return AccountGuess(
        right, victims_found(planted, best) if best is not None else 0.0, len(paths), int(steps), steps >= limit
    )


def _fitting(degrees: IntArray, low: int, high: int) -> int:
    return int(((degrees >= low) & (degrees <= high)).sum())


def likeliest(planted: PlantedGraph, paths: IntArray) -> IntArray | None:
    """The path that explains ties and degrees best."""
    if not len(paths):
        return None
    return np.asarray(paths[int(np.argmax([_log_likelihood(planted, path) for path in paths]))])


def _log_likelihood(planted: PlantedGraph, path: IntArray) -> float:
    flip, graph = planted.flip, planted.published
    i, j = np.triu_indices(len(path), 1)
    seen, tied = graph.has_edges(path[i], path[j]), planted.ties[i, j]
    tiny = 1e-12
    chance = np.where(tied, np.where(seen, 1 - flip.delete, flip.delete), np.where(seen, flip.add, 1 - flip.add))
    spread = np.sqrt(graph.nodes * flip.add * (1 - flip.add) + planted.degrees * flip.delete + tiny)
    centre = planted.degrees * (1 - flip.delete) + (graph.nodes - 1 - planted.degrees) * flip.add
    off = (graph.degrees[path] - centre) / spread
    return float(np.log(np.maximum(chance, tiny)).sum() - (off**2).sum() / 2)


def victims_found(planted: PlantedGraph, accounts: IntArray) -> float:
    """The share of victims for whom the node tied most like them to `accounts` is unique and right."""
    graph = planted.published
    rows = np.zeros((graph.nodes, len(accounts)), dtype=bool)
    for column, account in enumerate(accounts):
        rows[graph.neighbours_of(int(account)), column] = True
    rows[accounts] = False
    near = np.flatnonzero(rows.any(axis=1))
    right = 0
    for victim, links in zip(planted.true_victims, planted.victims, strict=True):
        distance = (rows[near] != links).sum(axis=1)
        closest = near[distance == distance.min()] if len(near) else near
        right += len(closest) == 1 and closest[0] == victim
    return right / max(len(planted.true_victims), 1)
