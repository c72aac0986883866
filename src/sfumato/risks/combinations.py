"""Which columns identify: distinction and separation of every combination of up to three columns.

Definitions
    distinction   different tuples over records: 1 when everybody is unique
    separation    share of the pairs of records that differ in at least one of the columns
    uniques       records that are alone with their tuple

Paper: Motwani, Xu (2007).
Cost: combinations × records. Where that exceeds `MOST_WORK`, the columns that separate least by themselves are left out of the
combinations of three (then of two), and the result names them.

>>> table = {"sex": np.array([0, 1, 0, 1]), "age": np.array([0, 1, 2, 2])}
>>> [(each.columns, each.distinction, round(each.separation, 2)) for each in combinations(table).found]
[(('age', 'sex'), 1.0, 1.0), (('age',), 0.75, 0.83), (('sex',), 0.5, 0.67)]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.classes import weighed

MOST_WORK = 120_000_000
"""Records × combinations of one size that are looked at."""
LARGEST = 3


@dataclass(frozen=True, slots=True)
class Combination:
    """How far some columns tell records apart."""

    columns: tuple[str, ...]
    distinct: int
    uniques: int
    distinction: float
    separation: float


@dataclass(frozen=True, slots=True)
class Combinations:
    """All combinations, the most identifying first; `left_out` were too many to be combined."""

    found: tuple[Combination, ...]
    left_out: tuple[str, ...] = ()


def combinations(
    columns: Mapping[str, NDArray[np.integer]], largest: int = LARGEST, work: int = MOST_WORK, weights: IntArray | None = None
) -> Combinations:
    """Every combination of up to `largest` of the coded columns; `weights` says for how many records a row stands."""
    rows = len(next(iter(columns.values()))) if columns else 0
    alone = [_measured((name,), [codes], weights) for name, codes in columns.items()]
    ranked = [each.columns[0] for each in sorted(alone, key=lambda each: (each.separation, each.distinction), reverse=True)]
    found, kept = list(alone), ranked
    for size in range(2, min(largest, len(columns)) + 1):
        kept = kept[: _affordable(len(kept), size, rows, work)]
        for names in itertools.combinations(sorted(kept), size):
            found.append(_measured(names, [columns[name] for name in names], weights))
    found.sort(key=lambda each: (-each.separation, -each.distinction, len(each.columns), each.columns))
    return Combinations(tuple(found), tuple(name for name in columns if name not in kept))


def _affordable(columns: int, size: int, rows: int, work: int) -> int:
    """How many columns may be combined; never fewer than make one combination."""
    while columns > size and comb(columns, size) * rows > work:
        columns -= 1
    return columns


def _measured(names: tuple[str, ...], columns: Sequence[NDArray[np.integer]], weights: IntArray | None) -> Combination:
    counts = tuple_counts(columns, weights)
    rows = int(counts.sum())
    alike = float((counts * (counts - 1)).sum())
    pairs = rows * (rows - 1)
    return Combination(
        names, len(counts), int((counts == 1).sum()), len(counts) / max(rows, 1), 1 - alike / pairs if pairs else 0.0
    )


def tuple_counts(columns: Sequence[NDArray[np.integer]], weights: IntArray | None = None) -> IntArray:
    """How many records carry each different tuple, in no particular order; `weights` says for how many a row stands."""
    key = tuple_keys(columns)
    span = int(key.max(initial=0)) + 1
    if span <= 4 * len(key) + (1 << 20):
        tally = weighed(key, weights, 1)
        return tally[tally > 0]
    different, of = np.unique(key, return_inverse=True)
    return weighed(of, weights, len(different))


def tuple_keys(columns: Sequence[NDArray[np.integer]]) -> IntArray:
    """One number per record, equal where the tuples are."""
    key: IntArray = columns[0].astype(np.int64)
    span = int(key.max(initial=0)) + 1
    for column in columns[1:]:
        radix = int(column.max(initial=0)) + 1
        if span * radix >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            span = int(key.max(initial=0)) + 1
        key = key * radix + column
        span *= radix
    return key
