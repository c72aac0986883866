"""Graph change: how a graph that gained edges differs from its original as a whole.

`added_share` is added edges per original edge, `degrees` the share of people who would have to change their degree to turn one
degree distribution into the other (total variation), `transitivity` the published minus the original one. Two digits each: more
would say nothing more about the release.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.graph import Graph
from sfumato.forms.graph import Edges, published_graph
from sfumato.metrics.added_edges import grown
from sfumato.metrics.base import Metric
from sfumato.metrics.pattern_counts import PatternCounts
from sfumato.metrics.recovery import TRIANGLE, WEDGE
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class GraphChange(Metric):
    """Added edges per edge, people whose degree changed in the distribution, and the change of transitivity."""

    name: ClassVar[str] = "graph_change"
    range: ClassVar[str] = "0 is no change"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: Exhibit) -> bool:
        return grown(exhibit)

    def measure(self, exhibit: Exhibit) -> dict[str, float]:
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
