"""Small patterns of people and ties, and what it takes to glue two copies together.

A pattern is a graph on at most four labelled nodes, or on five or six when its copies are drawn instead of counted
(`graphs.subgraph_counts`). Counting the copies of a small one in a graph and undoing a flip need only three things
about it: its shape up to renaming (`shape`), the number of renamings that leave it alone (`symmetries`), and, for
standard errors, all ways in which two copies can overlap (`pattern_overlaps`).

Notation
    inj(P)   the number of one-to-one maps of P's nodes into the graph that carry ties to ties. Copies of P =
             inj(P)/symmetries.

>>> triangle = SubgraphPattern.named("triangle")
>>> triangle.symmetries, SubgraphPattern.named("wedge").symmetries
(6, 2)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations

from sfumato.core.errors import PolicyError
from sfumato.core.registry import nearest

Tie = tuple[int, int]
Ties = frozenset[Tie]

_NAMED: dict[str, tuple[int, str]] = {
    "edge": (2, "01"),
    "wedge": (3, "01 02"),
    "triangle": (3, "01 02 12"),
    "two-edges": (4, "01 23"),
    "path": (4, "01 12 23"),
    "star": (4, "01 02 03"),
    "square": (4, "01 12 23 03"),
    "paw": (4, "01 02 12 03"),
    "diamond": (4, "01 02 12 13 23"),
    "clique": (4, "01 02 03 12 13 23"),
}
_LARGER: dict[str, tuple[int, str]] = {
    "path-of-5": (5, "01 12 23 34"),
    "star-of-5": (5, "01 02 03 04"),
    "pentagon": (5, "01 12 23 34 04"),
    "bull": (5, "01 02 12 13 24"),
    "house": (5, "01 12 23 03 04 14"),
    "bow-tie": (5, "01 02 12 03 04 34"),
    "clique-of-5": (5, "01 02 03 04 12 13 14 23 24 34"),
    "hexagon": (6, "01 12 23 34 45 05"),
    "clique-of-6": (6, "01 02 03 04 05 12 13 14 15 23 24 25 34 35 45"),
}


@dataclass(frozen=True)
class SubgraphPattern:
    """Ties (i, j), i < j, among `nodes` labelled nodes."""

    nodes: int
    ties: Ties

    @staticmethod
    def named(name: str) -> SubgraphPattern:
        """One of the patterns with a name of its own: edge, wedge, triangle, path, star, square, paw, diamond, clique
        …"""
        return _named(name)

    @staticmethod
    def names() -> list[str]:
        """Patterns of at most four people, which are counted."""
        return list(_NAMED)

    @staticmethod
    def larger_names() -> list[str]:
        """Patterns of five and six people, of which copies are drawn."""
        return list(_LARGER)

    @property
    def larger(self) -> bool:
        """Whether its copies are drawn instead of counted."""
        return self.nodes > 4

    @property
    def symmetries(self) -> int:
        """How many renamings of its nodes leave the pattern as it is."""
        return _symmetries(self)

    @property
    def shape(self) -> str:
        """The name of the ties' shape, isolated nodes apart; 'nothing' without ties."""
        return _shape(self.ties)

    @property
    def busy(self) -> int:
        """The number of nodes with a tie."""
        return len({node for tie in self.ties for node in tie})

    def renamed(self, order: tuple[int, ...]) -> SubgraphPattern:
        return SubgraphPattern(self.nodes, frozenset(_tie(order[a], order[b]) for a, b in self.ties))

    def parts(self) -> Iterator[SubgraphPattern]:
        """Every pattern that keeps some of the ties, all nodes kept."""
        for count in range(len(self.ties) + 1):
            for kept in combinations(sorted(self.ties), count):
                yield SubgraphPattern(self.nodes, frozenset(kept))

    def missing(self) -> Ties:
        """The pairs of its nodes that are not tied."""
        return frozenset(combinations(range(self.nodes), 2)) - self.ties


def pattern_overlaps(first: SubgraphPattern, second: SubgraphPattern) -> Iterator[tuple[int, Ties, Ties]]:
    """All ways to lay `second` over `first` with at least two common nodes: nodes of the union, and both sets of ties
    in it."""
    for common in range(2, min(first.nodes, second.nodes) + 1):
        union = first.nodes + second.nodes - common
        for chosen in combinations(range(second.nodes), common):
            for places in permutations(range(first.nodes), common):
                placed = dict(zip(chosen, places, strict=True))
                fresh = iter(range(first.nodes, union))
                order = tuple(placed[node] if node in placed else next(fresh) for node in range(second.nodes))
                yield union, first.ties, frozenset(_tie(order[a], order[b]) for a, b in second.ties)


def _tie(a: int, b: int) -> Tie:
    return (a, b) if a < b else (b, a)


@cache
def _named(name: str) -> SubgraphPattern:
    known = _NAMED | _LARGER
    if name not in known:
        raise PolicyError(f"unknown pattern '{name}'", hint=nearest(name, list(known)))
    nodes, text = known[name]
    return SubgraphPattern(nodes, frozenset((int(tie[0]), int(tie[1])) for tie in text.split()))


@cache
def _symmetries(pattern: SubgraphPattern) -> int:
    return sum(pattern.renamed(order).ties == pattern.ties for order in permutations(range(pattern.nodes)))


@cache
def _shape(ties: Ties) -> str:
    return _shapes()[_canonical(ties)]


def _canonical(ties: Ties) -> Ties:
    """The smallest renaming of the tied nodes, as a key."""
    used = sorted({node for tie in ties for node in tie})
    renamings = (dict(zip(used, order, strict=True)) for order in permutations(range(len(used))))
    return frozenset(min(sorted(_tie(r[a], r[b]) for a, b in ties) for r in renamings))


@cache
def _shapes() -> dict[Ties, str]:
    return {frozenset(): "nothing"} | {_canonical(SubgraphPattern.named(name).ties): name for name in _NAMED}
