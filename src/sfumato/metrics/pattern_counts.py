"""How often every pattern of up to four people occurs in a graph, and how often it occurred before a flip.

Every count of a small pattern is a sum of products of edge indicators. Replacing each indicator y by (y − a)/c, which is
right on average and independent between pairs, gives an unbiased estimate of the count before the flip: one idea for
density, degrees, triangles, triads and everything else. Two copies of a pattern vary together only through the pairs they
share, so gluing copies gives variances and covariances of the same kind, again estimated without bias.

Paper
    [multitype §4.3.5] asks for such a framework and leaves standard errors open; Eqs. 4.4, 4.8 and 4.9 are its first cases.

Notation
    inj(P)   one-to-one maps of pattern P into the graph (see `data.pattern`).
    y, x     indicator of a pair after and before the flip; b = (y − a)/c, so that E b = x and Var b = v0 + (v1 − v0)·x.

Invariants
    I1  Counts are exact integers and the algebra is rational: nothing cancels away, however large N is.

Departures
    [multitype Eqs. 4.8, 4.9] solve a 4 × 4 system for each pattern; substituting indicators is the same estimate without a system.
    Patterns of four people would need counts of six to get the variance in closed form; `metrics.recovery` flips once
    more instead.

Cost
    One pass for triangles, four-cycles and four-cliques each (`kernels.small_patterns`), the rest from degrees; each is
    counted only when asked for.

>>> from sfumato.data.graph import Graph
>>> square = PatternCounts(Graph.from_pairs([0, 1, 2, 3], [1, 2, 3, 0]))
>>> [int(square.copies(TiePattern.named(name))) for name in ("edge", "wedge", "triangle", "square", "path")]
[4, 4, 0, 1, 4]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache, cached_property
from math import comb, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.data.pattern import TiePattern, overlaps

Maps = Callable[[TiePattern], Fraction]


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

    def copies(self, pattern: TiePattern) -> Fraction:
        return self.maps(pattern) / pattern.symmetries

    def maps(self, pattern: TiePattern) -> Fraction:
        """inj(P): maps of the tied nodes, then of the isolated ones to whatever is left."""
        symmetries = TiePattern.named(pattern.shape).symmetries if pattern.ties else 1
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
        from sfumato.metrics.kernels.small_patterns import four_cycles

        self._shared  # noqa: B018 - a crowded graph yields its four-cycles on the way
        return self._known["square"] if "square" in self._known else int(four_cycles(*self._ordered))

    def _clique(self) -> int:
        from sfumato.metrics.kernels.small_patterns import four_cliques

        return int(four_cliques(*self._ordered))

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        from sfumato.metrics.kernels.small_patterns import by_degree

        starts, neighbours = by_degree(self.graph.starts, self.graph.neighbours)
        return starts, neighbours

    @cached_property
    def _shared(self) -> tuple[NDArray[np.int64], int]:
        """Triangles at every node, by ascending degree, and diamonds; by rows of bits when the graph is crowded."""
        from sfumato.metrics.kernels.shared_neighbours import pays_off, shared_neighbours
        from sfumato.metrics.kernels.small_patterns import triangles

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

    def copies(self, pattern: TiePattern, *, exactly: bool = False) -> Fraction:
        """Copies of the pattern before the flip; `exactly` asks that its other pairs are not tied (induced copies)."""
        if not exactly:
            return self.maps(pattern) / pattern.symmetries
        return sum((weight * self.maps(whole) for weight, whole in untied(pattern)), Fraction(0)) / pattern.symmetries

    def maps(self, pattern: TiePattern) -> Fraction:
        """inj(P) before the flip: expand the product of (y − a)/c over the ties."""
        key = pattern.nodes, pattern.shape
        if key not in self._known:
            self._known[key] = self._maps(pattern)
        return self._known[key]

    def _maps(self, pattern: TiePattern) -> Fraction:
        size = len(pattern.ties)
        terms = (self.counts.maps(part) * (-self._add) ** (size - len(part.ties)) for part in pattern.parts())
        return sum(terms, Fraction(0)) / self._slope**size  # I1


def untied(pattern: TiePattern) -> list[tuple[int, TiePattern]]:
    """A pattern whose other pairs are not tied, as signed patterns that do not care: the product of 1 − x, expanded.

    >>> [(sign, whole.shape) for sign, whole in untied(TiePattern.named("wedge"))]
    [(1, 'wedge'), (-1, 'triangle')]
    """
    extra = TiePattern(pattern.nodes, pattern.missing())
    return [((-1) ** len(part.ties), TiePattern(pattern.nodes, pattern.ties | part.ties)) for part in extra.parts()]


def covariance(first: TiePattern, second: TiePattern, maps: Maps, flip: EdgeChannel) -> Fraction:
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
    """A pattern that two copies leave when `kept` of their `shared` pairs contribute a tie and the others a variance."""

    pattern: TiePattern
    shared: int
    kept: int


@cache
def _glued(first: TiePattern, second: TiePattern) -> Counter[_Term]:
    """Π over the shared pairs of (v0 + (1 + v1 − v0)·x), multiplied out over all overlaps, patterns of one shape together."""
    terms: Counter[_Term] = Counter()
    for nodes, one, other in overlaps(first, second):
        for part in TiePattern(nodes, one & other).parts():
            whole = TiePattern(nodes, (one ^ other) | part.ties)
            alike = TiePattern(nodes, TiePattern.named(whole.shape).ties if whole.ties else frozenset())
            terms[_Term(alike, len(one & other), len(part.ties))] += 1
    return terms


def _variances(flip: EdgeChannel) -> tuple[Fraction, Fraction]:
    """v0 and v1 − v0, exactly."""
    delete, add = Fraction(flip.delete), Fraction(flip.add)
    slope = (1 - delete - add) ** 2
    without = add * (1 - add) / slope
    return without, delete * (1 - delete) / slope - without
