"""People who look alike are one class with a count.

Rows of integer codes become class numbers; everything relational then runs on the distinct tuples with multiplicities.

Cost: one sort of n machine words. Wide tuples whose mixed-radix number would overflow are folded column by column.

>>> import numpy as np
>>> grouped = equivalence_classes_of([np.array([0, 1, 0, 1]), np.array([2, 2, 2, 0])])
>>> grouped.of.tolist(), grouped.counts.tolist(), grouped.first.tolist()
([0, 2, 0, 1], [2, 1, 1], [0, 3, 1])
>>> equivalence_classes_of([np.array([0, 1, 0])], weights=np.array([5, 1, 2])).counts.tolist()
[7, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, IntArray

_LIMIT = 1 << 62
_MANY = 1 << 16
"""Rows from which a compiled sort by digits is worth loading."""


@dataclass(frozen=True, slots=True)
class EquivalenceClasses:
    """A partition of rows into classes of equal tuples, in lexicographic order of the tuples."""

    of: IntArray
    """Class of each row."""
    first: IntArray
    """One row of each class."""
    counts: IntArray
    """Records in each class: its rows, or what they stand for."""

    def __len__(self) -> int:
        return len(self.counts)


def equivalence_classes_of(
    columns: Sequence[NDArray[np.integer]], *, rows: int | None = None, weights: IntArray | None = None
) -> EquivalenceClasses:
    """Classes of rows that agree on all `columns`; without columns all rows are one class.

    Where a row stands for several records, `weights` says for how many.
    """
    count = len(columns[0]) if columns else int(rows or 0)
    key = np.zeros(count, dtype=np.int64)
    span = 1
    for column in columns:
        radix = int(column.max(initial=0)) + 1
        if span * radix >= _LIMIT:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            span = int(key.max(initial=0)) + 1
        key = key * radix + column
        span *= radix
    found = _by_key(key, span)
    return found if weights is None else replace(found, counts=class_counts(found.of, weights, len(found)))


def class_counts(of: IntArray | CodeArray, weights: IntArray | None, classes: int) -> IntArray:
    """How many records each class has, every row standing for `weights` of them (one without)."""
    return np.bincount(of, weights=weights, minlength=classes).astype(np.int64)


def unit_weights(rows: int) -> IntArray:
    """How many records each row stands for where it stands for itself: one number, whatever the rows."""
    return np.broadcast_to(np.int64(1), (rows,))


def _by_key(key: IntArray, span: int) -> EquivalenceClasses:
    if span <= 4 * len(key) + 1024:
        return _by_counting(key, span)
    if len(key) >= _MANY and key.min() >= 0 and _sorts_fast():
        return _by_digits(key, span)
    _, first, of, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return EquivalenceClasses(of.astype(np.int64), first.astype(np.int64), counts.astype(np.int64))


def _sorts_fast() -> bool:
    from sfumato.core.compiled.native import ready

    return ready()


def _by_digits(key: IntArray, span: int) -> EquivalenceClasses:
    """With a sort that is linear in the rows; keys are not negative."""
    from sfumato.core.kernels.radix_sort import sort_by_digits

    places, other_places = np.arange(len(key), dtype=np.int64), np.empty(len(key), dtype=np.int64)
    keys, other_keys = key.copy(), np.empty(len(key), dtype=np.int64)
    turned = sort_by_digits(keys, places, other_keys, other_places, (span - 1).bit_length())
    keys, places = (other_keys, other_places) if turned else (keys, places)
    new = np.concatenate([[True], keys[1:] != keys[:-1]])
    start = np.flatnonzero(new)
    of = np.empty(len(key), dtype=np.int64)
    of[places] = np.cumsum(new) - 1
    return EquivalenceClasses(of, places[start], np.diff(start, append=len(key)))


def _by_counting(key: IntArray, span: int) -> EquivalenceClasses:
    """Without a sort, when the tuples are dense enough to be counted in an array."""
    tally = np.bincount(key, minlength=span)
    present = np.flatnonzero(tally)
    number = np.zeros(span, dtype=np.int64)
    number[present] = np.arange(len(present))
    of = number[key]
    first = np.empty(len(present), dtype=np.int64)
    first[of[::-1]] = np.arange(len(key) - 1, -1, -1)
    return EquivalenceClasses(of, first, tally[present].astype(np.int64))
