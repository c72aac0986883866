"""Query error: how far COUNT queries answered from the release are from the truth.

A workload of random queries, each a conjunction of `dimension` conditions "column within a run of neighbouring values"
chosen so that about a share `selectivity` of all combinations qualifies; quasi-identifiers and sensitive columns are
asked alike. A generalized cell counts with the share of its leaves that the condition accepts, a bucket with the share
of its values (the usual uniformity assumption). Reported is the median of |estimate − truth| / max(truth, floor), with
a floor of one per mille of the records so that tiny truths do not dominate. Other forms of release have workloads of
their own under the same figure.

Paper: the workloads of [versatile §6]. Cost: one count of all rows for every set of columns that is asked about
together; then queries × values, whatever the rows.


Weighted query error
--------------------
Weighted query error: how far totals of people of the population, counted by survey weights, are from the truth.

The same workload as `query_error`, with every record counted as often as its weight says: the original by the column
that ``population: {weight: …}`` names, the release by the weights that it shows (rounded, calibrated or as they are),
or by the mean where it shows none. Truths below one per mille of the population do not dominate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.arrays import CodeArray, FloatArray, IntArray
from sfumato.data.equivalence_classes import class_counts, equivalence_classes_of
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.subtables.form import AnatomyForm, sensitive_part
from sfumato.kinds.tables.form import Recoded
from sfumato.kinds.tables.statistical_utility import survey_weights
from sfumato.release.form import Form
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView

_DENSE = 1 << 20
"""Combinations of codes that are always counted in an array."""


class QueryError(Metric):
    """Median relative error of random COUNT queries."""

    name: ClassVar[str] = "query_error"
    title: ClassVar[str] = "Error of count queries"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, AnatomyForm)
    paper: ClassVar[str] = "versatile §6"

    def measure(self, exhibit: ReleaseView) -> float:
        asked = {"queries": 200, "dimension": 2, "selectivity": 0.1} | dict(exhibit.parameters)
        found = errors(exhibit, int(asked["queries"]), int(asked["dimension"]), float(asked["selectivity"]))
        return float(np.median(found))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One column that queries may ask about."""

    size: int
    truth: CodeArray
    """The code of each row of the original, and the value of each code."""
    value: IntArray
    label: CodeArray
    """The code of each published row, how many codes there are, and what each answers."""
    labels: int
    answer: Callable[[FloatArray], FloatArray]
    """From the accepted values to the share that qualifies of each published code."""


def errors(
    exhibit: ReleaseView,
    queries: int,
    dimension: int,
    selectivity: float,
    seed: int = 0,
    weights: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """The relative error of each query of a random workload (the same workload for the same seed).

    With `weights`, of the rows of the release and of the records of the original, these are counted instead.
    """
    columns = _columns(exhibit)
    shown, own = (None, None) if weights is None else map(np.nan_to_num, weights)
    floor = max(1.0, 0.001 * (exhibit.inputs if own is None else float(own.sum())))
    rng = np.random.default_rng(seed)
    found = np.empty(queries)
    counted: dict[tuple[int, ...], tuple[_Counted, _Counted]] = {}
    for query in range(queries):
        asked = tuple(map(int, rng.choice(len(columns), size=min(dimension, len(columns)), replace=False)))
        accepted = {i: _condition(columns[i].size, selectivity ** (1 / len(asked)), rng) for i in asked}
        together = tuple(sorted(asked))
        if together not in counted:
            mine = [columns[i] for i in together]
            original = _counted(
                [each.truth for each in mine], [len(each.value) for each in mine], exhibit.original, own
            )
            release = _counted([each.label for each in mine], [each.labels for each in mine], exhibit.data, shown)
            counted[together] = original, release
        exact, published = counted[together]
        truth = _sum(exact, [accepted[i][columns[i].value] for i in together])
        estimate = _sum(published, [columns[i].answer(accepted[i]) for i in together])
        found[query] = abs(estimate - truth) / max(truth, floor)
    return found


@dataclass(frozen=True, slots=True)
class _Counted:
    """Different combinations of codes, one array of codes per column, and how many records have each."""

    codes: tuple[IntArray, ...]
    rows: IntArray | FloatArray


def _counted(
    columns: Sequence[CodeArray], radix: Sequence[int], table: Table, weights: FloatArray | None = None
) -> _Counted:
    """Records, or their weights, by their codes, each below its radix."""
    rows = table.rows
    if weights is not None:
        classes = equivalence_classes_of(columns, rows=rows)
        totals = np.bincount(classes.of, weights=weights, minlength=len(classes))
        return _Counted(tuple(codes[classes.first].astype(np.int64) for codes in columns), totals)
    if math.prod(radix) > max(_DENSE, 2 * rows):
        classes = equivalence_classes_of(columns, rows=rows, weights=table.counts)
        return _Counted(tuple(codes[classes.first].astype(np.int64) for codes in columns), classes.counts)
    key = columns[0] if math.prod(radix) < 1 << 31 else columns[0].astype(np.int64)
    for codes, size in zip(columns[1:], radix[1:], strict=True):
        key = key * key.dtype.type(size) + codes
    tally = class_counts(key, table.counts, math.prod(radix))
    present = np.flatnonzero(tally)
    return _Counted(tuple(np.unravel_index(present, radix)), tally[present])


def _sum(counted: _Counted, shares: Sequence[FloatArray]) -> float:
    """Rows that qualify, when each code of each column qualifies with a share."""
    weight = counted.rows.astype(np.float64)
    for codes, share in zip(counted.codes, shares, strict=True):
        weight *= share[codes]
    return float(weight.sum())


def _condition(size: int, share: float, rng: np.random.Generator) -> FloatArray:
    """A random run of neighbouring values, of about the given share of the domain."""
    width = max(1, round(share * size))
    start = int(rng.integers(0, size - width + 1))
    accepted = np.zeros(size)
    accepted[start : start + width] = 1.0
    return accepted


def _columns(exhibit: ReleaseView) -> list[_Asked]:
    """The columns that can be asked about."""
    sensitive = [name for name in exhibit.policy.sensitive if name not in exhibit.recoded]
    return [*(_recoded(exhibit, name) for name in exhibit.recoded), *(_sensitive(exhibit, name) for name in sensitive)]


def _recoded(exhibit: ReleaseView, name: str) -> _Asked:
    domain = exhibit.recoded[name]
    original = exhibit.original.text(name)
    leaf = np.array([domain.code_of[label] for label in original.labels], dtype=np.int64)
    lo, hi = exhibit.intervals(name)

    def answer(accepted: FloatArray) -> FloatArray:
        below = np.concatenate([[0.0], np.cumsum(accepted)])
        shares: FloatArray = (below[hi] - below[lo]) / (hi - lo)
        return shares

    return _Asked(domain.size, original.codes, leaf, exhibit.data.text(name).codes, len(lo), answer)


def _sensitive(exhibit: ReleaseView, name: str) -> _Asked:
    original = exhibit.original.text(name)
    rank = np.argsort(np.argsort(np.array(original.labels))).astype(np.int64)
    known = {label: int(rank[code]) for code, label in enumerate(original.labels)}
    if name in exhibit.data.names:
        text = exhibit.data.text(name)
        return _Asked(len(rank), original.codes, rank, text.codes, len(text.labels), _by_value(text, known))
    counts, bucket = exhibit.tables[sensitive_part(exhibit, name)], exhibit.data.text("bucket")
    return _Asked(len(rank), original.codes, rank, bucket.codes, len(bucket.labels), _by_bucket(bucket, counts, known))


def _by_value(text: TextColumn, known: dict[str, int]) -> Callable[[FloatArray], FloatArray]:
    value = np.array([known.get(label, -1) for label in text.labels], dtype=np.int64)
    return lambda accepted: np.where(value >= 0, accepted[value], 0.0)


def _by_bucket(bucket: TextColumn, counts: Table, known: dict[str, int]) -> Callable[[FloatArray], FloatArray]:
    number = {label: code for code, label in enumerate(bucket.labels)}
    listed, value = counts.text("bucket"), counts.text("value")
    of = np.array([number[label] for label in listed.labels], dtype=np.int64)[listed.codes]
    rank = np.array([known[label] for label in value.labels], dtype=np.int64)[value.codes]
    weight = np.array([float(label) for label in counts.text("count").labels])[counts.text("count").codes]
    total = np.bincount(of, weights=weight)
    return lambda accepted: np.bincount(of, weights=weight * accepted[rank], minlength=len(total)) / total


# Weighted query error
# --------------------


class WeightedQueryError(Metric):
    """Median relative error of random COUNT queries about the population, by survey weights."""

    name: ClassVar[str] = "weighted_query_error"
    title: ClassVar[str] = "Error of weighted count queries"
    range: ClassVar[str] = "0 …"
    paper: ClassVar[str] = "versatile §6"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        said = exhibit.policy.population
        return (
            said is not None and said.weight is not None and exhibit.private and said.weight in exhibit.original.names
        )

    def measure(self, exhibit: ReleaseView) -> float:
        asked = {"queries": 200, "dimension": 2, "selectivity": 0.1} | dict(exhibit.parameters)
        weights = survey_weights(exhibit)
        found = errors(
            exhibit, int(asked["queries"]), int(asked["dimension"]), float(asked["selectivity"]), weights=weights
        )
        return float(np.median(found))
