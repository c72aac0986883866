"""Between two releases: who is new, who vanished, who changed, and what may be published about them.

Paper: [sequential §6]; counterfeits after Xiao and Tao's m-invariance, which the paper points to for deletions.

Invariants
    I1  Vanished and changed records are found by key against everything the ledger remembers.
    I2  A counterfeit has the values that were published about its record, so earlier releases stay consistent with it, and for
        other columns those of a person drawn at random; it stays in every later release.
    I3  New records: an outsider who compares the sensitive values of two releases sees which came new, so these alone must satisfy
        the claim.

Departures: the paper leaves deletions and changes open (critical absence). A changed record is treated as one that vanished and one
that is new, only if its key changes too; a changed value under the same key is refused.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.data.table import Table
from sfumato.errors import Infeasible
from sfumato.history.aligned import Population
from sfumato.history.known_again import require_known_again
from sfumato.methods.base import Task
from sfumato.methods.continuing import most_stand_ins
from sfumato.methods.sequences.sequel_problem import Goal
from sfumato.randomness import Randomness
from sfumato.release.past import History, PastRelease, keys_of


def population_of(task: Task, history: History, hidden: str, *, allow: bool) -> Population:
    """The records of the table and, where allowed, counterfeits for those that vanished (I1)."""
    policy, table = task.policy, task.data
    keys = keys_of(policy, table) if policy.key else tuple(str(i) for i in range(table.rows))
    require_known_again(policy, history, keys)
    columns = list(policy.published)
    values = Table(pa.table({name: pa.array(_texts(table, name), pa.string()) for name in columns}))
    _refuse_changes(history, keys, values)
    present = set(keys)
    gone = {key: None for past in history.releases for key in past.memory.keys if key not in present}
    if not gone:
        return Population(keys, values, np.zeros(len(keys), dtype=np.bool_))
    if not allow:
        raise Infeasible(
            f"{len(gone)} record(s) of earlier releases are no longer in the table; the values that vanish would tell theirs",
            where="key",
            hint="keep them in the data, or set 'counterfeits: allow' in the method to let counterfeit rows stand in for them",
        )
    if len(gone) > most_stand_ins(policy, table.rows):
        raise Infeasible(
            f"rows would have to stand in for {len(gone)} record(s) of earlier releases that are no longer in the table",
            where="series.counterfeits_at_most",
            hint="allow more of them, or keep the records in the data",
        )
    invented = _invented(list(gone), columns, values, history, task.randomness.child("counterfeits"))
    both = pa.concat_tables([values.frame, invented])
    flags = np.concatenate([np.zeros(len(keys), dtype=np.bool_), np.ones(len(gone), dtype=np.bool_)])
    return Population((*keys, *gone), Table(both.combine_chunks()), flags)


def _texts(table: Table, name: str) -> list[str]:
    text = table.text(name)
    return [text.labels[code] for code in text.codes.tolist()]


def _refuse_changes(history: History, keys: tuple[str, ...], values: Table) -> None:
    """A value that was published under a key must still be the record's value (I1)."""
    changed: set[str] = set()
    for past in history.releases:
        for name in values.names:
            if name in past.memory.values.names:
                changed |= _changed(past, name, keys, values)
    if changed:
        raise Infeasible(
            f"{len(changed)} record(s) have other values than when they were published",
            where="key",
            hint="publish the values as they were, or give a changed record a new key and allow counterfeits for the old one",
        )


def _changed(past: PastRelease, name: str, keys: tuple[str, ...], values: Table) -> set[str]:
    before, now = _texts(past.memory.values, name), _texts(values, name)
    place = past.memory.place
    return {key for key, value in zip(keys, now, strict=True) if key in place and before[place[key]] != value}


def _invented(gone: list[str], columns: list[str], values: Table, history: History, chance: Randomness) -> pa.Table:
    """One counterfeit per vanished record (I2)."""
    drawn = chance.integers(values.frame.num_rows, len(gone) * len(columns)).reshape(len(columns), len(gone))
    invented = {}
    for row, name in zip(drawn, columns, strict=True):
        now = _texts(values, name)
        found = [now[i] for i in row]
        for past in history.releases:
            if name in past.memory.values.names:
                before, place = _texts(past.memory.values, name), past.memory.place
                found = [before[place[key]] if key in place else old for key, old in zip(gone, found, strict=True)]
        invented[name] = pa.array(found, pa.string())
    return pa.table(invented)


def check_batch(history: History, people: Population, claim: Goal, hidden: str, tells: bool) -> None:
    """Refuse when the records that came new since the last release with the sensitive column break the claim themselves (I3)."""
    tellers = [past for past in history.releases if hidden in past.published]
    if not tells or not tellers:
        return
    before = tellers[-1].memory.place
    values = _texts(people.values, hidden)
    batch = Counter(value for key, value in zip(people.keys, values, strict=True) if key not in before)
    if not batch or enough(batch, claim):
        return
    reach = len(batch) if claim.goal == "linkability" else float(Fraction(sum(batch.values()), max(batch.values())))
    raise Infeasible(
        f"the {sum(batch.values())} new record(s) alone have a {claim.goal} of {reach:.4g}, below {claim.k:g}; "
        "comparing two releases shows their sensitive values",
        where="growth",
        hint="wait until more records have come in, or leave the sensitive column out of this release",
    )


def enough(batch: Counter[str], claim: Goal) -> bool:
    """Whether a multiset of sensitive values satisfies the claim by itself."""
    if claim.goal == "linkability":
        return len(batch) >= claim.k
    return max(batch.values()) * Fraction(str(claim.k)) <= sum(batch.values())
