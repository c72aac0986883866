"""Query error of sub-tables: COUNT queries answered by the maximum-likelihood estimate over all tables.

Queries ask about random sets of values, a share `percentage` of each column's; the figure is the median relative error.

Paper: the workloads of [versatile §6].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.decomposition.estimate import JointEstimate
from sfumato.decomposition.utility import random_queries, relative_errors
from sfumato.forms.subtables import SubTables, beside_original
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class SubTableQueryError(Metric):
    """Median relative error of random COUNT queries over sub-tables."""

    name: ClassVar[str] = "query_error of sub-tables"
    figure: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)
    paper: ClassVar[str] = "versatile §6"

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.once(beside_original) is not None

    def measure(self, exhibit: Exhibit) -> float:
        both = exhibit.once(beside_original)
        assert both is not None
        tables, columns = both
        asked = {"queries": 200, "dimension": 2, "selectivity": 0.1} | dict(exhibit.parameters)
        dimension = min(int(asked["dimension"]), len(columns))
        share = float(asked.get("percentage") or float(asked["selectivity"]) ** (1 / dimension))
        workload = random_queries(columns, dimension, share, int(asked["queries"]), np.random.default_rng(0))
        return float(np.median(relative_errors(columns, JointEstimate(tables.sheets()), workload, exhibit.original.counts)))
