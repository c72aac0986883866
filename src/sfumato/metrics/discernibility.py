"""Discernibility: how many records each record cannot be told from, summed; a suppressed record cannot be told from any.

Paper: Bayardo and Agrawal (2005), as cited in [boundaries §3].
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit


class Discernibility(Metric):
    """Sum of squared class sizes, plus the size of the table for every suppressed record."""

    name: ClassVar[str] = "discernibility"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "records … records²"
    needs_original: ClassVar[bool] = False

    def measure(self, exhibit: Exhibit) -> int:
        sizes = exhibit.classes.counts
        return int((sizes * sizes).sum()) + exhibit.suppressed * exhibit.inputs


class AverageClassSize(Metric):
    """Published records per class of equal quasi-identifiers."""

    name: ClassVar[str] = "average_class_size"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "1 … records"
    needs_original: ClassVar[bool] = False

    def measure(self, exhibit: Exhibit) -> float:
        return exhibit.data.records / max(len(exhibit.classes), 1)
