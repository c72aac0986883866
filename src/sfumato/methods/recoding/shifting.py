"""Shifted dates: all dates of a person move by the same number of days, drawn by chance; intervals stay what they are.

What it protects: the day itself, from whoever knows no other date of the person. Intervals between a person's dates, the order of
events, the time of day and, within the shift, the season are published. Whoever knows two days of the person knows the interval.

>>> _moved("2024-02-28", 2), _moved("2024-02-28 10:15", -28), _moved("", 3)
('2024-03-01', '2024-01-31 10:15', '')
"""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.generalization import MISSING
from sfumato.data.people import people_of
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.methods.base import Task

_DAY = len("2024-12-31")


def shifted(task: Task, name: str, rows: IntArray) -> pa.Array:
    """The dates of some records, each person's moved by the person's own number of days."""
    table: Table = task.data
    moved, person = task.policy.columns[name].dates, task.policy.person
    assert moved is not None
    assert person is not None
    days = shifts(task, int(people_of(table, person.columns).max(initial=-1)) + 1, moved.shift)
    text, whose = table.text(name), people_of(table, person.columns)[rows]
    try:
        found = [_moved(text.labels[code], int(day)) for code, day in zip(text.codes[rows], days[whose], strict=True)]
    except (ValueError, OverflowError):
        what = f"'{name}' has values that are no days"
        raise DataError(what, where=name, hint="write days like 2024-12-31, or leave 'dates' out") from None
    return pa.array(found, pa.string())


def shifts(task: Task, people: int, most: int) -> IntArray:
    """Days for every person, from −most to most; one number per person for all columns with the same limit."""
    drawn: IntArray = task.randomness.child(f"days up to {most}").integers(2 * most + 1, people) - most
    return np.asarray(drawn, dtype=np.int64)


def _moved(label: str, days: int) -> str:
    if label == MISSING:
        return label
    return (date.fromisoformat(label[:_DAY]) + timedelta(days=days)).isoformat() + label[_DAY:]
