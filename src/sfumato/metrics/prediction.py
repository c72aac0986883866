"""Prediction: how well models that were trained on the release predict a column for original rows, beside models trained on the
original.

Asked for with ``predict`` (the column) in `measure`; ``held_out`` gives rows that are in nobody's training data. Without it a
third of the original is set aside for judging; the release was made from these rows as well, so its figures then flatter a little.

A cell that stands for several values is a mixture of them, as a feature: a category has a share in each value's column, a range of
numbers is the mean of what it covers. Categories with very many values are left out.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.table import Table
from sfumato.errors import PolicyError
from sfumato.extras import require
from sfumato.io.base import Source
from sfumato.metrics._analysis import READABLE, names_of, numbers_of, read_numbers, values_under
from sfumato.metrics.base import Metric
from sfumato.registry import nearest
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_FEW = 20
"""More different numbers than this are predicted as numbers."""


class Prediction(Metric):
    """Models trained on the release, judged on original rows: accuracy and area under the curve, or the share of variance
    explained."""

    name: ClassVar[str] = "prediction"
    range: ClassVar[str] = "0 … 1 each"
    forms: ClassVar[tuple[type[Form], ...]] = READABLE

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and bool(exhibit.parameters.get("predict"))

    def measure(self, exhibit: Exhibit) -> dict[str, Any]:
        require("sklearn", "models trained on a release")
        target = str(exhibit.parameters["predict"])
        if target not in names_of(exhibit):
            raise PolicyError(f"the release has no column '{target}' to predict", hint=nearest(target, names_of(exhibit)))
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


def rows_held_out(exhibit: Exhibit, held: Any) -> Table:
    """Rows that are in no training data, read as the policy reads its own."""
    source: Source = exhibit.policy.data
    table: Table = source.read(held)
    return table


def features_of(exhibit: Exhibit, table: Table, target: str, rows: IntArray | None) -> tuple[FloatArray, list[str]]:
    """Features in the values of the original, and what is to be predicted."""
    parts = []
    for name in names_of(exhibit):
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
