"""The optimality gap of a graph that gained edges: the share of the added edges that a better release might have saved.

(added − least)/added, where no k-degree anonymous graph that keeps all edges adds fewer than `least`; 0 when nothing was added.
The bound is the release's own (`fewest_added_edges` in the manifest) and is judged by the audit's check `kept-edges`.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.metrics.added_edges import AddedEdges, grown
from sfumato.metrics.base import Comparison, Metric


class AddedEdgesGap(Metric):
    """Share of the added edges that is not proven to be necessary; 0 is a proven optimum."""

    name: ClassVar[str] = "added_edges_gap"
    figure: ClassVar[str] = "optimality_gap"
    range: ClassVar[str] = "0 … 1"
    forms: ClassVar[tuple[str, ...]] = ("graph",)

    def applies(self, comparison: Comparison) -> bool:
        return grown(comparison) and "fewest_added_edges" in comparison.public

    def measure(self, comparison: Comparison) -> float:
        added = AddedEdges().measure(comparison)
        return (added - int(comparison.public["fewest_added_edges"])) / added if added else 0.0
