"""`shuffling`: the values of some columns are dealt anew, in an order that is drawn as the other columns predict it.

Every column becomes normal scores of its ranks. Given the scores of the numbers that stay, those of the columns that change are
drawn from their conditional normal distribution; the values of each column are then dealt in the order of its drawn scores. Every
column keeps its values exactly, and rank correlations are kept on average; a drawn score says nothing of the record's own value
beyond what the other columns say.
Paper: Muralidhar, Sarathy (2006).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.table import Table
from sfumato.forms.perturbed import PerturbedTable
from sfumato.methods.aggregating.ground import is_numeric
from sfumato.methods.base import Task
from sfumato.methods.perturbing.base import Perturbing, normals, require_numbers, texts
from sfumato.methods.perturbing.swapping import ranks


class Shuffling(Perturbing):
    """Values of some columns are dealt anew in the order that the other columns predict; nothing is promised."""

    name: ClassVar[str] = "shuffling"
    paper: ClassVar[str] = "Muralidhar, Sarathy 2006"

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names, table = self.changing(task.policy), task.data
        require_numbers(table, names)
        stay = [name for name in task.policy.published if name not in names and is_numeric(table.text(name))]
        own, others = _scores(table, names), _scores(table, tuple(stay))
        weight = np.linalg.lstsq(others, own, rcond=None)[0] if stay else np.zeros((0, len(names)))
        rest = own - others @ weight
        size, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rest, rowvar=False, ddof=0)))
        drawn = normals(task.randomness.child("scores"), own.size).reshape(own.shape)
        scores = others @ weight + drawn @ (vectors * np.sqrt(np.maximum(size, 0.0))).T
        written = {name: _dealt(table, name, scores[:, place]) for place, name in enumerate(names)}
        return PerturbedTable(how="shuffling", columns=names), written


def _scores(table: Table, names: tuple[str, ...]) -> FloatArray:
    """Normal scores of the ranks of each column, equal values alike."""
    from scipy.stats import norm, rankdata

    columns = []
    for name in names:
        text = table.text(name)
        columns.append(norm.ppf(rankdata(table.numbers(name) if "" not in text.labels else text.codes) / (table.rows + 1)))
    return np.stack(columns, axis=1) if columns else np.zeros((table.rows, 0))


def _dealt(table: Table, name: str, scores: FloatArray) -> pa.Array:
    text = table.text(name)
    dealt: IntArray = np.empty(table.rows, dtype=np.int64)
    dealt[np.argsort(scores, kind="stable")] = text.codes[ranks(text)]
    return texts(text.labels, dealt)
