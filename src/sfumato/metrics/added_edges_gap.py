"""The optimality gap of a graph that gained edges: the share of the added edges that a better release might have saved.

(added − least)/added, where no k-degree anonymous graph that keeps all edges adds fewer than `least`; 0 when nothing was added.
The bound is the method's own (`fewest_added_edges` in the private trace) and is judged by the audit's check `kept-edges`.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.forms.graph import Edges, fewest_added
from sfumato.metrics.added_edges import AddedEdges, grown
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class AddedEdgesGap(Metric):
    """Share of the added edges that is not proven to be necessary; 0 is a proven optimum."""

    name: ClassVar[str] = "added_edges_gap"
    figure: ClassVar[str] = "optimality_gap"
    range: ClassVar[str] = "0 … 1"
    forms: ClassVar[tuple[type[Form], ...]] = (Edges,)

    def ready(self, exhibit: Exhibit) -> bool:
        return grown(exhibit) and fewest_added(exhibit)[0] is not None

    def measure(self, exhibit: Exhibit) -> float:
        added = AddedEdges().measure(exhibit)
        least = fewest_added(exhibit)[0] or 0
        return (added - least) / added if added else 0.0
