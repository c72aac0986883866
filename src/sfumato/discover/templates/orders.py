"""Orders: `a <= b` (or `a < b`) between columns of the same unit, in every record that has both.

Notation
    share   the probability that a value of `a` is at most a value of `b` when records are paired at random
    chance  share ^ (distinct pairs of values): equal pairs are one witness

Departures
    `<` is proposed only when ties are missing for a reason: the smallest gaps are so dense that some seven ties were to be
    expected, or the smallest gap is ten times wider than the distance between small gaps. Otherwise `<=`, the weaker promise.
    An order that follows from two others is left out. Columns whose ranges hardly overlap (share above 0.95) are ordered by what
    they measure, not by a rule: such proposals are switched off. Ranges that do not overlap at all give none. Keys and references
    are no quantities.

Cost: pairs of columns of one unit; most die on the sample; one sort per column.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"low": [str(i % 17) for i in range(90)], "high": [str(i % 17 + i % 5) for i in range(90)]}))
>>> [each.rule for each in Orders().propose(DataView.of({None: table}))]
['low <= high']
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.discover.proposal import Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.view import ColumnView, DataView, pairs, sampled

_SEPARATE = 0.95
_NEAR, _EXPECTED = 10, 7.0
_APART = 10.0
"""Numbers whose medians differ by more than this factor measure different things, unless their names share a word."""


class Orders(Template):
    """`a <= b`."""

    name: ClassVar[str] = "orders"
    order: ClassVar[int] = 30

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            yield from _orders([column for column in columns if _varies(column) and column not in view.pointing])


def _varies(column: ColumnView) -> bool:
    return column.unit in ("number", "day", "moment") and len(column.values) > 2


def _orders(columns: list[ColumnView]) -> Iterator[Proposal]:
    sample = sampled(columns[0].rows) if columns else np.zeros(0, dtype=np.int64)
    found = {(one, two): ties for one, two in permutations(columns, 2) if (ties := _ordered(one, two, sample)) is not None}
    for (one, two), ties in found.items():
        implied = any((one, middle) in found and (middle, two) in found and (middle, one) not in found for middle in columns)
        if not implied and (two, one) not in found:
            yield _proposal(one, two, ties)


def _ordered(one: ColumnView, two: ColumnView, sample: np.ndarray) -> bool | None:
    """Whether ties occur; None when the order does not hold, or cannot be told from two different scales."""
    if one.unit != two.unit or not _same_scale(one, two):
        return None
    for rows in (sample, slice(None)):
        both = one.present[rows] & two.present[rows]
        a, b = one.quantities[rows][both], two.quantities[rows][both]
        if not len(a) or (a > b).any():
            return None
    return None if b.min() >= a.max() else bool((a == b).any())


def _same_scale(one: ColumnView, two: ColumnView) -> bool:
    if one.unit != "number" or set(one.words) & set(two.words):
        return True
    small, large = sorted((one.magnitude, two.magnitude))
    return large <= _APART * max(small, 1.0)


def _is_strict(gaps: NDArray[Any]) -> bool:
    """Whether ties are missing for a reason: they were to be expected, or the smallest gap is far from none at all."""
    near = np.sort(gaps)[:_NEAR].astype(np.float64)
    step = float(np.gcd.reduce(gaps)) if np.issubdtype(gaps.dtype, np.integer) else 0.0
    expected = len(near) * step / float(near[-1])
    apart = float(near[-1] - near[0]) / max(len(near) - 1, 1)
    return expected >= _EXPECTED or float(near[0]) > _NEAR * max(apart, step)


def _proposal(one: ColumnView, two: ColumnView, ties: bool) -> Proposal:
    both = one.present & two.present
    a, b = one.quantities[both], two.quantities[both]
    sign = "<=" if ties or not _is_strict(b - a) else "<"
    share = float(1 - np.searchsorted(np.sort(b), a, side="left").mean() / len(b))
    witnesses = len(np.unique(pairs(one, two, both)))
    off = "the ranges hardly overlap" if share > _SEPARATE else ""
    chance = witnesses * math.log10(max(share, 1e-300))
    return Proposal(f"{one} {sign} {two}", Orders.name, int(both.sum()), chance, off=off if chance <= -2 else "")
