"""Figures that analysts ask for: means and totals with their errors, correlations, distances of distributions and of
pairs of columns.

All of them compare what the release shows with the original; a cell that stands for several values stands for each of
them alike. They are measured where values are no longer true (averages, perturbation), and on request (``analysis``)
for recoded tables.


Analysis
--------
Columns as an analyst reads them: numbers and shares of values, of the release and of the original, in the same units.

A cell that stands for several values stands for each of them alike; a range of numbers is read as the mean of what it
covers.


Prediction
----------
Prediction: how well models that were trained on the release predict a column for original rows, beside models trained
on the original.

Asked for with ``predict`` (the column) in `measure`; ``held_out`` gives rows that are in nobody's training data.
Without it a third of the original is set aside for judging; the release was made from these rows as well, so its
figures then flatter a little.

A cell that stands for several values is a mixture of them, as a feature: a category has a share in each value's column,
a range of numbers is the mean of what it covers. Categories with very many values are left out.


Variance lost
-------------
Variance lost: which share of the variance of its numbers a release no longer shows, on average over its averaged
columns.

Averages of groups spread less than the values behind them: of the sum of squares around the mean of a column what is
left is the part between groups, and what is gone is the part within them, which microaggregation minimizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import PolicyError
from sfumato.core.extras import require
from sfumato.core.registry import nearest
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import parse_number
from sfumato.io.source import Source
from sfumato.kinds.tables.form import Microaggregated, PerturbedTable, Recoded
from sfumato.release.form import Form
from sfumato.release.metric import Metric
from sfumato.release.view import ReleaseView

READABLE: tuple[type[Form], ...] = (Recoded, Microaggregated, PerturbedTable)
MOST = 300
"""Values of a column whose shares are compared."""


def analysis_wanted(exhibit: ReleaseView) -> bool:
    """Whether an analyst's figures are asked for: always where values are no longer true, else with ``analysis``."""
    return bool(exhibit.parameters.get("analysis")) or not isinstance(exhibit.form, Recoded)


def shared_columns(exhibit: ReleaseView) -> list[str]:
    """The columns that both sides show."""
    return [name for name in exhibit.policy.published if name in exhibit.data.names and name in exhibit.original.names]


def numbers_of(exhibit: ReleaseView, name: str) -> tuple[FloatArray, FloatArray] | None:
    """A column of numbers in the release and in the original; nothing when it is none."""
    read = exhibit.once(_read_so_far)
    if name not in read:
        read[name] = _labels_read(exhibit, name)
    by_label = read[name]
    if by_label is None:
        return None
    return by_label[0][exhibit.data.text(name).codes], by_label[1][exhibit.original.text(name).codes]


def _read_so_far(_: ReleaseView) -> dict[str, tuple[FloatArray, FloatArray] | None]:
    """The columns whose labels were read already, by name."""
    return {}


def _labels_read(exhibit: ReleaseView, name: str) -> tuple[FloatArray, FloatArray] | None:
    """Per label of the release and of the original its number; nothing where one of the original is none."""
    original = exhibit.original.text(name)
    known = [label for label in original.labels if label != MISSING]
    if not known or any(parse_number(label) is None for label in known):
        return None
    return read_numbers(exhibit.data.text(name).labels, exhibit.recoded.get(name)), read_numbers(original.labels, None)


def survey_weights(exhibit: ReleaseView) -> tuple[FloatArray, FloatArray]:
    """How many people each row of the release, and each record of the original, stands for.

    The original's are the column that ``population: {weight: …}`` names. The release has those that it shows, rounded
    or not; where it shows none, each of its rows stands for as many people as any other."""
    named = exhibit.policy.population.weight if exhibit.policy.population is not None else None
    if named is None or named not in exhibit.original.names:
        return np.ones(exhibit.data.rows), np.ones(exhibit.original.rows)
    text = exhibit.original.text(named)
    own = read_numbers(text.labels, None)[text.codes]
    if named not in exhibit.data.names:
        return np.full(exhibit.data.rows, float(np.nansum(own)) / max(exhibit.data.rows, 1)), own
    shown = exhibit.data.text(named)
    return read_numbers(shown.labels, exhibit.recoded.get(named))[shown.codes], own


def read_numbers(labels: tuple[str, ...], domain: Generalization | None) -> FloatArray:
    """Per label its number, or the mean of the numbers that it covers; NaN where there are none."""
    read = cache(_float)
    return np.array([_read(label, domain, read) for label in labels], dtype=np.float64)


def _read(label: str, domain: Generalization | None, read: Callable[[str], float]) -> float:
    value = read(label)
    span = domain.interval(label) if domain is not None and value != value else None
    if domain is None or span is None:
        return value
    below = [one for leaf in domain.values(*span) if (one := read(leaf)) == one]
    return float(np.mean(below)) if below else np.nan


def _float(label: str) -> float:
    """The number that a label writes, NaN when it is none."""
    value = parse_number(label)
    return np.nan if value is None else float(value)


def values_under(exhibit: ReleaseView, name: str, table: Table) -> FloatArray | None:
    """Labels of a column × values of the original: how much of each value a label stands for; nothing when there are
    too many."""
    leaves = exhibit.original.text(name).labels
    text: TextColumn = table.text(name)
    if len(leaves) > MOST or len(text.labels) > 20 * MOST:
        return None
    place = {leaf: at for at, leaf in enumerate(leaves)}
    domain, found = exhibit.recoded.get(name), np.zeros((len(text.labels), len(leaves)))
    for at, label in enumerate(text.labels):
        span = domain.interval(label) if domain is not None and label not in place else None
        under = [place[leaf] for leaf in domain.values(*span) if leaf in place] if domain and span else []
        if label in place:
            found[at, place[label]] = 1.0
        elif under:
            found[at, under] = 1.0 / len(under)
    return found


# Analysis
# --------


class _OfAnalysts(Metric):
    forms: ClassVar[tuple[type[Form], ...]] = READABLE

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and analysis_wanted(exhibit)


class Means(_OfAnalysts):
    """Mean and total of every column of numbers, in the original and in the release, with the relative error of both;
    weighted by the survey weights that the policy names, in the release by those that it shows."""

    name: ClassVar[str] = "means"
    title: ClassVar[str] = "Means and totals"
    range: ClassVar[str] = "errors from 0 on"
    paper: ClassVar[str] = "Domingo-Ferrer, Torra 2001"

    def measure(self, exhibit: ReleaseView) -> dict[str, Any]:
        found = {}
        weights = survey_weights(exhibit)
        for name in shared_columns(exhibit):
            if (pair := numbers_of(exhibit, name)) is not None and not np.isnan(pair[0]).all():
                shown, own = (_mean_and_total(values, weight) for values, weight in zip(pair, weights, strict=True))
                errors = {
                    f"{word}_error": abs(shown[i] - own[i]) / (abs(own[i]) or 1.0)
                    for i, word in enumerate(("mean", "total"))
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
    title: ClassVar[str] = "Correlation error"
    range: ClassVar[str] = "0 … 2"
    paper: ClassVar[str] = "Domingo-Ferrer, Torra 2001"

    def ready(self, exhibit: ReleaseView) -> bool:
        return super().ready(exhibit) and several_numbers(exhibit)

    def measure(self, exhibit: ReleaseView) -> float:
        pairs = _numeric(exhibit)
        shown = _correlations([one for one, _ in pairs])
        own = _correlations([other for _, other in pairs])
        above = np.triu_indices(len(pairs), 1)
        return float(np.abs(shown[above] - own[above]).mean())


class DistributionDistance(_OfAnalysts):
    """Total variation distance of the values of each column."""

    name: ClassVar[str] = "distribution_distance"
    title: ClassVar[str] = "Distribution distance"
    range: ClassVar[str] = "0 … 1 each"
    paper: ClassVar[str] = "our own, by the total variation distance"

    def measure(self, exhibit: ReleaseView) -> dict[str, float]:
        found = {}
        for name in shared_columns(exhibit):
            under = values_under(exhibit, name, exhibit.data)
            if under is not None and exhibit.data.rows:
                own = exhibit.original.text(name).counts() / max(exhibit.original.rows, 1)
                shown = exhibit.data.text(name).counts() @ under / exhibit.data.rows
                found[name] = _apart(shown, own)
        return found


class PairDistance(_OfAnalysts):
    """Total variation distance of the pairs of values of two columns, on average over all pairs of columns."""

    name: ClassVar[str] = "pair_distance"
    title: ClassVar[str] = "Pair distance"
    range: ClassVar[str] = "0 … 1"
    paper: ClassVar[str] = "our own, by the total variation distance"

    def measure(self, exhibit: ReleaseView) -> float:
        under = {name: values_under(exhibit, name, exhibit.data) for name in shared_columns(exhibit)}
        pairs = combinations([name for name, each in under.items() if each is not None], 2)
        found = [_pair_apart(exhibit, one, other, under[one], under[other]) for one, other in pairs]
        return float(np.mean(found)) if found else 0.0


def several_numbers(exhibit: ReleaseView) -> bool:
    """Whether there are columns of numbers to correlate."""
    return len(_numeric(exhibit)) > 1


def _numeric(exhibit: ReleaseView) -> list[tuple[Any, Any]]:
    found = [pair for name in shared_columns(exhibit) if (pair := numbers_of(exhibit, name)) is not None]
    return [pair for pair in found if np.nanstd(pair[0]) > 0 and np.nanstd(pair[1]) > 0]


def _correlations(columns: list[Any]) -> Any:
    filled = [np.where(np.isnan(column), np.nanmean(column), column) for column in columns]
    return np.corrcoef(np.stack(filled))


def _apart(shown: Any, own: Any) -> float:
    """Half the sum of differences, and what stands for no value of the original."""
    return float(np.abs(shown - own).sum() + max(0.0, 1.0 - shown.sum())) / 2


def _pair_apart(exhibit: ReleaseView, one: str, other: str, first: Any, second: Any) -> float:
    shown = _table(exhibit.data.text(one), exhibit.data.text(other))
    own = _table(exhibit.original.text(one), exhibit.original.text(other))
    return _apart((first.T @ shown @ second).ravel(), own.ravel())


def _table(one: Any, other: Any) -> Any:
    wide = len(other.labels)
    counts = np.bincount(one.codes.astype(np.int64) * wide + other.codes, minlength=len(one.labels) * wide)
    return counts.reshape(len(one.labels), wide) / max(len(one.codes), 1)


# Prediction
# ----------


_FEW = 20
"""More different numbers than this are predicted as numbers."""


class Prediction(Metric):
    """Models trained on the release, judged on original rows: accuracy and area under the curve, or the share of
    variance explained."""

    name: ClassVar[str] = "prediction"
    title: ClassVar[str] = "Prediction"
    range: ClassVar[str] = "0 … 1 each"
    paper: ClassVar[str] = "Iyengar 2002"
    forms: ClassVar[tuple[type[Form], ...]] = READABLE

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and bool(exhibit.parameters.get("predict"))

    def measure(self, exhibit: ReleaseView) -> dict[str, Any]:
        require("sklearn", "models trained on a release")
        target = str(exhibit.parameters["predict"])
        if target not in shared_columns(exhibit):
            raise PolicyError(
                f"the release has no column '{target}' to predict", hint=nearest(target, shared_columns(exhibit))
            )
        held = exhibit.parameters.get("held_out")
        fold = np.random.default_rng(0).permutation(exhibit.original.rows)
        third = exhibit.original.rows // 3
        judged, rows = (exhibit.original, fold[:third]) if held is None else (rows_held_out(exhibit, held), None)
        test = features_of(exhibit, judged, target, rows)
        trained = {
            "release": features_of(exhibit, exhibit.data, target, None),
            "original": features_of(exhibit, exhibit.original, target, None if held is not None else fold[third:]),
        }
        numbers = numbers_of(exhibit, target)
        judge = _regressed if numbers is not None and len(np.unique(numbers[1])) > _FEW else classified
        import sklearn.ensemble  # noqa: F401  its threads can be counted once it is there
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1):  # several threads that wait for each other take longer than one
            return {name: judge(train, test) for name, train in trained.items()} | {"predicts": target}


def rows_held_out(exhibit: ReleaseView, held: Any) -> Table:
    """Rows that are in no training data, read as the policy reads its own."""
    source: Source = exhibit.policy.data
    table: Table = source.read(held)
    return table


def features_of(exhibit: ReleaseView, table: Table, target: str, rows: IntArray | None) -> tuple[FloatArray, list[str]]:
    """Features in the values of the original, and what is to be predicted."""
    parts = []
    for name in shared_columns(exhibit):
        if name == target:
            continue
        text = table.text(name)
        if numbers_of(exhibit, name) is not None:
            values = read_numbers(text.labels, exhibit.recoded.get(name))[text.codes]
            parts.append(np.nan_to_num(values, nan=float(np.nanmean(values)))[:, None])
        elif (under := values_under(exhibit, name, table)) is not None:
            parts.append(under[text.codes])
    text = table.text(target)
    chosen = np.arange(table.rows) if rows is None else rows
    return np.concatenate(parts, axis=1)[chosen], [text.labels[code] for code in text.codes[chosen]]


def classified(train: tuple[FloatArray, list[str]], test: tuple[FloatArray, list[str]]) -> dict[str, Any]:
    """Accuracy and, for two classes, the area under the curve, of two kinds of model."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    found = {}
    makers = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
    }
    for name, model in makers.items():
        model.fit(*train)
        right = float(np.mean(model.predict(test[0]) == np.array(test[1])))
        chances, classes = model.predict_proba(test[0]), list(model.classes_)
        figures = {"accuracy": right}
        if len(classes) == 2 and len(set(test[1])) == 2:
            figures["auc"] = float(roc_auc_score(np.array(test[1]) == classes[1], chances[:, 1]))
        found[name] = figures
    return found


def _regressed(train: tuple[FloatArray, list[str]], test: tuple[FloatArray, list[str]]) -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    found = {}
    known = [(features, number) for features, number in ((train[0], _values(train[1])), (test[0], _values(test[1])))]
    for name, model in (
        ("ridge", make_pipeline(StandardScaler(), Ridge())),
        ("gradient boosting", HistGradientBoostingRegressor(random_state=0)),
    ):
        model.fit(known[0][0], known[0][1])
        found[name] = {"r2": float(model.score(known[1][0], known[1][1]))}
    return found


def _values(labels: list[str]) -> FloatArray:
    values = read_numbers(tuple(labels), None)
    return np.nan_to_num(values, nan=float(np.nanmean(values)))


# Variance lost
# -------------


class VarianceLost(Metric):
    """Share of the variance of numeric quasi-identifiers that averages no longer show; below 0 when there is more than
    before."""

    name: ClassVar[str] = "variance_lost"
    title: ClassVar[str] = "Lost variance"
    range: ClassVar[str] = "… 1"
    forms: ClassVar[tuple[type[Form], ...]] = (Microaggregated,)
    paper: ClassVar[str] = "Domingo-Ferrer, Torra 2005"

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(exhibit.of(Microaggregated).numbers)

    def measure(self, exhibit: ReleaseView) -> float:
        names = exhibit.of(Microaggregated).numbers
        return float(np.mean([1 - _ratio(exhibit.data.text(name), exhibit.original.text(name)) for name in names]))


def _ratio(published: TextColumn, original: TextColumn) -> float:
    before = _variance(original)
    return _variance(published) / before if before else 1.0


def _variance(text: TextColumn) -> float:
    known = [place for place, label in enumerate(text.labels) if label != MISSING]
    values, counts = np.array([float(text.labels[place]) for place in known]), text.counts()[known]
    return float(np.cov(values, fweights=counts, ddof=0)) if len(values) else 0.0
