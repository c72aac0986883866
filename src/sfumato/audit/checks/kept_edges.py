"""Kept edges: a graph that is said to have gained edges has all the old ones, gained as many as declared, and needed that many.

From the published files alone: a simple graph in ascending order, and declared figures that are possible. With the original: the
number of edges, and degrees that rise place by place. With the private names: every original edge, pair by pair, unless the
original now lists people in another order. A bound said to be proven by counting is counted here again; one proven by the
solver is only compared with what was added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Check
from sfumato.audit.evidence import Evidence
from sfumato.audit.fewest_edges import fewest_new_edges
from sfumato.audit.readings.graph import published_graph
from sfumato.data.graph import Dropped, Graph
from sfumato.errors import ReleaseError
from sfumato.release.certificate import Finding

OTHER_ORDER = "people stand in another order than when this was published, so edges were compared in number and degree only"


class KeptEdges(Check):
    """Every original edge is published, and as many were added as declared."""

    name: ClassVar[str] = "kept-edges"

    def applies(self, evidence: Evidence) -> bool:
        return evidence.form == "graph" and "added_edges" in evidence.public

    def examine(self, evidence: Evidence) -> Finding:
        graph, (added, least) = published_graph(evidence), declared(evidence)
        wrong = [*_alone(evidence, graph, added, least), *_with_original(evidence, graph, added, least)]
        reason = "; ".join(wrong) or ("" if _same_people(evidence) else OTHER_ORDER)
        return Finding(self.name, not wrong, {"contradictions": 0}, {"contradictions": len(wrong)}, reason=reason)


def _same_people(evidence: Evidence) -> bool:
    """Whether the private names belong to the original as it was read here; an edge list in another order numbers people anew."""
    known = evidence.private.get("numbering")
    return known is None or evidence.original is None or known == evidence.original.numbering


def declared(evidence: Evidence) -> tuple[int, int]:
    """How many edges the manifest says were added, and how many were needed."""
    try:
        return int(evidence.public["added_edges"]), int(evidence.public["fewest_added_edges"])
    except (KeyError, TypeError, ValueError):
        raise ReleaseError("the manifest does not say how many edges were added and needed") from None


def _alone(evidence: Evidence, graph: Graph, added: int, least: int) -> Iterator[str]:
    table = evidence.parts["edges"].table
    source, target = (table.column(name).cast("int64").to_numpy() for name in ("source", "target"))
    codes = source * graph.nodes + target
    if graph.dropped != Dropped() or bool((source >= target).any()) or bool((codes[1:] <= codes[:-1]).any()):
        yield "the published edges are not a simple graph in ascending order"
    if not 0 <= least <= added <= graph.size:
        yield "the declared numbers of added and needed edges contradict each other or the published edges"
    if "delete" in evidence.public:
        yield "the manifest says that edges were flipped as well as kept"


def _with_original(evidence: Evidence, graph: Graph, added: int, least: int) -> Iterator[str]:
    original: Graph | None = evidence.original
    if original is None:
        return
    if original.nodes != graph.nodes:
        yield f"{graph.nodes} people are published, the original has {original.nodes}"
        return
    if graph.size - original.size != added:
        yield f"{added} edges were declared as added, {graph.size - original.size} are more than in the original"
    if bool((np.sort(graph.degrees) < np.sort(original.degrees)).any()):
        yield "degrees fell: the original cannot be a part of what is published"
    names = evidence.private.get("names")
    if names is not None and _same_people(evidence):
        yield from _pair_by_pair(original, graph, np.asarray(names))
    yield from _counted(evidence, original, least)


def _pair_by_pair(original: Graph, graph: Graph, names: NDArray[np.int64]) -> Iterator[str]:
    if not np.array_equal(np.sort(names), np.arange(graph.nodes)):
        yield "the private names are not a renaming"
        return
    one, other = original.edges()
    lost = int((~graph.has_edges(names[one], names[other])).sum())
    if lost:
        yield f"{lost} original edges are not published"


def _counted(evidence: Evidence, original: Graph, least: int) -> Iterator[str]:
    demands = [claim.model.demand() for claim in evidence.policy.claims]
    levels = [demand.candidates for demand in demands if demand.sufficient]
    if evidence.public.get("proof") == "solver" or not levels or max(levels) > original.nodes:
        return
    counted = fewest_new_edges(original, max(levels))
    if least > counted:
        yield f"counting proves that {counted} edges are needed, not {least}"
