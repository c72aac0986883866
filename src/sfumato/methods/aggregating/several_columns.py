"""Groups of records in several coordinates: MDAV within districts, improved by exchanges, also across the borders of districts.

The best groups are hard to find, and MDAV looks at every pair of records. So large tables are cut
into districts of near records; within each MDAV makes the groups, and points move and change places while that helps
(`exchange`). Then districts are cut anew, between groups and elsewhere, and points may cross what was a border before.

Invariants
    I1  Every group has at least `fewest` members and fewer than twice as many.
    I2  Districts are cut by coordinates alone: the answer does not depend on the order of records beyond ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray

Progress = Callable[[float], None]
_WORK, _LEAST = 2_000_000_000, 2048
"""Pairs of records that MDAV may look at, times the smallest group; and records of a district at least."""
_WIDTH, _SWEEPS = 8, 12
_SHARES = (0.5, 0.37, 0.61)
"""Where districts are cut, pass after pass: never at the same places."""


def near_groups(points: FloatArray, fewest: int, *, progress: Progress | None = None, district: int = 0) -> IntArray:
    """The group of each record, numbered without gaps."""
    from sfumato.methods.aggregating.kernels.gathering import gather

    of = np.zeros(len(points), dtype=np.int64)
    if len(points) < 2 * fewest:
        return of
    district = max(district or _WORK // len(points) or 1, 4 * fewest, 0 if district else _LEAST)
    first = 0
    for rows in districts(points, district, _SHARES[0]):
        own = gather(np.ascontiguousarray(points[rows]), fewest)  # I1
        _exchanged(points, rows, own, fewest)
        of[rows] = first + own
        first += int(own.max()) + 1
        if progress is not None:
            progress(rows[-1] / len(points) / len(_SHARES))
    for done, share in enumerate(_SHARES[1:] if len(points) > district else ()):
        _across_borders(points, of, fewest, district, share)
        if progress is not None:
            progress((done + 2) / len(_SHARES))
    return of


def _across_borders(points: FloatArray, of: IntArray, fewest: int, district: int, share: float) -> None:
    """One more pass, in districts of whole groups that are cut elsewhere."""
    size = np.bincount(of)
    centre = np.stack([np.bincount(of, weights=column) / size for column in points.T], axis=1)
    order = np.argsort(of, kind="stable")
    start = np.concatenate([[0], np.cumsum(size)])
    for groups in districts(centre, max(district // fewest, 4), share):
        rows = np.concatenate([order[start[group] : start[group + 1]] for group in groups.tolist()])
        own = np.repeat(np.arange(len(groups)), size[groups])
        _exchanged(points, rows, own, fewest)
        of[rows] = groups[own]


def _exchanged(points: FloatArray, rows: IntArray, own: IntArray, fewest: int) -> None:
    from sfumato.methods.aggregating.kernels.exchanging import exchange

    if int(own.max()) > 0:
        exchange(np.ascontiguousarray(points[rows]), own, fewest, _WIDTH, _SWEEPS)


def districts(points: FloatArray, most: int, share: float) -> Iterator[IntArray]:
    """The points in parts of at most so many, each cut across its widest coordinate (I2)."""
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= most:
            yield rows
            continue
        part = points[rows]
        column = int(np.argmax(part.var(axis=0)))
        cut = min(max(int(len(rows) * share), most // 2), len(rows) - most // 2)
        order = np.argpartition(part[:, column], cut)
        waiting += [rows[order[cut:]], rows[order[:cut]]]
