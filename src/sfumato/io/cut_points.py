"""``{cuts: …}``: numbers in bins between chosen points; several lists, from fine to coarse, make several levels.

A bin holds its lower point and everything below the next one. The first and the last point are the ends: a value outside them is an
error, so every label says what it stands for, and a table of the next year knows the same labels.

Invariants
    I1  Bins nest: the points of a coarser level are some of the points of the finer one, with the same ends.
    I2  A label is read back (`numbers.span`) as an interval around every leaf below it.

>>> by_cuts(["3", "18", "64"], cut_levels(["0", "18", "65"], "age"), column="age").paths()
[['3', '0-17', '*'], ['18', '18-64', '*'], ['64', '18-64', '*']]
>>> by_cuts(["0.5", "2"], cut_levels([["0", "1", "2", "3"], ["0", "2", "3"]], "dose"), column="dose").paths()[0]
['0.5', '[0, 1)', '[0, 2)', '*']
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.labels import row_of
from sfumato.data.numbers import EXACT, is_whole, number, numbers, plain
from sfumato.errors import DataError, PolicyError

MOST_POINTS = 1_000


def cut_levels(argument: Any, column: str) -> list[list[Decimal]]:
    """The points of every level, from fine to coarse."""
    listed = isinstance(argument, list | tuple) and bool(argument)
    levels = argument if listed and all(isinstance(entry, list | tuple) for entry in argument) else [argument]
    read = [_points(level, column) for level in levels]
    for fine, coarse in pairwise(read):
        if not set(coarse) <= set(fine) or (coarse[0], coarse[-1]) != (fine[0], fine[-1]):  # I1
            what = f"cuts of column '{column}' do not nest: a coarser list holds some points of the finer one, with the same ends"
            raise PolicyError(what, hint="for example {cuts: [[0, 18, 30, 65, 120], [0, 30, 120]]}")
    return read


def _points(level: Any, column: str) -> list[Decimal]:
    hint = "for example {cuts: [0, 18, 30, 65, 120]}; the first and the last one are the ends"
    points = [number(str(entry)) for entry in level] if isinstance(level, list | tuple) else []
    found = [point for point in points if point is not None]
    if len(found) < max(2, len(points)) or len(found) > MOST_POINTS:
        raise PolicyError(f"cuts of column '{column}' are at least two numbers", hint=hint)
    if any(low >= high for low, high in pairwise(found)):
        raise PolicyError(f"cuts of column '{column}' do not rise", hint=hint)
    return found


def by_cuts(values: Sequence[str], levels: Sequence[Sequence[Decimal]], *, column: str) -> Hierarchy:
    """Numbers in the bins of every level."""
    ordered = sorted(zip(numbers(values, column), values, strict=True))
    low, high = levels[0][0], levels[0][-1]
    for value, leaf in ordered:
        if not low <= value < high:
            row = row_of(values, leaf)
            what = f"row {row} of column '{column}'" if row else f"a value of column '{column}'"
            raise DataError(
                f"{what} lies outside its cuts ({plain(low)} to below {plain(high)})", hint="move the first or the last one"
            )
    whole = all(map(is_whole, (*levels[0], *(value for value, _ in ordered))))
    return Hierarchy.from_paths([[leaf, *(_bin(value, level, whole) for level in levels), ROOT] for value, leaf in ordered])


def _bin(value: Decimal, points: Sequence[Decimal], whole: bool) -> str:
    at = bisect_right(points, value)
    low, high = points[at - 1], points[at]
    return f"{plain(low)}-{plain(EXACT.subtract(high, 1))}" if whole else f"[{plain(low)}, {plain(high)})"  # I2
