"""`server_findings`: whether every declared constraint stands in the target, was checked on every row, and how many rows break it.

The server is asked twice: what its catalogue says (PostgreSQL: `convalidated`, `indisvalid`; SQLite: `foreign_key_check`,
`integrity_check`; DuckDB and MariaDB say nothing), and by counting the rows that would break each constraint, whether or not it is
declared there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.data.database import CheckConstraint, ForeignKey, Schema, ServerFinding, TableFacts
from sfumato.io.sql.introspect import schema_of
from sfumato.io.sql.link import Session, connect
from sfumato.io.sql.names import QUALIFIED, listed, quoted
from sfumato.io.sql.syntax import plain_condition
from sfumato.io.sql.translate import check_name
from sfumato.io.sql.trouble import plainly

_UNCHECKED = (
    f"SELECT {QUALIFIED.format('c')}, k.conname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE NOT k.convalidated"
)
_BROKEN = f"SELECT {QUALIFIED.format('c')} FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE NOT i.indisvalid"


@dataclass(frozen=True, slots=True)
class _Target:
    link: Session
    schema: Schema
    said: str
    """The dialect that the checks to be found are written in."""
    unchecked: frozenset[tuple[str, str]]
    """Constraints by table and name that the server has not checked."""
    suspect: frozenset[str]
    """Tables with an index or a row that the server itself calls broken."""

    def count(self, table: str, condition: str) -> int:
        return int(self.link.rows(f"SELECT count(*) FROM {self.link.relation(table)} AS c WHERE {condition}")[0][0])


def server_findings(target: str, schema: Schema, *, namespace: str | None = None) -> tuple[ServerFinding, ...]:
    """One finding for every key, not-null and check that `schema` declares."""
    with connect(target, namespace=namespace) as link, plainly("checking the target"):
        asked = _Target(link, schema_of(link), schema.dialect or link.dialect, *_server_says(link))
        there = {table.name: table for table in asked.schema.tables}
        return tuple(
            finding
            for table in schema.tables
            for finding in (_examine(asked, schema, table, there[table.name]) if table.name in there else [_absent(table)])
        )


def _server_says(link: Session) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    if link.dialect == "postgresql":
        unchecked = frozenset(
            (str(table), str(name)) for table, name in link.rows(f"{_UNCHECKED} AND {link.inside('c.relnamespace')}")
        )
        return unchecked, frozenset(str(row[0]) for row in link.rows(f"{_BROKEN} AND {link.inside('c.relnamespace')}"))
    if link.dialect in ("duckdb", "mariadb"):  # they say of no constraint that it was not checked; rows are counted all the same
        return frozenset(), frozenset()
    suspect = {str(row[0]) for row in link.rows("PRAGMA foreign_key_check")}
    if link.rows("PRAGMA integrity_check(1)") != [("ok",)]:
        suspect |= {str(row[0]) for row in link.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return frozenset(), frozenset(suspect)


def _absent(table: TableFacts) -> ServerFinding:
    return ServerFinding(table.name, "integrity", (), present=False, validated=False)


def _examine(asked: _Target, schema: Schema, table: TableFacts, there: TableFacts) -> Iterator[ServerFinding]:
    sound = table.name not in asked.suspect
    yield ServerFinding(table.name, "integrity", (), validated=sound)
    if table.primary_key:
        present = there.primary_key == table.primary_key
        yield ServerFinding(
            table.name, "primary key", table.primary_key, "", present, sound, _repeated(asked, table.name, table.primary_key)
        )
    for columns in table.uniques:
        present = columns in there.uniques
        yield ServerFinding(table.name, "unique", columns, "", present, sound, _repeated(asked, table.name, columns))
    yield from _required(asked, table, there, sound)
    for key in table.foreign_keys:
        yield _foreign(asked, key, there, sound)
    for number, check in enumerate(table.checks):
        yield _check(
            asked,
            table,
            there,
            check.name if schema.dialect == asked.schema.dialect else check_name(table, number, check),
            check,
            sound,
        )


def _repeated(asked: _Target, table: str, columns: tuple[str, ...]) -> int:
    """Groups of rows that share a key; a null is never the same as another."""
    known = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in columns)
    groups = f"SELECT 1 FROM {asked.link.relation(table)} WHERE {known} GROUP BY {listed(columns)} HAVING count(*) > 1"
    return int(asked.link.rows(f"SELECT count(*) FROM ({groups}) AS g")[0][0])


def _required(asked: _Target, table: TableFacts, there: TableFacts, sound: bool) -> Iterator[ServerFinding]:
    """All columns of a table in one pass."""
    names = [column.name for column in table.columns if not column.nullable and column.name in there.names]
    if not names:
        return
    counts = ", ".join(f"count(*) - count({quoted(name)})" for name in names)
    for name, nulls in zip(names, asked.link.rows(f"SELECT {counts} FROM {asked.link.relation(table.name)}")[0], strict=True):
        yield ServerFinding(table.name, "not null", (name,), "", not there.column(name).nullable, sound, int(nulls))


def _foreign(asked: _Target, key: ForeignKey, there: TableFacts, sound: bool) -> ServerFinding:
    shape = (key.columns, key.parent, key.parent_columns)
    found = next((one for one in there.foreign_keys if (one.columns, one.parent, one.parent_columns) == shape), None)
    known = " AND ".join(f"c.{quoted(name)} IS NOT NULL" for name in key.columns)
    pairs = zip(key.columns, key.parent_columns, strict=True)
    same = " AND ".join(f"p.{quoted(parent)} = c.{quoted(child)}" for child, parent in pairs)
    orphans = asked.count(key.table, f"{known} AND NOT EXISTS (SELECT 1 FROM {asked.link.relation(key.parent)} AS p WHERE {same})")
    validated = sound and found is not None and (key.table, found.name) not in asked.unchecked
    return ServerFinding(
        key.table, "foreign key", key.columns, found.name if found else key.name, found is not None, validated, orphans
    )


def _check(asked: _Target, table: TableFacts, there: TableFacts, name: str, check: CheckConstraint, sound: bool) -> ServerFinding:
    found = next((one for one in there.checks if (name and one.name == name) or one.sql.split() == check.sql.split()), None)
    if found is None:
        said = plain_condition(check.sql, table.names, asked.said)
        meant = (one for one in there.checks if said is not None)
        found = next((one for one in meant if plain_condition(one.sql, there.names, asked.schema.dialect) == said), None)
    if found is None:
        return ServerFinding(table.name, "check", (), name, present=False, validated=False)
    validated = sound and (table.name, found.name) not in asked.unchecked
    return ServerFinding(table.name, "check", (), found.name, True, validated, asked.count(table.name, f"NOT ({found.sql})"))
