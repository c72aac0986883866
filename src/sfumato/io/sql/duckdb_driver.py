"""DuckDB: opening a file, its tables as columns of text, and rows into it.

A file is opened without access to anything beside it (no other files, no extensions from the network). Values are spelt
as DuckDB casts them to text, bytes as PostgreSQL writes them (``\\x00ff``), so that both directions are the server's
own casts.

DuckDB checks a foreign key row by row: tables are loaded after those they refer to, and rows of a table that refers to
itself generation by generation (`in_generations`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sfumato.core.errors import DataError
from sfumato.core.extras import require
from sfumato.data.database import ColumnFacts, ForeignKey, TableFacts
from sfumato.io.sql.addresses import file_to_open, listed, literal, quoted
from sfumato.io.sql.server_errors import plain_server_errors

_SETTINGS: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_SCHEMAS = """
SELECT schema_name FROM duckdb_schemas()
WHERE database_name = current_database() AND NOT internal AND schema_name <> current_schema()"""
_TABLES = "SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database()"
_ODD = "WHEN 'nan' THEN 'NaN' WHEN 'inf' THEN 'Infinity' WHEN '-inf' THEN '-Infinity'"
_ARRIVING = "_sfumato_arriving"
_AT_ONCE = 1 << 16


def open_duckdb(url: str, write: bool, namespace: str | None) -> Any:
    """A connection; without `write` the file is opened for reading only, in one transaction."""
    path = file_to_open(url, write)
    require("duckdb", "DuckDB")
    import duckdb

    with plain_server_errors("opening the database"):
        raw = duckdb.connect(str(path), read_only=not write, config=_SETTINGS)
        try:
            raw.execute("SET TimeZone = 'UTC'")
            if namespace:
                raw.execute(f"SET schema = {literal(namespace)}")
            if not write:
                raw.execute("BEGIN")
        except BaseException:
            raw.close()
            raise
    return raw


def trial() -> Any:
    """An empty database in memory."""
    import duckdb

    return duckdb.connect(":memory:", config=_SETTINGS)


def duckdb_schemas(raw: Any) -> set[str]:
    """Schemas beside the current one."""
    return {str(row[0]) for row in raw.execute(_SCHEMAS).fetchall()}


def is_empty(raw: Any) -> bool:
    """Whether the file holds no table."""
    with contextlib.suppress(Exception):
        return not raw.execute(_TABLES).fetchall()[0][0]
    return False


def texts_of(raw: Any, relation: str, table: TableFacts, clause: str) -> Iterator[pa.Table]:
    """The rows of a table as text, some at a time."""
    columns = ", ".join(f"{_text(column)} AS {quoted(column.name)}" for column in table.columns)
    query = f"SELECT {columns} FROM {relation}{clause}"
    shape = pa.schema([(name, pa.string()) for name in table.names])
    found = raw.sql(query)
    for batch in (found.to_arrow_reader if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader)(_AT_ONCE):
        yield pa.Table.from_batches([batch]).rename_columns(list(table.names)).cast(shape)


def _text(column: ColumnFacts) -> str:
    name = quoted(column.name)
    if column.kind == "binary":
        return f"'\\x' || lower(hex({name}))"
    plain = f"CAST({name} AS VARCHAR)"
    return f"CASE {plain} {_ODD} ELSE {plain} END" if column.kind == "float" else plain


def insert_texts(raw: Any, relation: str, table: TableFacts, batch: pa.RecordBatch) -> None:
    """Rows of text into a table."""
    values = ", ".join(_value(table.column(name)) for name in table.written)
    raw.register(_ARRIVING, pa.Table.from_batches([batch]))
    try:
        raw.execute(f"INSERT INTO {relation} ({listed(table.written)}) SELECT {values} FROM {_ARRIVING}")
    finally:
        with contextlib.suppress(Exception):  # the transaction has failed already; report why it failed
            raw.unregister(_ARRIVING)


def _value(column: ColumnFacts) -> str:
    name = quoted(column.name)
    return f"from_hex(substr({name}, 3))" if column.kind == "binary" else f"CAST({name} AS {column.native})"


def in_generations(frame: pa.Table, keys: Sequence[ForeignKey], table: str) -> pa.Table:
    """The rows of a table that refers to itself, one chunk per generation, what is referred to first; rows keep their
    order else.

    Raises `DataError` when rows refer to each other in a circle.
    """
    below: list[list[int]] = [[] for _ in range(frame.num_rows)]
    waiting = [0] * frame.num_rows
    for key in keys:
        places = {row: at for at, row in enumerate(_rows(frame, key.parent_columns))}
        for at, row in enumerate(_rows(frame, key.columns)):
            if None not in row and row in places:
                below[places[row]].append(at)
                waiting[at] += 1
    pieces, placed = [], 0
    current = [at for at, count in enumerate(waiting) if not count]
    while current:
        pieces.append(frame.take(pa.array(sorted(current), pa.int64())))
        placed += len(current)
        following = []
        for at in (one for parent in current for one in below[parent]):
            waiting[at] -= 1
            if not waiting[at]:
                following.append(at)
        current = following
    if placed < frame.num_rows:
        raise DataError(
            f"{frame.num_rows - placed} rows of table '{table}' refer to themselves or to each other in a circle",
            hint="DuckDB's foreign keys do not allow that; load into another kind of database",
        )
    return pa.concat_tables(pieces) if pieces else frame


def _rows(frame: pa.Table, names: Sequence[str]) -> list[tuple[str | None, ...]]:
    return list(zip(*(frame.column(name).to_pylist() for name in names), strict=True))
