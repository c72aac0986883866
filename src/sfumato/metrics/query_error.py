"""Query error: how far COUNT queries answered from the release are from the truth.

A workload of random queries, each a conjunction of `dimension` conditions "column in a random set of values" chosen so that about a
share `selectivity` of all combinations qualifies. A generalized cell counts with the share of its leaves that the condition
accepts (the usual uniformity assumption). Reported is the median of |estimate − truth| / max(truth, floor).

Paper: the workloads of [versatile §6]; the floor of one per mille of the records keeps tiny truths from dominating.
Cost: queries × classes.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.classes import group
from sfumato.data.domain import Domain, FloatArray, IntArray
from sfumato.metrics.base import Comparison, Metric


class QueryError(Metric):
    """Median relative error of random COUNT queries."""

    name: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[str, ...]] = ("recoded table", "anatomy")
    paper: ClassVar[str] = "versatile §6"

    queries: ClassVar[int] = 200
    dimension: ClassVar[int] = 2
    selectivity: ClassVar[float] = 0.1

    def applies(self, comparison: Comparison) -> bool:
        return super().applies(comparison) and len(comparison.recoded) >= 1

    def measure(self, comparison: Comparison) -> float:
        return float(np.median(errors(comparison, self.queries, self.dimension, self.selectivity)))


def errors(comparison: Comparison, queries: int, dimension: int, selectivity: float, seed: int = 0) -> FloatArray:
    """The relative error of each query of a random workload (the same workload for the same seed)."""
    names = list(comparison.recoded)
    exact, exact_counts = _original_points(comparison)
    spans, span_counts = _published_spans(comparison)
    floor = max(1.0, 0.001 * comparison.inputs)
    rng = np.random.default_rng(seed)
    found = np.empty(queries)
    for query in range(queries):
        asked = rng.choice(len(names), size=min(dimension, len(names)), replace=False)
        truth, estimate = exact_counts.astype(np.float64), span_counts.astype(np.float64)
        for column in asked:
            domain = comparison.recoded[names[column]]
            accepted = _condition(domain, selectivity ** (1 / len(asked)), rng)
            below = np.concatenate([[0], np.cumsum(accepted)])
            lo, hi = spans[column]
            truth = truth * accepted[exact[column]]
            estimate = estimate * (below[hi] - below[lo]) / (hi - lo)
        found[query] = abs(estimate.sum() - truth.sum()) / max(truth.sum(), floor)
    return found


def _condition(domain: Domain, share: float, rng: np.random.Generator) -> IntArray:
    """A random run of neighbouring leaves, of about the given share of the domain."""
    width = max(1, round(share * domain.size))
    start = int(rng.integers(0, domain.size - width + 1))
    accepted = np.zeros(domain.size, dtype=np.int64)
    accepted[start : start + width] = 1
    return accepted


def _original_points(comparison: Comparison) -> tuple[list[IntArray], IntArray]:
    columns = []
    for name, domain in comparison.recoded.items():
        text = comparison.original.text(name)
        columns.append(np.array([domain.code_of[label] for label in text.labels], dtype=np.int64)[text.codes])
    classes = group(columns)
    return [column[classes.first] for column in columns], classes.counts


def _published_spans(comparison: Comparison) -> tuple[list[tuple[IntArray, IntArray]], IntArray]:
    classes = comparison.classes
    spans = []
    for name in comparison.recoded:
        lo, hi = comparison.intervals(name)
        codes = comparison.data.text(name).codes[classes.first]
        spans.append((lo[codes], hi[codes]))
    return spans, classes.counts
