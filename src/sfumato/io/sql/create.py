"""The statements that make tables: bare ones first in PostgreSQL, whole ones in servers that cannot add constraints later."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import replace

from sfumato.data.database import ColumnFacts, Schema, TableFacts
from sfumato.io.sql.duckdb_link import trial
from sfumato.io.sql.link import Session
from sfumato.io.sql.names import listed, literal, quoted
from sfumato.io.sql.translate import foreign_key_sql
from sfumato.io.sql.trouble import plainly


def create_statement(table: TableFacts, dialect: str, relation: Callable[[str], str] = quoted) -> str:
    """One CREATE TABLE; `relation` spells names of tables and sequences."""
    if dialect == "postgresql":
        return f"CREATE TABLE {relation(table.name)} ({', '.join(_postgres_column(c, relation) for c in table.columns)})"
    return table.sql or _whole_table(table, dialect, relation)


def _postgres_column(column: ColumnFacts, relation: Callable[[str], str]) -> str:
    parts = [quoted(column.name), column.native]
    if column.collation:
        parts.append(f"COLLATE {column.collation}")
    if column.computed:
        parts.append(f"GENERATED ALWAYS AS ({column.computed}) STORED")
    elif column.identity:
        parts.append(f"GENERATED {column.identity} AS IDENTITY" + (f" ({column.numbering})" if column.numbering else ""))
    elif column.sequence:
        parts.append(f"DEFAULT nextval({literal(relation(column.sequence))}::regclass)")
    elif column.default is not None:
        parts.append(f"DEFAULT {column.default}")
    return " ".join(parts if column.nullable else [*parts, "NOT NULL"])


_COMPUTED = {"sqlite": "STORED", "duckdb": "VIRTUAL", "mariadb": "STORED"}
_EXACT = " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
"""Texts of other servers are told apart exactly."""


def _whole_table(table: TableFacts, dialect: str, relation: Callable[[str], str]) -> str:
    numbered = next((column.name for column in table.columns if column.identity in ("AUTOINCREMENT", "ROWID")), "")
    parts = [_whole_column(column, column.name == numbered, dialect, relation) for column in table.columns]
    if table.primary_key and not numbered:
        parts.append(f"PRIMARY KEY ({listed(table.primary_key)})")
    parts += [f"UNIQUE ({listed(columns)})" for columns in table.uniques]
    parts += [(f"CONSTRAINT {quoted(one.name)} " if one.name else "") + f"CHECK ({one.sql})" for one in table.checks]
    parts += [foreign_key_sql(key, relation, dialect) for key in table.foreign_keys]
    return f"CREATE TABLE {relation(table.name)} ({', '.join(parts)}){_EXACT if dialect == 'mariadb' else ''}"


def _whole_column(column: ColumnFacts, numbered: bool, dialect: str, relation: Callable[[str], str]) -> str:
    parts = [quoted(column.name), column.native]
    if numbered:
        parts.append("PRIMARY KEY" + (" AUTOINCREMENT" if column.identity == "AUTOINCREMENT" else ""))
    if column.computed:
        parts.append(f"GENERATED ALWAYS AS ({column.computed}) {_COMPUTED[dialect]}")
    elif column.identity == "AUTO_INCREMENT":
        parts.append("AUTO_INCREMENT")
    elif column.sequence:
        parts.append(f"DEFAULT nextval({literal(relation(column.sequence))})")
    elif column.default is not None and not numbered:
        parts.append(f"DEFAULT {column.default}")
    return " ".join(parts if column.nullable or column.computed else [*parts, "NOT NULL"])


def _sequences_of(schema: Schema, table: TableFacts) -> list[str]:
    """Statements for the sequences that a table's defaults ask; those that are there already stay."""
    used = {column.sequence for column in table.columns if column.sequence}
    return [one.sql.replace("CREATE SEQUENCE", "CREATE SEQUENCE IF NOT EXISTS", 1) for one in schema.sequences if one.name in used]


def make_table(link: Session, plan: Schema, table: TableFacts) -> list[str]:
    """An empty table with its checks; sentences about those the target does not understand."""
    if link.dialect != "postgresql":
        return _make_whole(link, plan, table)
    for statement in _sequences_of(plan, table):
        link.run(statement)
    link.run(create_statement(table, link.dialect, link.relation))
    return [
        sentence
        for one in table.constraints
        if one.sql.startswith("CHECK")
        for sentence in _add_check(link, table, one.name, one.sql)
    ]


def drop_table(link: Session, name: str) -> None:
    """Keys of tables that wait to be replaced themselves may still point here."""
    if link.dialect == "postgresql":
        pointing = "FROM pg_constraint WHERE contype = 'f' AND confrelid = %s::regclass"
        for table, constraint in link.rows(
            f"SELECT conrelid::regclass::text, quote_ident(conname) {pointing}", link.relation(name)
        ):
            link.run(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}")
    link.run(f"DROP TABLE {link.relation(name)}")


def drop_all(link: Session, plan: Schema, names: set[str]) -> None:
    """Tables at once, those that refer to others first; whatever else needs them is nothing to be swept away."""
    known = {name.lower(): name for name in names}
    for table in reversed(plan.tables):
        if table.name.lower() in known:
            link.run(f"DROP TABLE {link.relation(table.name)}")
    used = {column.sequence for table in plan.tables for column in table.columns if column.sequence}
    for name in used if names else ():
        link.run(f"DROP SEQUENCE IF EXISTS {link.relation(name)}")


def _add_check(link: Session, table: TableFacts, name: str, sql: str) -> list[str]:
    import psycopg

    link.run("SAVEPOINT condition")
    try:
        link.run(f"ALTER TABLE {link.relation(table.name)} ADD CONSTRAINT {quoted(name)} {sql}")
    except psycopg.Error as error:
        if (error.sqlstate or "")[:2] not in ("0A", "42") or error.sqlstate == "42501":
            raise
        link.run("ROLLBACK TO SAVEPOINT condition")
        return [f"the target does not understand the check '{name}' of table '{table.name}'"]
    link.run("RELEASE SAVEPOINT condition")
    return []


def _make_whole(link: Session, plan: Schema, table: TableFacts) -> list[str]:
    """A table with everything it declares; a check of another dialect is tried on an empty database first."""
    for statement in _sequences_of(plan, table):
        link.run(statement)
    if link.dialect == "mariadb":
        link.run(f"DROP TABLE IF EXISTS {quoted(table.name)}")
    kept, lost = [], []
    for one in table.checks:
        if table.sql or _understood(link, replace(table, checks=(one,))):
            kept.append(one)
        else:
            lost.append(f"the target does not understand the check '{one.name}' of table '{table.name}'")
    link.run(create_statement(replace(table, checks=tuple(kept)), link.dialect, link.relation))
    link.resume()
    return lost


def rehearse_mariadb(link: Session, plan: Schema) -> None:
    """Tables of another server are made for a moment, without rows and keys between them; its own statements need no trial."""
    for table in plan.tables:
        if not table.sql:
            with plainly(f"making table '{table.name}'"):
                _for_a_moment(link, replace(table, checks=()))


def _for_a_moment(link: Session, table: TableFacts) -> None:
    alone = replace(table, name="_sfumato_trial", foreign_keys=())
    link.run("DROP TEMPORARY TABLE IF EXISTS _sfumato_trial")
    link.run(create_statement(alone, "mariadb").replace("CREATE TABLE", "CREATE TEMPORARY TABLE", 1))
    link.run("DROP TEMPORARY TABLE _sfumato_trial")


def _understood(link: Session, table: TableFacts) -> bool:
    """Whether the columns and checks of a table can be made, without defaults and without what it refers to."""
    columns = tuple(replace(column, default=None, sequence="") for column in table.columns)
    alone = replace(table, name="trial", columns=columns, foreign_keys=())
    with contextlib.closing(sqlite3.connect(":memory:") if link.dialect == "sqlite" else trial()) as raw:
        try:
            if link.dialect == "mariadb":
                _for_a_moment(link, alone)
            else:
                raw.execute(create_statement(alone, link.dialect))
        except Exception:
            return False
    return True
