"""People and columns that must be known again: what goes by another name would be judged as if it had never been published.

A ledger knows people by their keys and hidden columns by their names. Keys that are written otherwise make everybody a newcomer,
and a hidden column under a new name has no past; both look like a fresh start, and whoever joins the releases is not deceived.

Invariants
    I1  A table nobody of which was in an earlier release is refused: its keys are other ones, or it is about other people.
    I2  A hidden column that says of everybody what a column of another name said is refused, unless something published ties both.

Departures: so few people that both could be alike by chance are let pass, and so is a column whose values are written otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import IntArray
from sfumato.data.classes import weighed
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
