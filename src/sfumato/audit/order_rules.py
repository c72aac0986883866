"""Rules about the order of records inside groups, judged on the texts of a table, from the definitions, record by record.

Sums up to each record, values that never fall, intervals that do not overlap; and the correlation of two columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray


def in_order(groups: Sequence[Any], along: NDArray[Any], missing: BoolArray) -> Iterator[list[int]]:
    """The records of every group in the order of `along`; records without a place in the order are left out."""
    found: dict[Any, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        if not missing[row]:
            found[group].append(row)
    for rows in found.values():
        yield sorted(rows, key=lambda row: along[row])


def running(
    groups: Sequence[Any], along: NDArray[Any], missing: BoolArray, values: NDArray[Any], unknown: BoolArray
) -> NDArray[Any]:
    """The sum of a group's values up to each record; what is missing adds nothing."""
    found = np.zeros(len(values), dtype=object)
    for rows in in_order(groups, along, missing):
        total = 0
        for row in rows:
            total += 0 if unknown[row] else int(values[row])
            found[row] = total
    return found


def falls(groups: Sequence[Any], along: NDArray[Any], missing: BoolArray, values: NDArray[Any], unknown: BoolArray) -> int:
    """How often a value is below the one before it in its group."""
    count = 0
    for rows in in_order(groups, along, missing):
        known = [values[row] for row in rows if not unknown[row]]
        count += sum(later < earlier for earlier, later in pairwise(known))
    return count


def overlaps(groups: Sequence[Any], starts: NDArray[Any], ends: NDArray[Any], unknown: BoolArray) -> int:
    """How many intervals begin before an earlier one of their group has ended."""
    count = 0
    for rows in in_order(groups, starts, unknown):
        latest = None
        for row in rows:
            count += latest is not None and starts[row] < latest
            latest = ends[row] if latest is None else max(latest, ends[row])
    return count


def correlation(one: Sequence[int], two: Sequence[int]) -> Fraction | None:
    """Pearson's coefficient, to nine places; none when a column does not vary."""
    count = len(one)
    left, right = [count * value - sum(one) for value in one], [count * value - sum(two) for value in two]
    spread = sum(value * value for value in left) * sum(value * value for value in right)
    if not spread:
        return None
    return Fraction(sum(a * b for a, b in zip(left, right, strict=True)) / float(spread) ** 0.5).limit_denominator(10**9)
