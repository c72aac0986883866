"""Tables and whole databases in PostgreSQL, MariaDB, SQLite and DuckDB: the only home of SQL drivers.

Tables and whole databases in PostgreSQL, MariaDB, SQLite and DuckDB: the only home of SQL drivers. Sources are only
read.

`read_schema` and `read_rows` bring a database in, `load` takes one out (resumable, checked by the server),
`server_findings` asks the server whether every constraint stands; `same_database` tells a target that is the source.
Each is loaded when it is first used: who only looks at a table waits for none of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.io.sql.addresses import dialect_of
    from sfumato.io.sql.bulk_load import Loaded, create_tables, load, rehearse, server_findings
    from sfumato.io.sql.connection import connect, same_database
    from sfumato.io.sql.rows import is_url, read_back, read_rows, read_sql
    from sfumato.io.sql.schema_reading import read_schema
    from sfumato.io.sql.target_modes import Clone, CloneElsewhere, Create, Fill, FillElsewhere, require_clonable
    from sfumato.io.sql.target_refresh import refresh

_HOMES = {
    "Clone": "target_modes",
    "Create": "target_modes",
    "Fill": "target_modes",
    "Loaded": "bulk_load",
    "connect": "connection",
    "create_tables": "bulk_load",
    "dialect_of": "addresses",
    "is_url": "rows",
    "load": "bulk_load",
    "read_back": "rows",
    "refresh": "target_refresh",
    "read_rows": "rows",
    "read_schema": "schema_reading",
    "read_sql": "rows",
    "rehearse": "bulk_load",
    "same_database": "connection",
    "server_findings": "bulk_load",
    "CloneElsewhere": "target_modes",
    "FillElsewhere": "target_modes",
    "require_clonable": "target_modes",
}

__all__ = [
    "Clone",
    "CloneElsewhere",
    "Create",
    "Fill",
    "FillElsewhere",
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
    "refresh",
    "rehearse",
    "require_clonable",
    "same_database",
    "server_findings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
