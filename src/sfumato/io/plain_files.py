"""Plain files: what a release folder may hold, opened without following links and written without touching what was
there.

A folder may come from any person. A link in it would let its maker choose which file of the reader is read or
overwritten, a pipe would make the reader wait for ever.

Guarantee
    Nothing behind a link, a pipe or a device is opened, and writing creates a new file: another hard link to the old
    file keeps the old content. The folder itself may be reached through a link; that is the reader's own choice.

Invariants
    I1  What is opened is a regular file at the moment it is opened, not only when it was looked at.
    I2  A name that is read from a file leads to a place below the folder.
    I3  A file takes its name when it is complete.

>>> is_inner("hierarchies/1-age.csv"), is_inner("../policy.yaml"), is_inner("/etc/passwd"), is_inner("a\\x00b")
(True, False, False, False)
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from sfumato.core.errors import DataError, MissingFolder, ReleaseError
from sfumato.io.file_contents import parse_json

LARGEST_TEXT = 1 << 26
"""The most bytes of a manifest, a certificate or a statement."""
LONGEST_NAME = 1024
_HINT = "a release folder holds plain files only; do not trust this one"
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
}


OverFiles = Callable[[Callable[[Path], Any], Sequence[Path]], list[Any]]
"""Does something plain with every file and gives the answers in their order; it may do so where the files lie."""
_IN_FOLDER = re.compile(r"[\w -]+/part-\d{5}\.parquet", re.ASCII)


def map_files(ask: Callable[[Path], Any], files: Sequence[Path]) -> list[Any]:
    """Here, one file after the other."""
    return [ask(file) for file in files]


def is_part_file(name: str) -> bool:
    """Whether a listed name is that of a file of a part which is a folder: ``data/part-00003.parquet``."""
    return _IN_FOLDER.fullmatch(name) is not None


def is_inner(name: Any) -> bool:
    """Whether a name from a manifest, a policy or a ledger leads to a file below the folder it belongs to (I2)."""
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME:
        return False
    return "\0" not in name and all(part not in ("", ".", "..") for part in name.split("/"))


def printable_name(name: str) -> str:
    """A name for a message: signs that a terminal would obey are written as escapes."""
    return name if name.isprintable() else ascii(name)


def files_of(folder: Path) -> dict[str, Path]:
    """Every file below a folder by its name; refuses a folder with anything in it that is neither a plain file nor a
    folder."""
    found = dict(_walk(folder))
    return {name: found[name] for name in sorted(found)}


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            entries = list(os.scandir(place))
        except OSError:
            if place == folder and not folder.exists():
                return
            raise MissingFolder(
                "the folder cannot be looked into", where=str(place), hint="check the path and the rights"
            ) from None
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            path = Path(entry.path)
            name = path.relative_to(folder).as_posix()
            if stat.S_ISDIR(mode):
                waiting.append(path)
            elif stat.S_ISREG(mode):
                yield name, path
            else:
                raise ReleaseError(
                    f"{printable_name(name)} in the folder is {_kind(mode)}", where=str(folder), hint=_HINT
                )


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "no plain file")


def open_plain(path: Path) -> BufferedReader:
    """A regular file for reading; a link, a pipe or a device is refused without waiting for it (I1)."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        with suppress(OSError):
            if not stat.S_ISREG(mode := os.lstat(path).st_mode):
                raise ReleaseError(f"{path.name} is {_kind(mode)}", where=str(path), hint="give a plain file") from None
        raise error
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise ReleaseError(f"{path.name} is {_kind(mode)}", where=str(path), hint="give a plain file")
    return os.fdopen(handle, "rb")


def read_plain(path: Path, *, most: int = LARGEST_TEXT) -> bytes:
    """The content of a regular file that is not larger than `most` bytes."""
    with open_plain(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ReleaseError(f"{path.name} is larger than {most >> 20} MB", where=str(path))
    return content


def read_tree(path: Path) -> dict[str, Any]:
    """A JSON object in a file of a release folder, read strictly."""
    try:
        tree = parse_json(read_plain(path).decode("utf-8"))
    except OSError:
        hint = "give a folder that 'sfumato publish' wrote"
        if not path.parent.is_dir():
            raise MissingFolder("no such folder", where=str(path.parent), hint=hint) from None
        raise ReleaseError(f"no {path.name} in the folder", where=str(path.parent), hint=hint) from None
    except ValueError:
        raise ReleaseError(f"{path.name} is not valid JSON", where=str(path)) from None
    if not isinstance(tree, dict):
        raise ReleaseError(f"{path.name} is not what it should be", where=str(path))
    return tree


def digest(path: Path) -> str:
    """SHA-256 of a regular file, in hexadecimal."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_writable(path: Path) -> None:
    """Refuses a place where something stands that is no plain file; nothing is written through a link."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(mode := os.lstat(path).st_mode):
            hint = "choose another place, or remove it first"
            raise DataError(f"{path.name} is {_kind(mode)}, and nothing is written there", where=str(path), hint=hint)


def replace_file(path: Path, content: bytes, *, private: bool = False, synced: bool = True) -> Path:
    """Put a new file under a name; a private one is readable by its owner only from its first byte on.

    Without `synced` a loss of power may leave it empty: for files of a draft, which is synced as a whole or thrown
    away."""
    require_writable(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    mode = 0o600 if private else 0o666  # less what the umask takes away
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)  # I3
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return path
