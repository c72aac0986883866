"""`related`: a table of people and a table of their rows, tied by a pseudonym, as one release.

Both are joined, grouped like a longitudinal file (`linked`, `bags`), and taken apart again: what is said of a person is written
once, in ``people``; what belongs to a row, in ``rows``. People without rows are grouped by themselves, since how many rows somebody
has is seen by everybody.

Paper: our own.

Invariants
    I1  The lines of people and the rows are each in an order of their own, drawn by chance.
    I2  The columns of people are written alike in all rows of a person, so that one line says them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.related import RelatedTable
from sfumato.errors import DataError, Infeasible
from sfumato.forms.recoded import RecodedTrace
from sfumato.forms.related import PEOPLE_PART, ROWS_PART, RelatedTables
from sfumato.methods.base import Task
from sfumato.methods.recoding.linked import LinkedRows
from sfumato.policy.person import PSEUDONYM
from sfumato.release.form import Form
from sfumato.release.release import Part, Release


class RelatedPeople(LinkedRows):
    """A table of people and one of their rows, tied by a pseudonym: at least k people have the same line and the same rows."""

    name: ClassVar[str] = "related"
    form: ClassVar[type[Form]] = RelatedTables
    other_tables: ClassVar[str] = "the policy names no table of people beside the rows: 'data: {source: …, people: …}'"

    def preference(self, records: int | None) -> tuple[int, str]:
        return 20, "it ties a table of people and their rows by a pseudonym"

    def run(self, task: Task) -> Release:
        table = task.data
        if not isinstance(table, RelatedTable):
            raise DataError("people and their rows are one table here", hint="give both: {'people': …, 'rows': …}")
        if not any(name in table.own for name in task.policy.quasi_identifiers):
            what = "no quasi-identifier stands in the table of people, so it would say nothing but how many there are"
            raise DataError(what, where="columns", hint="leave 'people:' out, or make one of its columns a quasi-identifier")
        return super().run(task)

    def released(self, task: Task, rows: IntArray, shown: pa.Table, suppressed: int) -> Release:
        table: RelatedTable = task.data
        absent = table.absent[rows]
        called = shown.column(PSEUDONYM).to_numpy()
        present, first = np.unique(called, return_index=True)
        order = task.randomness.child("people").permutation(len(present))  # I1
        lines = first[order]
        own = [PSEUDONYM, *(name for name in task.policy.published if name in table.own)]
        people = shown.select(own).take(pa.array(lines))  # I2
        events = np.flatnonzero(~absent)
        if not len(events):
            raise Infeasible("no row of anybody can be published", hint="ask for less")
        told = shown.select([PSEUDONYM, *(name for name in task.policy.published if name not in table.own)])
        behind = np.concatenate([rows[events], rows[lines[absent[lines]]]])  # as both are seen when they are joined
        parts = {PEOPLE_PART: Part(people), ROWS_PART: Part(told.take(pa.array(events)))}
        return Release(RelatedTables(), parts, suppressed, RecodedTrace({"data": behind}))
