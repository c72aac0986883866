"""A large CSV file of our own, record after record onto the shelf; the file itself is only mapped.

Whatever is not plainly right is left to the reader of small files, who knows how to say what is wrong.
"""

from __future__ import annotations

import csv
import mmap
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.data.shelf import Shelf
from sfumato.errors import DataError
from sfumato.io.quoting import require_quotes

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
        return _parsed(path, names)
    except pa.ArrowException:
        return None


def _parsed(path: Path, names: list[str]) -> pa.Table:
    shelf = Shelf(names)
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
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
