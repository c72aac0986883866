"""`node-private-figures`: how many ties there are and how many people have how many, with node-level differential privacy.

Guarantee
    Node-level ε-differential privacy in the central model: two graphs of the same people that differ in the ties of one person, in
    any way and however many, give any release with chances within a factor e^ε. Who the people are is taken for known.

The argument
    Ties are looked at in an order that the names of people alone decide (I1). A tie *counts* if until then fewer than `limit` ties
    of either of its people count. Let G and H differ in the ties of v; go through both side by side, and let D be the sum of
    |d_G(u) − d_H(u)| over everybody but v, where d counts the ties that count.
    -   A tie (a, b) of others stands in both. If it counts in G alone, somebody, say a, is full in H and not in G: d_G(a) <
        d_H(a), so a's difference falls by one while b's rises by at most one. D does not grow; nor the other way round.
    -   A tie of v that counts in one graph alone makes D larger by at most one; one that counts in both leaves it.
    If x ties of v count in G alone and y in H alone, then D ≤ x + y and |d_G(v) − d_H(v)| = |x − y|, together at most
    2 · max(x, y) ≤ 2 · limit. A degree that changes by one changes one of the numbers F(t) of people with at most t such ties, t =
    0 … limit − 1, by one: these have L1 sensitivity 2 · limit, all together.
    The number of ties that count, compared with the graph in which v has none: there D is at most d_G(v), so the sum of all
    degrees is larger in G by something between 0 and 2 · d_G(v), and the number of ties by 0 to `limit`. The same holds for H: the
    sensitivity of that number is `limit`.
    Three tenths of ε go to the number, the rest to F. The noise is OpenDP's discrete Laplace.

Paper
    Kasiviswanathan, Nissim, Raskhodnikova, Smith (2013) for the promise and for cutting degrees off; Day, Li, Lyu (2016) for adding
    ties in a stable order and for the numbers F.
Invariants
    I1  The order of two ties depends on the names of their four people alone, never on how a file lists or numbers them.
    I2  Everything after the noise (ascending again, differences, drawing a graph) looks at noisy figures only.
    I3  `limit` and the number of people come from the policy, or are told as taken for known.
Departures
    Neighbours here differ in one person's ties while the people stay; the papers take the person away. The proof above is for that
    relation. Triangles are not told: which ties count can change far away from v, so their number has no small bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.graph import Graph
from sfumato.errors import Infeasible, SfumatoError
from sfumato.forms.graph_figures import DEGREES, EDGES, FIGURES, NoisyFigures
from sfumato.methods.base import Method, Task
from sfumato.methods.graphs.noise import laplace, laplace_error
from sfumato.methods.graphs.private_figures import drawn_from, repaired
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Part, Release

_EDGES = 0.3


class NodePrivateFigures(Method):
    """Ties and degrees with node-level differential privacy: all ties of a person are protected, not one."""

    name: ClassVar[str] = "node-private-figures"
    form: ClassVar[type[Form]] = NoisyFigures
    paper: ClassVar[str] = "Kasiviswanathan et al. 2013; Day, Li, Lyu 2016"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    limit: int = Field(default=32, ge=1, le=100_000, description="most ties of one person that count; the noise grows with it")
    people: int | None = Field(default=None, ge=1, description="how many people there are; unset: those that the source names")
    graph: bool = Field(default=False, description="also draw a graph with the published degrees; none of its ties is anybody's")

    def refusal(self, policy: Policy) -> str:
        if not policy.claims or any(_asked(claim) is None for claim in policy.claims):
            return "it needs node-privacy or edge-privacy under 'protect', and promises nothing else"
        return ""

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return _asked(claim) is not None

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        shares = node_shares(_epsilon(policy))
        told = [
            f"at most {self.limit} ties of a person count; epsilon shared out: edges {shares['edges']:.3g}, "
            f"degrees {shares['degrees']:.3g}",
            f"errors on average: ties {laplace_error(sensitivity('edges', self.limit), shares['edges']):.3g}, people with "
            f"at most so many ties {laplace_error(sensitivity('degrees', self.limit), shares['degrees']):.3g} before repair",
        ]
        try:
            graph = policy.data.read()
        except SfumatoError as wrong:
            return [*told, f"the source cannot be read from here, so nothing is said of ties beyond the limit: {wrong.what}"]
        lost = graph.size - int(counted(graph, self.limit).sum())
        lost_words = f"{lost:,} of {graph.size:,} ties are beyond the limit and do not count"
        return [*told, f"{lost_words}; a limit chosen by looking at this is not covered by epsilon"]

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        people = graph.nodes if self.people is None else self.people
        if people < graph.nodes:
            raise Infeasible(f"the source names {graph.nodes:,} people, more than {people:,}", where="method.people")
        shares = node_shares(_epsilon(task.policy))
        task.progress(0.1, "counting")
        edges, below = noisy(counted_degrees(graph, self.limit), people, self.limit, shares)
        spread = spread_of(below, people)  # I2
        values = np.flatnonzero(spread)
        parts = {
            FIGURES: Part({"figure": ["edges"], "value": [max(0, edges)]}),
            DEGREES: Part({"degree": values.astype(np.int64), "people": spread[values].astype(np.int64)}),
        }
        if self.graph:
            parts[EDGES] = Part(drawn_from(np.repeat(np.arange(len(spread)), spread), task.randomness.child("graph")))  # I2
        spent = {f"epsilon_{name}": epsilon for name, epsilon in shares.items()}
        form = NoisyFigures.model_validate({"nodes": people, "limit": self.limit, "drawn": self.graph} | spent)  # I3
        known = "who the people are and how many is taken for known"
        return Release(form, parts, notes=(f"at most {self.limit} ties of a person count, the others are left out", known))


def _asked(claim: Claim) -> float | None:
    """The ε of a claim about people, or about single ties, which is the smaller promise."""
    return claim.model.person_epsilon if claim.model.person_epsilon is not None else claim.model.tie_epsilon


def _epsilon(policy: Policy) -> float:
    return min(epsilon for claim in policy.claims if (epsilon := _asked(claim)) is not None)


def node_shares(epsilon: float) -> dict[str, float]:
    """What every figure spends of ε."""
    return {"edges": _EDGES * epsilon, "degrees": epsilon - _EDGES * epsilon}


def counted(graph: Graph, limit: int) -> BoolArray:
    """Which ties count, in the order of `Graph.edges`; those of people with few ties do, wherever they stand.

    >>> counted(Graph.from_pairs([0, 0, 0, 1], [1, 2, 3, 2], labels=["d", "c", "b", "a"]), 2).tolist()
    [False, True, True, True]
    """
    low, high = graph.edges()
    counts = np.ones(graph.size, dtype=np.bool_)
    crowded = np.flatnonzero((graph.degrees[low] > limit) | (graph.degrees[high] > limit))
    rank = _ranks(graph)
    first, second = np.minimum(rank[low], rank[high])[crowded], np.maximum(rank[low], rank[high])[crowded]
    sequence = crowded[np.lexsort((second, first))]  # I1
    full = [0] * graph.nodes
    for at, one, other in zip(sequence.tolist(), low[sequence].tolist(), high[sequence].tolist(), strict=True):
        if full[one] < limit and full[other] < limit:
            full[one] += 1
            full[other] += 1
        else:
            counts[at] = False
    return counts


def _ranks(graph: Graph) -> IntArray:
    """Everybody's place in the order of names (I1); without names numbers are names."""
    rank = np.empty(graph.nodes, dtype=np.int64)
    names = range(graph.nodes) if graph.labels is None else sorted(range(graph.nodes), key=graph.labels.__getitem__)
    rank[np.fromiter(names, dtype=np.int64, count=graph.nodes)] = np.arange(graph.nodes)
    return rank


def counted_degrees(graph: Graph, limit: int) -> IntArray:
    """How many ties of everybody count."""
    low, high = graph.edges()
    kept = counted(graph, limit)
    return np.bincount(np.concatenate([low[kept], high[kept]]), minlength=graph.nodes).astype(np.int64)


def noisy(degrees: IntArray, people: int, limit: int, shares: Mapping[str, float]) -> tuple[int, IntArray]:
    """The number of ties that count and those of people with at most so many, with noise: all that is ever looked at."""
    edges = laplace([int(degrees.sum()) // 2], sensitivity("edges", limit), shares["edges"])[0]
    below = laplace(at_most(degrees, people, limit).tolist(), sensitivity("degrees", limit), shares["degrees"])
    return edges, np.array(below, dtype=np.int64)


def sensitivity(figure: Literal["edges", "degrees"], limit: int) -> int:
    """The most that the ties of one person change (see the argument)."""
    return limit if figure == "edges" else 2 * limit


def at_most(degrees: IntArray, people: int, limit: int) -> IntArray:
    """How many of the people have at most 0, 1 … limit − 1 ties; whom the source does not name has none.

    >>> at_most(np.array([1, 3, 2, 2]), 5, 3).tolist()
    [1, 2, 4]
    """
    ties = np.bincount(degrees, minlength=limit + 1)[:limit]
    ties[0] += people - len(degrees)
    return np.asarray(np.cumsum(ties), dtype=np.int64)


def spread_of(noisy: IntArray, people: int) -> IntArray:
    """How many people have 0, 1 … limit ties, from noisy numbers of those with at most so many: ascending again, and within bounds.

    >>> spread_of(np.array([2, 1, 7]), 6).tolist()
    [2, 0, 4, 0]
    """
    ascending = repaired(noisy.astype(np.float64), people + 1)
    return np.diff(ascending, prepend=0, append=people)
