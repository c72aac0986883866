"""Weighted query error: how far totals of people of the population, counted by survey weights, are from the truth.

The same workload as `query_error`, with every record counted as often as its weight says: the original by the column that
``population: {weight: …}`` names, the release by the weights that it shows (rounded, calibrated or as they are), or by the mean
where it shows none. Truths below one per mille of the population do not dominate.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.forms.recoded import Recoded
from sfumato.metrics._analysis import survey_weights
from sfumato.metrics.base import Metric
from sfumato.metrics.query_error import errors
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class WeightedQueryError(Metric):
    """Median relative error of random COUNT queries about the population, by survey weights."""

    name: ClassVar[str] = "weighted_query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        said = exhibit.policy.population
        return said is not None and said.weight is not None and exhibit.private and said.weight in exhibit.original.names

    def measure(self, exhibit: Exhibit) -> float:
        asked = {"queries": 200, "dimension": 2, "selectivity": 0.1} | dict(exhibit.parameters)
        weights = survey_weights(exhibit)
        found = errors(exhibit, int(asked["queries"]), int(asked["dimension"]), float(asked["selectivity"]), weights=weights)
        return float(np.median(found))
