"""Where a database is: the parts of its URL, which kind of server speaks there, and the file behind it, if it is one.


Names
-----
Names in SQL.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sfumato.core.errors import DataError
from sfumato.core.extras import require

DIALECTS = {
    "postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite", "duckdb": "duckdb", "mariadb": "mariadb",
    "mysql": "mariadb",
}  # fmt: skip
FILES = {"sqlite": "SQLite", "duckdb": "DuckDB"}
"""Databases that are one file."""
_REFUSED = {"mssql": "SQL Server", "oracle": "Oracle", "snowflake": "Snowflake", "bigquery": "BigQuery", "db2": "Db2"}
_WRITE = "write postgresql://…, mariadb://…, sqlite:///… or duckdb:///…"
_WAY_OUT = "bring its tables into PostgreSQL, MariaDB, DuckDB or SQLite first; one table can be read with kind: table"


def address_of(url: str) -> Any:
    """The parts of a URL; a message about it never repeats it."""
    require("sqlalchemy", "reading and writing databases")
    require("sqlglot", "reading and writing databases")
    import sqlalchemy as sa

    try:
        return sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise DataError("the URL of the database cannot be understood", hint=_WRITE) from None


def dialect_of(url: str) -> str:
    """Which dialect a URL speaks.

    >>> dialect_of("postgres://somebody@example/db"), dialect_of("sqlite:///people.db"), dialect_of("mysql+pymysql://example/db")
    ('postgresql', 'sqlite', 'mariadb')
    """
    backend = str(address_of(url).get_backend_name())
    if backend in DIALECTS:
        return DIALECTS[backend]
    if backend in _REFUSED:
        raise DataError(f"databases of {_REFUSED[backend]} can be neither source nor target", hint=_WAY_OUT)
    raise DataError(f"databases of the kind '{backend}' are not supported", hint=_WRITE)


def file_of(url: str) -> Path:
    """The file behind the URL of a database that is one."""
    dialect, name = dialect_of(url), address_of(url).database
    if not name or name == ":memory:":
        raise DataError(f"a {FILES[dialect]} database needs a file", hint=f"write {dialect}:///path/to/file.db")
    return Path(name)


def file_to_open(url: str, write: bool) -> Path:
    """The file, which must be there for reading, and whose folder must be there for writing."""
    path, dialect = file_of(url), dialect_of(url)
    if path.is_dir() or not (path.exists() or write):
        what = f"the file of the {FILES[dialect]} database does not exist"
        raise DataError(what, where=str(path.absolute()), hint=f"check the path after {dialect}:///")
    if write and not path.parent.is_dir():
        what = f"the folder of the {FILES[dialect]} database does not exist"
        raise DataError(what, where=str(path.absolute().parent), hint="create it, or check the path")
    return path


# Names
# -----


def quoted(name: str) -> str:
    """A name as both dialects read it exactly.

    >>> print(quoted('Order "x" Details'))
    "Order ""x"" Details"
    """
    return '"' + name.replace('"', '""') + '"'


QUALIFIED = (
    "CASE WHEN {0}.relnamespace = quote_ident(current_schema())::regnamespace THEN {0}.relname::text "
    "ELSE (SELECT nspname FROM pg_namespace WHERE oid = {0}.relnamespace) || '.' || {0}.relname END"
)
"""PostgreSQL: the name of a relation, with its schema before it when that is not the current one."""


def listed(names: Iterable[str]) -> str:
    """Several names, with commas."""
    return ", ".join(map(quoted, names))


def literal(text: str) -> str:
    """A text as both dialects read it exactly."""
    return "'" + text.replace("'", "''") + "'"
