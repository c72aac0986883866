"""Long text files as codes: a text that repeats is held once however many rows have it.

A plain file whose columns have few texts becomes codes in one look at its bytes (`kernels.cells`). Others are read piece by piece
by a reader of CSV; there, a column becomes codes when at most half of the rows of the first piece have texts of their own, and a
column of keys stays text.

Invariants
    I1  A piece begins with the header and holds whole lines; all pieces together hold every line behind it once, in order. Only
        files without quotes behind the header are cut: there, every line break ends a record.
    I2  The codes of a column have one dictionary of different texts, in order of first appearance, and nothing is missing.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.compiled.native import ready
from sfumato.data.table import IN_ORDER
from sfumato.io.quoting import count_lines

MOST, _SLOTS = 32_000, 1 << 16
"""Texts that a column of a plain file may have to become codes (no power of two: columns would push each other out of the cache),
and the places of their hashes."""
_STEP = 1 << 20


def can_be_cut(content: bytes) -> bool:
    """Whether no quotes stand behind the header, which is one line (I1)."""
    return content.rfind(b'"') < _behind(content, 0)


def in_codes(content: bytes, header: Sequence[str], separator: str) -> pa.Table | None:
    """The table of a plain file that can be cut; none when it is not plain, or a column has too many texts."""
    if not ready() or b"\r" in content or not _is_utf8(content):
        return None
    from sfumato.io.kernels.cells import CellLabels, code_cells

    width = len(header)
    begin, size = np.zeros((2, width, MOST), dtype=np.int64)
    slot, key = np.full((width, _SLOTS), -1, dtype=np.int32), np.zeros((width, MOST), dtype=np.uint64)
    labels = CellLabels(slot, begin, size, key, np.zeros(width, dtype=np.int64))
    codes = np.empty((width, count_lines(content)), dtype=np.int32)
    words = np.frombuffer(content, dtype="<u8", count=len(content) // 8)
    rows = code_cells(np.frombuffer(content, dtype=np.uint8), words, _behind(content, 0), ord(separator), labels, codes)
    if rows < 0:
        return None
    columns = []
    for place, found in enumerate(labels.found.tolist()):
        spans = zip(begin[place, :found].tolist(), size[place, :found].tolist(), strict=True)
        texts = pa.array([content[at : at + long].decode() for at, long in spans], pa.string())
        columns.append(pa.DictionaryArray.from_arrays(pa.array(codes[place, :rows]), texts))
    return pa.table(columns, names=list(header)).replace_schema_metadata(IN_ORDER)


def _is_utf8(content: bytes) -> bool:
    if content.isascii():
        return True
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(content), _STEP):
            decode(content[start : start + _STEP])
        decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    """The lines of a file in pieces of about so many bytes, each behind the header (I1).

    >>> [*pieces(b"a\\n1\\n2\\n3\\n4", 3)]
    [b'a\\n1\\n2\\n', b'a\\n3\\n4']
    """
    start = _behind(content, 0)
    header, end = content[:start], len(content)
    while start < end:
        last = _behind(content, min(start + size, end) - 1)
        yield header + content[start:last]
        start = last


def _behind(content: bytes, place: int) -> int:
    """Where the line that holds this byte has ended; the end of the file when it is the last one."""
    feed, back = content.find(b"\n", place), content.find(b"\r", place, place + (1 << 16))
    if 0 <= back < feed or feed < 0 <= back:
        return back + (2 if content[back + 1 : back + 2] == b"\n" else 1)
    return feed + 1 if feed >= 0 else len(content)


def together(read: Iterable[pa.Table]) -> pa.Table:
    """The rows of all pieces; columns that repeat their texts as codes."""
    found: list[list[Any]] = []
    names: list[str] = []
    repeats: list[bool] = []
    for piece in read:
        if not found:
            names, found = piece.column_names, [[] for _ in piece.columns]
            repeats = [2 * len(column.unique()) <= len(column) for column in piece.columns]
        for place, column in enumerate(piece.columns):
            found[place] += (column.dictionary_encode() if repeats[place] else column).chunks
    columns = [_one(chunks) if coded else pa.chunked_array(chunks) for chunks, coded in zip(found, repeats, strict=True)]
    return pa.table(columns, names=names).replace_schema_metadata(IN_ORDER if any(repeats) else None)


def _one(chunks: list[Any]) -> Any:
    """Codes of one dictionary (I2)."""
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
