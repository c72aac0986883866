"""The replaced numeric columns of a release beside the original, record by record.

Departures: in tables of more than 5,000 rows all figures are measured on that many, evenly spaced (parameter `sample`;
0 takes all): a figure of utility must not cost more than the release.


Clustering error
----------------
Clustering error: the share of records that k-means puts into another cluster because of the release.

Paper
    [multitype §5.7.2]: CE = 1/(2n) Σ_i (|C_i ∪ C'_i| − |C_i ∩ C'_i|).

Departures
    The text does not say which cluster of the release answers to which of the original: the assignment that makes the
    error least is used. Both clusterings start from the same records, so that the error is the release's and not that
    of two random starts.

>>> import numpy as np
>>> mismatch(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
0.25


Distortion
----------
Distortion: the average relative change of a replaced value.

Paper
    [multitype Eq. 5.9]: mean over cells of |t − t'| / |t|.

Departures
    The printed ratio has no value where t = 0; there the change is measured against the mean absolute value of the
    column.

>>> import numpy as np
>>> distortion(np.array([[10.0], [20.0]]), np.array([[15.0], [20.0]]))
0.25
>>> distortion(np.array([[0.0], [4.0]]), np.array([[1.0], [4.0]]))
0.25


Range query error
-----------------
Range query error: how far COUNT and AVG queries with thresholds on the replaced columns are from the truth.

One count over all numeric columns and one average for each of them, given thresholds on the others and a random set of
sensitive
values. Thresholds are uniform on the range of the original, sets of sensitive values of uniform size. Reported is the
mean of
|φ − φ'| / |φ| per form; queries whose truth is nothing are not asked.

Paper
    [multitype §5.7.3], the four query forms, for any number of numeric columns.

Departures
    An average over no published record at all counts as an error of 1: the release gives no answer where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.table import Table
from sfumato.kinds.testdata.form import Replaced
from sfumato.release.form import Form
from sfumato.release.metric import Metric
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView

_SAMPLE = 5_000


class PairedMetric(Metric):
    """A metric that must know which published row belongs to which record: on the data holder's side only."""

    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return "data" in (exhibit.behind or {}) and bool(exhibit.once(numeric_replaced_columns))


def sample_records(exhibit: ReleaseView) -> ReleaseView:
    """The release and its original on some rows, the same records where the provenance tells; ask with
    ``exhibit.once(sampled)``."""
    most = int(exhibit.parameters.get("sample", _SAMPLE))
    if not most or exhibit.data.rows <= most or exhibit.original is None:
        return exhibit
    chosen = np.linspace(0, exhibit.data.rows - 1, most).astype(np.int64)
    behind = (exhibit.behind or {}).get("data")
    before = chosen if behind is None else behind[chosen]
    before = np.minimum(before, exhibit.original.rows - 1)
    parts = {**exhibit.parts, "data": Part(_some(exhibit.data, chosen))}
    trace = exhibit.trace if behind is None else Provenance({"data": np.arange(most, dtype=np.int64)})
    return replace(exhibit, parts=parts, original=Table(_some(exhibit.original, before)), trace=trace)


def _some(table: Table, rows: IntArray) -> pa.Table:
    """These rows; their codes are looked at again, because not every text of a column is among them."""
    return table.held.take(pa.array(rows)).replace_schema_metadata(None)


def numeric_replaced_columns(exhibit: ReleaseView) -> tuple[str, ...]:
    """The replaced columns that hold numbers or days in the original and in the release; ask with
    ``exhibit.once(numeric)``."""
    exhibit = exhibit.once(sample_records)
    return tuple(
        name
        for name in exhibit.policy.with_role("replaced")
        if name in exhibit.data.names and _is_numeric(exhibit, name)
    )


def _is_numeric(exhibit: ReleaseView, name: str) -> bool:
    try:
        exhibit.original.numbers(name)
        exhibit.data.numbers(name)
    except DataError:
        return False
    return True


def paired_values(exhibit: ReleaseView) -> tuple[FloatArray, FloatArray]:
    """Original and published values, one row per published record, one column per numeric replaced column."""
    exhibit = exhibit.once(sample_records)
    assert exhibit.behind is not None
    names = exhibit.once(numeric_replaced_columns)
    before = np.column_stack([exhibit.original.numbers(name) for name in names])
    return before[exhibit.behind["data"]], np.column_stack([exhibit.data.numbers(name) for name in names])


# Clustering error
# ----------------


_MOST_ROUNDS = 60


class ClusteringError(PairedMetric):
    """Share of records in another k-means cluster than before."""

    name: ClassVar[str] = "clustering_error"
    title: ClassVar[str] = "Clustering error"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "multitype §5.7.2"

    def measure(self, exhibit: ReleaseView) -> float:
        before, after = paired_values(exhibit)
        clusters = int(exhibit.parameters.get("clusters", 5))
        return clustering_error(before, after, min(clusters, len(before)))


def clustering_error(before: FloatArray, after: FloatArray, clusters: int, seed: int = 0) -> float:
    """The error with columns scaled to the spread of the original."""
    if not before.size:
        return 0.0
    spread = np.ptp(before, axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    before, after = before / scale, after / scale
    starts = spread_starts(before, clusters, np.random.default_rng(seed))
    return mismatch(kmeans(before, starts), kmeans(after, starts), clusters)


def mismatch(one: IntArray, other: IntArray, clusters: int) -> float:
    """Share of records outside the best assignment of clusters to clusters."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((clusters, clusters))
    np.add.at(shared, (one, other), 1)
    rows, columns = linear_sum_assignment(-shared)
    return float(1 - shared[rows, columns].sum() / max(1, one.size))


def spread_starts(points: FloatArray, clusters: int, rng: np.random.Generator) -> IntArray:
    """Records far apart: each next one with probability in proportion to its squared distance from those chosen."""
    chosen = [int(rng.integers(len(points)))]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < clusters:
        total = nearest.sum()
        chosen.append(int(rng.choice(len(points), p=nearest / total)) if total > 0 else int(rng.integers(len(points))))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.int64)


def kmeans(points: FloatArray, starts: IntArray) -> NDArray[np.int64]:
    """The cluster of every point by Lloyd's iteration from the given records."""
    centres, label = points[starts].copy(), np.full(len(points), -1, np.int64)
    for _ in range(_MOST_ROUNDS):
        distance = (centres**2).sum(axis=1) - 2 * points @ centres.T
        fresh = distance.argmin(axis=1)
        if (fresh == label).all():
            break
        label = fresh
        for cluster in np.unique(label):
            centres[cluster] = points[label == cluster].mean(axis=0)
    return label


# Distortion
# ----------


class Distortion(PairedMetric):
    """Average relative change of a replaced value."""

    name: ClassVar[str] = "distortion"
    title: ClassVar[str] = "Distortion"
    range: ClassVar[str] = "0 …"
    paper: ClassVar[str] = "multitype Eq. 5.9"

    def measure(self, exhibit: ReleaseView) -> float:
        return distortion(*paired_values(exhibit))


def distortion(before: FloatArray, after: FloatArray) -> float:
    """Mean relative change between two tables with the same records and columns."""
    if not before.size:
        return 0.0
    size = np.abs(before)
    usual = np.broadcast_to(size.mean(axis=0), size.shape)
    scale = np.where(size > 0, size, np.where(usual > 0, usual, 1.0))
    return float((np.abs(after - before) / scale).mean())


# Range query error
# -----------------


Query = tuple[FloatArray, IntArray | None]
"""Thresholds, and the sensitive values that qualify."""


class RangeQueryError(Metric):
    """Mean relative error of COUNT and AVG queries with thresholds, per query form."""

    name: ClassVar[str] = "range_query_error"
    title: ClassVar[str] = "Error of threshold queries, by form"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)
    paper: ClassVar[str] = "multitype §5.7.3"

    def applies(self, exhibit: ReleaseView) -> bool:
        return super().applies(exhibit) and bool(exhibit.once(numeric_replaced_columns))

    def measure(self, exhibit: ReleaseView) -> dict[str, float]:
        return exhibit.once(by_form)


class ReplacedQueryError(Metric):
    """Mean relative error of threshold queries over all query forms."""

    name: ClassVar[str] = "query_error of replaced numbers"
    title: ClassVar[str] = "Error of threshold queries"
    figure: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)
    paper: ClassVar[str] = "multitype §5.7.3"

    def applies(self, exhibit: ReleaseView) -> bool:
        return super().applies(exhibit) and bool(exhibit.once(numeric_replaced_columns))

    def measure(self, exhibit: ReleaseView) -> float:
        return float(np.mean(list(exhibit.once(by_form).values())))


def by_form(exhibit: ReleaseView) -> dict[str, float]:
    """The mean error of each query form: `count`, then `average <column>`."""
    exhibit = exhibit.once(sample_records)
    names = exhibit.once(numeric_replaced_columns)
    labels = _labels(exhibit)
    truth = RangeAnswering(_stack(exhibit.original, names), labels[0])
    guess = RangeAnswering(_stack(exhibit.data, names), labels[1])
    each = int(exhibit.parameters.get("queries", 200))
    return errors(truth, guess, names, each)


def errors(
    truth: RangeAnswering, guess: RangeAnswering, names: tuple[str, ...], each: int, seed: int = 0
) -> dict[str, float]:
    """The mean relative error of `each` queries per form; `guess` answers in place of `truth`."""
    rng = np.random.default_rng(seed)
    found = {}
    for target in (None, *range(len(names))):
        title = "count" if target is None else f"average {names[target]}"
        asked = [_error(truth, guess, target, *query) for query in _queries(truth, target, each, rng)]
        kept = [error for error in asked if error is not None]
        found[title] = float(np.mean(kept)) if kept else 0.0
    return found


@dataclass(frozen=True, slots=True)
class RangeAnswering:
    """A table that answers: numeric columns side by side, and the code of the sensitive value."""

    numbers: FloatArray
    label: IntArray

    def weights(self, thresholds: FloatArray, accepted: IntArray | None) -> FloatArray:
        """How much of each record qualifies: 1 or 0."""
        inside = np.ones(len(self.numbers), dtype=np.bool_)
        for column, threshold in zip(
            self.numbers.T, thresholds, strict=True
        ):  # one column after the other: rows are short
            inside &= column > threshold
        if accepted is not None and self.label.size:
            known = int(max(self.label.max(), accepted.max(initial=0))) + 1
            qualifies = np.zeros(
                known + 1, dtype=np.bool_
            )  # the last place is that of -1, a value that the other table lacks
            qualifies[accepted] = True
            inside &= qualifies[self.label]
        weights: FloatArray = np.asarray(inside, dtype=np.float64)
        return weights

    def answer(self, target: int | None, thresholds: FloatArray, accepted: IntArray | None) -> float | None:
        """The count, or the average of column `target`; None when nothing qualifies."""
        weight = self.weights(thresholds, accepted)
        total = float(weight.sum())
        if target is None or total == 0:
            return total or None
        return float(weight @ self.numbers[:, target] / total)


def _queries(truth: RangeAnswering, target: int | None, each: int, rng: np.random.Generator) -> Iterator[Query]:
    low, high = truth.numbers.min(axis=0), truth.numbers.max(axis=0)
    values = np.unique(truth.label)
    for _ in range(each):
        thresholds = low + rng.random(low.size) * (high - low)
        size = int(rng.integers(1, max(values.size, 1) + 1))
        if target is None:
            yield thresholds, None
        else:
            thresholds[target] = -np.inf
            yield thresholds, rng.permutation(values)[:size]


def _error(
    truth: RangeAnswering, guess: RangeAnswering, target: int | None, at: FloatArray, accepted: IntArray | None
) -> float | None:
    exact, found = truth.answer(target, at, accepted), guess.answer(target, at, accepted)
    if not exact:
        return None
    if found is None:
        return 1.0
    return abs(found - exact) / abs(exact)


def _stack(table: Table, names: tuple[str, ...]) -> FloatArray:
    return np.column_stack([table.numbers(name) for name in names])


def _labels(exhibit: ReleaseView) -> tuple[IntArray, IntArray]:
    """The first sensitive column of both tables in common codes; empty when there is none."""
    shown = [name for name in exhibit.policy.sensitive if name in exhibit.data.names]
    if not shown:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    before, after = exhibit.original.text(shown[0]), exhibit.data.text(shown[0])
    code = {label: number for number, label in enumerate(before.labels)}
    own = np.array([code.get(label, -1) for label in after.labels], dtype=np.int64)
    return before.codes.astype(np.int64), own[after.codes]
