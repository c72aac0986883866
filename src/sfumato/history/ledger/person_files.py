"""Where a ledger keeps who is behind a release that was made where its rows lie: Parquet files beside it, as private as
itself.

A release of many rows is stored as lines with counts in its entry. The pairs of key and line are written by the cluster
into ``office.ledger.people`` and never collected. An entry names the folder of its files with the digest of each, under
the chain. Where a person was forgotten a later entry names another folder in its place (`exchanged`).

Invariants
    I1  Files are written before their entry is in the ledger, under a unique name, and only by the process that holds
        the lock. A crash in between leaves a folder that no entry names: it means nothing, and `removal` takes it away.
    I2  Only the owner sees them.
    I3  Files that are missing, changed or added are a broken ledger.
    I4  A draft is locked as long as a person makes it, so that it can be told from one that a crash left. The lock is
        that of the open file, not of the process: who holds a draft and removes others does not remove the own.

Cost: finding people and moving them reads one file after the other, some hundred thousand rows at a time.


Removal
-------
Taking away what lies beside a ledger: bytes are overwritten, then removed; what a crash left, by who writes next.

Invariants
    I1  Strays are removed only by who may append at that moment. People files get their name and their entry within one
        such moment (`people_files`), so a folder that no entry names then is nobody's: a crash left it, or it was
        exchanged.
    I2  A draft is removed only by who gets its lock: nobody makes it any more. One without a lock to ask for stays.
    I3  Bytes that an entry names are never overwritten, by whatever name they are reached: files in which nobody was
        forgotten are the same in the old folder and in the new one.
    I4  No link in the folder is followed, and what is not named like people files stays. So does a folder of an entry
        further on than the next: entries were cut off, and a backup of the ledger may still need it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.draft_folders import TemporaryFolder
from sfumato.core.errors import LedgerError
from sfumato.engines.local import batches
from sfumato.engines.protocol import LINE, PERSON, TWICE
from sfumato.io.plain_files import OverFiles, digest

PEOPLE = "people"
"""What an entry calls its people files."""
DRAFTS, HELD = ".making-", "held"
"""How the names of drafts begin, and the file in one that is locked as long as a person makes it."""
_FOLDER, _FILE = re.compile(r"([0-9]{5,})-[0-9a-f]{16}"), re.compile(r"part-[0-9]{5,}\.parquet")


def person_files_folder(ledger: Path) -> Path:
    """Where the people files of a ledger lie."""
    return ledger.absolute().with_name(f"{ledger.name}.people")


def entry_in(folder: str) -> int | None:
    """The number of the entry for which a folder of people was made, by its name; nothing where it is no such
    folder."""
    found = _FOLDER.fullmatch(folder)
    return None if found is None else int(found[1])


@dataclass(frozen=True)
class PersonFilesDraft:
    """People files in the making, beside their ledger; they vanish with the last who knows them."""

    place: TemporaryFolder = field(repr=False)
    over_files: OverFiles = field(repr=False)

    @classmethod
    def beside(cls, ledger: Path, over_files: OverFiles) -> PersonFilesDraft:
        """A new one (I2)."""
        place = person_files_folder(ledger)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            draft = cls(TemporaryFolder(DRAFTS, place), over_files)
            if draft._hold():
                return draft

    def _hold(self) -> bool:
        """Lock the draft until nobody knows it any more (I4); not where a person took it for what a crash left, and
        removes it."""
        file = Path(self.place.name) / HELD
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if isinstance(error, BlockingIOError):
                return False
            file.unlink(missing_ok=True)  # a place without locks: nobody can tell who makes it, so nobody removes it
            return True
        weakref.finalize(self, os.close, handle)
        return os.fstat(handle).st_nlink > 0

    @property
    def folder(self) -> Path:
        """Where they are written."""
        return Path(self.place.name) / PEOPLE

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digest of each file, once all of them are on the disk; nothing is written afterwards."""
        for path in (*self.files, self.folder):
            _sync(path)
        return {file.name: sha for file, sha in zip(self.files, self.over_files(digest, self.files), strict=True)}

    def completed(self) -> PersonFilesDraft:
        """The same, of which all that takes its time is done before any person else has to wait for it."""
        assert len(self.digests) == len(self.files)
        return self

    def laid(self, ledger: Path, number: int) -> dict[str, Any]:
        """Put them into their place, where they stay; what an entry says of them (I1)."""
        name, said = f"{number:05d}-{secrets.token_hex(8)}", self.digests
        self.folder.rename(person_files_folder(ledger) / name)
        _sync(person_files_folder(ledger))
        return {"folder": name, "files": said}


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def person_files_of_entry(ledger: Path, said: Any) -> list[Path] | None:
    """The files that an entry names; nothing where what it says cannot be read (I3)."""
    if not isinstance(said, Mapping) or not isinstance(said.get("files"), Mapping) or not said["files"]:
        return None
    folder = said.get("folder")
    if (
        not isinstance(folder, str)
        or entry_in(folder) is None
        or not all(_FILE.fullmatch(str(name)) for name in said["files"])
    ):
        return None
    return [person_files_folder(ledger) / folder / name for name in sorted(said["files"])]


def match_entry(ledger: Path, said: Any) -> bool:
    """Whether the files that an entry names are there, as they were, and no others (I3)."""
    files = person_files_of_entry(ledger, said)
    if not files or any(file.is_symlink() or not file.is_file() for file in files) or files[0].parent.is_symlink():
        return False
    return sorted(files[0].parent.iterdir()) == files and all(
        digest(file) == said["files"][file.name] for file in files
    )


# -- people in them ----------------------------------------------------------------------------------------------------


def lines_of_persons(files: Sequence[Path], keys: Collection[str]) -> dict[str, tuple[int, Path]]:
    """The line of each of some people, and the file that says so; of those who are there."""
    wanted, found = pa.array(sorted(keys), pa.string()), dict[str, tuple[int, Path]]()
    for file in files:
        for batch in batches(file, [PERSON, LINE]):
            theirs = batch.filter(pc.is_in(pc.cast(batch.column(PERSON), pa.string()), value_set=wanted))
            for key, line in zip(theirs.column(PERSON).to_pylist(), theirs.column(LINE).to_pylist(), strict=True):
                if key in found:
                    raise LedgerError(TWICE)
                found[str(key)] = int(line), file
    return found


def write_alike(file: Path, target: Path) -> None:
    """The same file at another place: by a second name, or else a copy."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def write_moved(file: Path, target: Path, moved: Mapping[str, tuple[str, int]]) -> None:
    """The file at another place, in which some people have another name and line; the order of rows is kept."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(file)
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in batches(file, schema.names):
            writer.write_table(_moved(batch, moved).cast(schema))


def _moved(batch: pa.Table, moved: Mapping[str, tuple[str, int]]) -> pa.Table:
    names, lines, before = batch.column(PERSON), batch.column(LINE), batch.column(PERSON)
    for key, (name, line) in moved.items():
        mine = pc.equal(pc.cast(before, pa.string()), key)
        names, lines = pc.if_else(mine, name, names), pc.if_else(mine, pa.scalar(line, lines.type), lines)
    for name, column in ((PERSON, names), (LINE, lines)):
        batch = batch.set_column(batch.schema.get_field_index(name), batch.schema.field(name), column)
    return batch


# Removal
# -------


_AT_ONCE = 1 << 20
Bytes = frozenset[tuple[int, int]]
"""Files by what they are, whatever they are called."""


def overwrite_and_remove(path: Path) -> None:
    """Overwrite and remove a plain file."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "wb") as file:
        left = os.fstat(handle).st_size
        while left > 0:
            left -= file.write(b"\0" * min(left, _AT_ONCE))
        file.flush()
        os.fsync(handle)
    path.unlink()


def remove_strays(ledger: Path, named: Collection[Any], last: int) -> None:
    """Remove people files that no entry names, and drafts that nobody makes any more; for who may append now (I1).

    `named` is what entries say of their people, each by its newest word, and `last` the number of the newest entry.
    """
    place = person_files_folder(ledger)
    if not place.is_dir():
        return
    files = [file for said in named for file in person_files_of_entry(ledger, said) or ()]
    folders, needed = {file.parent.name for file in files}, bytes_of(files)
    for folder in sorted(place.iterdir()):
        number = entry_in(folder.name)
        if folder.is_symlink() or not folder.is_dir():  # I4
            continue
        if number is not None and number <= last + 1 and folder.name not in folders:
            remove_folder(folder, needed)
        elif folder.name.startswith(DRAFTS):
            _remove_draft(folder, needed)


def bytes_of(files: Iterable[Path]) -> Bytes:
    """What lies under some names."""
    found = [os.lstat(file) for file in files]
    return frozenset((one.st_dev, one.st_ino) for one in found)


def remove_folder(folder: Path, needed: Bytes) -> None:
    """Remove a folder; what is in it is overwritten first, except what is `needed` under another name (I3)."""
    for place, _, names in os.walk(folder):
        for file in (Path(place, name) for name in names):
            with suppress(FileNotFoundError):  # its creator removes it, too
                found = os.lstat(file)
                if stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) not in needed:  # I4
                    overwrite_and_remove(file)
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _remove_draft(folder: Path, needed: Bytes) -> None:
    try:
        handle = os.open(folder / HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # I2
        pass
    else:
        remove_folder(folder, needed)
    finally:
        os.close(handle)
