"""Query error: how far COUNT queries answered from the release are from the truth.

A workload of random queries, each a conjunction of `dimension` conditions "column within a run of neighbouring values" chosen so
that about a share `selectivity` of all combinations qualifies; quasi-identifiers and sensitive columns are asked alike. A
generalized cell counts with the share of its leaves that the condition accepts, a bucket with the share of its values (the usual
uniformity assumption). Reported is the median of |estimate − truth| / max(truth, floor), with a floor of one per mille of the
records so that tiny truths do not dominate. Other forms of release have workloads of their own under the same figure.

Paper: the workloads of [versatile §6].
Cost: queries × (classes of the original + classes of the release).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.data.table import Table, TextColumn
from sfumato.forms.anatomy import AnatomyForm, sensitive_part
from sfumato.forms.recoded import Recoded
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class QueryError(Metric):
    """Median relative error of random COUNT queries."""

    name: ClassVar[str] = "query_error"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, AnatomyForm)
    paper: ClassVar[str] = "versatile §6"

    def measure(self, exhibit: Exhibit) -> float:
        asked = {"queries": 200, "dimension": 2, "selectivity": 0.1} | dict(exhibit.parameters)
        found = errors(exhibit, int(asked["queries"]), int(asked["dimension"]), float(asked["selectivity"]))
        return float(np.median(found))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One column that queries may ask about."""

    size: int
    truth: IntArray
    """The value of each class of the original."""
    answer: Callable[[FloatArray], FloatArray]
    """From the accepted values to the share of each class of the release that qualifies."""


def errors(exhibit: Exhibit, queries: int, dimension: int, selectivity: float, seed: int = 0) -> FloatArray:
    """The relative error of each query of a random workload (the same workload for the same seed)."""
    columns, exact, published = _columns(exhibit)
    floor = max(1.0, 0.001 * exhibit.inputs)
    rng = np.random.default_rng(seed)
    found = np.empty(queries)
    for query in range(queries):
        truth, estimate = exact.astype(np.float64), published.astype(np.float64)
        chosen = rng.choice(len(columns), size=min(dimension, len(columns)), replace=False)
        for column in (columns[i] for i in chosen):
            accepted = _condition(column.size, selectivity ** (1 / len(chosen)), rng)
            truth *= accepted[column.truth]
            estimate *= column.answer(accepted)
        found[query] = abs(estimate.sum() - truth.sum()) / max(truth.sum(), floor)
    return found


def _condition(size: int, share: float, rng: np.random.Generator) -> FloatArray:
    """A random run of neighbouring values, of about the given share of the domain."""
    width = max(1, round(share * size))
    start = int(rng.integers(0, size - width + 1))
    accepted = np.zeros(size)
    accepted[start : start + width] = 1.0
    return accepted


def _columns(exhibit: Exhibit) -> tuple[list[_Asked], IntArray, IntArray]:
    """The columns, and the counts of the classes of the original and of the release."""
    names, sensitive = list(exhibit.recoded), [name for name in exhibit.policy.sensitive if name not in exhibit.recoded]
    table, original = exhibit.data, exhibit.original
    ours = [name for name in ["bucket", *sensitive] if name in table.names]
    units = group([table.text(name).codes for name in (*names, *ours)], rows=table.rows, weights=table.counts)
    known = [original.text(name).codes for name in (*names, *sensitive)]
    truths = group(known, rows=original.rows, weights=original.counts)
    columns = [_recoded(exhibit, name, units, truths) for name in names]
    columns += [_sensitive(exhibit, name, units, truths) for name in sensitive]
    return columns, truths.counts, units.counts


def _recoded(exhibit: Exhibit, name: str, units: Classes, truths: Classes) -> _Asked:
    domain = exhibit.recoded[name]
    original = exhibit.original.text(name)
    leaf = np.array([domain.code_of[label] for label in original.labels], dtype=np.int64)
    lo, hi = exhibit.intervals(name)
    label = exhibit.data.text(name).codes[units.first]

    def answer(accepted: FloatArray) -> FloatArray:
        below = np.concatenate([[0.0], np.cumsum(accepted)])
        shares: FloatArray = ((below[hi] - below[lo]) / (hi - lo))[label]
        return shares

    return _Asked(domain.size, leaf[original.codes[truths.first]], answer)


def _sensitive(exhibit: Exhibit, name: str, units: Classes, truths: Classes) -> _Asked:
    original = exhibit.original.text(name)
    rank = np.argsort(np.argsort(np.array(original.labels))).astype(np.int64)
    known = {label: int(rank[code]) for code, label in enumerate(original.labels)}
    truth = rank[original.codes[truths.first]]
    if name in exhibit.data.names:
        return _Asked(len(rank), truth, _by_value(exhibit.data.text(name), units, known))
    counts = exhibit.tables[sensitive_part(exhibit, name)]
    return _Asked(len(rank), truth, _by_bucket(exhibit.data.text("bucket"), counts, units, known))


def _by_value(text: TextColumn, units: Classes, known: dict[str, int]) -> Callable[[FloatArray], FloatArray]:
    value = np.array([known.get(label, -1) for label in text.labels], dtype=np.int64)[text.codes[units.first]]
    return lambda accepted: np.where(value >= 0, accepted[value], 0.0)


def _by_bucket(bucket: TextColumn, counts: Table, units: Classes, known: dict[str, int]) -> Callable[[FloatArray], FloatArray]:
    number = {label: code for code, label in enumerate(bucket.labels)}
    listed, value = counts.text("bucket"), counts.text("value")
    of = np.array([number[label] for label in listed.labels], dtype=np.int64)[listed.codes]
    rank = np.array([known[label] for label in value.labels], dtype=np.int64)[value.codes]
    weight = np.array([float(label) for label in counts.text("count").labels])[counts.text("count").codes]
    total = np.bincount(of, weights=weight)
    mine = bucket.codes[units.first]
    return lambda accepted: (np.bincount(of, weights=weight * accepted[rank], minlength=len(total)) / total)[mine]
