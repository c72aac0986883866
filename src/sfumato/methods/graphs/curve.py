"""The operating curve of a flip: what each μ protects and what it leaves, told before anything is drawn.

For every μ: the bound on finding planted accounts (`models.structural_attack`), the chance that the best connected people are
found by their number of ties, how often people ten ties apart are told apart by it (`models.degree_attack`), the edge-level ε of
randomized response, the edges to publish, and the standard errors of what can be recovered.

Hubs
    Who knows that somebody has d ties takes the published node whose number of ties is nearest to what d becomes on average.
    Published numbers of ties are nearly normal with variance (N − 1) μ (1 − μ); the chance that nobody else is nearer is a product
    over the degrees of all others, integrated over where the hub falls. Ties between the same people make published degrees
    slightly dependent; that is left out.
The recommended point
    The smallest μ at which hubs and planted accounts are found with at most one half, if its output may be published and the
    number of edges, of triangles and the transitivity are still told within 20 %; else none, with what stands against it.

Without a flip, who shares a number of ties with others is found with one in as many: ten hubs with seven different numbers of
ties, which nobody outside the ten has, are found with 7/10.

>>> import networkx
>>> club = Graph.from_networkx(networkx.karate_club_graph())
>>> sorted(club.degrees.tolist())[-11:]
[4, 5, 5, 5, 6, 6, 9, 10, 12, 16, 17]
>>> round(hub_chance(club.degrees, EdgeChannel.symmetric(0.0)), 9), hub_chance(club.degrees, EdgeChannel.symmetric(0.49)) < 0.2
(0.7, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.metrics.pattern_counts import PatternCounts
from sfumato.metrics.recovery import degree_error, triad_figures
from sfumato.models.degree_attack import telling
from sfumato.models.structural_attack import StructuralAttack

FLIPS = (1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.3)
_HUBS, _GRID, _HALF, _USEFUL, _APART = 10, 400, 0.5, 0.2, 10


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """One μ: chances of the adversaries, ε, edges, and relative standard errors."""

    mu: float
    planted_bound: float
    hubs_found: float
    told_apart: float
    epsilon: float
    edges: float
    errors: dict[str, float]

    @property
    def worst(self) -> float:
        """The largest relative standard error of the figures of the whole graph."""
        return max(value for name, value in self.errors.items() if name != "degree_of_one_person")

    def to_json(self) -> dict[str, float]:
        told = {"mu": self.mu, "planted_found_at_most": self.planted_bound, "hubs_found": self.hubs_found}
        told |= {"told_apart": self.told_apart, "epsilon": self.epsilon}
        return told | {"edges": self.edges} | {f"error_of_{name}": value for name, value in self.errors.items()}


def operating_curve(graph: Graph, flips: Sequence[float] = FLIPS, planted: int = 20) -> list[OperatingPoint]:
    """The curve for a graph; its pattern counts are made once."""
    maps = PatternCounts(graph).maps
    return [_point(graph, maps, EdgeChannel.symmetric(mu), planted) for mu in flips]


def _point(graph: Graph, maps: object, flip: EdgeChannel, planted: int) -> OperatingPoint:
    figures = triad_figures(graph.nodes, maps, flip)
    errors = {
        name: _relative(figures[name].standard_error, figures[name].estimate) for name in ("density", "triangles", "transitivity")
    }
    average = figures["degrees"].estimate
    errors["degree_of_one_person"] = _relative(degree_error(graph.nodes, average, flip), average)
    bound = (
        max(StructuralAttack(planted=planted, success_at_most=0.5).bounds(flip, graph.nodes).values())
        if graph.nodes >= planted
        else 1.0
    )
    expected = flip.expected_edges(graph.pairs, graph.size)
    apart = telling(_APART, graph.nodes - 2, flip.delete)
    return OperatingPoint(flip.delete, bound, hub_chance(graph.degrees, flip), apart, flip.epsilon, expected, errors)


def _relative(error: float, value: float) -> float:
    return error / abs(value) if value and math.isfinite(error) else math.inf


def hub_chance(degrees: IntArray, flip: EdgeChannel) -> float:
    """The mean chance that one of the best connected people is the node nearest to what their number of ties becomes."""
    values, counts = np.unique(degrees, return_counts=True)
    hubs = np.sort(degrees)[::-1][: min(_HUBS, len(degrees))]
    return float(np.mean([_found(float(hub), values, counts, flip, len(degrees)) for hub in hubs.tolist()]))


def _found(hub: float, values: IntArray, counts: IntArray, flip: EdgeChannel, nodes: int) -> float:
    """The chance that nobody else's published number of ties is nearer than the hub's own."""
    spread = math.sqrt(max((nodes - 1) * flip.add * (1 - flip.add), 0.0))
    others = counts - (values == int(hub))
    if spread == 0.0:
        return 1.0 if not others[values == int(hub)].any() else 1.0 / (1 + int(others[values == int(hub)].sum()))
    distance = np.linspace(0, 6, _GRID + 1)
    middle = (distance[1:] + distance[:-1]) / 2
    weight = 2 * (_normal(distance[1:]) - _normal(distance[:-1]))
    shift = flip.slope * (hub - values)[:, None] / spread
    nearer = _normal(middle[None, :] - shift) - _normal(-middle[None, :] - shift)
    nobody = (others[:, None] * np.log1p(-np.minimum(nearer, 1 - 1e-12))).sum(axis=0)
    return float((weight * np.exp(nobody)).sum())


def _normal(value: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    return np.asarray(ndtr(value))


def recommended(curve: Sequence[OperatingPoint], at_most: int) -> tuple[OperatingPoint | None, str]:
    """The point to begin with, and why; none where every point gives away or drowns."""
    hidden = [point for point in curve if max(point.planted_bound, point.hubs_found) <= _HALF]
    fits = [point for point in hidden if point.edges <= at_most]
    useful = [point for point in fits if point.worst <= _USEFUL]
    if useful:
        best = min(useful, key=lambda point: point.mu)
        return (
            best,
            _why(best),
        )
    if not hidden:
        return None, "no flip shown here hides both hubs and planted accounts; k-degree anonymity hides degrees without flipping"
    if not fits:
        least = min(hidden, key=lambda point: point.mu)
        return (
            None,
            f"hiding needs mu = {least.mu:g} and {least.edges:,.0f} edges; publish figures instead, or k-degree anonymity",
        )
    best = min(fits, key=lambda point: point.mu)
    return None, f"mu = {best.mu:g} hides, but leaves errors of {best.worst:.0%}; the graph is too small or too sparse for flips"


def _why(best: OperatingPoint) -> str:
    hides = "hides hubs and planted accounts (each found with at most one half)"
    return f"mu = {best.mu:g} is the smallest that {hides} and tells the whole graph within 20 %"


def table(curve: Sequence[OperatingPoint]) -> Iterator[str]:
    """The curve as lines of text."""
    yield "curve: mu, planted accounts found at most, hubs found by degree, people ten ties apart told apart, edge-level epsilon,"
    yield "curve: edges to publish, relative standard errors of the number of edges / of triangles / of one person's degree"
    for point in curve:
        errors = [point.errors[name] for name in ("density", "triangles", "degree_of_one_person")]
        told = " / ".join(f"{value:.1%}" if value < 10 else "drowned" for value in errors)
        chances = f"{point.planted_bound:.3f}, {point.hubs_found:.2f}, {point.told_apart:.2f}, {point.epsilon:.1f}"
        yield f"curve: {point.mu:g}, {chances}, {point.edges:,.0f}, {told}"
