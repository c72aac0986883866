"""A way into a database: the source is opened so that it can only be read, and no message carries the URL.

Invariants: a source session cannot write (PostgreSQL: read-only transaction, one repeatable-read snapshot for all
tables; SQLite and DuckDB: file opened for reading only, one transaction; MariaDB: read-only transaction, one snapshot);
every session writes and reads values in the same spelling (ISO dates, UTC, hex bytes, shortest exact floats). Row
security that would hide rows is an error, not a smaller table."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from sfumato.core.errors import DataError
from sfumato.core.extras import require
from sfumato.io.sql.addresses import FILES, address_of, dialect_of, file_of, file_to_open, literal, quoted
from sfumato.io.sql.duckdb_driver import duckdb_schemas, is_empty, open_duckdb
from sfumato.io.sql.mariadb_driver import open_mariadb
from sfumato.io.sql.postgres_dumps import dump_of, restore
from sfumato.io.sql.server_errors import connection_problem, plain_server_errors

SPELLING = {
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "3",
    "lc_monetary": "C",
    "xmloption": "content",
    "row_security": "off",
}
_SPELT = "SELECT " + ", ".join(
    f"set_config({literal(name)}, {literal(value)}, false)" for name, value in SPELLING.items()
)
"""All of it in one statement: a session costs the server, and a way to a far one, as much as what is asked in it."""


@dataclass(frozen=True, slots=True)
class Session:
    """An open session in one of the dialects."""

    dialect: str
    raw: Any
    others: set[str] = field(default_factory=set)
    """Schemas beside the current one whose tables count, too; such a table is called `schema.table`."""

    def relation(self, name: str) -> str:
        """The name of a table as the server reads it."""
        schema, dot, table = name.partition(".")
        return f"{quoted(schema)}.{quoted(table)}" if dot and schema in self.others else quoted(name)

    def rows_of(self, name: str) -> str:
        """What a query names to get the rows of a table: all partitions, but no rows of tables that inherit from it."""
        if self.dialect != "postgresql":
            return self.relation(name)
        kind = self.rows("SELECT relkind FROM pg_class WHERE oid = %s::regclass", self.relation(name))
        return self.relation(name) if kind and kind[0][0] == "p" else f"ONLY {self.relation(name)}"

    def inside(self, column: str) -> str:
        """The condition that a catalogue's column names one of our schemas."""
        listed = ", ".join(map(literal, sorted(self.others)))
        more = f" OR {column} IN (SELECT oid FROM pg_namespace WHERE nspname IN ({listed}))" if listed else ""
        return f"({column} = quote_ident(current_schema())::regnamespace{more})"

    @property
    def mark(self) -> str:
        """What stands for a value in a statement."""
        return "?" if self.dialect in FILES else "%s"

    def run(self, sql: str, *values: object) -> Any:
        """Without values a statement is sent as it stands: a percent sign in it is only a percent sign."""
        return self.raw.execute(sql, values) if values else self.raw.execute(sql)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return list(self.run(sql, *values).fetchall())

    def resume(self) -> None:
        """MariaDB ends a transaction when a table is made or dropped; what follows is one of its own."""
        if self.dialect == "mariadb":
            self.run("BEGIN")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; sessions that write are outside of any transaction otherwise."""
        self.run("BEGIN IMMEDIATE" if self.dialect == "sqlite" else "BEGIN")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            with contextlib.suppress(Exception):
                self.run("ROLLBACK")
            raise


@contextlib.contextmanager
def connect(url: str, *, write: bool = False, namespace: str | None = None) -> Iterator[Session]:
    """A session; without `write` the server itself refuses every change. `namespace` is a schema of the database."""
    dialect = dialect_of(url)
    new = dialect in FILES and write and not file_of(url).exists()
    raw = _OPENED[dialect](url, write, namespace)
    try:
        yield Session(dialect, raw, set() if namespace else _OTHERS[dialect](raw))
    finally:
        bare = new and dialect == "duckdb" and is_empty(raw)
        raw.close()
        if new and file_of(url).exists() and (bare or file_of(url).stat().st_size == 0):
            file_of(url).unlink()


_SCHEMAS = """
SELECT nspname FROM pg_namespace n WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', current_schema())
  AND has_schema_privilege(oid, 'USAGE')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = n.oid AND d.classid = 'pg_namespace'::regclass
    AND d.deptype = 'e')"""


def _others(raw: Any) -> set[str]:
    """All schemas of the database but the current one, the server's own and those of extensions."""
    with plain_server_errors("opening the database"):
        return {str(row[0]) for row in raw.execute(_SCHEMAS).fetchall()}


def _postgres(url: str, write: bool, namespace: str | None) -> Any:
    address = address_of(url)
    require("psycopg", "PostgreSQL")
    import psycopg

    options = {key: value if isinstance(value, str) else value[-1] for key, value in address.query.items()}
    options = {"connect_timeout": "10", "application_name": "sfumato"} | options
    options.pop("restore", None)
    named = address.translate_connect_args(username="user", database="dbname")
    try:
        raw = psycopg.connect(**(named | options | {"client_encoding": "UTF8", "autocommit": True}))
    except psycopg.OperationalError as error:
        raise connection_problem(error) from None
    except psycopg.Error:
        raise DataError(
            "the URL of the database has an unknown option", hint="check what follows the question mark"
        ) from None
    try:
        _restored(raw, url, write)
        _prepare_postgres(raw, write, namespace)
    except BaseException:
        raw.close()
        raise
    return raw


def _restored(raw: Any, url: str, write: bool) -> None:
    """Restore the dump that the URL names into the database before anything is read."""
    path = dump_of(url)
    if path is not None and write:
        raise DataError("a dump can only be a source", hint="leave restore= out of the URL of the target")
    if path is not None:
        restore(raw, url, path)
        raw.execute("RESET ALL")


def _prepare_postgres(raw: Any, write: bool, namespace: str | None) -> None:
    import psycopg

    with plain_server_errors("opening the database"):
        raw.execute(_SPELT)
        if namespace:
            if not raw.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (namespace,)).fetchone():
                raise DataError(f"the database has no schema '{namespace}'", hint="create it, or name another")
            raw.execute("SELECT set_config('search_path', quote_ident(%s) || ', public', false)", (namespace,))
        if not raw.execute("SELECT current_schema()").fetchone()[0]:
            raise DataError(
                "the user may use no schema of the database", hint="grant USAGE on the schema, or name another"
            )
        if not write:
            raw.execute("SET default_transaction_read_only = on")
            raw.autocommit, raw.read_only, raw.isolation_level = False, True, psycopg.IsolationLevel.REPEATABLE_READ


def _sqlite(url: str, write: bool, _namespace: str | None) -> sqlite3.Connection:
    path = file_to_open(url, write)
    address = f"file:{quote(os.path.abspath(path))}?mode={'rwc' if write else 'ro'}"
    with plain_server_errors("opening the database"):
        raw = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30)
        try:
            _prepare_sqlite(raw, write)
        except sqlite3.OperationalError as error:
            raw.close()
            if not write and error.sqlite_errorname in ("SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY"):
                raise _unfinished() from None
            raise
        except BaseException:
            raw.close()
            raise
    return raw


LONGEST_VALUE = 1 << 26
"""The most bytes of a value of a SQLite file, which may compute values of any length."""


def _prepare_sqlite(raw: sqlite3.Connection, write: bool) -> None:
    raw.execute("PRAGMA foreign_keys = OFF")
    if not write:
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        raw.execute("BEGIN")
    raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()


_OPENED = {"sqlite": _sqlite, "duckdb": open_duckdb, "mariadb": open_mariadb, "postgresql": _postgres}
_OTHERS = {"sqlite": lambda _: set(), "duckdb": duckdb_schemas, "mariadb": lambda _: set(), "postgresql": _others}


def _unfinished() -> DataError:
    """Only a writer may roll a crashed transaction back, and a source is not written."""
    what = "opening the database: a program that was writing the file was cut off"
    return DataError(what, hint="open the file once with that program, which repairs it, or run the load again")


def same_database(one: str, other: str, *, namespaces: tuple[str | None, str | None] = (None, None)) -> bool:
    """Whether two URLs lead to the same tables, however they are spelt: the servers, or the file system, are asked."""
    kind = dialect_of(one)
    if kind != dialect_of(other):
        return False
    if kind in FILES:
        paths = file_of(one), file_of(other)
        if all(path.exists() for path in paths):
            return os.path.samefile(*paths)
        return os.path.realpath(paths[0]) == os.path.realpath(paths[1])
    if kind == "mariadb":
        return _server(one) == _server(other)
    (cluster, started, *place), (other_cluster, other_started, *other_place) = (
        _identity(one, namespaces[0]),
        _identity(other, namespaces[1]),
    )
    same_server = cluster == other_cluster if cluster and other_cluster else started == other_started
    return same_server and place == other_place


def _server(url: str) -> list[tuple[Any, ...]]:
    """What tells a server of MariaDB or MySQL from others, and the database."""
    named = "SHOW VARIABLES WHERE Variable_name IN ('server_uid', 'server_uuid', 'hostname', 'port', 'datadir')"
    with connect(url) as link, plain_server_errors("asking the server who it is"):
        return sorted(link.rows(named)) + link.rows("SELECT database(), ''")


def _identity(url: str, namespace: str | None) -> tuple[Any, ...]:
    """Cluster, start, database, schema; a standby has the cluster number of its primary, and must not be its own target
    either."""
    with connect(url, namespace=namespace) as link, plain_server_errors("asking the server who it is"):
        allowed = link.rows("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')")[0][0]
        number = link.rows("SELECT system_identifier::text FROM pg_control_system()")[0][0] if allowed else ""
        return (number, *link.rows("SELECT pg_postmaster_start_time()::text, current_database(), current_schema()")[0])
