"""Rules over arrays of levels, in exact integers: which combinations of values are legal.

Notation
    level    the integer that stands for a value: number · unit, or the day number of a date
    Vector   levels with their unit, or texts; a constant is a vector of length one

>>> from sfumato.policy.rules import parse
>>> table = {ColumnValue("a"): number(np.array([1, 2, 3])), ColumnValue("b"): number(np.array([25, 25, 25]), unit=10)}
>>> holds(parse("a < b").body, table).tolist()
[True, True, False]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray
from sfumato.data.regular import matches
from sfumato.policy.plugins import holds as own_code
from sfumato.policy.rules.functions import is_valid
from sfumato.policy.rules.tree import (
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
        found = [_compared("=", value(condition.value, columns), value(option, columns), 0) for option in condition.options]
        return _folded(np.logical_or, found)
    if isinstance(condition, Match):
        return _matched(condition, columns)
    if isinstance(condition, IsNull):
        return np.zeros(1, dtype=bool)  # values are drawn for every record; where nulls stand is settled before (`kleene`)
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
    return matches(condition.pattern, distinct.tolist())[inverse]


def _valid(condition: Valid, columns: Columns) -> BoolArray:
    distinct, inverse = np.unique(value(condition.value, columns).as_text(), return_inverse=True)
    spelt = (text.decode() if isinstance(text, bytes) else str(text) for text in distinct.tolist())
    return np.array([is_valid(condition.system, text) for text in spelt], dtype=bool)[inverse]


def _own(condition: Own, columns: Columns) -> BoolArray:
    """What the data holder's code answers for every record; equal records are asked about once."""
    spelt = np.broadcast_arrays(*(np.asarray(value(column, columns).as_text()).astype(np.str_) for column in condition.arguments))
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
        from sfumato.methods.replacing.sampling.row_functions import calculated

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
