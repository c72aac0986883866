"""Quotes and lines of a CSV file, looked at before any person believes the records: strict as RFC 4180, and fast.

A parser that forgives a missing quote makes one value of everything up to the next one, other people's records
included. So a quote may open a value, close it, or stand doubled inside a quoted one, and nowhere else; a quote that is
open at the end of the file is refused; and the records that were parsed are counted against the lines.

Notation
    opening   the quotes number 1, 3, 5, … of the file. A doubled quote closes and opens at once, so that one count
              serves all.

Cost: one look at the bytes, and two at each quote.


Written csv
-----------
CSV as Sfumato writes it: one comma, one line feed, quotes only where a reader needs them, nulls as nothing.

The lines are built column by column and written as they lie in memory, so a million rows take a second. An empty text
is quoted, which tells it from a null.

>>> import io
>>> target = io.BytesIO()
>>> write_csv(pa.table({"a": ["x", "b,c", "", None], "n": [1, 2, None, 4]}), target)
>>> target.getvalue().decode().splitlines()
['a,n', 'x,1', '"b,c",2', '"",', ',4']
"""

from __future__ import annotations

from mmap import mmap
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError

_QUOTE, _LF, _CR = 34, 10, 13
_BLOCK = 1 << 15
_ALLOW = (
    "close the quotes, or write 'line_breaks: allowed' under data (--read line_breaks=allowed) if values really have"
    " several lines"
)
_INSIDE, _BEHIND = (
    "a quote stands inside a value that does not begin with one",
    "a value goes on behind its closing quote",
)
_HINT = "put quotes around the whole value and double those inside it"


def require_quotes(content: bytes | mmap, separator: str, path: Path | str) -> None:
    """Refuses quotes that do not stand where a value begins or ends, and a last one that is never closed."""
    data = np.frombuffer(content, dtype=np.uint8)
    odd, last, end = 0, 0, content.rfind(b'"') + 1
    for start in range(0, end, _BLOCK):
        quotes = np.flatnonzero(data[start : start + _BLOCK] == _QUOTE) + start
        sides = ((quotes[1 - odd :: 2] + 1, _BEHIND), (quotes[odd::2] - 1, _INSIDE))
        wrong = [(place, what) for beside, what in sides for place in _first_wrong(data, beside, separator)]
        if wrong:
            place, what = min(wrong, key=itemgetter(0))
            raise DataError(what, where=f"{path}:{_line(content, place)}", hint=_HINT)
        last = int(quotes[-1]) if len(quotes) else last
        odd = (odd + len(quotes)) % 2
    if odd:
        raise DataError("a quote is never closed", where=f"{path}:{_line(content, last)}", hint=_HINT)


def _first_wrong(data: NDArray[np.uint8], beside: IntArray, separator: str) -> list[int]:
    """The first of these places that neither ends nor begins a value, nor holds another quote; none when all do."""
    signs = data.take(beside, mode="clip")  # before the first byte and behind the last: clipped to the quote itself
    good: BoolArray = signs == ord(separator)
    for sign in b'"\r\n':
        good |= signs == sign
    return [] if good.all() else [int(beside[int(np.argmin(good))])]


def _line(content: bytes | mmap, place: int) -> int:
    """The number of the line that holds this byte."""
    return count_lines(content[:place] + b".")


def count_lines(content: bytes) -> int:
    """Lines as editors count them; CR, LF and both together end one.

    >>> count_lines(b"a\\nb\\r\\nc\\rd"), count_lines(b"a\\n"), count_lines(b"")
    (4, 1, 0)
    """
    data = np.frombuffer(content, dtype=np.uint8)
    ends = sum(int(np.count_nonzero(data[start : start + _BLOCK] == _LF)) for start in range(0, len(data), _BLOCK))
    if b"\r" in content:
        ends += content.count(b"\r") - content.count(b"\r\n")
    return ends + (bool(content) and content[-1] not in b"\r\n")


def require_records(
    content: bytes, records: int, path: Path | str, *, line_breaks: bool, blanks: bool, hint: str = _ALLOW
) -> None:
    """Refuses a file whose lines are not its records: line breaks inside values unless they are allowed, and anything
    unexplained.

    `records` includes the header; `blanks` says that empty lines are no records.
    """
    if count_lines(content) == records:
        return
    starts, inside = _records(content, skip_empty=blanks)
    if len(inside) and not line_breaks:
        where = f"{path}:{_line(content, int(inside[0]))}"
        raise DataError(f"a value holds a line break ({len(inside)} in all)", where=where, hint=hint)
    if len(starts) != records:
        what = f"{len(starts):,} lines that are no part of another give {records:,} records"
        raise DataError(what, where=str(path), hint="check quotes and line ends")


def line_of_record(content: bytes, record: int, *, blanks: bool) -> int:
    """The line in which a record begins; the header is record 1."""
    starts, _ = _records(content, skip_empty=blanks)
    return _line(content, int(starts[min(record, len(starts)) - 1]))


def _records(content: bytes, *, skip_empty: bool) -> tuple[IntArray, IntArray]:
    """Where records begin, and where line breaks stand inside quotes."""
    data = np.frombuffer(content if content.endswith((b"\n", b"\r")) else content + b"\n", dtype=np.uint8)
    ends = np.flatnonzero((data == _LF) | (data == _CR))
    second = (data[ends] == _LF) & (data[np.maximum(ends - 1, 0)] == _CR)
    inside = np.searchsorted(np.flatnonzero(data == _QUOTE), ends) % 2 == 1
    outside, pairs = ends[~inside & ~second], ends[~inside & second] - 1
    starts = np.concatenate([[0], (outside + 1 + np.isin(outside, pairs, assume_unique=True))[:-1]])
    return starts[outside > starts] if skip_empty else starts, ends[inside & ~second]


# Written csv
# -----------


ROWS = 1 << 18
"""Rows that are made text at a time."""
_NEEDS_QUOTES, _SIGNS = '[",\r\n]', (b'"', b",", b"\r", b"\n")


def _wide(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def write_csv(table: pa.Table, target: IO[bytes]) -> None:
    """The header and every row of the table."""
    target.write((",".join(_quoted_name(name) for name in table.column_names) + "\n").encode())
    for start in range(0, table.num_rows, ROWS):
        fields = [_fields(column) for column in table.slice(start, ROWS).columns]
        ended = pc.binary_join_element_wise(fields[-1], _wide("\n"), _wide(""))
        lines = pc.binary_join_element_wise(*fields[:-1], ended, _wide(","))
        for chunk in lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]:
            target.write(_text_of(chunk))


def _text_of(lines: Any) -> memoryview:
    """The lines as they lie in memory, one after another."""
    offsets = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, lines.buffers()[1]], offset=lines.offset)
    return memoryview(lines.buffers()[2])[offsets[0].as_py() : offsets[-1].as_py()]


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if not name or any(sign in name for sign in '",\r\n') else name


def _fields(column: pa.ChunkedArray) -> Any:
    """A column as it stands between the commas; of a column of codes only the labels are looked at."""
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
        chunks = [_fields_of(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        return pc.fill_null(pa.chunked_array(chunks, pa.large_string()), _wide(""))
    text = (
        pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    )
    return pc.fill_null(
        _fields_of(column) if text else pc.cast(pc.cast(column, pa.string()), pa.large_string()), _wide("")
    )


def _fields_of(texts: Any) -> Any:
    """Texts, quoted where that is needed; nulls stay nulls."""
    wide = pc.cast(texts, pa.large_string())
    if _plain(wide):
        return wide
    special = pc.or_(pc.match_substring_regex(wide, _NEEDS_QUOTES), pc.equal(wide, ""))
    if not pc.any(special, skip_nulls=True).as_py():
        return wide
    quoted = pc.binary_join_element_wise(_wide(""), pc.replace_substring(wide, '"', '""'), _wide(""), _wide('"'))
    return pc.if_else(special, quoted, wide)


def _plain(wide: Any) -> bool:
    """Return whether no text needs quotes: no text is empty or contains a sign with a meaning in CSV."""
    if len(wide) - wide.null_count and not pc.min(pc.binary_length(wide)).as_py():
        return False
    chunks = wide.chunks if isinstance(wide, pa.ChunkedArray) else [wide]
    texts = [bytes(_text_of(chunk)) for chunk in chunks if len(chunk)]
    return not any(sign in text for text in texts for sign in _SIGNS)
