"""Rows on a shelf: tables that need more than their share of the memory lie in a file without a name, and are mapped
from there.

Readers see a plain Arrow table; its pages are loaded from disk and dropped when memory is needed. The file has no name
from the beginning, so that nothing is left behind by a process that is killed.

Invariants
    I1  A column lies in one piece, so that rows can be taken from it in any order without copying it.
    I2  What is on the shelf is exactly what was put there: texts, nulls and empty texts.

>>> with memory_bound(0):
...     rows = MappedTableBuilder(["name"])
...     rows.put(pa.table({"name": ["Ada", None, ""]}))
...     rows.put(pa.table({"name": ["Bo"]}))
...     rows.table().to_pydict()
{'name': ['Ada', None, '', 'Bo']}


Watch
-----
A watch over what a process holds while it works under a bound: it lets go of what can be had again.

Two kinds of memory grow without any person needing them: pages of mapped files, which the system would take back only
when it runs out itself, and memory that was freed and that the C library keeps. Steps that look at a whole column
cannot be asked to let go in the middle; a thread beside them can, because a page that is let go comes back from its
file when it is looked at.

>>> anonymous, mapped = resident()
>>> anonymous >= 0 and mapped >= 0
True


Memory
------
Memory that large tables leave behind: freed, and still held by the C library, which may need none of it for long.

Where a method has ended, the release is read back and judged, and what the method held lies idle between arrays that
are still in use: of five million rows 600 MB."""

from __future__ import annotations

import mmap
import os
import re
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError

USUAL = 2 << 30
"""Bytes that a process may take when nobody says otherwise."""
_REGION = 1 << 31
"""Bytes of text, and as many of places, that a column may have."""
_AT_ONCE, _SHARE, _TOGETHER, _FEWEST = 2048, 512, 16, 1
_BESIDE = 12
_SELDOM = 0.5
"""Seconds between two times of letting pages go."""
_bound, _last = [USUAL], [0.0]


@contextmanager
def memory_bound(size: int) -> Iterator[None]:
    """Inside, tables and steps are so small that the process needs about `size` bytes."""
    before, _bound[0] = _bound[0], size
    try:
        with MemoryWatch(size):
            yield
    finally:
        _bound[0] = before


def rows_per_step() -> int:
    """Rows that are worked on together."""
    return max(_bound[0] // _AT_ONCE, _FEWEST)


def buffer_limit() -> int:
    """Bytes that pieces of a column may take in memory together before they go to their files."""
    return _bound[0] // _TOGETHER


def fits_in_memory(size: int) -> bool:
    """Whether so many bytes may stay in memory."""
    return size <= _bound[0] // _SHARE


def fits_beside(size: int) -> bool:
    """Whether so many bytes may be worked on at once beside everything else."""
    return size <= _bound[0] // _BESIDE


def release_pages() -> None:
    """Lets pages of mapped files go that nobody works on; they come back when they are looked at."""
    now = time.monotonic()
    if now - _last[0] < _SELDOM:
        return
    _last[0] = now
    pa.default_memory_pool().release_unused()
    drop_unused_pages()


class MappedTableBuilder:
    """A table in the making, rows after rows or column after column; large ones go to a file."""

    def __init__(self, names: Sequence[str], room: int | None = None) -> None:
        self.names = list(names)
        self._room = _bound[0] // _SHARE if room is None else room
        self._held: list[pa.Table] = []
        self._size = 0
        self._file: Any = None
        self._columns: list[_Column] = []

    def put(self, rows: pa.Table) -> None:
        """More rows."""
        self._size += rows.nbytes
        if self._file is None and self._size <= self._room:
            self._held.append(rows)
            return
        for held in (*self._moved(), rows):
            for place, column in enumerate(held.columns):
                for chunk in column.chunks:
                    self._columns[place].put(chunk)
        release_pages()

    def _moved(self) -> list[pa.Table]:
        """What was held until now, when the file begins."""
        if self._file is not None:
            return []
        self._file = tempfile.TemporaryFile(prefix="sfumato-rows-")  # noqa: SIM115
        self._columns = [_Column(self._file.fileno(), place, name) for place, name in enumerate(self.names)]
        held, self._held = self._held, []
        return held

    def put_column(self, name: str, pieces: Iterator[pa.Array]) -> None:
        """All values of one column; the rows of a table come this way or by `put`."""
        self._moved()
        column = self._columns[self.names.index(name)]
        for piece in pieces:
            column.put(piece)
        release_pages()

    def table(self) -> pa.Table:
        """What was put here."""
        if self._file is None:
            shape = pa.schema([(name, pa.string()) for name in self.names])
            return pa.concat_tables(self._held) if self._held else shape.empty_table()
        length = 2 * _REGION * len(self.names)
        os.ftruncate(self._file.fileno(), length)
        mapped = MappedFile(self._file.fileno(), length)
        self._file.close()
        whole = memoryview(mapped)
        return pa.table([column.array(whole) for column in self._columns], names=self.names)


class _Column:
    """A column in the file: its texts, one after the other, and where each of them ends."""

    def __init__(self, file: int, place: int, name: str) -> None:
        self.file, self.start, self.name = file, 2 * _REGION * place, name
        self.rows = self.size = 0
        self.valid: list[tuple[np.ndarray, int]] = []
        os.pwrite(file, bytes(4), self.start + _REGION)

    def put(self, texts: pa.Array) -> None:
        if not len(texts):
            return
        _, places, signs = texts.buffers()
        ends = np.frombuffer(places, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        first, last = int(ends[0]), int(ends[-1])
        if self.size + last - first >= _REGION or 4 * (self.rows + len(texts)) >= _REGION:
            raise DataError(
                f"column '{self.name}' holds more than 2 GB of text", hint="leave its table out, or take a subset"
            )
        if last > first:
            _write(self.file, memoryview(signs)[first:last], self.start + self.size)
        _write(self.file, (ends[1:] - first + self.size).astype(np.int32).data, self._place_of(self.rows + 1))
        there = (
            np.ones(len(texts), dtype=bool) if not texts.null_count else texts.is_valid().to_numpy(zero_copy_only=False)
        )
        self.valid.append((np.packbits(there, bitorder="little"), len(texts)))  # I2
        self.rows, self.size = self.rows + len(texts), self.size + last - first

    def _place_of(self, row: int) -> int:
        return self.start + _REGION + 4 * row

    def array(self, whole: memoryview) -> pa.Array:
        """The column, mapped (I1)."""
        bits = [np.unpackbits(packed, count=count, bitorder="little") for packed, count in self.valid]
        there = np.concatenate(bits) if bits else np.ones(0, dtype=np.uint8)
        known = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little").tobytes())
        places = pa.py_buffer(whole[self._place_of(0) : self._place_of(self.rows + 1)])
        signs = pa.py_buffer(whole[self.start : self.start + self.size])
        return pa.Array.from_buffers(pa.string(), self.rows, [known, places, signs])


def _write(file: int, data: memoryview, place: int) -> None:
    """All of the data; a system may take some of it at a time."""
    data = data.cast("B")
    while len(data):
        done = os.pwrite(file, data, place)
        data, place = data[done:], place + done


def map_numbers(numbers: IntArray) -> IntArray:
    """Numbers on the shelf when they are many."""
    if fits_in_memory(numbers.nbytes):
        return numbers
    with tempfile.TemporaryFile(prefix="sfumato-rows-") as file:
        _write(file.fileno(), np.ascontiguousarray(numbers).data, 0)
        mapped = MappedFile(file.fileno(), numbers.nbytes)
    return np.frombuffer(mapped, dtype=numbers.dtype)


def map_row_numbers(rows: int) -> IntArray:
    """The numbers of all rows, on the shelf when they are many."""
    if fits_in_memory(8 * rows):
        return np.arange(rows, dtype=np.int64)
    with tempfile.TemporaryFile(prefix="sfumato-rows-") as file:
        for start in range(0, rows, rows_per_step()):
            _write(file.fileno(), np.arange(start, min(start + rows_per_step(), rows), dtype=np.int64).data, 8 * start)
        mapped = MappedFile(file.fileno(), 8 * rows)
    return np.frombuffer(mapped, dtype=np.int64)


def map_column(texts: pa.Array) -> pa.Array:
    """A column on the shelf when it is large."""
    if fits_in_memory(texts.nbytes):
        return texts
    shelf = MappedTableBuilder([""])
    shelf.put_column("", iter([texts]))
    return shelf.table().column(0).chunk(0)


# Watch
# -----


_EVERY, _WATCH_SELDOM = 0.05, 1.0
"""Seconds between two looks, and between two times of giving freed memory back."""
_LEAST = 64 << 20
"""Bytes below which no process can be kept."""
_MAPPED, _FREED = 8, 2
"""Parts of the bound: an eighth for mapped pages; freed memory is asked back when more than half is held."""


class MappedFile(mmap.mmap):
    """A mapped file that the watch knows."""

    def __new__(cls, file: int, length: int) -> MappedFile:
        made = super().__new__(cls, file, length, access=mmap.ACCESS_READ)
        _maps.add(made)
        return made


_maps: weakref.WeakSet[MappedFile] = weakref.WeakSet()


def drop_unused_pages() -> None:
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


class MemoryWatch:
    """Looks many times a second for as long as a block of code runs."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="sfumato-watch", daemon=True)

    def __enter__(self) -> MemoryWatch:
        if self.bound >= _LEAST:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _look(self) -> None:
        last = 0.0
        while not self._ended.wait(_EVERY):
            own, mapped = resident()
            if mapped > self.bound // _MAPPED:
                drop_unused_pages()
            if own > self.bound // _FREED and time.monotonic() - last > _WATCH_SELDOM:
                release_memory()
                last = time.monotonic()


# Memory
# ------


LARGE = 2_000_000
"""Rows from which on it is worth the time to give memory back."""

_AMOUNT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?([MGmg])[Bb]")


def parse_memory_size(text: str) -> int:
    """Bytes of an amount of memory as a person writes it.

    >>> parse_memory_size("2 GB"), parse_memory_size("0.5gb"), parse_memory_size("800 MB")
    (2147483648, 536870912, 838860800)
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError("write an amount like '2 GB' or '800 MB'")
    return int(float(found[1]) * (1 << 30 if found[2].upper() == "G" else 1 << 20))


def release_memory_of_rows(rows: int) -> None:
    """Hand freed memory to the system, when so many rows were worked on and the C library can be told so."""
    if rows >= LARGE:
        release_memory()


def release_memory() -> None:
    """Hand freed memory to the system, where the C library can be told so."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
