"""What all perturbing methods share: which columns they change, the refusal of promises, and the published table.

Invariants
    I1  Every draw comes from the cryptographic source, with a child of its own for every column.
    I2  Rows are shuffled; the private trace, which says whose row each was, lasts for the attack that measures the risk.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.data.arrays import FloatArray
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.forms.perturbed import PerturbedTable
from sfumato.methods.aggregating.ground import is_numeric
from sfumato.methods.base import Method, Task
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness
from sfumato.release.form import Form
from sfumato.release.release import Part, Release, Trace

NOTHING = "nothing is promised about anybody: values changed by chance, and who knows enough of a person may still find their row"


class Perturbing(Method):
    """A method that changes values of some columns by chance."""

    form: ClassVar[type[Form]] = PerturbedTable

    columns: tuple[str, ...] = Field(default=(), description="the columns whose values change; all quasi-identifiers unless said")

    def refusal(self, policy: Policy) -> str:
        if policy.claims:
            return "chance keeps no promise about single people: leave 'protect' empty, and measure the risk with 'attack linkage'"
        if policy.keep:
            return "values that changed by chance need not obey the rules under 'keep'"
        strange = [name for name in self.columns if name not in policy.published]
        if strange:
            return f"'{strange[0]}' is to change and is not published"
        return "" if self.changing(policy) else "the policy has no quasi-identifier column, and no columns are named"

    def changing(self, policy: Policy) -> tuple[str, ...]:
        """The columns whose values change."""
        return self.columns or policy.quasi_identifiers

    def run(self, task: Task) -> Release:
        form, written = self.changed(task)
        rows = task.randomness.child("row order").permutation(task.data.rows)  # I2
        columns = {}
        for name in task.policy.published:
            column = written.get(name)
            columns[name] = (task.data.column(name).combine_chunks() if column is None else column).take(pa.array(rows))
        return Release(form, {"data": Part(pa.table(columns))}, 0, Trace({"data": rows}, lasting=True), notes=(NOTHING,))

    @abstractmethod
    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        """The form with what is declared, and the new columns, in the order of the records."""


def texts(labels: list[str] | tuple[str, ...], codes: np.ndarray) -> pa.Array:
    """A column of texts from codes."""
    return pa.array(list(labels), pa.string()).take(pa.array(codes))


def require_numbers(table: Table, names: tuple[str, ...]) -> None:
    """Refuses columns that are no numbers, or have missing ones."""
    for name in names:
        text = table.text(name)
        if not is_numeric(text) or "" in text.labels:
            raise DataError(f"column '{name}' has values that are no numbers", hint="name the columns to change: columns: […]")


def normals(randomness: Randomness, count: int) -> FloatArray:
    """Standard normal numbers, two from two uniform ones (I1)."""
    half = (count + 1) // 2
    radius = np.sqrt(-2 * np.log(np.maximum(randomness.child("radius").uniform(half), 1e-300)))
    angle = 2 * np.pi * randomness.child("angle").uniform(half)
    drawn: FloatArray = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
    return drawn
