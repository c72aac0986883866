"""Copies of patterns of five and six people before a flip, by drawing places for them instead of looking at all.

A count is a sum over all maps of the pattern into the people, of products of b = (y − a)/c for its ties (`pattern_counts`). Maps
are drawn tie by tie along a tree of the pattern, half of the time to a published neighbour and half of the time to anybody, and
each product is divided by the chance with which its map was drawn: right on average whatever the graph is, and most maps that
matter are met, because those that follow published ties are drawn most often.

Notation
    q   the chance of a map: of its first person ½/N + ½ degree/2h, of each step to w from its parent v ½/(N − 1) + ½ [v ~
    w]/degree(v).

Errors
    Of the draw: the spread of the products. Of the flip: the published graph is flipped again and both flips are undone, as for
    patterns of four (`recovery`); that spread holds a draw of its own, so nothing is left out.

Paper
    [multitype §4.3.5] asks for patterns beyond triads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.data.pattern import TiePattern

DRAWN = 100_000


class SampledCount(NamedTuple):
    """Copies of a pattern, and the standard error of having drawn some maps only."""

    copies: float
    error: float


def sampled_copies(
    graph: Graph, pattern: TiePattern, flip: EdgeChannel, chance: np.random.Generator, drawn: int = DRAWN
) -> SampledCount:
    """How many copies of a connected pattern the graph had before the flip."""
    if graph.nodes < pattern.nodes:
        return SampledCount(0.0, 0.0)
    people, density = _maps(graph, pattern, chance, drawn)
    weight = np.where(_distinct(people), 1 / density, 0.0)
    for a, b in sorted(pattern.ties):
        there = graph.has_edges(people[a], people[b])
        weight *= (there - flip.add) / flip.slope
    weight /= pattern.symmetries
    return SampledCount(float(weight.mean()), float(weight.std(ddof=1)) / math.sqrt(drawn))


def _maps(graph: Graph, pattern: TiePattern, chance: np.random.Generator, drawn: int) -> tuple[IntArray, FloatArray]:
    """Pattern nodes x draws: who stands where, and the chance of each draw."""
    people = np.zeros((pattern.nodes, drawn), dtype=np.int64)
    ends = max(len(graph.neighbours), 1)
    first = chance.integers(0, graph.nodes, drawn)
    if len(graph.neighbours):
        owner = np.repeat(np.arange(graph.nodes), graph.degrees)
        first = np.where(chance.random(drawn) < 0.5, first, owner[chance.integers(0, ends, drawn)])
    by_ties = graph.degrees[first] / ends if len(graph.neighbours) else np.full(drawn, 1 / graph.nodes)
    order = tree_of(pattern)
    people[order[0][0]], density = first, 0.5 / graph.nodes + 0.5 * by_ties
    for node, parent in order[1:]:
        step, part = _step(graph, people[parent], chance)
        people[node] = step
        density *= part
    return people, density


def _step(graph: Graph, at: IntArray, chance: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """From everybody in `at` one step, to a neighbour or to anybody else, and its chance; who has no neighbour goes anywhere."""
    degree = graph.degrees[at]
    anybody = (at + chance.integers(1, graph.nodes, len(at))) % graph.nodes
    place = np.minimum(graph.starts[at] + (chance.random(len(at)) * degree).astype(np.int64), max(len(graph.neighbours) - 1, 0))
    near = graph.neighbours[place] if len(graph.neighbours) else anybody
    stay = (degree > 0) & (chance.random(len(at)) < 0.5)
    chosen = np.where(stay, near, anybody).astype(np.int64)
    far = np.where(degree > 0, 0.5, 1.0) / (graph.nodes - 1)
    return chosen, far + np.where(graph.has_edges(at, chosen), 0.5 / np.maximum(degree, 1), 0.0)


def tree_of(pattern: TiePattern) -> list[tuple[int, int]]:
    """Nodes in an order in which each but the first is tied to an earlier one, with that one.

    >>> tree_of(TiePattern.named("path"))
    [(0, -1), (1, 0), (2, 1), (3, 2)]
    """
    order = [(0, -1)]
    while len(order) < pattern.nodes:
        seen = [node for node, _ in order]
        order.append(next((b, a) for a in seen for b in range(pattern.nodes) if b not in seen and _tied(pattern, a, b)))
    return order


def _tied(pattern: TiePattern, a: int, b: int) -> bool:
    return (min(a, b), max(a, b)) in pattern.ties


def _distinct(people: IntArray) -> np.ndarray:
    ordered = np.sort(people, axis=0)
    return np.asarray((ordered[1:] != ordered[:-1]).all(axis=0))
