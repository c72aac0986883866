"""Forgetting: a person leaves the private part of a ledger, while everything that was published stays judged.

What is taken away
    The key, and every value of the person that was not published as it is: in their place stand a random name and values drawn
    among those that all published cells of the record stand for, the same in all entries. The bytes are overwritten, not marked.
    Where people have several records, all of theirs are forgotten. A record that was left out of every release gets values that
    others have, and nobody's name: nothing of it was published that could be judged.

What remains, and why
    Published files are out of the house; nothing here changes them. That one person is behind a row of each release is still known,
    under the random name: without that the other people of the same joint classes could no longer be judged. Who it was is
    not. Somebody who stays in the data comes back as a new person with the next release: take the record out of the data first.

Invariants
    I1  The chain holds before and after: an entry keeps the digest of the memory that it had, and a further entry, of its own kind
        and covered by the chain, has the digests of the memories that took their place.
    I2  All memories change in one transaction, with that entry.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from sfumato.errors import LedgerError
from sfumato.forms.related import ROWS_PART
from sfumato.ledger.book import FORMAT, Ledger
from sfumato.ledger.chain import chained, last_of
from sfumato.ledger.exchanged import FORGETTING, WAS
from sfumato.ledger.kept import remove_kept
from sfumato.ledger.schema import TRIGGER
from sfumato.ledger.shelf import packed
from sfumato.policy.generalizations import generalization_of
from sfumato.release.head import MEMORY
from sfumato.release.past import NO_ROW, SEPARATOR, WHOSE, PastRelease


def forget(ledger: Ledger, key: str) -> list[int]:
    """Take a person out of the memories of all entries; the numbers of the releases that remembered them.

    The key is that of a record, or the name of a person who may have several.
    """
    releases = ledger.history().releases
    theirs = records_of(releases, key) or records_of(releases, key.replace(",", SEPARATOR))
    stranger = Stranger(releases, sorted(theirs))
    changed = {past.number: packed(stranger.instead(past)) for past in releases if not theirs.isdisjoint(past.memory.place)}
    if not changed:
        hint = "give the key as it stands in the data; the parts of a key of several columns with commas between them"
        raise LedgerError("the ledger remembers nobody with this key", where=str(ledger.path), hint=hint)
    with ledger.writing() as base:  # I2
        base.execute("PRAGMA secure_delete = ON")
        base.execute("DROP TRIGGER keep_files")
        for number, memory in changed.items():
            _exchange(base, number, memory)
        base.execute(TRIGGER)
        _enter(base, {str(number): hashlib.sha256(memory).hexdigest() for number, memory in changed.items()})
    remove_kept(ledger.path)
    ledger.compact()
    ledger.verify()
    return sorted(changed)


def _exchange(base: sqlite3.Connection, number: int, memory: bytes) -> None:
    """Another memory for an entry, which keeps the digest of the one that it had (I1)."""
    old = base.execute("SELECT content FROM files WHERE entry = ? AND name = ?", (number, MEMORY)).fetchone()[0]
    if base.execute("SELECT count(*) FROM files WHERE entry = ? AND name = ?", (number, WAS)).fetchone()[0] == 0:
        base.execute("INSERT INTO files VALUES (?, ?, ?)", (number, WAS, hashlib.sha256(old).hexdigest().encode()))
    base.execute("UPDATE files SET content = ? WHERE entry = ? AND name = ?", (memory, number, MEMORY))


def _enter(base: sqlite3.Connection, memories: dict[str, str]) -> None:
    number, previous = last_of(base)
    body: dict[str, Any] = {
        "format": FORMAT,
        "kind": FORGETTING,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": "",
        "certificate": {},
        "records": 0,
        "counterfeits": 0,
        "memories": memories,
    }
    text = json.dumps(body, sort_keys=True, ensure_ascii=False)
    base.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (number + 1, text, previous, chained(text, previous, [])))


def records_of(releases: Sequence[PastRelease], key: str) -> set[str]:
    """The keys of all records of the person who has the record with this key, or else of who is named so."""
    having = [past for past in releases if key in past.memory.place]
    people = {name for past in having for name in _people(past, [past.memory.place[key]])} if having else {key}
    theirs = {
        record
        for past in releases
        for record, name in zip(past.memory.keys, _people(past), strict=False)  # nobody's name where each record is a person
        if name in people
    }
    return theirs | ({key} if having else set())


def _people(past: PastRelease, places: Sequence[int] | None = None) -> list[str]:
    """The names of the people behind some records, or behind all; none where each record is a person."""
    values = past.memory.values.frame
    if WHOSE not in values.column_names:
        return []
    column = values.column(WHOSE)
    names: list[str] = (column if places is None else column.take(pa.array(places))).to_pylist()
    return names


class Stranger:
    """Who stands where somebody stood: random names, and values of whom all published cells may speak."""

    def __init__(self, releases: Sequence[PastRelease], records: Sequence[str]) -> None:
        self.releases = releases
        lines = {record: f"{NO_ROW}{SEPARATOR}" if record.startswith(NO_ROW) else "" for record in records}
        self.names = {record: f"{mark}forgotten {secrets.token_hex(16)}" for record, mark in lines.items()}
        self.person = f"forgotten {secrets.token_hex(16)}"
        self._values: dict[tuple[str, str, str], str] = {}

    def instead(self, past: PastRelease) -> pa.Table:
        """The memory of a release with the stranger in it."""
        table, place = past.memory.to_arrow(), past.memory.place
        mine = [(record, place[record]) for record in self.names if record in place]
        for number, column in enumerate(table.column_names):
            values = table.column(column).to_pylist()
            for record, at in mine:
                if column == "key":
                    values[at] = self.names[record]
                elif column.startswith("value:"):
                    values[at] = self._value(record, column.removeprefix("value:"), values[at])
            table = table.set_column(number, column, pa.array(values, table.schema.field(column).type))
        return table

    def _value(self, record: str, column: str, value: str) -> str:
        """A value that all published cells of a record stand for, the same in every memory; one published as it is stays."""
        if (record, column, value) not in self._values:
            self._values[record, column, value] = self._drawn(record, column, value)
        return self._values[record, column, value]

    def _drawn(self, record: str, column: str, value: str) -> str:
        if column == WHOSE:
            return self.person if self._shown(record) else self.names[record]
        saying = [past for past in self.releases if _remembered(past, record, column) == value]
        cells = [_stands_for(past, column, past.memory.place[record], value) for past in saying if _row(past, record) >= 0]
        others = {label for past in saying for label in past.memory.values.text(column).labels}
        return secrets.choice(sorted(set.intersection(*cells) if cells else others))

    def _shown(self, record: str) -> bool:
        return any(_row(past, record) >= 0 for past in self.releases)


def _row(past: PastRelease, record: str) -> int:
    """The published row of a record, −1 where it has none."""
    return int(past.memory.rows[past.memory.place[record]]) if record in past.memory.place else -1


def _remembered(past: PastRelease, record: str, column: str) -> str | None:
    values = past.memory.values.frame
    known = record in past.memory.place and column in values.column_names
    return values.column(column)[past.memory.place[record]].as_py() if known else None


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
