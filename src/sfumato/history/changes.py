"""Values that change between releases: what the policy expects, and what the data says.

A person's rows move as one bundle when people of a joint class trade places, and a cell need only cover what was true at its
time. So changed values take nothing from what joint classes promise, and no rule about time (a year later everybody is a year
older) helps an outsider: whoever trades places trades the years with it. A sensitive value that changes is judged in every
release that tells it.

What the policy says is a guard against mistakes: a value under a known key that is not what was remembered is refused, unless its
column is named under ``series: {changes: …}``, as ``free`` (addresses, jobs, corrections) or with a known step (``+1 per year``).

Invariants
    I1  A known step needs the day of both releases (``series: {date: …}``); values may be off by one step, for birthdays.
    I2  Everybody's value is compared with the newest release that remembers it of *them*: who comes back after an absence is known
        by what was said before it.
"""

from __future__ import annotations

import re
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.numbers import number
from sfumato.data.table import Table
from sfumato.errors import Infeasible, PolicyError
from sfumato.history.bundles import Bundles
from sfumato.policy.policy import Policy
from sfumato.release.past import PastRelease

_STEP = re.compile(r"([+-]?\d+(?:\.\d+)?) per (year|quarter|month|day)")
_DAYS = {"year": 365.25, "quarter": 91.3125, "month": 30.4375, "day": 1.0}


def require_expected(policy: Policy, bundles: Bundles, person: IntArray, table: Table) -> None:
    """Refuse values that changed where the policy does not expect it; `person` is behind each record of the table."""
    for name in policy.series.changes:
        if name not in policy.columns:
            raise PolicyError(
                f"'series.changes' names an unknown column '{name}'", where=policy.document.where("series", "changes")
            )
    strange: dict[str, int] = {}
    for name in (name for name in table.names if name in policy.columns and policy.columns[name].role != "identifier"):
        expected = policy.series.changes.get(name)
        if expected is None:
            strange[name] = _other(bundles, name, person, table)
        elif expected != "free":
            strange[name] = _off_step(policy, bundles, name, person, table, expected)
    if any(strange.values()):
        told = ", ".join(f"{count} in '{name}'" for name, count in strange.items() if count)
        hint = "say 'series: {changes: {column: free}}' where values change, or with a known step like '+1 per year'"
        if policy.person is not None:  # where people have several rows nobody judges values that change
            hint = "publish the values as they were: rows of people ('person:') are known again by values that stay"
        raise Infeasible(f"values are not what they were when they were published: {told}", where="key", hint=hint)


def _other(bundles: Bundles, name: str, person: IntArray, table: Table) -> int:
    """How many have another value than the newest one that is remembered of them (I2)."""
    if name not in bundles.values.newest:
        return 0
    text, number, back = table.text(name), bundles.values.number[name], person < bundles.people
    now = np.array([number.get(label, -2) for label in text.labels], dtype=np.int64)[text.codes[back]]
    before = bundles.values.newest[name][person[back]]
    strange = (before >= 0) & (before != now)
    return int(strange.sum()) if table.counts is None else int(table.counts[back][strange].sum())


def _off_step(policy: Policy, bundles: Bundles, name: str, person: IntArray, table: Table, expected: str) -> int:
    """How many have a value that did not grow as it should, since the newest release that remembers theirs (I2)."""
    found, left = 0, np.flatnonzero(person < bundles.people)
    keys = bundles.keys.take(pa.array(person[left]))
    for past in reversed(bundles.history.releases):
        if not len(left):
            break
        if name in past.memory.values.names:
            place = pc.fill_null(pc.index_in(keys, value_set=past.memory.key_column), -1)
            at: IntArray = place.to_numpy(zero_copy_only=False).astype(np.int64)
            met = at >= 0
            found += _unexpected(policy, past, name, table, expected, left[met], at[met]) if met.any() else 0
            left, keys = left[~met], keys.filter(pa.array(~met))
    return found


def _unexpected(
    policy: Policy, past: PastRelease, name: str, table: Table, expected: str, records: IntArray, place: IntArray
) -> int:
    """How many of some records have another value than follows from what an earlier release remembers at their places."""
    before, now = past.memory.values.text(name), table.text(name)
    weights = None if table.counts is None else table.counts[records]
    pairs = group([before.codes[place], now.codes[records]], rows=len(records), weights=weights)
    step = _step(policy, past, name, expected)
    told = zip(before.codes[place[pairs.first]].tolist(), now.codes[records[pairs.first]].tolist(), pairs.counts, strict=True)
    return sum(int(many) for a, b, many in told if not _fits(before.labels[a], now.labels[b], step))


def _fits(before: str, now: str, step: tuple[float, float]) -> bool:
    old, new = number(before), number(now)
    return old is not None and new is not None and abs(float(new) - float(old) - step[0]) <= abs(step[1]) + 1e-9


def _step(policy: Policy, past: PastRelease, name: str, expected: str) -> tuple[float, float]:
    """(how much the value should have grown, one step) between two releases (I1)."""
    where = policy.document.where("series", "changes", name)
    found = _STEP.fullmatch(expected.strip())
    if found is None:
        raise PolicyError(f"'{expected}' is no change", where=where, hint="write 'free', or a step like '+1 per year'")
    days = [_day(said, where) for said in (past.cover.policy.series.date, policy.series.date)]
    return float(found[1]) * (days[1] - days[0]) / _DAYS[found[2]], float(found[1])


def _day(text: str | None, where: str) -> int:
    try:
        return date.fromisoformat(text or "").toordinal()
    except ValueError:
        hint = "say in every policy what day it is about: 'series: {date: 2026-03-31}'"
        raise PolicyError("a known step needs the days of both releases", where=where, hint=hint) from None
