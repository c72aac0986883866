"""The ledger: an append-only, hash-chained file in which the data holder remembers every release of a dataset.

Guarantee
    An entry is there completely or not at all. A changed, added or reordered entry, or one missing in the middle, is
    found by `verify`. Who can write the file can also cut it off or compute all digests anew; that is found by `verify`
    with a head that was published: every certificate carries one. The meaning of a field never changes; new fields are
    optional.

Notation
    entry    number, time, manifest, certificate, policy digest, seed, and the files and memory that belong to it
    chain    every entry's digest covers its content and the digest of the entry before it
    place    where the next entry goes: its number, the digest before it, and a salt
    head     what the certificate of a release says about the ledger (`ledger.entries`)

Invariants
    I1  The file is readable by its owner only, from its first byte on.
    I2  One transaction per entry, synced to disk before it counts; writers wait for each other.
    I3  ``verify`` recomputes every digest from what is stored.
    I4  A release folder takes its final name only after its entry is in the ledger (`publication.Publication.write`). A
        crash in between leaves an entry without a folder: the cautious side, because the next release is judged with
        it.
    I5  The database has the tables and triggers of `schema` and nothing else, before anything else is asked of it.
    I6  Names of stored files lead to places below the folder they are written into.
    I7  A ledger is made only where that was asked for; a name that is not there is an error.

Departures: bytes of the file that belong to no entry (free space of the database) carry no meaning and are not covered.


Schema
------
What the database of a ledger declares: its tables, and triggers that keep them append-only.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.errors import LedgerError
from sfumato.engines.protocol import People
from sfumato.history.ledger.entries import (
    GENESIS,
    MEMORY,
    WAS,
    Entry,
    LedgerPlace,
    ReplacedMemories,
    body_of,
    entry_digest,
    head_of_certificate,
    newest_entry,
    newest_person_files,
)
from sfumato.history.ledger.person_files import PEOPLE, match_entry, person_files_of_entry, remove_strays
from sfumato.history.ledger.stored_releases import (
    KEPT,
    cache_digest,
    extract_files,
    pack_memory,
    parts_listed,
    read_cache,
    read_cover,
    read_lines,
    read_release,
)
from sfumato.history.persistent_classes import condense_history
from sfumato.io.plain_files import digest, files_of, is_inner, is_part_file, read_tree
from sfumato.policy.policy import Policy
from sfumato.release.folder import AGAIN, CERTIFICATE, MANIFEST, POLICY, STATEMENT, new_folder
from sfumato.release.past_releases import History, PastRelease, StoredRelease

APPLICATION = 0x53464D4F  # "SFMO"
FORMAT = 1


class Ledger:
    """A ledger file; one that is new is made when its first entry is appended."""

    def __init__(self, path: str | Path, *, new: bool = False, patience: float = 10.0) -> None:
        self.path, self.new, self.patience = Path(path), new, patience

    # -- reading -------------------------------------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """All entries, oldest first; a new ledger that is not there yet has none."""
        if self._is_to_be_made():
            return []
        with self._open() as base:
            return self._entries(base)

    def _entries(self, base: sqlite3.Connection) -> list[Entry]:
        rows = base.execute("SELECT number, body, digest FROM entries ORDER BY number").fetchall()
        return [Entry(int(number), body_of(body, self.path), str(mine)) for number, body, mine in rows]

    def files(self, number: int) -> dict[str, bytes]:
        """Everything stored with an entry: published files by name, and the private memory."""
        with self._open() as base:
            rows = base.execute("SELECT name, content FROM files WHERE entry = ? ORDER BY name", (number,)).fetchall()
        for name, content in rows:
            if not is_inner(name) or not isinstance(content, bytes):  # I6
                raise self._broken(f"entry {number} names a file that belongs in no folder")
        return dict(rows)

    def history(self) -> History:
        """The earlier releases, for the method and the audit; the chain is checked first."""
        self.verify()
        return self.history_of(self.entries())

    def history_of(self, entries: Sequence[Entry]) -> History:
        """The releases among some entries, each to be read when a person looks inside it."""
        policies: dict[str, Policy] = {}
        return History(tuple(self._shelved(entry, policies) for entry in entries if not entry.forgets))

    def _shelved(self, entry: Entry, policies: dict[str, Policy]) -> PastRelease:
        read = partial(self._file, entry.number)
        return StoredRelease.of(entry.number, entry.when, lambda: read_cover(read, policies), lambda: self._past(entry))

    def place(self) -> tuple[History, LedgerPlace]:
        """The earlier releases, and where the next one goes."""
        self.verify()
        entries = self.entries()
        if not entries:
            return History(), LedgerPlace.after(GENESIS, 0)
        history, kept = self.history_of(entries), read_cache(self.path, entries[-1].body)
        return replace(history, kept=kept), LedgerPlace.after(entries[-1].digest, len(entries))

    def _file(self, number: int, name: str) -> bytes:
        with self._open() as base:
            found = base.execute("SELECT content FROM files WHERE entry = ? AND name = ?", (number, name)).fetchone()
        if found is None or not isinstance(found[0], bytes):
            raise self._broken(f"entry {number} lacks a file")
        content: bytes = found[0]
        return content

    def chronicle(self, until: Path | None = None) -> list[tuple[PastRelease, People]]:
        """Every release as lines with counts, and who is on which line; those up to the one in a folder."""
        self.verify()
        entries, people = self.entries(), self.people_files()
        last = len(entries) if until is None else self.entry_of(until).number
        every = [entry for entry in entries[:last] if not entry.forgets]
        return [
            (self.lines(entry), people[entry.number]) if entry.distant else condense_history(self._past(entry))
            for entry in every
        ]

    @property
    def distant(self) -> bool:
        """Whether a release in it was made where its rows lie."""
        return any(entry.distant for entry in self.entries())

    def people_files(self) -> dict[int, list[Path]]:
        """Of every release that was made where its rows lie, in a verified ledger, the files that say who is on which
        line."""
        said = newest_person_files((entry.number, entry.body) for entry in self.entries())
        return {
            number: files
            for number, one in said.items()
            if (files := person_files_of_entry(self.path, one)) is not None
        }

    def lines(self, entry: Entry) -> PastRelease:
        """What is remembered of a release that was made where its rows lie."""
        try:
            return read_lines(self.files(entry.number), entry.number, entry.when)
        except (KeyError, ValueError, TypeError, pa.ArrowException):
            raise self._broken(f"what entry {entry.number} remembers cannot be read") from None

    def _past(self, entry: Entry) -> PastRelease:
        if entry.distant:
            what = f"release {entry.number} was made where its rows lie, and so was what is remembered of its people"
            raise LedgerError(
                what, where=str(self.path), hint="publish and check with --engine spark; verify needs no cluster"
            )
        try:
            return read_release(self.files(entry.number), entry.number, entry.when)
        except (KeyError, ValueError, TypeError, pa.ArrowException):
            raise self._broken(f"what entry {entry.number} remembers cannot be read") from None

    def history_until(self, folder: Path) -> History:
        """The releases up to the one in `folder`, which must be one of them."""
        self.verify()
        return self.history_of(self.entries()[: self.entry_of(folder).number])

    def kept_with(self, folder: Path) -> pa.Table | None:
        """What is kept beside the ledger with the release in `folder`, where that is the newest entry."""
        return read_cache(self.path, self.entry_of(folder).body)

    def entry_of(self, folder: Path) -> Entry:
        """The entry of the release in a folder: the one that its certificate names, or the first with the same
        files."""
        said, policy = head_of_certificate(read_tree(folder / CERTIFICATE)), digest(folder / POLICY)
        for entry in self.entries():
            if (
                entry.body["policy"] == policy
                and said == head_of_certificate(entry.body["certificate"])
                and self._same(entry.number, folder)
            ):
                return entry
        hint = "give the ledger it was published with; if this is the one, an entry was taken away or changed"
        raise LedgerError("the ledger does not know this release", where=str(self.path), hint=hint)

    def _same(self, number: int, folder: Path) -> bool:
        stored, present = self.files(number), files_of(folder)
        parts = [name for name in stored if name.endswith((".csv", ".parquet")) and "/" not in name]
        listed = parts_listed(stored[MANIFEST]) if PEOPLE in self._body(number) else {}
        wanted = {name: _sha(stored[name]) for name in parts} | listed
        return all(name in present and digest(present[name]) == sha for name, sha in wanted.items())

    def _body(self, number: int) -> Mapping[str, Any]:
        return next(entry.body for entry in self.entries() if entry.number == number)

    def restore(self, number: int, target: Path) -> Path:
        """Write the published files of an entry as a release folder again."""
        if PEOPLE in self._body(number):
            hint = "keep the release folder itself; the entry has the digest of each of its files"
            raise LedgerError(f"the rows of release {number} lie in no ledger", where=str(self.path), hint=hint)
        files = self.files(number)
        with new_folder(target) as folder:
            extract_files(files, folder)
        return target

    def verify(self, head: str | None = None) -> int:
        """Recompute the chain; how many entries it has. A broken one raises `LedgerError` (I3).

        Parameters
        ----------
        head
            A head that was published in a certificate, or a digest that ``ledger verify`` once showed; the chain must
            have it.
        """
        if self._is_to_be_made():
            return 0
        with self._open() as base:
            self._sound(base)
            known, memories = {GENESIS}, ReplacedMemories()
            previous, place = GENESIS, 0
            for place, (number, body, before, digest_) in enumerate(_rows(base), start=1):
                files = base.execute(
                    "SELECT name, content FROM files WHERE entry = ? ORDER BY name", (number,)
                ).fetchall()
                if (
                    not isinstance(body, str)
                    or number != place
                    or before != previous
                    or digest_ != entry_digest(body, previous, files)
                ):
                    raise self._broken(f"entry {place} does not match the chain")
                entry = Entry(number, body_of(body, self.path), digest_)
                memories.see(entry.number, entry.body, files)
                known |= {digest_, self._checked(entry, previous, files) or digest_}
                previous = digest_
            self._require_vouched(memories)
            stray = base.execute("SELECT count(*) FROM files WHERE entry > ? OR entry < 1", (place,)).fetchone()[0]
            if stray:
                raise self._broken(f"{stray} file(s) belong to no entry")
        if head is not None and head.strip().lower() not in known:
            raise self._broken(
                "it does not have this head: entries were taken away or changed since, or it is another ledger"
            )
        return place

    def _require_vouched(self, memories: ReplacedMemories) -> None:
        """Refuse memories and people files that are not what the newest entry about them says."""
        if not memories.vouched:
            raise self._broken("a memory was exchanged, and no entry says so")
        if memories.astray:
            raise self._broken("an entry says that people were exchanged whom no release has")
        for number, said in memories.people.items():
            if not match_entry(self.path, said):
                raise self._broken(f"the people of entry {number} are not those that were entered")

    def head(self) -> str:
        """The digest of the newest entry, for a person who keeps it elsewhere."""
        entries = self.entries()
        return entries[-1].digest if entries else GENESIS

    def _checked(self, entry: Entry, previous: str, files: Sequence[tuple[Any, Any]]) -> str | None:
        """The head of an entry, which must be the one that its own content gives."""
        if any(not is_inner(name) or not isinstance(content, bytes) for name, content in files):  # I6
            raise self._broken(f"entry {entry.number} names a file that belongs in no folder")
        if "salt" not in entry.body:
            return None  # entered before there were heads
        place = LedgerPlace(entry.number, previous, str(entry.body["salt"]))
        said = head_of_certificate(entry.body["certificate"])
        shas = {name: _sha(content) for name, content in files if name != WAS}
        shas |= parts_listed(dict(files)[MANIFEST]) if entry.distant else {}
        if said != (entry.number, place.head(shas)):
            raise self._broken(f"the certificate of entry {entry.number} carries another head")
        return said[1]

    def verify_release(self, folder: Path) -> Entry:
        """The chain, and that it has the entry of the release in a folder, head included."""
        files_of(folder)  # nothing in it is read before it is known to hold plain files only
        self.verify(head_of_certificate(read_tree(folder / CERTIFICATE))[1])
        return self.entry_of(folder)

    def _is_to_be_made(self) -> bool:
        """Whether this is a new ledger without a file; any other must be a plain file (I7)."""
        try:
            mode = os.lstat(self.path).st_mode
        except FileNotFoundError:
            if self.new:
                return True
            raise LedgerError(
                "no such ledger", where=str(self.path), hint="'sfumato publish --new-ledger' makes one"
            ) from None
        if not stat.S_ISREG(mode):
            raise LedgerError("a ledger is a plain file, no link", where=str(self.path), hint="give the file itself")
        return False

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

    # -- writing -------------------------------------------------------------------------------------------------------

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

    def compact(self) -> None:
        """Write the file anew, so that nothing is left of bytes that were overwritten."""
        with self._open() as base:
            base.execute("VACUUM")

    def require_free(self, base: sqlite3.Connection, place: LedgerPlace) -> None:
        """Refuses a place that is no longer the next one, inside a `writing` block."""
        if newest_entry(base) != (place.number - 1, place.previous):
            hint = "publish again; the new release must be judged with it"
            raise LedgerError("another release was entered in the meantime", where=str(self.path), hint=hint)

    def append(
        self,
        base: sqlite3.Connection,
        folder: Path,
        memory: pa.Table,
        seed: int | None,
        place: LedgerPlace,
        *,
        imported: bool = False,
        kept: bytes | None = None,
        people: Mapping[str, Any] | None = None,
    ) -> Entry:
        """Enter the release in `folder` (complete, not yet renamed: I4) at its place inside a `writing` block.

        `kept` is what is kept beside the ledger with it (`kept.write_kept`, when it is entered). With `people` files
        beside the ledger `memory` has lines, and the files of parts are not copied: their digests are in the manifest.
        """
        self.require_free(base, place)
        if people is not None:
            with suppress(OSError):  # what a crash left means nothing, also where it cannot be removed
                self.remove_strays(base, people)
        there = {name: file for name, file in files_of(folder).items() if people is None or not is_part_file(name)}
        files = {name: file.read_bytes() for name, file in there.items()}
        files[MEMORY] = pack_memory(memory)
        manifest = json.loads(files[MANIFEST])
        if STATEMENT not in files:  # what was signed is kept to the byte, a report that can be written again is not
            for name in AGAIN:
                files.pop(name, None)
                manifest["files"].pop(name, None)
            files[MANIFEST] = json.dumps(manifest, indent=1, ensure_ascii=False).encode()
        body = (
            {
                "format": FORMAT,
                "salt": place.salt,
                "when": datetime.now(UTC).isoformat(timespec="seconds"),
                "policy": digest(folder / POLICY),
                "certificate": json.loads(files[CERTIFICATE]),
                "form": manifest["form"],
                "records": memory.num_rows if people is None else int(sum(memory.column("count").to_pylist())),
                "counterfeits": int(sum(memory.column("counterfeit").to_pylist())),
                "seed": seed,
            }
            | ({"imported": True} if imported else {})
            | ({} if kept is None else {KEPT: cache_digest(kept)})
            | ({} if people is None else {PEOPLE: dict(people)})
        )
        text = json.dumps(body, sort_keys=True, ensure_ascii=False)
        mine = entry_digest(text, place.previous, sorted(files.items()))
        number = place.number
        base.executemany(
            "INSERT INTO files VALUES (?, ?, ?)", [(number, name, content) for name, content in sorted(files.items())]
        )
        base.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (number, text, place.previous, mine))
        return Entry(number, body, mine)

    def remove_strays(self, base: sqlite3.Connection, *coming: Mapping[str, Any]) -> None:
        """Remove people files that no entry names and none that is `coming`, inside a `writing` block."""
        said = newest_person_files((entry.number, entry.body) for entry in self._entries(base))
        remove_strays(self.path, [*said.values(), *coming], newest_entry(base)[0])

    def _make(self) -> None:
        """An empty ledger under its name, complete from the start and private (I1)."""
        if not self._is_to_be_made():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)  # mode 0600
        os.close(handle)
        try:
            base = sqlite3.connect(draft)
            base.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {SCHEMA}")
            base.close()
            os.link(draft, self.path)
        except FileExistsError:
            pass  # another person was faster
        finally:
            os.unlink(draft)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self._is_to_be_made()
        try:
            base = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=self.patience, isolation_level=None
            )
        except sqlite3.OperationalError:
            raise LedgerError(
                "the ledger cannot be opened", where=str(self.path), hint="check the path and the rights"
            ) from None
        try:
            base.text_factory = readable
            base.execute("PRAGMA trusted_schema = OFF")
            self._recognise(base)
            base.execute("PRAGMA synchronous = FULL")
            yield base
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the words of a damaged schema may be no text
            if "locked" in str(error) or "busy" in str(error):
                raise LedgerError("the ledger is busy", where=str(self.path), hint="try again in a moment") from None
            raise self._broken("the file is damaged") from None
        finally:
            base.close()

    def _recognise(self, base: sqlite3.Connection) -> None:
        if base.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise LedgerError(
                "this file is no ledger", where=str(self.path), hint="give the file that 'sfumato publish' made"
            )
        if base.execute("PRAGMA user_version").fetchone()[0] > FORMAT:
            raise LedgerError(
                "the ledger was written by a newer version",
                where=str(self.path),
                hint="use that version or a later one",
            )
        if schema_of(base) != known_schema():  # I5
            raise self._broken("its tables or triggers are not those of a ledger")


def _rows(base: sqlite3.Connection) -> list[Any]:
    return base.execute("SELECT number, body, previous, digest FROM entries ORDER BY number").fetchall()


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Schema
# ------


SCHEMA = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE files (entry INTEGER NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (entry, name));
CREATE TRIGGER keep_entries BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER hold_entries BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER keep_files BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER hold_files BEFORE DELETE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""
TRIGGER = "CREATE TRIGGER keep_files BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"


def readable(text: bytes) -> str:
    """Text of a damaged file is no reason to stumble: what is no UTF-8 fits neither the schema nor the chain."""
    return text.decode("utf-8", "replace")


def schema_of(base: sqlite3.Connection) -> list[Any]:
    """Everything a database declares: tables, indices, views and triggers with their text, virtual tables included."""
    return base.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()


@cache
def known_schema() -> list[Any]:
    """What a ledger declares."""
    base = sqlite3.connect(":memory:")
    try:
        base.executescript(SCHEMA)
        return schema_of(base)
    finally:
        base.close()
