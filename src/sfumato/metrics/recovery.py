"""What an analyst can still learn from a published graph: every figure of the original with its standard error.

Paper
    [multitype §4.3]: density (Eq. 4.4), degrees (Eq. 4.6), triads and transitivity (Eqs. 4.8-4.10), modularity (Eqs. 4.11-4.13).

Departures
    [multitype Eq. 4.10] divides three triangles by the *open* triads; transitivity is 3T/(3T + X). Density has the fixed-graph
    standard error (see `data.flip`), the degree distribution is fitted as a whole (`metrics.degree_law`), and all figures
    carry standard errors: in closed form for up to three people, by the delta method for ratios, and for patterns of four by
    flipping the published graph again, which overstates the error a little where it is large.

Notation
    T, X, W   triangles, open triads (two ties, third missing), wedges W = 3T + X.

>>> import networkx
>>> club = Graph.from_networkx(networkx.karate_club_graph())
>>> found = recover(club, 0.0)
>>> found["triangles"].estimate, round(found["transitivity"].estimate, 4), found["transitivity"].standard_error
(45.0, 0.2557, 0.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.data.arrays import FloatArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.flipping import EdgeChange
from sfumato.data.graph import Graph
from sfumato.data.pattern import TiePattern
from sfumato.metrics.communities import found_modularity
from sfumato.metrics.degree_law import DegreeLaw
from sfumato.metrics.modularity import modularity
from sfumato.metrics.pattern_counts import PatternCounts, Unflipped, covariance
from sfumato.metrics.recounting import recounted
from sfumato.metrics.sampled_patterns import DRAWN, sampled_copies
from sfumato.randomness import Randomness

EDGE, WEDGE, TRIANGLE = (TiePattern.named(name) for name in ("edge", "wedge", "triangle"))


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
        return {name: {"estimate": _finite(e.estimate), "standard_error": _finite(e.standard_error)} for name, e in self.items()}


def recover(
    graph: Graph | Any,
    mu: float | EdgeChannel,
    *,
    partition: ArrayLike | None = None,
    patterns: Sequence[str] = (),
    distribution: bool = True,
) -> Recovery:
    """The figures of the graph before every pair was flipped with probability `mu` (or by a `EdgeChannel`).

    `partition` gives a group to every published node; without one a split into two groups is found and judged on separate
    halves of the pairs. `patterns` names patterns whose copies are wanted as well: of up to four people they are counted
    (`TiePattern.names`), of five and six drawn (`TiePattern.larger_names`, `sampled_patterns`).
    """
    flip = mu if isinstance(mu, EdgeChannel) else EdgeChannel.symmetric(mu)
    published = Graph.of(graph)
    counts = PatternCounts(published)
    before = Unflipped(counts, flip)
    figures = triad_figures(published.nodes, before.maps, flip)
    found = found_modularity(published, flip) if partition is None else modularity(published, flip, partition)
    figures["modularity"] = RecoveredFigure(*found)
    figures |= _pattern_figures(counts, flip, patterns)
    degrees: FloatArray = np.asarray((published.degrees - (published.nodes - 1) * flip.add) / flip.slope, dtype=np.float64)
    law = DegreeLaw.fit(published.degrees, flip) if distribution and published.nodes else None
    return Recovery(figures, degrees, degree_error(published.nodes, figures["degrees"].estimate, flip), law)


def triad_figures(nodes: int, maps: Any, flip: EdgeChannel) -> dict[str, RecoveredFigure]:
    """Figures of two and three people, given (estimates of) inj before the flip. With exact inj this is a prediction."""
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
    return RecoveredFigure(float(centre), _root(_quadratic(exact, spread)))


def _quadratic(weights: Sequence[Fraction], spread: list[list[Fraction]]) -> Fraction:
    size = range(len(weights))
    return sum((weights[i] * weights[j] * spread[i][j] for i in size for j in size), Fraction(0))


def _transitivity(wedges: Fraction, triangles: Fraction, spread: list[list[Fraction]]) -> RecoveredFigure:
    if wedges <= 0:
        return RecoveredFigure(math.nan, math.nan)
    gradient = [Fraction(0), -3 * triangles / wedges**2, 3 / wedges]
    return RecoveredFigure(float(3 * triangles / wedges), _root(_quadratic(gradient, spread)))


def _root(variance: Fraction) -> float:
    return math.sqrt(max(float(variance), 0.0))


def _pattern_figures(
    counts: PatternCounts, flip: EdgeChannel, names: Sequence[str], replicates: int = 12
) -> dict[str, RecoveredFigure]:
    """Copies of the named patterns. Errors: flip the published graph again and undo both flips; the spread over
    `replicates`, scaled back by the slope, is the noise of one flip seen at the recovered graph; drawing adds its own."""
    wanted = {name: TiePattern.named(name) for name in names}
    if not wanted:
        return {}
    centre = {name: _copies(counts, pattern, flip, 0) for name, pattern in wanted.items()}
    if flip.delete == 0 == flip.add:
        return {name: RecoveredFigure(*value) for name, value in centre.items()}
    twice = flip.then(flip)
    redrawn = (EdgeChange.drawn(counts.graph, flip, Randomness(seed=n).child("again")) for n in range(replicates))
    again = [recounted(counts, change) for change in redrawn]
    spread = {
        name: _deviation([_copies(one, pattern, twice, 1 + n)[0] for n, one in enumerate(again)])
        for name, pattern in wanted.items()
    }
    return {name: RecoveredFigure(value, math.hypot(flip.slope * spread[name], drawn)) for name, (value, drawn) in centre.items()}


def _copies(counts: PatternCounts, pattern: TiePattern, flip: EdgeChannel, number: int) -> tuple[float, float]:
    """Copies before the flip, and the error of drawing them; an analyst's own chance, of which nothing is published."""
    if not pattern.larger:
        return float(Unflipped(counts, flip).copies(pattern)), 0.0
    chance = Randomness(seed=number).child("maps").generator()
    return sampled_copies(counts.graph, pattern, flip, chance, DRAWN // 4 if number else DRAWN)


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
