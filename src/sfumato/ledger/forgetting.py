"""Forgetting: a person leaves the private part of a ledger, while everything that was published stays judged.

What is taken away
    The key, and every value of the person that was not published as it is: in their place stand a random name, the same in all
    entries, and values drawn among those that the published cells stand for. The bytes are overwritten, not marked. Where people
    have several records, the name of the person goes from all of them.

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
from collections.abc import Set
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from sfumato.errors import LedgerError
from sfumato.ledger.book import FORMAT, TRIGGER, Ledger, chained, last_of
from sfumato.ledger.exchanged import FORGETTING, WAS
from sfumato.ledger.kept import remove_kept
from sfumato.ledger.shelf import packed
from sfumato.policy.generalizations import generalization_of
from sfumato.release.head import MEMORY
from sfumato.release.past import SEPARATOR, WHOSE, PastRelease


def forget(ledger: Ledger, key: str) -> list[int]:
    """Take a person out of the memories of all entries; the numbers of the releases that remembered them."""
    history = ledger.history()
    name = f"forgotten {secrets.token_hex(16)}"
    key = key.replace(",", SEPARATOR) if all(key not in past.memory.place for past in history.releases) else key
    whose = {_whose(past, key) for past in history.releases if key in past.memory.place} - {None}
    changed = {
        past.number: packed(_without(past, key, name, whose))
        for past in history.releases
        if key in past.memory.place or _has_rows_of(past, whose)
    }
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


def _whose(past: PastRelease, key: str) -> str | None:
    """The name of the person whose record it is, where people may have several."""
    values = past.memory.values
    return str(values.frame.column(WHOSE)[past.memory.place[key]]) if WHOSE in values.names else None


def _has_rows_of(past: PastRelease, whose: Set[str | None]) -> bool:
    values = past.memory.values
    return WHOSE in values.names and not whose.isdisjoint(values.text(WHOSE).labels)


def _without(past: PastRelease, key: str, name: str, whose: Set[str | None]) -> pa.Table:
    """The memory of a release in which a person has another name, and the record with the key no value that was not published."""
    table, at = past.memory.to_arrow(), past.memory.place.get(key)
    for column in table.column_names:
        values = table.column(column).to_pylist()
        if column == f"value:{WHOSE}":
            values = [name if value in whose else value for value in values]
        elif at is not None and column == "key":
            values[at] = name
        elif at is not None and column.startswith("value:"):
            values[at] = _published(past, column.removeprefix("value:"), at, values[at])
        table = table.set_column(table.column_names.index(column), column, pa.array(values, table.schema.field(column).type))
    return table


def _published(past: PastRelease, column: str, at: int, value: str) -> str:
    """A value that the published cell of a record stands for; one that was published as it is stays."""
    if "data" not in past.exhibit.parts or column not in past.exhibit.data.names or past.memory.rows[at] < 0:
        return value
    text = past.exhibit.data.text(column)
    label = text.labels[text.codes[past.memory.rows[at]]]
    if label == value or column not in past.exhibit.policy.columns:
        return value
    domain = generalization_of(past.exhibit.policy, column, list(past.memory.values.text(column).labels))
    interval = domain.interval(label)
    return value if interval is None else secrets.choice(domain.leaves[interval[0] : interval[1]])
