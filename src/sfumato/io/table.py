"""``kind: table``: one table from a file, a frame or a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.data.formulas import escaped
from sfumato.data.related import related
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.io.base import LINE_BREAKS, LineBreaks, Source
from sfumato.io.contents import is_there
from sfumato.io.files import TextFile, is_text, read_file
from sfumato.io.frames import from_frame, require_values
from sfumato.io.settings import iso_days, without_thousands
from sfumato.io.sql import is_url, read_sql
from sfumato.registry import nearest


class TableSource(Source):
    """One table: a file (.csv, .csv.gz, .parquet, .xlsx, .sav, .dta, .sas7bdat), a frame, or a table of a database."""

    name: ClassVar[str] = "table"
    needs_key: ClassVar[bool] = True
    private: ClassVar[tuple[str, ...]] = ("source", "base", "table", "sheet", "separator", "encoding", "quote")

    people: str = Field(
        default="", description="a file with one line per person, beside a source with the rows of people; 'person:' names both"
    )
    table: str = Field(default="", description="which table, when the source is a database")
    line_breaks: LineBreaks = Field(default="refused", description=LINE_BREAKS)
    missing: tuple[str, ...] = Field(default=(), description="texts that mean a missing value, like NA; an empty cell always does")
    decimal_comma: tuple[str, ...] = Field(
        default=(), description="columns whose numbers have a decimal comma; published with a point"
    )

    thousands: tuple[str, ...] = Field(
        default=(), description="columns whose numbers have signs between groups of three digits; published without them"
    )
    date_format: dict[str, str] = Field(
        default_factory=dict, description="per column how days are written, like %d.%m.%Y; published as 2024-12-31"
    )
    separator: str = Field(default="", max_length=1, description="between the values of a text file; found when it is not said")
    encoding: str = Field(default="", description="of a text file when it is not UTF-8, like windows-1252")
    quote: Literal['"', "'"] = Field(default='"', description="the sign around values of a text file")
    sheet: str = Field(default="", description="of a workbook; the first one when it is not said")

    escape: Literal["none", "formulas"] = Field(
        default="none", description="formulas: texts that begin like one (=, +, -, @) are published with an apostrophe before them"
    )

    def read(self, data: Any = None) -> Table:
        if isinstance(data, Table):
            return data
        if isinstance(data, Mapping) and set(data) == {"people", "rows"}:
            return self._related(data["people"], data["rows"])
        if self.people:
            return self._related(self._people(), data)
        return self._one(data)

    def _related(self, people: Any, rows: Any) -> Table:
        """People and their rows as one table; where nothing ties rows, people without any have nothing to publish."""
        return related(self._one(people), self._one(rows), self.person, without_rows=self.linked)

    def _people(self) -> Path:
        path = self.path_of(self.people)
        if not is_there(path):
            hint = "give both tables: a policy.yaml that names them, or {'people': …, 'rows': …}"
            raise DataError("the table of people is not there", hint=hint)
        return path

    def _one(self, data: Any) -> Table:
        if data is None:
            data = self._declared()
        if isinstance(data, str) and is_url(data):
            return Table(self._settled(read_sql(data, self.table)))
        if isinstance(data, str | Path):
            path = Path(data)
            return Table(self._settled(self._file(path), counted=is_text(path)))
        return Table(self._settled(from_frame(data)))

    def _file(self, path: Path) -> pa.Table:
        written = TextFile(self.separator, self.encoding, self.quote)
        coded = not (self.missing or self.thousands or self.date_format or self.decimal_comma or self.escape != "none")
        return read_file(path, line_breaks=self.line_breaks == "allowed", written=written, sheet=self.sheet, coded=coded)

    def as_written(self, data: Any) -> Path | None:
        """The text file, when every value is what stands in it between separators."""
        named = isinstance(data, str | Path) and not is_url(str(data)) and Path(data).suffix == ".csv"
        changed = self.missing or self.thousands or self.date_format or self.decimal_comma or self.escape != "none"
        usual = self.encoding.lower() in ("", "utf-8") and self.quote == '"' and self.separator in {"", *",;\t|"}
        return Path(data) if named and usual and not changed else None

    def _declared(self) -> str | Path:
        if not self.source:
            raise DataError("the policy names no source", hint="add 'source:' under data, or give the data with --data")
        return self.source if is_url(self.source) else self.path()

    def _settled(self, table: pa.Table, *, counted: bool = False) -> pa.Table:
        """The table with its missing values and decimal points; `counted` lines need no second look."""
        if not counted:
            names = [name for name in self.published or table.column_names if name in table.column_names]
            require_values(table, names, line_breaks=self.line_breaks == "allowed")
        if self.missing:
            texts = pa.array(self.missing, pa.string())
            for name in table.column_names:
                table = _changed(table, name, lambda column: pc.if_else(pc.is_in(column, texts), None, column))
        for name in self.thousands:
            table = _changed(table, name, partial(without_thousands, comma=name in self.decimal_comma))
        for name, written in self.date_format.items():
            table = _changed(table, name, partial(iso_days, written=written, name=name))
        for name in self.decimal_comma:
            table = _changed(table, name, lambda column: pc.replace_substring(column, ",", "."))
        if self.escape == "formulas":
            for name in table.column_names:
                table = _changed(table, name, _escaped)
        return table

    def size(self) -> int | None:
        """Exact for Parquet; for CSV a guess from the file's size and its first lines."""
        if not self.source or is_url(self.source) or not is_there(self.path()):
            return None
        if self.path().suffix == ".parquet":
            return _count_rows(self.path())
        return _guess_rows(self.path())


def _changed(table: pa.Table, name: str, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    """The table with one column of text changed; other columns are what they are."""
    if name not in table.column_names:
        raise DataError(f"the data has no column '{name}'", hint=nearest(name, table.column_names))
    column = table.column(name)
    return table.set_column(table.column_names.index(name), name, change(column)) if pa.types.is_string(column.type) else table


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Every text that a spreadsheet would run, marked as a text."""
    if not len(column):
        return column
    coded = pc.dictionary_encode(column).combine_chunks()
    texts = [text and escaped(text) for text in coded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string()).take(coded.indices)])


def _count_rows(path: Path) -> int | None:
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, ValueError, pa.ArrowException):
        return None  # reading will say what is wrong


def _guess_rows(path: Path) -> int:
    factor = 6 if path.suffix == ".gz" else 1
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if path.suffix == ".gz":
        return path.stat().st_size * factor // 80
    lines = max(head.count(b"\n"), 1)
    return int(path.stat().st_size / (len(head) / lines))
