"""Recovered: the figures of the original graph that the published one still tells, each with its standard error.

Measured on the published graph alone, so that a certificate may carry it. Paper: [multitype §4.3]; see `metrics.recovery`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.metrics.base import Comparison, Metric
from sfumato.metrics.recovery import Recovery, recover


class Recovered(Metric):
    """Density, degrees, triangles, transitivity and modularity before the flip, each with a standard error."""

    name: ClassVar[str] = "recovered"
    range: ClassVar[str] = "estimates with standard errors"
    forms: ClassVar[tuple[str, ...]] = ("graph",)
    paper: ClassVar[str] = "multitype §4.3"

    def applies(self, comparison: Comparison) -> bool:
        return super().applies(comparison) and "delete" in comparison.public

    def measure(self, comparison: Comparison) -> dict[str, Any]:
        public = comparison.public
        published = Graph.from_table(comparison.parts["edges"].frame, int(public["nodes"]))
        return summary(recover(published, EdgeChannel.from_public(public), distribution=False))


def summary(recovery: Recovery) -> dict[str, Any]:
    """Every figure as JSON; `degrees` is the average, with the error of one person's degree beside it."""
    figures: dict[str, Any] = recovery.to_json()
    figures["degrees"]["standard_error_of_one_person"] = recovery.degree_error
    return figures
