"""Find planted accounts by likelihood alone: no path has to survive, every tie and every degree is exhibit.

The strongest adversary played here, and the one that judges what the planner derives. Guesses grow from pairs of joined
nodes, account by account in the order that ties each new one to as many placed ones as possible; the likeliest guesses
are kept. A new account needs only one surviving tie to the first few accounts it was tied to.

Paper
    [multitype §4.5] asks what an adversary who tries all permutations could do; this is the part of it that can be computed.

Notation
    score    ln of the likelihood ratio, planted against background, of the ties among the guessed nodes and of their degrees.

Departures
    The likelihood *ratio* is used, not the likelihood of [multitype Eq. 4.22]; see `models._planted`.

Cost
    `beam` × degree × accounts² /2 a run, and no more nodes looked at than `budget`: then the beam is narrowed, and `gave_up` says
    so. A beam is a heuristic: failing to find is no proof of safety, finding is proof of danger.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.attacks._planting import Planted
from sfumato.attacks._trials import PlantedAttack
from sfumato.attacks._walking import Found, victims_found
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.graph import Graph
from sfumato.data.pattern import TiePattern
from sfumato.forms.graph import Edges
from sfumato.randomness import Randomness
from sfumato.release.exhibit import Exhibit

_TINY = 1e-12
_COUNTED_UP_TO, _SAMPLED = 2_000_000, 100_000


class Structural(PlantedAttack):
    """Plant accounts, then look for them by likelihood alone: every tie and degree is exhibit, nothing has to survive."""

    name: ClassVar[str] = "structural"
    paper: ClassVar[str] = "multitype §4.5"

    beam: int = Field(default=20_000, ge=1, description="guesses kept at every step")
    budget: int = Field(default=200_000_000, ge=1_000, description="nodes looked at in one trial; the beam is narrowed to fit")

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        if not isinstance(exhibit.form, Edges):
            return ""
        return (
            "whoever planted accounts before publication may find them again, above all by their numbers of ties, beyond what a "
            "claim on structural attacks bounds"
        )

    def search(self, planted: Planted) -> Found:
        return structural_attack(planted, beam=self.beam, budget=self.budget)


def structural_attack(planted: Planted, *, beam: int = 50_000, anchors: int = 3, budget: int = 200_000_000) -> Found:
    """The likeliest placement a beam of `beam` guesses finds; where ties are many the beam is narrowed to the budget."""
    from sfumato.attacks.kernels.beam_growth import grow

    graph = planted.published
    each = int(anchors * max(graph.degrees.mean(), 1.0)) * planted.accounts
    narrowed = max(1, min(beam, budget // each))
    order, cut, beam = growth_order(planted.ties), narrowed < beam, narrowed
    pair, by_degree = _pair_ratios(planted), _degree_ratios(planted)
    guesses, scores, steps = *_pairs(planted, order, by_degree, beam), 0
    for level in range(2, planted.accounts):
        tied = planted.ties[order[level], order[:level]]
        nearest = np.flatnonzero(tied)[:anchors]
        parent, node, score = grow(
            graph.starts, graph.neighbours, guesses, scores, tied, nearest, pair, by_degree[order[level]], beam
        )
        if not len(score):
            return Found(False, 0.0, 0, steps, cut)
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


def _pair_ratios(planted: Planted) -> FloatArray:
    flip, density = planted.flip, _background(planted.published)
    ratios = np.array(
        [[(1 - flip.add) / (1 - density), flip.add / density], [flip.delete / (1 - density), (1 - flip.delete) / density]]
    )
    return np.asarray(np.log(np.maximum(ratios, _TINY)))


def _background(graph: Graph) -> float:
    """The chance that two nodes with a common neighbour are joined: people cluster, so density alone would favour any clique."""
    from sfumato.metrics.pattern_counts import PatternCounts

    if graph.size > _COUNTED_UP_TO:
        return max(_sampled_closure(graph), graph.density, _TINY)
    counts = PatternCounts(graph)
    wedges, triangles = (counts.copies(TiePattern.named(name)) for name in ("wedge", "triangle"))
    return max(float(3 * triangles / wedges) if wedges else 0.0, graph.density, _TINY)


def _sampled_closure(graph: Graph) -> float:
    """The same from a hundred thousand pairs of neighbours, where counting all triangles would take longer than the attack."""
    chance = Randomness(seed=0).generator()  # the adversary's own samples; nothing of this is published
    degrees = graph.degrees.astype(np.float64)
    centre = chance.choice(graph.nodes, size=_SAMPLED, p=degrees * (degrees - 1) / (degrees * (degrees - 1)).sum())
    first = chance.integers(0, graph.degrees[centre])
    second = (first + chance.integers(1, graph.degrees[centre])) % graph.degrees[centre]
    ends = graph.neighbours[graph.starts[centre] + first], graph.neighbours[graph.starts[centre] + second]
    return float(graph.has_edges(*ends).mean())


def _degree_ratios(planted: Planted) -> FloatArray:
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


def _pairs(planted: Planted, order: IntArray, by_degree: FloatArray, beam: int) -> tuple[NDArray[np.int32], FloatArray]:
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


def _judged(planted: Planted, order: IntArray, guess: NDArray[np.int32], kept: int, steps: int) -> Found:
    accounts = np.empty(planted.accounts, dtype=np.int64)
    accounts[order] = guess
    right = bool((accounts == planted.true_accounts).all())
    return Found(right, victims_found(planted, accounts), kept, steps, False)
