"""Values that change between releases: what the policy expects, and what the data says.

A person's rows move as one bundle when people of a joint class trade places, and a cell need only cover what was true at its
time. So changed values take nothing from what joint classes promise, and no rule about time (a year later everybody is a year
older) helps an outsider: whoever trades places trades the years with it. A sensitive value that changes is judged in every
release that tells it.

What the policy says is a guard against mistakes: a value under a known key that is not what was remembered is refused, unless its
column is named under ``series: {changes: …}``, as ``free`` (addresses, jobs, corrections) or with a known step (``+1 per year``).

Invariants
    I1  A known step needs the day of both releases (``series: {date: …}``); values may be off by one step, for birthdays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.classes import group
from sfumato.data.numbers import number
from sfumato.data.table import Table
from sfumato.errors import Infeasible, PolicyError
from sfumato.policy.policy import Policy
from sfumato.release.past import History, PastRelease

_STEP = re.compile(r"([+-]?\d+(?:\.\d+)?) per (year|quarter|month|day)")
_DAYS = {"year": 365.25, "quarter": 91.3125, "month": 30.4375, "day": 1.0}


def require_expected(policy: Policy, history: History, keys: Sequence[str], table: Table) -> None:
    """Refuse values that changed where the policy does not expect it."""
    for name in policy.series.changes:
        if name not in policy.columns:
            raise PolicyError(
                f"'series.changes' names an unknown column '{name}'", where=policy.document.where("series", "changes")
            )
    strange: dict[str, int] = {}
    column = pa.array(list(keys), pa.string())
    for name in (name for name in table.names if name in policy.columns and policy.columns[name].role != "identifier"):
        expected = policy.series.changes.get(name)
        past = next((past for past in reversed(history.releases) if name in past.memory.values.names), None)
        if past is not None and expected != "free" and (count := _unexpected(policy, past, name, column, table, expected)):
            strange[name] = count
    if strange:
        told = ", ".join(f"{count} in '{name}'" for name, count in strange.items())
        raise Infeasible(
            f"values are not what they were when they were published: {told}",
            where="key",
            hint="say 'series: {changes: {column: free}}' where values change, or with a known step like '+1 per year'",
        )


def _unexpected(policy: Policy, past: PastRelease, name: str, keys: pa.Array, table: Table, expected: str | None) -> int:
    """How many people have another value than the newest release that told it, and not the one that is expected."""
    place = pc.fill_null(pc.index_in(keys, value_set=past.memory.key_column), -1).to_numpy(zero_copy_only=False)
    records = np.flatnonzero(place >= 0)
    before, now = past.memory.values.text(name), table.text(name)
    weights = None if table.counts is None else table.counts[records]
    pairs = group([before.codes[place[records]], now.codes[records]], rows=len(records), weights=weights)
    one = records[pairs.first]
    step = _step(policy, past, name, expected) if expected is not None else None
    told = zip(before.codes[place[one]].tolist(), now.codes[one].tolist(), pairs.counts.tolist(), strict=True)
    return sum(many for a, b, many in told if not _fits(before.labels[a], now.labels[b], step))


def _fits(before: str, now: str, step: tuple[float, float] | None) -> bool:
    if step is None:
        return before == now
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
