"""Figures that analysts ask for: means and totals with their errors, correlations, distances of distributions and of pairs of
columns.

All of them compare what the release shows with the original; a cell that stands for several values stands for each of them alike.
They are measured where values are no longer true (averages, perturbation), and on request (``analysis``) for recoded tables.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.metrics._analysis import READABLE, names_of, numbers_of, survey_weights, values_under, wanted
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class _OfAnalysts(Metric):
    forms: ClassVar[tuple[type[Form], ...]] = READABLE

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and wanted(exhibit)


class Means(_OfAnalysts):
    """Mean and total of every column of numbers, in the original and in the release, with the relative error of both; weighted by
    the survey weights that the policy names, in the release by those that it shows."""

    name: ClassVar[str] = "means"
    range: ClassVar[str] = "errors from 0 on"

    def measure(self, exhibit: Exhibit) -> dict[str, Any]:
        found = {}
        weights = survey_weights(exhibit)
        for name in names_of(exhibit):
            if (pair := numbers_of(exhibit, name)) is not None and not np.isnan(pair[0]).all():
                shown, own = (_mean_and_total(values, weight) for values, weight in zip(pair, weights, strict=True))
                errors = {
                    f"{word}_error": abs(shown[i] - own[i]) / (abs(own[i]) or 1.0) for i, word in enumerate(("mean", "total"))
                }
                found[name] = {"original": own[0], "release": shown[0], **errors}
        return found


def _mean_and_total(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Of what is a number, each with its weight."""
    there = ~(np.isnan(values) | np.isnan(weight))
    total = float(values[there] @ weight[there])
    return total / (float(weight[there].sum()) or 1.0), total


class CorrelationError(_OfAnalysts):
    """Mean difference of the correlations of all pairs of columns of numbers."""

    name: ClassVar[str] = "correlation_error"
    range: ClassVar[str] = "0 … 2"

    def ready(self, exhibit: Exhibit) -> bool:
        return super().ready(exhibit) and several_numbers(exhibit)

    def measure(self, exhibit: Exhibit) -> float:
        pairs = _numeric(exhibit)
        shown = _correlations([one for one, _ in pairs])
        own = _correlations([other for _, other in pairs])
        above = np.triu_indices(len(pairs), 1)
        return float(np.abs(shown[above] - own[above]).mean())


class DistributionDistance(_OfAnalysts):
    """Total variation distance of the values of each column."""

    name: ClassVar[str] = "distribution_distance"
    range: ClassVar[str] = "0 … 1 each"

    def measure(self, exhibit: Exhibit) -> dict[str, float]:
        found = {}
        for name in names_of(exhibit):
            under = values_under(exhibit, name, exhibit.data)
            if under is not None and exhibit.data.rows:
                own = exhibit.original.text(name).counts() / max(exhibit.original.rows, 1)
                shown = exhibit.data.text(name).counts() @ under / exhibit.data.rows
                found[name] = _apart(shown, own)
        return found


class PairDistance(_OfAnalysts):
    """Total variation distance of the pairs of values of two columns, on average over all pairs of columns."""

    name: ClassVar[str] = "pair_distance"
    range: ClassVar[str] = "0 … 1"

    def measure(self, exhibit: Exhibit) -> float:
        under = {name: values_under(exhibit, name, exhibit.data) for name in names_of(exhibit)}
        pairs = combinations([name for name, each in under.items() if each is not None], 2)
        found = [_pair_apart(exhibit, one, other, under[one], under[other]) for one, other in pairs]
        return float(np.mean(found)) if found else 0.0


def several_numbers(exhibit: Exhibit) -> bool:
    """Whether there are columns of numbers to correlate."""
    return len(_numeric(exhibit)) > 1


def _numeric(exhibit: Exhibit) -> list[tuple[Any, Any]]:
    found = [pair for name in names_of(exhibit) if (pair := numbers_of(exhibit, name)) is not None]
    return [pair for pair in found if np.nanstd(pair[0]) > 0 and np.nanstd(pair[1]) > 0]


def _correlations(columns: list[Any]) -> Any:
    filled = [np.where(np.isnan(column), np.nanmean(column), column) for column in columns]
    return np.corrcoef(np.stack(filled))


def _apart(shown: Any, own: Any) -> float:
    """Half the sum of differences, and what stands for no value of the original."""
    return float(np.abs(shown - own).sum() + max(0.0, 1.0 - shown.sum())) / 2


def _pair_apart(exhibit: Exhibit, one: str, other: str, first: Any, second: Any) -> float:
    shown = _table(exhibit.data.text(one), exhibit.data.text(other))
    own = _table(exhibit.original.text(one), exhibit.original.text(other))
    return _apart((first.T @ shown @ second).ravel(), own.ravel())


def _table(one: Any, other: Any) -> Any:
    wide = len(other.labels)
    counts = np.bincount(one.codes.astype(np.int64) * wide + other.codes, minlength=len(one.labels) * wide)
    return counts.reshape(len(one.labels), wide) / max(len(one.codes), 1)
