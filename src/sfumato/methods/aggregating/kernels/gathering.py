"""MDAV: the record farthest from the centre gathers its nearest neighbours, then the record farthest from that one, and so on.

Paper: Domingo-Ferrer, Torra (2005).

Invariants
    I1  Every group has at least `fewest` members and fewer than twice as many.

Cost: records² / fewest.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import FloatArray, IntArray

_FAR = 1e300


@jit
def gather(points: FloatArray, fewest: int) -> IntArray:
    """The group of every point."""
    many, columns = points.shape
    of = np.full(many, -1, dtype=np.int64)
    left = np.arange(many)
    still = many
    number = 0
    centre = np.zeros(columns, dtype=np.float64)
    near = np.zeros(fewest, dtype=np.int64)
    apart = np.zeros(fewest, dtype=np.float64)
    while still >= 2 * fewest:  # I1
        for column in range(columns):
            centre[column] = 0.0
        for place in range(still):
            for column in range(columns):
                centre[column] += points[left[place], column] / still
        one = _farthest(points, left, still, centre)
        other = _take(points, of, left, still, one, number, fewest, near, apart)
        still -= fewest
        number += 1
        if still >= 2 * fewest:
            _take(points, of, left, still, other, number, fewest, near, apart)
            still -= fewest
            number += 1
    for place in range(still):
        of[left[place]] = number
    return of


@jit
def _farthest(points: FloatArray, left: IntArray, still: int, centre: FloatArray) -> int:
    found = left[0]
    most = -1.0
    for place in range(still):
        distance = 0.0
        for column in range(points.shape[1]):
            step = points[left[place], column] - centre[column]
            distance += step * step
        if distance > most:
            most = distance
            found = left[place]
    return found  # type: ignore[no-any-return]


@jit
def _take(
    points: FloatArray,
    of: IntArray,
    left: IntArray,
    still: int,
    seed: int,
    number: int,
    fewest: int,
    near: IntArray,
    apart: FloatArray,
) -> int:
    """Give the seed and its nearest points a group, take them out of `left`, and name the point farthest from the seed."""
    held = 0
    most = -1.0
    farthest = seed
    for place in range(still):
        distance = 0.0
        for column in range(points.shape[1]):
            step = points[left[place], column] - points[seed, column]
            distance += step * step
        if left[place] == seed:
            distance = -1.0
        if distance > most:
            most = distance
            farthest = left[place]
        if held < fewest or distance < apart[fewest - 1]:
            slot = min(held, fewest - 1)
            while slot > 0 and apart[slot - 1] > distance:
                apart[slot] = apart[slot - 1]
                near[slot] = near[slot - 1]
                slot -= 1
            apart[slot] = distance
            near[slot] = left[place]
            held = min(held + 1, fewest)
    for slot in range(fewest):
        of[near[slot]] = number
    kept = 0
    for place in range(still):
        if of[left[place]] < 0:
            left[kept] = left[place]
            kept += 1
    return farthest


def plain_gather(points: FloatArray, fewest: int) -> IntArray:
    """The same with whole arrays."""
    of = np.full(len(points), -1, dtype=np.int64)
    number, seed = 0, -1
    while (left := np.flatnonzero(of < 0)).size >= 2 * fewest:
        if seed < 0:
            seed = int(left[np.argmax(((points[left] - points[left].mean(axis=0)) ** 2).sum(axis=1))])
            after = True
        else:
            after = False
        distance = ((points[left] - points[seed]) ** 2).sum(axis=1)
        distance[left == seed] = -1.0
        farthest = int(left[np.argmax(distance)])
        of[left[np.argsort(distance, kind="stable")[:fewest]]] = number
        number += 1
        seed = farthest if after else -1
    of[of < 0] = number
    return of
