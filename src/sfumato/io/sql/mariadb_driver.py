r"""MariaDB and MySQL: a session, rows as text, rows into a table.

Sessions quote names as the others do (``ANSI_QUOTES``), take a backslash for a backslash, refuse what does not fit, and
speak UTC. A source is read in one consistent snapshot that cannot write. Bytes are spelt as PostgreSQL writes them
(``\x00ff``), bits as a number, moments without zeros at their end.

Departure: a statement that makes or drops a table ends the transaction around it. A table that the journal does not
name is dropped and made again, so that after a crash each table is absent, unfinished or complete, and never half
loaded and called complete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sfumato.core.errors import DataError
from sfumato.core.extras import require
from sfumato.data.database import ColumnFacts, TableFacts
from sfumato.io.sql.addresses import address_of, listed, quoted
from sfumato.io.sql.server_errors import connection_problem, plain_server_errors

_MODE = "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION"
_SPATIAL = (
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
)
_AT_ONCE, _LONGEST = 500, 1 << 20
"""Rows, and characters, of one statement."""


class MariaConnection:
    """The driver's connection with the one verb that the other drivers' connections have."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def execute(self, sql: str, values: Sequence[object] = ()) -> Any:
        cursor = self.raw.cursor()
        cursor.execute(sql, tuple(values) or None)
        return cursor

    def close(self) -> None:
        self.raw.close()


def _driver() -> Any:
    require("pymysql", "MariaDB and MySQL")
    import pymysql  # type: ignore[import-untyped]

    return pymysql


def open_mariadb(url: str, write: bool, namespace: str | None) -> MariaConnection:
    """A connection; without `write` the server refuses every change, and all tables are read as of one moment."""
    address = address_of(url)
    pymysql = _driver()
    if namespace:
        raise DataError(
            "MariaDB knows no schemas inside of a database", hint="name the database in the URL and leave 'schema' out"
        )
    if not address.database:
        raise DataError("the URL names no database", hint="write mariadb://user@host/name")
    named = address.translate_connect_args(username="user")
    query = {key: value if isinstance(value, str) else value[-1] for key, value in address.query.items()}
    secure = {key: query[key] for key in ("ssl_ca", "ssl_cert", "ssl_key", "unix_socket") if key in query}
    settings = {"charset": "utf8mb4", "autocommit": True, "sql_mode": _MODE, "connect_timeout": 10}
    try:
        raw = pymysql.connect(**(named | secure | settings | {"conv": pymysql.converters.encoders}))
    except pymysql.Error as error:
        raise connection_problem(error) from None
    link = MariaConnection(raw)
    with plain_server_errors("opening the database"):
        link.execute("SET time_zone = '+00:00'")
        link.execute("SET foreign_key_checks = 0" if write else "SET SESSION TRANSACTION READ ONLY")
        if not write:
            link.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    return link


def texts_of(link: MariaConnection, table: TableFacts, clause: str, at_once: int) -> Iterator[pa.Table]:
    """All rows of a table as text, some at a time."""
    columns = ", ".join(_text(column) for column in table.columns)
    query = f"SELECT {columns} FROM {quoted(table.name)}{clause}"
    with link.raw.cursor(_driver().cursors.SSCursor) as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(at_once):
            arrays = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]
            yield pa.table(arrays, names=list(table.names))


def _text(column: ColumnFacts) -> str:
    name = quoted(column.name)
    if column.kind == "binary" or column.kind in _SPATIAL:
        return f"CONCAT('\\x', LOWER(HEX({name})))"
    if column.kind == "bit":
        return f"CAST({name} + 0 AS CHAR)"
    if column.kind == "float":
        return f"CAST(CAST({name} AS DOUBLE) AS CHAR)"
    if column.kind in ("timestamp", "time"):
        spelt = f"CAST({name} AS CHAR)"
        return f"IF(LOCATE('.', {spelt}), TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {spelt})), {spelt})"
    return f"CAST({name} AS CHAR)"


def insert_texts(link: MariaConnection, table: TableFacts, batch: pa.RecordBatch) -> None:
    """Rows of text into a table, many in one statement."""
    marks = ", ".join(_mark(table.column(name)) for name in table.written)
    head = f"INSERT INTO {quoted(table.name)} ({listed(table.written)}) VALUES ".replace("%", "%%")
    columns = [_values(column, table.column(name)) for column, name in zip(batch.columns, table.written, strict=True)]
    held: list[object] = []
    rows = size = 0
    for row in zip(*columns, strict=True):
        held += row
        rows, size = rows + 1, size + sum(len(value) for value in row if isinstance(value, str))
        if rows == _AT_ONCE or size > _LONGEST:
            link.execute(head + ", ".join([f"({marks})"] * rows), held)
            held, rows, size = [], 0, 0
    if rows:
        link.execute(head + ", ".join([f"({marks})"] * rows), held)


def _mark(column: ColumnFacts) -> str:
    return "UNHEX(%s)" if column.kind == "binary" or column.kind in _SPATIAL else "%s"


def _values(column: pa.Array, facts: ColumnFacts) -> list[Any]:
    values = column.to_pylist()
    if facts.kind == "binary" or facts.kind in _SPATIAL:
        return [value and value[2:] for value in values]
    return [value and int(value) for value in values] if facts.kind == "bit" else values
