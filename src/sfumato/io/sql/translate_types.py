r"""Which type of the other dialect keeps every value of a column as it is, and how the values are spelt there.

>>> import pyarrow as pa
>>> moment = ColumnFacts("born", "timestamp", "DATETIME")
>>> [to_postgres("people", moment, pa.chunked_array([texts])) for texts in (["2020-01-31 10:00:00"], ["2020-01-31"], ["soon"])]
['timestamp without time zone', 'date', 'text']
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.database import ColumnFacts
from sfumato.errors import DataError
from sfumato.io.sql.storage import MARKED

_BYTES = r"^\\x([0-9a-fA-F][0-9a-fA-F])*$"
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_MOMENT = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]) ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?$"
_HOUR = r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{0,5}[1-9])?$"
_UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_TRUTH = r"^[01]$"

_LADDERS = {
    "integer": (("bigint", _WHOLE), ("numeric", _NUMBER)),
    "decimal": (("numeric", _NUMBER),),
    "float": (("double precision", _NUMBER),),
    "boolean": (("boolean", _TRUTH), ("bigint", _WHOLE), ("numeric", _NUMBER)),
    "date": (("date", _DAY), ("timestamp without time zone", _MOMENT)),
    "timestamp": (("timestamp without time zone", _MOMENT), ("date", _DAY)),
    "time": (("time without time zone", _HOUR),),
    "uuid": (("uuid", _UUID),),
    "any": (("bigint", _WHOLE), ("numeric", _NUMBER)),
}
_SQLITE = {
    "integer": "INTEGER", "float": "REAL", "date": "DATE", "timestamp": "TIMESTAMP", "time": "TIME", "boolean": "BOOLEAN",
    "binary": "BLOB", "uuid": "UUID TEXT", "json": "JSON TEXT",
}  # fmt: skip


def _all(values: pa.ChunkedArray, pattern: str) -> bool:
    """Whether every value (nulls aside) looks so."""
    return bool(pc.all(pc.match_substring_regex(values, pattern), min_count=0).as_py())


def to_postgres(table: str, column: ColumnFacts, values: pa.ChunkedArray) -> str:
    """A PostgreSQL type for a SQLite column."""
    bytes_in = pc.sum(pc.match_substring_regex(values, _BYTES)).as_py() or 0
    if bytes_in or (column.kind == "binary" and values.null_count == len(values)):
        if bytes_in != len(values) - values.null_count:
            raise DataError(
                f"column '{column.name}' of table '{table}' holds both bytes and text, which PostgreSQL cannot keep in one column",
                hint="load into SQLite, or repair the column",
            )
        return "bytea"
    if pc.any(pc.match_substring(values, "\0")).as_py():
        raise DataError(
            f"column '{column.name}' of table '{table}' holds the character NUL, which PostgreSQL text cannot hold",
            hint="load into SQLite, or repair the column",
        )
    plain = unmarked(values)
    for native, pattern in _LADDERS.get(column.kind, ()):
        if _all(plain, pattern) and (native not in ("date", "timestamp without time zone") or _real_days(plain)):
            return native
    if column.kind == "json" and all(map(_is_json, plain.to_pylist())):
        return "json"
    return f"varchar({column.length})" if column.length and _fits(plain, column.length) else "text"


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


def to_sqlite(_table: str, column: ColumnFacts, values: pa.ChunkedArray) -> str:
    """A SQLite type for a PostgreSQL column; numeric columns keep at most fifteen digits exactly."""
    if column.kind == "decimal":
        digits = pc.utf8_length(pc.replace_substring_regex(values, r"[^0-9]|^[-0.]+", ""))
        exact = (pc.max(digits).as_py() or 0) <= 15 and _all(values, _NUMBER)
        return column.native.upper() if exact and column.native.startswith("numeric") else "NUMERIC" if exact else "TEXT"
    if column.kind == "text":
        return f"VARCHAR({column.length})" if column.length else "TEXT"
    return _SQLITE.get(column.kind, "TEXT")


def unmarked(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without the marks of SQLite's storage classes, which other servers do not know."""
    if not pc.any(pc.starts_with(values, "\\")).as_py():
        return values
    return pc.replace_substring_regex(values, r"^\\[irt]", "")


def respelt(values: pa.ChunkedArray, old: ColumnFacts, new: ColumnFacts, dialect: str) -> pa.ChunkedArray:
    """The values of a column as the other dialect reads them."""
    if dialect == "postgresql":
        return unmarked(values) if old.kind != "binary" else values
    if new.native == "BOOLEAN":
        return pc.if_else(pc.is_null(values), pa.scalar(None, pa.string()), pc.if_else(pc.equal(values, "true"), "1", "0"))
    if new.native == "BLOB":
        return values
    marked = pc.match_substring_regex(values, MARKED)
    return pc.if_else(marked, pc.binary_join_element_wise("\\t", values, ""), values)
