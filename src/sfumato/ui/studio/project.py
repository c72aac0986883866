"""The project folder: everything the studio may read or write lies directly in it, and nothing outside is ever touched.

Invariants
    I1  A name is one plain file name: no separators, no dots in front, no control signs; so no name can lead out of the
        folder.
    I2  Links are not followed: what is no plain file or folder is as good as absent.
    I3  Files appear whole or not at all: written beside, then renamed.
"""

from __future__ import annotations

import json
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
TAKEN = (*_TABLES, *_POLICIES, ".fimi", ".ledger", ".pem", ".pub", ".zip", ".json")
"""Endings of files that may be dropped into the project."""
KEPT = ".kept"
"""Private folder beside the data: earlier texts of policies, named settings, and what was published from which rows."""
_MOST_VERSIONS = 50


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

    async def receive(
        self, name: str, chunks: AsyncIterator[bytes], *, most: int = LARGEST_UPLOAD, replace: bool = False
    ) -> Path:
        """A file as it arrives, of bounded size; an existing one is replaced only on request, and only by data."""
        place = self.path(name)
        if not name.lower().endswith(TAKEN):
            raise DataError(
                f"'{name}' is no table, hierarchy, ledger or archive",
                where="the project folder",
                hint="drop a CSV, Parquet or Excel file",
            )
        replaceable = replace and name in {file.name for file in self.data_files()} and place.is_file()
        if place.exists() and not replaceable:
            raise DataError(
                f"'{name}' is there already",
                where="the project folder",
                hint="replace it, or rename the file and drop it again",
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

    def remove(self, name: str) -> None:
        """Remove a data file."""
        if name not in {file.name for file in self.data_files()}:
            raise DataError(f"no data file '{name}' in this project", hint="look at the list of files")
        self.path(name).unlink()

    def withdraw(self, name: str) -> None:
        """Move a release out of the project, into the private folder; a ledger still counts it."""
        if name not in self.releases():
            raise DataError(f"no release '{name}' in this project", hint="look at the list of releases")
        place = self._kept("withdrawn")
        free = next(
            each for each in (name, *(f"{name}-{at}" for at in range(2, 10_000))) if not (place / each).exists()
        )
        (self.folder / name).rename(place / free)
        beside = self.folder / f"{name}.private.html"
        if beside.is_file() and not beside.is_symlink():
            beside.rename(place / f"{free}.private.html")

    def _kept(self, *inside: str) -> Path:
        """A private folder below `KEPT`, made when it is not there."""
        place = self.folder / KEPT
        for part in ("", *inside):
            if part and not is_plain(part):  # I1
                raise DataError("not a name of a file in this project", hint="use a plain file name")
            place = place / part if part else place
            place.mkdir(mode=0o700, exist_ok=True)
            if place.is_symlink() or not stat.S_ISDIR(place.lstat().st_mode):  # I2
                raise DataError(f"'{place.name}' is no folder", where="the project folder", hint="remove it")
        return place

    def remember(self, policy: str, text: str, said: str) -> None:
        """Keep an earlier text of a policy, with what changed it."""
        place = self._kept(policy, "versions")
        known = sorted(place.glob("*.json"))
        number = int(known[-1].stem) + 1 if known else 1
        self._put(place / f"{number:08}.json", {"said": said, "text": text})
        for old in known[: max(0, len(known) + 1 - _MOST_VERSIONS)]:
            old.unlink()

    def last_version(self, policy: str) -> dict[str, str] | None:
        """The text before the last change, and what the change was."""
        found = self._versions(policy)
        return None if not found else self._read(found[-1])

    def forget_version(self, policy: str) -> None:
        for place in self._versions(policy)[-1:]:
            place.unlink()

    def _versions(self, policy: str) -> list[Path]:
        place = self.folder / KEPT / policy / "versions"
        return sorted(place.glob("*.json")) if place.is_dir() and not place.is_symlink() else []

    def keep_setting(self, policy: str, name: str, told: dict[str, Any]) -> None:
        """Keep the text of a policy under a name of its own, to compare it."""
        self._put(self._kept(policy, "settings") / f"{name}.json", told)

    def settings(self, policy: str) -> dict[str, dict[str, Any]]:
        """The kept settings of a policy by their names."""
        place = self.folder / KEPT / policy / "settings"
        found = sorted(place.glob("*.json")) if place.is_dir() and not place.is_symlink() else []
        return {file.stem: told for file in found if (told := self._read(file)) is not None}

    def drop_setting(self, policy: str, name: str) -> None:
        if is_plain(name) and name in self.settings(policy):
            (self.folder / KEPT / policy / "settings" / f"{name}.json").unlink()

    def origin(self, release: str) -> dict[str, Any] | None:
        """What the studio remembers of a release that it made: its policy, and figures that need the original."""
        place = self.folder / KEPT / "releases" / f"{release}.json"
        return self._read(place) if place.is_file() and not place.is_symlink() else None

    def origin_place(self, release: str) -> Path:
        """Where a worker writes what is remembered of a release; it makes the folder when there is something."""
        return self.folder / KEPT / "releases" / f"{release}.json"

    @staticmethod
    def _put(place: Path, told: dict[str, Any]) -> None:
        beside = place.with_name(f".{secrets.token_hex(8)}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(told, file)
        beside.replace(place)  # I3

    @staticmethod
    def _read(place: Path) -> dict[str, Any] | None:
        """What lies there; nothing where it is damaged."""
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
        except (ValueError, OSError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def cached(self, name: str) -> Path:
        """Where a worker keeps what the next question of a page reads quickly; it ends with the studio."""
        above = self.folder / SCRATCH
        above.mkdir(mode=0o700, exist_ok=True)
        return above / name

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
