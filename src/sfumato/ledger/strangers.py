"""A stranger stands where somebody stood that a ledger forgets: random names, and values of whom all published cells may speak.

Notation
    record    what was known by one key; a person may have several (``person:``), and all of them become the stranger's
    saying    the releases that remember a record with one value in a column: a value that changed is drawn anew, each by itself

Invariants
    I1  The same record gets the same name in every release, and the same value wherever the same was remembered.
    I2  A value is drawn among those that all published cells of the record stand for where it was remembered, each as likely as
        another: what is left says of the person what everybody knows who joins the releases. One published as it is stays.
    I3  Nothing is kept of a release but what its cells of these records stand for, so that releases can be read one at a time.

A record that was left out of every release gets values that others have, and nobody's name: nothing of it was published.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

import pyarrow as pa

from sfumato.forms.related import ROWS_PART
from sfumato.ledger.shelf import put
from sfumato.policy.generalizations import generalization_of
from sfumato.release.past import NO_ROW, SEPARATOR, WHOSE, PastRelease

_VALUE = "value:"
Told = tuple[str, str, str]
"""A record, a column, and what was remembered of it there."""


class Stranger:
    """Random names for records, and values for them once all releases are read."""

    def __init__(self, records: Iterable[str]) -> None:
        lines = {record: f"{NO_ROW}{SEPARATOR}" if record.startswith(NO_ROW) else "" for record in sorted(records)}
        self.names = {record: f"{mark}forgotten {secrets.token_hex(16)}" for record, mark in lines.items()}
        self.person = f"forgotten {secrets.token_hex(16)}"
        self._shown: set[str] = set()
        self._possible: dict[Told, set[str]] = {}
        """What all published cells stand for, of what stood in some (I3)."""
        self._others: dict[Told, set[str]] = {}
        self._drawn: dict[Told, str] = {}

    def learn(self, past: PastRelease, places: Mapping[str, int]) -> None:
        """Take note of a release; `places` are those of the records in what it remembers."""
        values = past.memory.values.frame
        for record, at in places.items():
            shown = bool(past.memory.rows[at] >= 0)
            self._shown |= {record} if shown else set()
            for column in (name for name in values.column_names if name != WHOSE):
                told = (record, column, str(values.column(column)[at].as_py()))
                if shown:
                    meant = _stands_for(past, column, at, told[2])
                    self._possible[told] = self._possible.get(told, meant) & meant or meant  # I2
                else:
                    self._others[told] = self._others.get(told, set()) | set(past.memory.values.text(column).labels)

    def instead(self, memory: pa.Table, places: Mapping[str, int]) -> pa.Table:
        """What is remembered of a release (`Memory.to_arrow`) with the stranger's values at these places."""
        for record, at in places.items():
            for column in (name for name in memory.column_names if name.startswith(_VALUE)):
                mine = self.value(record, column.removeprefix(_VALUE), str(memory.column(column)[at].as_py()))
                memory = put(memory, column, at, mine)
        return memory

    def value(self, record: str, column: str, value: str) -> str:
        """What takes the place of a value of a record (I1)."""
        told = (record, column, value)
        if column == WHOSE:
            return self.person if record in self._shown else self.names[record]
        if told not in self._drawn:
            self._drawn[told] = secrets.choice(sorted(self._possible.get(told) or self._others[told]))
        return self._drawn[told]


def _stands_for(past: PastRelease, column: str, at: int, value: str) -> set[str]:
    """The values that the published cell of a record stands for; of one that was published as it is, itself."""
    if past.exhibit.parts.keys().isdisjoint({"data", ROWS_PART}) or column not in past.exhibit.data.names:
        return {value}
    text = past.exhibit.data.text(column)
    label = text.labels[text.codes[past.memory.rows[at]]]
    if label == value or column not in past.exhibit.policy.columns:
        return {value}
    domain = generalization_of(past.exhibit.policy, column, list(past.memory.values.text(column).labels))
    interval = domain.interval(label)
    return {value} if interval is None else set(domain.leaves[interval[0] : interval[1]])
