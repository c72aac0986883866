"""Rows of people: who each row belongs to, as one number per row.

A person is named by one or more columns. A missing name is an error: a row of nobody in particular could be anybody's, and counting
it as a person of its own would promise too much.

>>> import pyarrow as pa
>>> visits = Table(pa.table({"patient": ["7", "3", "7"], "age": ["30", "41", "31"]}))
>>> people_of(visits, ("patient",)).tolist(), several(people_of(visits, ("patient",))).tolist()
([1, 0, 1], [1, 0, 1])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, IntArray, places_within
from sfumato.data.classes import group
from sfumato.data.generalization import MISSING
from sfumato.data.table import Table
from sfumato.errors import DataError

_PAIRS = 50_000_000
"""Pairs of a person and a bucket that are looked at; beyond, as many rows as anybody has are taken to fit everywhere."""
STAYS = 0.95
"""From this share of the people with several rows on, a value that is the same in all of them is taken to stay with a person."""
SINGLE = 0
"""The number of everybody who has one row, in `several`."""


def people_of(table: Table, columns: Sequence[str]) -> IntArray:
    """The person of every row, numbered from 0 in the order of their names; counted once for a table."""
    return table.once(("people", *columns), lambda: _people_of(table, columns))


def _people_of(table: Table, columns: Sequence[str]) -> IntArray:
    for name in columns:
        text = table.text(name)
        names = list(text.labels)
        if MISSING in names:
            missing = int(text.counts()[names.index(MISSING)])
            what = f"{missing} row(s) do not say whose they are: '{name}' is missing"
            raise DataError(what, hint="fill it in, or leave these rows out; nobody can say among how many people they stand")
    named = group([_ranks(table, name) for name in columns], rows=table.rows)
    return named.of


def _ranks(table: Table, name: str) -> IntArray:
    """Codes in the order of the texts, so that nothing depends on the order of rows."""
    text = table.text(name)
    names = list(text.labels)
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    found: IntArray = rank[text.codes]
    return found


def staying(person: IntArray, codes: NDArray[np.integer]) -> float:
    """Of the people with several rows, the share who have the same value in all of them; 0 when nobody has several.

    >>> staying(np.array([0, 0, 1, 1, 2]), np.array([5, 5, 5, 6, 7]))
    0.5
    """
    rows = np.bincount(person)
    pairs = group([person, codes])
    different = np.bincount(person[pairs.first], minlength=len(rows))
    return float((different[rows > 1] == 1).mean()) if (rows > 1).any() else 0.0


def most_in_buckets(bucket: IntArray, alike: IntArray, person: IntArray, records: IntArray) -> IntArray:
    """Per bucket the most rows that could be one person's: per kind of row no more than the person, or the bucket, has of it.

    `bucket` and `alike` are of rows, `person` and `records` (the kind of row that a record would be) of records.

    >>> most_in_buckets(np.array([0, 0, 1]), np.array([5, 5, 5]), np.array([0, 0, 1]), np.array([5, 5, 5])).tolist()
    [2, 1]
    """
    rows = np.bincount(person)
    of_several = np.flatnonzero(rows[person] > 1)
    mine = group([records[of_several], person[of_several]], rows=len(of_several))
    kind, owner = records[of_several][mine.first], person[of_several][mine.first]
    theirs = group([alike, bucket])
    first = np.searchsorted(alike[theirs.first], kind, side="left")
    width = np.searchsorted(alike[theirs.first], kind, side="right") - first
    if int(width.sum()) > _PAIRS:
        return np.minimum(np.bincount(bucket), int(rows.max(initial=1)))
    place = np.repeat(first, width) + places_within(width)
    both = np.minimum(np.repeat(mine.counts, width), theirs.counts[place])
    pairs = group([bucket[theirs.first][place], np.repeat(owner, width)], rows=len(place))
    most = np.ones(int(bucket.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, bucket[theirs.first][place][pairs.first], np.bincount(pairs.of, weights=both).astype(np.int64))
    return most


def too_sure(rows: IntArray, frequent: IntArray, most: IntArray, share: float) -> BoolArray:
    """Per bucket: is somebody with `most` of its rows certain to have a value, or has one with more than a share?

    A value that f of n rows have is dealt to none of M rows with C(n−f, M) / C(n, M).

    >>> too_sure(np.array([4, 4, 9]), np.array([1, 3, 2]), np.array([2, 2, 2]), 0.5).tolist()
    [False, True, False]
    """
    found: BoolArray = frequent + most > rows
    if share < 1:
        without = np.ones(len(rows))
        for drawn in range(int(most.max(initial=0))):
            left = np.maximum(rows - frequent - drawn, 0) / np.maximum(rows - drawn, 1)
            without = np.where(drawn < most, without * left, without)
        found |= 1 - without > share + 1e-9
    return found


def several(person: IntArray) -> IntArray:
    """1, 2, … for people with several rows, `SINGLE` for all others: one row of theirs is like another's."""
    rows = np.bincount(person)
    number = np.where(rows > 1, np.cumsum(rows > 1), SINGLE)
    found: IntArray = number[person]
    return found
