"""A transformer for scikit-learn: tables with generalized quasi-identifiers, one row for every row that came in, in the
same order.

A model that is trained on the result saw nobody more closely than one of k people who look alike. Pipelines pair rows
with labels, so no row is left out and the order stays. That is why the result is for training and not for publication:
an adversary with the original knows from the order which row is whose. `sf.publish` shuffles.

Each table is anonymized by itself: `transform` on new rows makes classes among these rows.

>>> people = {"age": ["30", "31", "41", "43"], "pay": ["1", "2", "3", "4"]}
>>> Anonymizer(k=2, qi=["age"], numbers="middle").fit_transform(people).column("age").to_pylist()[:2]
[30.5, 30.5]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.errors import DataError
from sfumato.core.extras import require
from sfumato.data.table import Table
from sfumato.data.text_values import parse_interval, parse_number
from sfumato.io.table_source import TableSource
from sfumato.policy.builder import draft_policy, k_anonymity, l_diversity
from sfumato.workflow.anonymize import like
from sfumato.workflow.publish import publish

require("sklearn", "a transformer for scikit-learn")

from sklearn.base import BaseEstimator, TransformerMixin  # noqa: E402


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn transformer that generalizes columns to k-anonymity.

    Parameters
    ----------
    k
        Smallest size of an equivalence class.
    qi
        The columns to generalize; without them all columns.
    sensitive, l
        Columns of which every class has at least l distinct values.
    hierarchies
        Hierarchy of each column, as under ``hierarchy:``. Without one numbers become ranges.
    numbers
        ``labels`` gives ranges as text; ``middle`` gives the mean of the two ends of each range.
    method
        The method.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "31", "41", "43"], "pay": ["1", "2", "3", "4"]}
    >>> sf.Anonymizer(k=2, qi=["age"], numbers="middle").fit_transform(people).column("age").to_pylist()[:2]
    [30.5, 30.5]
    """

    def __init__(
        self,
        k: int = 5,
        qi: Sequence[str] | None = None,
        *,
        sensitive: Sequence[str] = (),
        l: float | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        numbers: str = "labels",
        method: str = "mondrian",
    ) -> None:
        self.k = k
        self.qi = qi
        self.sensitive = sensitive
        self.l = l
        self.hierarchies = hierarchies
        self.numbers = numbers
        self.method = method

    def fit(self, X: Any, y: Any = None) -> Anonymizer:
        """Remember which columns there are."""
        table = _read(X)
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        return self

    def transform(self, X: Any) -> Any:
        """The table with generalized quasi-identifiers, of the same kind as the one that was given."""
        table = _read(X)
        if list(self.feature_names_in_) != table.names:
            raise DataError(
                "the columns are not those that were fitted", hint="give the same columns in the same order"
            )
        publication = publish(self._draft(table), table)
        rows = publication.release.trace.rows["data"]
        back = pa.array(np.argsort(rows))
        columns = {}
        for name, column in zip(
            table.names, publication.release.parts["data"].table.select(table.names).columns, strict=True
        ):
            ordered = column.take(back)
            columns[name] = _middles(ordered) if self.numbers == "middle" and name in self._chosen(table) else ordered
        made = like(X, pa.table(columns), kept=[name for name in table.names if name not in self._chosen(table)])
        return made.set_axis(X.index) if hasattr(X, "index") and hasattr(made, "set_axis") else made

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The columns stay what they are called."""
        return self.feature_names_in_

    def _chosen(self, table: Table) -> list[str]:
        return [name for name in table.names if name not in self.sensitive] if self.qi is None else list(self.qi)

    def _draft(self, table: Table) -> Any:
        chosen = self._chosen(table)
        given = self.hierarchies or {}
        draft = (
            draft_policy()
            .sensitive(*self.sensitive)
            .protect(k_anonymity(self.k))
            .suppress_at_most(0)
            .method(self.method)
        )
        for name in chosen:
            draft = draft.quasi(name, hierarchy=given.get(name) or _ranges(table, name))
        draft = draft.protect(l_diversity(self.l)) if self.l is not None else draft
        return draft.other(*(name for name in table.names if name not in chosen and name not in self.sensitive))


def _read(X: Any) -> Table:
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise DataError("the data has not two dimensions", hint="give rows and columns")
        return TableSource().read({f"x{place}": X[:, place] for place in range(X.shape[1])})
    return TableSource().read(X)


def _ranges(table: Table, name: str) -> str | None:
    """Any range of numbers, where all values are numbers."""
    labels = table.text(name).labels
    return "ranges" if all(parse_number(label) is not None for label in labels) else None


def _middles(column: pa.ChunkedArray) -> pa.Array:
    """Numbers and ranges as numbers; what is neither is missing."""
    read = {}
    for label in set(column.to_pylist()):
        value = None if label is None else parse_number(str(label))
        ends = None if label is None or value is not None else parse_interval(str(label))
        read[label] = float(value) if value is not None else (float(ends[0]) + float(ends[1])) / 2 if ends else None
    return pa.array([read[label] for label in column.to_pylist()], pa.float64())
