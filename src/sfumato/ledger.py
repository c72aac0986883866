"""The ledger: an append-only, hash-chained file in which the data holder remembers every release of a dataset.

Guarantee
    An entry is there completely or not at all. A changed, missing, added or reordered entry is found by `verify`. What stands in an
    entry is never reinterpreted: new fields are optional, meanings never change.

Notation
    entry    number, time, manifest, certificate, policy digest, seed, and the files and memory that belong to it
    chain    every entry's digest covers its content and the digest of the entry before it

Invariants
    I1  The file is readable by its owner only, from its first byte on.
    I2  One transaction per entry, synced to disk before it counts; writers wait for each other.
    I3  ``verify`` recomputes every digest from what is stored.
    I4  A release folder takes its final name only after its entry is in the ledger (`publication.Publication.write`). A crash in
        between leaves an entry without a folder: the cautious side, because the next release is judged with it.

Departures: bytes of the file that belong to no entry (free space of the database) carry no meaning and are not covered.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import LedgerError
from sfumato.policy.generalizations import keep_generalizations
from sfumato.release.folder import MANIFEST, POLICY, REPORT, digest, new_folder, read_folder
from sfumato.release.past import History, Memory, PastRelease

APPLICATION = 0x53464D4F  # "SFMO"
FORMAT = 1
GENESIS = "0" * 64
_SCHEMA = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE files (entry INTEGER NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (entry, name));
CREATE TRIGGER keep_entries BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER hold_entries BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER keep_files BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER hold_files BEFORE DELETE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""
MEMORY = "memory.arrow"


@dataclass(frozen=True)
class Entry:
    """One publication as it stands in the ledger."""

    number: int
    body: Mapping[str, Any]
    digest: str

    @property
    def when(self) -> str:
        return str(self.body["when"])


class Ledger:
    """A ledger file; it is made when the first entry is appended."""

    def __init__(self, path: str | Path, *, patience: float = 10.0) -> None:
        self.path, self.patience = Path(path), patience

    # -- reading ----------------------------------------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """All entries, oldest first; an absent file has none."""
        if not self.path.exists():
            return []
        with self._open() as base:
            return self._entries(base)

    def _entries(self, base: sqlite3.Connection) -> list[Entry]:
        rows = base.execute("SELECT number, body, digest FROM entries ORDER BY number").fetchall()
        return [Entry(int(number), _json(body, self.path), str(chained)) for number, body, chained in rows]

    def files(self, number: int) -> dict[str, bytes]:
        """Everything stored with an entry: published files by name, and the private memory."""
        with self._open() as base:
            rows = base.execute("SELECT name, content FROM files WHERE entry = ? ORDER BY name", (number,)).fetchall()
        return {str(name): bytes(content) for name, content in rows}

    def history(self) -> History:
        """The earlier releases, for the method and the audit; the chain is checked first."""
        self.verify()
        return History(tuple(self._past(entry) for entry in self.entries()))

    def _past(self, entry: Entry) -> PastRelease:
        files = self.files(entry.number)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, content in files.items():
                if file != MEMORY:
                    (folder / file).parent.mkdir(parents=True, exist_ok=True)
                    (folder / file).write_bytes(content)
            exhibit = read_folder(folder)
            exhibit = replace(exhibit, policy=keep_generalizations(exhibit.policy), folder=None)
        with pa.ipc.open_file(io.BytesIO(files[MEMORY])) as reader:
            memory = Memory.from_arrow(reader.read_all())
        return PastRelease(exhibit, memory, entry.number, entry.when)

    def history_until(self, folder: Path) -> History:
        """The releases up to the one in `folder`, which must be one of them."""
        history = self.history()
        for place, entry in enumerate(self.entries(), start=1):
            if entry.body["policy"] == digest(folder / POLICY) and self._same(entry.number, folder):
                return History(history.releases[:place])
        hint = "give the ledger it was published with"
        raise LedgerError("the ledger does not know this release", where=str(self.path), hint=hint)

    def _same(self, number: int, folder: Path) -> bool:
        stored = self.files(number)
        parts = [name for name in stored if name.endswith((".csv", ".parquet")) and "/" not in name]
        return all((folder / name).is_file() and digest(folder / name) == _sha(stored[name]) for name in parts)

    def restore(self, number: int, target: Path) -> Path:
        """Write the published files of an entry as a release folder again."""
        with new_folder(target) as folder:
            for name, content in self.files(number).items():
                if name != MEMORY:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(content)
        return target

    def verify(self) -> int:
        """Recompute the chain; how many entries it has. A broken one raises `LedgerError` (I3)."""
        if not self.path.exists():
            return 0
        with self._open() as base:
            self._sound(base)
            previous = GENESIS
            rows = base.execute("SELECT number, body, previous, digest FROM entries ORDER BY number").fetchall()
            for place, (number, body, before, chained) in enumerate(rows, start=1):
                files = base.execute("SELECT name, content FROM files WHERE entry = ? ORDER BY name", (number,)).fetchall()
                if number != place or before != previous or chained != _chained(body, previous, files):
                    raise self._broken(f"entry {place} does not match the chain")
                previous = chained
            stray = base.execute("SELECT count(*) FROM files WHERE entry > ? OR entry < 1", (len(rows),)).fetchone()[0]
            if stray:
                raise self._broken(f"{stray} file(s) belong to no entry")
        return len(rows)

    def _sound(self, base: sqlite3.Connection) -> None:
        try:
            verdict = base.execute("PRAGMA integrity_check").fetchone()[0]
        except sqlite3.DatabaseError:
            verdict = "unreadable"
        if verdict != "ok":
            raise self._broken("the file is damaged")

    def _broken(self, what: str) -> LedgerError:
        return LedgerError(
            f"the ledger is broken: {what}", where=str(self.path), hint="restore it from a backup; do not publish on it"
        )

    # -- writing ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The right to append: held until the block ends, so that nobody publishes on an outdated history (I2)."""
        self._make()
        with self._open() as base:
            try:
                base.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                hint = "try again in a moment; one release at a time"
                raise LedgerError("another release is being entered", where=str(self.path), hint=hint) from None
            try:
                yield base
            except BaseException:
                base.rollback()
                raise
            base.commit()

    @staticmethod
    def count(base: sqlite3.Connection) -> int:
        """How many entries there are, inside a `writing` block."""
        return int(base.execute("SELECT count(*) FROM entries").fetchone()[0])

    def append(self, base: sqlite3.Connection, folder: Path, memory: pa.Table, seed: int | None) -> Entry:
        """Enter the release in `folder` (complete, not yet renamed: I4) inside a `writing` block."""
        files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        files.pop(REPORT, None)
        files[MEMORY] = _packed(memory)
        manifest = json.loads(files[MANIFEST])
        manifest["files"].pop(REPORT, None)
        files[MANIFEST] = json.dumps(manifest, indent=1, ensure_ascii=False).encode()
        body = {
            "format": FORMAT,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "policy": digest(folder / POLICY),
            "certificate": json.loads(files["certificate.json"]),
            "form": manifest["form"],
            "records": memory.num_rows,
            "counterfeits": int(sum(memory.column("counterfeit").to_pylist())),
            "seed": seed,
        }
        text = json.dumps(body, sort_keys=True, ensure_ascii=False)
        last = base.execute("SELECT number, digest FROM entries ORDER BY number DESC LIMIT 1").fetchone() or (0, GENESIS)
        chained = _chained(text, last[1], sorted(files.items()))
        number = int(last[0]) + 1
        base.executemany("INSERT INTO files VALUES (?, ?, ?)", [(number, name, content) for name, content in sorted(files.items())])
        base.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (number, text, last[1], chained))
        return Entry(number, body, chained)

    def _make(self) -> None:
        """An empty ledger under its name, complete from the start and private (I1)."""
        if self.path.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)  # mode 0600
        os.close(handle)
        try:
            base = sqlite3.connect(draft)
            base.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {_SCHEMA}")
            base.close()
            os.link(draft, self.path)
        except FileExistsError:
            pass  # somebody else was faster
        finally:
            os.unlink(draft)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            base = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=self.patience, isolation_level=None
            )
        except sqlite3.OperationalError:
            raise LedgerError("the ledger cannot be opened", where=str(self.path), hint="check the path and the rights") from None
        try:
            self._recognise(base)
            base.execute("PRAGMA synchronous = FULL")
            yield base
        except sqlite3.DatabaseError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise LedgerError("the ledger is busy", where=str(self.path), hint="try again in a moment") from None
            raise self._broken("the file is damaged") from None
        finally:
            base.close()

    def _recognise(self, base: sqlite3.Connection) -> None:
        if base.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise LedgerError("this file is no ledger", where=str(self.path), hint="give the file that 'sfumato publish' made")
        if base.execute("PRAGMA user_version").fetchone()[0] > FORMAT:
            raise LedgerError(
                "the ledger was written by a newer version", where=str(self.path), hint="use that version or a later one"
            )


def _chained(body: str, previous: str, files: list[Any]) -> str:
    """The digest of an entry: the one before it, its body, and every file by name and content."""
    total = hashlib.sha256(previous.encode() + b"\0" + body.encode())
    for name, content in files:
        total.update(b"\0" + str(name).encode() + b"\0" + _raw(content))
    return total.hexdigest()


def _raw(content: Any) -> bytes:
    """The digest of a file's bytes; what is no longer bytes was tampered with and gets another one."""
    return hashlib.sha256(content if isinstance(content, bytes) else b"changed" + str(content).encode()).digest()


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _packed(memory: pa.Table) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, memory.schema, options=options) as writer:
        writer.write_table(memory)
    return sink.getvalue()


def _json(text: str, path: Path) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except ValueError:
        raise LedgerError("the ledger is broken: an entry cannot be read", where=str(path)) from None
    return dict(tree)
