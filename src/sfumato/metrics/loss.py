"""Loss: the average share of its domain that a published quasi-identifier cell gives up.

A cell that stands for a set of s leaves out of m costs (s − 1)/(m − 1); a suppressed record costs 1 in every column. Rows that
stand in for people who left are rows like others in the average, and no records. The data
holder's leaves are the original's values where a rule grows the hierarchy from them; an outsider's are the declared ones (see
`metrics.declared`), so the figure of a certificate may differ a little from that of `measure`.

Paper: the LM measure of Iyengar (2002), used in [sequential §7], [obfuscation §6.2].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.metrics.base import Metric
from sfumato.metrics.declared import declared_domains
from sfumato.release.exhibit import Exhibit


class Loss(Metric):
    """Average share of its domain that a cell gives up; suppressed records count 1."""

    name: ClassVar[str] = "loss"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1"
    needs_original: ClassVar[bool] = False
    paper: ClassVar[str] = "sequential §7"

    def measure(self, exhibit: Exhibit) -> float:
        columns = exhibit.once(per_column)
        return sum(columns.values()) / max(len(columns), 1)


class LossByColumn(Metric):
    """The loss of each quasi-identifier by itself."""

    name: ClassVar[str] = "loss_by_column"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … 1 each"
    needs_original: ClassVar[bool] = False

    def measure(self, exhibit: Exhibit) -> dict[str, float]:
        return exhibit.once(per_column)


def per_column(exhibit: Exhibit) -> dict[str, float]:
    """The loss of each quasi-identifier."""
    return {name: _of_column(exhibit, name) for name in exhibit.policy.quasi_identifiers}


def _of_column(exhibit: Exhibit, name: str) -> float:
    text = exhibit.data.text(name)
    if not exhibit.private:
        widths = exhibit.once(declared_domains)[name].widths(text.labels)
    else:
        widths = exhibit.recoded[name].width(*exhibit.intervals(name)) if text.labels else np.zeros(0)
    return (float(widths @ text.counts()) * exhibit.share_of_people + exhibit.suppressed) / max(exhibit.inputs, 1)
