"""Rows out of a database: each value is the text the server writes for it, a null is a null.

PostgreSQL sends CSV (`COPY … TO STDOUT`): an unquoted nothing is a null, a quoted one the empty text. SQLite sends
values, which are spelt by `storage`, DuckDB and MariaDB columns of text. All tables come from one snapshot.

Cost: some megabytes at a time; a table that is larger than its share of the memory goes to the shelf as it comes
(`data/memory_map.py`).


Sampling
--------
Large tables by a sample of their rows, and what a sample cannot prove asked of the server: how many rows break a rule.

Of a table that others refer to, the rows that theirs refer to are in the sample, too, so that every sampled row finds
the one it refers to; where that cannot be asked by one column (composite keys, circles) it is read whole. The row with
the largest key is in every sample, so that the size of the key is known.


Single
------
One table of a database, through SQLAlchemy. The source is only read.

Any dialect that SQLAlchemy finds a driver for will do here: one table needs no more than its columns and its rows.
Whole databases need much that `sqlalchemy.inspect` does not see or not inside our snapshot (sequences, domains, keys
that were never validated, conditions as they are written), and ask the servers themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sfumato.core.errors import DataError
from sfumato.core.extras import require
from sfumato.core.limits import memory_limit
from sfumato.data.database import Database, Schema, TableFacts
from sfumato.data.memory_map import MappedTableBuilder
from sfumato.data.table import Table
from sfumato.io.file_contents import reader_of, unpacking
from sfumato.io.sql import duckdb_driver, mariadb_driver
from sfumato.io.sql.addresses import address_of, literal, quoted
from sfumato.io.sql.connection import Session, connect
from sfumato.io.sql.server_errors import connection_problem, plain_server_errors
from sfumato.io.sql.sqlite_storage import affinity, text_column

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
    """Return the rows of a target by the schema that it declares itself (`read_schema(target)`)."""
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
        with plain_server_errors(f"reading table '{name}'"):
            frames[name] = read(link, table, sample_condition(link, table, shares[name]) if name in shares else "")
            if name in shares:
                more = [
                    read(link, table, clause) for clause in referenced_conditions(schema, table, frames, frames[name])
                ]
                frames[name] = pa.concat_tables([frames[name], *more])
    return {table.name: Table(frames[table.name]) for table in schema.tables}


def _tables(link: Session, schema: Schema, progress: Progress | None, clause: str) -> Iterator[tuple[str, Table]]:
    read = _READERS[link.dialect]
    for number, table in enumerate(schema.tables):
        if progress:
            progress(number / len(schema.tables), f"reading {table.name}")
        with plain_server_errors(f"reading table '{table.name}'"):
            yield table.name, Table(read(link, table, clause))
    if progress:
        progress(1.0, "all tables read")


def _joined(pieces: Iterable[pa.Table], names: Sequence[str]) -> pa.Table:
    """All pieces as one table; a large one lies on the shelf."""
    shelf = MappedTableBuilder(names)
    for piece in pieces:
        shelf.put(piece)
    return shelf.table()


def _postgres(link: Session, table: TableFacts, clause: str) -> pa.Table:
    columns = ", ".join(f"{quoted(c.name)}::text" if c.kind == "boolean" else quoted(c.name) for c in table.columns)
    query = f"SELECT {columns} FROM {link.rows_of(table.name)}{clause}"
    return _joined(
        (_parsed(piece, table) for piece in _pieces(link, f"COPY ({query}) TO STDOUT (FORMAT csv)")), table.names
    )


def _pieces(link: Session, statement: str) -> Iterator[bytearray]:
    """Whole rows, some megabytes at a time.

    The server sends one row per message; libpq itself is asked for them, since a driver's loop per row costs more than
    all else."""
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
            pa_csv.ReadOptions(
                column_names=[str(i) for i in range(len(names))], use_threads=False, block_size=len(piece) + 1
            ),
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
            f"table '{table.name}' holds text that is not UTF-8",
            hint="repair its encoding in the source, or leave the table out",
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

    file = Path(link.raw.execute("PRAGMA database_list").fetchone()[2])
    with unpacking(file), memory_limit(file.stat().st_size):
        return _joined(pieces(), table.names)


def _duckdb(link: Session, table: TableFacts, clause: str) -> pa.Table:
    return _joined(duckdb_driver.texts_of(link.raw, link.relation(table.name), table, clause), table.names)


def _mariadb(link: Session, table: TableFacts, clause: str) -> pa.Table:
    return _joined(mariadb_driver.texts_of(link.raw, table, clause, ROWS_AT_ONCE), table.names)


_READERS = {"postgresql": _postgres, "sqlite": _sqlite, "duckdb": _duckdb, "mariadb": _mariadb}


# Sampling
# --------


_LISTED = 2_000
"""Number of values in one query."""
_CHANCE = {
    "postgresql": "random() < {0:.9f}",
    "duckdb": "random() < {0:.9f}",
    "mariadb": "rand() < {0:.9f}",
    "sqlite": "abs(random() % 1000000000) < {0:.9f} * 1000000000",
}


def sampled_tables(url: str, schema: Schema, most: int) -> dict[str, float]:
    """Tables with more rows than that, and the share of their rows that makes about as many."""
    alone = {names[0] for names in schema.generations() if len(names) == 1}
    found = {}
    with connect(url, namespace=None if schema.others else schema.namespace or None) as link:
        for table in schema.tables:
            keys = {key.parent_columns for key in schema.foreign_keys if key.parent == table.name}
            own = any(key.parent == table.name for key in table.foreign_keys)
            if own or table.name not in alone or len(keys) > 1 or any(len(key) > 1 for key in keys):
                continue
            with plain_server_errors(f"counting table '{table.name}'"):
                count = int(link.rows(f"SELECT count(*) FROM {link.rows_of(table.name)}")[0][0])
            if count > most:
                found[table.name] = most / count
    return found


def sample_condition(link: Session, table: TableFacts, share: float) -> str:
    """Return the condition that selects a random sample of rows, and the row with the largest key."""
    largest = ""
    if len(table.primary_key) == 1 and table.column(table.primary_key[0]).kind == "integer":
        key = quoted(table.primary_key[0])
        largest = f" OR {key} = (SELECT max({key}) FROM {link.rows_of(table.name)})"
    return f" WHERE {_CHANCE[link.dialect].format(share)}{largest}"


def referenced_conditions(
    schema: Schema, table: TableFacts, frames: Mapping[str, pa.Table], there: pa.Table
) -> Iterator[str]:
    """Conditions for the rows of a table that the rows read so far refer to and that are not there yet, some at a
    time."""
    keys = [key for key in schema.foreign_keys if key.parent == table.name and key.table in frames]
    if not keys:
        return
    column = keys[0].parent_columns[0]
    cells = [chunk for key in keys for chunk in frames[key.table].column(key.columns[0]).chunks]
    wanted = pc.drop_null(pc.unique(pa.chunked_array(cells, pa.string())))
    known = pa.array(there.column(column).to_pylist(), pa.string())
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=known))).to_pylist()
    spell = str if table.column(column).kind == "integer" else literal
    for start in range(0, len(missing), _LISTED):
        yield f" WHERE {quoted(column)} IN ({', '.join(map(spell, missing[start : start + _LISTED]))})"


class RowCounter:
    """Counts, in the server, what speaks against a rule."""

    def __init__(self, link: Session) -> None:
        self.link = link

    def broken(self, table: str, condition: str) -> int:
        """Rows in which a condition is false; where it is unknown it is not broken."""
        return self._one(f"SELECT count(*) FROM {self.link.rows_of(table)} WHERE NOT ({condition})")

    def repeated(self, table: str, columns: Sequence[str]) -> int:
        """Return combinations that occur in several rows; a missing value is a value."""
        names = ", ".join(map(quoted, columns))
        inner = f"SELECT 1 AS one FROM {self.link.rows_of(table)} GROUP BY {names} HAVING count(*) > 1"
        return self._one(f"SELECT count(*) FROM ({inner}) r")

    def undetermined(self, table: str, left: Sequence[str], right: str) -> int:
        """Combinations that go with several values; a missing value is a value."""
        names, value = ", ".join(map(quoted, left)), quoted(right)
        several = f"count(DISTINCT {value}) + CASE WHEN count(*) > count({value}) THEN 1 ELSE 0 END > 1"
        inner = f"SELECT 1 AS one FROM {self.link.rows_of(table)} GROUP BY {names} HAVING {several}"
        return self._one(f"SELECT count(*) FROM ({inner}) r")

    def outside(self, table: str, column: str, values: Sequence[str]) -> int:
        """Rows whose text is none of these; what is missing is not counted."""
        text = f"CAST({quoted(column)} AS {self._text})"
        listed = ", ".join(map(literal, values))
        return self._one(
            f"SELECT count(*) FROM {self.link.rows_of(table)} WHERE {text} <> '' AND {text} NOT IN ({listed})"
        )

    def dangling(self, child: str, columns: Mapping[str, str], parent: str) -> int:
        """Rows that refer to nothing; `columns` maps the child's columns to the parent's."""
        same = " AND ".join(f"p.{quoted(there)} = c.{quoted(here)}" for here, there in columns.items())
        full = " AND ".join(self._refers(here) for here in columns)
        above = f"SELECT 1 FROM {self.link.rows_of(parent)} p WHERE {same}"
        return self._one(f"SELECT count(*) FROM {self.link.rows_of(child)} c WHERE {full} AND NOT EXISTS ({above})")

    def joined(self, child: str, columns: Mapping[str, str], parent: str, *, as_text: bool = False) -> int:
        """Rows that find the row they refer to; `as_text` compares columns of different types."""
        spelt = f"CAST({{}} AS {self._text})" if as_text else "{}"
        pairs = [
            (spelt.format(f"p.{quoted(there)}"), spelt.format(f"c.{quoted(here)}")) for here, there in columns.items()
        ]
        above = (
            f"SELECT 1 FROM {self.link.rows_of(parent)} p WHERE {' AND '.join(f'{one} = {two}' for one, two in pairs)}"
        )
        full = " AND ".join(self._refers(here) for here in columns)
        return self._one(f"SELECT count(*) FROM {self.link.rows_of(child)} c WHERE {full} AND EXISTS ({above})")

    @property
    def _text(self) -> str:
        return "char" if self.link.dialect == "mariadb" else "text"

    def _refers(self, column: str) -> str:
        """Return the condition that a row refers to a parent; an empty text is no reference."""
        return f"CAST(c.{quoted(column)} AS {self._text}) <> ''"

    def _one(self, query: str) -> int:
        with plain_server_errors("counting rows"):
            return int(self.link.rows(query)[0][0])


# Single
# ------


_URL = re.compile(r"^[a-z][a-z0-9+_]*://", re.IGNORECASE)


def is_url(source: str) -> bool:
    """Whether the text is an SQLAlchemy URL rather than a path.

    >>> is_url("sqlite:///people.db"), is_url("people.csv")
    (True, False)
    """
    return bool(_URL.match(source))


def read_sql(url: str, table: str) -> pa.Table:
    """All rows of one table; the message of an error never carries the URL, which may hold a password."""
    require("sqlalchemy", "reading databases")
    import sqlalchemy as sa

    if not table:
        raise DataError("an SQL source needs the name of a table", hint="add 'table: NAME' under data")
    try:
        engine = sa.create_engine(_with_driver(url), poolclass=sa.NullPool)
        with engine.connect() as connection:
            columns = [column["name"] for column in sa.inspect(connection).get_columns(table)]
            query: Any = sa.select(*(sa.column(name) for name in columns)).select_from(sa.table(table))
            with _bounded(engine.url):
                rows = connection.execute(query).fetchall()
    except sa.exc.NoSuchTableError:
        raise DataError(f"the database has no table '{table}'", hint="check the name under data.table") from None
    except sa.exc.OperationalError as error:
        raise connection_problem(error) from None
    except (sa.exc.SQLAlchemyError, ImportError) as error:
        raise DataError(
            f"cannot read the database: {type(error).__name__}", hint="check the URL and the rights"
        ) from None
    if not rows:
        raise DataError(f"table '{table}' has no rows", hint="give a table with at least one record")
    return _columns(columns, list(zip(*rows, strict=True)))


@contextmanager
def _bounded(address: Any) -> Iterator[None]:
    """Limit the memory of the block if the database is a file, which may come from any person."""
    file = Path(address.database or "") if address.get_backend_name() == "sqlite" else Path()
    if not file.is_file():
        yield
        return
    with unpacking(file), memory_limit(file.stat().st_size):
        yield


def _with_driver(url: str) -> Any:
    """PostgreSQL through the driver we bring; a SQLite file that is not there is not made."""
    address = address_of(url)
    if address.get_backend_name() in ("postgresql", "postgres"):
        return address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() == "sqlite" and address.database and not Path(address.database).exists():
        raise DataError("the file of the SQLite database does not exist", hint="check the path after sqlite:///")
    return address


def _columns(names: list[str], values: list[tuple[object, ...]]) -> pa.Table:
    arrays = []
    for column in values:
        try:
            arrays.append(pa.array(column))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            arrays.append(pa.array([None if value is None else str(value) for value in column], pa.string()))
    return pa.table(dict(zip(names, arrays, strict=True)))
