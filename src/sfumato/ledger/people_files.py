"""Where a ledger keeps who is behind a release that was made where its rows lie: Parquet files beside it, as private as itself.

A release of many rows is remembered as lines with counts, which stand in its entry; who is on which line are pairs of a key and a
line, written by the cluster into ``office.ledger.people`` and never brought together. An entry names the folder of its files with
the digest of each, under the chain.

Invariants
    I1  Files get their place before their entry is in the ledger, under a name that nobody else uses. A crash in between leaves a
        folder that no entry names, and that means nothing.
    I2  Only the owner sees them.
    I3  Files that are missing, changed or added are a broken ledger.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.release.plain_files import OverFiles, digest

PEOPLE = "people"
"""What an entry calls its people files."""
_FOLDER, _FILE = re.compile(r"[0-9]{5,}-[0-9a-f]{16}"), re.compile(r"part-[0-9]{5,}\.parquet")


def people_place(ledger: Path) -> Path:
    """Where the people files of a ledger lie."""
    return ledger.with_name(f"{ledger.name}.people")


@dataclass(frozen=True)
class PeopleDraft:
    """People files in the making, beside their ledger; they vanish with the last who knows them."""

    place: tempfile.TemporaryDirectory[str] = field(repr=False)
    over_files: OverFiles = field(repr=False)
    lines: pa.Table = field(repr=False)
    """What is remembered with them (`shelf.lines_table`)."""

    @classmethod
    def beside(cls, ledger: Path, over_files: OverFiles, lines: pa.Table) -> PeopleDraft:
        """A new one (I2)."""
        place = people_place(ledger.absolute())
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(tempfile.TemporaryDirectory(prefix=".making-", dir=place), over_files, lines)

    @property
    def folder(self) -> Path:
        """Where they are written."""
        return Path(self.place.name) / PEOPLE

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def laid(self, ledger: Path, number: int) -> dict[str, Any]:
        """Put them into their place, where they stay; what their entry says of them (I1)."""
        name = f"{number:05d}-{secrets.token_hex(8)}"
        said = {file.name: sha for file, sha in zip(self.files, self.over_files(digest, self.files), strict=True)}
        for file in self.files:
            _sync(file)
        self.folder.rename(people_place(ledger.absolute()) / name)
        _sync(people_place(ledger.absolute()))
        return {"folder": name, "files": said}


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def people_in(ledger: Path, said: Any) -> list[Path] | None:
    """The files that an entry names; nothing where what it says cannot be read (I3)."""
    if not isinstance(said, Mapping) or not isinstance(said.get("files"), Mapping) or not said["files"]:
        return None
    folder = said.get("folder")
    if (
        not isinstance(folder, str)
        or not _FOLDER.fullmatch(folder)
        or not all(_FILE.fullmatch(str(name)) for name in said["files"])
    ):
        return None
    return [people_place(ledger.absolute()) / folder / name for name in sorted(said["files"])]


def are_as_entered(ledger: Path, said: Any) -> bool:
    """Whether the files that an entry names are there, as they were, and no others (I3)."""
    files = people_in(ledger, said)
    if not files or any(file.is_symlink() or not file.is_file() for file in files) or files[0].parent.is_symlink():
        return False
    return sorted(files[0].parent.iterdir()) == files and all(digest(file) == said["files"][file.name] for file in files)
