"""Value lists: few different values, each of them often.

Guarantee
    A value is spelled out only when at least five rows carry it, and at least five people where the table refers to people
    (`OFTEN`): the policy must not carry somebody's own value. Whom a row is about is known from references and from names like
    `patient_id` only.

Notation
    chance  that one more value, as frequent as the rarest one seen (m rows), has not shown up: exp(−m)

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"state": ["open", "paid", "sent"] * 20}))
>>> [(each.rule, round(each.chance)) for each in ValueLists().propose(DataView.of({None: table}))]
[('state in {"open", "paid", "sent"}', -9)]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.discover.personal import names_somebody
from sfumato.discover.proposal import OFTEN, Proposal
from sfumato.discover.templates.base import Template
from sfumato.discover.view import ColumnView, DataView, pairs

_MOST_TEXTS, _MOST_NUMBERS, _LONGEST = 30, 10, 40


class ValueLists(Template):
    """`a in {…}`."""

    name: ClassVar[str] = "value lists"
    order: ClassVar[int] = 60

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for column in view.columns:
            if column not in view.pointing and _is_list(column) and _is_shared(column, view):
                listed = ", ".join(_written(value, column.unit) for value in sorted(column.values, key=_sorting(column.unit)))
                chance = -float(column.frequencies.min()) / math.log(10)
                yield Proposal(f"{column} in {{{listed}}}", ValueLists.name, column.known, chance)


def _is_list(column: ColumnView) -> bool:
    if column.unit not in ("text", "number") or (not column.exact and column.unit == "number"):
        return False
    most = _MOST_TEXTS if column.unit == "text" else _MOST_NUMBERS
    return len(column.values) <= most and int(column.frequencies.min()) >= OFTEN and all(_short(value) for value in column.values)


def _is_shared(column: ColumnView, view: DataView) -> bool:
    """Whether enough different people stand behind every value."""
    people = [one for one in view.columns if one.table == column.table and (one in view.naming or names_somebody(one))]
    return all(int(_behind(column, one).min()) >= OFTEN for one in people if one is not column)


def _behind(column: ColumnView, people: ColumnView) -> NDArray[np.int64]:
    """How many different people carry each value of the column."""
    known = column.present & people.present
    combined = np.unique(pairs(column, people, known)) // len(people.text.labels)
    found: NDArray[np.int64] = np.bincount(combined, minlength=len(column.text.labels))
    return found[column.filled]


def _short(value: str) -> bool:
    return len(value) <= _LONGEST and "\\" not in value and value.isprintable()


def _sorting(unit: str) -> type[float] | type[str]:
    return float if unit == "number" else str


def _written(value: str, unit: str) -> str:
    return value if unit == "number" else '"' + value.replace('"', '\\"') + '"'
