"""A table of people and a table of their rows, joined: what is said once of a person stands beside every row of theirs.

A person without rows stands there once with nothing in the columns of rows; `absent` tells such a line from a row in which
everything is missing. How many rows somebody has, none included, is thus kept.

>>> import pyarrow as pa
>>> people = Table(pa.table({"id": ["1", "2"], "sex": ["f", "m"]}))
>>> visits = Table(pa.table({"id": ["2", "2"], "ward": ["A", "B"]}))
>>> both = related(people, visits, ("id",))
>>> both.frame.to_pylist()[2], both.absent.tolist(), sorted(both.own)
({'id': '1', 'ward': None, 'sex': 'f'}, [False, False, True], ['sex'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.table import Table, decoded
from sfumato.errors import DataError


@dataclass(frozen=True, slots=True)
class RelatedTable(Table):
    """The joined table, and what of it belongs to people."""

    absent: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Lines of people without rows."""


def related(people: Table, rows: Table, key: Sequence[str], *, without_rows: bool = True) -> RelatedTable:
    """Both tables as one; `without_rows`: people who have none are kept."""
    own = [name for name in people.names if name not in key]
    _require_apart(people, rows, key, own)
    of = _named(people, rows, key)
    place = np.concatenate([of, np.setdiff1d(np.arange(people.rows), of)]) if without_rows else of
    absent = np.arange(len(place)) >= rows.rows
    line = pa.array(np.where(absent, 0, np.arange(len(place))), mask=absent)
    columns = {name: decoded(people.held).column(name).take(pa.array(place)) for name in key}
    columns |= {name: decoded(rows.held).column(name).take(line) for name in rows.names if name not in key}
    columns |= {name: decoded(people.held).column(name).take(pa.array(place)) for name in own}
    return RelatedTable(pa.table(columns), own=frozenset(own), absent=absent)


def _require_apart(people: Table, rows: Table, key: Sequence[str], own: Sequence[str]) -> None:
    for name in key:
        for table, what in ((people, "people"), (rows, "rows")):
            if name not in table.names:
                raise DataError(f"the table of {what} has no column '{name}', which names a person", hint="see 'person:'")
    twice = [name for name in own if name in rows.names]
    if twice:
        hint = "drop it from one of them, or rename it"
        raise DataError(f"'{twice[0]}' stands in the table of people and in that of their rows", hint=hint)


def _named(people: Table, rows: Table, key: Sequence[str]) -> IntArray:
    """The line in the table of people behind each row."""
    columns = []
    for name in key:
        mine, theirs = people.text(name), rows.text(name)
        known = {label: code for code, label in enumerate(mine.labels)}
        code = np.array([known.get(label, len(known) + place) for place, label in enumerate(theirs.labels)], dtype=np.int64)
        columns.append(np.concatenate([mine.codes.astype(np.int64), code[theirs.codes]]))
    named = group(columns, rows=people.rows + rows.rows)
    line = np.full(len(named), -1, dtype=np.int64)
    line[named.of[: people.rows]] = np.arange(people.rows)
    if len(np.unique(named.of[: people.rows])) < people.rows:
        raise DataError("somebody stands twice in the table of people", hint="keep one line for each person")
    found: IntArray = line[named.of[people.rows :]]
    if (found < 0).any():
        what = f"{int((found < 0).sum())} row(s) belong to nobody in the table of people"
        raise DataError(what, hint="add these people, or leave their rows out")
    return found
