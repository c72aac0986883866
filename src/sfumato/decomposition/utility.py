"""How much of the original the published sub-tables still tell: divergence of the estimate, and error of COUNT queries.

Paper
    [versatile Eq. 3] Kullback-Leibler divergence, [versatile §6.1] relative error of random COUNT queries with query dimension qd
    and value percentage p.

Departures
    A query that nobody satisfies has no relative error; such queries are drawn again.

>>> columns = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 0, 1, 1])}
>>> from sfumato.decomposition.estimate import SubTableSheet
>>> apart = JointEstimate([SubTableSheet.of_rows({"a": columns["a"]}), SubTableSheet.of_rows({"b": columns["b"]})])
>>> round(kl_divergence(columns, apart), 4)
0.6931
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.decomposition.estimate import Counted, JointEstimate

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
