"""Readings of a column: sets of disjoint publishable intervals, such that every publishable interval is in exactly one of them.

A hierarchy has one reading per depth. An ordered column without hierarchy has, for every length, as many readings as it takes to
place intervals of that length everywhere.

Invariants
    I1  A leaf is read as an interval only when its boundary allows that.
    I2  Every publishable interval that costs less than `beyond` is in exactly one reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.costs import Costs

NEVER = 1 << 61
"""More than anything costs."""
READINGS = 3_000
"""Most readings of one column without hierarchy: all intervals of up to 77 values, and the shorter intervals of more."""


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """The publishable intervals of a column and their readings, from cheap to costly."""

    lo: IntArray
    hi: IntArray
    cost: IntArray
    reading: list[IntArray]
    """Per reading: for each leaf the interval it is read as, −1 for leaves outside all of them."""
    least: list[int]
    """The cheapest interval of each reading."""
    beyond: int
    """Intervals that are in no reading cost at least this."""

    @property
    def floor(self) -> int:
        return self.least[0]


def column_of(domain: Generalization, costs: Costs, number: int, scale: int) -> ReadColumn:
    """All readings of a column, sorted by their cheapest interval; costs are whole multiples of 1 / `scale`."""
    if isinstance(domain, Hierarchy):
        lo, hi, readings = _levels(domain)
        beyond = NEVER
    else:
        lo, hi, readings = _windows(domain.size)
        length = int((hi - lo).max())
        rest = np.arange(max(domain.size - length, 0), dtype=np.int64)
        beyond = int(rounded_down(costs.column(number, rest, rest + length + 1), scale).min(initial=NEVER))
    cost = rounded_down(costs.column(number, lo, hi), scale)
    readings = [reading for reading in (_below_ceiling(domain, lo, hi, reading) for reading in readings) if (reading >= 0).any()]
    least = [int(cost[reading[reading >= 0]].min()) for reading in readings]
    order = sorted(range(len(readings)), key=lambda i: least[i])
    return ReadColumn(lo, hi, cost, [readings[i] for i in order], [least[i] for i in order], beyond)


def rounded_down(exact: FloatArray, scale: int) -> IntArray:
    """Exact costs as whole multiples of 1 / `scale` that are certainly not above them."""
    return np.maximum(np.floor(exact * scale).astype(np.int64) - 1, 0)


def _below_ceiling(domain: Generalization, lo: IntArray, hi: IntArray, reading: IntArray) -> IntArray:
    floor, roof = domain.ceiling()
    allowed = (reading >= 0) & (lo[reading] >= floor) & (hi[reading] <= roof)  # I1
    return np.where(allowed, reading, -1)


def _levels(tree: Hierarchy) -> tuple[IntArray, IntArray, list[IntArray]]:
    """The distinct intervals of a hierarchy, and for each depth those that no deeper level has read already (I2)."""
    intervals = sorted({(int(lo), int(hi)) for lo, hi in zip(tree.lo, tree.hi, strict=True)})
    number = {interval: i for i, interval in enumerate(intervals)}
    of_node = np.array([number[int(lo), int(hi)] for lo, hi in zip(tree.lo, tree.hi, strict=True)], dtype=np.int64)
    seen: set[int] = set()
    readings = []
    for row in tree.ancestors[::-1]:
        at = of_node[row]
        fresh = set(at.tolist()) - seen
        seen |= fresh
        readings.append(np.where(np.isin(at, list(fresh)), at, -1))
    lo, hi = np.array(intervals, dtype=np.int64).T
    return lo, hi, readings


def _windows(size: int) -> tuple[IntArray, IntArray, list[IntArray]]:
    """Intervals of every length, as long as there are not too many readings."""
    longest = 1
    while longest < size and (longest + 1) * (longest + 2) // 2 <= READINGS:
        longest += 1
    lo, hi, readings, known = [], [], [], 0
    for length, offset in _placements(size, longest):
        begin = np.arange(offset, size - length + 1, length, dtype=np.int64)
        reading = np.full(size, -1, dtype=np.int64)
        covered = np.arange(offset, offset + length * len(begin))
        reading[covered] = known + (covered - offset) // length
        readings.append(reading)
        lo.append(begin)
        hi.append(begin + length)
        known += len(begin)
    return np.concatenate(lo), np.concatenate(hi), readings


def _placements(size: int, longest: int) -> Iterator[tuple[int, int]]:
    for length in range(1, longest + 1):
        for offset in range(min(length, size - length + 1)):
            yield length, offset
