"""Keys: one column, or two, in which no combination repeats.

Notation
    D       values a column could have had: the whole numbers (or days) between its smallest and largest, or all texts with the same
            signs at the same places
    chance  one column: no repeat among n values drawn from D, ∏ (1 − i/D). Two columns: no repeat when the columns are paired at
            random, exp(−E) with E the pairs of rows expected to agree in both.

Departures
    Unique measurements are no keys: with D far above n uniqueness surprises nobody and the chance says so. What makes an e-mail
    address or a two-row table's id a key is its name, and that stands in the weight, not in the chance.

Cost: one count per column; a pair is dropped when its uniqueness would surprise nobody, then on the sample, and only then counted
in full.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"id": list(range(30)), "day": [i % 6 for i in range(30)], "seat": [i // 6 for i in range(30)]}))
>>> [(each.rule, round(each.chance)) for each in Keys().propose(DataView.of({None: table}))]
[('unique(id)', -12), ('unique(day, seat)', -4)]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from sfumato.data.words import words
from sfumato.discover.names import numbers_things, stem, tells_apart
from sfumato.discover.proposal import SURE, WORTH, Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.view import ColumnView, DataView, pairs, sampled

_LONGEST = 64
_FIRST = -3.0


class Keys(Template):
    """`unique(a)` and `unique(a, b)`."""

    name: ClassVar[str] = "keys"
    order: ClassVar[int] = 10

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            single = [column for column in columns if column.is_key and usable(column)]
            yield from (_single(column, first=column is columns[0]) for column in single)
            view.pointing.update(column for column in columns if numbers_things(column.words))
            rest = [column for column in columns if column not in single and usable(column) and len(column.values) > 1]
            yield from _pairs(rest)
            yield from _crossing(columns, single)


def usable(column: ColumnView) -> bool:
    """Short values; documents and pictures are no keys."""
    return column.unit != "nothing" and max(map(len, column.values)) <= _LONGEST


def _single(column: ColumnView, *, first: bool) -> Proposal:
    weight = SURE if tells_apart(column.words) else 0.0
    if not weight and first and column.unit in ("number", "text") and column.exact:
        weight = _FIRST
    if not weight and column.unit == "text" and not any(" " in value for value in column.values):
        weight = WORTH
    return Proposal(f"unique({column})", Keys.name, column.rows, _no_repeat(column.rows, _room(column)), weight)


def _room(column: ColumnView) -> float:
    """How many values the column could have had."""
    if column.exact:
        return float(column.levels.max() - column.levels.min() + 1)
    if column.unit != "text":
        return math.inf
    longest = max(map(len, column.values))
    room = 1.0
    for place in range(longest):
        room *= len({value[place : place + 1] for value in column.values[:5_000]})
    return room


def _no_repeat(drawn: int, room: float) -> float:
    """log10 of the probability that `drawn` values out of `room` are all different."""
    if drawn < 2 or math.isinf(room) or room > 1e12:
        return 0.0
    room = max(room, float(drawn))
    return min(0.0, float(gammaln(room + 1) - gammaln(room - drawn + 1) - drawn * math.log(room)) / math.log(10))


def _pairs(columns: list[ColumnView]) -> Iterator[Proposal]:
    complete = [column for column in columns if column.missing == 0]
    chosen = sampled(complete[0].rows) if complete else np.zeros(0, dtype=np.int64)
    for one, two in combinations(complete, 2):
        weight = SURE / 2 if numbers_things(one.words) and numbers_things(two.words) else 0.0
        found = Proposal(f"unique({one}, {two})", Keys.name, one.rows, -_expected(one, two) / math.log(10), weight)
        if found.listed and not _repeats(pairs(one, two, chosen)) and not _repeats(pairs(one, two)):
            yield found


def _crossing(columns: list[ColumnView], single: list[ColumnView]) -> Iterator[Proposal]:
    """The two references of a table that only ties others together, though one of them alone is unique here.

    Which of the two rules is meant no data can tell; the wider one is safe to keep when the narrower one is switched off.
    """
    ties = [column for column in columns if numbers_things(column.words)]
    own = any("".join(stem(column.words)) in ("", "".join(words(column.table or ""))) for column in ties)
    if len(ties) == 2 and columns[:2] == ties and not own and set(ties) & set(single) and not any(c.missing for c in ties):
        yield Proposal(f"unique({ties[0]}, {ties[1]})", Keys.name, ties[0].rows, 0.0, SURE)


def _repeats(codes: np.ndarray) -> bool:
    return len(np.unique(codes)) < len(codes)


def _expected(one: ColumnView, two: ColumnView) -> float:
    """Pairs of rows that would agree in both columns if these had nothing to do with each other."""
    every = one.rows * (one.rows - 1) / 2
    agree = [float((column.counts * (column.counts - 1)).sum()) / 2 for column in (one, two)]
    return agree[0] * agree[1] / every
