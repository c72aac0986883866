"""Tables and whole databases in PostgreSQL, MariaDB, SQLite and DuckDB: the only home of SQL drivers. Sources are only read.

`read_schema` and `read_rows` bring a database in, `load` takes one out (resumable, checked by the server),
`server_findings` asks the server whether every constraint stands; `same_database` tells a target that is the source.
"""

from __future__ import annotations

from sfumato.io.sql.address import dialect_of
from sfumato.io.sql.bulk import Loaded, create_tables, load
from sfumato.io.sql.findings import server_findings
from sfumato.io.sql.introspect import read_schema
from sfumato.io.sql.link import connect, same_database
from sfumato.io.sql.modes import Clone, Create, Fill
from sfumato.io.sql.rows import read_back, read_rows
from sfumato.io.sql.single import is_url, read_sql

__all__ = [
    "Clone",
    "Create",
    "Fill",
    "Loaded",
    "connect",
    "create_tables",
    "dialect_of",
    "is_url",
    "load",
    "read_back",
    "read_rows",
    "read_schema",
    "read_sql",
    "same_database",
    "server_findings",
]
