"""Rows out of a database: each value is the text the server writes for it, a null is a null.

PostgreSQL sends CSV (`COPY … TO STDOUT`): an unquoted nothing is a null, a quoted one the empty text. SQLite sends values,
which are spelt by `storage`, DuckDB and MariaDB columns of text. All tables come from one snapshot.

Cost: some megabytes at a time; a table that is larger than its share of the memory goes to the shelf as it comes (`data/shelf.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.data.database import Database, Schema, TableFacts
from sfumato.data.shelf import Shelf
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.io.readers import reader_of
from sfumato.io.sql import duckdb_link, mariadb_link
from sfumato.io.sql.link import Session, connect
from sfumato.io.sql.names import quoted
from sfumato.io.sql.sampling import chosen, referred
from sfumato.io.sql.storage import affinity, text_column
from sfumato.io.sql.trouble import plainly

Progress = Callable[[float, str], None]
PIECE = 8 << 20
ROWS_AT_ONCE = 20_000


def read_rows(
    url: str,
    schema: Schema,
    *,
    progress: Progress | None = None,
    limit: int | None = None,
    shares: Mapping[str, float] | None = None,
) -> Database:
    """All rows of the tables of a schema (or the first `limit` of each, or a share of some), in one snapshot."""
    with connect(url, namespace=None if schema.others else schema.namespace or None) as link:
        if shares:
            return Database(schema, _sampled(link, schema, progress, shares))
        first = f" LIMIT {int(limit)}" if limit is not None else ""
        return Database(schema, dict(_tables(link, schema, progress, first)))


def read_back(target: str, schema: Schema, *, progress: Progress | None = None) -> Database:
    """What stands in a target, by the schema it declares itself (`read_schema(target)`)."""
    return read_rows(target, schema, progress=progress)


def _sampled(link: Session, schema: Schema, progress: Progress | None, shares: Mapping[str, float]) -> dict[str, Table]:
    """A share of some tables, those that refer to others first, so that what they refer to can be asked for."""
    read = _READERS[link.dialect]
    frames: dict[str, pa.Table] = {}
    ordered = [name for names in reversed(schema.generations()) for name in names]
    for number, name in enumerate(ordered):
        table = schema.table(name)
        if progress:
            progress(number / len(ordered), f"reading {name}")
        with plainly(f"reading table '{name}'"):
            frames[name] = read(link, table, chosen(link, table, shares[name]) if name in shares else "")
            if name in shares:
                more = [read(link, table, clause) for clause in referred(schema, table, frames, frames[name])]
                frames[name] = pa.concat_tables([frames[name], *more])
    return {table.name: Table(frames[table.name]) for table in schema.tables}


def _tables(link: Session, schema: Schema, progress: Progress | None, clause: str) -> Iterator[tuple[str, Table]]:
    read = _READERS[link.dialect]
    for number, table in enumerate(schema.tables):
        if progress:
            progress(number / len(schema.tables), f"reading {table.name}")
        with plainly(f"reading table '{table.name}'"):
            yield table.name, Table(read(link, table, clause))
    if progress:
        progress(1.0, "all tables read")


def _joined(pieces: Iterable[pa.Table], names: Sequence[str]) -> pa.Table:
    """All pieces as one table; a large one lies on the shelf."""
    shelf = Shelf(names)
    for piece in pieces:
        shelf.put(piece)
    return shelf.table()


def _postgres(link: Session, table: TableFacts, clause: str) -> pa.Table:
    columns = ", ".join(f"{quoted(c.name)}::text" if c.kind == "boolean" else quoted(c.name) for c in table.columns)
    divided = link.rows("SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass", link.relation(table.name))[0][0]
    rows_of = link.relation(table.name) if divided else f"ONLY {link.relation(table.name)}"
    query = f"SELECT {columns} FROM {rows_of}{clause}"
    return _joined((_parsed(piece, table) for piece in _pieces(link, f"COPY ({query}) TO STDOUT (FORMAT csv)")), table.names)


def _pieces(link: Session, statement: str) -> Iterator[bytearray]:
    """Whole rows, some megabytes at a time.

    The server sends one row per message; libpq itself is asked for them, since a driver's loop per row costs more than all else.
    """
    from psycopg import pq

    server = link.raw.pgconn
    _expect(server.exec_(statement.encode()), pq.ExecStatus.COPY_OUT)
    held = bytearray()
    while True:
        size, row = server.get_copy_data(0)
        if size <= 0:
            break
        held += row
        if len(held) >= PIECE:
            yield held
            held = bytearray()
    _expect(server.get_result(), pq.ExecStatus.COMMAND_OK)
    while server.get_result() is not None:
        pass
    if held:
        yield held


def _expect(result: Any, status: Any) -> None:
    from psycopg.errors import error_from_result

    if result.status != status:
        raise error_from_result(result)


def _parsed(piece: bytearray, table: TableFacts) -> pa.Table:
    names = list(table.names)
    try:
        return pa_csv.read_csv(
            reader_of(piece),
            pa_csv.ReadOptions(column_names=[str(i) for i in range(len(names))], use_threads=False, block_size=len(piece) + 1),
            pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            pa_csv.ConvertOptions(
                column_types={str(i): pa.string() for i in range(len(names))},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        ).rename_columns(names)
    except pa.ArrowInvalid:
        raise DataError(
            f"table '{table.name}' holds text that is not UTF-8", hint="repair its encoding in the source, or leave the table out"
        ) from None


def _sqlite(link: Session, table: TableFacts, clause: str) -> pa.Table:
    columns = ", ".join(quoted(column.name) for column in table.columns)
    query = f"SELECT {columns} FROM {quoted(table.name)}{clause}"
    kinds = [affinity(column.native) for column in table.columns]
    cursor = link.raw.execute(query)

    def pieces() -> Iterator[pa.Table]:
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            arrays = [text_column(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
            yield pa.table(arrays, names=list(table.names))

    return _joined(pieces(), table.names)


def _duckdb(link: Session, table: TableFacts, clause: str) -> pa.Table:
    return _joined(duckdb_link.texts_of(link.raw, link.relation(table.name), table, clause), table.names)


def _mariadb(link: Session, table: TableFacts, clause: str) -> pa.Table:
    return _joined(mariadb_link.texts_of(link.raw, table, clause, ROWS_AT_ONCE), table.names)


_READERS = {"postgresql": _postgres, "sqlite": _sqlite, "duckdb": _duckdb, "mariadb": _mariadb}
