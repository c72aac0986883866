"""Totals: a column of a parent is the sum, or the number, of what its children say.

Notation
    chance  (probability that two random values of the parent's column agree) ^ (parents with children)

Departures
    Parents without children must say 0. Sums of one column and of the product of two are looked for, along references found before.

Cost: one sum per reference, column (or pair of columns) of the child and column of the parent.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> from sfumato.discover.templates.foreign_keys import ForeignKeys
>>> lines = {"bill_id": [i // 3 for i in range(90)], "price": [i * i % 37 for i in range(90)]}
>>> bills = {"bill_id": list(range(30)), "total": [sum(lines["price"][3 * i : 3 * i + 3]) for i in range(30)]}
>>> view = DataView.of({"bill": Table(pa.table(bills)), "line": Table(pa.table(lines))})
>>> _ = list(ForeignKeys().propose(view))
>>> [each.rule for each in TotalTemplate().propose(view)]
['bill.total = sum(line.price by line.bill_id)']
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.discover.proposal import Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.view import ColumnView, DataView

_EXACT = float(1 << 52)
_Part = tuple[str, NDArray[np.float64] | None, int]


class TotalTemplate(Template):
    """`parent.total = sum(child.price by child.parent_id)`, `parent.n = count(by child.parent_id)`."""

    name: ClassVar[str] = "totals"
    order: ClassVar[int] = 45

    def propose(self, view: DataView) -> Iterator[Proposal]:
        tables = view.tables()
        for child, parent in view.links:
            if child.table == parent.table or child.missing:
                continue
            parts = list(_parts([one for one in tables[child.table] if _is_quantity(one, view)]))
            for total in tables[parent.table]:
                if _is_quantity(total, view) and len(total.values) > 2 and total.missing == 0:
                    yield from _fitting(total, parts, child, _rows(child, parent))


def _is_quantity(column: ColumnView, view: DataView) -> bool:
    return column not in view.pointing and column.unit == "number" and column.exact and column.missing == 0


def _parts(numbers: list[ColumnView]) -> Iterator[_Part]:
    """What may be summed: its words, its values as whole numbers, and their scale; no values for the number of children."""
    yield "count(", None, 1
    yield from ((f"sum({one} ", one.levels.astype(np.float64), one.scale) for one in numbers)
    for one, two in combinations(numbers, 2):
        if min(len(one.values), len(two.values)) > 1:
            yield f"sum({one} * {two} ", one.levels.astype(np.float64) * two.levels, one.scale * two.scale


def _rows(child: ColumnView, parent: ColumnView) -> NDArray[np.int64]:
    """The parent's row behind every row of the child."""
    place = {parent.text.labels[code]: row for row, code in enumerate(parent.text.codes.tolist())}
    return np.array([place.get(label, 0) for label in child.text.labels], dtype=np.int64)[child.text.codes]


def _fitting(total: ColumnView, parts: list[_Part], child: ColumnView, rows: NDArray[np.int64]) -> Iterator[Proposal]:
    used = len(np.unique(rows))
    for words, values, scale in parts:
        sums = np.bincount(rows, weights=values, minlength=total.rows).astype(np.float64)
        if max(float(np.abs(sums).max()) * total.scale, float(np.abs(total.levels).max()) * scale) > _EXACT:
            continue
        if (sums * total.scale == total.levels * float(scale)).all():
            guess = float(((total.counts / total.rows) ** 2).sum())
            yield Proposal(f"{total} = {words}by {child})", TotalTemplate.name, used, (used - 1) * math.log10(guess))
            return
