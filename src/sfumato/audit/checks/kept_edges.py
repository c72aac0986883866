"""Kept edges: a graph that is said to have gained edges has all the old ones, gained as many as declared, and needed that many.

From the published files alone: a simple graph in ascending order, and declared figures that are possible. With the original: the
number of edges, and degrees that rise place by place; whether every edge is there is then not judged. With the private names:
every original edge, pair by pair, unless the original now lists people in another order. A bound said to be proven by counting is
counted here again; one proven by the solver is only compared with what was added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Check
from sfumato.audit.checks.perturbation import grade_of
from sfumato.audit.fewest_edges import fewest_new_edges
from sfumato.data.graph import Dropped, Graph
from sfumato.forms.graph import Edges, GraphTrace, fewest_added, original_graph, published_graph
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

OTHER_ORDER = "people stand in another order than when this was published, so edges were compared in number and degree only"
NO_NAMES = "without the private trace nobody knows who is who, so edges were compared in number and degree only"


class KeptEdges(Check):
    """Every original edge is published, and as many were added as declared."""

    name: ClassVar[str] = "kept-edges"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.of(Edges).grown

    def examine(self, exhibit: Exhibit) -> Finding:
        graph, (least, _) = exhibit.once(published_graph), fewest_added(exhibit)
        added = exhibit.of(Edges).added_edges
        wrong = [*_alone(exhibit, graph, added, least), *_with_original(exhibit, graph, added, least)]
        unsure = "" if wrong or not exhibit.private else _unsure(exhibit)
        grade = NOT_JUDGED if unsure else grade_of(exhibit)
        reason = "; ".join(wrong) or unsure
        return Finding(self.name, not wrong, {"contradictions": 0}, {"contradictions": len(wrong)}, grade=grade, reason=reason)


def _unsure(exhibit: Exhibit) -> str:
    """Why edges could not be compared pair by pair; empty when they were."""
    if exhibit.traced(GraphTrace).names is None:
        return NO_NAMES
    return "" if _same_people(exhibit) else OTHER_ORDER


def _same_people(exhibit: Exhibit) -> bool:
    """Whether the private names belong to the original as it was read here; an edge list in another order numbers people anew."""
    known = exhibit.traced(GraphTrace).numbering
    return not known or not exhibit.private or known == exhibit.once(original_graph).numbering


def _alone(exhibit: Exhibit, graph: Graph, added: int | None, least: int | None) -> Iterator[str]:
    table = exhibit.parts["edges"].table
    source, target = (table.column(name).cast("int64").to_numpy() for name in ("source", "target"))
    codes = source * graph.nodes + target
    if graph.dropped != Dropped() or bool((source >= target).any()) or bool((codes[1:] <= codes[:-1]).any()):
        yield "the published edges are not a simple graph in ascending order"
    if added is not None and least is not None and not 0 <= least <= added <= graph.size:
        yield "the declared numbers of added and needed edges contradict each other or the published edges"
    if exhibit.of(Edges).flip is not None:
        yield "the manifest says that edges were flipped as well as kept"


def _with_original(exhibit: Exhibit, graph: Graph, added: int | None, least: int | None) -> Iterator[str]:
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
    names = exhibit.traced(GraphTrace).names
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


def _counted(exhibit: Exhibit, original: Graph, graph: Graph, least: int) -> Iterator[str]:
    if least > graph.size - original.size:
        yield f"{least} edges were said to be needed, {graph.size - original.size} were added"
    demands = [claim.model.demand() for claim in exhibit.policy.claims]
    levels = [demand.candidates for demand in demands if demand.sufficient]
    if fewest_added(exhibit)[1] == "solver" or not levels or max(levels) > original.nodes:
        return
    counted = fewest_new_edges(original, max(levels))
    if least > counted:
        yield f"counting proves that {counted} edges are needed, not {least}"
