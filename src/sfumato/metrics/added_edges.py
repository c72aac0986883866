"""Added edges: how many published edges are not in the original.

>>> from sfumato.data.graph import Graph
>>> from sfumato.policy.policy import Policy
>>> from sfumato.release.release import Part
>>> edges = Part({"source": [0, 1, 2], "target": [1, 2, 3]})
>>> form = Edges(nodes=4, only_added=True)
>>> policy = Policy.parse({"version": 1, "data": {"kind": "graph"}})
>>> AddedEdges().measure(Exhibit(form, {"edges": edges}, policy, original=Graph.from_pairs([0, 1], [1, 2], 4)))
1
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.forms.graph import Edges, published_graph
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class AddedEdges(Metric):
    """Published edges that are not in the original."""

    name: ClassVar[str] = "added_edges"
    range: ClassVar[str] = "0 … all pairs"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)
    paper: ClassVar[str] = "obfuscation §3.4"

    def ready(self, exhibit: Exhibit) -> bool:
        return grown(exhibit)

    def measure(self, exhibit: Exhibit) -> int:
        return exhibit.once(published_graph).size - int(exhibit.original.size)


def grown(exhibit: Exhibit) -> bool:
    """Whether the graph only gained edges, and the original is at hand."""
    return exhibit.private and exhibit.of(Edges).grown
