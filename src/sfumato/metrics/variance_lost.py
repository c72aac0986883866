"""Variance lost: which share of the variance of its numbers a release no longer shows, on average over its averaged columns.

Averages of groups spread less than the values behind them: of the sum of squares around the mean of a column what is left is the
part between groups, and what is gone is the part within them, which microaggregation minimizes.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.generalization import MISSING
from sfumato.data.table import TextColumn
from sfumato.forms.microaggregated import Microaggregated
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class VarianceLost(Metric):
    """Share of the variance of numeric quasi-identifiers that averages no longer show; below 0 when there is more than before."""

    name: ClassVar[str] = "variance_lost"
    range: ClassVar[str] = "… 1"
    forms: ClassVar[tuple[type[Form], ...]] = (Microaggregated,)
    paper: ClassVar[str] = "Domingo-Ferrer, Torra 2005"

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(exhibit.of(Microaggregated).numbers)

    def measure(self, exhibit: Exhibit) -> float:
        names = exhibit.of(Microaggregated).numbers
        return float(np.mean([1 - _ratio(exhibit.data.text(name), exhibit.original.text(name)) for name in names]))


def _ratio(published: TextColumn, original: TextColumn) -> float:
    before = _variance(original)
    return _variance(published) / before if before else 1.0


def _variance(text: TextColumn) -> float:
    known = [place for place, label in enumerate(text.labels) if label != MISSING]
    values, counts = np.array([float(text.labels[place]) for place in known]), text.counts()[known]
    return float(np.cov(values, fweights=counts, ddof=0)) if len(values) else 0.0
