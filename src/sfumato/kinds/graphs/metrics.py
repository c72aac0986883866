"""Added edges: how many published edges are not in the original.

>>> from sfumato.data.graph import Graph
>>> from sfumato.policy.policy import Policy
>>> from sfumato.release.release import Part
>>> edges = Part({"source": [0, 1, 2], "target": [1, 2, 3]})
>>> form = Edges(nodes=4, only_added=True)
>>> policy = Policy.parse({"version": 1, "data": {"kind": "graph"}})
>>> AddedEdges().measure(ReleaseView(form, {"edges": edges}, policy, original=Graph.from_pairs([0, 1], [1, 2], 4)))
1


Added edges gap
---------------
The optimality gap of a graph that gained edges: the share of the added edges that a better release might have saved.

(added − least)/added, where no k-degree anonymous graph that keeps all edges adds fewer than `least`; 0 when nothing
was added. The bound is the method's own (`fewest_added_edges` in the private provenance) and is judged by the audit's
check `kept-edges`.


Graph change
------------
Graph change: how a graph that gained edges differs from its original as a whole.

`added_share` is added edges per original edge, `degrees` the share of people who would have to change their degree to
turn one degree distribution into the other (total variation), `transitivity` the published minus the original one. Two
digits each: more would say nothing more about the release."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.graph import Graph
from sfumato.kinds.graphs.form import Edges, fewest_added_edges, published_graph
from sfumato.kinds.graphs.recovery import TRIANGLE, WEDGE
from sfumato.kinds.graphs.subgraph_counts import PatternCounts
from sfumato.release.form import Form
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView


class AddedEdges(Metric):
    """Published edges that are not in the original."""

    name: ClassVar[str] = "added_edges"
    title: ClassVar[str] = "Added edges"
    range: ClassVar[str] = "0 … all pairs"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)
    paper: ClassVar[str] = "obfuscation §3.4"

    def ready(self, exhibit: ReleaseView) -> bool:
        return has_added_edges(exhibit)

    def measure(self, exhibit: ReleaseView) -> int:
        return exhibit.once(published_graph).size - int(exhibit.original.size)


def has_added_edges(exhibit: ReleaseView) -> bool:
    """Whether the graph only gained edges, and the original is at hand."""
    return exhibit.private and exhibit.of(Edges).grown


# Added edges gap
# ---------------


class AddedEdgesGap(Metric):
    """Share of the added edges that is not proven necessary; 0 for a proven optimum."""

    name: ClassVar[str] = "added_edges_gap"
    title: ClassVar[str] = "Largest saving that is possible"
    figure: ClassVar[str] = "optimality_gap"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "our own, by the bound of the method"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return has_added_edges(exhibit) and fewest_added_edges(exhibit)[0] is not None

    def measure(self, exhibit: ReleaseView) -> float:
        added = AddedEdges().measure(exhibit)
        least = fewest_added_edges(exhibit)[0] or 0
        return (added - least) / added if added else 0.0


# Graph change
# ------------


class GraphChange(Metric):
    """Added edges per edge, people whose degree changed in the distribution, and the change of transitivity."""

    name: ClassVar[str] = "graph_change"
    title: ClassVar[str] = "Change of the graph"
    range: ClassVar[str] = "0 is no change"
    paper: ClassVar[str] = "our own; added edges as in Liu, Terzi 2008"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return has_added_edges(exhibit)

    def measure(self, exhibit: ReleaseView) -> dict[str, float]:
        after, before = exhibit.once(published_graph), exhibit.original
        figures = {
            "added_share": (after.size - before.size) / max(before.size, 1),
            "degrees": degree_distance(before, after),
            "transitivity": transitivity(after) - transitivity(before),
        }
        return {name: float(f"{figure:.2g}") for name, figure in figures.items()}


def degree_distance(before: Graph, after: Graph) -> float:
    """Total variation between two degree distributions of as many people.

    >>> degree_distance(Graph.from_pairs([0], [1], 3), Graph.from_pairs([0, 1], [1, 2], 3))
    0.3333333333333333
    """
    length = max(before.nodes, after.nodes, 1)
    counts = [np.bincount(graph.degrees, minlength=length) for graph in (before, after)]
    return float(np.abs(counts[0] - counts[1]).sum()) / (2 * max(before.nodes, 1))


def transitivity(graph: Graph) -> float:
    """Closed share of all pairs of ties that meet; 0 when none meet."""
    counts = PatternCounts(graph)
    wedges = counts.copies(WEDGE)
    return float(3 * counts.copies(TRIANGLE) / wedges) if wedges else 0.0
