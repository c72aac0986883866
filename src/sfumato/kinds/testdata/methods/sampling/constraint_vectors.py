"""Rules over arrays of levels, in exact integers: which combinations of values are legal.

Notation
    level    the integer that stands for a value: number · unit, or the day number of a date
    Vector   levels with their unit, or texts; a constant is a vector of length one

>>> from sfumato.policy.constraint_language import parse
>>> table = {ColumnValue("a"): number(np.array([1, 2, 3])), ColumnValue("b"): number(np.array([25, 25, 25]), unit=10)}
>>> holds(parse("a < b").body, table).tolist()
[True, True, False]


Row functions
-------------
Functions of one record over whole vectors: every combination of values is calculated once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray
from sfumato.data.check_digits import is_valid
from sfumato.data.regular_expressions import matches_pattern
from sfumato.policy.constraint_language.functions import FUNCTIONS, Scalar, call
from sfumato.policy.constraint_language.syntax_tree import (
    All,
    Any_,
    Arithmetic,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Expression,
    Function,
    Implies,
    IsNull,
    Match,
    Membership,
    Negative,
    Not,
    Number,
    Own,
    TextConstant,
    Valid,
)
from sfumato.policy.custom_code import custom_rule_holds as own_code

_SAFE = 1 << 62


@dataclass(frozen=True)
class Vector:
    """`levels / unit`, or texts when `unit` is 0."""

    levels: NDArray[Any]
    unit: int
    raw: NDArray[Any] | None = None
    """The texts behind numbers that came as texts; a quoted constant is compared with these."""

    @property
    def is_text(self) -> bool:
        return self.unit == 0

    def as_text(self) -> NDArray[Any]:
        """The texts; of numbers that were drawn, how they are written."""
        if self.raw is not None:
            return self.raw
        if self.is_text:
            return self.levels
        if self.unit == 1:
            return self.levels.astype(np.str_)
        return np.array([format(Decimal(int(level)) / self.unit, "f") for level in self.levels], dtype=np.str_)

    def at(self, rows: Any) -> Vector:
        """Some of the rows."""
        return Vector(self.levels[rows], self.unit, None if self.raw is None else self.raw[rows])


Columns = Mapping[ColumnValue, Vector]


def number(levels: NDArray[Any], unit: int = 1) -> Vector:
    """Numbers in units of 1 / `unit`."""
    return Vector(np.asarray(levels), unit)


def texts(values: Any) -> Vector:
    """Texts, compared as they are."""
    return Vector(np.asarray(values, dtype=np.str_), 0)


def holds(condition: Condition, columns: Columns) -> BoolArray:
    """Where the condition is true."""
    if isinstance(condition, All):
        return _folded(np.logical_and, [holds(part, columns) for part in condition.parts])
    if isinstance(condition, Any_):
        return _folded(np.logical_or, [holds(part, columns) for part in condition.parts])
    if isinstance(condition, Not):
        return ~holds(condition.part, columns)
    if isinstance(condition, Implies):
        return ~holds(condition.condition, columns) | holds(condition.consequence, columns)
    if isinstance(condition, Membership):
        found = [
            _compared("=", value(condition.value, columns), value(option, columns), 0) for option in condition.options
        ]
        return _folded(np.logical_or, found)
    if isinstance(condition, Match):
        return _matched(condition, columns)
    if isinstance(condition, IsNull):
        return np.zeros(
            1, dtype=bool
        )  # values are drawn for every record; where nulls stand is settled before (`kleene`)
    if isinstance(condition, Valid):
        return _valid(condition, columns)
    if isinstance(condition, Own):
        return _own(condition, columns)
    assert isinstance(condition, Compare)
    left, right = value(condition.left, columns), value(condition.right, columns)
    return _compared(condition.operator, left, right, condition.tolerance)


def _folded(operation: np.ufunc, masks: list[BoolArray]) -> BoolArray:
    found: BoolArray = operation.reduce(np.broadcast_arrays(*masks))
    return found


def _matched(condition: Match, columns: Columns) -> BoolArray:
    distinct, inverse = np.unique(value(condition.value, columns).as_text(), return_inverse=True)
    return matches_pattern(condition.pattern, distinct.tolist())[inverse]


def _valid(condition: Valid, columns: Columns) -> BoolArray:
    distinct, inverse = np.unique(value(condition.value, columns).as_text(), return_inverse=True)
    spelt = (text.decode() if isinstance(text, bytes) else str(text) for text in distinct.tolist())
    return np.array([is_valid(condition.system, text) for text in spelt], dtype=bool)[inverse]


def _own(condition: Own, columns: Columns) -> BoolArray:
    """What the data holder's code answers for every record; equal records are asked about once."""
    spelt = np.broadcast_arrays(
        *(np.asarray(value(column, columns).as_text()).astype(np.str_) for column in condition.arguments)
    )
    rows = list(zip(*(texts.tolist() for texts in spelt), strict=True))
    answers = {row: own_code(condition, row) for row in dict.fromkeys(rows)}
    return np.array([answers[row] for row in rows], dtype=bool)


def _compared(operator: str, left: Vector, right: Vector, tolerance: Any) -> BoolArray:
    if left.is_text or right.is_text:
        return _ordered(operator, left.as_text(), right.as_text())
    if tolerance:
        spread = Vector(np.array([tolerance.numerator]), tolerance.denominator)
        low, high = _plus(right, spread, -1), _plus(right, spread, 1)
        return _compared(">=", left, low, 0) & _compared("<=", left, high, 0)
    one, other, _ = _aligned(left, right)
    return _ordered(operator, one, other)


def _ordered(operator: str, left: NDArray[Any], right: NDArray[Any]) -> BoolArray:
    compare = {
        "=": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }[operator]
    return np.asarray(compare(left, right), dtype=bool)


def value(node: Expression, columns: Columns) -> Vector:
    """The value of an expression in every row."""
    if isinstance(node, ColumnValue):
        return columns[node]
    if isinstance(node, Number):
        return Vector(np.array([node.value.numerator]), node.value.denominator)
    if isinstance(node, Date):
        return Vector(np.array([node.value.toordinal()]), 1)
    if isinstance(node, TextConstant):
        return texts([node.value])
    if isinstance(node, Negative):
        inner = value(node.value, columns)
        return Vector(-inner.levels, inner.unit)
    if isinstance(node, Function):
        pass

        return calculated(node.name, [value(argument, columns) for argument in node.arguments])
    assert isinstance(node, Arithmetic)
    left, right = value(node.left, columns), value(node.right, columns)
    if node.operator in "+-":
        return _plus(left, right, 1 if node.operator == "+" else -1)
    if node.operator == "*":
        return Vector(_scaled(left.levels, right.levels), left.unit * right.unit)
    divisor = int(right.levels[0])
    sign = 1 if divisor > 0 else -1
    return Vector(_scaled(left.levels, np.array([sign * right.unit])), left.unit * abs(divisor))


def _plus(left: Vector, right: Vector, sign: int) -> Vector:
    one, other, unit = _aligned(left, right)
    return Vector(one + sign * other, unit)


def _aligned(left: Vector, right: Vector) -> tuple[NDArray[Any], NDArray[Any], int]:
    unit = lcm(left.unit, right.unit)
    one = _scaled(left.levels, np.array([unit // left.unit]))
    other = _scaled(right.levels, np.array([unit // right.unit]))
    return one, other, unit


def _scaled(levels: NDArray[Any], factors: NDArray[Any]) -> NDArray[Any]:
    """levels · factors, in Python's integers when 62 bits do not suffice."""
    if len(factors) == 1 and factors[0] == 1:
        return levels
    largest = _largest(levels) * _largest(factors)
    wide = largest >= _SAFE
    found: NDArray[Any] = levels.astype(object) * factors.astype(object) if wide else levels * factors
    return found


def _largest(levels: NDArray[Any]) -> int:
    return max((abs(int(levels.min())), abs(int(levels.max())))) if len(levels) else 0


# Row functions
# -------------


def calculated(name: str, arguments: Sequence[Vector]) -> Vector:
    """The function's value in every row."""
    quick = _quick(name, arguments)
    if quick is not None:
        return quick
    kinds = FUNCTIONS[name].arguments
    columns = [_scalars(vector, kind) for vector, kind in zip(arguments, kinds, strict=True)]
    rows = max(len(codes) for codes, _ in columns)
    label = np.zeros(rows, dtype=np.int64)
    for codes, distinct in columns:
        label = label * len(distinct) + codes
    used, place = np.unique(label, return_inverse=True)
    found = [call(name, row) for row in _combinations(used, [distinct for _, distinct in columns])]
    return _vector(found, FUNCTIONS[name].result).at(place)


def _quick(name: str, arguments: Sequence[Vector]) -> Vector | None:
    """Remainders and parts of days for whole arrays at once; everything else goes value by value."""
    first = arguments[0]
    if first.is_text or first.levels.dtype == object:
        return None
    if name == "mod":
        unit = math.lcm(first.unit, arguments[1].unit)
        if unit // first.unit > 1_000_000 or int(np.abs(first.levels).max(initial=0)) > 1 << 40:
            return None
        return Vector(
            first.levels * (unit // first.unit) % (int(arguments[1].levels[0]) * (unit // arguments[1].unit)), unit
        )
    days = first.levels // first.unit
    if name == "weekday":
        return Vector((days - 1) % 7 + 1, 1)
    if name in _PARTS:
        moments = (days - _EPOCH).astype("datetime64[D]")
        return Vector(_PARTS[name](moments).astype(np.int64), 1)
    return None


_EPOCH = 719_163
_PARTS: dict[str, Any] = {
    "year": lambda moments: moments.astype("datetime64[Y]").astype(np.int64) + 1970,
    "month": lambda moments: moments.astype("datetime64[M]").astype(np.int64) % 12 + 1,
    "day": lambda moments: (moments - moments.astype("datetime64[M]")).astype(np.int64) + 1,
}


def _combinations(labels: NDArray[Any], lists: list[list[Scalar]]) -> list[list[Scalar]]:
    parts: list[list[Scalar]] = []
    rest = labels
    for distinct in reversed(lists):
        rest, place = np.divmod(rest, len(distinct))
        parts.append([distinct[at] for at in place.tolist()])
    return [list(row) for row in zip(*reversed(parts), strict=True)]


def _scalars(vector: Vector, kind: str) -> tuple[NDArray[np.int64], list[Scalar]]:
    """Codes, and the distinct values as functions take them."""
    spelt = vector.is_text or (kind == "text" and vector.raw is not None)
    values = vector.as_text() if spelt else vector.levels
    distinct, codes = np.unique(np.atleast_1d(values), return_inverse=True)
    if spelt:
        return codes, [value.decode() if isinstance(value, bytes) else str(value) for value in distinct.tolist()]
    return codes, [Fraction(int(level), vector.unit) for level in distinct.tolist()]


def _vector(found: list[Scalar], kind: str) -> Vector:
    if kind == "text":
        return texts(found)
    numbers = [Fraction(value) for value in found]
    unit = math.lcm(1, *{number.denominator for number in numbers})
    return Vector(np.array([int(number * unit) for number in numbers], dtype=np.int64), unit)
