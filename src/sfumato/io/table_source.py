"""``kind: table``: one table from a file, a frame or a database.


Settings
--------
How a table is written: signs for missing values, decimal commas, thousands, days; found where only one reading is
possible.

Found here means suggested: `discover` writes it under ``data:`` with the reason, and nothing is changed unless a policy
says so.

>>> found = suggested(pa.table({"pay": ["1,5", "2,25", "NA"], "born": ["31.12.1999", "01.02.2000", ""]}))
>>> found.keys()
{'missing': ['NA'], 'decimal_comma': ['pay'], 'date_format': {'born': '%d.%m.%Y'}}
>>> suggested(pa.table({"n": ["1,234", "5,678"]})).doubts
("'n': a comma stands for thousands or for decimals; say 'thousands: [n]' or 'decimal_comma: [n]' under data",)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.core.errors import DataError
from sfumato.core.registry import nearest
from sfumato.data.table import Table, join_related_tables
from sfumato.data.text_values import escape_formula, parse_number, parse_timestamp
from sfumato.io.csv_format import CsvDialect
from sfumato.io.file_contents import is_there
from sfumato.io.frames import from_frame, require_values
from sfumato.io.source import LINE_BREAKS, LineBreaks, Source
from sfumato.io.sql import is_url, read_sql
from sfumato.io.table_files import FileLayout, is_text, layout_of, read_file, separator_of


class TableSource(Source):
    """One table: a file (.csv, .csv.gz, .parquet, .xlsx, .sav, .dta, .sas7bdat), a frame, or a table of a database."""

    name: ClassVar[str] = "table"
    reads: ClassVar[frozenset[str]] = Source.reads | {
        "columns.uniform",
        "columns", "columns.hierarchy", "columns.boundary", "columns.at_most", "columns.publish", "columns.domain",
        "columns.constant", "columns.persistent", "columns.dates", "columns.proposed", "protect.given", "protect.hide",
        "knows", "keep",
        "utility.suppress_at_most", "utility.minimize", "utility.importance", "ledger", "key", "person", "population",
        "series", "plugins",
    }  # fmt: skip
    needs_key: ClassVar[bool] = True
    private: ClassVar[tuple[str, ...]] = (
        "source",
        "base",
        "table",
        "sheet",
        "header_row",
        "separator",
        "encoding",
        "quote",
    )

    people: str = Field(
        default="",
        description="a file with one row per person, in addition to the source with their rows; needs 'person:'",
    )
    table: str = Field(default="", description="the table, if the source is a database")
    line_breaks: LineBreaks = Field(default="refused", description=LINE_BREAKS)
    missing: tuple[str, ...] = Field(
        default=(), description="texts that mean a missing value, like NA; an empty cell is always missing"
    )
    decimal_comma: tuple[str, ...] = Field(
        default=(), description="columns whose numbers have a decimal comma; published with a point"
    )

    thousands: tuple[str, ...] = Field(
        default=(), description="columns whose numbers have thousands separators; published without them"
    )
    date_format: dict[str, str] = Field(
        default_factory=dict, description="format of dates per column, like %d.%m.%Y; published as 2024-12-31"
    )
    separator: str = Field(default="", max_length=1, description="separator of a text file; detected by default")
    encoding: str = Field(default="", description="encoding of a text file, like windows-1252; detected by default")
    quote: Literal['"', "'"] = Field(default='"', description="quote character of a text file")
    sheet: str = Field(
        default="", description="sheet of a workbook; by default the first, or the largest one after a cover sheet"
    )
    header_row: int = Field(
        default=0, ge=0, description="the row that names the columns, counted from 1; titles above it are not read"
    )

    published_csv: Literal["as-source", "standard"] = Field(
        default="as-source",
        description="as-source: a release has the separator and the decimal commas of its source; standard: a comma"
        " and decimal points",
    )
    escape: Literal["none", "formulas"] = Field(
        default="none",
        description="formulas: texts that begin with =, +, - or @ are published with an apostrophe before them",
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
        return join_related_tables(self._one(people), self._one(rows), self.person, without_rows=self.linked)

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
        written = FileLayout(self.separator, self.encoding, self.quote, self.sheet, self.header_row)
        coded = not (self.missing or self.thousands or self.date_format or self.decimal_comma or self.escape != "none")
        return read_file(path, line_breaks=self.line_breaks == "allowed", written=written, coded=coded)

    def dialect(self) -> CsvDialect:
        if self.published_csv == "standard" or not self.source or is_url(self.source) or self.people:
            return CsvDialect()
        path = self.path()
        if not is_text(path) or not is_there(path):
            return CsvDialect()
        return CsvDialect(self.separator or separator_of(path, max(self.header_row - 1, 0)), self.decimal_comma)

    def unusual_layout(self, data: Any) -> dict[str, Any]:
        """Return the settings ``encoding``, ``sheet`` and ``header_row`` of a file that is not written as most are."""
        if not isinstance(data, str | Path) or is_url(str(data)):
            return {}
        found = layout_of(Path(data))
        settings = {"encoding": found.encoding, "sheet": found.sheet, "header_row": found.header_row}
        return {name: value for name, value in settings.items() if value and not getattr(self, name)}

    def as_written(self, data: Any) -> Path | None:
        """Return the text file, if every value is the text between separators."""
        named = isinstance(data, str | Path) and not is_url(str(data)) and Path(data).suffix == ".csv"
        changed = self.missing or self.thousands or self.date_format or self.decimal_comma or self.escape != "none"
        usual = (
            self.encoding.lower() in ("", "utf-8")
            and self.header_row < 2
            and self.quote == '"'
            and self.separator in {"", *",;\t|"}
        )
        return Path(data) if named and usual and not changed and not self.unusual_layout(data) else None

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
    return (
        table.set_column(table.column_names.index(name), name, change(column))
        if pa.types.is_string(column.type)
        else table
    )


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Every text that a spreadsheet would run, marked as a text."""
    if not len(column):
        return column
    coded = pc.dictionary_encode(column).combine_chunks()
    texts = [text and escape_formula(text) for text in coded.dictionary.to_pylist()]
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


# Settings
# --------


_ALWAYS = (
    "?",
    "#N/A",
    "#NULO#",
    "<NA>",
    "N/A",
    "n/a",
    "k.A.",
    "k. A.",
    "k.a.",
    "keine Angabe",
    "n.d.",
    "s.d.",
    "sin datos",
    "onbekend",
)
"""Texts that mean a missing value and nothing else, also among texts."""
NULL_WORDS = (
    "NA",
    "na",
    "NaN",
    "nan",
    "NULL",
    "null",
    "None",
    ".",
    "-",
    "--",
    "missing",
    "unbekannt",
    "inconnu",
    "nd",
    *_ALWAYS,
)
_COMMA = re.compile(r"[+-]?\d+,\d+")
_WHOLE = re.compile(r"[+-]?\d+")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POINTED = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?")
"""Thousands between points, decimals behind a comma."""
_DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})( \d{1,2}:\d{2}(?::\d{2})?)?")
_LOOKED_AT = 20_000
_BETWEEN = "' \u00a0\u202f"
"""Signs between thousands everywhere: an apostrophe and three kinds of blanks."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """Settings for ``data:`` and what could not be decided."""

    missing: tuple[str, ...] = ()
    decimal_comma: tuple[str, ...] = ()
    thousands: tuple[str, ...] = ()
    date_format: dict[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def keys(self) -> dict[str, Any]:
        """Return the options as a policy would state them."""
        listed = {"missing": self.missing, "decimal_comma": self.decimal_comma, "thousands": self.thousands}
        found: dict[str, Any] = {key: list(values) for key, values in listed.items() if values}
        return found | ({"date_format": self.date_format} if self.date_format else {})


def suggested(table: pa.Table) -> Suggested:
    """What the texts of a table suggest about how it is written."""
    words = _null_words(table)
    found: dict[str, list[str]] = {"decimal_comma": [], "thousands": []}
    days, doubts = {}, []
    for name in table.column_names:
        values = [value for value in _distinct(table.column(name)) if value not in words]
        kind = _commas(values)
        if kind == "both":
            found["decimal_comma"].append(name)
            found["thousands"].append(name)
        elif kind in found:
            found[kind].append(name)
        elif kind:
            meant = f"say 'thousands: [{name}]' or 'decimal_comma: [{name}]' under data"
            doubts.append(f"'{name}': a comma stands for thousands or for decimals; {meant}")
        written = _days(values)
        if written == "?":
            doubts.append(
                f"'{name}': days or months come first; say 'date_format: {{{name}: \"%d/%m/%Y\"}}' under data"
            )
        elif written:
            days[name] = written
    return Suggested(words, tuple(found["decimal_comma"]), tuple(found["thousands"]), days, tuple(doubts))


def read_as_suggested(data: Any, said: Mapping[str, Any]) -> tuple[Table, TableSource, Suggested]:
    """Return a table read as its file and its texts suggest, how it was read, and what was suggested beside what was
    said."""
    source = TableSource(**said)
    source = source.model_copy(update=source.unusual_layout(data))
    rows = source.read(data)
    found = suggested(rows.frame)
    wanted = {key: value for key, value in found.keys().items() if not getattr(source, key)}
    if wanted:
        source = TableSource(**{**source.model_dump(exclude_unset=True), **wanted})
        rows = source.read(data)
    return rows, source, found


def _distinct(column: pa.ChunkedArray) -> list[str]:
    if not pa.types.is_string(column.type):
        return []
    return [value for value in pc.unique(column).slice(0, _LOOKED_AT).to_pylist() if value]


def _null_words(table: pa.Table) -> tuple[str, ...]:
    """Words for nothing: those that stand among numbers or days, and signs that mean nothing else."""
    found: dict[str, None] = {}
    for name in table.column_names:
        values = _distinct(table.column(name))
        words = [value for value in values if value in NULL_WORDS]
        rest = [value for value in values if value not in NULL_WORDS]
        days = all(parse_timestamp(value) is not None or _DAY.fullmatch(value) for value in rest)
        plain = bool(rest) and (all(map(_quantity, rest)) or days)
        found |= dict.fromkeys(word for word in words if plain or word in _ALWAYS)
    return tuple(found)


def _quantity(value: str) -> bool:
    return parse_number(value) is not None or any(form.fullmatch(value) for form in (_COMMA, _GROUPED, _POINTED))


def _commas(values: Sequence[str]) -> str:
    """Return decimal_comma, thousands, both, doubt, or nothing.

    >>> _commas(["1,5", "10.026,09"]), _commas(["1,5", "2"]), _commas(["1,234.5"]), _commas(["1,234"]), _commas(["a,b"])
    ('both', 'decimal_comma', 'thousands', 'doubt', '')
    """
    with_comma = [value for value in values if "," in value]
    if not with_comma:
        return ""
    pointed = [value for value in values if _POINTED.fullmatch(value)]
    if pointed and all(
        _POINTED.fullmatch(value) or _COMMA.fullmatch(value) or _WHOLE.fullmatch(value) for value in values
    ):
        return "both"
    decimal = all(_COMMA.fullmatch(value) or _WHOLE.fullmatch(value) for value in values)
    grouped = all(_GROUPED.fullmatch(value) or parse_number(value) is not None for value in values)
    if decimal and grouped:
        return "doubt"
    return "decimal_comma" if decimal else "thousands" if grouped else ""


def _days(values: Sequence[str]) -> str:
    """The format of days that are not written year first; a question mark when day and month cannot be told apart.

    >>> _days(["8/27/17", "1/3/15"]), _days(["31.12.1999"]), _days(["1/2/2003"])
    ('%m/%d/%y', '%d.%m.%Y', '?')
    """
    found = [_DAY.fullmatch(value) for value in values]
    if not values or not all(found):
        return ""
    parts = [(int(match[1]), match[2], int(match[3])) for match in found if match]
    signs = {sign for _, sign, _ in parts}
    if len(signs) > 1 or any(max(one, two) > 31 or min(one, two) < 1 for one, _, two in parts):
        return ""
    clocks = {match[5].count(":") if match and match[5] else 0 for match in found}
    years = {len(match[4]) for match in found if match}
    if len(clocks) > 1 or len(years) > 1:
        return ""
    year = "%Y" if years == {4} else "%y"
    sign, clock = signs.pop(), ("", " %H:%M", " %H:%M:%S")[clocks.pop()]
    first, second = max(one for one, _, _ in parts) > 12, max(two for _, _, two in parts) > 12
    if first == second:
        return "" if first else f"%d{sign}%m{sign}{year}{clock}" if sign == "." else "?"
    return (f"%d{sign}%m{sign}{year}" if first else f"%m{sign}%d{sign}{year}") + clock


def without_thousands(column: pa.ChunkedArray, *, comma: bool) -> pa.ChunkedArray:
    """Numbers without the signs between their groups; a point is one where the comma is the decimal sign."""
    pattern = rf"(\d)[{'.' if comma else ','}{_BETWEEN}](\d{{3}})"
    for _ in range(2):  # neighbouring groups share a digit
        column = pc.replace_substring_regex(column, pattern, r"\1\2")
    return column


def iso_days(column: pa.ChunkedArray, written: str, name: str) -> pa.ChunkedArray:
    """Days as ISO 8601 writes them; one that is written otherwise is an error with its row."""
    coded = pc.dictionary_encode(column).combine_chunks()
    days: list[str | None] = []
    for code, value in enumerate(coded.dictionary.to_pylist()):
        try:
            found = datetime.strptime(value, written) if value else None
        except ValueError:
            row = pc.index(coded.indices, pa.scalar(code, coded.indices.type)).as_py() + 1
            raise DataError(
                f"row {row} of column '{name}' is no day written as {written}", hint="see 'date_format' under data"
            ) from None
        clock = any(sign in written for sign in ("%H", "%I", "%M", "%S"))
        days.append(None if found is None else found.isoformat(" ", "seconds") if clock else found.date().isoformat())
    return pa.chunked_array([pa.array(days, pa.string()).take(coded.indices)])
