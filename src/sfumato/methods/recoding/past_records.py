"""Records that earlier releases published, beside those of a table: whose they are, and what was shown of them.

Where pseudonyms tie the rows of a person, whoever is published again stands with people whose rows had the same past, one by one
(`history.linked_people`). So a row of the table has a *look*: the joint class of what was published of it. Rows that were published
and are not in the table are *gone*; nothing is written of them now, and the values that they told still count for their people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.people import people_of
from sfumato.data.table import Table, TextColumn
from sfumato.errors import LedgerError
from sfumato.methods.base import Task
from sfumato.methods.continuing import Ties, tied_to_the_past
from sfumato.policy.policy import Policy
from sfumato.release.past import NO_ROW, WHOSE, keys_of, whose_of


@dataclass(frozen=True)
class PastRecords:
    """The records that are gone, and what was shown of everything."""

    look: IntArray
    """Per record of the table, then per record that is gone: what earlier releases showed of it, −1 where they showed nothing."""
    owner: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The person of each record that is gone; people who are not in the table follow those who are."""
    line: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Which of the records that are gone were the line of somebody without rows."""
    values: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """Per hidden column that was published before what the records that are gone told."""

    @classmethod
    def none(cls, table: Table) -> PastRecords:
        """Nothing was published before."""
        return cls(np.full(table.rows, -1, dtype=np.int64))

    @property
    def gone(self) -> int:
        return len(self.owner)

    def joined(self, text: TextColumn, name: str) -> TextColumn:
        """A hidden column of the table with the values of what is gone behind it."""
        number = {label: code for code, label in enumerate(text.labels)}
        told = [number.setdefault(label or "", len(number)) for label in self.values.get(name, [None] * self.gone)]
        return TextColumn(np.concatenate([text.codes.astype(np.int32), np.array(told, dtype=np.int32)]), tuple(number))


def past_records(task: Task, policy: Policy) -> PastRecords:
    """What earlier releases published of the people of a task's table, and of those who left."""
    if not task.history:
        return PastRecords.none(task.data)
    tied = tied_to_the_past(task, task.history, keys_of(task.policy, task.data))
    _require_same_owners(tied, task.policy, task.data)
    look = tied.history_class()
    here = np.where(tied.person < tied.bundles.people, tied.person, -1)
    missing = np.ones(tied.bundles.people, dtype=np.bool_)
    missing[here[here >= 0]] = False
    gone = np.flatnonzero(missing & (look >= 0))
    names = {name for claim in policy.claims for name in claim.hide if name in tied.bundles.values.newest}
    return PastRecords(
        np.concatenate([np.where(here >= 0, look[here], -1), look[gone]]),
        _owners(tied, task.policy, task.data, gone),
        pc.starts_with(tied.bundles.keys.take(pa.array(gone)), NO_ROW).to_numpy(zero_copy_only=False).astype(np.bool_),
        {name: tied.bundles.values.of_people(name, gone) for name in names},
    )


def _owners(tied: Ties, policy: Policy, table: Table, gone: IntArray) -> IntArray:
    """The people of records that are gone, in the numbering of the table."""
    assert policy.person is not None
    number = dict(zip(whose_of(policy, table).to_pylist(), people_of(table, policy.person.unit).tolist(), strict=True))
    names = tied.bundles.values.of_people(WHOSE, gone)
    return np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int64)


def _require_same_owners(tied: Ties, policy: Policy, table: Table) -> None:
    """Refuse rows that are another person's than they were when they were published."""
    known = np.flatnonzero(tied.person < tied.bundles.people)
    before = tied.bundles.values.of_people(WHOSE, tied.person[known])
    now = whose_of(policy, table).take(pa.array(known)).to_pylist()
    if moved := sum(one != other for one, other in zip(before, now, strict=True)):
        what = f"{moved} row(s) are another person's than in an earlier release"
        raise LedgerError(what, where="person", hint="a key names one row of one person, in every release")
