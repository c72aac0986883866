"""Tables in files: ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``; strict, and without values in error messages.

Every value of a CSV file is text. A file that cannot be read as what it requirements to be is refused with the line
number, never with the content of the line.

Invariants
    I1  A CSV file has one record for every line, unless line breaks inside values are allowed; then for every line
        outside quotes.


Coded
-----
Long text files as codes: a text that repeats is held once however many rows have it.

A plain file whose columns have few texts becomes codes in one look at its bytes (`kernels.cell_codes`). Others are read
piece by piece by a reader of CSV; there, a column becomes codes when at most half of the rows of the first piece have
texts of their own, and a column of keys stays text.

Invariants
    I1  A piece begins with the header and holds whole lines; all pieces together hold every line behind it once, in
        order. Only files without quotes behind the header are cut: there, every line break ends a record.
    I2  The codes of a column have one dictionary of different texts, in order of first appearance, and nothing is
        missing.


Large files
-----------
A large CSV file of our own, record after record onto the shelf; the file itself is only mapped.

Whatever is not plainly right is left to the reader of small files, who knows how to say what is wrong.


Sheets
------
Tables of other programs: Excel (.xlsx), SPSS (.sav, .por), Stata (.dta), SAS (.sas7bdat, .xpt).

Every cell becomes the text that a CSV file would hold: whole numbers without a point, days as ISO 8601. Values with
labels (SPSS, Stata) are read as their labels. What unpacks to far more than its size is refused before it is unpacked.
"""

from __future__ import annotations

import csv
import datetime as dt
import functools
import gzip
import io
import mmap
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sfumato.core.compiled.native import ready
from sfumato.core.errors import DataError
from sfumato.core.extras import bring
from sfumato.core.limits import memory_limit, require_unpacked_size, system_allocator
from sfumato.data.memory_map import MappedTableBuilder, fits_in_memory
from sfumato.data.table import IN_ORDER
from sfumato.io.csv_format import count_lines, line_of_record, require_quotes, require_records
from sfumato.io.file_contents import (
    ENCODE,
    LONGEST_RECORD,
    encoding_of,
    is_folder,
    is_there,
    is_utf8,
    read_bytes,
    reader_of,
    unpacking,
)
from sfumato.io.frames import from_frame

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


MOST_COLUMNS = 10_000
"""The most columns of a table in a file."""
PIECE = 1 << 22
"""Bytes of a long file that are read at a time where its columns become codes."""
_SEPARATORS = ",;\t|"
_LOOKED_AT = 100
"""Lines from which the separator is guessed."""
_LAYOUT = 1 << 22
"""Bytes from which the encoding is guessed where a file is not read yet."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How a file is written; what is empty or 0 is found, or as usual."""

    separator: str = ""
    encoding: str = ""
    quote: str = '"'
    sheet: str = ""
    header_row: int = 0


_USUAL = FileLayout()


def read_file(
    path: Path, *, line_breaks: bool = True, written: FileLayout = _USUAL, coded: bool = False, empty: bool = False
) -> pa.Table:
    """The table in a file, chosen by its ending; `line_breaks` says whether values of a text file may hold them.

    With `coded`, columns of a long text file whose values repeat are codes with a dictionary (`data.table.IN_ORDER`). A
    table without rows is refused as data of people, and read as what it is with `empty`: a part of a release may list
    nothing."""
    if not is_there(path):
        if is_folder(path):
            hint = "name one file; a folder of files is read where a Spark session is given"
            raise DataError(f"{path.name} is a folder", where=str(path), hint=hint)
        raise DataError(
            f"no such file: {path.name}", where=str(path), hint="paths in a policy are relative to the policy file"
        )
    if is_text(path):
        return read_csv(path, line_breaks=line_breaks, written=written, coded=coded, empty=empty)
    if _ending(path) in EXCEL:
        return read_excel(path, written)
    if _ending(path) in STATISTICS:
        return read_statistics(path, _ending(path))
    if _ending(path) in {"parquet", "pq"}:
        return _read_parquet(path, empty=empty)
    raise DataError(
        f"cannot tell the format of {path.name}", where=str(path), hint="use .csv, .csv.gz, .parquet or .xlsx"
    )


def is_text(path: Path) -> bool:
    """Whether the file has lines that are counted when it is read."""
    return _ending(path) in {"csv", "tsv", "txt"}


def _ending(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]


def read_csv(
    path: Path, *, line_breaks: bool = True, written: FileLayout = _USUAL, coded: bool = False, empty: bool = False
) -> pa.Table:
    """Every column as text; refuses other encodings, stray quotes, ragged rows, repeated or empty headers and empty
    tables."""
    content = _usual(read_bytes(path, encoding=written.encoding), written, path)
    above = max(written.header_row - 1, 0)
    try:
        return _read_text(_without_lines(content, above, path), path, line_breaks, written, coded, empty)
    except DataError as error:  # lines were counted from the header on
        place, _, line = error.where.rpartition(":")
        where = f"{place}:{int(line) + above}" if place and line.isdecimal() else error.where
        raise DataError(error.what, where=where, hint=error.hint) from None


def _read_text(
    content: bytes, path: Path, line_breaks: bool, written: FileLayout, coded: bool, empty: bool
) -> pa.Table:
    header, separator = _header(content, path, written.separator)
    require_quotes(content, separator, path)
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False, check_utf8=True
    )
    in_pieces = coded and len(content) > PIECE and can_be_cut(content)
    if in_pieces and (found := read_as_codes(content, header, separator)) is not None and found.num_rows:
        return found  # I1: every line that is not empty is one
    table = _parsed(content, path, header, convert, in_pieces, delimiter=separator, ignore_empty_lines=len(header) > 1)
    if table.num_rows == 0 and not empty:
        raise DataError(
            f"{path.name} has a header and no rows", where=str(path), hint="give a table with at least one record"
        )
    require_records(content, table.num_rows + 1, path, line_breaks=line_breaks, blanks=len(header) > 1)  # I1
    return table


def layout_of(path: Path) -> FileLayout:
    """Return how a file is written where that is not as usual: its encoding, the sheet and the row that names the
    columns."""
    if _ending(path) in EXCEL:
        name, rows = _sheet(path, _USUAL)
        with _workbook(path) as book:
            first = book.sheet_names[0]
        return FileLayout(sheet="" if name == first else name, header_row=_header_row(rows) or 0)
    if is_text(path) and is_there(path):
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            head = file.read(_LAYOUT)
        return FileLayout(encoding=encoding_of(head.rpartition(b"\n")[0] or head))
    return _USUAL


def _without_lines(content: bytes, above: int, path: Path) -> bytes:
    """Return the text below so many lines."""
    start = 0
    for _ in range(above):
        start = _behind(content, start)
    if start >= len(content) > 0:
        raise DataError(f"{path.name} has at most {above} lines", where=str(path), hint="check 'header_row' under data")
    return content[start:]


def _usual(content: bytes, written: FileLayout, path: Path) -> bytes:
    """The same records between double quotes."""
    if written.quote == '"':
        return content
    separator = written.separator or _separator(content.split(b"\n", 1)[0].decode("utf-8", errors="replace"), content)
    try:
        rows = csv.reader(
            io.StringIO(content.decode("utf-8"), newline=""), delimiter=separator, quotechar=written.quote, strict=True
        )
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    except (csv.Error, UnicodeDecodeError):
        raise DataError(
            f"{path.name} cannot be read with these quotes", where=str(path), hint="check 'quote' under data"
        ) from None
    return text.getvalue().encode()


def _parsed(
    content: bytes,
    path: Path,
    header: Sequence[str],
    convert: pa_csv.ConvertOptions,
    in_pieces: bool = False,
    *,
    longest: int = LONGEST_RECORD,
    **options: Any,
) -> pa.Table:
    """The rows below the header, under exactly its names."""
    try:
        if in_pieces:
            return combine_pieces(_read(piece, header, convert, longest, options) for piece in pieces(content, PIECE))
        return _read(content, header, convert, longest, options)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if "Expected" not in str(error):
            raise _unreadable(path, error) from None
    try:
        content.decode("utf-8")  # the library that names the row stumbles over anything else
    except UnicodeDecodeError as error:
        raise _unreadable(path, error) from None
    bad: list[Any] = []

    def refuse(row: Any) -> str:
        bad.append(row)
        return "error"

    with suppress(pa.ArrowException):  # once more, asking
        _read(content, header, convert, longest, options | {"invalid_row_handler": refuse})
    raise _ragged(path, bad, content, len(header))


def _read(
    content: bytes, header: Sequence[str], convert: pa_csv.ConvertOptions, longest: int, options: dict[str, Any]
) -> pa.Table:
    """In one thread, which counts records, and takes half the time of two that wait for each other at every line
    break."""
    return pa_csv.read_csv(
        reader_of(content),  # no Python object, which threads might still hold when the process ends
        read_options=pa_csv.ReadOptions(block_size=longest, column_names=list(header), skip_rows=1, use_threads=False),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, **options),
        convert_options=convert,
    )


def _header(content: bytes, path: Path, said: str = "") -> tuple[list[str], str]:
    found = re.search(rb"[\r\n]", content)
    first = content if found is None else content[: found.start()]
    if not first.strip():
        raise DataError(f"{path.name} is empty", where=str(path), hint="the first line must name the columns")
    if found is None:
        raise DataError(
            f"{path.name} has one line and no rows", where=str(path), hint="give a table with at least one record"
        )
    try:
        line = first.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path.name} is not UTF-8 text", where=f"{path}:1", hint=ENCODE) from None
    if first.count(b'"') % 2:
        raise DataError(
            "a quote in the header is not closed in its line", where=f"{path}:1", hint="name every column in one line"
        )
    separator = said or _separator(line, content)
    return named_header(_names(line, separator, path), f"{path}:1"), separator


def _names(line: str, separator: str, path: Path) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:
        raise DataError("the header cannot be read", where=f"{path}:1", hint="give every column a short name") from None


def _separator(header: str, content: bytes) -> str:
    """The sign that stands equally often in the first lines, quoted values apart; else the most frequent of the
    header."""
    start = content[: 1 << 16].decode("utf-8", errors="replace")
    lines = re.split(r"\r\n|\r|\n", re.sub(r'"[^"]*"', "", start))[:_LOOKED_AT]
    lines = [line for line in (lines[:-1] if len(content) > 1 << 16 else lines) if line]
    bare = re.sub(r'"[^"]*"', "", header)
    even = [
        sign for sign in _SEPARATORS if bare.count(sign) and all(line.count(sign) == bare.count(sign) for line in lines)
    ]
    return max(even or _SEPARATORS, key=bare.count)


def separator_of(path: Path, above: int = 0) -> str:
    """The separator of a text file, found in its first lines below so many others."""
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        head = file.read(_LAYOUT)
    content = b"\n".join(head.splitlines()[above:])
    return _separator(content.split(b"\n", 1)[0].decode("utf-8", errors="replace"), content)


def _ragged(path: Path, bad: list[Any], content: bytes, width: int) -> DataError:
    hint = "quote values that contain the separator"
    if not bad:
        return DataError(f"a row has not the {width} values that the header names", where=str(path), hint=hint)
    line = line_of_record(content, bad[0].number, blanks=width > 1)
    what = f"a row has {bad[0].actual_columns} values where the header names {width}"
    return DataError(what, where=f"{path}:{line}", hint=hint)


def _unreadable(path: Path, error: Exception) -> DataError:
    if "utf8" in str(error).lower().replace("-", ""):
        return DataError(f"{path.name} is not UTF-8 text", where=str(path), hint=ENCODE)
    if "straddl" in str(error) or "block" in str(error):
        return DataError(
            f"a record is longer than {LONGEST_RECORD >> 20} MB", where=str(path), hint="check quotes and line ends"
        )
    return DataError(f"{path.name} cannot be read as CSV", where=str(path), hint="check quotes and separators")


def _read_parquet(path: Path, *, empty: bool) -> pa.Table:
    table = _parquet(path)
    if table.num_rows == 0 and not empty:
        raise DataError(f"{path.name} has no rows", where=str(path), hint="give a table with at least one record")
    return from_frame(table, empty=empty)


def _parquet(path: Path) -> pa.Table:
    """Read the file alone, whatever the folders above it are called."""
    try:
        return read_parquet(path)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        raise DataError(f"{path.name} is no readable Parquet file", where=str(path), hint="write it again") from None


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a Parquet file, or some of its columns, or raise `DataError` if it unpacks too far."""
    return pa.concat_tables(parquet_batches(path, columns), promote_options="permissive")


def parquet_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yield the row groups of a Parquet file; each is measured before its texts are written out.

    Columns of text are read as codes with a dictionary: a text that many rows share is held once until its bytes are
    counted."""
    import pyarrow.parquet as pq

    packed = unpacked = 0
    with unpacking(path), pq.ParquetFile(path) as plain:
        _require_cells(plain, path.stat().st_size)
        if len(set(plain.schema_arrow.names)) < len(plain.schema_arrow.names):
            raise DataError(
                f"two columns of {path.name} have the same name", where=str(path), hint="rename one of them"
            )
        names = list(plain.schema_arrow.names if columns is None else columns)
        texts = [
            name for name in names if _is_text(plain.schema_arrow.field(name).type) and name not in _delta_coded(plain)
        ]
        with system_allocator():
            reader = pq.ParquetFile(path, read_dictionary=texts)
        with reader as file:
            if not file.metadata.num_row_groups:
                yield plain.schema_arrow.empty_table().select(names)
            for place in range(file.metadata.num_row_groups):
                about = file.metadata.row_group(place)
                packed += sum(about.column(column).total_compressed_size for column in range(about.num_columns))
                with memory_limit(packed):
                    group = file.read_row_group(place, columns=names)
                    unpacked += sum(_written_out(column) for column in group.columns)
                    require_unpacked_size(unpacked, packed)
                    group = group.cast(pa.schema([plain.schema_arrow.field(name) for name in names]))
                yield group


def _delta_coded(file: ParquetFile) -> set[str]:
    """Return the columns that hold texts as differences, which Arrow does not read as codes; `memory_limit` alone
    bounds them."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    return {chunk.path_in_schema for chunk in chunks if any("DELTA" in coding for coding in chunk.encodings)}


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    )


def _written_out(column: pa.ChunkedArray) -> int:
    """Count the bytes of a column, with every text as often as rows have it."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = (pc.take(pc.binary_length(chunk.dictionary), chunk.indices) for chunk in column.chunks)
    return 4 * len(column) + sum(pc.sum(each).as_py() or 0 for each in lengths)


def _require_cells(file: ParquetFile, packed: int) -> None:
    """Refuse a Parquet file with far more cells than its size can hold, before any of them is read."""
    shape = file.metadata
    groups = [shape.row_group(place) for place in range(shape.num_row_groups)]
    values = sum(group.column(place).num_values for group in groups for place in range(shape.num_columns))
    widest = max((file.schema.column(place).length or 8 for place in range(shape.num_columns)), default=8)
    require_unpacked_size(max(widest, 8) * max(values, shape.num_rows * shape.num_columns), packed)
    require_unpacked_size(sum(group.total_byte_size for group in groups), packed)


def read_exact(path: Path) -> pa.Table:
    """A table as `write_csv` or Parquet kept it: a null is not the empty text, and there may be no rows at all."""
    if path.suffix == ".parquet":
        return _parquet(path)
    if not fits_in_memory(path.stat().st_size):
        table = large_csv(path)
        if table is not None:
            return table
    content = read_bytes(path)
    line, _, rest = content.partition(b"\n")
    try:
        names = _names(line.decode("utf-8"), ",", path)
    except UnicodeDecodeError:
        raise DataError(f"{path.name} is not UTF-8 text", where=f"{path}:1", hint="save it as UTF-8") from None
    if not rest:
        return pa.schema([(name, pa.string()) for name in names]).empty_table()
    require_quotes(content, ",", path)
    types = dict.fromkeys(names, pa.string())
    convert = pa_csv.ConvertOptions(
        column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
    )
    return _parsed(
        content, path, names, convert, longest=max(len(content) + 1, LONGEST_RECORD), ignore_empty_lines=False
    )


# Coded
# -----


MOST, _SLOTS = 32_000, 1 << 16
"""Texts that a column of a plain file may have to become codes (no power of two: columns would push each other out of
the cache), and the places of their hashes."""


def can_be_cut(content: bytes) -> bool:
    """Whether no quotes stand behind the header, which is one line (I1)."""
    return content.rfind(b'"') < _behind(content, 0)


def read_as_codes(content: bytes, header: Sequence[str], separator: str) -> pa.Table | None:
    """The table of a plain file that can be cut; none when it is not plain, or a column has too many texts."""
    if not ready() or b"\r" in content or not is_utf8(content):
        return None
    from sfumato.core.kernels.cell_codes import CellLabels, code_cells

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


def combine_pieces(read: Iterable[pa.Table]) -> pa.Table:
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
    columns = [
        _one(chunks) if coded else pa.chunked_array(chunks) for chunks, coded in zip(found, repeats, strict=True)
    ]
    return pa.table(columns, names=names).replace_schema_metadata(IN_ORDER if any(repeats) else None)


def _one(chunks: list[Any]) -> Any:
    """Codes of one dictionary (I2)."""
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()


# Large files
# -----------


_BLOCK = 1 << 24


def large_csv(path: Path) -> pa.Table | None:
    """The table in a file that `write_csv` wrote; None when something about it is odd."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(b"\0") >= 0 or content[:2] in (b"\xff\xfe", b"\xfe\xff") or content[:3] == b"\xef\xbb\xbf":
            return None
        try:
            names = next(csv.reader([content.readline().decode()], strict=True))
            require_quotes(content, ",", path)
        except (UnicodeDecodeError, csv.Error, DataError):
            return None
    if len(set(names)) < len(names) or not all(names):
        return None
    try:
        return _large_files_parsed(path, names)
    except pa.ArrowException:
        return None


def _large_files_parsed(path: Path, names: list[str]) -> pa.Table:
    shelf = MappedTableBuilder(names)
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    with pa_csv.open_csv(
        str(path),
        read_options=pa_csv.ReadOptions(block_size=_BLOCK, column_names=names, skip_rows=1, use_threads=False),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=convert,
    ) as batches:
        for batch in batches:
            shelf.put(pa.Table.from_batches([batch]))
    return shelf.table()


# Sheets
# ------


EXCEL = ("xlsx", "xlsm")
_COVER = 4
"""A first sheet with less than a fourth of the cells of the largest one is a cover."""
_CELL = 24
"""Bytes that a cell takes while a sheet is read."""
_REFERENCE = re.compile(rb'r="([A-Z]{1,3})([0-9]{1,7})"')
STATISTICS = {
    "sav": "read_sav",
    "zsav": "read_sav",
    "por": "read_por",
    "dta": "read_dta",
    "sas7bdat": "read_sas7bdat",
    "xpt": "read_xport",
}


def read_excel(path: Path, written: FileLayout = _USUAL) -> pa.Table:
    """Return one sheet of a workbook.

    Without a name it is the first sheet, or the largest one where the first is a cover. Without a number the header is
    the first row that names all columns, so titles above it are passed over."""
    name, rows = _sheet(path, written)
    start = written.header_row - 1 if written.header_row else (_header_row(rows) or 1) - 1
    body = [row for row in rows[start + 1 :] if any(cell is not None for cell in row)]
    if start >= len(rows) or not body:
        raise DataError(
            f"sheet '{name}' of {path.name} has no rows below row {start + 1}", where=str(path), hint=_sheets(path)
        )
    used = [place for place in range(len(rows[start])) if any(row[place] is not None for row in (rows[start], *body))]
    header = named_header([rows[start][place] or "" for place in used], f"{path}, sheet '{name}', row {start + 1}")
    return pa.table(
        {head: pa.array([row[place] for row in body], pa.string()) for head, place in zip(header, used, strict=True)}
    )


def _sheet(path: Path, written: FileLayout) -> tuple[str, list[list[str | None]]]:
    """Return the name and the rows of the sheet that is meant."""
    with _workbook(path) as book:
        names = book.sheet_names
        if written.sheet and written.sheet not in names:
            raise DataError(f"{path.name} has no sheet '{written.sheet}'", where=str(path), hint=_sheets(path))
        sheets = {name: _rows_of(book, name) for name in ([written.sheet] if written.sheet else names)}
    sizes = {name: sum(cell is not None for row in rows for cell in row) for name, rows in sheets.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    if not sizes[largest]:
        raise DataError(f"{path.name} has no rows", where=str(path), hint="one row names the columns, records follow")
    first = next(iter(sheets))
    chosen = first if _COVER * sizes[first] >= sizes[largest] else largest
    return chosen, sheets[chosen]


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    """Open a workbook whose sheets are as large as their cells say, or refuse it."""
    library = bring("python_calamine", f"reading {path.name}")
    try:
        with unpacking(path), zipfile.ZipFile(path) as packed:
            require_unpacked_size(sum(entry.file_size for entry in packed.infolist()), path.stat().st_size)
            cells = sum(_extent(packed.open(entry)) for entry in packed.infolist() if "/worksheets/" in entry.filename)
            require_unpacked_size(_CELL * cells, path.stat().st_size)
        yield library.CalamineWorkbook.from_path(path)
    except (OSError, zipfile.BadZipFile, library.CalamineError, KeyError, ValueError, TypeError):
        raise DataError(
            f"{path.name} is no readable workbook", where=str(path), hint="save it again as .xlsx"
        ) from None


def _extent(sheet: Any) -> int:
    """Return the number of cells that a reader allocates: the smallest rectangle around all cells of a sheet."""
    columns = rows = filled = 0
    tail = b""
    while piece := sheet.read(1 << 20):
        text = tail + piece
        for letters, digits in _REFERENCE.findall(text):
            rows = max(rows, int(digits))
            columns = max(columns, functools.reduce(lambda number, sign: 26 * number + sign - 64, letters, 0))
        filled += text.count(b"<c>") + text.count(b"<row")
        tail = text[-16:]
    return max(rows * columns, filled)


def _rows_of(book: Any, name: str) -> list[list[str | None]]:
    return [[_text(cell) for cell in row] for row in book.get_sheet_by_name(name).to_python(skip_empty_area=False)]


def _header_row(rows: Sequence[Sequence[str | None]]) -> int | None:
    """Return the number of the first row that names every column, if titles stand above it.

    >>> _header_row([["Survey 2024", None], [None, None], ["age", "sex"], ["30", "f"]]), _header_row([["age", "sex"],
    ...     ["30", "f"]])
    (3, None)
    """
    filled = [sum(cell is not None for cell in row) for row in rows]
    width = max(filled, default=0)
    for place, row in enumerate(rows):
        if filled[place] == width or (filled[place] == width - 1 > 0 and row[0] is None):
            return place + 1 if place else None
    return None


def _sheets(path: Path) -> str:
    """Return what to try: the sheets of a workbook by name."""
    with _workbook(path) as book:
        names = ", ".join(f"'{name}'" for name in book.sheet_names)
    return f"its sheets are {names}: write 'sheet:' and, below titles, 'header_row:' under data (or --read sheet=NAME)"


def read_statistics(path: Path, ending: str) -> pa.Table:
    """A file of a statistics program, with labels for labelled values."""
    library = bring("pyreadstat", f"reading {path.name}")
    try:
        columns, about = getattr(library, STATISTICS[ending])(str(path), output_format="dict")
    except (library.PyreadstatError, library.ReadstatError, OSError, ValueError, UnicodeDecodeError):
        raise DataError(f"{path.name} cannot be read", where=str(path), hint="save it again, or as CSV") from None
    if not columns or not len(next(iter(columns.values()))):
        raise DataError(f"{path.name} has no rows", where=str(path), hint="give a table with at least one record")
    labels = {
        name: {_text(value): str(label) for value, label in known.items()}
        for name, known in about.variable_value_labels.items()
    }
    return pa.table({str(name): _labelled(values, labels.get(name, {})) for name, values in columns.items()})


def _labelled(values: Any, labels: dict[str | None, str]) -> pa.Array:
    texts = [_text(value) for value in values]
    return pa.array([labels.get(text, text) for text in texts], pa.string())


def named_header(cells: list[str], where: str) -> list[str]:
    """The names of the columns; a first one without a name numbers the rows, as tables written with their index do.

    >>> named_header(["", "age"], "t.csv")
    ['row', 'age']
    """
    names = ["row" if place == 0 and not name and "row" not in cells else name for place, name in enumerate(cells)]
    if "" in names:
        raise DataError("a column has no name", where=where, hint="name every column in the first line")
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"the table has {len(names):,} columns, at most {MOST_COLUMNS:,} are read",
            where=where,
            hint="check the separator",
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"column '{twice}' stands twice in the header", where=where, hint="rename one of them")
    return names


def _text(value: Any) -> str | None:
    """A cell as a CSV file would hold it; None where there is nothing.

    >>> [_text(value) for value in (3.0, 2.5, True, dt.datetime(2024, 1, 31), "x", None, float("nan"))]
    ['3', '2.5', 'true', '2024-01-31', 'x', None, None]
    """
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ", "seconds")
    return value.isoformat() if isinstance(value, dt.date) else str(value)
