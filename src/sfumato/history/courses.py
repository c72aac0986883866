"""Courses: people of whom all releases so far say the same, and who are alike now, as one with a count.

Nothing that is judged over several releases looks at who somebody is: people who stood alike in every release, of whom the same
was remembered and who are alike in the table now can be exchanged for each other. So where rows lie elsewhere, what comes to the
driver are courses with counts, and everything that knows histories of people knows histories of courses (`release.past.Memory`).

Notation
    line      one row of what a ledger keeps of a release made where its rows lie: what was published, what the original said, and
              of how many people. Which person is on which line stays there, in the people files beside the ledger
    course    per release the line that somebody was on, −1 where absent; and the class in the table that is to be published

Invariants
    I1  A course has the same number of people in every release, and the courses of a line have the people that the line counted.

>>> Courses.of(pa.table({"0": [0, 0, 1], "1": [0, -1, -1]}), np.array([3, 2, 4])).names
('#0', '#1', '#2')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.table import Table
from sfumato.engines.base import LINE, PERSON, FileEngine, People
from sfumato.errors import LedgerError
from sfumato.release.exhibit import Exhibit
from sfumato.release.past import History, Memory, PastRelease, text_of
from sfumato.release.release import Part

COURSE = "\x1fcourse"
"""The column by which a class of the table knows its course; never published."""


@dataclass(frozen=True)
class Courses:
    """Courses with counts, in an order of their own, by which they are named."""

    lines: tuple[IntArray, ...]
    """Per release the line of each course, −1 where its people are absent."""
    counts: IntArray

    @classmethod
    def of(cls, lines: pa.Table, counts: IntArray) -> Courses:
        """From one column of lines for each release."""
        return cls(tuple(column.to_numpy().astype(np.int64) for column in lines.columns), counts)

    @property
    def names(self) -> tuple[str, ...]:
        """What stands for keys where people are courses."""
        return tuple(f"#{place}" for place in range(len(self.counts)))

    def history(self, releases: Sequence[PastRelease]) -> History:
        """The releases as these courses stand in them."""
        pairs = zip(releases, self.lines, strict=True)
        return History(tuple(replace(past, memory=self._memory(past, line)) for past, line in pairs))

    def _memory(self, past: PastRelease, line: IntArray) -> Memory:
        there = np.flatnonzero(line >= 0)
        mine, names = line[there], self.names
        kept = past.memory  # I1
        if kept.counts is None or not np.array_equal(
            np.bincount(mine, weights=self.counts[there], minlength=len(kept.counts)).astype(np.int64), kept.counts
        ):
            raise LedgerError(f"people of release {past.number} are not those that the ledger counted")
        values = Table(kept.values.frame.take(pa.array(mine)))
        nobody = np.zeros(len(there), dtype=np.bool_)
        return Memory(tuple(names[i] for i in there.tolist()), kept.rows[mine], values, nobody, counts=self.counts[there])


def counted_history(engine: FileEngine, chronicle: Sequence[tuple[PastRelease, People]]) -> History:
    """All releases as the courses of their people stand in them, counted by an engine from who is on which line."""
    lines, counts = engine.courses([people for _, people in chronicle])
    return Courses.of(lines, counts).history([past for past, _ in chronicle])


def condensed(past: PastRelease) -> tuple[PastRelease, pa.Table]:
    """A release whose people were remembered one by one, as lines with counts; and who is on which line."""
    memory, shown = past.memory, past.exhibit.data
    if memory.counterfeit.any() or (memory.rows < 0).any() or set(past.exhibit.parts) != {"data"} or memory.places:
        what = f"release {past.number} has more than one row for each of its people, or rows that stand in for people who left"
        raise LedgerError(f"{what}, which are compared record by record", hint="publish with --engine local")
    cells = [shown.text(name).codes[memory.rows] for name in shown.names]
    values = [memory.values.text(name).codes for name in memory.values.names]
    alike = group([*cells, *values], rows=len(memory.rows))
    one = memory.rows[alike.first]
    table = pa.table({name: text_of(shown, name).take(pa.array(one)) for name in shown.names})
    kept = Memory(
        tuple(map(str, range(len(alike)))),
        np.arange(len(alike)),
        Table(memory.values.frame.take(pa.array(alike.first))),
        np.zeros(len(alike), dtype=np.bool_),
        counts=alike.counts,
    )
    people = pa.table({PERSON: memory.key_column, LINE: pa.array(alike.of)})
    return replace(past, exhibit=replace(past.exhibit, parts={"data": Part(table, alike.counts)}), memory=kept), people


def lines_of(exhibit: Exhibit, behind: IntArray, original: Table, number: int) -> PastRelease:
    """What is remembered of a counted release: a line for every row of its part, with the class of the original behind it."""
    part = exhibit.parts["data"]
    there = np.flatnonzero(behind >= 0)
    values = pa.table({name: text_of(original, name).take(pa.array(behind[there])) for name in part.held.column_names})
    nobody = np.zeros(len(there), dtype=np.bool_)
    counts = np.asarray(part.counts)[there]
    memory = Memory(tuple(map(str, range(len(there)))), there, Table(values), nobody, counts=counts)
    return PastRelease(exhibit, memory, number)
