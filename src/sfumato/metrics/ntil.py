"""NTIL: normalized total information loss, the average height to which quasi-identifier cells were generalized.

Paper: [boundaries Def. 10, 11]; the suppressed records are a cluster of their own with full loss.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.metrics.base import Metric
from sfumato.metrics.declared import declared_domains
from sfumato.release.exhibit import Exhibit


class NormalizedTotalInformationLoss(Metric):
    """Average height of generalization over the height of the hierarchy; suppressed records count 1."""

    name: ClassVar[str] = "ntil"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1"
    needs_original: ClassVar[bool] = False
    paper: ClassVar[str] = "boundaries Def. 11"

    def measure(self, exhibit: Exhibit) -> float:
        columns = exhibit.policy.quasi_identifiers
        lost = sum(_of_column(exhibit, name) for name in columns) * exhibit.share_of_people
        lost += exhibit.suppressed * max(len(columns), 1)
        return lost / max(exhibit.inputs * len(columns), exhibit.inputs, 1)


def _of_column(exhibit: Exhibit, name: str) -> float:
    text = exhibit.data.text(name)
    if not exhibit.private:
        return float(exhibit.once(declared_domains)[name].heights(text.labels) @ text.counts())
    return float(exhibit.recoded[name].height(*exhibit.intervals(name)) @ text.counts()) if text.labels else 0.0
