"""The project folder: everything the studio may read or write lies directly in it, and nothing outside is ever touched.

Invariants
    I1  A name is one plain file name: no separators, no dots in front, no control signs; so no name can lead out of the
        folder.
    I2  Links are not followed: what is no plain file or folder is as good as absent.
    I3  Files appear whole or not at all: written beside, then renamed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import DataError
from sfumato.release.folder import MANIFEST

LARGEST_UPLOAD = 4 << 30
"""Bytes of one file that may be dropped into the project."""
SCRATCH = ".studio"
"""Folder for work in progress; what lies there belongs to a running worker."""
_TABLES = (
    ".csv",
    ".csv.gz",
    ".tsv",
    ".parquet",
    ".xlsx",
    ".dat",
    ".txt",
    ".sav",
    ".dta",
    ".sas7bdat",
    ".sqlite",
    ".sqlite3",
    ".db",
)
_POLICIES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """One file of the folder as a page lists it."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Project:
    """A folder that is open in the studio."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Project:
        """The folder, which must be there."""
        place = Path(folder).resolve()
        if not place.is_dir():
            raise DataError(f"no such folder: {Path(folder).name}", where=str(folder), hint="give a folder to work in")
        return cls(place)

    def path(self, name: str) -> Path:
        """Where a file of this name lies or would lie; refuses whatever could lead elsewhere (I1, I2)."""
        if not is_plain(name):  # I1
            raise DataError(
                "not a name of a file in this project", where="the project folder", hint="use a plain file name"
            )
        place = self.folder / name
        if place.is_symlink():  # I2
            raise DataError(
                f"'{name}' is a link", where="the project folder", hint="put the file itself into the folder"
            )
        return place

    def existing(self, name: str) -> Path:
        place = self.path(name)
        if not place.exists():
            raise DataError(
                f"no '{name}' in this project", where="the project folder", hint="look at the list of files"
            )
        return place

    def data_files(self) -> list[ProjectFile]:
        return self._files(_TABLES)

    def policies(self) -> list[ProjectFile]:
        return self._files(_POLICIES)

    def ledgers(self) -> list[ProjectFile]:
        return self._files((".ledger",))

    def signing_keys(self) -> list[ProjectFile]:
        """Private keys that releases may be signed with."""
        return self._files((".pem",))

    def releases(self) -> list[str]:
        """Release folders, oldest first."""
        found = [
            entry for entry in os.scandir(self.folder) if entry.is_dir(follow_symlinks=False) and is_plain(entry.name)
        ]
        made = [entry for entry in found if (Path(entry.path) / MANIFEST).is_file()]
        return [entry.name for entry in sorted(made, key=lambda entry: (entry.stat().st_mtime, entry.name))]

    def _files(self, endings: tuple[str, ...]) -> list[ProjectFile]:
        entries = [
            entry for entry in os.scandir(self.folder) if entry.is_file(follow_symlinks=False) and is_plain(entry.name)
        ]
        kept = [entry for entry in entries if entry.name.lower().endswith(endings)]
        return [ProjectFile(entry.name, entry.stat().st_size) for entry in sorted(kept, key=lambda entry: entry.name)]

    def write(self, name: str, content: bytes) -> Path:
        """Put a whole file in place (I3)."""
        place = self.path(name)
        beside = self.folder / f".{secrets.token_hex(8)}"
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            beside.replace(place)  # I3
        finally:
            beside.unlink(missing_ok=True)
        return place

    async def receive(self, name: str, chunks: AsyncIterator[bytes], *, most: int = LARGEST_UPLOAD) -> Path:
        """A file as it arrives, of bounded size; an existing one is not replaced."""
        place = self.path(name)
        if place.exists():
            raise DataError(
                f"'{name}' is there already", where="the project folder", hint="rename the file and drop it again"
            )
        beside, seen = self.folder / f".{secrets.token_hex(8)}", 0
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for chunk in chunks:
                    seen += len(chunk)
                    if seen > most:
                        raise DataError(
                            f"larger than {most:,} bytes", where=name, hint="copy it into the folder by hand"
                        )
                    file.write(chunk)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
        return place

    def scratch(self) -> Path:
        """A new private folder for one piece of work."""
        above = self.folder / SCRATCH
        above.mkdir(mode=0o700, exist_ok=True)
        if above.is_symlink() or not stat.S_ISDIR(above.lstat().st_mode):  # I2
            raise DataError(f"'{SCRATCH}' is no folder", where="the project folder", hint="remove it")
        place = above / secrets.token_hex(8)
        place.mkdir(mode=0o700)
        return place

    def clear(self) -> None:
        """Remove what workers left behind."""
        shutil.rmtree(self.folder / SCRATCH, ignore_errors=True)

    def overview(self) -> dict[str, Any]:
        """What lies in the folder, for the first page."""
        names = ("data_files", "policies", "ledgers", "signing_keys")
        listed = {name: [{"name": file.name, "size": file.size} for file in getattr(self, name)()] for name in names}
        return {"folder": self.folder.name, **listed, "releases": self.releases()}


def is_plain(name: str) -> bool:
    """Whether a text is one visible file name (I1).

    >>> [is_plain(name) for name in ("a.csv", "../a", "/etc/passwd", ".hidden", "", "a\\x00b", "..", "é.csv")]
    [True, False, False, False, False, False, False, True]
    """
    return (
        bool(name)
        and len(name) <= 200
        and name == Path(name).name
        and name[0] != "."
        and name.isprintable()
        and "\\" not in name
    )
