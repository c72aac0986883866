"""How often every pattern of up to four people occurs in a graph, and how often it occurred before a flip.

Every count of a small pattern is a sum of products of edge indicators. Replacing each indicator y by (y − a)/c, which
is right on average and independent between pairs, gives an unbiased estimate of the count before the flip: one idea for
density, degrees, triangles, triads and everything else. Two copies of a pattern vary together only through the pairs
they share, so gluing copies gives variances and covariances of the same kind, again estimated without bias.

Paper
    [multitype §4.3.5] asks for such a framework and leaves standard errors open; Eqs. 4.4, 4.8 and 4.9 are its first
    cases.

Notation
    inj(P)   one-to-one maps of pattern P into the graph (see `graphs.subgraph_patterns`).
    y, x     indicator of a pair after and before the flip; b = (y − a)/c, so that E b = x and Var b = v0 + (v1 − v0)·x.

Invariants
    I1  Counts are exact integers and the algebra is rational: nothing cancels away, however large N is.

Departures
    [multitype Eqs. 4.8, 4.9] solve a 4 × 4 system for each pattern; substituting indicators is the same estimate
    without a system. Patterns of four people would need counts of six to get the variance in closed form;
    `graphs.recovery` flips once more instead.

Cost
    One pass for triangles, four-cycles and four-cliques each (`kernels.subgraph_counts`), the rest from degrees; each
    is counted only when asked for.

>>> from sfumato.data.graph import Graph
>>> square = PatternCounts(Graph.from_pairs([0, 1, 2, 3], [1, 2, 3, 0]))
>>> [int(square.copies(SubgraphPattern.named(name))) for name in ("edge", "wedge", "triangle", "square", "path")]
[4, 4, 0, 1, 4]


Recounting
----------
Counts of patterns in a graph of which a few edges have changed, from the counts before.

A flip that is worth publishing leaves most of a graph as it was, so that most copies of a pattern are the old ones:
what changes is counted around the edges that go and come (`kernels.subgraph_counts`). The numbers are the same as those
of a graph that is counted anew, to the last copy.

Cost
    For each changed edge the neighbours of the neighbours of its ends, and a copy of the adjacency; where that is more
    than counting anew, it is counted anew.

>>> from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern as TiePattern
>>> ring = PatternCounts(Graph.from_pairs([0, 1, 2, 3, 4], [1, 2, 3, 4, 0]))
>>> change = EdgeChange(lost=np.array([1]), gained=np.array([3]))  # 0-1 goes, 0-3 comes
>>> [int(UpdatedCounts(ring, change).copies(TiePattern.named(name))) for name in ("edge", "triangle", "square")]
[5, 1, 0]


Sampled patterns
----------------
Copies of patterns of five and six people before a flip, by drawing places for them instead of looking at all.

A count is a sum over all maps of the pattern into the people, of products of b = (y − a)/c for its ties
(`pattern_counts`). Maps are drawn tie by tie along a tree of the pattern, half of the time to a published neighbour and
half of the time to any person, and each product is divided by the chance with which its map was drawn: right on average
whatever the graph is, and most maps that matter are met, because those that follow published ties are drawn most often.

Notation
    q   the chance of a map: of its first person ½/N + ½ degree/2h, of each step to w from its parent v ½/(N − 1) + ½ [v
        ~
    w]/degree(v).

Errors
    Of the draw: the spread of the products. Of the flip: the published graph is flipped again and both flips are
    undone, as for patterns of four (`recovery`); that spread holds a draw of its own, so nothing is left out.

Paper
    [multitype §4.3.5] asks for patterns beyond triads.


Hub patterns
------------
Sort people by whom they follow: the target pattern of hubs nearest to each person's own, before a flip.

An example of mining on a published graph. The number of hubs in which a person differs from a target is a sum of edge
indicators, so putting (y − a)/c for each gives the distance before the flip without bias; the nearest target wins.
Under a symmetric flip this changes all distances of a person alike, so the nearest target is the one on the published
graph as it is.

Paper
    [multitype §4.6.3], Figure 4.9.

Departures
    The paper measures distances on the published graph as it is; that is the same for the symmetric flip and wrong for
    any other.

>>> from sfumato.data.graph import Graph
>>> star = Graph.from_pairs([0, 0, 1], [2, 3, 3], 5)
>>> nearest_patterns(star, EdgeChannel.symmetric(0.0), hubs=[0, 1], people=[2, 3, 4], targets=[[0, 0], [1, 0], [1,
...     1]]).tolist()
[1, 2, 0]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache, cached_property
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import EdgeChange
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern, pattern_overlaps

Maps = Callable[[SubgraphPattern], Fraction]


class PatternCounts:
    """Copies of small patterns in one graph, counted when first asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[str, int] = {}

    @property
    def nodes(self) -> int:
        return self.graph.nodes

    @property
    def degrees(self) -> IntArray:
        return self.graph.degrees

    def copies(self, pattern: SubgraphPattern) -> Fraction:
        return self.maps(pattern) / pattern.symmetries

    def maps(self, pattern: SubgraphPattern) -> Fraction:
        """inj(P): maps of the tied nodes, then of the isolated ones to whatever is left."""
        symmetries = SubgraphPattern.named(pattern.shape).symmetries if pattern.ties else 1
        rest = prod(range(self.nodes - pattern.nodes + 1, self.nodes - pattern.busy + 1))
        return Fraction(self._count(pattern.shape) * symmetries * max(rest, 0))  # I1

    def _count(self, shape: str) -> int:
        if shape not in self._known:
            self._known[shape] = int(getattr(self, "_" + shape.replace("-", "_"))())
        return self._known[shape]

    def _nothing(self) -> int:
        return 1

    def _edge(self) -> int:
        return int(self.degrees.sum()) // 2

    def _wedge(self) -> int:
        return self._stars(2)

    def _star(self) -> int:
        return self._stars(3)

    def _stars(self, rays: int) -> int:
        times = np.bincount(self.degrees)
        return sum(comb(degree, rays) * int(times[degree]) for degree in np.flatnonzero(times).tolist())

    def _two_edges(self) -> int:
        return comb(self._count("edge"), 2) - self._count("wedge")

    def _triangle(self) -> int:
        return int(self._shared[0].sum()) // 3

    def _path(self) -> int:
        starts, neighbours = self.graph.starts, self.graph.neighbours
        spare = self.graph.degrees - 1
        sums = np.add.reduceat(np.append(spare[neighbours], 0), starts[:-1]) * (self.graph.degrees > 0)
        return int((spare * sums).sum()) // 2 - 3 * self._count("triangle")

    def _paw(self) -> int:
        at_node, _ = self._shared
        return int((at_node * (np.sort(self.graph.degrees, kind="stable") - 2)).sum())

    def _diamond(self) -> int:
        return self._shared[1]

    def _square(self) -> int:
        from sfumato.kinds.graphs.kernels.subgraph_counts import four_cycles

        self._shared  # noqa: B018 - a crowded graph yields its four-cycles on the way
        return self._known["square"] if "square" in self._known else int(four_cycles(*self._ordered))

    def _clique(self) -> int:
        from sfumato.kinds.graphs.kernels.subgraph_counts import four_cliques

        return int(four_cliques(*self._ordered))

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        from sfumato.kinds.graphs.kernels.subgraph_counts import by_degree

        starts, neighbours = by_degree(self.graph.starts, self.graph.neighbours)
        return starts, neighbours

    @cached_property
    def _shared(self) -> tuple[NDArray[np.int64], int]:
        """Triangles at every node, by ascending degree, and diamonds; by rows of bits when the graph is crowded."""
        from sfumato.kinds.graphs.kernels.subgraph_counts import pays_off, shared_neighbours, triangles

        if pays_off(self.graph.degrees):
            at_node, diamonds, self._known["square"] = shared_neighbours(*self._ordered)
            return at_node, int(diamonds)
        at_node, at_edge = triangles(*self._ordered)
        return at_node, int((at_edge * (at_edge - 1) // 2).sum())


class Unflipped:
    """Unbiased counts of patterns before the flip, from the counts after it."""

    def __init__(self, counts: PatternCounts, flip: EdgeChannel) -> None:
        self.counts = counts
        self.flip = flip
        self._add, self._slope = Fraction(flip.add), 1 - Fraction(flip.add) - Fraction(flip.delete)
        self._known: dict[tuple[int, str], Fraction] = {}

    def copies(self, pattern: SubgraphPattern, *, exactly: bool = False) -> Fraction:
        """Copies of the pattern before the flip; `exactly` asks that its other pairs are not tied (induced copies)."""
        if not exactly:
            return self.maps(pattern) / pattern.symmetries
        return sum((weight * self.maps(whole) for weight, whole in untied(pattern)), Fraction(0)) / pattern.symmetries

    def maps(self, pattern: SubgraphPattern) -> Fraction:
        """inj(P) before the flip: expand the product of (y − a)/c over the ties."""
        key = pattern.nodes, pattern.shape
        if key not in self._known:
            self._known[key] = self._maps(pattern)
        return self._known[key]

    def _maps(self, pattern: SubgraphPattern) -> Fraction:
        size = len(pattern.ties)
        terms = (self.counts.maps(part) * (-self._add) ** (size - len(part.ties)) for part in pattern.parts())
        return sum(terms, Fraction(0)) / self._slope**size  # I1


def untied(pattern: SubgraphPattern) -> list[tuple[int, SubgraphPattern]]:
    """A pattern whose other pairs are not tied, as signed patterns that do not care: the product of 1 − x, expanded.

    >>> [(sign, whole.shape) for sign, whole in untied(SubgraphPattern.named("wedge"))]
    [(1, 'wedge'), (-1, 'triangle')]
    """
    extra = SubgraphPattern(pattern.nodes, pattern.missing())
    return [
        ((-1) ** len(part.ties), SubgraphPattern(pattern.nodes, pattern.ties | part.ties)) for part in extra.parts()
    ]


def covariance(first: SubgraphPattern, second: SubgraphPattern, maps: Maps, flip: EdgeChannel) -> Fraction:
    """Covariance of two recovered counts, of patterns with at most three nodes, given inj of the graph before the flip.

    For copies that share the pairs S the covariance is Π over S of (x + v) · Π of the other x, minus Π of all x, with
    v = v0 + (v1 − v0)·x. Multiplied out, every term is again a pattern, of at most four nodes.
    """
    if max(first.nodes, second.nodes) > 3:
        raise ValueError("closed forms need patterns of at most three nodes")
    without, gain = _variances(flip)
    total = Fraction(0)
    for term, times in _glued(first, second).items():
        weight = without ** (term.shared - term.kept) * (1 + gain) ** term.kept - (term.kept == term.shared)
        total += times * weight * maps(term.pattern)
    return total / (first.symmetries * second.symmetries)


class _Term(NamedTuple):
    """A pattern that two copies leave when `kept` of their `shared` pairs contribute a tie and the others a
    variance."""

    pattern: SubgraphPattern
    shared: int
    kept: int


@cache
def _glued(first: SubgraphPattern, second: SubgraphPattern) -> Counter[_Term]:
    """Π over the shared pairs of (v0 + (1 + v1 − v0)·x), multiplied out over all overlaps, patterns of one shape
    together."""
    terms: Counter[_Term] = Counter()
    for nodes, one, other in pattern_overlaps(first, second):
        for part in SubgraphPattern(nodes, one & other).parts():
            whole = SubgraphPattern(nodes, (one ^ other) | part.ties)
            alike = SubgraphPattern(nodes, SubgraphPattern.named(whole.shape).ties if whole.ties else frozenset())
            terms[_Term(alike, len(one & other), len(part.ties))] += 1
    return terms


def _variances(flip: EdgeChannel) -> tuple[Fraction, Fraction]:
    """v0 and v1 − v0, exactly."""
    delete, add = Fraction(flip.delete), Fraction(flip.add)
    slope = (1 - delete - add) ** 2
    without = add * (1 - add) / slope
    return without, delete * (1 - delete) / slope - without


# Recounting
# ----------


def update_counts(before: PatternCounts, change: EdgeChange) -> PatternCounts:
    """The counts after the change, by whatever way is shorter."""
    near = UpdatedCounts(before, change)
    return near if near.pays_off() else PatternCounts(change.applied(before.graph))


class UpdatedCounts(PatternCounts):
    """Copies of small patterns after a change, by what it changed."""

    def __init__(self, before: PatternCounts, change: EdgeChange) -> None:
        self.before, self.change = before, change
        self._known: dict[str, int] = {}

    @cached_property
    def graph(self) -> Graph:  # type: ignore[override]
        """The graph after the change; most counts do without."""
        return self.change.applied(self.before.graph)

    @property
    def nodes(self) -> int:
        return self.before.nodes

    @cached_property
    def degrees(self) -> IntArray:
        gone, come = self._touched(self.change.lost), self._touched(self.change.gained)
        return np.asarray(self.before.degrees + come - gone)

    def _touched(self, codes: IntArray) -> IntArray:
        """How many of these pairs everybody has."""
        return np.bincount(np.concatenate(np.divmod(codes, max(self.nodes, 1))), minlength=self.nodes)

    def pays_off(self) -> bool:
        """Whether fewer steps lead around the changed edges than through the whole graph."""
        graph = self.before.graph
        low, high = self._ends
        steps = float((graph.degrees[low] + graph.degrees[high]).sum()) * self._typical
        return steps + len(graph.neighbours) < float((graph.degrees.astype(np.float64) ** 2).sum())

    @property
    def _typical(self) -> float:
        """Neighbours of the person at the end of a tie, on average; people with many are met more often."""
        degrees = self.before.degrees.astype(np.float64)
        return float((degrees**2).sum() / max(degrees.sum(), 1.0))

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        low, high = np.divmod(np.concatenate([self.change.lost, self.change.gained]), max(self.nodes, 1))
        return low, high

    def _triangle(self) -> int:
        return self.before._count("triangle") + self._walks[0]

    def _path(self) -> int:
        return self.before._count("path") + self._walks[1]

    def _square(self) -> int:
        return self.before._count("square") + self._walks[2]

    def _paw(self) -> int:
        return self.before._count("paw") + self._rings[0]

    def _diamond(self) -> int:
        return self.before._count("diamond") + self._rings[1]

    def _clique(self) -> int:
        return self.before._count("clique") + self._rings[2]

    @cached_property
    def _walks(self) -> tuple[int, ...]:
        from sfumato.kinds.graphs.kernels.subgraph_counts import changed_walks

        return tuple(map(int, changed_walks(*self._changed)))

    @cached_property
    def _rings(self) -> tuple[int, ...]:
        from sfumato.kinds.graphs.kernels.subgraph_counts import changed_rings

        return tuple(map(int, changed_rings(*self._changed)))

    @property
    def _changed(self) -> tuple[Any, ...]:
        graph = self.before.graph
        return graph.starts, graph.neighbours, *self._ends, len(self.change.lost)


# Sampled patterns
# ----------------


DRAWN = 100_000


class SampledCount(NamedTuple):
    """Copies of a pattern, and the standard error of having drawn some maps only."""

    copies: float
    error: float


def sampled_copies(
    graph: Graph, pattern: SubgraphPattern, flip: EdgeChannel, chance: np.random.Generator, drawn: int = DRAWN
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


def _maps(
    graph: Graph, pattern: SubgraphPattern, chance: np.random.Generator, drawn: int
) -> tuple[IntArray, FloatArray]:
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
    """From everybody in `at` one step, to a neighbour or to any person else, and its chance; who has no neighbour goes
    anywhere."""
    degree = graph.degrees[at]
    anybody = (at + chance.integers(1, graph.nodes, len(at))) % graph.nodes
    place = np.minimum(
        graph.starts[at] + (chance.random(len(at)) * degree).astype(np.int64), max(len(graph.neighbours) - 1, 0)
    )
    near = graph.neighbours[place] if len(graph.neighbours) else anybody
    stay = (degree > 0) & (chance.random(len(at)) < 0.5)
    chosen = np.where(stay, near, anybody).astype(np.int64)
    far = np.where(degree > 0, 0.5, 1.0) / (graph.nodes - 1)
    return chosen, far + np.where(graph.has_edges(at, chosen), 0.5 / np.maximum(degree, 1), 0.0)


def tree_of(pattern: SubgraphPattern) -> list[tuple[int, int]]:
    """Nodes in an order in which each but the first is tied to an earlier one, with that one.

    >>> tree_of(SubgraphPattern.named("path"))
    [(0, -1), (1, 0), (2, 1), (3, 2)]
    """
    order = [(0, -1)]
    while len(order) < pattern.nodes:
        seen = [node for node, _ in order]
        order.append(next((b, a) for a in seen for b in range(pattern.nodes) if b not in seen and _tied(pattern, a, b)))
    return order


def _tied(pattern: SubgraphPattern, a: int, b: int) -> bool:
    return (min(a, b), max(a, b)) in pattern.ties


def _distinct(people: IntArray) -> np.ndarray:
    ordered = np.sort(people, axis=0)
    return np.asarray((ordered[1:] != ordered[:-1]).all(axis=0))


# Hub patterns
# ------------


def nearest_patterns(
    graph: Graph, flip: EdgeChannel, *, hubs: ArrayLike, people: ArrayLike, targets: ArrayLike
) -> NDArray[np.int64]:
    """For each of `people` the row of `targets` (0/1 per hub) that differs least from their ties before the flip."""
    hub, person = np.asarray(hubs, dtype=np.int64), np.asarray(people, dtype=np.int64)
    wanted = np.asarray(targets, dtype=np.float64)
    seen = graph.has_edges(np.repeat(person, len(hub)), np.tile(hub, len(person))).reshape(len(person), len(hub))
    tied = (seen - flip.add) / flip.slope
    distance = tied @ (1 - 2 * wanted.T) + wanted.sum(axis=1)
    return np.asarray(distance.argmin(axis=1))
