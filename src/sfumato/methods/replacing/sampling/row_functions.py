"""Functions of one record over whole vectors: every combination of values is calculated once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.replacing.sampling.vectors import Vector, texts
from sfumato.policy.rules.functions import FUNCTIONS, Scalar, call


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
        return Vector(first.levels * (unit // first.unit) % (int(arguments[1].levels[0]) * (unit // arguments[1].unit)), unit)
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
