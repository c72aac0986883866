"""Recognize people, rows and columns of earlier releases: a renamed one would be judged as never published.

A ledger knows people by their keys and sensitive columns by their names. Keys that are written differently make every
record a new one, and a renamed sensitive column has no past. Both look like a first release, although an adversary can
still join the releases. Where people may have several rows, people are known by their names and rows by their keys:
with other keys every row would be a new one of a person who is known.

Invariants
    I1  A table nobody of which was in an earlier release is refused: its keys are other ones, or it is about other
        people.
    I2  A sensitive column that says of all people what a column of another name said is refused, unless something
        published ties both.
    I3  Rows under new keys that say of people what as many rows of theirs said that are gone are refused: they are the
        same rows, or others in which a sensitive value stays with a person, and then the policy has to say so.

Departures: very few people, who may agree accidentally, are accepted, and so is a column whose values are written
differently. That two rows say what most rows say is no sign that they are one: only people who have something else
count (I3).


Changes
-------
Values that change between releases: what the policy expects, and what the data says.

A person's rows move as one bundle when people of a joint class trade places, and a cell need only cover what was true
at its time. So changed values do not weaken joint classes, and no rule about time (a year later all people are a year
older) helps an adversary: an exchange of two people exchanges their ages, too. A sensitive value that changes is judged
in every release that tells it.

What the policy says is a guard against mistakes: a value under a known key that is not what was remembered is refused,
unless its column is named under ``series: {changes: …}``, as ``free`` (addresses, jobs, corrections) or with a known
step (``+1 per year``).

Invariants
    I1  A known step needs the day of both releases (``series: {date: …}``); values may be off by one step, for
        birthdays.
    I2  Everybody's value is compared with the newest release that remembers it of *them*: who comes back after an
        absence is known by what was said before it.


Accounting
----------
What a ledger remembers of a release beside what the release shows: every row has exactly one record behind it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from copy import deepcopy
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.data.equivalence_classes import class_counts, equivalence_classes_of
from sfumato.data.persons import STAYS, share_with_constant_value
from sfumato.data.table import Table
from sfumato.data.text_values import parse_number
from sfumato.history.persistent_classes import bundle_of
from sfumato.history.published_cells import PublishedCells, RememberedValues
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import WHOSE, History, PastRelease, persons_of_records, text_of

_PEOPLE, _OTHERS = 20, 5
"""People who must have both values, and those of them who have another value than most, before two columns are taken
for one."""


def require_overlap_with_history(
    policy: Policy, history: History, keys: Sequence[str], table: Table | None = None
) -> None:
    """Raise an error if no record of the table appeared in an earlier release (I1); rows may be new, their people
    not."""
    people = policy.person is not None and table is not None
    mine = persons_of_records(policy, table) if people and table is not None else pa.array(list(keys), pa.string())
    for past in reversed(history.releases):
        named = people and WHOSE in past.memory.values.names
        met = text_of(past.memory.values, WHOSE) if named else past.memory.key_column
        if pc.any(pc.is_in(met, value_set=mine)).as_py():
            return
    if history and len(mine):
        hint = "write keys as they were in earlier releases; other people have a ledger of their own"
        raise Infeasible("nobody in the table was in an earlier release, by the key", where="key", hint=hint)


def require_no_renamed_column(bundles: PublishedCells, policy: Policy, person: IntArray, table: Table) -> None:
    """Refuse a table that publishes what was published under another name (I2); `person` is behind each record."""
    shown = [
        name
        for name in policy.published
        if not bundles.is_known(name) and policy.columns[name].role != "quasi-identifier"
    ]
    if all(name in bundles.values.newest for name in shown):
        return
    values = deepcopy(bundles.values)
    columns = Table(pa.table({name: text_of(table, name) for name in shown}))
    values.add(columns, person, max(bundles.people, int(person.max(initial=-1)) + 1))
    tied = {name for sheet in bundle_of(bundles, shown) for name in sheet.columns}
    past, now = bundles.weights, table.counts
    weights = None if past is None or now is None else _weights(past, person, now)
    found = other_name(values, shown, {*tied, *shown, *bundles.known, *policy.quasi_identifiers}, weights)
    if found is not None:
        what = (
            f"'{found[0]}' says of everybody what '{found[1]}' said in an earlier release, and would be judged as if it"
            " were new"
        )
        raise Infeasible(what, where=f"columns.{found[0]}", hint=f"call it '{found[1]}' again")


def require_rows_recognized(bundles: PublishedCells, policy: Policy, person: IntArray, table: Table) -> None:
    """Refuse rows of people that were published under other keys, or in which a value stays with them unsaid (I3).

    `person` is behind each record of the table.
    """
    if policy.person is None or WHOSE not in bundles.values.newest:
        return  # I3 is about people whose rows have names of their own
    shown = [name for name in may_vary(policy, table.own) if name in bundles.values.newest]
    values = deepcopy(bundles.values)
    columns = {WHOSE: persons_of_records(policy, table), **{name: text_of(table, name) for name in shown}}
    values.add(Table(pa.table(columns)), person, max(bundles.people, int(person.max(initial=-1)) + 1))
    again = other_rows(values, shown, person[person >= bundles.people], np.setdiff1d(np.arange(bundles.people), person))
    if again is not None:
        hint = (
            "write keys as they were, or keep the earlier rows in the table; of a value that stays say 'persistent:"
            " true'"
        )
        raise Infeasible(f"{repeated_rows_message(again)}, under other keys", where="key", hint=hint)
    for name in (name for name in shown if policy.columns[name].persistent is None and not policy.person.linked):
        told = values.newest[name] >= 0
        stays = share_with_constant_value(values.newest[WHOSE][told], values.newest[name][told])
        if stays >= STAYS:
            what = (
                f"'{name}' stays the same for {stays:.0%} of the people with several rows in all releases, which gives"
                " it away"
            )
            hint = (
                "write 'rows: linked' under person, in a ledger of its own; 'persistent: false' says that it does not"
                " stay"
            )
            raise Infeasible(what, where=policy.document.where("columns", name), hint=hint)


def may_vary(policy: Policy, own: Collection[str]) -> list[str]:
    """Hidden columns that are not said to stay with a person; where rows are tied, those of a table of people (`own`)
    do."""
    tied = policy.person is not None and policy.person.linked
    return [name for name in policy.sensitive if not policy.columns[name].persistent and not (tied and name in own)]


def repeated_rows_message(name: str) -> str:
    """What is wrong with rows that are the same ones under other keys."""
    return f"rows of people say again in '{name}' what rows of theirs said that are gone"


def other_rows(values: RememberedValues, names: Collection[str], new: IntArray, gone: IntArray) -> str | None:
    """A sensitive column in which `new` records say of people what as many records of theirs said that are `gone`
    (I3)."""
    whose = values.newest[WHOSE]
    for name in names:
        told = values.newest[name]
        before, now = gone[told[gone] >= 0], new[told[new] >= 0]
        if _same_again(whose, told, before, now):
            return name
    return None


def _same_again(whose: IntArray, told: IntArray, before: IntArray, now: IntArray) -> bool:
    """Whether nearly everybody who has as many records of both kinds, and another value than most, has the same values
    in both."""
    many = np.stack([np.bincount(whose[some], minlength=int(whose.max(initial=-1)) + 1) for some in (before, now)])
    people = (many[0] == many[1]) & (many[0] > 0)
    if int(people.sum()) < _PEOPLE:
        return False
    before, now = before[people[whose[before]]], now[people[whose[now]]]
    often = np.bincount(told[np.concatenate([before, now])])
    bags = [some[np.lexsort((told[some], whose[some]))] for some in (before, now)]  # person by person, values in order
    differs = np.bincount(whose[bags[0]], weights=told[bags[0]] != told[bags[1]], minlength=len(people)) > 0
    special = np.bincount(whose[before], weights=told[before] != int(often.argmax()), minlength=len(people)) > 0
    same = int((special & ~differs).sum())
    return int(special.sum()) >= _OTHERS and same >= STAYS * int(special.sum())


def _weights(past: IntArray, person: IntArray, counts: IntArray) -> IntArray:
    """For how many people everybody of the past and of the table stands."""
    found = np.zeros(max(len(past), int(person.max(initial=-1)) + 1), dtype=np.int64)
    found[person] = counts
    found[: len(past)] = past
    return found


def other_name(
    values: RememberedValues, hidden: Collection[str], tied: Collection[str], weights: IntArray | None = None
) -> tuple[str, str] | None:
    """A sensitive column and one of another name, none of those tied to it, that says the same of all people (I2).

    `weights` says for how many people each of them stands.
    """
    for name in sorted(set(hidden) & set(values.newest)):
        for other in sorted(set(values.newest) - {name, WHOSE, *tied}):
            if _alike(values, name, other, weights):
                return name, other
    return None


def _alike(values: RememberedValues, name: str, other: str, weights: IntArray | None) -> bool:
    number = values.number[other]
    as_other = np.array([*(number.get(label, -2) for label in values.number[name]), -1], dtype=np.int64)
    mine, theirs = as_other[values.newest[name]], values.newest[other]
    both = (values.newest[name] >= 0) & (theirs >= 0)
    most = class_counts(theirs[both], None if weights is None else weights[both], 0)
    if int(most.sum()) < _PEOPLE or not np.array_equal(mine[both], theirs[both]):
        return False
    return int(most.sum()) - int(most.max()) >= _OTHERS


# Changes
# -------


_STEP = re.compile(r"([+-]?\d+(?:\.\d+)?) per (year|quarter|month|day)")
_DAYS = {"year": 365.25, "quarter": 91.3125, "month": 30.4375, "day": 1.0}


def require_expected_changes(policy: Policy, bundles: PublishedCells, person: IntArray, table: Table) -> None:
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


def _other(bundles: PublishedCells, name: str, person: IntArray, table: Table) -> int:
    """How many have another value than the newest one that is remembered of them (I2)."""
    if name not in bundles.values.newest:
        return 0
    text, number, back = table.text(name), bundles.values.number[name], person < bundles.people
    now = np.array([number.get(label, -2) for label in text.labels], dtype=np.int64)[text.codes[back]]
    before = bundles.values.newest[name][person[back]]
    strange = (before >= 0) & (before != now)
    return int(strange.sum()) if table.counts is None else int(table.counts[back][strange].sum())


def _off_step(policy: Policy, bundles: PublishedCells, name: str, person: IntArray, table: Table, expected: str) -> int:
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
    """How many of some records have another value than follows from what an earlier release remembers at their
    places."""
    before, now = past.memory.values.text(name), table.text(name)
    weights = None if table.counts is None else table.counts[records]
    pairs = equivalence_classes_of([before.codes[place], now.codes[records]], rows=len(records), weights=weights)
    step = _step(policy, past, name, expected)
    told = zip(
        before.codes[place[pairs.first]].tolist(), now.codes[records[pairs.first]].tolist(), pairs.counts, strict=True
    )
    return sum(int(many) for a, b, many in told if not _fits(before.labels[a], now.labels[b], step))


def _fits(before: str, now: str, step: tuple[float, float]) -> bool:
    old, new = parse_number(before), parse_number(now)
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


# Accounting
# ----------


def require_one_record_per_row(past: PastRelease) -> None:
    """Every published row must have exactly one remembered record behind it, in every table; anything else is
    refused."""
    memory = past.memory
    if len(set(memory.keys)) < len(memory.keys):
        raise DataError(f"the memory of release {past.number} names somebody twice")
    if not past.exhibit.form.accounts(past.exhibit, memory):
        raise DataError(f"the memory of release {past.number} does not account for its rows")
    if any(len(sheet.here) != len(memory.keys) for sheet in past.sheets):
        raise DataError(f"the memory of release {past.number} is not about its own records")
