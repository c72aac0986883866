"""NTIL: normalized total information loss, the average height to which quasi-identifier cells were generalized.

Paper: [boundaries Def. 10, 11]; the suppressed records are a cluster of their own with full loss.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit


class NormalizedTotalInformationLoss(Metric):
    """Average height of generalization over the height of the hierarchy; suppressed records count 1."""

    name: ClassVar[str] = "ntil"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "boundaries Def. 11"

    def measure(self, exhibit: Exhibit) -> float:
        lost = 0.0
        for name, domain in exhibit.recoded.items():
            text = exhibit.data.text(name)
            if text.labels:
                lost += float(domain.height(*exhibit.intervals(name)) @ text.counts())
        columns = max(len(exhibit.recoded), 1)
        return (lost + exhibit.suppressed * columns) / (exhibit.inputs * columns)
