"""KL divergence: how far the distribution estimated from all published sub-tables is from the original's, in nats.

Zero when nothing is lost; infinite when the published tables exclude a record that exists.
Paper: [versatile Eq. 3].


Sub table query error
---------------------
Query error of sub-tables: COUNT queries answered by the maximum-likelihood estimate over all tables.

Queries ask about random sets of values, a share `percentage` of each column's; the figure is the median relative error.

Paper: the workloads of [versatile §6].


Utility
-------
How much of the original the published sub-tables still tell: divergence of the estimate, and error of COUNT queries.

Paper
    [versatile Eq. 3] Kullback-Leibler divergence, [versatile §6.1] relative error of random COUNT queries with query
    dimension qd and value percentage p.

Departures
    A query that nobody satisfies has no relative error; such queries are drawn again.

>>> columns = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 0, 1, 1])}
>>> from sfumato.kinds.subtables.joint_estimate import SubTableSheet
>>> apart = JointEstimate([SubTableSheet.of_rows({"a": columns["a"]}), SubTableSheet.of_rows({"b": columns["b"]})])
>>> round(kl_divergence(columns, apart), 4)
0.6931
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.kinds.subtables.form import SubTables, align_with_original
from sfumato.kinds.subtables.joint_estimate import Counted, JointEstimate
from sfumato.release.form import Form
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView


class KlDivergence(Metric):
    """Divergence of the estimate that the published tables allow from the original distribution, in nats."""

    name: ClassVar[str] = "kl_divergence"
    title: ClassVar[str] = "Kullback-Leibler divergence (nats)"
    range: ClassVar[str] = "0 … ∞"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)
    paper: ClassVar[str] = "versatile Eq. 3"

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.once(align_with_original) is not None

    def measure(self, exhibit: ReleaseView) -> float:
        both = exhibit.once(align_with_original)
        assert both is not None
        tables, columns = both
        return kl_divergence(columns, JointEstimate(tables.sheets()), exhibit.original.counts)


# Sub table query error
# ---------------------


class SubTableQueryError(Metric):
    """Median relative error of random COUNT queries over sub-tables."""

    name: ClassVar[str] = "query_error of sub-tables"
    title: ClassVar[str] = "Error of count queries"
    figure: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)
    paper: ClassVar[str] = "versatile §6"

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.once(align_with_original) is not None

    def measure(self, exhibit: ReleaseView) -> float:
        both = exhibit.once(align_with_original)
        assert both is not None
        tables, columns = both
        asked = {"queries": 200, "dimension": 2, "selectivity": 0.1} | dict(exhibit.parameters)
        dimension = min(int(asked["dimension"]), len(columns))
        share = float(asked.get("percentage") or float(asked["selectivity"]) ** (1 / dimension))
        workload = random_queries(columns, dimension, share, int(asked["queries"]), np.random.default_rng(0))
        return float(
            np.median(relative_errors(columns, JointEstimate(tables.sheets()), workload, exhibit.original.counts))
        )


# Utility
# -------


Query = Mapping[str, NDArray[np.bool_]]
"""For each restricted column, which codes satisfy the query."""


def kl_divergence(columns: Mapping[str, IntArray], estimate: JointEstimate, weights: IntArray | None = None) -> float:
    """D(p‖p̃) in nats between the original, given as codes per record, and the estimate; ∞ when it excludes a record.

    `weights`: for how many records each entry of the columns stands, here as below; one without.
    """
    names = sorted(frozenset().union(*(sheet.columns for sheet in estimate.sheets)))
    people = Counted.of({name: columns[name] for name in names}, weights)
    share = people.weight / people.total()
    return float((share * (np.log(share) - estimate.log_probability(people.columns))).sum())


def random_queries(
    columns: Mapping[str, IntArray], dimension: int, percentage: float, count: int, generator: np.random.Generator
) -> list[Query]:
    """`count` conjunctions over `dimension` columns, each restricted to a random share `percentage` of its values."""
    queries: list[Query] = []
    names = sorted(columns)
    for _ in range(50 * count):
        if len(queries) == count:
            break
        chosen = generator.choice(names, size=min(dimension, len(names)), replace=False)
        query = {str(name): _random_values(int(columns[name].max()) + 1, percentage, generator) for name in chosen}
        if actual(columns, query) > 0:
            queries.append(query)
    return queries


def _random_values(size: int, percentage: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    chosen = np.zeros(size, dtype=np.bool_)
    chosen[generator.choice(size, size=max(1, round(percentage * size)), replace=False)] = True
    return chosen


def actual(columns: Mapping[str, IntArray], query: Query, weights: IntArray | None = None) -> int:
    """How many records satisfy the query."""
    chosen = np.logical_and.reduce([values[columns[name]] for name, values in query.items()])
    return int(chosen.sum() if weights is None else weights[chosen].sum())


def relative_errors(
    columns: Mapping[str, IntArray], estimate: JointEstimate, queries: Sequence[Query], weights: IntArray | None = None
) -> FloatArray:
    """|actual − estimate| / actual for each query."""
    truth = np.array([actual(columns, query, weights) for query in queries], dtype=np.float64)
    guess = np.array([estimate.count(query) for query in queries])
    errors: FloatArray = np.abs(truth - guess) / truth
    return errors
