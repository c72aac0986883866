"""A judge of graphs whose ties were flipped, one time or several: every outcome of small graphs is listed.

A flip deletes a tie with probability `delete` and adds one that is not there with probability `add`; the flips of
several releases are independent of each other. Nothing of `sfumato` is imported.

>>> round(tie_epsilon([(0.25, 0.25)]), 6) == round(math.log(3), 6)
True
>>> known_neighbours([(0.25, 0.25)], known=1), degrees([(0.25, 0.25)], nodes=3, apart=1)
(0.75, 0.75)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import product

Flip = tuple[float, float]
"""Probabilities to delete and to add."""


def chance(flip: Flip, tied: bool, seen: bool) -> float:
    """How likely a tie, or none, is seen as one."""
    delete, add = flip
    present = 1 - delete if tied else add
    return present if seen else 1 - present


def tie_epsilon(flips: Sequence[Flip]) -> float:
    """The largest log of the ratio of probabilities of anything that is seen of one tie, with the tie and without."""
    worst = 0.0
    for seen in product((False, True), repeat=len(flips)):
        with_tie, without = (
            math.prod(chance(flip, tied, one) for flip, one in zip(flips, seen, strict=True)) for tied in (True, False)
        )
        if with_tie != without:
            worst = max(worst, abs(math.log(with_tie / without)) if with_tie and without else math.inf)
    return worst


def known_neighbours(flips: Sequence[Flip], known: int) -> float:
    """How often who recognizes some nodes tells two people apart by their ties to them, at worst over all ties."""
    worst = 0.5
    for one in product((False, True), repeat=known):
        for other in product((False, True), repeat=known):
            worst = max(worst, _told_apart(_law_of_ties(flips, one), _law_of_ties(flips, other)))
    return worst


def degrees(flips: Sequence[Flip], nodes: int, apart: int) -> float:
    """How often two people whose numbers of ties to others differ by at most `apart` are told apart."""
    others, worst = nodes - 2, 0.5
    for many in range(others + 1):
        for more in range(many + 1, min(many + apart, others) + 1):
            worst = max(worst, _told_apart(_law_of_counts(flips, many, others), _law_of_counts(flips, more, others)))
    return worst


Law = dict[tuple[object, ...], float]


def _told_apart(one: Law, other: Law) -> float:
    """The best guess which of two nodes is whose: they are shown in either order."""
    seen: dict[tuple[object, object], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (first, p), (second, q) in product(one.items(), other.items()):
        seen[first, second][0] += p * q / 2
        seen[second, first][1] += p * q / 2
    return sum(map(max, seen.values()))


def _law_of_ties(flips: Sequence[Flip], ties: Sequence[bool]) -> Law:
    law: Law = {(): 1.0}
    for flip, tied in product(flips, ties):
        law = {(*seen, one): p * chance(flip, tied, one) for seen, p in law.items() for one in (False, True)}
    return law


def _law_of_counts(flips: Sequence[Flip], many: int, pairs: int) -> Law:
    law: Law = {(): 1.0}
    for flip in flips:
        count = {0: 1.0}
        for place in range(pairs):
            after: dict[int, float] = defaultdict(float)
            for seen, p in count.items():
                for one in (False, True):
                    after[seen + one] += p * chance(flip, place < many, one)
            count = dict(after)
        law = {(*seen, one): p * q for seen, p in law.items() for one, q in count.items()}
    return law


def broken(model: str, level: dict[str, float], flips: Sequence[Flip], nodes: int) -> str:
    """How published flips break a requirement; empty where they keep it."""
    if model == "edge-privacy":
        found, asked = tie_epsilon(flips), level["epsilon"]
    elif model == "neighbourhood":
        found, asked = known_neighbours(flips, min(int(level["known"]), nodes - 2)), level["success_at_most"]
    else:
        found, asked = degrees(flips, nodes, int(level["apart"])), level["success_at_most"]
    return f"{model}: {found:.6g} where {asked} was asked" if found > asked + 1e-9 else ""
