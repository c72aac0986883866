"""Taking away what lies beside a ledger: bytes are overwritten, then removed; what a crash left, by who writes next.

Invariants
    I1  Strays are removed only by who may append at that moment. People files get their name and their entry within one such
        moment (`people_files`), so a folder that no entry names then is nobody's: a crash left it, or it was exchanged.
    I2  A draft is removed only by who gets its lock: nobody makes it any more. One without a lock to ask for stays.
    I3  Bytes that an entry names are never overwritten, by whatever name they are reached: files in which nobody was forgotten are
        the same in the old folder and in the new one.
    I4  No link in the folder is followed, and what is not named like people files stays. So does a folder of an entry further on
        than the next: entries were cut off, and a backup of the ledger may still need it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.ledger.people_files import DRAFTS, HELD, entry_in, people_in, people_place

_AT_ONCE = 1 << 20
Bytes = frozenset[tuple[int, int]]
"""Files by what they are, whatever they are called."""


def wipe(path: Path) -> None:
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
    place = people_place(ledger)
    if not place.is_dir():
        return
    files = [file for said in named for file in people_in(ledger, said) or ()]
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
            with suppress(FileNotFoundError):  # whoever made it removes it, too
                found = os.lstat(file)
                if stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) not in needed:  # I4
                    wipe(file)
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
