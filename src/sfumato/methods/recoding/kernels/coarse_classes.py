"""Classes of points that look alike once every column is read at a coarser level: one pass and one hash table.

A column read at a level gives every leaf a 64-bit number, equal for leaves that the level does not tell apart. The sum of these
numbers over the columns names a class; its low bits are replaced by the point's region, so that regions never meet, whatever
the numbers are. Two different classes share a name with probability about n² / 2⁶⁴ per table; then they would be joined,
which costs quality and not safety.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray


@jit
def coarse_classes(
    codes: NDArray[np.int32], region: IntArray, count: IntArray, marks: IntArray, start: IntArray, low: int
) -> tuple[IntArray, IntArray]:
    """Class of each point, numbered as met, and the records of each class.

    ``marks[start[c] + code]`` is the number of a code of column c at the level that is looked at; ``low`` masks region bits.
    """
    points, columns = codes.shape
    slots = 4
    while slots < 2 * points:
        slots *= 2
    names = np.empty(slots, dtype=np.int64)
    holder = np.full(slots, -1, dtype=np.int64)
    of = np.empty(points, dtype=np.int64)
    size = np.zeros(points, dtype=np.int64)
    classes = 0
    for point in range(points):
        name = np.int64(0)
        for column in range(columns):
            name += marks[start[column] + codes[point, column]]
        name = (name & ~low) | region[point]
        slot = (name ^ (name >> 29) ^ (name >> 47)) & (slots - 1)
        while holder[slot] >= 0 and names[slot] != name:
            slot = (slot + 1) & (slots - 1)
        if holder[slot] < 0:
            holder[slot] = classes
            names[slot] = name
            classes += 1
        of[point] = holder[slot]
        size[holder[slot]] += count[point]
    return of, size[:classes]


def plain_coarse_classes(
    codes: NDArray[np.int32], region: IntArray, count: IntArray, marks: IntArray, start: IntArray, low: int
) -> tuple[IntArray, IntArray]:
    """The same by sorting."""
    names = np.zeros(len(codes), dtype=np.int64)
    for column in range(codes.shape[1]):
        names += marks[start[column] + codes[:, column]]
    names = (names & ~np.int64(low)) | region
    _, first, of = np.unique(names, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[of], np.bincount(rank[of], weights=count, minlength=len(first)).astype(np.int64)
