"""KL divergence: how far the distribution estimated from all published sub-tables is from the original's, in nats.

Zero when nothing is lost; infinite when the published tables exclude a record that exists.
Paper: [versatile Eq. 3].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.domain import IntArray
from sfumato.metrics.base import Comparison, Metric
from sfumato.schema.estimate import Estimate
from sfumato.schema.published import Tables, read_tables
from sfumato.schema.utility import kl_divergence


class KlDivergence(Metric):
    """Divergence of the estimate that the published tables allow from the original distribution, in nats."""

    name: ClassVar[str] = "kl_divergence"
    range: ClassVar[str] = "0 … ∞"
    forms: ClassVar[tuple[str, ...]] = ("sub-tables",)
    paper: ClassVar[str] = "versatile Eq. 3"

    def applies(self, comparison: Comparison) -> bool:
        return super().applies(comparison) and aligned(comparison) is not None

    def measure(self, comparison: Comparison) -> float:
        found = aligned(comparison)
        assert found is not None
        tables, columns = found
        return kl_divergence(columns, Estimate(tables.sheets()))


def aligned(comparison: Comparison) -> tuple[Tables, dict[str, IntArray]] | None:
    """The published tables and the original in the same codes; None when a table is generalized, not exact."""
    tables = read_tables(comparison.parts)
    columns = {}
    for name, labels in tables.labels.items():
        known = {label: code for code, label in enumerate(labels)}
        text = comparison.original.text(name)
        if any(label not in known for label in text.labels) or len(known) != len(text.labels):
            return None
        columns[name] = np.array([known[label] for label in text.labels], dtype=np.int64)[text.codes]
    return tables, columns
