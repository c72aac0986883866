"""What lies in the files of a release beside what the method made: who stands behind each row that was found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.table import Table, TextColumn, narrow
from sfumato.release.release import Part

_AT_ONCE = 4
"""Columns of all classes that are laid beside each other at once."""


def laid_beside_trace(found: Part, made: Part, behind: IntArray) -> tuple[Part, IntArray]:
    """What lies in the files, with the class behind each share of it; −1 for rows that the release does not have ."""
    names = [name for name in found.held.column_names if name in made.held.column_names]
    if set(names) != set(made.held.column_names):
        return found, np.full(found.text.rows, -1, dtype=np.int64)
    alike = same_rows(found.text, made.text, names)
    mine, theirs = alike[: found.text.rows], alike[found.text.rows :]
    have = np.asarray(found.counts)
    given = np.asarray(made.counts)
    order = np.argsort(theirs, kind="stable")
    left = np.zeros(int(alike.max(initial=-1)) + 1, dtype=np.int64)
    left[mine] = have
    ends = np.cumsum(given[order])
    before = ends - given[order]
    before -= before[np.searchsorted(theirs[order], theirs[order])]
    taken = np.clip(left[theirs[order]] - before, 0, given[order])
    asked = np.bincount(theirs, weights=given, minlength=len(left)).astype(np.int64)
    over = np.maximum(have - asked[mine], 0)
    place = np.full(len(left), -1, dtype=np.int64)
    place[mine] = np.arange(len(mine))
    rows = np.concatenate([place[theirs[order]][taken > 0], np.flatnonzero(over)])
    counts = np.concatenate([taken[taken > 0], over[over > 0]])
    trace = np.concatenate([behind[order][taken > 0], np.full(int((over > 0).sum()), -1, dtype=np.int64)])
    del alike, mine, theirs, order, left, ends, before, taken, asked, over, place  # with many classes every array counts
    return Part(narrow(found.held.take(pa.array(rows))), counts, found.beside), trace


def same_rows(one: Table, other: Table, names: Sequence[str]) -> IntArray:
    """A number for every row of two tables, one below the other, the same for the same texts; a few columns at a time."""
    alike = np.zeros(one.rows + other.rows, dtype=np.int64)
    for first in range(0, len(names), _AT_ONCE):
        columns = [_alike(one.text(name), other.text(name)) for name in names[first : first + _AT_ONCE]]
        alike = group([alike, *columns], rows=len(alike)).of
    return alike


def _alike(one: TextColumn, other: TextColumn) -> IntArray:
    """The codes of two columns below each other, the same for the same text."""
    known = {label: code for code, label in enumerate(one.labels)}
    number = np.array([known.setdefault(label, len(known)) for label in other.labels], dtype=np.int32)
    return np.concatenate([one.codes, number[other.codes]])
