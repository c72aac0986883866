"""Tables and whole databases in PostgreSQL, MariaDB, SQLite and DuckDB: the only home of SQL drivers. Sources are only read.

`read_schema` and `read_rows` bring a database in, `load` takes one out (resumable, checked by the server),
`server_findings` asks the server whether every constraint stands; `same_database` tells a target that is the source. Each is
loaded when it is first used: who only looks at a table waits for none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.io.sql.address import dialect_of
    from sfumato.io.sql.bulk import Loaded, create_tables, load, rehearse
    from sfumato.io.sql.findings import server_findings
    from sfumato.io.sql.introspect import read_schema
    from sfumato.io.sql.link import connect, same_database
    from sfumato.io.sql.modes import Clone, Create, Fill
    from sfumato.io.sql.modes_elsewhere import CloneElsewhere, FillElsewhere, require_clonable
    from sfumato.io.sql.rows import read_back, read_rows
    from sfumato.io.sql.single import is_url, read_sql

_HOMES = {
    "Clone": "modes", "Create": "modes", "Fill": "modes", "Loaded": "bulk", "connect": "link", "create_tables": "bulk",
    "dialect_of": "address", "is_url": "single", "load": "bulk", "read_back": "rows", "read_rows": "rows",
    "read_schema": "introspect", "read_sql": "single", "rehearse": "bulk", "same_database": "link", "server_findings": "findings",
    "CloneElsewhere": "modes_elsewhere", "FillElsewhere": "modes_elsewhere", "require_clonable": "modes_elsewhere",
}  # fmt: skip

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
