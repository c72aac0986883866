"""Linear relations: two or three columns that lie exactly on a line or a plane with small whole coefficients.

The coefficients are read off a few rows: differences of rows span the directions the data moves in, and what is perpendicular to
all of them is the relation. Everything is in whole numbers.

Notation
    k · x = s   coefficients k (whole, without a common divisor, at most 100), right side s
    witnesses   distinct rows of the columns beyond those that fix the relation
    chance      (probability that two random values of the hardest-to-guess column agree) ^ witnesses, times the number of relations
                that were possible

Departures
    Days only meet as a difference: b − a = s, or b − a = a number of days. A relation that contains a smaller one is left out.
    Keys and references are no quantities.

    Columns with hardly a value in the sample are not looked at.

Cost: triples of columns on 64 rows, then on the sample; all rows for the few that survive.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> net, tax = [i * i % 89 for i in range(90)], [7 * i % 31 for i in range(90)]
>>> gross = [a + b for a, b in zip(net, tax)]
>>> table = Table(pa.table({"net": net, "tax": tax, "gross": gross}))
>>> [each.rule for each in LinearTemplate().propose(DataView.of({None: table}))]
['gross = net + tax']
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
from sfumato.discover.view import ColumnView, DataView, sampled

_LARGEST = 100
_TRIED = 64
_WIDEST = 1 << 40


class LinearTemplate(Template):
    """`c = a + b`, `2 * a = 3 * b`, `end - start = days`."""

    name: ClassVar[str] = "linear"
    order: ClassVar[int] = 40

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            usable = [column for column in columns if column not in view.pointing and _usable(column)]
            tied: list[set[ColumnView]] = []
            for size in (2, 3):
                for chosen in combinations(usable, size):
                    if not any(smaller <= set(chosen) for smaller in tied) and (found := _relation(chosen)):
                        tied.append(set(chosen))
                        yield found


def _usable(column: ColumnView) -> bool:
    return column.exact and len(column.values) > 2 and int(np.abs(column.levels).max()) < _WIDEST


def _relation(columns: tuple[ColumnView, ...]) -> Proposal | None:
    days = [column.unit == "day" for column in columns]
    if sum(days) not in (0, 2):
        return None
    scale = math.lcm(*(column.scale for column in columns))
    some = _points(columns, scale, sampled(columns[0].rows))
    if len(some) <= len(columns) + 1:
        return None
    normal = _normal(some[:: max(1, len(some) // _TRIED)])
    if normal is None or (any(days) and sum(int(k) for k, day in zip(normal, days, strict=True) if day) != 0):
        return None
    side = int(some[0] @ normal)
    if (some @ normal != side).any() or (_points(columns, scale, slice(None)) @ normal != side).any():
        return None
    rule = written([int(k) for k in normal], [str(column) for column in columns], side, scale)
    return Proposal(rule, LinearTemplate.name, *_evidence(columns))


def _points(columns: tuple[ColumnView, ...], scale: int, rows: NDArray[np.int64] | slice) -> NDArray[np.int64]:
    """Whole numbers, one column each, of those rows in which none is missing."""
    known = np.logical_and.reduce([column.present[rows] for column in columns])
    return np.column_stack([column.levels[rows][known].astype(np.int64) * (scale // column.scale) for column in columns])


def _normal(points: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The one direction in which the points do not move, as whole numbers; None when there is none or it is no small one."""
    moves = [[int(part) for part in move] for move in points[1:] - points[0] if move.any()]
    if not moves:
        return None
    first = moves[0]
    if len(first) == 2:
        normal = [first[1], -first[0]]
    else:
        crosses = ([a * d - b * c for a, b, c, d in _minors(first, move)] for move in moves[1:])
        normal = next((cross for cross in crosses if any(cross)), [])
    divisor = math.gcd(*normal) if normal else 0
    normal = [part // divisor for part in normal] if divisor else []
    if not normal or 0 in normal or max(map(abs, normal)) > _LARGEST:
        return None
    if any(sum(k * part for k, part in zip(normal, move, strict=True)) for move in moves):
        return None
    return np.array(normal if normal[0] > 0 else [-part for part in normal], dtype=np.int64)


def _minors(one: list[int], two: list[int]) -> list[tuple[int, int, int, int]]:
    """Entries (a, b, c, d) whose a·d − b·c are the components of the cross product."""
    (a, b, c), (d, e, f) = one, two
    return [(b, c, e, f), (c, a, f, d), (a, b, d, e)]


def written(coefficients: list[int], names: list[str], side: int, scale: int) -> str:
    """The relation with the column that stands alone on the left.

    >>> written([1, 1, -2], ["a", "b", "c"], 0, 1), written([1, 1, 1], ["a", "b", "c"], 100, 1), written([1, -1], ["a", "b"], -7, 1)
    ('c = (a + b) / 2', 'a + b + c = 100', 'b = a + 7')
    """
    positive = [place for place, k in enumerate(coefficients) if k > 0]
    negative = [place for place, k in enumerate(coefficients) if k < 0]
    if not negative or not positive:
        sign = "-" if side and (side < 0) == bool(positive) else ""
        return f"{_sum(coefficients, names, positive or negative)} = {sign}{_constant(abs(side), scale)}"
    alone, others = (negative, positive) if len(negative) == 1 else (positive, negative)
    if len(coefficients) == 2 and (abs(coefficients[alone[0]]) != 1 or (side >= 0 and abs(coefficients[others[0]]) == 1)):
        alone, others = others, alone
    offset = -side if alone is negative else side
    rest = _sum(coefficients, names, others)
    if offset:
        rest += f" {'+' if offset > 0 else '-'} {_constant(abs(offset), scale)}"
    factor = abs(coefficients[alone[0]])
    if factor == 1:
        return f"{names[alone[0]]} = {rest}"
    if len(others) == 1 and not offset and abs(coefficients[others[0]]) != 1:
        return f"{factor} * {names[alone[0]]} = {rest}"
    return f"{names[alone[0]]} = {f'({rest})' if ' ' in rest else rest} / {factor}"


def _sum(coefficients: list[int], names: list[str], places: list[int]) -> str:
    return " + ".join(names[p] if abs(coefficients[p]) == 1 else f"{abs(coefficients[p])} * {names[p]}" for p in places)


def _constant(side: int, scale: int) -> str:
    whole, rest = divmod(side, scale)
    return str(whole) if not rest else f"{whole}.{str(rest).zfill(len(str(scale)) - 1).rstrip('0')}"


def _evidence(columns: tuple[ColumnView, ...]) -> tuple[int, float]:
    """Rows that speak for the relation, and the chance."""
    known = np.logical_and.reduce([column.present for column in columns])
    codes = np.column_stack([column.text.codes[known] for column in columns])
    witnesses = len(np.unique(codes, axis=0)) - len(columns) - 1
    guess = min(float(((column.counts / column.rows) ** 2).sum()) for column in columns)
    chance = max(witnesses, 0) * math.log10(max(guess, 1e-300)) + len(columns) * math.log10(2 * _LARGEST + 1)
    return int(known.sum()), min(0.0, chance)
