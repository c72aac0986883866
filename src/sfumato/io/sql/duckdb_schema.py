"""What DuckDB says about the tables of a file, by its own catalogue functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfumato.data.database import CheckConstraint, ColumnFacts, ForeignKey, Schema, SequenceFacts, TableFacts
from sfumato.io.sql.link import Session

_NAMED = "CASE WHEN schema_name = current_schema() THEN {0} ELSE schema_name || '.' || {0} END"
_HERE = "database_name = current_database() AND NOT internal"
_TABLES = f"SELECT {_NAMED.format('table_name')} FROM duckdb_tables() WHERE {_HERE} AND NOT temporary ORDER BY 1"
_COLUMNS = f"""
SELECT {_NAMED.format("table_name")}, column_name, data_type, is_nullable, column_default, is_generated, generation_expression
FROM duckdb_columns() WHERE {_HERE} ORDER BY column_index"""
_CONSTRAINTS = f"""
SELECT {_NAMED.format("table_name")}, constraint_type, constraint_column_names, expression,
       {_NAMED.format("referenced_table")}, referenced_column_names
FROM duckdb_constraints() WHERE database_name = current_database() ORDER BY constraint_index"""
_INDEXES = f"""
SELECT {_NAMED.format("table_name")}, sql, is_unique, expressions FROM duckdb_indexes()
WHERE database_name = current_database() ORDER BY index_name"""
_SEQUENCES = f"""
SELECT {_NAMED.format("sequence_name")}, start_value, min_value, max_value, increment_by, cycle FROM duckdb_sequences()
WHERE database_name = current_database() ORDER BY 1"""
_VIEWS = f"SELECT {_NAMED.format('view_name')} FROM duckdb_views() WHERE {_HERE} ORDER BY 1"
_TYPES = "SELECT type_name FROM duckdb_types() WHERE database_name = current_database() AND NOT internal ORDER BY 1"

_KINDS = {
    "BOOLEAN": "boolean", "TINYINT": "integer", "SMALLINT": "integer", "INTEGER": "integer", "BIGINT": "integer",
    "HUGEINT": "integer", "UTINYINT": "integer", "USMALLINT": "integer", "UINTEGER": "integer", "UBIGINT": "integer",
    "UHUGEINT": "integer", "FLOAT": "float", "DOUBLE": "float", "VARCHAR": "text", "DATE": "date", "TIME": "time",
    "TIME WITH TIME ZONE": "time", "TIMESTAMP": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp", "UUID": "uuid", "JSON": "json", "BLOB": "binary",
}  # fmt: skip
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_CHOICE = re.compile(r"'((?:[^']|'')*)'")
_NEXT = re.compile(r"""^nextval\('(?:[^']|'')+'\)$""", re.IGNORECASE)
Rows = list[tuple[Any, ...]]


def duckdb_schema(link: Session) -> Schema:
    """All tables of a file."""
    names = [str(row[0]) for row in link.rows(_TABLES)]
    sequences = {row[0]: row for row in link.rows(_SEQUENCES)}
    columns, rules, indexes = (_by_table(link.rows(query)) for query in (_COLUMNS, _CONSTRAINTS, _INDEXES))
    tables = tuple(_table(n, columns.get(n, []), rules.get(n, []), indexes.get(n, []), sequences) for n in names)
    used = {column.sequence for table in tables for column in table.columns}
    left_out = [f"'{row[0]}' is a view and is not copied" for row in link.rows(_VIEWS)]
    left_out += [f"the type '{row[0]}' is written out in the columns that have it" for row in link.rows(_TYPES)]
    counted = tuple(_sequence(link, row) for name, row in sequences.items() if name in used)
    others = tuple(sorted(one for one in link.others if any(name.startswith(f"{one}.") for name in names)))
    return Schema(tables, "duckdb", sequences=counted, left_out=tuple(left_out), others=others)


def _by_table(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[1:])
    return found


def _sequence(link: Session, row: tuple[Any, ...]) -> SequenceFacts:
    name, first, least, most, step, cycle = row
    turns = "CYCLE" if cycle else "NO CYCLE"
    bounds = f"INCREMENT BY {step} MINVALUE {least} MAXVALUE {most} START {first} {turns}"
    return SequenceFacts(name, f"CREATE SEQUENCE {link.relation(name)} {bounds}")


def _table(name: str, columns: Rows, rules: Rows, indexes: Rows, sequences: Mapping[str, Any]) -> TableFacts:
    def of(kind: str) -> Rows:
        return [rule for rule in rules if rule[0] == kind]

    primary = next((tuple(rule[1]) for rule in of("PRIMARY KEY")), ())
    uniques = {tuple(rule[1]) for rule in of("UNIQUE")} | {found for row in indexes if row[1] and (found := _indexed(row, columns))}
    keys = tuple(ForeignKey(name, tuple(rule[1]), rule[3], tuple(rule[4])) for rule in of("FOREIGN KEY"))
    checks = tuple(CheckConstraint("", rule[2]) for rule in of("CHECK"))
    facts = tuple(_column(row, sequences) for row in columns)
    return TableFacts(name, facts, primary, tuple(sorted(uniques)), keys, checks, "", tuple(str(row[0]) for row in indexes))


def _indexed(index: tuple[Any, ...], columns: Rows) -> tuple[str, ...]:
    """The columns of an index over columns alone."""
    known = {f'"{row[0]}"': row[0] for row in columns} | {row[0]: row[0] for row in columns}
    named = [part.strip().strip("'") for part in str(index[2]).strip("[]").split(",")]
    return tuple(known[part] for part in named) if all(part in known for part in named) else ()


def _column(row: tuple[Any, ...], sequences: Mapping[str, Any]) -> ColumnFacts:
    name, native, nullable, default, computed, expression = row
    kind = kind_of(native)
    found = _DECIMAL.fullmatch(native)
    numbered = bool(default and not computed and _NEXT.match(default))
    sequence = next((one for one in sequences if numbered and f"'{one}'" in default.replace('"', "")), "")
    return ColumnFacts(
        name=name,
        kind=kind,
        native=native,
        nullable=bool(nullable),
        places=int(found[2]) if found else None,
        choices=tuple(one.replace("''", "'") for one in _CHOICE.findall(native)) if kind == "enum" else (),
        default=None if computed or sequence else default,
        generated=bool(computed) or numbered,
        computed=(expression or "").removeprefix("CAST(").removesuffix(f" AS {native})") if computed else "",
        sequence=sequence,
    )


def kind_of(native: str) -> str:
    """Our word for a type.

    >>> [kind_of(native) for native in ("INTEGER[]", "DECIMAL(10,2)", "ENUM('a', 'b')", "STRUCT(a INTEGER)", "INTERVAL")]
    ['list', 'decimal', 'enum', 'struct', 'interval']
    """
    if native.endswith("]"):
        return "list"
    head = native.partition("(")[0]
    return {"DECIMAL": "decimal", "ENUM": "enum"}.get(head) or _KINDS.get(native) or head.lower()
