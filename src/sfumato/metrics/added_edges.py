"""Added edges: how many published edges are not in the original.

>>> from sfumato.data.graph import Graph
>>> from sfumato.data.table import Table
>>> import pyarrow as pa
>>> edges = Table(pa.table({"source": [0, 1, 2], "target": [1, 2, 3]}))
>>> before = Graph.from_pairs([0, 1], [1, 2], 4)
>>> AddedEdges().measure(Comparison("graph", {"edges": edges}, before, public={"nodes": 4, "added_edges": 1}))
1
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.data.graph import Graph
from sfumato.metrics.base import Comparison, Metric


class AddedEdges(Metric):
    """Published edges that are not in the original."""

    name: ClassVar[str] = "added_edges"
    range: ClassVar[str] = "0 … all pairs"
    forms: ClassVar[tuple[str, ...]] = ("graph",)
    paper: ClassVar[str] = "obfuscation §3.4"

    def applies(self, comparison: Comparison) -> bool:
        return grown(comparison)

    def measure(self, comparison: Comparison) -> int:
        return published_graph(comparison).size - int(comparison.original.size)


def grown(comparison: Comparison) -> bool:
    """Whether the release is a graph that only gained edges, and the original is at hand."""
    return comparison.form == "graph" and "added_edges" in comparison.public and isinstance(comparison.original, Graph)


def published_graph(comparison: Comparison) -> Graph:
    """The published edges as a graph."""
    return Graph.from_table(comparison.parts["edges"].frame, int(comparison.public["nodes"]))
