"""Tables in files: ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``; strict, and silent about what stands in them.

Every value of a CSV file is text. A file that cannot be read as what it claims to be is refused with the line number, never
with the content of the line.

Invariants
    I1  A CSV file has one record for every line, unless line breaks inside values are allowed; then for every line outside quotes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.data.shelf import small_enough
from sfumato.errors import DataError
from sfumato.io.coded import can_be_cut, in_codes, pieces, together
from sfumato.io.contents import ENCODE, is_there, read_bytes, require_size
from sfumato.io.frames import from_frame
from sfumato.io.large_files import large_csv
from sfumato.io.quoting import line_of_record, require_quotes, require_records
from sfumato.io.readers import reader_of
from sfumato.io.sheets import EXCEL, STATISTICS, named_header, read_excel, read_statistics

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

LONGEST_RECORD = 1 << 24
"""The most bytes of one record."""
PIECE = 1 << 22
"""Bytes of a long file that are read at a time where its columns become codes."""
_SEPARATORS = ",;\t|"
_LOOKED_AT = 100
"""Lines from which the separator is guessed."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """How a text file is written; what is empty is found, or as usual."""

    separator: str = ""
    encoding: str = ""
    quote: str = '"'


_USUAL = TextFile()


def read_file(
    path: Path, *, line_breaks: bool = True, written: TextFile = _USUAL, sheet: str = "", coded: bool = False
) -> pa.Table:
    """The table in a file, chosen by its ending; `line_breaks` says whether values of a text file may hold them.

    With `coded`, columns of a long text file whose values repeat are codes with a dictionary (`data.table.IN_ORDER`).
    """
    if not is_there(path):
        raise DataError(f"no such file: {path.name}", where=str(path), hint="paths in a policy are relative to the policy file")
    if is_text(path):
        return read_csv(path, line_breaks=line_breaks, written=written, coded=coded)
    if _ending(path) in EXCEL:
        return read_excel(path, sheet)
    if _ending(path) in STATISTICS:
        return read_statistics(path, _ending(path))
    if _ending(path) in {"parquet", "pq"}:
        return _read_parquet(path)
    raise DataError(f"cannot tell the format of {path.name}", where=str(path), hint="use .csv, .csv.gz, .parquet or .xlsx")


def is_text(path: Path) -> bool:
    """Whether the file has lines that are counted when it is read."""
    return _ending(path) in {"csv", "tsv", "txt"}


def _ending(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]


def read_csv(path: Path, *, line_breaks: bool = True, written: TextFile = _USUAL, coded: bool = False) -> pa.Table:
    """Every column as text; refuses other encodings, stray quotes, ragged rows, repeated or empty headers and empty tables."""
    content = _usual(read_bytes(path, encoding=written.encoding), written, path)
    header, separator = _header(content, path, written.separator)
    require_quotes(content, separator, path)
    convert = pa_csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False, check_utf8=True)
    in_pieces = coded and len(content) > PIECE and can_be_cut(content)
    if in_pieces and (found := in_codes(content, header, separator)) is not None and found.num_rows:
        return found  # I1: every line that is not empty is one
    table = _parsed(content, path, header, convert, in_pieces, delimiter=separator, ignore_empty_lines=len(header) > 1)
    if table.num_rows == 0:
        raise DataError(f"{path.name} has a header and no rows", where=str(path), hint="give a table with at least one record")
    require_records(content, table.num_rows + 1, path, line_breaks=line_breaks, blanks=len(header) > 1)  # I1
    return table


def _usual(content: bytes, written: TextFile, path: Path) -> bytes:
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
        raise DataError(f"{path.name} cannot be read with these quotes", where=str(path), hint="check 'quote' under data") from None
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
            return together(_read(piece, header, convert, longest, options) for piece in pieces(content, PIECE))
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


def _read(content: bytes, header: Sequence[str], convert: pa_csv.ConvertOptions, longest: int, options: dict[str, Any]) -> pa.Table:
    """In one thread, which counts records, and takes half the time of two that wait for each other at every line break."""
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
        raise DataError(f"{path.name} has one line and no rows", where=str(path), hint="give a table with at least one record")
    try:
        line = first.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path.name} is not UTF-8 text", where=f"{path}:1", hint=ENCODE) from None
    if first.count(b'"') % 2:
        raise DataError("a quote in the header is not closed in its line", where=f"{path}:1", hint="name every column in one line")
    separator = said or _separator(line, content)
    return named_header(_names(line, separator, path), f"{path}:1"), separator


def _names(line: str, separator: str, path: Path) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:
        raise DataError("the header cannot be read", where=f"{path}:1", hint="give every column a short name") from None


def _separator(header: str, content: bytes) -> str:
    """The sign that stands equally often in the first lines, quoted values apart; else the most frequent of the header."""
    start = content[: 1 << 16].decode("utf-8", errors="replace")
    lines = re.split(r"\r\n|\r|\n", re.sub(r'"[^"]*"', "", start))[:_LOOKED_AT]
    lines = [line for line in (lines[:-1] if len(content) > 1 << 16 else lines) if line]
    bare = re.sub(r'"[^"]*"', "", header)
    even = [sign for sign in _SEPARATORS if bare.count(sign) and all(line.count(sign) == bare.count(sign) for line in lines)]
    return max(even or _SEPARATORS, key=bare.count)


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
        return DataError(f"a record is longer than {LONGEST_RECORD >> 20} MB", where=str(path), hint="check quotes and line ends")
    return DataError(f"{path.name} cannot be read as CSV", where=str(path), hint="check quotes and separators")


def _read_parquet(path: Path) -> pa.Table:
    table = _parquet(path)
    if table.num_rows == 0:
        raise DataError(f"{path.name} has no rows", where=str(path), hint="give a table with at least one record")
    return from_frame(table)


def _parquet(path: Path) -> pa.Table:
    """The file alone, whatever the folders above it are called; its cells are counted before they are unpacked."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            require_cells(file, path)
            return file.read()
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        raise DataError(f"{path.name} is no readable Parquet file", where=str(path), hint="write it again") from None


def require_cells(file: ParquetFile, path: Path) -> None:
    """Refuses a Parquet file with far more cells than its size can hold."""
    shape = file.metadata
    groups = [shape.row_group(place) for place in range(shape.num_row_groups)]
    unpacked = max(8 * shape.num_rows * shape.num_columns, sum(group.total_byte_size for group in groups))
    require_size(unpacked, path.stat().st_size, path)


def read_exact(path: Path) -> pa.Table:
    """A table as `write_csv` or Parquet kept it: a null is not the empty text, and there may be no rows at all."""
    if path.suffix == ".parquet":
        return _parquet(path)
    if not small_enough(path.stat().st_size):
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
    return _parsed(content, path, names, convert, longest=max(len(content) + 1, LONGEST_RECORD), ignore_empty_lines=False)
