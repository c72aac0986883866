r"""Which type of another dialect keeps every value of a column as it is, and how the values are spelt there.

>>> import pyarrow as pa
>>> moment = ColumnFacts("born", "timestamp", "DATETIME")
>>> [to_postgres("people", moment, pa.chunked_array([texts])) for texts in (["2020-01-31 10:00:00"], ["2020-01-31"], ["soon"])]
['timestamp without time zone', 'date', 'text']
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.database import ColumnFacts
from sfumato.errors import DataError
from sfumato.io.sql.names import literal
from sfumato.io.sql.storage import MARKED

Ladders = Mapping[str, tuple[tuple[str, str], ...]]

_BYTES = r"^\\x([0-9a-fA-F][0-9a-fA-F])*$"
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_MOMENT = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]) ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?$"
_HOUR = r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?$"
_UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_TRUTH = r"^([01]|true|false)$"

_ZONED = _MOMENT[:-1] + r"\+00$"
_HUGE = r"^-?[0-9]{1,38}$"
_DOUBLE = f"{_NUMBER}|^(NaN|-?Infinity)$"

_LADDERS = {
    "integer": (("bigint", _WHOLE), ("numeric", _NUMBER)),
    "decimal": (("numeric", _NUMBER),),
    "float": (("double precision", _DOUBLE),),
    "boolean": (("boolean", _TRUTH), ("bigint", _WHOLE), ("numeric", _NUMBER)),
    "date": (("date", _DAY), ("timestamp without time zone", _MOMENT)),
    "timestamp": (("timestamp without time zone", _MOMENT), ("date", _DAY), ("timestamp with time zone", _ZONED)),
    "time": (("time without time zone", _HOUR),),
    "uuid": (("uuid", _UUID),),
    "any": (("bigint", _WHOLE), ("numeric", _NUMBER)),
}
_DUCKDB = {
    "integer": (("BIGINT", _WHOLE), ("HUGEINT", _HUGE)),
    "float": (("DOUBLE", _DOUBLE),),
    "boolean": (("BOOLEAN", _TRUTH), ("BIGINT", _WHOLE)),
    "date": (("DATE", _DAY), ("TIMESTAMP", _MOMENT)),
    "timestamp": (("TIMESTAMP", _MOMENT), ("DATE", _DAY), ("TIMESTAMP WITH TIME ZONE", _ZONED)),
    "time": (("TIME", _HOUR),),
    "uuid": (("UUID", _UUID),),
    "any": (("BIGINT", _WHOLE),),
}
_MARIADB = {
    "integer": (("bigint", _WHOLE), ("decimal(65,0)", r"^-?[0-9]{1,65}$")),
    "float": (("double", _NUMBER),),
    "boolean": (("tinyint(1)", _TRUTH), ("bigint", _WHOLE)),
    "date": (("date", _DAY), ("datetime(6)", _MOMENT)),
    "timestamp": (("datetime(6)", _MOMENT), ("date", _DAY)),
    "time": (("time(6)", _HOUR),),
    "any": (("bigint", _WHOLE),),
}
_DAYS = ("datetime(6)", "date", "timestamp without time zone", "timestamp with time zone")
_SQLITE = {
    "integer": "INTEGER", "float": "REAL", "date": "DATE", "timestamp": "TIMESTAMP", "time": "TIME", "boolean": "BOOLEAN",
    "binary": "BLOB", "uuid": "UUID TEXT", "json": "JSON TEXT",
}  # fmt: skip


def _all(values: pa.ChunkedArray, pattern: str) -> bool:
    """Whether every value (nulls aside) looks so."""
    return bool(pc.all(pc.match_substring_regex(values, pattern), min_count=0).as_py())


def _climbed(ladders: Ladders, column: ColumnFacts, values: pa.ChunkedArray) -> str:
    """The first type of a kind's ladder that holds every value, or nothing."""
    for native, pattern in ladders.get(column.kind, ()):
        if _all(values, pattern) and (native.lower() not in _DAYS or _real_days(values)):
            return native
    return ""


def to_postgres(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str = "sqlite") -> str:
    """A PostgreSQL type for a column of another dialect."""
    if _is_binary(table, column, values, source, "PostgreSQL"):
        return "bytea"
    if pc.any(pc.match_substring(values, "\0")).as_py():
        raise DataError(
            f"column '{column.name}' of table '{table}' holds the character NUL, which PostgreSQL text cannot hold",
            hint="load into SQLite, or repair the column",
        )
    plain = unmarked(values) if source == "sqlite" else values
    found = _climbed(_LADDERS, column, plain)
    if not found and column.kind == "json" and all(map(_is_json, plain.to_pylist())):
        return "json"
    return found or (f"varchar({column.length})" if column.length and _fits(plain, column.length) else "text")


def _is_binary(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str, target: str) -> bool:
    """Whether a column holds bytes; SQLite's may hold anything."""
    if source != "sqlite":
        return column.kind == "binary"
    bytes_in = pc.sum(pc.match_substring_regex(values, _BYTES)).as_py() or 0
    if bytes_in not in (0, len(values) - values.null_count):
        raise DataError(
            f"column '{column.name}' of table '{table}' holds both bytes and text, which {target} cannot keep in one column",
            hint="load into SQLite, or repair the column",
        )
    return bool(bytes_in) or (column.kind == "binary" and values.null_count == len(values))


def to_duckdb(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str) -> str:
    """A DuckDB type for a column of another dialect."""
    if _is_binary(table, column, values, source, "DuckDB"):
        return "BLOB"
    plain = unmarked(values) if source == "sqlite" else values
    if column.kind == "enum":
        return f"ENUM({', '.join(map(literal, column.choices))})"
    if column.kind == "decimal":
        return _decimal(column, plain, "DECIMAL", 38) or "VARCHAR"
    if column.kind == "json":
        return "JSON" if all(map(_is_json, plain.to_pylist())) else "VARCHAR"
    return _climbed(_DUCKDB, column, plain) or "VARCHAR"


def to_mariadb(table: str, column: ColumnFacts, values: pa.ChunkedArray, source: str) -> str:
    """A MariaDB type for a column of another dialect; short texts can be keys."""
    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    if _is_binary(table, column, values, source, "MariaDB"):
        return "varbinary(255)" if longest <= 512 else "longblob"
    plain = unmarked(values) if source == "sqlite" else values
    if column.kind == "enum":
        return f"enum({', '.join(map(literal, column.choices))})"
    if column.kind == "json" and all(map(_is_json, plain.to_pylist())):
        return "json"
    found = _decimal(column, plain, "decimal", 65) if column.kind == "decimal" else _climbed(_MARIADB, column, plain)
    short = f"varchar({max(column.length or 190, longest)})"
    return found or (short if longest <= 190 and (column.length or 0) <= 500 else "longtext")


def _decimal(column: ColumnFacts, values: pa.ChunkedArray, word: str, most: int) -> str:
    """A decimal type of at most so many digits that holds every value, or nothing; declared digits where there are any."""
    if not _all(values, r"^-?[0-9]+(\.[0-9]+)?$"):
        return ""
    places = pc.max(pc.utf8_length(pc.replace_substring_regex(values, r"^[^.]*\.?", ""))).as_py() or 0
    whole = pc.max(pc.utf8_length(pc.replace_substring_regex(values, r"^-?0*|\..*$", ""))).as_py() or 0
    said = re.search(r"\((\d+)\s*(?:,\s*(\d+)\s*)?\)", column.native)
    if said and whole <= int(said[1]) - int(said[2] or 0) and places <= int(said[2] or 0) and int(said[1]) <= most:
        return f"{word}({said[1]},{said[2] or 0})"
    return f"{word}({most},{places})" if whole + places <= most else ""


def _real_days(values: pa.ChunkedArray) -> bool:
    try:
        pc.cast(pc.utf8_slice_codeunits(values, 0, 10), pa.date32())
    except pa.ArrowInvalid:
        return False
    return not pc.any(pc.starts_with(values, "0000")).as_py()


def _fits(values: pa.ChunkedArray, length: int) -> bool:
    return (pc.max(pc.utf8_length(values)).as_py() or 0) <= length


def _is_json(text: str | None) -> bool:
    try:
        json.loads(text or "null")
    except ValueError:
        return False
    return True


def to_sqlite(_table: str, column: ColumnFacts, values: pa.ChunkedArray, _source: str = "") -> str:
    """A SQLite type for a column of another dialect; numeric columns keep at most fifteen digits exactly."""
    if column.kind == "decimal":
        digits = pc.utf8_length(pc.replace_substring_regex(values, r"[^0-9]|^[-0.]+", ""))
        exact = (pc.max(digits).as_py() or 0) <= 15 and _all(values, _NUMBER)
        return (
            column.native.upper()
            if exact and column.native.lower().startswith(("numeric", "decimal"))
            else "NUMERIC"
            if exact
            else "TEXT"
        )
    if column.kind == "text":
        return f"VARCHAR({column.length})" if column.length else "TEXT"
    return _SQLITE.get(column.kind, "TEXT")


def unmarked(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without the marks of SQLite's storage classes, which other servers do not know."""
    if not pc.any(pc.starts_with(values, "\\")).as_py():
        return values
    return pc.replace_substring_regex(values, r"^\\[irt]", "")


CHOOSE: Mapping[str, Callable[[str, ColumnFacts, pa.ChunkedArray, str], str]] = {
    "postgresql": to_postgres,
    "sqlite": to_sqlite,
    "duckdb": to_duckdb,
    "mariadb": to_mariadb,
}
"""How each dialect chooses a type."""


def respelt(values: pa.ChunkedArray, old: ColumnFacts, new: ColumnFacts, source: str, dialect: str) -> pa.ChunkedArray:
    """The values of a column of one dialect as another reads them."""
    if new.native == "tinyint(1)":
        return pc.replace_substring_regex(pc.replace_substring_regex(values, "^true$", "1"), "^false$", "0")
    if dialect != "sqlite":
        return unmarked(values) if source == "sqlite" and old.kind != "binary" else values
    if new.native == "BOOLEAN":
        true = pc.is_in(values, value_set=pa.array(["true", "1"]))
        return pc.if_else(pc.is_null(values), pa.scalar(None, pa.string()), pc.if_else(true, "1", "0"))
    if new.native == "BLOB":
        return values
    marked = pc.match_substring_regex(values, MARKED)
    return pc.if_else(marked, pc.binary_join_element_wise("\\t", values, ""), values)
