"""A schema in another dialect: one server's tables for another.

A type of the target is chosen so that every value to be loaded comes back as it was: SQLite does not enforce what a column
declares, so a declared DATETIME that holds other things becomes text, and a PostgreSQL numeric of more than fifteen digits
becomes text in SQLite. Columns linked by a foreign key get one type. What has no counterpart is named in `left_out`.

Departures: a whole real and an integer are one number in PostgreSQL's numeric types, and PostgreSQL writes 10.0 as 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa

from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, TableFacts
from sfumato.data.table import Table
from sfumato.io.sql.conditions import carried_condition, carried_value, default_for
from sfumato.io.sql.duckdb_plan import for_duckdb
from sfumato.io.sql.names import listed, literal, quoted
from sfumato.io.sql.translate_types import CHOOSE

_WIDER = (({"bigint", "numeric"}, "numeric"), ({"BIGINT", "HUGEINT"}, "HUGEINT"))
"""Which type holds both of two."""
_TEXT = {"postgresql": "text", "duckdb": "VARCHAR", "mariadb": "varchar(190)"}
"""Which type holds everything."""


def carried(schema: Schema, dialect: str, tables: Mapping[str, Table]) -> Schema:
    """The schema as the target declares it."""
    if dialect == schema.dialect:
        return for_duckdb(schema, tables) if dialect == "duckdb" else schema
    types = _types(schema, dialect, tables)
    made = tuple(_table(table, types, schema.dialect, dialect) for table in schema.tables)
    lost = [
        f"an index of table '{table.name}' is not copied into the other dialect" for table in schema.tables for _ in table.indexes
    ]
    lost += [
        f"the default of '{table.name}.{old.name}' is not copied into the other dialect"
        for table, new in zip(schema.tables, made, strict=True)
        for old, column in zip(table.columns, new.columns, strict=True)
        if old.default is not None and column.default is None and not column.identity and old.default.upper() != "NULL"
    ]
    lost += [
        f"'{table.name}.{column.name}' is not numbered by the target: MariaDB numbers key columns that nothing is computed from"
        for table, new in zip(schema.tables, made, strict=True)
        for old, column in zip(table.columns, new.columns, strict=True)
        if dialect == "mariadb" and old.generated and not old.computed and not column.identity
    ]
    lost += [
        f"the target does not understand the check '{name}' of table '{table.name}'"
        for table, new in zip(schema.tables, made, strict=True)
        for name in _names(table)
        if name not in {check.name for check in new.checks}
    ]
    new = replace(
        schema,
        tables=made,
        dialect=dialect,
        namespace="",
        types=(),
        sequences=(),
        functions=(),
        others=(),
        left_out=schema.left_out + tuple(lost),
    )
    return for_duckdb(new, tables) if dialect == "duckdb" else new


def _types(schema: Schema, dialect: str, tables: Mapping[str, Table]) -> dict[tuple[str, str], str]:
    choose = CHOOSE[dialect]
    types = {
        (table.name, column.name): choose(table.name, column, _values(tables[table.name], column), schema.dialect)
        for table in schema.tables
        for column in table.columns
    }
    changed = dialect != "sqlite"
    while changed:
        changed = sum(_joined(types, key, _TEXT[dialect]) for key in schema.foreign_keys) > 0
    return types


def _values(table: Table, column: ColumnFacts) -> pa.ChunkedArray:
    """What will be loaded; a computed column is not."""
    return pa.chunked_array([], pa.string()) if column.computed else table.column(column.name)


def _joined(types: dict[tuple[str, str], str], key: ForeignKey, text: str) -> bool:
    """Gives both ends of a foreign key one type; whether anything changed."""
    changed = False
    for child, parent in zip(key.columns, key.parent_columns, strict=True):
        ends = (key.table, child), (key.parent, parent)
        found = {types[end] for end in ends}
        if len(found) > 1 and not all(one == text or one.startswith("varchar") for one in found):
            for end in ends:
                types[end] = next((wide for narrow, wide in _WIDER if found <= narrow), text)
            changed = True
    return changed


def _table(table: TableFacts, types: Mapping[tuple[str, str], str], source: str, dialect: str) -> TableFacts:
    columns = tuple(_column(table, column, types[table.name, column.name], source, dialect) for column in table.columns)
    pairs = zip(_names(table), table.checks, strict=True)
    said = [(name, carried_condition(one.sql, table.names, source, dialect)) for name, one in pairs]
    named = tuple(CheckConstraint(name, text) for name, text in said if text is not None)
    if dialect in ("sqlite", "postgresql"):
        named += tuple(_choices(table))
    carried_table = replace(table, columns=columns, checks=named, sql="", indexes=(), constraints=())
    return replace(carried_table, constraints=tuple(_keys(carried_table))) if dialect == "postgresql" else carried_table


def _names(table: TableFacts) -> list[str]:
    return [check_name(table, number, check) for number, check in enumerate(table.checks)]


def check_name(table: TableFacts, number: int, check: CheckConstraint) -> str:
    """The name of a check in the other dialect, where unnamed ones need one to be found again."""
    return check.name or f"{table.name}_check_{number + 1}"[-60:]


def _choices(table: TableFacts) -> list[CheckConstraint]:
    """An enumerated type as a condition."""
    return [
        CheckConstraint(
            f"{table.name}_{column.name}_choices"[-60:], f"{quoted(column.name)} IN ({', '.join(map(literal, column.choices))})"
        )
        for column in table.columns
        if column.kind == "enum"
    ]


def _column(table: TableFacts, column: ColumnFacts, native: str, source: str, dialect: str) -> ColumnFacts:
    numbered = column.generated and not column.computed
    if dialect == "postgresql":
        identity = "BY DEFAULT" if numbered and native == "bigint" else ""
    elif dialect == "mariadb":
        free = not any(re.search(rf"\b{re.escape(column.name)}\b", other.computed) for other in table.columns)
        first = table.primary_key[:1] == (column.name,) and native == "bigint"
        identity = "AUTO_INCREMENT" if numbered and first and free else ""
    elif dialect == "duckdb":
        identity = "SEQUENCE" if numbered and native in ("BIGINT", "HUGEINT") else ""
    else:
        identity = "AUTOINCREMENT" if numbered and table.primary_key == (column.name,) and native == "INTEGER" else ""
    default = None if numbered else default_for(column.default, source, native, dialect)
    computed = column.computed and carried_value(column.computed, table.names, source, dialect)
    generated = bool(identity or computed)
    bare = replace(column, sequence="", numbering="", collation="", type_name="", computed=computed)
    return replace(bare, native=native, default=default, identity=identity, generated=generated)


def _keys(table: TableFacts) -> list[CheckConstraint]:
    keys = [CheckConstraint("", f"PRIMARY KEY ({listed(table.primary_key)})")] if table.primary_key else []
    keys += [CheckConstraint("", f"UNIQUE ({listed(columns)})") for columns in table.uniques]
    keys += [CheckConstraint(one.name, f"CHECK ({one.sql})") for one in table.checks]
    return keys + [CheckConstraint(key.name, foreign_key_sql(key)) for key in table.foreign_keys]


def foreign_key_sql(key: ForeignKey, relation: Callable[[str], str] = quoted, dialect: str = "") -> str:
    """The clause that declares a foreign key; DuckDB knows no actions, MariaDB not all of them."""
    options = (key.options or {}) if dialect != "duckdb" else {}
    text = f"FOREIGN KEY ({listed(key.columns)}) REFERENCES {relation(key.parent)} ({listed(key.parent_columns)})"
    for action in ("on delete", "on update"):
        if options.get(action, "NO ACTION") not in ("NO ACTION", "SET DEFAULT" if dialect == "mariadb" else ""):
            text += f" {action.upper()} {options[action]}"
    return text + (f" DEFERRABLE {options['deferrable']}" if "deferrable" in options and dialect != "mariadb" else "")
