"""`private-figures`: figures of a graph with edge-level differential privacy, and a graph drawn from them.

Guarantee
    Edge-level ε-differential privacy in the central model: two graphs that differ in one tie give any release with chances within
    a factor e^ε. ε is shared out: a tenth to the number of edges (sensitivity 1), three tenths to triangles, the rest to the
    sorted degrees (one tie changes two degrees by one: L1 sensitivity 2). The number of people is taken for known. It protects
    ties, not people: a person with d ties is protected at d·ε.
Paper
    Hay, Li, Miklau, Jensen (2009) for sorted degrees with isotonic repair; Zhang et al. (2015) for the ladder on triangles.
Invariants
    I1  The ladder of triangles begins at an upper bound of the local sensitivity that one tie changes by at most one: the largest
        number of common neighbours of two people, on graphs of up to `_EXACT` people; the second largest degree on larger ones.
        Which of them depends on the number of people alone.
    I2  Everything after the noise (sorting out, rounding, drawing a graph) looks at noisy figures only.
Departures
    Noise is OpenDP's, from its own source of chance; a given seed does not repeat it.


Node private figures
--------------------
`node-private-figures`: how many ties there are and how many people have how many, with node-level differential privacy.

Guarantee
    Node-level ε-differential privacy in the central model: two graphs of the same people that differ in the ties of one person, in
    any way and however many, give any release with chances within a factor e^ε. Who the people are is taken for known.

The argument
    Ties are looked at in an order that the names of people alone decide (I1). A tie *counts* if until then fewer than `limit` ties
    of either of its people count. Let G and H differ in the ties of v; go through both side by side, and let D be the sum of
    |d_G(u) − d_H(u)| over everybody but v, where d counts the ties that count.
    -   An edge (a, b) of others is in both. If it counts in G alone, a person, say a, is full in H and not in G: d_G(a)
        < d_H(a), so a's difference falls by one while b's rises by at most one. D does not grow; nor the other way
        round.
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
    I3  `limit` and the number of people come from the policy, or the release states that they are assumed to be known.
Departures
    Neighbours here differ in one person's ties while the people stay; the papers take the person away. The proof above is for that
    relation. Triangles are not told: which ties count can change far away from v, so their number has no small bound.


Noise
-----
Noise for figures of a graph: OpenDP's discrete Laplace mechanism, and the ladder for counts whose sensitivity depends on the
graph.

Guarantee
    `laplace_mechanism`: ε-differential privacy for figures that one tie changes by at most `sensitivity` in all; OpenDP's
    own proof and its
    own cryptographic source, so a seed of ours does not repeat it.
    `ladder_mechanism`: ε-differential privacy for a count f with a ladder I_t: |f(G) − f(G′)| ≤ I_0 and I_t(G′) ≤ I_{t+1}(G) for neighbours.
    An output on
    the t-th rung (Σ_{s<t−1} I_s < |z − f| ≤ Σ_{s<t} I_s) has weight e^{−εt/2}, and the rung of any z differs by at most one between
    neighbours, so this is the exponential mechanism with a score of sensitivity one.
Paper
    Zhang, Cormode, Procopiuc, Srivastava, Xiao (2015) for the ladder.
Departures
    Weights of rungs are floating-point numbers: the chance of a rung is off by about 1e-15 of itself.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import Infeasible, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.form import DEGREES, EDGES, FIGURES, NoisyFigures
from sfumato.kinds.graphs.subgraph_counts import PatternCounts
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Release

_EXACT = 20_000
_EDGES, _TRIANGLES = 0.1, 0.3


class PrivateFigures(Method):
    """Publish edges, triangles and degrees with edge-level differential privacy, and a graph drawn from the degrees."""

    name: ClassVar[str] = "private-figures"
    form: ClassVar[type[Form]] = NoisyFigures
    paper: ClassVar[str] = "Hay et al. 2009; Zhang et al. 2015"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    triangles: bool = Field(default=True, description="true: also publish the number of triangles")
    graph: bool = Field(default=False, description="true: also draw a random graph with the published degrees")

    def refusal(self, policy: Policy) -> str:
        if not policy.claims or any(claim.model.tie_epsilon is None for claim in policy.claims):
            return "it needs edge-privacy under 'protect', and promises nothing else ('node-private-figures' does)"
        return ""

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return claim.model.tie_epsilon is not None

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        shares = self._shares(policy)
        told = ", ".join(f"{name} {epsilon:.3g}" for name, epsilon in shares.items())
        return [
            f"epsilon shared out: {told}; it protects one tie, and a person with d ties at d times that",
            (
                f"errors on average: edges {laplace_error(1, shares['edges']):.3g}, "
                f"one degree {laplace_error(2, shares['degrees']):.3g} before repair"
            ),
        ]

    def _shares(self, policy: Policy) -> dict[str, float]:
        epsilon = min(claim.model.tie_epsilon for claim in policy.claims if claim.model.tie_epsilon is not None)
        return epsilon_shares(epsilon, triangles=self.triangles)

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        shares = self._shares(task.policy)
        task.progress(0.1, "counting")
        told = {"edges": max(0, laplace_mechanism([graph.size], 1, shares["edges"])[0])}
        if self.triangles:
            told["triangles"] = max(0, _triangles(graph, shares["triangles"], task.randomness.child("ladder")))
        task.progress(0.6, "degrees")
        noisy = laplace_mechanism(np.sort(graph.degrees).tolist(), 2, shares["degrees"])
        degrees = project_to_degree_sequence(np.array(noisy, dtype=np.float64), graph.nodes)  # I2
        values, people = np.unique(degrees, return_counts=True)
        parts = {
            FIGURES: Part({"figure": list(told), "value": [int(value) for value in told.values()]}),
            DEGREES: Part({"degree": values.astype(np.int64), "people": people.astype(np.int64)}),
        }
        if self.graph:
            parts[EDGES] = Part(random_graph_of_degrees(degrees, task.randomness.child("graph")))  # I2
        spent = {f"epsilon_{name}": epsilon for name, epsilon in shares.items()}
        form = NoisyFigures.model_validate({"nodes": graph.nodes, "drawn": self.graph} | spent)
        note = (
            "one tie alone is protected; a person with d ties at d times epsilon, and the number of people is taken for"
            " known"
        )
        return Release(form, parts, notes=(note,))


def epsilon_shares(epsilon: float, *, triangles: bool) -> dict[str, float]:
    """What every figure spends of ε."""
    shares = {"edges": _EDGES * epsilon} | ({"triangles": _TRIANGLES * epsilon} if triangles else {})
    return shares | {"degrees": epsilon - sum(shares.values())}


def _triangles(graph: Graph, epsilon: float, randomness: Randomness) -> int:
    count = int(PatternCounts(graph).copies(SubgraphPattern.named("triangle")))
    return ladder_mechanism(count, common_neighbours(graph), max(graph.nodes - 2, 1), epsilon, randomness)


def common_neighbours(graph: Graph) -> int:
    """At least the largest number of common neighbours of two people; one more or fewer tie changes it by at most one
    (I1)."""
    if graph.nodes > _EXACT:
        return int(np.sort(graph.degrees)[-2]) if graph.nodes > 1 else 0
    from scipy.sparse import csr_matrix

    ones = np.ones(len(graph.neighbours), dtype=np.int32)
    matrix = csr_matrix((ones, graph.neighbours, graph.starts), shape=(graph.nodes, graph.nodes))
    most = 0
    for first in range(0, graph.nodes, 500):
        shared = (matrix[first : first + 500] @ matrix).tocoo()
        apart = shared.row + first != shared.col
        most = max(most, int(shared.data[apart].max(initial=0)))
    return most


def project_to_degree_sequence(noisy: FloatArray, nodes: int) -> IntArray:
    """The nearest ascending sequence (pool adjacent violators), rounded and clamped to what degrees can be.

    >>> project_to_degree_sequence(np.array([3.0, 1.0, 2.0, 9.0]), 5).tolist()
    [2, 2, 2, 4]
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in noisy.tolist():
        means.append(value)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            size = sizes[-2] + sizes[-1]
            means[-2:] = [(means[-2] * sizes[-2] + means[-1] * sizes[-1]) / size]
            sizes[-2:] = [size]
    smooth = np.repeat(means, sizes)
    return np.asarray(np.clip(np.rint(smooth), 0, max(nodes - 1, 0)), dtype=np.int64)


def random_graph_of_degrees(degrees: IntArray, randomness: Randomness) -> dict[str, IntArray]:
    """A graph whose ties are paired at random from so many ends each; loops and repeated ties are dropped."""
    ends = np.repeat(np.arange(len(degrees), dtype=np.int64), degrees)
    pairs_of_ends = ends[randomness.permutation(len(ends))][: len(ends) // 2 * 2].reshape(-1, 2)
    low, high = pairs_of_ends.min(axis=1), pairs_of_ends.max(axis=1)
    pairs = np.unique(low[low != high] * len(degrees) + high[low != high])
    return {"source": pairs // max(len(degrees), 1), "target": pairs % max(len(degrees), 1)}


# Node private figures
# --------------------


_NODE_PRIVATE_FIGURES_EDGES = 0.3


class NodePrivateFigures(Method):
    """Publish the number of edges and the degrees with node-level differential privacy."""

    name: ClassVar[str] = "node-private-figures"
    form: ClassVar[type[Form]] = NoisyFigures
    paper: ClassVar[str] = "Kasiviswanathan et al. 2013; Day, Li, Lyu 2016"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    limit: int = Field(
        default=32,
        ge=1,
        le=100_000,
        description="largest number of edges of one person that count; noise grows with it",
    )
    people: int | None = Field(default=None, ge=1, description="number of people; default: those that the source names")
    graph: bool = Field(default=False, description="true: also draw a random graph with the published degrees")

    def refusal(self, policy: Policy) -> str:
        if not policy.claims or any(_asked(claim) is None for claim in policy.claims):
            return "it needs node-privacy or edge-privacy under 'protect', and promises nothing else"
        return ""

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return _asked(claim) is not None

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        shares = node_epsilon_shares(_epsilon(policy))
        told = [
            (
                f"at most {self.limit} ties of a person count; epsilon shared out: edges {shares['edges']:.3g}, "
                f"degrees {shares['degrees']:.3g}"
            ),
            (
                f"errors on average: ties {laplace_error(sensitivity('edges', self.limit), shares['edges']):.3g},"
                " people with at most so many ties"
                f" {laplace_error(sensitivity('degrees', self.limit), shares['degrees']):.3g} before repair"
            ),
        ]
        try:
            graph = policy.data.read()
        except SfumatoError as wrong:
            return [
                *told,
                f"the source cannot be read from here, so nothing is said of ties beyond the limit: {wrong.what}",
            ]
        lost = graph.size - int(counted(graph, self.limit).sum())
        lost_words = f"{lost:,} of {graph.size:,} ties are beyond the limit and do not count"
        return [*told, f"{lost_words}; a limit chosen by looking at this is not covered by epsilon"]

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        people = graph.nodes if self.people is None else self.people
        if people < graph.nodes:
            raise Infeasible(f"the source names {graph.nodes:,} people, more than {people:,}", where="method.people")
        shares = node_epsilon_shares(_epsilon(task.policy))
        task.progress(0.1, "counting")
        edges, below = noisy_figures(counted_degrees(graph, self.limit), people, self.limit, shares)
        spread = spread_of(below, people)  # I2
        values = np.flatnonzero(spread)
        parts = {
            FIGURES: Part({"figure": ["edges"], "value": [max(0, edges)]}),
            DEGREES: Part({"degree": values.astype(np.int64), "people": spread[values].astype(np.int64)}),
        }
        if self.graph:
            parts[EDGES] = Part(
                random_graph_of_degrees(np.repeat(np.arange(len(spread)), spread), task.randomness.child("graph"))
            )  # I2
        spent = {f"epsilon_{name}": epsilon for name, epsilon in shares.items()}
        form = NoisyFigures.model_validate({"nodes": people, "limit": self.limit, "drawn": self.graph} | spent)  # I3
        known = "who the people are and how many is taken for known"
        return Release(
            form, parts, notes=(f"at most {self.limit} ties of a person count, the others are left out", known)
        )


def _asked(claim: PrivacyRequirement) -> float | None:
    """The ε of a requirement about people, or about single ties, which is the smaller promise."""
    return claim.model.person_epsilon if claim.model.person_epsilon is not None else claim.model.tie_epsilon


def _epsilon(policy: Policy) -> float:
    return min(epsilon for claim in policy.claims if (epsilon := _asked(claim)) is not None)


def node_epsilon_shares(epsilon: float) -> dict[str, float]:
    """What every figure spends of ε."""
    return {"edges": _NODE_PRIVATE_FIGURES_EDGES * epsilon, "degrees": epsilon - _NODE_PRIVATE_FIGURES_EDGES * epsilon}


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
    """How many ties of all people count."""
    low, high = graph.edges()
    kept = counted(graph, limit)
    return np.bincount(np.concatenate([low[kept], high[kept]]), minlength=graph.nodes).astype(np.int64)


def noisy_figures(degrees: IntArray, people: int, limit: int, shares: Mapping[str, float]) -> tuple[int, IntArray]:
    """The number of ties that count and those of people with at most so many, with noise: all that is ever looked
    at."""
    edges = laplace_mechanism([int(degrees.sum()) // 2], sensitivity("edges", limit), shares["edges"])[0]
    below = laplace_mechanism(
        cumulative_degrees(degrees, people, limit).tolist(), sensitivity("degrees", limit), shares["degrees"]
    )
    return edges, np.array(below, dtype=np.int64)


def sensitivity(figure: Literal["edges", "degrees"], limit: int) -> int:
    """The most that the ties of one person change (see the argument)."""
    return limit if figure == "edges" else 2 * limit


def cumulative_degrees(degrees: IntArray, people: int, limit: int) -> IntArray:
    """How many of the people have at most 0, 1 … limit − 1 ties; whom the source does not name has none.

    >>> cumulative_degrees(np.array([1, 3, 2, 2]), 5, 3).tolist()
    [1, 2, 4]
    """
    ties = np.bincount(degrees, minlength=limit + 1)[:limit]
    ties[0] += people - len(degrees)
    return np.asarray(np.cumsum(ties), dtype=np.int64)


def spread_of(noisy: IntArray, people: int) -> IntArray:
    """How many people have 0, 1 … limit ties, from noisy numbers of those with at most so many: ascending again, and
    within bounds.

    >>> spread_of(np.array([2, 1, 7]), 6).tolist()
    [2, 0, 4, 0]
    """
    ascending = project_to_degree_sequence(noisy.astype(np.float64), people + 1)
    return np.diff(ascending, prepend=0, append=people)


# Noise
# -----


def laplace_mechanism(values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
    """Whole numbers with discrete Laplace noise, private at `epsilon` together."""
    try:
        from opendp import (
            domains,
            measurements,
            metrics,
            mod,
        )  # its prelude takes seconds: it brings all it can work with
    except ImportError:
        raise Infeasible("the noise needs OpenDP", hint="pip install 'sfumato[privacy]'") from None
    mod.enable_features("contrib")
    domain = domains.vector_domain(domains.atom_domain(T=int))
    scale = sensitivity / epsilon
    measurement = measurements.make_laplace(domain, metrics.l1_distance(T=int), scale=scale)
    while measurement.map(sensitivity) > epsilon:  # type: ignore[no-untyped-call]  # the library rounds its own bound upwards
        scale *= 1 + 1e-12
        measurement = measurements.make_laplace(domain, metrics.l1_distance(T=int), scale=scale)
    drawn: list[int] = measurement([int(value) for value in values])
    return drawn


def ladder_mechanism(count: int, first: int, most: int, epsilon: float, randomness: Randomness) -> int:
    """The count, moved to a rung: I_t = min(first + t, most); the last rung goes on for ever."""
    growing = max(most - first, 0)
    width = np.minimum(first + np.arange(growing + 1), most).astype(np.float64)  # I_0 … I_growing = most
    weight = np.append(1.0, 2 * width * np.exp(-epsilon * np.arange(1, growing + 2) / 2))
    beyond = weight[-1] * np.exp(-epsilon / 2) / (1 - np.exp(-epsilon / 2))
    place = float(randomness.uniform(1)[0]) * (weight.sum() + beyond)
    rung = int(np.searchsorted(np.cumsum(weight), place, side="right"))
    if rung >= len(weight):
        again = float(randomness.uniform(1)[0])
        rung = len(weight) + int(np.floor(np.log1p(-again) / (-epsilon / 2)))
    if rung == 0:
        return count
    inside = int(np.minimum(first + np.arange(min(rung - 1, growing)), most).sum()) + max(rung - 1 - growing, 0) * most
    step = inside + 1 + randomness.integer(max(min(first + rung - 1, most), 1))
    return count + (step if randomness.integer(2) else -step)


def laplace_error(sensitivity: int, epsilon: float) -> float:
    """The mean of |noise|, exactly: noise k has a chance in proportion to q^|k|, q = e^(−ε / sensitivity).

    >>> round(laplace_error(1, 1.0), 4)
    0.8509
    """
    ratio = float(np.exp(-epsilon / sensitivity))
    return 2 * ratio / (1 - ratio**2)


def ladder_error(first: int, most: int, epsilon: float) -> float:
    """The mean distance of what a ladder tells from the count, exactly but for rungs that carry less than 1e-16 of the
    weight."""
    rungs = int(np.ceil(80 / epsilon)) + max(most - first, 0) + 2
    width = np.maximum(np.minimum(first + np.arange(rungs), most), 1).astype(np.float64)
    inside = np.concatenate([[0.0], np.cumsum(np.minimum(first + np.arange(rungs), most))[:-1]])
    weight = 2 * np.minimum(first + np.arange(rungs), most) * np.exp(-epsilon * np.arange(1, rungs + 1) / 2)
    return float((weight * (inside + (width + 1) / 2)).sum() / (1 + weight.sum()))


def ladder_rung(value: int, count: int, first: int, most: int) -> int:
    """On which rung of the ladder around a count a value lies; 0 is the count itself.

    >>> [ladder_rung(20 + away, 20, 3, 4) for away in (0, 1, 3, 4, 7, 8)]
    [0, 1, 1, 2, 2, 3]
    """
    away, growing = abs(value - count), max(most - first, 0)
    reach = np.cumsum(np.minimum(first + np.arange(growing + 1), most))
    if away <= int(reach[-1]):
        return 0 if not away else int(np.searchsorted(reach, away)) + 1
    return growing + 1 + -(-(away - int(reach[-1])) // most)
