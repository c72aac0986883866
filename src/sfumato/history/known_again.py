"""People, rows and columns that must be known again: what goes by another name would be judged as if it had never been published.

A ledger knows people by their keys and hidden columns by their names. Keys that are written otherwise make everybody a newcomer,
and a hidden column under a new name has no past; both look like a fresh start, and whoever joins the releases is not deceived.
Where people may have several rows, people are known by their names and rows by their keys: with other keys every row would be a new
one of somebody who is known.

Invariants
    I1  A table nobody of which was in an earlier release is refused: its keys are other ones, or it is about other people.
    I2  A hidden column that says of everybody what a column of another name said is refused, unless something published ties both.
    I3  Rows under new keys that say of people what as many rows of theirs said that are gone are refused: they are the same rows,
        or others in which a hidden value stays with a person, and then the policy has to say so.

Departures: so few people that both could be alike by chance are let pass, and so is a column whose values are written otherwise.
That two rows say what most rows say is no sign that they are one: only people who have something else count (I3).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import IntArray
from sfumato.data.classes import weighed
from sfumato.data.people import STAYS, staying
from sfumato.data.table import Table
from sfumato.errors import Infeasible
from sfumato.history.bundles import Bundles
from sfumato.history.joint import bundle_of
from sfumato.history.remembered import RememberedValues
from sfumato.policy.policy import Policy
from sfumato.release.past import WHOSE, History, text_of, whose_of

_PEOPLE, _OTHERS = 20, 5
"""People who must have both values, and those of them who have another value than most, before two columns are taken for one."""


def require_known_again(policy: Policy, history: History, keys: Sequence[str], table: Table | None = None) -> None:
    """Refuse a table in which nobody is of whom something was published (I1); rows of people may all be new, their people not."""
    people = policy.person is not None and table is not None
    mine = whose_of(policy, table) if people and table is not None else pa.array(list(keys), pa.string())
    for past in reversed(history.releases):
        named = people and WHOSE in past.memory.values.names
        met = text_of(past.memory.values, WHOSE) if named else past.memory.key_column
        if pc.any(pc.is_in(met, value_set=mine)).as_py():
            return
    if history and len(mine):
        hint = "write keys as they were in earlier releases; other people have a ledger of their own"
        raise Infeasible("nobody in the table was in an earlier release, by the key", where="key", hint=hint)


def require_one_name(bundles: Bundles, policy: Policy, person: IntArray, table: Table) -> None:
    """Refuse a table that publishes what was published under another name (I2); `person` is behind each record."""
    shown = [name for name in policy.published if not bundles.is_known(name) and policy.columns[name].role != "quasi-identifier"]
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
        what = f"'{found[0]}' says of everybody what '{found[1]}' said in an earlier release, and would be judged as if it were new"
        raise Infeasible(what, where=f"columns.{found[0]}", hint=f"call it '{found[1]}' again")


def require_rows_known_again(bundles: Bundles, policy: Policy, person: IntArray, table: Table) -> None:
    """Refuse rows of people that were published under other keys, or in which a value stays with them unsaid (I3).

    `person` is behind each record of the table.
    """
    if policy.person is None or WHOSE not in bundles.values.newest:
        return  # I3 is about people whose rows have names of their own
    shown = [name for name in may_vary(policy, table.own) if name in bundles.values.newest]
    values = deepcopy(bundles.values)
    columns = {WHOSE: whose_of(policy, table), **{name: text_of(table, name) for name in shown}}
    values.add(Table(pa.table(columns)), person, max(bundles.people, int(person.max(initial=-1)) + 1))
    again = other_rows(values, shown, person[person >= bundles.people], np.setdiff1d(np.arange(bundles.people), person))
    if again is not None:
        hint = "write keys as they were, or keep the earlier rows in the table; of a value that stays say 'persistent: true'"
        raise Infeasible(f"{said_again(again)}, under other keys", where="key", hint=hint)
    for name in (name for name in shown if policy.columns[name].persistent is None and not policy.person.linked):
        told = values.newest[name] >= 0
        stays = staying(values.newest[WHOSE][told], values.newest[name][told])
        if stays >= STAYS:
            what = f"'{name}' stays the same for {stays:.0%} of the people with several rows in all releases, which gives it away"
            hint = "write 'rows: linked' under person, in a ledger of its own; 'persistent: false' says that it does not stay"
            raise Infeasible(what, where=policy.document.where("columns", name), hint=hint)


def may_vary(policy: Policy, own: Collection[str]) -> list[str]:
    """Hidden columns that are not said to stay with a person; where rows are tied, those of a table of people (`own`) do."""
    tied = policy.person is not None and policy.person.linked
    return [name for name in policy.sensitive if not policy.columns[name].persistent and not (tied and name in own)]


def said_again(name: str) -> str:
    """What is wrong with rows that are the same ones under other keys."""
    return f"rows of people say again in '{name}' what rows of theirs said that are gone"


def other_rows(values: RememberedValues, names: Collection[str], new: IntArray, gone: IntArray) -> str | None:
    """A hidden column in which `new` records say of people what as many records of theirs said that are `gone` (I3)."""
    whose = values.newest[WHOSE]
    for name in names:
        told = values.newest[name]
        before, now = gone[told[gone] >= 0], new[told[new] >= 0]
        if _same_again(whose, told, before, now):
            return name
    return None


def _same_again(whose: IntArray, told: IntArray, before: IntArray, now: IntArray) -> bool:
    """Whether nearly everybody who has as many records of both kinds, and another value than most, has the same values in both."""
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
    """A hidden column and one of another name, none of those tied to it, that says the same of everybody (I2).

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
    most = weighed(theirs[both], None if weights is None else weights[both], 0)
    if int(most.sum()) < _PEOPLE or not np.array_equal(mine[both], theirs[both]):
        return False
    return int(most.sum()) - int(most.max()) >= _OTHERS
