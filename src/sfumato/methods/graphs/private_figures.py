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
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.graph import Graph
from sfumato.data.pattern import TiePattern
from sfumato.forms.graph_figures import DEGREES, EDGES, FIGURES, NoisyFigures
from sfumato.methods.base import Method, Task
from sfumato.methods.graphs.noise import ladder, laplace, laplace_error
from sfumato.metrics.pattern_counts import PatternCounts
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness
from sfumato.release.form import Form
from sfumato.release.release import Part, Release

_EXACT = 20_000
_EDGES, _TRIANGLES = 0.1, 0.3


class PrivateFigures(Method):
    """Edges, triangles and degrees with edge-level differential privacy, and a graph drawn from the degrees."""

    name: ClassVar[str] = "private-figures"
    form: ClassVar[type[Form]] = NoisyFigures
    paper: ClassVar[str] = "Hay et al. 2009; Zhang et al. 2015"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    triangles: bool = Field(default=True, description="also tell the number of triangles")
    graph: bool = Field(default=False, description="also draw a graph with the published degrees; none of its ties is anybody's")

    def refusal(self, policy: Policy) -> str:
        if not policy.claims or any(claim.model.tie_epsilon is None for claim in policy.claims):
            return "it needs edge-privacy under 'protect', and promises nothing else ('node-private-figures' does)"
        return ""

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return claim.model.tie_epsilon is not None

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        shares = self._shares(policy)
        told = ", ".join(f"{name} {epsilon:.3g}" for name, epsilon in shares.items())
        return [
            f"epsilon shared out: {told}; it protects one tie, and a person with d ties at d times that",
            f"errors on average: edges {laplace_error(1, shares['edges']):.3g}, "
            f"one degree {laplace_error(2, shares['degrees']):.3g} before repair",
        ]

    def _shares(self, policy: Policy) -> dict[str, float]:
        epsilon = min(claim.model.tie_epsilon for claim in policy.claims if claim.model.tie_epsilon is not None)
        return shares_of(epsilon, triangles=self.triangles)

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        shares = self._shares(task.policy)
        task.progress(0.1, "counting")
        told = {"edges": max(0, laplace([graph.size], 1, shares["edges"])[0])}
        if self.triangles:
            told["triangles"] = max(0, _triangles(graph, shares["triangles"], task.randomness.child("ladder")))
        task.progress(0.6, "degrees")
        noisy = laplace(np.sort(graph.degrees).tolist(), 2, shares["degrees"])
        degrees = repaired(np.array(noisy, dtype=np.float64), graph.nodes)  # I2
        values, people = np.unique(degrees, return_counts=True)
        parts = {
            FIGURES: Part({"figure": list(told), "value": [int(value) for value in told.values()]}),
            DEGREES: Part({"degree": values.astype(np.int64), "people": people.astype(np.int64)}),
        }
        if self.graph:
            parts[EDGES] = Part(drawn_from(degrees, task.randomness.child("graph")))  # I2
        spent = {f"epsilon_{name}": epsilon for name, epsilon in shares.items()}
        form = NoisyFigures.model_validate({"nodes": graph.nodes, "drawn": self.graph} | spent)
        note = "one tie alone is protected; a person with d ties at d times epsilon, and the number of people is taken for known"
        return Release(form, parts, notes=(note,))


def shares_of(epsilon: float, *, triangles: bool) -> dict[str, float]:
    """What every figure spends of ε."""
    shares = {"edges": _EDGES * epsilon} | ({"triangles": _TRIANGLES * epsilon} if triangles else {})
    return shares | {"degrees": epsilon - sum(shares.values())}


def _triangles(graph: Graph, epsilon: float, randomness: Randomness) -> int:
    count = int(PatternCounts(graph).copies(TiePattern.named("triangle")))
    return ladder(count, common_neighbours(graph), max(graph.nodes - 2, 1), epsilon, randomness)


def common_neighbours(graph: Graph) -> int:
    """At least the largest number of common neighbours of two people; one more or fewer tie changes it by at most one (I1)."""
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


def repaired(noisy: FloatArray, nodes: int) -> IntArray:
    """The nearest ascending sequence (pool adjacent violators), rounded and clamped to what degrees can be.

    >>> repaired(np.array([3.0, 1.0, 2.0, 9.0]), 5).tolist()
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


def drawn_from(degrees: IntArray, randomness: Randomness) -> dict[str, IntArray]:
    """A graph whose ties are paired at random from so many ends each; loops and repeated ties are dropped."""
    ends = np.repeat(np.arange(len(degrees), dtype=np.int64), degrees)
    pairs_of_ends = ends[randomness.permutation(len(ends))][: len(ends) // 2 * 2].reshape(-1, 2)
    low, high = pairs_of_ends.min(axis=1), pairs_of_ends.max(axis=1)
    pairs = np.unique(low[low != high] * len(degrees) + high[low != high])
    return {"source": pairs // max(len(degrees), 1), "target": pairs % max(len(degrees), 1)}
