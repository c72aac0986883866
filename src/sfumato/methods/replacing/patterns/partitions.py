"""Partitions of the records: runs in the order of the data, the values of a column, or records that are near each other.

Paper
    [multitype §5.5]: partitions help to say which properties are kept. School classes are `partition by class`.

Notation
    home    the partition of every record, numbered without gaps

Departures
    The paper cuts every column in the order of the data. Then a partition spans the whole column, its values move over all of it,
    and each column moves for itself: what columns have in common is lost. Records of a partition
    `near` each other lie together in all the columns, and `range: partition` lets them move no farther than their neighbours.

>>> runs(7, 3).tolist(), runs(3, None).tolist()
([0, 0, 0, 1, 1, 1, 2], [0, 0, 0])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group


def runs(records: int, size: int | None) -> IntArray:
    """Runs of so many records in the order given, the last one perhaps shorter; without a size one for all."""
    return np.arange(records, dtype=np.int64) // max(1, records if size is None else size)


def classes_of(columns: Sequence[IntArray], records: int) -> IntArray:
    """One partition for every combination of values."""
    found: IntArray = np.asarray(group(list(columns), rows=records).of, dtype=np.int64)
    return found


def neighbourhoods(columns: Sequence[IntArray], fewest: int) -> IntArray:
    """Partitions of at least so many records and fewer than twice as many, near each other in all columns at once.

    The records are cut across the column in which they are spread widest, beside its spread in the whole table, at the widest gap
    between its quarters, as long as both sides are large enough.

    >>> neighbourhoods([np.array([1, 90, 2, 91]), np.array([5, 5, 6, 6])], 2).tolist()
    [0, 1, 0, 1]
    """
    points = np.column_stack([values / (float(values.std()) or 1.0) for values in columns]) if columns else np.empty((0, 0))
    home, waiting, count = np.zeros(len(points), np.int64), [np.arange(len(points))], 0
    while waiting:
        rows = waiting.pop()
        if len(rows) < 2 * fewest:
            home[rows], count = count, count + 1
            continue
        widest = int(points[rows].std(axis=0).argmax())
        order = rows[np.argsort(points[rows, widest], kind="stable")]
        first = max(fewest, len(rows) // 4)
        gaps = np.diff(points[order[first - 1 : len(rows) - first + 1], widest])
        cut = first + int(gaps.argmax()) if gaps.max() > 0 else len(rows) // 2
        waiting += [order[cut:], order[:cut]]
    return home
