"""Temporary folders of a run; those of a run that was killed are removed by the next one.

A run holds a lock on its folder as long as it lives, and the system takes the lock away when it ends, however it ends.
A folder without a lock that is older than a minute belongs to nobody. Where the system has no such locks nothing is
removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # another system: folders are left where they are
    fcntl = None  # type: ignore[assignment]

_FRESH = 60.0
"""Seconds in which a folder may have no lock yet."""


def draft_folder(prefix: str, place: Path | None = None) -> TemporaryFolder:
    """A private temporary folder, locked until it vanishes; folders of killed runs with this prefix go first."""
    remove_abandoned_folders(place or Path(tempfile.gettempdir()), f"{prefix}*")
    return TemporaryFolder(prefix, place, lock=True)


def remove_abandoned_folders(place: Path, pattern: str) -> None:
    """Remove folders of ours that no living run holds."""
    for folder in place.glob(pattern) if fcntl is not None else ():
        with contextlib.suppress(OSError):
            stands = folder.lstat()
            if folder.is_symlink() or not folder.is_dir() or stands.st_uid != os.getuid():
                continue
            if time.time() - stands.st_mtime < _FRESH:
                continue
            with lock_folder(folder):
                shutil.rmtree(folder)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raises `OSError` where another person holds it."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


class TemporaryFolder:
    """A temporary folder that is removed by `cleanup`, or when nothing refers to it any more."""

    def __init__(self, prefix: str, place: Path | None, lock: bool = False) -> None:
        self.name = tempfile.mkdtemp(prefix=prefix, dir=place)
        held = contextlib.ExitStack()
        if lock:
            held.enter_context(lock_folder(Path(self.name)))
        self._finalizer = weakref.finalize(self, _remove, self.name, held)

    def cleanup(self) -> None:
        """Remove the folder now."""
        self._finalizer()


def _remove(name: str, held: contextlib.ExitStack) -> None:
    with held:
        shutil.rmtree(name, ignore_errors=True)
