"""KL divergence: how far the distribution estimated from all published sub-tables is from the original's, in nats.

Zero when nothing is lost; infinite when the published tables exclude a record that exists.
Paper: [versatile Eq. 3].
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.decomposition.estimate import JointEstimate
from sfumato.decomposition.utility import kl_divergence
from sfumato.metrics.base import Comparison, Metric


class KlDivergence(Metric):
    """Divergence of the estimate that the published tables allow from the original distribution, in nats."""

    name: ClassVar[str] = "kl_divergence"
    range: ClassVar[str] = "0 … ∞"
    forms: ClassVar[tuple[str, ...]] = ("sub-tables",)
    paper: ClassVar[str] = "versatile Eq. 3"

    def applies(self, comparison: Comparison) -> bool:
        return super().applies(comparison) and comparison.sub_tables is not None

    def measure(self, comparison: Comparison) -> float:
        assert comparison.sub_tables is not None
        tables, columns = comparison.sub_tables
        return kl_divergence(columns, JointEstimate(tables.sheets()))
