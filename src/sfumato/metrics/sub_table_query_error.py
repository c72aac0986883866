"""Query error of sub-tables: COUNT queries answered by the maximum-likelihood estimate over all tables.

Queries ask about random sets of values, a share `percentage` of each column's; the figure is the median relative error.

Paper: the workloads of [versatile §6].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.decomposition.estimate import JointEstimate
from sfumato.decomposition.utility import random_queries, relative_errors
from sfumato.metrics.base import Comparison, Metric


class SubTableQueryError(Metric):
    """Median relative error of random COUNT queries over sub-tables."""

    name: ClassVar[str] = "query_error of sub-tables"
    figure: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[str, ...]] = ("sub-tables",)
    paper: ClassVar[str] = "versatile §6"

    def applies(self, comparison: Comparison) -> bool:
        return super().applies(comparison) and comparison.sub_tables is not None

    def measure(self, comparison: Comparison) -> float:
        assert comparison.sub_tables is not None
        tables, columns = comparison.sub_tables
        asked = {"queries": 200, "dimension": 2, "selectivity": 0.1} | dict(comparison.parameters)
        dimension = min(int(asked["dimension"]), len(columns))
        share = float(asked.get("percentage") or float(asked["selectivity"]) ** (1 / dimension))
        workload = random_queries(columns, dimension, share, int(asked["queries"]), np.random.default_rng(0))
        return float(np.median(relative_errors(columns, JointEstimate(tables.sheets()), workload)))
