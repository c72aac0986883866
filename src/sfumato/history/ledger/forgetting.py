"""Forgetting: a person leaves the private part of a ledger, while everything that was published stays judged.

What is taken away
    The key, and every value of the person that was not published as it is: in their place stand a random name and
    values drawn among those that all published cells of the record stand for, the same in all entries (`strangers`).
    The bytes are overwritten, not marked. Where people have several records, all of theirs are forgotten. Of a release
    that was made where its rows lie the key is taken out of the people files, and a line that stands for several people
    keeps the others: the stranger gets a line of one, with the same published cells.

What remains, and why
    Published files cannot be recalled; nothing here changes them. That one person is behind a row of each release is
    still known, under the random name: without that the other people of the same joint classes could no longer be
    judged. Who it was is not. Somebody who stays in the data comes back as a new person with the next release: take the
    record out of the data first.

Invariants
    I1  The chain holds before and after: an entry keeps the digest of the memory that it had and the name of its folder
        of people, and a further entry, of its own kind and covered by the chain, says what took their place.
    I2  All memories change in one transaction, with that entry. Other people files lie complete and synced under their
        names before it ends, and the old ones are untouched until it has; so whenever a process is killed, the ledger
        is whole, with the person in all of it or in nothing of it. What is then named by no entry the next who writes
        removes (`removal`).
    I3  What was read is what is changed: a release that was entered in the meantime is refused, not overlooked.
    I4  Everybody else keeps key, line and values, and every published cell its number of people.

Cost: people files are read one after the other, and those with the person written anew; of releases that were made
where their rows lie the lines of one at a time.


Strangers
---------
A placeholder replaces a person in the ledger: random keys, and values that all published cells cover.

Notation
    record    what was known by one key; a person may have several (``person:``), and all of them become the stranger's
    saying    the releases that remember a record with one value in a column: a value that changed is drawn anew, each
              by itself

Invariants
    I1  The same record gets the same name in every release, and the same value wherever the same was remembered.
    I2  A value is drawn among those that all published cells of the record stand for where it was remembered, each as
        likely as another: what is left says of the person what everybody knows who joins the releases. One published as
        it is stays.
    I3  Nothing is kept of a release but what its cells of these records stand for, so that releases can be read one at
        a time.

A record that was left out of every release gets values that others have, and nobody's name: nothing of it was
published."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from sfumato.core.errors import LedgerError
from sfumato.history.ledger.entries import FORGETTING, MEMORY, TAKEN_PLACE, WAS, Entry, entry_digest, newest_entry
from sfumato.history.ledger.ledger import FORMAT, TRIGGER, Ledger
from sfumato.history.ledger.person_files import (
    PersonFilesDraft,
    bytes_of,
    lines_of_persons,
    person_files_folder,
    remove_folder,
    write_alike,
    write_moved,
)
from sfumato.history.ledger.stored_releases import (
    KEY,
    pack_memory,
    remove_cache,
    replace_cell,
    split_line,
    unpack_memory,
)
from sfumato.io.plain_files import map_files
from sfumato.policy.generalizations import generalization_of
from sfumato.release.past_releases import NO_ROW, ROWS_PART, SEPARATOR, WHOSE, PastRelease


def forget(ledger: Ledger, key: str) -> list[int]:
    """Take a person out of the memories of all entries; the numbers of the releases that remembered them.

    The key is that of a record, or the name of a person who may have several.
    """
    ledger.verify()
    entries = ledger.entries()
    _tidy(ledger, entries)
    pages, spelt = _pages(ledger, entries), [key, key.replace(",", SEPARATOR)]
    for page in pages:
        page.places(spelt)  # at one look
    theirs = records_of(pages, spelt[0]) or records_of(pages, spelt[1])
    stranger, mine = PlaceholderPerson(theirs), [page for page in pages if page.places(theirs)]
    if not mine:
        hint = "give the key as in the data; separate the parts of a key of several columns by commas"
        raise LedgerError("the ledger remembers nobody with this key", where=str(ledger.path), hint=hint)
    for page in mine:
        stranger.learn(page.opened(), page.places(theirs))
    changes = [page.changed(stranger) for page in mine]
    before = ledger.people_files()
    with ledger.writing() as base:  # I2
        if newest_entry(base) != (len(entries), entries[-1].digest):  # I3
            hint = "forget the person again: the newer release may remember them, too"
            raise LedgerError("another release was entered in the meantime", where=str(ledger.path), hint=hint)
        _exchange_all(base, ledger.path, changes)
    _remove_exchanged(ledger, [before[change.number][0].parent for change in changes if change.people is not None])
    remove_cache(ledger.path)
    ledger.compact()
    ledger.verify()
    return [change.number for change in changes]


def _tidy(ledger: Ledger, entries: Sequence[Entry]) -> None:
    """Remove what is left of a forgetting that was killed after it counted, and of releases that were never entered
    (I2)."""
    if person_files_folder(ledger.path).is_dir():
        with ledger.writing() as base, _said_plainly(ledger):
            ledger.remove_strays(base)
    if entries and entries[-1].forgets:
        remove_cache(ledger.path)


def _remove_exchanged(ledger: Ledger, folders: Sequence[Path]) -> None:
    """Overwrite and remove people files that others took the place of."""
    with _said_plainly(ledger):
        needed = bytes_of(file for files in ledger.people_files().values() for file in files)
        for folder in folders:
            remove_folder(folder, needed)


@contextmanager
def _said_plainly(ledger: Ledger) -> Iterator[None]:
    try:
        yield
    except OSError:
        what = "people files that no entry needs any more could not be overwritten and removed"
        hint = (
            "they may name people who were forgotten: look at the rights of the folder, then forget the same person"
            " again"
        )
        raise LedgerError(what, where=str(person_files_folder(ledger.path)), hint=hint) from None


# -- what remembers a person -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryChange:
    """What takes the place of the memory of an entry, and of its people files where it has some."""

    number: int
    memory: bytes | Path
    """Its content, or a file with it."""
    people: PersonFilesDraft | None = None

    def content(self) -> bytes:
        return self.memory if isinstance(self.memory, bytes) else self.memory.read_bytes()


class MemoryPage(Protocol):
    """A release as a person looks for a person in it."""

    @property
    def number(self) -> int:
        """That of its entry."""

    def places(self, records: Collection[str]) -> dict[str, int]:
        """Where some records are, of those that it remembers."""

    def owners(self, record: str) -> set[str]:
        """The names of the people whose record it is; none where each record is a person."""

    def owned(self, people: Collection[str]) -> set[str]:
        """The records of some people by their names."""

    def opened(self) -> PastRelease:
        """What was published, and what is remembered of it."""

    def changed(self, stranger: PlaceholderPerson) -> MemoryChange:
        """The release with the stranger in it."""


@dataclass(frozen=True)
class RecordPage:
    """A release that is remembered record by record."""

    past: PastRelease

    @property
    def number(self) -> int:
        return self.past.number

    def opened(self) -> PastRelease:
        return self.past

    def places(self, records: Collection[str]) -> dict[str, int]:
        place = self.past.memory.place
        return {record: place[record] for record in records if record in place}

    def owners(self, record: str) -> set[str]:
        return {self._people[at] for at in self.places([record]).values()} if self._people else set()

    def owned(self, people: Collection[str]) -> set[str]:
        pairs = zip(self.past.memory.keys, self._people, strict=False)  # nobody's name where each record is a person
        return {record for record, name in pairs if name in people}

    @cached_property
    def _people(self) -> list[str]:
        values = self.past.memory.values.frame
        names: list[str] = values.column(WHOSE).to_pylist() if WHOSE in values.column_names else []
        return names

    def changed(self, stranger: PlaceholderPerson) -> MemoryChange:
        places = self.places(stranger.names)
        memory = stranger.instead(self.past.memory.to_arrow(), places)
        for record, at in places.items():
            memory = replace_cell(memory, KEY, at, stranger.names[record])
        return MemoryChange(self.number, pack_memory(memory.combine_chunks()))


class LinePage:
    """A release that was made where its rows lie: lines with counts, and files of who is on which; nothing of it is
    kept here."""

    def __init__(self, ledger: Ledger, entry: Entry, files: Sequence[Path]) -> None:
        self.ledger, self.entry, self.files, self.number = ledger, entry, files, entry.number
        self._found: dict[str, tuple[int, Path] | None] = {}

    def opened(self) -> PastRelease:
        return self.ledger.lines(self.entry)

    def places(self, records: Collection[str]) -> dict[str, int]:
        if missing := set(records) - self._found.keys():
            self._found |= dict.fromkeys(missing) | lines_of_persons(self.files, missing)
        return {record: seat[0] for record in records if (seat := self._found[record]) is not None}

    def owners(self, record: str) -> set[str]:
        return set()

    def owned(self, people: Collection[str]) -> set[str]:
        return set()

    def changed(self, stranger: PlaceholderPerson) -> MemoryChange:
        """Lines as they will be, and people files with the stranger on a line of one (I4), written where nobody looks
        yet."""
        lines, moved = unpack_memory(self.ledger.files(self.number)[MEMORY]), dict[str, tuple[str, int]]()
        for record, line in self.places(stranger.names).items():
            lines, own = split_line(lines, line)
            lines = stranger.instead(lines, {record: own})
            moved[record] = stranger.names[record], own
        draft = PersonFilesDraft.beside(self.ledger.path, map_files)
        draft.folder.mkdir()
        touched = {seat[1] for record in moved if (seat := self._found[record]) is not None}
        for file in self.files:
            write = partial(write_moved, moved=moved) if file in touched else write_alike
            write(file, draft.folder / file.name)
        memory = draft.folder.with_name(MEMORY)
        memory.write_bytes(pack_memory(lines.combine_chunks()))
        return MemoryChange(self.number, memory, draft.completed())


def _pages(ledger: Ledger, entries: Sequence[Entry]) -> list[MemoryPage]:
    files, releases = ledger.people_files(), ledger.history_of(entries).releases
    every = zip([entry for entry in entries if not entry.forgets], releases, strict=True)
    return [
        LinePage(ledger, entry, files[entry.number]) if entry.distant else RecordPage(past) for entry, past in every
    ]


def records_of(pages: Sequence[MemoryPage], key: str) -> set[str]:
    """The keys of all records of the person who has the record with this key, or else of who is named so."""
    having = [page for page in pages if page.places([key])]
    people = {name for page in having for name in page.owners(key)} if having else {key}
    return {record for page in pages for record in page.owned(people)} | ({key} if having else set())


# -- the exchange ------------------------------------------------------------------------------------------------------


def _exchange_all(base: sqlite3.Connection, ledger: Path, changes: Sequence[MemoryChange]) -> None:
    """Other memories and other people for entries, and the entry that says so (I1)."""
    base.execute("PRAGMA secure_delete = ON")
    base.execute("DROP TRIGGER keep_files")
    memories, people = dict[str, str](), dict[str, Mapping[str, Any]]()
    for change in changes:
        memory = change.content()
        _exchange(base, change.number, memory)
        memories[str(change.number)] = hashlib.sha256(memory).hexdigest()
        if change.people is not None:
            people[str(change.number)] = change.people.laid(ledger, change.number)
    base.execute(TRIGGER)
    _enter(base, {"memories": memories} | ({TAKEN_PLACE: people} if people else {}))


def _exchange(base: sqlite3.Connection, number: int, memory: bytes) -> None:
    """Another memory for an entry, which keeps the digest of the one that it had (I1)."""
    old = base.execute("SELECT content FROM files WHERE entry = ? AND name = ?", (number, MEMORY)).fetchone()[0]
    if base.execute("SELECT count(*) FROM files WHERE entry = ? AND name = ?", (number, WAS)).fetchone()[0] == 0:
        base.execute("INSERT INTO files VALUES (?, ?, ?)", (number, WAS, hashlib.sha256(old).hexdigest().encode()))
    base.execute("UPDATE files SET content = ? WHERE entry = ? AND name = ?", (memory, number, MEMORY))


def _enter(base: sqlite3.Connection, exchanged: Mapping[str, Any]) -> None:
    number, previous = newest_entry(base)
    body: dict[str, Any] = {
        "format": FORMAT,
        "kind": FORGETTING,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": "",
        "certificate": {},
        "records": 0,
        "counterfeits": 0,
        **exchanged,
    }
    text = json.dumps(body, sort_keys=True, ensure_ascii=False)
    base.execute(
        "INSERT INTO entries VALUES (?, ?, ?, ?)", (number + 1, text, previous, entry_digest(text, previous, []))
    )


# Strangers
# ---------


_VALUE = "value:"
Told = tuple[str, str, str]
"""A record, a column, and what was remembered of it there."""


class PlaceholderPerson:
    """Random names for records, and values for them once all releases are read."""

    def __init__(self, records: Iterable[str]) -> None:
        lines = {record: f"{NO_ROW}{SEPARATOR}" if record.startswith(NO_ROW) else "" for record in sorted(records)}
        self.names = {record: f"{mark}forgotten {secrets.token_hex(16)}" for record, mark in lines.items()}
        self.person = f"forgotten {secrets.token_hex(16)}"
        self._shown: set[str] = set()
        self._possible: dict[Told, set[str]] = {}
        """Return the values that all published cells cover (I3)."""
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
                memory = replace_cell(memory, column, at, mine)
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
