"""NTIL: normalized total information loss, the average height to which quasi-identifier cells were generalized.

Paper: [boundaries Def. 10, 11]; the suppressed records are a cluster of their own with full loss.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.metrics.base import Comparison, Metric


class NormalizedTotalInformationLoss(Metric):
    """Average height of generalization over the height of the hierarchy; suppressed records count 1."""

    name: ClassVar[str] = "ntil"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "boundaries Def. 11"

    def measure(self, comparison: Comparison) -> float:
        lost = 0.0
        for name, domain in comparison.recoded.items():
            text = comparison.data.text(name)
            if text.labels:
                lost += float(domain.height(*comparison.intervals(name)) @ text.counts())
        columns = max(len(comparison.recoded), 1)
        return (lost + comparison.suppressed * columns) / (comparison.inputs * columns)
