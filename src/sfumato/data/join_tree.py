"""Join trees: whether overlapping column sets can be glued without a cycle, and in which order.

Guarantee
    `join_tree` returns a tree with the running-intersection property, or None when the sets are cyclic.

Paper
    [versatile §5.1]: published schemas must be decomposable for the closed-form estimate.

Invariants
    I1  A maximum spanning tree by size of intersection has the running-intersection property exactly when its total
        weight is Σ|Cᵢ| − |∪Cᵢ| (every column then occupies a connected part of the tree).

Departures
    The paper says every schema in Guardian Normal Form is triangulated. That is wrong for columns no rule is about
    (three tables AB, BC, CA and no rule), so it is checked here and demanded by the decompositions.

>>> join_tree([frozenset("ab"), frozenset("bc"), frozenset("d")])
[TreeEdge(parent=0, child=1, shared=frozenset({'b'})), TreeEdge(parent=0, child=2, shared=frozenset())]
>>> join_tree([frozenset("ab"), frozenset("bc"), frozenset("ca")]) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TreeEdge:
    """An edge of a join tree; `shared` may be empty between independent parts."""

    parent: int
    child: int
    shared: frozenset[str]


def join_tree(sets: Sequence[frozenset[str]]) -> list[TreeEdge] | None:
    """Links in an order in which every parent comes before its children (set 0 is the root), or None for a cyclic
    schema."""
    links: list[TreeEdge] = []
    best = {place: TreeEdge(0, place, sets[0] & sets[place]) for place in range(1, len(sets))}
    while best:
        link = max(best.values(), key=lambda each: (len(each.shared), -each.child))
        links.append(link)
        del best[link.child]
        for place, known in best.items():
            shared = sets[link.child] & sets[place]
            if len(shared) > len(known.shared):
                best[place] = TreeEdge(link.child, place, shared)
    covered = sum(map(len, sets)) - len(frozenset().union(*sets))
    return links if sum(len(link.shared) for link in links) == covered else None  # I1
