"""Values of rules as the audit reads them: whole numbers over one denominator, or texts, and where they are missing.


Plain values
------------
Numbers and moments in their plainest spelling, read at once: what servers write, in millions of rows.

`12`, `-0.50` and `2024-02-29 12:30:00.5` are read here, exactly; everything else (`1e3`, a zone, a week) is left to
those who read value by value, and both come to the same numbers.

>>> halves, denominator = whole_numbers(["1.50", "-2"])
>>> halves.tolist(), denominator, whole_numbers(["1", "x"])
([3, -4], 2, None)
>>> halves, denominator = moments(["0001-01-01", "0001-01-02 12:00:00"])
>>> halves.tolist(), denominator, moments(["noon"])
([2, 5], 2, None)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray
from sfumato.core.errors import DataError
from sfumato.data.table import TextColumn
from sfumato.data.text_values import parse_number, parse_timestamp
from sfumato.policy.constraint_language.functions import Scalar

Cells = Sequence[str] | TextColumn
"""A column: its texts, or codes into its distinct texts."""


@dataclass(frozen=True)
class Value:
    """Whole numbers over one denominator (0 marks texts), and where they are missing."""

    parts: NDArray[Any]
    denominator: int
    missing: BoolArray


def value_of_scalars(found: list[Scalar | None], kind: str) -> Value:
    """Texts, or numbers over one denominator."""
    missing = np.array([one is None for one in found], dtype=bool)
    if kind == "text":
        return Value(np.array(["" if one is None else one for one in found], dtype=object), 0, missing)
    numbers = [Fraction(0) if one is None else Fraction(one) for one in found]
    denominator = math.lcm(1, *{number.denominator for number in numbers})
    return Value(
        shrink_integers(np.array([int(number * denominator) for number in numbers], dtype=object)), denominator, missing
    )


def encode_column(cells: Cells) -> TextColumn:
    """A column as codes into its distinct texts; a missing cell is the empty text."""
    if isinstance(cells, TextColumn):
        return cells
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault("" if cell is None else str(cell), len(numbers)) for cell in cells]
    return TextColumn(np.array(codes, dtype=np.int32), tuple(numbers))


def parse_column(cells: Cells) -> Value:
    """A column as numbers when all its values are numbers, as day numbers when all are days, else as texts."""
    text = encode_column(cells)
    empty = np.array([not label for label in text.labels], dtype=bool)
    present = [label for label in text.labels if label]
    if not present:
        return Value(np.zeros(len(text.codes), dtype=np.int64), 1, empty[text.codes])
    for parser in (whole_numbers, moments, _numbers, _days):
        found = parser(present)
        if found is not None:
            table, denominator = found
            parts = np.zeros(len(text.labels), dtype=object)
            parts[~empty] = table
            return Value(shrink_integers(parts)[text.codes], denominator, empty[text.codes])
    return Value(np.array(text.labels, dtype=object)[text.codes], 0, empty[text.codes])


def _numbers(texts: list[str]) -> tuple[list[int], int] | None:
    values = [parse_number(text) for text in texts]
    return None if None in values else _over_one([Fraction(value) for value in values if value is not None])


def _days(texts: list[str]) -> tuple[list[int], int] | None:
    """Days and moments, both in days."""
    values = [parse_timestamp(text) for text in texts]
    return None if None in values else _over_one([value for value in values if value is not None])


def _over_one(values: list[Fraction]) -> tuple[list[int], int]:
    denominator = math.lcm(1, *{value.denominator for value in values})
    return [int(value * denominator) for value in values], denominator


def shrink_integers(parts: NDArray[Any]) -> NDArray[Any]:
    """64-bit integers while the numbers are far from overflowing (a factor of 2³¹ to spare)."""
    if len(parts) and max(abs(int(parts.min())), abs(int(parts.max()))) >= 1 << 31:
        return parts
    return parts.astype(np.int64)


def scalar(value: Fraction) -> Value:
    """A constant."""
    return Value(shrink_integers(np.array([value.numerator], dtype=object)), value.denominator, np.zeros(1, dtype=bool))


def repeat_in_rows(value: Value, rows: int) -> Value:
    """A value in every row."""
    return Value(np.broadcast_to(value.parts, (rows,)), value.denominator, np.broadcast_to(value.missing, (rows,)))


def combine_masks(operation: Any, masks: list[BoolArray]) -> BoolArray:
    """Several masks in one."""
    found = masks[0]
    for mask in masks[1:]:
        found = operation(found, mask)
    return found


def align_values(left: Value, right: Value) -> tuple[Value, Value]:
    """Both sides over one denominator, or both as texts."""
    if (left.denominator == 0) != (right.denominator == 0):
        if any(
            side.denominator and side.missing.all() for side in (left, right)
        ):  # a column of nothing is of either kind
            return _blank(left), _blank(right)
        raise DataError("a rule compares a text with a number or a day", hint="check the column's values")
    if left.denominator == 0:
        return left, right
    common = math.lcm(left.denominator, right.denominator)
    return _over(left, common), _over(right, common)


def _blank(value: Value) -> Value:
    return value if value.denominator == 0 else Value(np.full(value.parts.shape, "", dtype=object), 0, value.missing)


def _over(value: Value, denominator: int) -> Value:
    return Value(_times(value.parts, denominator // value.denominator), denominator, value.missing)


def _times(parts: NDArray[Any], factor: int) -> NDArray[Any]:
    return parts if factor == 1 else shrink_integers(parts.astype(object) * factor)


def calculate(operator: str, left: Value, right: Value) -> Value:
    """The result of an operation, exactly."""
    if 0 in (left.denominator, right.denominator):
        raise DataError("a rule calculates with a text", hint="check the column's values")
    missing = left.missing | right.missing
    if operator in "+-":
        one, two = align_values(left, right)
        total = one.parts.astype(object) + (1 if operator == "+" else -1) * two.parts.astype(object)
        return Value(shrink_integers(total), one.denominator, missing)
    if operator == "*":
        product = left.parts.astype(object) * right.parts.astype(object)
        return Value(shrink_integers(product), left.denominator * right.denominator, missing)
    divisor = Fraction(int(right.parts[0]), right.denominator)
    factor = divisor.denominator if divisor > 0 else -divisor.denominator
    return Value(_times(left.parts, factor), left.denominator * abs(divisor.numerator), missing)


def rows_by_group(labels: NDArray[np.int64], used: BoolArray) -> list[NDArray[np.int64]]:
    """The rows of every group."""
    groups: list[list[int]] = [[] for _ in range(int(labels.max()) + 1 if len(labels) else 0)]
    for row in np.flatnonzero(used).tolist():
        groups[labels[row]].append(row)
    return [np.array(group, dtype=np.int64) for group in groups]


def aggregate_groups(
    function: str, value: Value, groups: list[NDArray[np.int64]], share: Fraction = Fraction(1, 2)
) -> Value:
    """One exact number per group; mean, min and max of nothing are missing; `share` is a quantile's."""
    found: list[Fraction | None] = []
    for rows in groups:
        if function == "count":
            found.append(Fraction(len(rows)))
        elif function == "distinct":
            found.append(Fraction(len(set(value.parts[rows].tolist()))))
        elif function == "sum" or not len(rows):
            found.append(Fraction(int(value.parts[rows].sum()), value.denominator) if function == "sum" else None)
        elif function == "mean":
            found.append(Fraction(int(value.parts[rows].sum()), value.denominator * len(rows)))
        elif function == "median":
            ordered = sorted(value.parts[rows].tolist())
            middle = ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
            found.append(Fraction(int(middle), 2 * value.denominator))
        elif function == "quantile":
            distinct, counts = np.unique(value.parts[rows], return_counts=True)
            reached = next(
                place for place, below in enumerate(np.cumsum(counts).tolist()) if below >= share * len(rows)
            )
            found.append(Fraction(int(distinct[reached]), value.denominator))
        else:
            extreme = value.parts[rows].min() if function == "min" else value.parts[rows].max()
            found.append(Fraction(int(extreme), value.denominator))
    denominator = math.lcm(1, *(number.denominator for number in found if number is not None))
    parts = np.array([0 if number is None else int(number * denominator) for number in found], dtype=object)
    return Value(shrink_integers(parts), denominator, np.array([number is None for number in found], dtype=bool))


# Plain values
# ------------


_NUMBER = r"^-?[0-9]{1,12}(\.[0-9]{1,6})?$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?$"
_PLACES = 6
_DAY, _EPOCH = 86_400_000_000, 719_163
"""Microseconds of a day, and the number of the day on which Unix counts from."""
Read = tuple[NDArray[Any], int]
"""Whole numbers over one denominator."""


def whole_numbers(texts: list[str]) -> Read | None:
    """Plain numbers over one denominator; None when one of the texts is no plain number."""
    written = _alike(texts, _NUMBER)
    if written is None:
        return None
    scaled = pc.cast(written, pa.decimal128(18, _PLACES))
    return _reduced(
        np.frombuffer(scaled.buffers()[1], dtype=np.int64)[::2][: len(texts)], 10**_PLACES
    )  # the lower half of each


def moments(texts: list[str]) -> Read | None:
    """Days and moments without a zone, in days; None when one of the texts is neither."""
    written = _alike(texts, _MOMENT)
    if written is None:
        return None
    try:
        passed = pc.cast(written, pa.timestamp("us")).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:  # no such day
        return None
    since = passed + _EPOCH * _DAY
    return _reduced(since, _DAY) if int(since.min()) >= _DAY else None


def _alike(texts: list[str], form: str) -> pa.Array | None:
    try:
        written = pa.array(texts, pa.string())
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    return written if pc.all(pc.match_substring_regex(written, form)).as_py() else None


def _reduced(parts: NDArray[np.int64], denominator: int) -> Read:
    """Over the smallest denominator that serves all."""
    common = int(np.gcd(np.gcd.reduce(parts), denominator))
    return parts // common, denominator // common
