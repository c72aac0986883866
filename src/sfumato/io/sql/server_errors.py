"""What went wrong in a server, said without a value, an address or a password.

Servers quote the offending row in their messages; only names of tables, columns and constraints are taken from them.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from sfumato.core.errors import DataError

_CONNECTING = (
    ("Access denied", "the server refuses the user or the password", "check both in the URL"),
    ("Unknown database", "the server has no such database", "check the last part of the URL, or create the database"),
    ("Can't connect", "no server listens there", "check host and port, and that the server runs"),
    ("password authentication failed", "the server refuses the user or the password", "check both in the URL"),
    ("no password supplied", "the server wants a password", "put it into the URL or into PGPASSWORD"),
    ("no pg_hba.conf entry", "the server does not let this user in from here", "ask for access in pg_hba.conf"),
    ('role "', "the server does not know the user", "check the user in the URL"),
    ('database "', "the server has no such database", "check the last part of the URL, or create the database"),
    ("refused", "no server listens there", "check host and port, and that the server runs"),
    ("resolve", "the host of the URL is unknown", "check its spelling"),
    ("translate host name", "the host of the URL is unknown", "check its spelling"),
    ("No such file", "no server listens on that socket", "check the path, and that the server runs"),
    ("timeout", "the server does not answer", "check host and port"),
    ("certificate", "the server's certificate is not accepted", "check sslmode and the certificates"),
)

_CODES = {
    code: (what, hint)
    for codes, what, hint in (
        ("42501 1044 1142 1227", "missing rights", "grant the user what it needs"),
        ("25006 1792", "the transaction is read-only", "the target needs a user that may write"),
        ("3F000", "the schema does not exist", "create it, or name another"),
        ("42P01 1146", "a table does not exist", "check the names of the tables"),
        ("42P07", "a table or index of that name exists", "choose an empty target"),
        ("42710", "something of that name exists", "choose an empty target"),
        ("23502 1048", "a null where none is allowed", ""),
        ("23503 1452", "a foreign key names a row that is not there", ""),
        ("23505", "a value that must be unique appears twice", ""),
        ("23514 4025", "a check constraint does not hold", ""),
        ("22001 1406", "a text is longer than its column", ""),
        ("22P02", "a value does not fit the type of its column", ""),
        ("22P05", "a character the server's encoding does not have", "use a database with the encoding UTF8"),
        ("22021", "a character the server cannot store", "PostgreSQL text cannot hold the character NUL"),
        ("53100 1021", "the disk of the server is full", "free disk space and run again"),
        ("57014", "the server cancelled the statement", "check its statement_timeout"),
        ("55P03", "a table is locked by somebody else", "run again later"),
        ("40P01", "a deadlock with somebody else", "run again"),
        ("42830", "a foreign key points at columns that are not unique", "repair the schema, or leave the table out"),
        ("42883", "a function does not exist there", "create it in the target first"),
        ("42704", "a type does not exist there", "install the extension that brings it"),
        (
            "1062",
            "a value that must be unique appears twice",
            "texts that differ only in case may be equal for the server",
        ),
        ("1264", "a number is too large for its column", ""),
        ("1366 1292", "a value does not fit its column", ""),
        ("1071", "a key is too long for the server", "shorten the column, or leave the table out"),
        ("1170", "a long text cannot be a key there", "give the column a length, or leave the table out"),
        ("1118", "a row of the table is too long for the server", "leave the table out"),
        ("1050", "a table of that name exists", "choose an empty target"),
        ("2006 2013", "the connection was lost", "run again"),
    )
    for code in codes.split()
}
"""What servers number: five signs in PostgreSQL, four digits in MariaDB."""

_FUNCTION = re.compile(r"([\w.\"]+\([\w.\", \[\]]*\))")
"""A function with the types of its arguments: names of the schema, never a value."""
_COLUMN = re.compile(r"COPY .*?, line \d+, column ([^:]+?)(?::|$)")


@contextlib.contextmanager
def plain_server_errors(doing: str) -> Iterator[None]:
    """Turns a driver's error into a `DataError` about `doing`."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise _postgres(error, doing) from None
    except sqlite3.Error as error:
        raise _sqlite(error, doing) from None
    except Exception as error:
        if "duckdb" in sys.modules and isinstance(error, sys.modules["duckdb"].Error):
            raise _duckdb(error, doing) from None
        if "pymysql" in sys.modules and isinstance(error, sys.modules["pymysql"].Error):
            raise _mariadb(error, doing) from None
        raise


def _postgres(error: Any, doing: str) -> DataError:
    state = error.sqlstate or ""
    if not state:
        return DataError(f"{doing}: the connection to the server was lost", hint="run again")
    what, hint = _CODES.get(state, _class_of(state))
    if state == "42883" and (missing := _FUNCTION.search(error.diag.message_primary or "")):
        what, hint = (
            f"there is no function {missing[1]} there",
            "install the extension that brings it, or leave the table out",
        )
    return DataError(f"{doing}: {what}", where=_where(error), hint=hint)


def _class_of(state: str) -> tuple[str, str]:
    families = {
        "22": "a value does not fit its column",
        "23": "a constraint does not hold",
        "08": "the connection was lost",
        "53": "the server lacks resources",
    }
    return families.get(state[:2], f"the server refuses (SQLSTATE {state})"), ""


def _where(error: Any) -> str:
    """Names only: the primary message and the details may quote values."""
    named = error.diag
    column = named.column_name
    if not column and (found := _COLUMN.match(named.context or "")):
        column = found[1]
    parts = (("table", named.table_name), ("column", column), ("constraint", named.constraint_name))
    return ", ".join(f"{label} '{value}'" for label, value in parts if value)


_SQLITE = (
    (
        r"foreign key mismatch",
        "a foreign key points at columns that are not unique",
        "repair the schema, or leave the table out",
    ),
    (r"Could not decode", "it holds text that is not UTF-8", "repair it in the source, or leave the table out"),
    (r"too big", "a value is longer than 64 MB", "shorten it in the source, or leave the table out"),
    (r"unable to open", "the file cannot be opened", "check the path and its rights"),
    (r"file is not a database", "the file is no SQLite database", "check the path"),
    (r"readonly", "the file may not be written", "check the rights of the file and its folder"),
    (r"locked|busy", "somebody else holds a lock on the file", "run again later"),
    (r"full", "the disk is full", "free disk space and run again"),
    (r"malformed|corrupt", "the file is damaged", ""),
)
_SQLITE_CONSTRAINT = re.compile(r"(UNIQUE|NOT NULL|CHECK|FOREIGN KEY) constraint failed(?:: (.*))?")


def _sqlite(error: sqlite3.Error, doing: str) -> DataError:
    text = str(error)
    if found := _SQLITE_CONSTRAINT.search(text):
        return DataError(f"{doing}: a {found[1]} constraint does not hold", where=found[2] or "")
    known = _known(text, _SQLITE, doing)
    return known or DataError(f"{doing}: SQLite refuses ({getattr(error, 'sqlite_errorname', type(error).__name__)})")


_DUCKDB = (
    (r"foreign key", "a foreign key names a row that is not there", ""),
    (r"Duplicate key|unique constraint", "a value that must be unique appears twice", ""),
    (r"NOT NULL constraint", "a null where none is allowed", ""),
    (r"CHECK constraint", "a check constraint does not hold", ""),
    (r"Could not set lock|Conflicting lock", "another program has the file open", "close it, or run again later"),
    (r"different configuration", "this program has the file open already", "give another file as the target"),
    (r"not a valid DuckDB", "the file is no DuckDB database", "check the path"),
    (r"version|storage", "the file was written by another version of DuckDB", "open and export it with that version"),
    (
        r"depend",
        "something else in the target needs a table to be replaced",
        "drop it first, or choose an empty target",
    ),
    (r"main key table", "another table of the target refers to one to be replaced", "choose an empty target"),
    (r"Permission denied|Cannot open", "the file cannot be opened", "check the path and its rights"),
    (r"Conversion Error", "a value does not fit its column", ""),
)


def _duckdb(error: Exception, doing: str) -> DataError:
    """The message may quote values and is only looked at."""
    return _known(str(error), _DUCKDB, doing) or DataError(f"{doing}: DuckDB refuses ({type(error).__name__})")


def _known(text: str, signs: Iterable[tuple[str, str, str]], doing: str) -> DataError | None:
    """Return the meaning of the first known error sign in a message."""
    found = next(((what, hint) for sign, what, hint in signs if re.search(sign, text)), None)
    return None if found is None else DataError(f"{doing}: {found[0]}", hint=found[1])


def _mariadb(error: Exception, doing: str) -> DataError:
    """The message may quote values; only its number is shown."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    what, hint = _CODES.get(str(number), (f"the server refuses (error {number})", ""))
    return DataError(f"{doing}: {what}", hint=hint)


def connection_problem(error: Exception) -> DataError:
    """Why a PostgreSQL server could not be reached; the driver's message may hold addresses and is only looked at."""
    text = str(error)
    for sign, what, hint in _CONNECTING:
        if sign in text:
            return DataError(f"cannot connect to the database: {what}", hint=hint)
    return DataError("cannot connect to the database", hint="check the URL, and that the server runs")
