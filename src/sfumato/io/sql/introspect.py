"""`read_schema`: what a database declares about its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.data.database import Schema, TableFacts
from sfumato.errors import DataError
from sfumato.io.sql.duckdb_schema import duckdb_schema
from sfumato.io.sql.dumps import RESTORED
from sfumato.io.sql.journal import ASIDE, JOURNAL
from sfumato.io.sql.link import Session, connect
from sfumato.io.sql.mariadb_schema import mariadb_schema
from sfumato.io.sql.postgres_schema import postgres_schema
from sfumato.io.sql.sqlite_schema import sqlite_schema
from sfumato.io.sql.trouble import plainly
from sfumato.registry import nearest


def read_schema(url: str, schema: str | None = None, tables: Sequence[str] | None = None) -> Schema:
    """All tables (or those named); `schema` names a schema of the database other than the user's own."""
    with connect(url, namespace=schema) as link, plainly("reading the schema"):
        found = schema_of(link)
    return _selected(found, list(tables) if tables is not None else [table.name for table in found.tables])


_READERS = {"postgresql": postgres_schema, "sqlite": sqlite_schema, "duckdb": duckdb_schema, "mariadb": mariadb_schema}


def schema_of(link: Session) -> Schema:
    """All tables that a session sees, without our own journal."""
    found = _READERS[link.dialect](link)
    return replace(found, tables=tuple(table for table in found.tables if table.name not in (JOURNAL, ASIDE, RESTORED)))


def _selected(schema: Schema, names: list[str]) -> Schema:
    """Only these tables; keys that point elsewhere cannot be kept and are named."""
    known = [table.name for table in schema.tables]
    for name in names:
        if name not in known:
            raise DataError(f"the database has no table '{name}'", hint=nearest(name, known))
    lost = [key for table in schema.tables if table.name in names for key in table.foreign_keys if key.parent not in names]
    sentences = [
        f"the foreign key of '{k.table}' ({', '.join(k.columns)}) to '{k.parent}' leaves the selection and is not copied"
        for k in lost
    ]
    kept = tuple(_without(table, names) for table in schema.tables if table.name in names)
    used = {column.sequence for table in kept for column in table.columns}
    sequences = tuple(one for one in schema.sequences if one.name in used)
    return replace(schema, tables=kept, sequences=sequences, left_out=schema.left_out + tuple(sentences))


def _without(table: TableFacts, names: list[str]) -> TableFacts:
    gone = [key for key in table.foreign_keys if key.parent not in names]
    if not gone:
        return table
    kept = tuple(key for key in table.foreign_keys if key.parent in names)
    constraints = tuple(one for one in table.constraints if one.name not in {key.name for key in gone})
    return replace(table, foreign_keys=kept, constraints=constraints, sql="")
