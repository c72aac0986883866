"""Perturbation: the published graph is what the declared flip would make of some graph, and of this one when it is at hand.

From the published files alone: edges are a simple graph in ascending order, the recovered number of edges is possible, and degrees
vary at least as much as the flip makes them vary. A graph published without flipping, or with a much smaller flip than declared,
fails. With the original: the number of published edges is what this original leads to. With the private names: as many edges
were lost and gained as the flip would.

Every count is compared at six standard deviations, so an honest release fails once in a hundred million.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Check
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Dropped, Graph
from sfumato.forms.graph import Edges, GraphTrace, original_graph, published_graph, unnamed_people
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

SIGMAS = 6.0


class Perturbation(Check):
    """The published graph fits the declared flip."""

    name: ClassVar[str] = "perturbation"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.of(Edges).flip is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        flip, graph = exhibit.of(Edges).flip, exhibit.once(published_graph)
        assert flip is not None
        wrong = [*_alone(exhibit, graph, flip), *_with_original(exhibit, graph, flip)]
        return Finding(
            self.name,
            not wrong,
            {"contradictions": 0},
            {"contradictions": len(wrong)},
            grade=grade_of(exhibit),
            reason="; ".join(wrong),
        )


def grade_of(exhibit: Exhibit) -> str:
    """Exact, unless the original is an edge list that names fewer people than are published."""
    alone = unnamed_people(exhibit)
    return f"bound (that {alone} people have no tie is the manifest's word)" if alone else "exact"


def _alone(exhibit: Exhibit, graph: Graph, flip: EdgeChannel) -> Iterator[str]:
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


def _codes(exhibit: Exhibit, nodes: int) -> NDArray[np.int64]:
    table = exhibit.parts["edges"].table
    source, target = (table.column(name).cast("int64").to_numpy() for name in ("source", "target"))
    return np.where(source < target, source * nodes + target, -1)


def _with_original(exhibit: Exhibit, graph: Graph, flip: EdgeChannel) -> Iterator[str]:
    if not exhibit.private:
        return
    original = exhibit.once(original_graph)
    if original.nodes != graph.nodes:
        yield f"{graph.nodes} people are published, the original has {original.nodes}"
        return
    names = exhibit.traced(GraphTrace).names
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
