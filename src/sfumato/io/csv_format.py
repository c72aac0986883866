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
CSV as Sfumato writes it: one comma, one line feed, quotes only where a reader needs them, nulls as nothing. A
`CsvDialect` is another separator, and columns whose numbers have a decimal comma, as the source of a release has them.

The lines are built column by column and written as they lie in memory, so a million rows take a second. An empty text
is quoted, which tells it from a null.

>>> import io
>>> target = io.BytesIO()
>>> write_csv(pa.table({"a": ["x", "b,c", "", None], "n": [1, 2, None, 4]}), target)
>>> target.getvalue().decode().splitlines()
['a,n', 'x,1', '"b,c",2', '"",', ',4']
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from mmap import mmap
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
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
_SIGNS = '"\r\n'
_POINTS, _COMMAS = (r"^-?\d+(?:[S]\d+)?(?:-\d+(?:[S]\d+)?)?$".replace("S", sign) for sign in ".,")
"""Numbers and ranges of numbers with decimal points, or with decimal commas."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a source writes a table.

    Reading back what was written gives the same cells: a column in which that would fail keeps its decimal points.
    """

    separator: str = ","
    decimal_comma: tuple[str, ...] = ()

    @classmethod
    def read(cls, tree: Any) -> CsvDialect:
        """The dialect that a manifest states; the usual one where it states none."""
        if not tree:
            return cls()
        separator, names = str(tree["separator"]), tree.get("decimal_comma", [])
        if len(separator) != 1 or separator in _SIGNS or not all(isinstance(name, str) for name in names):
            raise ValueError(separator)
        return cls(separator, tuple(names))

    def to_json(self) -> dict[str, Any]:
        return {"separator": self.separator, "decimal_comma": list(self.decimal_comma)}

    def fitting(self, tables: Iterable[pa.Table]) -> CsvDialect:
        """The dialect without the columns that could not be read back."""
        seen = list(tables)
        fits = [name for name in self.decimal_comma if all(map(partial(_reads_back, name), seen))]
        return CsvDialect(self.separator, tuple(fits))

    def written(self, table: pa.Table) -> pa.Table:
        """The table with decimal commas where the dialect has them."""
        return self._changed(table, _POINTS, ".", ",")

    def plain(self, table: pa.Table) -> pa.Table:
        """The table with decimal points again."""
        return self._changed(table, _COMMAS, ",", ".")

    def _changed(self, table: pa.Table, pattern: str, old: str, new: str) -> pa.Table:
        for name in self.decimal_comma:
            if name in table.column_names:
                cells = _as_texts(table.column(name))
                swapped = pc.replace_substring(cells, old, new)
                cells = pc.if_else(pc.match_substring_regex(cells, pattern), swapped, cells)
                table = table.set_column(table.column_names.index(name), name, cells)
        return table


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.cast(column, pa.string()) if not pa.types.is_dictionary(column.type) else column, pa.string())


def _reads_back(name: str, table: pa.Table) -> bool:
    """Whether no cell of a column looks like a number with a decimal comma already."""
    if name not in table.column_names:
        return True
    cells = pc.drop_null(_as_texts(table.column(name)))
    looks = pc.and_(pc.match_substring_regex(cells, _COMMAS), pc.match_substring(cells, ","))
    return not pc.any(looks, min_count=0).as_py()


def plain_copy(file: Path, dialect: CsvDialect, folder: Path) -> Path:
    """A copy of a published file in the usual dialect, with the same name in another folder."""
    parse = pa_csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True, ignore_empty_lines=False)
    try:
        with file.open("rb") as source:
            names = next(csv.reader([source.readline().decode("utf-8")], delimiter=dialect.separator))
        convert = pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        table = pa_csv.read_csv(file, parse_options=parse, convert_options=convert)
    except (OSError, UnicodeDecodeError, StopIteration, pa.ArrowException):
        raise DataError(f"{file.name} is not written as the manifest says", where=str(file)) from None
    with (folder / file.name).open("wb") as target:
        write_csv(dialect.plain(table), target)
    return folder / file.name


def _wide(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def write_csv(table: pa.Table, target: IO[bytes], separator: str = ",") -> None:
    """The header and every row of the table."""
    target.write((separator.join(_quoted_name(name, separator) for name in table.column_names) + "\n").encode())
    for start in range(0, table.num_rows, ROWS):
        fields = [_fields(column, separator) for column in table.slice(start, ROWS).columns]
        ended = pc.binary_join_element_wise(fields[-1], _wide("\n"), _wide(""))
        lines = pc.binary_join_element_wise(*fields[:-1], ended, _wide(separator))
        for chunk in lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]:
            target.write(_text_of(chunk))


def _text_of(lines: Any) -> memoryview:
    """The lines as they lie in memory, one after another."""
    offsets = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, lines.buffers()[1]], offset=lines.offset)
    return memoryview(lines.buffers()[2])[offsets[0].as_py() : offsets[-1].as_py()]


def _quoted_name(name: str, separator: str) -> str:
    special = not name or any(sign in name for sign in _SIGNS + separator)
    return '"' + name.replace('"', '""') + '"' if special else name


def _fields(column: pa.ChunkedArray, separator: str) -> Any:
    """A column as it stands between the separators; of a column of codes only the labels are looked at."""
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
        chunks = [_fields_of(chunk.dictionary, separator).take(chunk.indices) for chunk in column.chunks]
        return pc.fill_null(pa.chunked_array(chunks, pa.large_string()), _wide(""))
    text = (
        pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    )
    return pc.fill_null(
        _fields_of(column, separator) if text else pc.cast(pc.cast(column, pa.string()), pa.large_string()), _wide("")
    )


def _fields_of(texts: Any, separator: str) -> Any:
    """Texts, quoted where that is needed; nulls stay nulls."""
    wide = pc.cast(texts, pa.large_string())
    if _plain(wide, separator):
        return wide
    special = pc.or_(pc.match_substring_regex(wide, "[" + re.escape(_SIGNS + separator) + "]"), pc.equal(wide, ""))
    if not pc.any(special, skip_nulls=True).as_py():
        return wide
    quoted = pc.binary_join_element_wise(_wide(""), pc.replace_substring(wide, '"', '""'), _wide(""), _wide('"'))
    return pc.if_else(special, quoted, wide)


def _plain(wide: Any, separator: str) -> bool:
    """Return whether no text needs quotes: no text is empty or contains a sign with a meaning in CSV."""
    if len(wide) - wide.null_count and not pc.min(pc.binary_length(wide)).as_py():
        return False
    chunks = wide.chunks if isinstance(wide, pa.ChunkedArray) else [wide]
    texts = [bytes(_text_of(chunk)) for chunk in chunks if len(chunk)]
    signs = [sign.encode() for sign in _SIGNS + separator]
    return not any(sign in text for text in texts for sign in signs)
