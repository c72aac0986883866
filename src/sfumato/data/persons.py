"""Rows of people: who each row belongs to, as one number per row.

A person is named by one or more columns. A missing name is an error: a row of nobody in particular could be any
person's, and counting it as a person of its own would promise too much.

>>> import pyarrow as pa
>>> visits = Table(pa.table({"patient": ["7", "3", "7"], "age": ["30", "41", "31"]}))
>>> persons_of_rows(visits, ("patient",)).tolist(), persons_with_several_rows(persons_of_rows(visits,
...     ("patient",))).tolist()
([1, 0, 1], [1, 0, 1])


Bags
----
Bags of rows: what several rows of one person say together, whatever their order.

Persons with equal multisets cannot be told apart, even by an adversary who knows all their rows. Values that people
have are looked at row by row and as what a person *ever* has, in whichever row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, CodeArray, IntArray, positions_in_runs
from sfumato.core.errors import DataError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalization import MISSING
from sfumato.data.linkage import ValueDistribution
from sfumato.data.table import Table

_PAIRS = 50_000_000
"""Pairs of a person and a bucket that are looked at; beyond, as many rows as any person has are taken to fit
everywhere."""
STAYS = 0.95
"""From this share of the people with several rows on, a value that is the same in all of them is taken to stay with a
person."""
SINGLE = 0
"""The number of all people who has one row, in `persons_with_several_rows`."""


def persons_of_rows(table: Table, columns: Sequence[str]) -> IntArray:
    """The person of every row, numbered from 0 in the order of their names; counted once for a table."""
    return table.once(("people", *columns), lambda: _people_of(table, columns))


def _people_of(table: Table, columns: Sequence[str]) -> IntArray:
    for name in columns:
        text = table.text(name)
        names = list(text.labels)
        if MISSING in names:
            missing = int(text.counts()[names.index(MISSING)])
            what = f"{missing} row(s) do not say whose they are: '{name}' is missing"
            raise DataError(
                what, hint="fill it in, or leave these rows out; nobody can say among how many people they stand"
            )
    named = equivalence_classes_of([_ranks(table, name) for name in columns], rows=table.rows)
    return named.of


def _ranks(table: Table, name: str) -> IntArray:
    """Codes in the order of the texts, so that nothing depends on the order of rows."""
    text = table.text(name)
    names = list(text.labels)
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    found: IntArray = rank[text.codes]
    return found


def share_with_constant_value(person: IntArray, codes: NDArray[np.integer]) -> float:
    """Of the people with several rows, the share who have the same value in all of them; 0 when nobody has several.

    >>> share_with_constant_value(np.array([0, 0, 1, 1, 2]), np.array([5, 5, 5, 6, 7]))
    0.5
    """
    rows = np.bincount(person)
    pairs = equivalence_classes_of([person, codes])
    different = np.bincount(person[pairs.first], minlength=len(rows))
    return float((different[rows > 1] == 1).mean()) if (rows > 1).any() else 0.0


def most_rows_of_one_person(bucket: IntArray, alike: IntArray, person: IntArray, records: IntArray) -> IntArray:
    """Per bucket the most rows that could be one person's: per kind of row no more than the person, or the bucket, has
    of it.

    `bucket` and `alike` are of rows, `person` and `records` (the kind of row that a record would be) of records.

    >>> most_rows_of_one_person(np.array([0, 0, 1]), np.array([5, 5, 5]), np.array([0, 0, 1]), np.array([5, 5,
    ...     5])).tolist()
    [2, 1]
    """
    rows = np.bincount(person)
    of_several = np.flatnonzero(rows[person] > 1)
    mine = equivalence_classes_of([records[of_several], person[of_several]], rows=len(of_several))
    kind, owner = records[of_several][mine.first], person[of_several][mine.first]
    theirs = equivalence_classes_of([alike, bucket])
    first = np.searchsorted(alike[theirs.first], kind, side="left")
    width = np.searchsorted(alike[theirs.first], kind, side="right") - first
    if int(width.sum()) > _PAIRS:
        return np.minimum(np.bincount(bucket), int(rows.max(initial=1)))
    place = np.repeat(first, width) + positions_in_runs(width)
    both = np.minimum(np.repeat(mine.counts, width), theirs.counts[place])
    pairs = equivalence_classes_of([bucket[theirs.first][place], np.repeat(owner, width)], rows=len(place))
    most = np.ones(int(bucket.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, bucket[theirs.first][place][pairs.first], np.bincount(pairs.of, weights=both).astype(np.int64))
    return most


def buckets_disclosing_value(rows: IntArray, frequent: IntArray, most: IntArray, share: float) -> BoolArray:
    """Per bucket: is a person with `most` of its rows certain to have a value, or has one with more than a share?

    None of M rows has a value that f of n rows have, with probability C(n−f, M) / C(n, M).

    >>> buckets_disclosing_value(np.array([4, 4, 9]), np.array([1, 3, 2]), np.array([2, 2, 2]), 0.5).tolist()
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


def persons_with_several_rows(person: IntArray) -> IntArray:
    """1, 2, … for people with several rows, `SINGLE` for all others: one row of theirs is like another's."""
    rows = np.bincount(person)
    number = np.where(rows > 1, np.cumsum(rows > 1), SINGLE)
    found: IntArray = number[person]
    return found


# Bags
# ----


def number_equal_multisets(person: IntArray, cell: IntArray) -> IntArray:
    """Number the persons, without gaps, so that persons with equal multisets of cells have equal numbers.

    >>> number_equal_multisets(np.array([0, 1, 0, 1, 2]), np.array([7, 8, 8, 7, 7])).tolist()
    [0, 0, 1]
    """
    order = np.lexsort((cell, person))
    start = np.searchsorted(person[order], np.arange(int(person.max(initial=-1)) + 2))
    texts = [cell[order[first:last]].tobytes() for first, last in pairwise(start)]
    number: dict[bytes, int] = {}
    return np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.int64)


def persons_per_value(
    codes: CodeArray | IntArray, labels: Sequence[str], bag: IntArray, person: IntArray, people: IntArray
) -> ValueDistribution:
    """Per bag how many people ever have a value, of all people; where all have one, that one alone."""
    once = equivalence_classes_of([bag, person, codes]).first
    pairs = equivalence_classes_of([bag[once], codes[once]])
    kind, value, having = bag[once][pairs.first], codes[once][pairs.first].astype(np.int64), pairs.counts
    certain = np.bincount(kind, weights=having == people[kind], minlength=len(people)) > 0
    first = np.full(len(people), len(kind), dtype=np.int64)
    np.minimum.at(first, kind[having == people[kind]], np.flatnonzero(having == people[kind]))
    shown = ~certain[kind] | (np.arange(len(kind)) == first[kind])
    kind, value, having = kind[shown], value[shown], having[shown]
    start = np.searchsorted(kind, np.arange(len(people) + 1)).astype(np.int64)
    return ValueDistribution(start, value, having, tuple(labels), whole=people)
