"""`swapping`: every value changes places with one of nearby rank in its column, column by column.

What stays: the values of every column, exactly; what is near: correlations, as far as the window is narrow.
Paper: Moore (1996).

Invariants
    I1  Two records change places at most once per column, and their ranks are at most a window apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.data.table import TextColumn
from sfumato.forms.perturbed import PerturbedTable
from sfumato.methods.aggregating.ground import is_numeric, values_of
from sfumato.methods.base import Task
from sfumato.methods.perturbing.base import Perturbing, texts
from sfumato.randomness import Randomness


class Swapping(Perturbing):
    """Values change places with values of nearby rank: every column keeps its values, nothing is promised."""

    name: ClassVar[str] = "swapping"
    paper: ClassVar[str] = "Moore 1996"

    window: float = Field(default=0.05, gt=0, le=1, description="how far apart ranks may be, as a share of all rows")

    def changed(self, task: Task) -> tuple[PerturbedTable, Mapping[str, pa.Array]]:
        names = self.changing(task.policy)
        written = {}
        for name in names:
            text = task.data.text(name)
            partner = partners(ranks(text), max(1, int(self.window * len(text.codes))), task.randomness.child(name))
            written[name] = texts(text.labels, text.codes[partner])
        return PerturbedTable(how="swapping", columns=names, window=self.window), written


def ranks(text: TextColumn) -> IntArray:
    """The records of a column from its least to its largest value; names stand in the order of the alphabet."""
    order = np.argsort(np.argsort(np.array(text.labels, dtype=object), kind="stable"), kind="stable")
    key = values_of(text) if is_numeric(text) else order[text.codes].astype(np.float64)
    return np.argsort(key, kind="stable")


def partners(ranked: IntArray, window: int, randomness: Randomness) -> IntArray:
    """For each record the record whose value it gets (I1); the last ones may be left with their own."""
    many = len(ranked)
    steps = randomness.integers(window, many).tolist() if many else []
    partner, free = list(range(many)), [True] * many
    for place in range(many):
        if not free[place]:
            continue
        reach = min(window, many - place - 1)
        for turn in range(reach):
            other = place + 1 + (steps[place] + turn) % reach
            if free[other]:
                partner[place], partner[other] = other, place
                free[place] = free[other] = False
                break
    found = np.empty(many, dtype=np.int64)
    found[ranked] = ranked[np.array(partner, dtype=np.int64)] if many else ranked
    return found
