"""A watch over what a process holds while it works under a bound: it lets go of what can be had again.

Two kinds of memory grow without anybody needing them: pages of mapped files, which the system would take back only when it runs
out itself, and memory that was freed and that the C library keeps. Steps that look at a whole column cannot be asked to let go in
the middle; a thread beside them can, because a page that is let go comes back from its file when it is looked at.

>>> anonymous, mapped = resident()
>>> anonymous >= 0 and mapped >= 0
True
"""

from __future__ import annotations

import mmap
import threading
import time
import weakref
from types import TracebackType

from sfumato.data.memory import trim

_EVERY, _SELDOM = 0.05, 1.0
"""Seconds between two looks, and between two times of giving freed memory back."""
_LEAST = 64 << 20
"""Bytes below which no process can be kept."""
_MAPPED, _FREED = 8, 2
"""Parts of the bound: an eighth for mapped pages; freed memory is asked back when more than half is held."""


class Mapped(mmap.mmap):
    """A mapped file that the watch knows."""

    def __new__(cls, file: int, length: int) -> Mapped:
        made = super().__new__(cls, file, length, access=mmap.ACCESS_READ)
        _maps.add(made)
        return made


_maps: weakref.WeakSet[Mapped] = weakref.WeakSet()


def let_go() -> None:
    """Pages of mapped files that nobody works on right now; they come back when they are looked at."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for one in list(_maps):
            one.madvise(mmap.MADV_DONTNEED)


def resident() -> tuple[int, int]:
    """Bytes of this process in memory: its own, and pages of files; nothing where the system does not say so."""
    try:
        with open("/proc/self/statm", "rb") as file:
            _, held, mapped = file.read().split()[:3]
    except OSError:
        return 0, 0
    return (int(held) - int(mapped)) * mmap.PAGESIZE, int(mapped) * mmap.PAGESIZE


class Watch:
    """Looks many times a second for as long as a block of code runs."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="sfumato-watch", daemon=True)

    def __enter__(self) -> Watch:
        if self.bound >= _LEAST:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _look(self) -> None:
        last = 0.0
        while not self._ended.wait(_EVERY):
            own, mapped = resident()
            if mapped > self.bound // _MAPPED:
                let_go()
            if own > self.bound // _FREED and time.monotonic() - last > _SELDOM:
                trim()
                last = time.monotonic()
