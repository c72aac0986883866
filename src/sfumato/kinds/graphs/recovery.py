"""What an analyst can still learn from a published graph: every figure of the original with its standard error.

Paper
    [multitype §4.3]: density (Eq. 4.4), degrees (Eq. 4.6), triads and transitivity (Eqs. 4.8-4.10), modularity (Eqs.
    4.11-4.13).

Departures
    [multitype Eq. 4.10] divides three triangles by the *open* triads; transitivity is 3T/(3T + X). Density has the
    fixed-graph standard error (see `data.flip`), the degree distribution is fitted as a whole (`graphs.recovery`), and
    all figures carry standard errors: in closed form for up to three people, by the delta method for ratios, and for
    patterns of four by flipping the published graph again, which overstates the error a little where it is large.

Notation
    T, X, W   triangles, open triads (two ties, third missing), wedges W = 3T + X.

>>> import networkx
>>> club = Graph.from_networkx(networkx.karate_club_graph())
>>> found = recover(club, 0.0)
>>> found["triangles"].estimate, round(found["transitivity"].estimate, 4), found["transitivity"].standard_error
(45.0, 0.2557, 0.0)


Recovered
---------
Recovered: the figures of the original graph that the published one still tells, each with its standard error.

Measured on the published graph alone, so that a certificate may carry it. Paper: [multitype §4.3]; see
`graphs.recovery`.


Degree law
----------
The degree distribution before a flip, from the degrees after it.

Each published degree is the original one seen through a known law, Pr(d_p | d_o). The distribution of the originals is
the one that makes all published degrees together most likely; it is found by expectation-maximization, stopped early
and very lightly smoothed, because the last digits of the likelihood fit the noise.

Paper
    [multitype §4.3.2] for one node, Eq. 4.6; §4.4.2 for the law.

Departures
    [multitype §4.3.2] takes the histogram of single-node estimates as the distribution. Each estimate carries its own
    noise, so that histogram is the true one blurred, with negative degrees in it; a whole-distribution fit is three to
    six times closer (Kolmogorov-Smirnov) on the graphs in the tests.

Cost
    O(iterations × degrees × width of the law); the law is kept sparse.

>>> import numpy as np
>>> law = DegreeLaw.fit(np.array([0, 1, 1, 2]), EdgeChannel.symmetric(0.0))
>>> law.share.round(3).tolist()
[0.25, 0.5, 0.25]


Modularity
----------
How much more people keep to their own group than chance would have it, before a flip.

Paper
    [multitype §4.3.4], Eqs. 4.11-4.13, after Newman.

Notation
    I      ties inside groups; K_g the degrees of group g added up; h the number of edges, all of them before the flip.
    Q      I/h − Σ_g (K_g / 2h)².

Departures
    [multitype Eq. 4.11] is Newman's modularity only with half of each between-group share on either side of the
    diagonal; pairs inside a group of z people are z(z − 1)/2, so Eq. 4.12 must subtract z² − z; Eq. 4.13 must divide by
    1 − 2μ. The standard error (delta method) is ours: the gradient of Q at a pair depends only on the two groups, so it
    sums in closed form.

Cost
    O(N + h); no matrix of groups is made.

>>> from sfumato.data.graph import Graph
>>> two_triangles = Graph.from_pairs([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])
>>> modularity(two_triangles, EdgeChannel.symmetric(0.0), [0, 0, 0, 1, 1, 1])
(0.5, 0.0)


Communities
-----------
Two communities in a flipped graph, found on one half of the pairs and judged on the other.

Judged on the pairs that found it, a split of pure noise looks like strong communities: at μ = 0.01 among 23,000
co-authors a modularity of 0.69 where the truth is 0.10. Pairs are flipped independently, so the second half knows
nothing of the noise in the first. What remains is that the split was also shaped by true ties of the first half, which
the second lacks: the figure errs a little towards zero.

Notation
    Everybody is in one of `_CLASSES` random classes; a random symmetric table says for two classes whether their pairs
    are for finding or for judging. So the pairs of either half can be counted without listing them.

Paper
    Newman's leading eigenvector, on the recovered matrix (y − a)/c of [multitype §4.3].

Cost
    A few hundred products with the sparse matrix.


Recovered graph
---------------
What a recipient learns from a release folder with a perturbed graph: every figure with its interval, and what cannot be
said.

Guarantee
    Only published files are used: the edges, and the flip that the manifest declares. Intervals are estimate ± z ·
    standard error, clamped to what the figure can be (`graphs.recovery`). The error of one person's degree is reported
    separately.
What cannot be recovered
    Path lengths and the diameter [multitype §4.6]: a flip with μ N ≥ ln N joins almost everybody within a few steps
    whatever the graph was, and the number of shortest paths is no sum over few pairs, so there is nothing to invert.
    The standard errors of the published graph's own figures are those of the noise; any reader can count the figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError, ReleaseError
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import EdgeChange
from sfumato.kinds.graphs.form import Edges, published_graph
from sfumato.kinds.graphs.subgraph_counts import (
    DRAWN,
    PatternCounts,
    Unflipped,
    covariance,
    sampled_copies,
    update_counts,
)
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern
from sfumato.release.form import Form
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView

EDGE, WEDGE, TRIANGLE = (SubgraphPattern.named(name) for name in ("edge", "wedge", "triangle"))


@dataclass(frozen=True, slots=True)
class RecoveredFigure:
    """An unbiased (or, for ratios, nearly unbiased) figure and its standard error."""

    estimate: float
    standard_error: float

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        return self.estimate - z * self.standard_error, self.estimate + z * self.standard_error


class Recovery(Mapping[str, RecoveredFigure]):
    """Recovered figures by name; `degrees` and `distribution` hold the per-person and whole-distribution results."""

    def __init__(
        self, figures: dict[str, RecoveredFigure], degrees: FloatArray, degree_error: float, law: DegreeLaw | None
    ) -> None:
        self._figures = figures
        self.degrees = degrees
        self.degree_error = degree_error
        self.distribution = law

    def __getitem__(self, name: str) -> RecoveredFigure:
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        return "\n".join(f"{name:14} {e.estimate:.6g} ± {e.standard_error:.2g}" for name, e in self.items())

    def to_json(self) -> dict[str, dict[str, float | None]]:
        """Name → {"estimate", "standard_error"}; what could not be recovered is null."""
        return {
            name: {"estimate": _finite(e.estimate), "standard_error": _finite(e.standard_error)}
            for name, e in self.items()
        }


def recover(
    graph: Graph | Any,
    mu: float | EdgeChannel,
    *,
    partition: ArrayLike | None = None,
    patterns: Sequence[str] = (),
    distribution: bool = True,
) -> Recovery:
    """Estimate figures of the graph before its edges were perturbed.

    Parameters
    ----------
    graph
        The published graph.
    mu
        The flip probability of every pair, or an `EdgeChannel`.
    partition
        A group for every published node. Without it a split into two groups is found and judged on separate halves of
        the pairs.
    patterns
        Names of patterns whose copies are estimated too. Those of up to four nodes are counted, larger ones are
        sampled.
    distribution
        Whether the degree distribution is estimated too.

    Returns
    -------
    Recovery
        Figures by name, each with an estimate and a standard error.

    Examples
    --------
    >>> import sfumato as sf
    >>> ring = sf.Graph.from_pairs(range(20), [(i + 1) % 20 for i in range(20)])
    >>> round(sf.recover(ring, 0.0)["density"].estimate, 3)
    0.105
    """
    flip = mu if isinstance(mu, EdgeChannel) else EdgeChannel.symmetric(mu)
    published = Graph.of(graph)
    counts = PatternCounts(published)
    before = Unflipped(counts, flip)
    figures = triad_figures(published.nodes, before.maps, flip)
    found = found_modularity(published, flip) if partition is None else modularity(published, flip, partition)
    figures["modularity"] = RecoveredFigure(*found)
    figures |= _pattern_figures(counts, flip, patterns)
    degrees: FloatArray = np.asarray(
        (published.degrees - (published.nodes - 1) * flip.add) / flip.slope, dtype=np.float64
    )
    law = DegreeLaw.fit(published.degrees, flip) if distribution and published.nodes else None
    return Recovery(figures, degrees, degree_error(published.nodes, figures["degrees"].estimate, flip), law)


def triad_figures(nodes: int, maps: Any, flip: EdgeChannel) -> dict[str, RecoveredFigure]:
    """Figures of two and three people, given (estimates of) inj before the flip. With exact inj this is a
    prediction."""
    patterns = (EDGE, WEDGE, TRIANGLE)
    value = [maps(pattern) / pattern.symmetries for pattern in patterns]
    spread = [[covariance(one, other, maps, flip) for other in patterns] for one in patterns]
    _, wedges, triangles = value
    pairs = nodes * (nodes - 1) // 2 or 1
    return {
        "edges": _linear([1, 0, 0], value, spread),
        "density": _linear([Fraction(1, pairs), 0, 0], value, spread),
        "degrees": _linear([Fraction(2, max(nodes, 1)), 0, 0], value, spread),
        "wedges": _linear([0, 1, 0], value, spread),
        "triangles": _linear([0, 0, 1], value, spread),
        "open_triads": _linear([0, 1, -3], value, spread),
        "transitivity": _transitivity(wedges, triangles, spread),
    }


def degree_error(nodes: int, average: float, flip: EdgeChannel) -> float:
    """Standard error of the recovered degree of a person of average degree (of any person, for the symmetric flip)."""
    others, typical = max(nodes - 1, 0), min(max(average, 0.0), float(max(nodes - 1, 0)))
    return math.sqrt(typical * flip.variance_with_edge + (others - typical) * flip.variance_without_edge)


def _linear(weights: Sequence[int | Fraction], value: list[Fraction], spread: list[list[Fraction]]) -> RecoveredFigure:
    exact = [Fraction(weight) for weight in weights]
    centre = sum((w * x for w, x in zip(exact, value, strict=True)), Fraction(0))
    return _figure(float(centre), float(_quadratic(exact, spread)))


def _quadratic(weights: Sequence[Fraction], spread: list[list[Fraction]]) -> Fraction:
    size = range(len(weights))
    return sum((weights[i] * weights[j] * spread[i][j] for i in size for j in size), Fraction(0))


def _transitivity(wedges: Fraction, triangles: Fraction, spread: list[list[Fraction]]) -> RecoveredFigure:
    if wedges <= 0:
        return RecoveredFigure(math.nan, math.nan)
    gradient = [Fraction(0), -3 * triangles / wedges**2, 3 / wedges]
    return _figure(float(3 * triangles / wedges), float(_quadratic(gradient, spread)))


def _figure(value: float, variance: float) -> RecoveredFigure:
    """Return the figure, or nothing where the variance, which is estimated as well, comes out below zero.

    There the graph is too small for its noise: the estimate of the variance does not work, and an error of zero would
    be a lie."""
    return RecoveredFigure(value, math.sqrt(variance)) if variance >= 0 else RecoveredFigure(math.nan, math.nan)


def _pattern_figures(
    counts: PatternCounts, flip: EdgeChannel, names: Sequence[str], replicates: int = 12
) -> dict[str, RecoveredFigure]:
    """Copies of the named patterns. Errors: flip the published graph again and undo both flips; the spread over
    `replicates`, scaled back by the slope, is the noise of one flip seen at the recovered graph; drawing adds its
    own."""
    wanted = {name: SubgraphPattern.named(name) for name in names}
    if not wanted:
        return {}
    centre = {name: _copies(counts, pattern, flip, 0) for name, pattern in wanted.items()}
    if flip.delete == 0 == flip.add:
        return {name: RecoveredFigure(*value) for name, value in centre.items()}
    twice = flip.then(flip)
    redrawn = (EdgeChange.drawn(counts.graph, flip, Randomness(seed=n).child("again")) for n in range(replicates))
    again = [update_counts(counts, change) for change in redrawn]
    spread = {
        name: _deviation([_copies(one, pattern, twice, 1 + n)[0] for n, one in enumerate(again)])
        for name, pattern in wanted.items()
    }
    return {
        name: RecoveredFigure(value, math.hypot(flip.slope * spread[name], drawn))
        for name, (value, drawn) in centre.items()
    }


def _copies(counts: PatternCounts, pattern: SubgraphPattern, flip: EdgeChannel, number: int) -> tuple[float, float]:
    """Copies before the flip, and the error of drawing them; an analyst's own chance, of which nothing is published."""
    if not pattern.larger:
        return float(Unflipped(counts, flip).copies(pattern)), 0.0
    chance = Randomness(seed=number).child("maps").generator()
    return sampled_copies(counts.graph, pattern, flip, chance, DRAWN // 4 if number else DRAWN)


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# Recovered
# ---------


class Recovered(Metric):
    """Density, degrees, triangles, transitivity and modularity before the flip, each with a standard error."""

    name: ClassVar[str] = "recovered"
    title: ClassVar[str] = "Estimates for the original graph"
    range: ClassVar[str] = "estimates with standard errors"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)
    paper: ClassVar[str] = "multitype §4.3"
    needs_original: ClassVar[bool] = False

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.of(Edges).flip is not None

    def measure(self, exhibit: ReleaseView) -> dict[str, Any]:
        flip = exhibit.of(Edges).flip
        assert flip is not None
        return summary(recover(exhibit.once(published_graph), flip, distribution=False))


def summary(recovery: Recovery) -> dict[str, Any]:
    """Every figure as JSON; `degrees` is the average, with the error of one person's degree beside it."""
    figures: dict[str, Any] = recovery.to_json()
    figures["degrees"]["standard_error_of_one_person"] = recovery.degree_error
    return figures


# Degree law
# ----------


@dataclass(frozen=True, eq=False)
class DegreeLaw:
    """`share[d]` of the people had degree d, ± `standard_error[d]` (spread of the fit, not its smoothing)."""

    share: FloatArray
    standard_error: FloatArray

    @classmethod
    def fit(
        cls,
        degrees: IntArray,
        flip: EdgeChannel,
        *,
        iterations: int = 300,
        smoothing: float = 0.005,
        replicates: int = 12,
    ) -> DegreeLaw:
        """The distribution behind `degrees`, with standard errors from refitting `replicates` re-drawn histograms."""
        if flip.delete == 0 == flip.add:
            share = np.bincount(degrees) / len(degrees)
            return cls(share, np.zeros_like(share))
        law = _law(degrees, flip)
        share = _fit(law, np.bincount(degrees, minlength=law.shape[0]), iterations, smoothing)
        draws = _redrawn(law, share, len(degrees), replicates)
        spread = [_fit(law, drawn, iterations, smoothing) for drawn in draws]
        return cls(share, np.std(spread, axis=0, ddof=1) if replicates > 1 else np.full_like(share, math.nan))

    def distance(self, degrees: IntArray) -> float:
        """Largest gap between this distribution's and the degrees' cumulative shares (Kolmogorov-Smirnov)."""
        length = max(len(self.share), int(degrees.max(initial=0)) + 1)
        true = np.bincount(degrees, minlength=length) / max(len(degrees), 1)
        gap = np.cumsum(true) - np.cumsum(np.pad(self.share, (0, length - len(self.share))))
        return float(np.abs(gap).max())


def _law(degrees: IntArray, flip: EdgeChannel) -> Any:
    """Sparse matrix Pr(d_p | d_o), one column for every original degree the data leave possible."""
    from scipy.sparse import csc_matrix

    nodes, widest = len(degrees), int(degrees.max())
    noise = 8 * math.sqrt(nodes * max(flip.add * (1 - flip.add), flip.delete * (1 - flip.delete))) + 8
    top = min(nodes - 1, math.ceil((widest + noise - (nodes - 1) * flip.add) / flip.slope))
    columns = [flip.degree_law(degree, nodes) for degree in range(max(top, 0) + 1)]
    rows = np.concatenate([np.arange(first, first + len(column)) for first, column in columns])
    ends = np.cumsum([0] + [len(column) for _, column in columns])
    return csc_matrix((np.concatenate([column for _, column in columns]), rows, ends), shape=(nodes, len(columns)))


def _fit(law: Any, histogram: NDArray[Any], iterations: int, smoothing: float) -> FloatArray:
    seen = np.flatnonzero(histogram)
    seen_law = law.tocsr()[seen]
    back = seen_law.T.tocsr()
    observed = histogram[seen] / histogram.sum()
    share = np.full(law.shape[1], 1.0 / law.shape[1])
    for _ in range(iterations):
        share = share * (back @ (observed / np.maximum(seen_law @ share, 1e-300)))
        share = _smoothed(share, smoothing)
        share /= share.sum()
    return share


def _smoothed(share: FloatArray, weight: float) -> FloatArray:
    padded = np.concatenate([share[:1], share, share[-1:]])
    return np.asarray((1 - weight) * share + weight * (padded[:-2] + 2 * share + padded[2:]) / 4)


def _redrawn(law: Any, share: FloatArray, people: int, replicates: int) -> list[IntArray]:
    """Histograms of published degrees as they might have come out, had the fitted distribution been the true one.

    People are redrawn with their noise, which overstates the spread a little: the graph at hand is fixed.
    """
    search = np.random.default_rng(20_120_907)  # an analyst's bootstrap: nothing published depends on it
    expected = np.asarray(law @ share)
    expected /= expected.sum()
    return [search.multinomial(people, expected) for _ in range(replicates)]


# Modularity
# ----------


def modularity(graph: Graph, flip: EdgeChannel, partition: ArrayLike) -> tuple[float, float]:
    """Recovered modularity of a given partition of the published graph, and its standard error.

    The error holds for a partition chosen without looking at this graph; for one found on it see `graphs.recovery`.
    """
    groups = np.unique(np.asarray(partition), return_inverse=True)[1]
    if len(groups) != graph.nodes:
        raise DataError("the partition does not name a group for every node", hint="give one group per published node")
    people = np.bincount(groups).astype(np.float64)
    inside_pairs = float((people * (people - 1) / 2).sum())
    partners = np.full(graph.nodes, graph.nodes - 1.0)
    return modularity_of_pairs(graph, flip, groups, inside_pairs, partners)


def modularity_of_pairs(
    graph: Graph, flip: EdgeChannel, groups: NDArray[np.int64], inside_pairs: float, partners: FloatArray
) -> tuple[float, float]:
    """Modularity over the pairs that were looked at: `inside_pairs` of them in one group, `partners` for each
    person."""
    low, high = graph.edges()
    pairs = float(partners.sum()) / 2
    edges = (graph.size - pairs * flip.add) / flip.slope
    if edges <= 0:
        return math.nan, math.nan
    inside = (float((groups[low] == groups[high]).sum()) - flip.add * inside_pairs) / flip.slope
    volume: FloatArray = np.bincount(groups, weights=(graph.degrees - partners * flip.add) / flip.slope).astype(
        np.float64
    )
    value = inside / edges - float((volume**2).sum()) / (4 * edges**2)
    slope = _Gradient(inside, volume, edges)
    everywhere = slope.squares_everywhere(np.bincount(groups).astype(np.float64)) * pairs / max(graph.pairs, 1)
    tied = (float((slope.at(groups[low], groups[high]) ** 2).sum()) - flip.add * everywhere) / flip.slope
    gain = flip.variance_with_edge - flip.variance_without_edge
    figure = _figure(value, flip.variance_without_edge * everywhere + gain * tied)
    return figure.estimate, figure.standard_error


class _Gradient:
    """∂Q/∂(pair) = α·[same group] + β − γ(K_g + K_h)."""

    def __init__(self, inside: float, volume: FloatArray, edges: float) -> None:
        self.volume = volume
        self.same = 1 / edges
        self.base = -inside / edges**2 + (volume**2).sum() / (2 * edges**3)
        self.pull = 1 / (2 * edges**2)

    def at(self, first: NDArray[Any], second: NDArray[Any]) -> FloatArray:
        pulled = self.base - self.pull * (self.volume[first] + self.volume[second])
        return np.asarray(pulled + self.same * (first == second))

    def squares_everywhere(self, people: FloatArray) -> float:
        """Σ over all pairs of people of the squared gradient, group by group."""
        half = self.base / 2 - self.pull * self.volume  # gradient between groups is half_g + half_h
        count, first, second = people.sum(), (people * half).sum(), (people * half**2).sum()
        all_pairs = count * second + first**2 - 2 * second  # Σ of (half + half)² over distinct people
        within = 2 * half
        extra = (people * (people - 1) / 2 * ((within + self.same) ** 2 - within**2)).sum()
        return float(all_pairs + extra)


# Communities
# -----------


_CLASSES = 32
_DENSE = 64
"""People up to whose number the matrix is written out; iterations may stumble over a few."""


@dataclass(frozen=True, eq=False)
class Half:
    """The pairs whose two classes are marked in `table`."""

    of: IntArray
    table: FloatArray

    def times(self, vector: FloatArray) -> FloatArray:
        """For each person the sum of `vector` over their partners in this half."""
        sums = np.bincount(self.of, weights=vector, minlength=len(self.table))
        return np.asarray((self.table @ sums)[self.of] - self.table[self.of, self.of] * vector)

    def edges(self, graph: Graph) -> Graph:
        low, high = graph.edges()
        return Graph.from_codes(graph.codes[self.table[self.of[low], self.of[high]] == 1], graph.nodes)


def found_modularity(graph: Graph, flip: EdgeChannel) -> tuple[float, float]:
    """Recovered modularity of a split into two groups found here, and its standard error."""
    if graph.nodes < 3 or graph.size == 0:
        return 0.0, 0.0
    finding, judging = halves(graph.nodes)
    groups = leading_split(graph, flip, finding)
    sides: list[FloatArray] = [(groups == side).astype(np.float64) for side in (0, 1)]
    inside = sum(float((chosen * judging.times(chosen)).sum()) / 2 for chosen in sides)
    return modularity_of_pairs(judging.edges(graph), flip, groups, inside, judging.times(np.ones(graph.nodes)))


def halves(nodes: int) -> tuple[Half, Half]:
    """Two halves of all pairs; an analyst's choice on a published graph, so a fixed seed is harmless."""
    choice = np.random.default_rng(1736)
    upper = np.triu(choice.integers(0, 2, size=(_CLASSES, _CLASSES))).astype(np.float64)
    table = np.maximum(upper, upper.T)
    of = choice.integers(0, _CLASSES, size=nodes)
    return Half(of, table), Half(of, 1 - table)


def leading_split(graph: Graph, flip: EdgeChannel, half: Half) -> IntArray:
    """Group of each person: the sign of the leading eigenvector of the recovered modularity matrix on this half."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    seen = half.edges(graph)
    matrix = _sparse(seen)
    partners = half.times(np.ones(graph.nodes))
    degrees = (seen.degrees - partners * flip.add) / flip.slope
    rate = graph.pairs / max(
        float(partners.sum()) / 2, 1
    )  # degrees of the whole graph are so many times those of this half
    total = rate * float(degrees.sum()) or 1.0

    def times(vector: FloatArray) -> FloatArray:
        flat = vector.ravel()
        undone = (matrix @ flat - flip.add * half.times(flat)) / flip.slope
        return np.asarray(undone - rate**2 * degrees * half.times(degrees * flat) / total)

    start = np.cos(np.arange(graph.nodes, dtype=np.float64))
    if graph.nodes <= _DENSE:
        dense = np.stack([times(row) for row in np.eye(graph.nodes)], axis=1)
        return np.asarray(np.linalg.eigh(dense)[1][:, -1] > 0, dtype=np.int64)
    if not times(start).any():  # nobody has a tie on this half
        return np.zeros(graph.nodes, dtype=np.int64)
    operator = LinearOperator((graph.nodes, graph.nodes), matvec=times, dtype=np.float64)
    _, vectors = eigsh(operator, k=1, which="LA", v0=start, maxiter=1000, tol=1e-2)
    return np.asarray(vectors[:, 0] > 0, dtype=np.int64)


def _sparse(graph: Graph) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(
        (np.ones(len(graph.neighbours)), graph.neighbours, graph.starts), shape=(graph.nodes, graph.nodes)
    )


# Recovered graph
# ---------------


_RANGES = {"density": (0.0, 1.0), "transitivity": (0.0, 1.0), "modularity": (-0.5, 1.0)}


def recover_graph(exhibit: ReleaseView, confidence: float = 0.95, patterns: Sequence[str] = ()) -> dict[str, Any]:
    """Figures with intervals, and notes, as one JSON document."""
    flip, graph = exhibit.of(Edges).flip, exhibit.once(published_graph)
    if flip is None:
        raise ReleaseError("there is nothing to recover: the release holds no ties that were flipped at random")
    found = recover(graph, flip, distribution=False, patterns=patterns)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    figures = {name: _interval(name, figure, z) for name, figure in found.items()}
    figures["degree of one person, error"] = {"estimate": found.degree_error, "low": None, "high": None}
    return {
        "confidence": confidence,
        "people": graph.nodes,
        "edge_epsilon": None if exhibit.of(Edges).mu is None else flip.epsilon,
        "figures": figures,
        "notes": _notes(flip.add, graph.nodes),
    }


def _interval(name: str, figure: RecoveredFigure, z: float) -> dict[str, float | None]:
    if not math.isfinite(figure.estimate) or not math.isfinite(figure.standard_error):
        return {"estimate": None, "low": None, "high": None}
    low, high = figure.interval(z)
    least, most = _RANGES.get(name, (0.0, math.inf))
    return {"estimate": figure.estimate, "low": max(low, least), "high": min(high, most)}


def _notes(add: float, nodes: int) -> list[str]:
    told = [
        "path lengths and diameter are not recovered: flipped ties join people at random, and shortest paths cannot be"
        " undone"
    ]
    if add * nodes >= math.log(max(nodes, 2)):
        told.append(
            f"about {add * nodes:,.0f} ties of every person are noise, so everybody is within a few steps of everybody"
            " else"
        )
    return told
