"""KL divergence: how far the distribution estimated from all published sub-tables is from the original's, in nats.

Zero when nothing is lost; infinite when the published tables exclude a record that exists.
Paper: [versatile Eq. 3].
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.decomposition.estimate import JointEstimate
from sfumato.decomposition.utility import kl_divergence
from sfumato.forms.subtables import SubTables, beside_original
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class KlDivergence(Metric):
    """Divergence of the estimate that the published tables allow from the original distribution, in nats."""

    name: ClassVar[str] = "kl_divergence"
    range: ClassVar[str] = "0 … ∞"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)
    paper: ClassVar[str] = "versatile Eq. 3"

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.once(beside_original) is not None

    def measure(self, exhibit: Exhibit) -> float:
        both = exhibit.once(beside_original)
        assert both is not None
        tables, columns = both
        return kl_divergence(columns, JointEstimate(tables.sheets()), exhibit.original.counts)
