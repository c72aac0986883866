"""The edges to add: from the cheapest degree sequence, for small graphs by the solver, and then mixed.

Invariants
    I1  `least` is a lower bound for every k-degree anonymous graph that keeps all edges; `proof` says whether counting or the
        solver stands behind it.
    I2  Mixing exchanges ends of added edges and changes nobody's number of ties. Who is joined to whom is then a matter of chance,
        not of an order in which somebody was served.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.graph import Graph, contains
from sfumato.methods.graphs.degrees.bound import fewest_edges
from sfumato.methods.graphs.degrees.exact import fewest_added
from sfumato.methods.graphs.degrees.realisation import Growth
from sfumato.methods.graphs.degrees.sequence import raised
from sfumato.randomness import Randomness

_ATTEMPTS = 3
_SMALL = 10_000
"""With more people than that a second attempt hardly ever finds fewer edges."""
_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Additions:
    """Edges to add, and how many any answer needs at least."""

    low: IntArray
    high: IntArray
    least: int
    proof: Literal["counting", "solver"] = "counting"

    @property
    def size(self) -> int:
        return len(self.low)


def additions(graph: Graph, k: int, randomness: Randomness, *, exact_up_to: int, effort: float) -> Additions:
    """Few edges that make the graph k-degree anonymous; the fewest, where `least` says so."""
    least = fewest_edges(graph, k)
    found = _grown(graph, k, least, randomness)
    if found.size > least and graph.nodes <= exact_up_to:
        found = _solved(graph, k, found, randomness, effort)
    low, high = mixed(graph, found.low, found.high, randomness.child("mixing"))
    return Additions(low, high, found.least, found.proof)


def _grown(graph: Graph, k: int, least: int, randomness: Randomness) -> Additions:
    """The best of a few attempts, which differ in who of several people with the same degree is raised."""
    best: Growth | None = None
    for attempt in range(_ATTEMPTS if graph.nodes <= _SMALL else 1):
        chance = randomness.child(attempt)
        order = np.lexsort([chance.uniform(graph.nodes), -graph.degrees])
        plan = np.empty(graph.nodes, dtype=np.int64)
        plan[order] = raised(graph.degrees[order], k)
        grown = Growth(graph, k, plan, chance).finish()
        best = grown if best is None or grown.size < best.size else best
        if best.size == least:
            break
    assert best is not None
    return Additions(*best.edges(), least)


def _solved(graph: Graph, k: int, known: Additions, randomness: Randomness, effort: float) -> Additions:
    """The solver's answer where it finds fewer edges or proves more; it works on shuffled people."""
    names = randomness.child("solver").permutation(graph.nodes)
    one, other = names[known.low], names[known.high]
    guess = set(zip(np.minimum(one, other).tolist(), np.maximum(one, other).tolist(), strict=True))
    seed = randomness.child("solver seed").integer(1 << 31)
    shuffled = graph.relabelled(names)
    pairs, least = fewest_added(shuffled, k, most=known.size, least=known.least, seed=seed, effort=effort, known=guess)
    proof: Literal["counting", "solver"] = "solver" if least > known.least else "counting"
    if pairs is None:
        return Additions(known.low, known.high, least, proof)  # I1
    ends = np.argsort(names)[np.array(pairs, dtype=np.int64).reshape(-1, 2)]
    return Additions(ends.min(axis=1), ends.max(axis=1), least, proof)


def mixed(graph: Graph, low: IntArray, high: IntArray, randomness: Randomness) -> tuple[IntArray, IntArray]:
    """Other edges with the same degrees: in every round pairs of added edges exchange ends where that gives new pairs of people."""
    codes = np.sort(low * graph.nodes + high)
    for _ in range(_ROUNDS if len(codes) > 1 else 0):
        codes = _exchanged(graph, codes[randomness.permutation(len(codes))], randomness)
    ends = np.divmod(codes, max(graph.nodes, 1))
    return ends[0], ends[1]


def _exchanged(graph: Graph, codes: IntArray, randomness: Randomness) -> IntArray:
    half = len(codes) // 2
    a, b = np.divmod(codes[:half], graph.nodes)
    c, d = np.divmod(codes[half : 2 * half], graph.nodes)
    turned = randomness.integers(2, half) == 1
    c, d = np.where(turned, d, c), np.where(turned, c, d)
    fresh = np.stack([_coded(graph, a, d), _coded(graph, c, b)])  # I2
    proper = (a != d) & (c != b) & ~graph.has_edges(a, d) & ~graph.has_edges(c, b)
    proper &= ~contains(codes_sorted := np.sort(codes), fresh[0]) & ~contains(codes_sorted, fresh[1])
    values, times = np.unique(fresh, return_counts=True)
    proper &= (times[np.searchsorted(values, fresh)] == 1).all(axis=0)  # no pair of people is wanted twice
    first, second = np.where(proper, fresh[0], codes[:half]), np.where(proper, fresh[1], codes[half : 2 * half])
    return np.sort(np.concatenate([first, second, codes[2 * half :]]))


def _coded(graph: Graph, one: IntArray, other: IntArray) -> IntArray:
    coded: IntArray = np.minimum(one, other) * graph.nodes + np.maximum(one, other)
    return coded
