"""Loss: the average share of its domain that a published quasi-identifier cell gives up.

A cell that stands for a set of s leaves out of m costs (s − 1)/(m − 1); a suppressed record costs 1 in every column.
Paper: the LM measure of Iyengar (2002), used in [sequential §7], [obfuscation §6.2].
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit


class Loss(Metric):
    """Average share of its domain that a cell gives up; suppressed records count 1."""

    name: ClassVar[str] = "loss"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "sequential §7"

    def measure(self, exhibit: Exhibit) -> float:
        columns = per_column(exhibit)
        return sum(columns.values()) / max(len(columns), 1)


class LossByColumn(Metric):
    """The loss of each quasi-identifier by itself."""

    name: ClassVar[str] = "loss_by_column"
    range: ClassVar[str] = "0 … 1 each"

    def measure(self, exhibit: Exhibit) -> dict[str, float]:
        return per_column(exhibit)


def per_column(exhibit: Exhibit) -> dict[str, float]:
    """The loss of each quasi-identifier."""
    losses = {}
    for name, domain in exhibit.recoded.items():
        text = exhibit.data.text(name)
        lost = float(domain.width(*exhibit.intervals(name)) @ text.counts()) if text.labels else 0.0
        losses[name] = (lost + exhibit.suppressed) / exhibit.inputs
    return losses
