"""Constant aggregates: a mean that is a whole number, a total or a count that is the same in every group.

Guarantee
    Never switched on. Such a constant is a statistic of the data: whoever keeps it publishes it. The data holder decides.

Notation
    chance  mean: one in n sums is a multiple of n, so 1/n. Groups: G totals all agree though they scatter by σ (from the spread
            of single values), (1/σ)^(G − 1).

Cost: one sum per column; groups only by columns with 2 to 50 values.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"team": ["a", "b"] * 50, "score": [str(80 + i // 2 % 21) for i in range(100)]}))
>>> [(each.rule, each.active) for each in Aggregates().propose(DataView.of({None: table}))]
[('count(by team) = 50', False), ('sum(score by team) = 4448', False)]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sfumato.discover.proposal import Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.view import ColumnView, DataView

OFF = "a statistic of the data, published by being kept"
_LEAST_ROWS, _MOST_GROUPS = 20, 50


class Aggregates(Template):
    """`mean(a) = c`, `sum(a by g) = c`, `count(by g) = c`: always switched off."""

    name: ClassVar[str] = "aggregates"
    order: ClassVar[int] = 80

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            if columns[0].rows < _LEAST_ROWS:
                continue
            numbers = [column for column in columns if column not in view.pointing and _is_quantity(column)]
            yield from (found for column in numbers if (found := _mean(column)))
            for group in columns:
                if group.missing == 0 and 2 <= len(group.values) <= _MOST_GROUPS:
                    yield from _grouped(group, numbers)


def _is_quantity(column: ColumnView) -> bool:
    return column.unit == "number" and column.exact and len(column.values) > 2


def _mean(column: ColumnView) -> Proposal | None:
    known = column.levels[column.present]
    mean, rest = divmod(int(known.sum()), len(known) * column.scale)
    if rest:
        return None
    return Proposal(f"mean({column}) = {mean}", Aggregates.name, len(known), -math.log10(len(known)), off=OFF)


def _grouped(group: ColumnView, numbers: list[ColumnView]) -> Iterator[Proposal]:
    codes, groups = group.text.codes, len(group.text.labels)
    if len(set(group.counts.tolist())) == 1 and group.counts[0] > 1:
        chance = -(groups - 1) * math.log10(max(math.sqrt(group.counts[0]), 1.0))
        yield Proposal(f"count(by {group}) = {group.counts[0]}", Aggregates.name, group.rows, chance, off=OFF)
    for column in numbers:
        if column is group or column.missing:
            continue
        totals = np.zeros(groups, dtype=np.int64)
        np.add.at(totals, codes, column.levels)
        if (totals == totals[0]).all():
            spread = float(column.levels.std()) * math.sqrt(group.rows / groups)
            total = f"{int(totals[0]) / column.scale:.12g}"
            chance = -(groups - 1) * math.log10(max(spread, 1.0))
            yield Proposal(f"sum({column} by {group}) = {total}", Aggregates.name, group.rows, chance, off=OFF)
