"""Random edge perturbation: every pair of people flips with a small probability, and everybody gets a new name.

Guarantee
    Each pair is protected by randomized response with ε = ln((1 − μ)/μ). Where the policy names a structural attack, μ
    is the smallest flip under which the bounds of `models.structural_attack` hold, or the policy's own μ when that is
    enough. With `keep_edges` an edge is lost with probability q and as many appear elsewhere: only attacks along paths
    are bounded. No ε is stated for one tie: an edge in the release is almost surely an edge in the original, and the
    chance of a new edge, which is published, is computed from the number of edges. With a ledger the bounds are about
    all publications together: μ is raised until they hold, or nothing is published. New names are drawn every time.

Paper
    [multitype §4.2, §4.4.5]

Invariants
    I1  Nothing in the manifest depends on the edges: μ is a function of the number of people and of earlier flips. The
        exception is `add` under `keep_edges`, two digits of which tell the number of edges; no promise about one tie
        stands beside it.
    I2  The output is not larger than `at_most`; what would be larger is refused before anything is drawn.

Cost
    O(h + μN²/2), see `graphs.edge_flips`.


Prediction
----------
What a flip will do to a graph, told before anything is drawn: size of the output and standard error of every figure.

The variance of every recovered figure is a sum of pattern counts of the original (`graphs.subgraph_counts`), which the
data holder has; so the standard error is known in advance, exactly.


Curve
-----
The operating curve of a flip: what each μ protects and what it leaves, told before anything is drawn.

For every μ: the bound on finding planted accounts (`models.structural_attack`), the probability to find the best
connected people by degree, the probability to distinguish people whose degrees differ by ten (`models.degree_attack`),
the edge-level ε of randomized response, the edges to publish, and the standard errors of recovered figures.

Hubs
    Who knows that a person has d ties takes the published node whose number of ties is nearest to what d becomes on
    average. Published degrees are nearly normal with variance (N − 1) μ (1 − μ); the probability that no other node is
    nearer is a product over the degrees of all others, integrated over the published degree of the hub. Ties between
    the same people make published degrees slightly dependent; that is left out.
The recommended point
    The smallest μ at which hubs and planted accounts are found with at most one half, if its output may be published
    and the number of edges, of triangles and the transitivity are still told within 20 %; else none, with what stands
    against it.

Without a flip, who shares a number of ties with others is found with one in as many: ten hubs with seven different
numbers of ties, which nobody outside the ten has, are found with 7/10.

>>> import networkx
>>> club = Graph.from_networkx(networkx.karate_club_graph())
>>> sorted(club.degrees.tolist())[-11:]
[4, 5, 5, 5, 6, 6, 9, 10, 12, 16, 17]
>>> round(hub_chance(club.degrees, EdgeChannel.symmetric(0.0)), 9), hub_chance(club.degrees,
...     EdgeChannel.symmetric(0.49)) < 0.2
(0.7, True)


Curve picture
-------------
The operating curve of a flip as a picture: chances and relative errors over μ, with the recommended point; one SVG, no
scripts.

>>> "<svg" in picture([], None)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import Infeasible, SfumatoError
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.history.standing_requirements import standing_requirements
from sfumato.kinds.graphs.edge_flips import flip_edges_keeping_names
from sfumato.kinds.graphs.form import Edges, GraphProvenance, flipped_form
from sfumato.kinds.graphs.recovery import RecoveredFigure, degree_error, triad_figures
from sfumato.kinds.graphs.subgraph_counts import PatternCounts
from sfumato.models.channel_model import ChannelModel, as_channel_model
from sfumato.models.degree_attack import distinguishing_success
from sfumato.models.structural_attack import StructuralAttack
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.past_releases import History
from sfumato.release.release import Part, Release

UNCOVERED = (
    "accounts that stand out by their number of ties to other people are not covered by any bound of structural-attack"
)

NO_EPSILON = (
    "no epsilon is stated for one tie: the chance of a new tie is computed from the number of ties and published"
)


class EdgePerturbation(Method):
    """Flip every pair of nodes with a small probability; recipients estimate the original figures."""

    name: ClassVar[str] = "edge-perturbation"
    form: ClassVar[type[Form]] = Edges
    paper: ClassVar[str] = "multitype §4"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)
    remembers: ClassVar[bool] = True

    mu: float | None = Field(
        default=None, gt=0, lt=0.5, description="flip probability of a pair; absent: derived from 'protect'"
    )
    keep_edges: bool = Field(
        default=False,
        description="true: remove edges with probability mu and add about as many; a weaker promise and a small output",
    )
    at_most: int = Field(default=50_000_000, ge=1, description="largest number of edges to publish")

    def refusal(self, policy: Policy) -> str:
        attacks = _attacks(policy)
        if self.mu is None and not attacks:
            return "it needs 'mu', or a structural-attack to withstand under 'protect'"
        if len(attacks) < len(policy.claims):
            return "random flips promise nothing about the published degrees"
        if self.keep_edges and any(attack.needs_new_ties for attack in attacks):
            return (
                "keeping the number of edges withstands only attacks along paths; say 'against: paths' to accept that"
            )
        return ""

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return as_channel_model(claim.model) is not None

    def preference(self, records: int | None) -> tuple[int, str]:
        return 10, "it withstands structural attacks and lets analysts recover the figures"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        """What would come out, from the source when it can be read; nothing is drawn."""
        try:
            graph = policy.data.read()
        except SfumatoError as wrong:
            return [f"the source cannot be read from here, so nothing is predicted: {wrong.what}"]
        curve = operating_curve(graph)
        point, why = recommend_point(curve, self.at_most)
        advice = f"recommended: {why}" if point is not None else f"nothing is recommended: {why}"
        return [
            *_dropped(graph),
            *predict_release(graph, self.flip(policy, graph), self.at_most),
            *curve_lines(curve),
            advice,
        ]

    def picture(self, policy: Policy) -> str:
        curve = operating_curve(policy.data.read())
        return picture(curve, recommend_point(curve, self.at_most)[0])

    def after(self, policy: Policy, history: History, data: Any = None) -> list[str]:
        if not history:
            return []
        try:
            graph = policy.data.read()
        except SfumatoError:
            return ["the source cannot be read from here, so what earlier flips leave is not said"]
        return [
            f"beside {len(history)} earlier flip(s) every pair will be flipped with"
            f" {self.flip(policy, graph, history).delete:g}"
        ]

    def flip(self, policy: Policy, graph: Graph, history: History | None = None) -> EdgeChannel:
        """The flip that will be used beside those of earlier publications, or `Infeasible`."""
        earlier = history or History()
        attacks = [*filter(None, (as_channel_model(claim.model) for claim in standing_requirements(policy, earlier)))]
        before = [flip for past in earlier.releases if (flip := past.exhibit.of(Edges).flip) is not None]
        nodes = min([graph.nodes, *(past.exhibit.of(Edges).nodes for past in earlier.releases)])
        needed = max((attack.needed_mu(nodes, before) for attack in attacks), default=0.0)
        if needed >= 0.5 and before:
            hint = "require less; a first release with more noise than necessary allows a second one"
            raise Infeasible(
                f"{len(before)} earlier release(s) leave no flip below one half that keeps the promise", hint=hint
            )
        if needed >= 0.5:
            hint = "raise success_at_most, or bound only one kind of attack with 'against: ties' or 'against: paths'"
            raise Infeasible("no flip below one half withstands so few planted accounts that well", hint=hint)
        if self.mu is not None and self.mu < needed:
            raise Infeasible(
                f"mu {self.mu:g} does not withstand the attack", hint=f"mu of at least {needed:g}, or leave mu out"
            )
        mu = self.mu if self.mu is not None else needed
        return _balanced(mu, graph) if self.keep_edges else EdgeChannel.symmetric(mu)

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        flip = self.flip(task.policy, graph, task.history)
        _check_size(graph, flip, self.at_most)
        task.progress(0.1, "flipping")
        names = task.randomness.child("names").permutation(graph.nodes)
        published = flip_edges_keeping_names(graph.relabelled(names), flip, task.randomness)
        attacks = _attacks(task.policy)
        notes = [f"{attack.name} covers {words}" for attack in attacks for words in attack.covered().values()]
        part = Part({name: np.asarray(column, dtype=np.int64) for name, column in published.to_columns().items()})
        return Release(
            flipped_form(flip, graph.nodes, keeps_edges=self.keep_edges),  # I1
            {"edges": part},
            trace=GraphProvenance(names=names),
            notes=(*notes, UNCOVERED, NO_EPSILON if self.keep_edges else _promise(flip)),
        )


def _attacks(policy: Policy) -> list[ChannelModel]:
    return [*filter(None, (as_channel_model(claim.model) for claim in policy.claims))]


def _balanced(delete: float, graph: Graph) -> EdgeChannel:
    exact = EdgeChannel.keeping_edges(delete, graph.size, graph.pairs)
    return EdgeChannel(delete, float(f"{exact.add:.2g}"))  # I1


def _check_size(graph: Graph, flip: EdgeChannel, at_most: int) -> None:
    expected = flip.expected_edges(graph.pairs, graph.size)
    if expected > at_most:  # I2
        hint = (
            "allow more with 'at_most', withstand less, or use keep_edges; mu up to"
            f" {at_most / max(graph.pairs, 1):.1e} fits"
        )
        raise Infeasible(f"about {expected:,.0f} edges would be published, more than {at_most:,}", hint=hint)


def _promise(flip: EdgeChannel) -> str:
    return f"one tie alone is protected by randomized response with epsilon {flip.epsilon:.2f}; a person has many ties"


def _dropped(graph: Graph) -> list[str]:
    loops, duplicates = graph.dropped.loops, graph.dropped.duplicates
    values = "".join(f", and '{name}' of every tie" for name in graph.dropped.values)
    said = f"{loops:,} loops and {duplicates:,} repeated edges are dropped{values}"
    return [f"source: {graph.nodes:,} people, {graph.size:,} edges; {said}"]


# Prediction
# ----------


EXPLODES = 10.0


def predict_release(graph: Graph, flip: EdgeChannel, at_most: int) -> list[str]:
    """Sentences for the data holder, with warnings where the output explodes or a figure drowns."""
    expected = flip.expected_edges(graph.pairs, graph.size)
    growth = expected / max(graph.size, 1)
    spoken = f"mu = {flip.delete:g}" if flip.is_symmetric else f"delete = {flip.delete:g}, add = {flip.add:.3g}"
    said = [f"flip: {spoken}" + (f"; edge-level epsilon = {flip.epsilon:.2f}" if flip.is_symmetric else "")]
    said.append(f"output: about {expected:,.0f} edges, {growth:,.1f} times as many")
    if expected > at_most:
        said.append(f"warning: more than the {at_most:,} edges allowed; publishing will be refused")
    elif growth > EXPLODES:
        said.append(
            f"warning: the output explodes; {1 - graph.size * (1 - flip.delete) / expected:.1%} of its edges will be"
            " noise"
        )
    return said + [_figure(name, figure) for name, figure in predicted(graph, flip).items()]


def predicted(graph: Graph, flip: EdgeChannel) -> dict[str, RecoveredFigure]:
    """Every recoverable figure of the original with the standard error its recovery will have."""
    counts = PatternCounts(graph)
    figures = triad_figures(graph.nodes, counts.maps, flip)
    average = figures["degrees"].estimate
    figures["degree_of_one_person"] = RecoveredFigure(average, degree_error(graph.nodes, average, flip))
    return figures


def _figure(name: str, figure: RecoveredFigure) -> str:
    relative = figure.standard_error / abs(figure.estimate) if figure.estimate else math.inf
    drowned = " (warning: drowned in noise)" if relative > 0.5 else ""
    return f"predicted: {name.replace('_', ' ')} ± {figure.standard_error:.3g} ({relative:.1%}){drowned}"


# Curve
# -----


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
        name: _relative(figures[name].standard_error, figures[name].estimate)
        for name in ("density", "triangles", "transitivity")
    }
    average = figures["degrees"].estimate
    errors["degree_of_one_person"] = _relative(degree_error(graph.nodes, average, flip), average)
    bound = (
        max(StructuralAttack(planted=planted, success_at_most=0.5).bounds(flip, graph.nodes).values())
        if graph.nodes >= planted
        else 1.0
    )
    expected = flip.expected_edges(graph.pairs, graph.size)
    apart = distinguishing_success(_APART, graph.nodes - 2, flip.delete)
    return OperatingPoint(flip.delete, bound, hub_chance(graph.degrees, flip), apart, flip.epsilon, expected, errors)


def _relative(error: float, value: float) -> float:
    return error / abs(value) if value and math.isfinite(error) else math.inf


def hub_chance(degrees: IntArray, flip: EdgeChannel) -> float:
    """The mean chance that one of the best connected people is the node nearest to what their number of ties
    becomes."""
    values, counts = np.unique(degrees, return_counts=True)
    hubs = np.sort(degrees)[::-1][: min(_HUBS, len(degrees))]
    return float(np.mean([_found(float(hub), values, counts, flip, len(degrees)) for hub in hubs.tolist()]))


def _found(hub: float, values: IntArray, counts: IntArray, flip: EdgeChannel, nodes: int) -> float:
    """Return the probability that no other published degree is nearer than the hub's own."""
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


def recommend_point(curve: Sequence[OperatingPoint], at_most: int) -> tuple[OperatingPoint | None, str]:
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
        return (
            None,
            (
                "no flip shown here hides both hubs and planted accounts; k-degree anonymity hides degrees without"
                " flipping"
            ),
        )
    if not fits:
        least = min(hidden, key=lambda point: point.mu)
        return (
            None,
            (
                f"hiding needs mu = {least.mu:g} and {least.edges:,.0f} edges; publish figures instead, or k-degree"
                " anonymity"
            ),
        )
    best = min(fits, key=lambda point: point.mu)
    return (
        None,
        (
            f"mu = {best.mu:g} hides, but leaves errors of {best.worst:.0%}; the graph is too small or too sparse for"
            " flips"
        ),
    )


def _why(best: OperatingPoint) -> str:
    hides = "hides hubs and planted accounts (each found with at most one half)"
    return f"mu = {best.mu:g} is the smallest that {hides} and tells the whole graph within 20 %"


def curve_lines(curve: Sequence[OperatingPoint]) -> Iterator[str]:
    """The curve as lines of text."""
    yield (
        "curve: mu, planted accounts found at most, hubs found by degree, people ten ties apart told apart, edge-level"
        " epsilon,"
    )
    yield (
        "curve: edges to publish, relative standard errors of the number of edges / of triangles / of one person's"
        " degree"
    )
    for point in curve:
        errors = [point.errors[name] for name in ("density", "triangles", "degree_of_one_person")]
        told = " / ".join(f"{value:.1%}" if value < 10 else "drowned" for value in errors)
        chances = f"{point.planted_bound:.3f}, {point.hubs_found:.2f}, {point.told_apart:.2f}, {point.epsilon:.1f}"
        yield f"curve: {point.mu:g}, {chances}, {point.edges:,.0f}, {told}"


# Curve picture
# -------------


_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 380, 60, 230, 30, 60
_LINES: tuple[tuple[str, str, str, Callable[[OperatingPoint], float]], ...] = (
    ("planted accounts found, at most", "#b5654a", "", lambda point: point.planted_bound),
    ("hubs found by degree", "#8a3b2a", "5 3", lambda point: point.hubs_found),
    ("people ten ties apart told apart", "#c9a227", "2 3", lambda point: point.told_apart),
    ("error of the number of edges", "#3f4b57", "", lambda point: point.errors["density"]),
    ("error of triangles", "#5b8a72", "", lambda point: point.errors["triangles"]),
    ("error of one person's degree", "#7a6ea8", "5 3", lambda point: point.errors["degree_of_one_person"]),
)


def picture(curve: Sequence[OperatingPoint], best: OperatingPoint | None) -> str:
    """An SVG of the curve; values above 1 are drawn at 1."""
    parts = [_axes(curve)]
    if best is not None:
        x = _x(curve, best.mu)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" stroke="#ecdc9a" stroke-width="6"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{_TOP - 8}" text-anchor="middle" fill="#8a6d00">recommended: {best.mu:g}</text>'
        )
    for index, (name, ink, dashes, value) in enumerate(_LINES):
        points = " ".join(f"{_x(curve, point.mu):.1f},{_y(value(point)):.1f}" for point in curve)
        parts.append(
            f'<polyline fill="none" stroke="{ink}" stroke-width="2" stroke-dasharray="{dashes}" points="{points}"/>'
        )
        parts.append(f'<text x="{_WIDTH - _RIGHT + 18}" y="{_TOP + 14 + 20 * index}" fill="{ink}">{name}</text>')
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect width="100%" height="100%"'
        f' fill="white"/>{"".join(parts)}</svg>\n'
    )


def _x(curve: Sequence[OperatingPoint], mu: float) -> float:
    low, high = math.log(min(point.mu for point in curve)), math.log(max(point.mu for point in curve))
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log(mu) - low) / max(high - low, 1e-9)


def _y(value: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - min(max(value, 0.0), 1.0))


def _axes(curve: Sequence[OperatingPoint]) -> str:
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = _y(share)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:g}</text>')
    for index, point in enumerate(curve):
        at, low = f'x="{_x(curve, point.mu):.1f}" text-anchor="middle"', _HEIGHT - _BOTTOM + 30 + 11 * (index % 2)
        parts.append(f'<text {at} y="{_HEIGHT - _BOTTOM + 16}">{point.mu:g}</text>')
        parts.append(f'<text {at} y="{low}" fill="#777777">{_short(point.edges)}</text>')
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 8}">chance that a pair flips; below it edges to publish</text>')
    return "".join(parts)


def _short(number: float) -> str:
    for size, word in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{word}"
    return f"{number:.0f}"
