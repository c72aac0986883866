"""Range query error: how far COUNT and AVG queries with thresholds on the replaced columns are from the truth.

One count over all numeric columns and one average for each of them, given thresholds on the others and a random set of sensitive
values. Thresholds are uniform on the range of the original, sets of sensitive values of uniform size. Reported is the mean of
|φ − φ'| / |φ| per form; queries whose truth is nothing are not asked.

Paper
    [multitype §5.7.3], the four query forms, for any number of numeric columns.

Departures
    An average over no published record at all counts as an error of 1: the release gives no answer where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.table import Table
from sfumato.forms.replaced import Replaced
from sfumato.metrics._replaced import numeric, sampled
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

Query = tuple[FloatArray, IntArray | None]
"""Thresholds, and the sensitive values that qualify."""


class RangeQueryError(Metric):
    """Mean relative error of COUNT and AVG queries with thresholds, per query form."""

    name: ClassVar[str] = "range_query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)
    paper: ClassVar[str] = "multitype §5.7.3"

    def applies(self, exhibit: Exhibit) -> bool:
        return super().applies(exhibit) and bool(exhibit.once(numeric))

    def measure(self, exhibit: Exhibit) -> dict[str, float]:
        return exhibit.once(by_form)


class ReplacedQueryError(Metric):
    """Mean relative error of threshold queries over all query forms."""

    name: ClassVar[str] = "query_error of replaced numbers"
    figure: ClassVar[str] = "query_error"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)
    paper: ClassVar[str] = "multitype §5.7.3"

    def applies(self, exhibit: Exhibit) -> bool:
        return super().applies(exhibit) and bool(exhibit.once(numeric))

    def measure(self, exhibit: Exhibit) -> float:
        return float(np.mean(list(exhibit.once(by_form).values())))


def by_form(exhibit: Exhibit) -> dict[str, float]:
    """The mean error of each query form: `count`, then `average <column>`."""
    exhibit = exhibit.once(sampled)
    names = exhibit.once(numeric)
    labels = _labels(exhibit)
    truth = RangeAnswering(_stack(exhibit.original, names), labels[0])
    guess = RangeAnswering(_stack(exhibit.data, names), labels[1])
    each = int(exhibit.parameters.get("queries", 200))
    return errors(truth, guess, names, each)


def errors(truth: RangeAnswering, guess: RangeAnswering, names: tuple[str, ...], each: int, seed: int = 0) -> dict[str, float]:
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
        for column, threshold in zip(self.numbers.T, thresholds, strict=True):  # one column after the other: rows are short
            inside &= column > threshold
        if accepted is not None and self.label.size:
            known = int(max(self.label.max(), accepted.max(initial=0))) + 1
            qualifies = np.zeros(known + 1, dtype=np.bool_)  # the last place is that of -1, a value that the other table lacks
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


def _labels(exhibit: Exhibit) -> tuple[IntArray, IntArray]:
    """The first sensitive column of both tables in common codes; empty when there is none."""
    shown = [name for name in exhibit.policy.sensitive if name in exhibit.data.names]
    if not shown:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    before, after = exhibit.original.text(shown[0]), exhibit.data.text(shown[0])
    code = {label: number for number, label in enumerate(before.labels)}
    own = np.array([code.get(label, -1) for label in after.labels], dtype=np.int64)
    return before.codes.astype(np.int64), own[after.codes]
