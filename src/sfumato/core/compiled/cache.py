"""The cache directory of compiled code: one that only the user can write.

Invariants
    I1  Kept code belongs to these very sources: their digest is part of the directory's name.
    I2  Cached code is run without a check, so it is read only where no other user could have put it. The directory, its
        files and all directories above it belong to this user or to root; group and others cannot write there. Of the
        directories above, one may be open to all when only owners can rename what lies in it (the sticky bit, as on
        ``/tmp``).


Notice
------
What is said while something is compiled: one line on a terminal, nothing when nobody watches.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = Path(__file__).parents[2]


@cache
def kernel_modules() -> dict[str, Path]:
    """Return the file of every kernel module by the module's name."""
    files = [path for path in sorted(SOURCE.rglob("kernels/*.py")) if path.stem != "__init__"]
    return {".".join(("sfumato", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in files}


@cache
def digest() -> str:
    """Return a digest of all kernels and of everything that turns them into code."""
    found = hashlib.sha256()
    for source in [*sorted(HERE.glob("*.*")), *kernel_modules().values()]:
        if source.suffix in (".py", ".c", ".txt"):
            found.update(source.read_bytes())  # I1
    return found.hexdigest()[:12]


def _places() -> list[Path]:
    """Where code may be kept: as the environment says, then in the user's cache where the user has a home."""
    wanted = [Path(given) for name in ("SFUMATO_CACHE", "NUMBA_CACHE_DIR") if (given := os.environ.get(name))]
    try:
        return [*wanted, Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sfumato"]
    except RuntimeError:  # a user without a name and without HOME, as in some containers
        return wanted


@cache
def cache_directory(name: str = "") -> str:
    """Return the first directory of this name that this user alone can write, "" if there is none; else that of these
    sources."""
    for base in _places():
        directory = base / (name or f"loops-{digest()}")
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_ours_alone(directory):  # I2
                continue
            with tempfile.TemporaryFile(dir=directory):
                return str(directory)
        except OSError:  # not ours to write
            continue
    return ""


def cache_directories_to_read() -> list[Path]:
    """Directories that may hold code made earlier, those that cannot be written included (an image, a read-only
    home)."""
    found = []
    for base in _places():
        directory = base / f"loops-{digest()}"
        try:
            if directory.is_dir() and is_ours_alone(directory):  # I2
                found.append(directory)
        except OSError:
            continue
    return found


def is_ours_alone(directory: Path) -> bool:
    """Whether nobody but this user and root can put or change anything in the directory (I2)."""
    directory = directory.resolve(strict=True)
    inside = (directory, *directory.rglob("*"))
    return all(_is_closed(path.lstat()) for path in inside) and all(_guards(path.lstat()) for path in directory.parents)


def _is_closed(status: os.stat_result) -> bool:
    return status.st_uid in (0, os.getuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _guards(status: os.stat_result) -> bool:
    """Whether what lies in this directory, and belongs to this user or to root, stays what it is."""
    return _is_closed(status) or (status.st_uid in (0, os.getuid()) and bool(status.st_mode & stat.S_ISVTX))


# Notice
# ------


def announce(sentence: str) -> None:
    """Say it on stderr, when that is a terminal."""
    if sys.stderr.isatty():
        print(sentence, file=sys.stderr, flush=True)
