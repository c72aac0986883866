"""The end of a load, in one transaction: the server checks every key on every row, counters go past the highest number.

PostgreSQL builds keys and indexes over full tables, which is faster than row by row, and validates a foreign key when it is added.
SQLite has its keys from the beginning and is asked for violations; DuckDB refuses a row that breaks one when it comes;
MariaDB is asked for rows that name nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sfumato.data.database import Schema, TableFacts
from sfumato.errors import DataError
from sfumato.io.sql import journal
from sfumato.io.sql.link import Session
from sfumato.io.sql.names import literal, quoted
from sfumato.io.sql.trouble import plainly


def settle(link: Session, plan: Schema, tell: Callable[[str], None], also: Callable[[], None] = lambda: None) -> None:
    """Keys, indexes, counters, and what else belongs to the end; then the journal goes."""
    with plainly("checking the keys of the target"), link.transaction():
        if link.dialect == "postgresql":
            tell("building keys")
            add_constraints(link, plan, foreign=False)
            build_indexes(link, plan)
            tell("checking foreign keys")
            add_constraints(link, plan, foreign=True)
            counters(link, plan)
        else:
            tell("building keys")
            build_indexes(link, plan)
            tell("checking foreign keys")
            if link.dialect == "sqlite":
                sqlite_holds(link)
            if link.dialect == "mariadb":
                no_orphans(link, plan)
        also()
        journal.close(link)
        tell("all keys hold")


def add_constraints(link: Session, plan: Schema, *, foreign: bool) -> None:
    """Keys first, then what points at them; checks were there when the rows came, and SQLite has all from the beginning."""
    for table in plan.tables:
        for one in table.constraints:
            if one.sql.startswith("CHECK") or one.sql.startswith("FOREIGN KEY") != foreign:
                continue
            name = f"CONSTRAINT {quoted(one.name)} " if one.name else ""
            link.run(f"ALTER TABLE {link.relation(table.name)} ADD {name}{one.sql}")


def build_indexes(link: Session, plan: Schema) -> None:
    """Indexes beyond the keys."""
    for table in plan.tables:
        for statement in table.indexes:
            link.run(statement)


def counters(link: Session, plan: Schema, *, owned: bool = True) -> None:
    """Sequences past the highest number; `owned`: they belong to their columns from now on."""
    for table in plan.tables:
        for column in table.columns:
            if column.identity:
                _past(
                    link,
                    table,
                    column.name,
                    f"pg_get_serial_sequence({literal(link.relation(table.name))}, {literal(column.name)})",
                )
            elif column.sequence:
                _past(link, table, column.name, literal(link.relation(column.sequence)))
    for sequence in plan.sequences if owned else ():
        if sequence.owner[0] in {table.name for table in plan.tables}:
            owner = f"{link.relation(sequence.owner[0])}.{quoted(sequence.owner[1])}"
            link.run(f"ALTER SEQUENCE {link.relation(sequence.name)} OWNED BY {owner}")


def _past(link: Session, table: TableFacts, column: str, sequence: str) -> None:
    """Never backwards, since several columns may share a sequence; a number out of its bounds leaves it alone."""
    name = quoted(column)
    far = f"SELECT CASE WHEN q.seqincrement > 0 THEN max({name}) ELSE min({name}) END FROM {link.relation(table.name)}"
    link.run(f"""
        SELECT setval(q.seqrelid, f.number) FROM pg_sequence q CROSS JOIN LATERAL ({far}) AS f(number)
        WHERE q.seqrelid = {sequence}::regclass AND f.number BETWEEN q.seqmin AND q.seqmax
          AND (f.number - coalesce(pg_sequence_last_value(q.seqrelid), f.number)) * sign(q.seqincrement) >= 0""")


def no_orphans(link: Session, plan: Schema) -> None:
    """MariaDB's keys slept during the load; every one is asked for rows that name nothing."""
    for key in plan.foreign_keys:
        pairs = list(zip(key.columns, key.parent_columns, strict=True))
        same = " AND ".join(f"p.{quoted(parent)} = c.{quoted(child)}" for child, parent in pairs)
        known = " AND ".join(f"c.{quoted(child)} IS NOT NULL" for child, _ in pairs)
        lost = f"{known} AND NOT EXISTS (SELECT 1 FROM {quoted(key.parent)} AS p WHERE {same})"
        count = int(link.rows(f"SELECT count(*) FROM {quoted(key.table)} AS c WHERE {lost}")[0][0])
        if count:
            raise DataError(f"{count} rows of table '{key.table}' name a row that is not there")


def sqlite_holds(link: Session) -> None:
    """SQLite's own look at all rows."""
    broken = Counter(str(row[0]) for row in link.rows("PRAGMA foreign_key_check"))
    if broken:
        table, count = broken.most_common(1)[0]
        raise DataError(f"{count} rows of table '{table}' name a row that is not there")
    if link.rows("PRAGMA integrity_check(1)") != [("ok",)]:
        raise DataError("SQLite finds the target damaged", hint="load into a new file")
