"""Perturbation: the published graph is what the declared flip would make of some graph, and of this one when it is at
hand.

From the published files alone: edges are a simple graph in ascending order, the recovered number of edges is possible,
and degrees vary at least as much as the flip makes them vary. A graph published without flipping, or with a much
smaller flip than declared, fails. With the original: the number of published edges is what this original leads to. With
the private names: as many edges were lost and gained as the flip would.

Every count is compared at six standard deviations, so an honest release fails once in a hundred million.


Kept edges
----------
Kept edges: a graph that is said to have gained edges has all the old ones, gained as many as declared, and needed that
many.

From the published files alone: a simple graph in ascending order, and declared figures that are possible; nothing else
is judged there. With the original: the number of edges, and degrees that rise place by place; whether every edge is
there is then not judged. With the private names: every original edge, pair by pair, unless the original now lists
people in another order. A bound said to be proven by counting is counted here again; one proven by the solver is only
compared with what was added.


Fewest edges
------------
How many edges a graph must gain before every degree is shared by k people, counted again for the audit.

Two arguments, those that a method may make, in other code: the degrees of all people have to rise by so much in total,
and the m people who end with most ties need more edges than can be there already.

>>> star = Graph.from_pairs([0] * 9, list(range(1, 10)))
>>> fewest_new_edges(star, 2)
8


Graph figures
-------------
Figures: published figures of a graph are well formed, and with the original the number of edges is near its own; where
only so many ties of a person count, the degrees are, too. Triangles, and degrees without such a limit, are not
compared.

Noise of scale s is beyond 40 s with chance e^−40, so a figure farther off was not made as the manifest says. Where only
so many ties of a person count, they are counted here once more, by asking for every tie in the order of names. Of a
graph that was drawn, nobody has more ties than a published degree, and so many ties are there as random pairs of ends
leave: two people with a and b of 2m ends are tied with the chance 1 − exp(−ab / 2m), and eight standard deviations
below that sum is no chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.wording import Wording
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Dropped, Graph
from sfumato.kinds.graphs.form import (
    DEGREES,
    EDGES,
    FIGURES,
    Edges,
    GraphProvenance,
    NoisyFigures,
    fewest_added_edges,
    original_graph,
    published_graph,
    unnamed_nodes,
)
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.evidence import Check
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

SIGMAS = 6.0


class Perturbation(Check):
    """The published graph fits the declared flip."""

    name: ClassVar[str] = "perturbation"
    words: ClassVar[Wording] = Wording(
        title="Edge noise",
        code="edge-noise",
        group="privacy",
        holds="The published edges are consistent with the declared noise.",
        violated="The published edges contradict the declared noise: {reason}",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.of(Edges).flip is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        flip, graph = exhibit.of(Edges).flip, exhibit.once(published_graph)
        assert flip is not None
        wrong = [*_alone(exhibit, graph, flip), *_with_original(exhibit, graph, flip)]
        return Finding(
            self.name,
            not wrong,
            {"contradictions": 0},
            {"contradictions": len(wrong)},
            grade="exact"
            if wrong
            else f"estimate (counts within {SIGMAS:g} standard deviations of the declared noise)",
            reason="; ".join([*wrong, *_named_by_the_manifest(exhibit)]),
        )


def _named_by_the_manifest(exhibit: ReleaseView) -> list[str]:
    """Return what the manifest alone says about people without edges."""
    alone = unnamed_nodes(exhibit)
    return [f"that {alone} people have no tie is the manifest's word"] if alone else []


def grade_of_graph_finding(exhibit: ReleaseView) -> str:
    """Exact, unless the original is an edge list that names fewer people than are published."""
    alone = unnamed_nodes(exhibit)
    return f"bound (that {alone} people have no tie is the manifest's word)" if alone else "exact"


def _alone(exhibit: ReleaseView, graph: Graph, flip: EdgeChannel) -> Iterator[str]:
    codes = _codes(exhibit, graph.nodes)
    if graph.dropped != Dropped() or bool((codes[1:] <= codes[:-1]).any()):
        yield "the published edges are not a simple graph in ascending order"
    recovered = (graph.size - graph.pairs * flip.add) / flip.slope
    slack = SIGMAS * max(flip.edges_error(graph.pairs, 0), flip.edges_error(graph.pairs, graph.pairs)) + 1
    if not -slack <= recovered <= graph.pairs + slack:
        yield "no graph has the number of edges that the declared flip would lead back to"
    noise = graph.nodes * min(flip.add * (1 - flip.add), flip.delete * (1 - flip.delete))
    if graph.nodes > 1 and float(np.var(graph.degrees)) < noise * (1 - SIGMAS * math.sqrt(2 / (graph.nodes - 1))):
        yield "degrees vary less than the declared flip makes them vary"


def _codes(exhibit: ReleaseView, nodes: int) -> NDArray[np.int64]:
    table = exhibit.parts["edges"].table
    source, target = (table.column(name).cast("int64").to_numpy() for name in ("source", "target"))
    return np.where(source < target, source * nodes + target, -1)


def _with_original(exhibit: ReleaseView, graph: Graph, flip: EdgeChannel) -> Iterator[str]:
    if not exhibit.private:
        return
    original = exhibit.once(original_graph)
    if original.nodes != graph.nodes:
        yield f"{graph.nodes} people are published, the original has {original.nodes}"
        return
    names = exhibit.traced(GraphProvenance).names
    if names is not None:
        yield from _flips(original.relabelled(np.asarray(names)), graph, flip)
    elif not _plausible(graph.size, [(original.size, 1 - flip.delete), (original.pairs - original.size, flip.add)]):
        yield "the number of published edges is not what the declared flip makes of this original"


def _flips(renamed: Graph, graph: Graph, flip: EdgeChannel) -> Iterator[str]:
    kept = len(np.intersect1d(renamed.codes, graph.codes, assume_unique=True))
    if not _plausible(renamed.size - kept, [(renamed.size, flip.delete)]):
        yield "the number of lost edges is not what the declared flip leads to"
    if not _plausible(graph.size - kept, [(renamed.pairs - renamed.size, flip.add)]):
        yield "the number of gained edges is not what the declared flip leads to"


def _plausible(count: int, trials: list[tuple[int, float]]) -> bool:
    """Whether a sum of binomials may well be `count`."""
    mean = sum(number * chance for number, chance in trials)
    spread = math.sqrt(sum(number * chance * (1 - chance) for number, chance in trials))
    return abs(count - mean) <= SIGMAS * spread + SIGMAS


# Kept edges
# ----------


OTHER_ORDER = (
    "people are in another order than when this was published, so edges were compared in number and degree only"
)
NO_ORIGINAL = "whether every original edge is published is judged with the original: give it to judge this"
NO_NAMES = "without the private provenance nobody knows who is who, so edges were compared in number and degree only"


class KeptEdges(Check):
    """Every original edge is published, and as many were added as declared."""

    name: ClassVar[str] = "kept-edges"
    words: ClassVar[Wording] = Wording(
        title="Original edges",
        code="kept-edges",
        holds="Every original edge is published, and as many were added as declared.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.of(Edges).grown

    def examine(self, exhibit: ReleaseView) -> Finding:
        graph, (least, _) = exhibit.once(published_graph), fewest_added_edges(exhibit)
        added = exhibit.of(Edges).added_edges
        wrong = [
            *_kept_edges_alone(exhibit, graph, added, least),
            *_kept_edges_with_original(exhibit, graph, added, least),
        ]
        unsure = "" if wrong else _unsure(exhibit)
        grade = NOT_JUDGED if unsure else grade_of_graph_finding(exhibit)
        reason = "; ".join(wrong) or unsure
        return Finding(
            self.name, not wrong, {"contradictions": 0}, {"contradictions": len(wrong)}, grade=grade, reason=reason
        )


def _unsure(exhibit: ReleaseView) -> str:
    """Why edges could not be compared pair by pair; empty when they were."""
    if not exhibit.private:
        return NO_ORIGINAL
    if exhibit.traced(GraphProvenance).names is None:
        return NO_NAMES
    return "" if _same_people(exhibit) else OTHER_ORDER


def _same_people(exhibit: ReleaseView) -> bool:
    """Whether the private names belong to the original as it was read here; an edge list in another order numbers
    people anew."""
    known = exhibit.traced(GraphProvenance).numbering
    return not known or not exhibit.private or known == exhibit.once(original_graph).numbering


def _kept_edges_alone(exhibit: ReleaseView, graph: Graph, added: int | None, least: int | None) -> Iterator[str]:
    table = exhibit.parts["edges"].table
    source, target = (table.column(name).cast("int64").to_numpy() for name in ("source", "target"))
    codes = source * graph.nodes + target
    if graph.dropped != Dropped() or bool((source >= target).any()) or bool((codes[1:] <= codes[:-1]).any()):
        yield "the published edges are not a simple graph in ascending order"
    if added is not None and least is not None and not 0 <= least <= added <= graph.size:
        yield "the declared numbers of added and needed edges contradict each other or the published edges"
    if exhibit.of(Edges).flip is not None:
        yield "the manifest says that edges were flipped as well as kept"


def _kept_edges_with_original(
    exhibit: ReleaseView, graph: Graph, added: int | None, least: int | None
) -> Iterator[str]:
    if not exhibit.private:
        return
    original = exhibit.once(original_graph)
    if original.nodes != graph.nodes:
        yield f"{graph.nodes} people are published, the original has {original.nodes}"
        return
    if added is not None and graph.size - original.size != added:
        yield f"{added} edges were declared as added, {graph.size - original.size} are more than in the original"
    if bool((np.sort(graph.degrees) < np.sort(original.degrees)).any()):
        yield "degrees fell: the original cannot be a part of what is published"
    names = exhibit.traced(GraphProvenance).names
    if names is not None and _same_people(exhibit):
        yield from _pair_by_pair(original, graph, np.asarray(names))
    if least is not None:
        yield from _counted(exhibit, original, graph, least)


def _pair_by_pair(original: Graph, graph: Graph, names: NDArray[np.int64]) -> Iterator[str]:
    if not np.array_equal(np.sort(names), np.arange(graph.nodes)):
        yield "the private names are not a renaming"
        return
    one, other = original.edges()
    lost = int((~graph.has_edges(names[one], names[other])).sum())
    if lost:
        yield f"{lost} original edges are not published"


def _counted(exhibit: ReleaseView, original: Graph, graph: Graph, least: int) -> Iterator[str]:
    if least > graph.size - original.size:
        yield f"{least} edges were said to be needed, {graph.size - original.size} were added"
    demands = [claim.model.demand() for claim in exhibit.policy.claims]
    levels = [demand.candidates for demand in demands if demand.sufficient]
    if fewest_added_edges(exhibit)[1] == "solver" or not levels or max(levels) > original.nodes:
        return
    counted = fewest_new_edges(original, max(levels))
    if least > counted:
        yield f"counting proves that {counted} edges are needed, not {least}"


# Fewest edges
# ------------


_MULTIPLES = 20


def fewest_new_edges(graph: Graph, k: int) -> int:
    """A lower bound for every k-degree anonymous graph that contains this one."""
    descending = np.sort(graph.degrees)[::-1].tolist()
    hubs = [_at_hubs(graph, k, descending, m) for m in range(k, min(_MULTIPLES * k, graph.nodes) + 1, k)]
    return max((total_rise(graph, k) + 1) // 2, *hubs)


def total_rise(graph: Graph, k: int) -> int:
    """The least sum by which degrees must rise; more than 5k people of one degree count as 5k, for the others need not
    move."""
    values, counts = np.unique(graph.degrees, return_counts=True)
    few = np.repeat(values[::-1], np.minimum(counts[::-1], 5 * k)).tolist()
    return int(_from(few, k)[0])


def _from(descending: list[int], k: int) -> list[float]:
    """For every place: the least rise of the people from there on, when a group begins there."""
    people = len(descending)
    least: list[float] = [inf] * people + [0]
    for first in range(people - k, -1, -1):
        top, rise = descending[first], sum(descending[first] - degree for degree in descending[first : first + k])
        for after in range(first + k, min(first + 2 * k, people + 1)):
            least[first] = min(least[first], rise + least[after])
            rise += top - descending[after] if after < people else 0
    return least


def _at_hubs(graph: Graph, k: int, descending: list[int], m: int) -> int:
    """Edges that must be added at the m people with most ties in the end."""
    goal = _least_sum(descending[: m + 2 * k], k, m, len(descending))
    return goal - m * (m - 1) // 2 - _touchable(graph, m)


def _least_sum(descending: list[int], k: int, m: int, people: int) -> int:
    """The least sum of the m largest degrees when the groups are raised; the last group may reach beyond."""
    sums: list[float] = [0] + [inf] * m
    for end in range(1, m + 1):
        for first in range(max(0, end - 2 * k + 1), end):
            whole = end - first >= k
            if whole or (end == m and first + k <= people):
                sums[end] = min(sums[end], sums[first] + (end - first) * descending[first])
    return int(sums[m])


def _touchable(graph: Graph, m: int) -> int:
    """No m people touch more edges; those among the people with most ties count for themselves, half and half, or at
    both ends."""
    crowd = np.zeros(graph.nodes, dtype=bool)
    crowd[np.argsort(-graph.degrees, kind="stable")[:m]] = True
    one, other = graph.edges()
    among = crowd[one] & crowd[other]
    inner = np.bincount(np.concatenate([one[among], other[among]]), minlength=graph.nodes)
    choices = []
    for halves in (0, 1, 2):
        ends = np.sort(2 * graph.degrees - (2 - halves) * inner)[::-1][:m]
        choices.append((int(among.sum()) * (2 - halves) + int(ends.sum())) // 2)
    return min(*choices, graph.size)


# Graph figures
# -------------


_FAR = 40.0


class FiguresNear(Check):
    """Degrees are degrees of so many people; the number of edges is as near as its noise allows."""

    name: ClassVar[str] = "figures"
    words: ClassVar[Wording] = Wording(
        title="Noisy figures",
        code="noisy-figures",
        holds=(
            "The published figures are consistent with the original and the declared noise ({details.compared}"
            " compared; triangles are not).",
            "The published figures are consistent with each other.",
        ),
        violated="The published figures are inconsistent: {reason}",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (NoisyFigures,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        wrong = [*_malformed(exhibit)]
        if not wrong and exhibit.of(NoisyFigures).drawn:
            wrong += _not_drawn(exhibit)
        if exhibit.private and not wrong:
            wrong += _far(exhibit)
        compared = "number of edges" if exhibit.of(NoisyFigures).limit is None else "number of edges and degrees"
        details = {"compared": compared} if exhibit.private and not wrong else {}
        certain = wrong or not (exhibit.private or exhibit.of(NoisyFigures).drawn)
        grade = "exact" if certain else f"estimate (within {_FAR:g} times the scale of the noise)"
        return Finding(
            self.name,
            not wrong,
            {"wrong": 0},
            {"wrong": len(wrong)},
            grade=grade,
            reason="; ".join(wrong),
            details=details,
        )


def _malformed(exhibit: ReleaseView) -> Iterator[str]:
    form, degrees, figures = exhibit.of(NoisyFigures), exhibit.parts[DEGREES].table, exhibit.parts[FIGURES].table
    people = [int(value) for value in degrees["people"].to_pylist()]
    if sum(people) != form.nodes or any(value <= 0 for value in people):
        yield "the degrees are not those of as many people as the manifest says"
    listed = [int(value) for value in degrees["degree"].to_pylist()]
    most = form.nodes - 1 if form.limit is None else form.limit
    if any(not 0 <= value <= max(most, 0) for value in listed) or len(set(listed)) < len(listed):
        yield "a degree is impossible, or told twice"
    wanted = ["edges", *(["triangles"] if form.epsilon_triangles else [])]
    if sorted(figures["figure"].to_pylist()) != sorted(wanted):
        yield "the figures are not those that the manifest pays for"


def _not_drawn(exhibit: ReleaseView) -> Iterator[str]:
    """What a graph that was drawn from the published degrees cannot be."""
    people, degrees, edges = exhibit.of(NoisyFigures).nodes, exhibit.parts[DEGREES].table, exhibit.parts[EDGES].table
    ends = np.sort(
        np.array([edges["source"].to_pylist(), edges["target"].to_pylist()], dtype=np.int64).reshape(2, -1), axis=0
    )
    if ends.size and (ends.min() < 0 or ends.max() >= people or (ends[0] == ends[1]).any()):
        yield "the drawn graph has people whom the manifest does not count, or somebody tied to themselves"
        return
    if np.unique(ends, axis=1).shape[1] < ends.shape[1]:
        yield "the drawn graph has a tie twice"
    values, counts = (np.array(degrees[name].to_pylist(), dtype=np.int64) for name in ("degree", "people"))
    if (np.sort(np.bincount(ends.reshape(-1), minlength=people)) > np.sort(np.repeat(values, counts))).any():
        yield "somebody in the drawn graph has more ties than the published degrees"
    expected = _expected(values.astype(np.float64), counts.astype(np.float64))
    if ends.shape[1] < expected - 8 * expected**0.5:
        yield "the drawn graph has fewer ties than its degrees leave to chance"


def _expected(values: FloatArray, counts: FloatArray) -> float:
    """Pairs of people who are tied, on average, when ends are paired at random."""
    ends = float(values @ counts)
    if ends < 2:
        return 0.0
    tied = -np.expm1(-np.outer(values, values) / ends)
    return float((counts @ tied @ counts - counts @ np.diag(tied)) / 2)


def _far(exhibit: ReleaseView) -> Iterator[str]:
    form, figures, original = exhibit.of(NoisyFigures), exhibit.parts[FIGURES].table, exhibit.original
    unnamed = form.nodes - original.nodes
    if unnamed < 0 or (unnamed and form.limit is None):
        yield "the original has another number of people"
        return
    told = {
        str(name): float(value)
        for name, value in zip(figures["figure"].to_pylist(), figures["value"].to_pylist(), strict=True)
    }
    ties = None if form.limit is None else _within(original, form.limit)
    edges, changed = (original.size, 1) if ties is None else (int(ties.sum()) // 2, form.limit or 1)
    if abs(told["edges"] - edges) > _FAR * changed / form.epsilon_edges + 1:
        yield "the number of edges is farther off than its noise"
    if ties is not None:
        degrees = exhibit.parts[DEGREES].table
        listed = np.repeat(*(np.array(degrees[name].to_pylist(), dtype=np.int64) for name in ("degree", "people")))
        whole = np.append(ties, np.zeros(unnamed, dtype=np.int64))
        apart = max(abs(int((listed <= most).sum() - (whole <= most).sum())) for most in range(form.limit or 1))
        if apart > _FAR * 2 * (form.limit or 1) / form.epsilon_degrees + 1:
            yield "the degrees are farther off than their noise"


def _within(graph: Any, limit: int) -> IntArray:
    """How many ties of all people count when no more than so many of a person do, in the order of names."""
    names = graph.labels or range(graph.nodes)
    ties = np.zeros(graph.nodes, dtype=np.int64)
    pairs = zip(*(ends.tolist() for ends in graph.edges()), strict=True)
    for one, other in sorted(pairs, key=lambda pair: sorted((names[pair[0]], names[pair[1]]))):
        if ties[one] < limit and ties[other] < limit:
            ties[[one, other]] += 1
    return ties
