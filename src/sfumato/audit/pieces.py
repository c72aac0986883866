"""Large columns in pieces: equal combinations of values always come into the same piece, so that what is counted adds up.

A column of ten million different values needs a gigabyte to be numbered at once and a fraction of it piece by piece. Which piece
a value belongs to is decided by a sum over its bytes; nothing rests on different values having different sums.

>>> import pyarrow as pa
>>> [[column.to_pylist() for column in side] for (side,) in in_pieces([pa.chunked_array([["a", "b", "a"]])], most=9)]
[[['a', 'b', 'a']]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.shelf import Shelf, all_rooms, forget, rows_at_once

_ROWS, _MOST, _SIGNS = 1 << 16, 1 << 8, 64
"""Rows whose sums are taken at a time, pieces (each is a file that is open), and signs of a text that are weighed differently."""
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, place + 1, 1 << 64) | 1 for place in range(_SIGNS)], dtype=np.uint64)
_MIXED = np.uint64(0xD6E8FEB86659FD93)
FEW = 10_000
"""Different values that are looked at once, each with how often it stands there."""
Side = Sequence[pa.ChunkedArray]


def in_pieces(*sides: Side, by: int | None = None, most: int = 0) -> Iterator[tuple[list[pa.ChunkedArray], ...]]:
    """Columns of several sides, some rows at a time; combinations of the first `by` columns (all without) stay together."""
    rows, most = sum(len(side[0]) for side in sides), most or rows_at_once()
    if rows <= most:
        yield tuple(list(side) for side in sides)
        return
    count = min(-(-rows // most) + 1, _MOST)
    width = _deciding([side[:by] for side in sides], count)
    room = all_rooms() // (count * len(sides))
    shelves = [[Shelf([str(place) for place in range(len(side))], room) for side in sides] for _ in range(count)]
    for number, side in enumerate(sides):
        for cut in slices(len(side[0])):
            cells = [_texts(column[cut]) for column in side]
            marks = _marks(cells[:width], count)
            order, ends = pa.array(np.argsort(marks, kind="stable")), np.cumsum(np.bincount(marks, minlength=count))
            sorted_rows = pa.table([one.take(order) for one in cells], names=[str(place) for place in range(len(side))])
            for piece in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
                start = int(ends[piece - 1]) if piece else 0
                shelves[piece][number].put(sorted_rows.slice(start, int(ends[piece]) - start))
    while shelves:
        yield tuple(list(shelf.table().columns) for shelf in shelves.pop())
        forget()


def slices(rows: int) -> Iterator[slice]:
    """Row numbers, some at a time."""
    for start in range(0, rows, rows_at_once()):
        forget()
        yield slice(start, min(start + rows_at_once(), rows))


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_string(column.type) else pc.cast(column, pa.string())


def _deciding(sides: Sequence[Side], count: int) -> int:
    """How many columns decide about the piece: further ones only while the first rows would crowd into one of them."""
    width = len(sides[0])
    for used in range(1, width):
        first = [_marks([_texts(column[: rows_at_once()]) for column in side[:used]], count) for side in sides]
        sizes = np.sum([np.bincount(mark, minlength=count) for mark in first], axis=0)
        if int(sizes.max()) * count <= 2 * int(sizes.sum()):
            return used
    return width


def _marks(columns: Side, count: int) -> NDArray[np.uint16]:
    """The piece of every row."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        found = (found * _MIXED) + sums_of(column)
    marks: NDArray[np.uint16] = ((found >> np.uint64(33)) % np.uint64(count)).astype(np.uint16)
    return marks


def sums_of(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """A number for every text, the same for the same text; a null counts as the empty text."""
    found = [_sums(chunk.slice(start, _ROWS)) for chunk in column.chunks for start in range(0, len(chunk), _ROWS)]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.uint64)


def _sums(texts: pa.Array) -> NDArray[np.uint64]:
    texts = pc.fill_null(texts, "")
    _, ends, signs = texts.buffers()
    places = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    first, last = int(places[0]), int(places[-1])
    if first == last:
        return np.zeros(len(texts), dtype=np.uint64)
    data = np.frombuffer(signs, dtype=np.uint8)[first:last].astype(np.uint64) + np.uint64(1)
    places -= first
    within = np.arange(last - first) - np.repeat(places[:-1], np.diff(places))
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(data * _WEIGHTS[within % _SIGNS])])
    found: NDArray[np.uint64] = (total[places[1:]] - total[places[:-1]]) * _MIXED
    return found
