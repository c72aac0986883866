"""Tables in files: ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``; strict, and silent about what stands in them.

Every value of a CSV file is text. A file that cannot be read as what it claims to be is refused with the line number, never
with the content of the line.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sfumato.errors import DataError
from sfumato.io.frames import from_frame

_SEPARATORS = ",;\t|"


def read_file(path: Path) -> pa.Table:
    """The table in a file, chosen by its ending."""
    if not path.is_file():
        raise DataError(f"no such file: {path.name}", where=str(path), hint="paths in a policy are relative to the policy file")
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if ending in {"csv", "tsv", "txt"}:
        return read_csv(path)
    if ending in {"parquet", "pq"}:
        return _read_parquet(path)
    raise DataError(f"cannot tell the format of {path.name}", where=str(path), hint="use .csv, .csv.gz or .parquet")


def read_csv(path: Path) -> pa.Table:
    """Every column as text; refuses other encodings, ragged rows, repeated or empty headers and empty tables."""
    content = _bytes(path)
    header, separator = _header(content, path)
    bad: list[Any] = []

    def refuse(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        table = pa_csv.read_csv(
            io.BytesIO(content),
            read_options=pa_csv.ReadOptions(block_size=1 << 24),
            parse_options=pa_csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=True,
                ignore_empty_lines=len(header) > 1,
                invalid_row_handler=refuse,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False, check_utf8=True
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _unreadable(path, bad, error) from None
    if table.num_rows == 0:
        raise DataError(f"{path.name} has a header and no rows", where=str(path), hint="give a table with at least one record")
    return table


def _bytes(path: Path) -> bytes:
    try:
        content = gzip.decompress(path.read_bytes()) if path.name.lower().endswith(".gz") else path.read_bytes()
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read {path.name}: {type(error).__name__}", where=str(path)) from None
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:4096]:
        raise DataError(f"{path.name} is not UTF-8 text", where=str(path), hint="save it as UTF-8")
    return content.removeprefix(b"\xef\xbb\xbf")


def _header(content: bytes, path: Path) -> tuple[list[str], str]:
    first = content.split(b"\n", 1)[0].rstrip(b"\r")
    if not first.strip():
        raise DataError(f"{path.name} is empty", where=str(path), hint="the first line must name the columns")
    try:
        line = first.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path.name} is not UTF-8 text", where=f"{path}:1", hint="save it as UTF-8") from None
    separator = max(_SEPARATORS, key=line.count)
    header = next(csv.reader([line], delimiter=separator))
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise DataError(f"column '{repeated[0]}' stands twice in the header", where=f"{path}:1", hint="rename one of them")
    if "" in header:
        raise DataError("a column has no name", where=f"{path}:1", hint="name every column in the first line")
    return header, separator


def _unreadable(path: Path, bad: list[Any], error: Exception) -> DataError:
    if bad:
        row = bad[0]
        line = f":{row.number + 1}" if row.number else ""
        what = f"a row has {row.actual_columns} values where the header names {row.expected_columns}"
        return DataError(what, where=f"{path}{line}", hint="quote values that contain the separator")
    if "utf8" in str(error).lower().replace("-", ""):
        return DataError(f"{path.name} is not UTF-8 text", where=str(path), hint="save it as UTF-8")
    return DataError(f"{path.name} cannot be read as CSV", where=str(path), hint="check quotes and separators")


def _read_parquet(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid):
        raise DataError(f"{path.name} is no readable Parquet file", where=str(path)) from None
    if table.num_rows == 0:
        raise DataError(f"{path.name} has no rows", where=str(path), hint="give a table with at least one record")
    return from_frame(table)


def read_exact(path: Path) -> pa.Table:
    """A table as `write_csv` or Parquet kept it: a null is not the empty text, and there may be no rows at all."""
    if path.suffix == ".parquet":
        return pq.read_table(path)
    content = _bytes(path)
    names = next(csv.reader([content.split(b"\n", 1)[0].decode("utf-8")]))
    if not content.split(b"\n", 1)[1]:
        return pa.schema([(name, pa.string()) for name in names]).empty_table()
    try:
        return pa_csv.read_csv(
            io.BytesIO(content),
            read_options=pa_csv.ReadOptions(block_size=max(len(content) + 1, 1 << 20), use_threads=False),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise DataError(f"{path.name} cannot be read as CSV", where=str(path)) from None
