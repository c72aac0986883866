"""The beginning of a load: everything that can be refused is refused here, in a transaction that changes nothing then.


Create
------
The statements that make tables: bare ones first in PostgreSQL, whole ones in servers that cannot add constraints later.


Finish load
-----------
The end of a load, in one transaction: the server checks every key on every row, counters go past the highest number.

PostgreSQL builds keys and indexes over full tables, which is faster than row by row, and validates a foreign key when
it is added. SQLite has its keys from the beginning and is asked for violations; DuckDB refuses a row that breaks one
when it comes; MariaDB is asked for rows that name nothing."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sfumato.core.errors import DataError
from sfumato.data.database import ColumnFacts, Schema, TableFacts
from sfumato.io.sql import load_journal
from sfumato.io.sql.addresses import FILES, listed, literal, quoted
from sfumato.io.sql.connection import Session
from sfumato.io.sql.dialects import foreign_key_sql
from sfumato.io.sql.duckdb_driver import trial
from sfumato.io.sql.postgres_schema import Types
from sfumato.io.sql.server_errors import plain_server_errors

_LOCK = "SELECT pg_advisory_lock(hashtextextended('sfumato load ' || current_schema(), 0))"
_CREW = "hashtextextended('sfumato crew ' || current_schema(), 0)"


def begin_load(link: Session, plan: Schema, fingerprint: str, replace: bool) -> load_journal.Journal:
    """The journal to go on with: of a new load, or of the same load cut off earlier."""
    with plain_server_errors("preparing the target"):
        if link.dialect == "postgresql":
            wait_until_alone(link)
        if link.dialect == "mariadb":
            wait_until_alone_mariadb(link)
        with link.transaction():
            found = load_journal.look(link)
            if found and fingerprint in (found.fingerprint, load_journal.REHEARSAL):
                return found
            if found and not replace:
                raise DataError(
                    "the target holds an unfinished load of another release",
                    hint="finish that one, or replace its tables",
                )
            _make_schemas(link, plan)
            if link.dialect == "postgresql":
                check_types(link, plan)
            old = _old_tables(link, plan, replace)
            if link.dialect == "mariadb":
                require_not_referenced(link, old)
            _rehearse(link, plan, old, replace)
            load_journal.only_looking(fingerprint, old)
            load_journal.close(link)
            if link.dialect == "duckdb":
                drop_all(link, plan, old)
                old = set()
            load_journal.begin(link, fingerprint, old)
            _declare_types(link, plan)
            _declare_functions(link, plan)
    return load_journal.Journal(fingerprint, {}, frozenset(old))


def wait_until_alone(link: Session) -> None:
    """Waits a little for an earlier run that the server has not noticed to be gone."""
    import psycopg

    link.run("SET lock_timeout = '20s'")
    link.run("SET statement_timeout = 0")
    try:
        link.run(_LOCK)
        link.run(f"SELECT pg_advisory_lock({_CREW})")  # a worker of a killed run may still be finishing its table
        link.run(f"SELECT pg_advisory_unlock({_CREW})")
    except psycopg.errors.LockNotAvailable:
        raise DataError("another load into this target is running", hint="wait for it to end") from None
    if not link.rows("SELECT has_schema_privilege(current_schema(), 'CREATE')")[0][0]:
        raise DataError(
            "missing rights: the user may not create tables in the target", hint="grant CREATE on its schema"
        )


def join_parallel_load(link: Session) -> None:
    """A session that loads one of several tables: the next run waits until all of them are gone."""
    link.run(f"SELECT pg_advisory_lock_shared({_CREW})")
    link.run("SET statement_timeout = 0")


def wait_until_alone_mariadb(link: Session) -> None:
    """The same for MariaDB."""
    if str(link.rows("SELECT GET_LOCK(CONCAT('sfumato load ', LEFT(SHA1(database()), 40)), 20)")[0][0]) != "1":
        raise DataError("another load into this target is running", hint="wait for it to end")


def require_not_referenced(link: Session, tables: set[str]) -> None:
    """Keys are asleep while tables are replaced, so a table that stays and refers to one of them is asked for
    before."""
    pairs = link.rows(
        "SELECT DISTINCT table_name, referenced_table_name FROM information_schema.key_column_usage "
        "WHERE referenced_table_schema = database() AND referenced_table_name IS NOT NULL"
    )
    if any(parent in tables and child not in tables for child, parent in pairs):
        raise DataError("something else in the target needs the tables to be replaced", hint="choose an empty target")


def check_types(link: Session, plan: Schema) -> None:
    """Every type must be known to the target before anything changes there."""
    ours = {one.name for one in plan.types}
    for table in plan.tables:
        for column in table.columns:
            if column.type_name in ours:
                continue
            if link.rows("SELECT to_regtype(%s)", column.native)[0][0] is None:
                raise DataError(
                    f"the target does not know the type '{column.native}'",
                    where=f"table '{table.name}', column '{column.name}'",
                    hint="install the extension that brings it, or leave the table out",
                )


def _make_schemas(link: Session, plan: Schema) -> None:
    """Schemas beside the current one; the session knows them from now on."""
    if link.dialect in ("postgresql", "duckdb"):
        for name in plan.others:
            link.run(f"CREATE SCHEMA IF NOT EXISTS {quoted(name)}")
            link.others.add(name)


def _old_tables(link: Session, plan: Schema, replace: bool) -> set[str]:
    """Tables that stand where ours will stand."""
    wanted = {table.name for table in plan.tables}
    there = load_journal.existing(link)
    folded = {name.lower() for name in there}  # files tell names apart without regard to case
    found = {name for name in wanted if name.lower() in folded} if link.dialect in FILES else there & wanted
    if found and not replace:
        raise DataError(
            f"the target has a table '{min(found)}' already", hint="choose an empty target, or replace its tables"
        )
    if found and link.dialect in FILES and found & _views(link):
        raise DataError(f"the target has a view '{min(found & _views(link))}'", hint="choose an empty target")
    return found


def _views(link: Session) -> set[str]:
    listed = (
        "sqlite_master WHERE type = 'view'"
        if link.dialect == "sqlite"
        else "information_schema.tables WHERE table_type = 'VIEW'"
    )
    return {
        str(row[0]) for row in link.rows(f"SELECT {'name' if link.dialect == 'sqlite' else 'table_name'} FROM {listed}")
    }


def _rehearse(link: Session, plan: Schema, old: set[str], replace: bool) -> None:
    """Makes everything without rows and takes it back, so that what the target cannot make is known before anything
    changes."""
    if link.dialect in FILES:
        with contextlib.closing(_in_memory(link.dialect)) as raw:
            rehearsal = Session(link.dialect, raw)
            _make_schemas(rehearsal, plan)
            _make_all(rehearsal, plan)
        return
    if link.dialect == "mariadb":
        rehearse_mariadb(link, plan)
        return
    link.run("SAVEPOINT rehearsal")
    if old:
        _drop_together(link, old)
    taken = [
        one.name
        for one in plan.sequences
        if link.rows("SELECT to_regclass(%s)", link.relation(one.name))[0][0] is not None
    ]
    if taken and not replace:
        raise DataError(
            f"the target has a sequence '{taken[0]}' already", hint="choose an empty target, or replace its tables"
        )
    _declare_types(link, plan)
    _declare_functions(link, plan)
    _make_all(link, plan)
    link.run("ROLLBACK TO SAVEPOINT rehearsal")


def _in_memory(dialect: str) -> Any:
    return sqlite3.connect(":memory:", isolation_level=None) if dialect == "sqlite" else trial()


def _make_all(link: Session, plan: Schema) -> None:
    for table in plan.tables:
        with plain_server_errors(f"making table '{table.name}'"):
            make_table(link, plan, table)
    if link.dialect == "postgresql":
        add_constraints(link, plan, foreign=False)
    build_indexes(link, plan)
    if link.dialect == "postgresql":
        add_constraints(link, plan, foreign=True)
    if link.dialect == "sqlite":
        link.run("PRAGMA foreign_key_check")


def _drop_together(link: Session, tables: set[str]) -> None:
    """A view or another table that needs these is nothing to be swept away."""
    import psycopg

    try:
        link.run(f"DROP TABLE {', '.join(map(link.relation, sorted(tables)))}")
    except (psycopg.errors.DependentObjectsStillExist, psycopg.errors.WrongObjectType):
        raise DataError(
            "something else in the target needs the tables to be replaced",
            hint="drop it first, or choose an empty target",
        ) from None


def _declare_functions(link: Session, plan: Schema) -> None:
    """Functions that checks, defaults, computed columns and indexes call; one that is there already stays as it is."""
    if not plan.functions:
        return
    link.run("SET LOCAL check_function_bodies = off")
    for one in plan.functions:
        if link.rows("SELECT to_regprocedure(%s)", one.name)[0][0] is None:
            link.run(one.sql)


def _declare_types(link: Session, plan: Schema) -> None:
    """Creates enums, domains and composites; one that is there must be the same."""
    known = Types(link) if plan.types else None
    for one in plan.types:
        there = known.statement_of(one.name) if known else None
        if there is None:
            link.run(one.sql)
        elif there != one.sql:
            raise DataError(f"the target has another type called '{one.name}'", hint="choose an empty target")


# Create
# ------


def create_statement(table: TableFacts, dialect: str, relation: Callable[[str], str] = quoted) -> str:
    """One CREATE TABLE; `relation` spells names of tables and sequences."""
    if dialect == "postgresql":
        return (
            f"CREATE TABLE {relation(table.name)} ({', '.join(_postgres_column(c, relation) for c in table.columns)})"
        )
    return table.sql or _whole_table(table, dialect, relation)


def _postgres_column(column: ColumnFacts, relation: Callable[[str], str]) -> str:
    parts = [quoted(column.name), column.native]
    if column.collation:
        parts.append(f"COLLATE {column.collation}")
    if column.computed:
        parts.append(f"GENERATED ALWAYS AS ({column.computed}) STORED")
    elif column.identity:
        parts.append(
            f"GENERATED {column.identity} AS IDENTITY" + (f" ({column.numbering})" if column.numbering else "")
        )
    elif column.sequence:
        parts.append(f"DEFAULT nextval({literal(relation(column.sequence))}::regclass)")
    elif column.default is not None:
        parts.append(f"DEFAULT {column.default}")
    return " ".join(parts if column.nullable else [*parts, "NOT NULL"])


_COMPUTED = {"sqlite": "STORED", "duckdb": "VIRTUAL", "mariadb": "STORED"}
_EXACT = " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
"""Other servers compare texts exactly."""


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
    return [
        one.sql.replace("CREATE SEQUENCE", "CREATE SEQUENCE IF NOT EXISTS", 1)
        for one in schema.sequences
        if one.name in used
    ]


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
    """Tables of another server are made for a moment, without rows and keys between them; its own statements need no
    trial."""
    for table in plan.tables:
        if not table.sql:
            with plain_server_errors(f"making table '{table.name}'"):
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


# Finish load
# -----------


def finish_load(
    link: Session, plan: Schema, tell: Callable[[str], None], also: Callable[[], None] = lambda: None
) -> None:
    """Keys, indexes, counters, and what else belongs to the end; then the journal goes."""
    with plain_server_errors("checking the keys of the target"), link.transaction():
        if link.dialect == "postgresql":
            tell("building keys")
            add_constraints(link, plan, foreign=False)
            build_indexes(link, plan)
            tell("checking foreign keys")
            add_constraints(link, plan, foreign=True)
            advance_sequences(link, plan)
        else:
            tell("building keys")
            build_indexes(link, plan)
            tell("checking foreign keys")
            if link.dialect == "sqlite":
                sqlite_holds(link)
            if link.dialect == "mariadb":
                require_no_orphans(link, plan)
        also()
        load_journal.close(link)
        tell("all keys hold")


def add_constraints(link: Session, plan: Schema, *, foreign: bool) -> None:
    """Keys first, then what points at them; checks were there when the rows came, and SQLite has all from the
    beginning."""
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


def advance_sequences(link: Session, plan: Schema, *, owned: bool = True) -> None:
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


def require_no_orphans(link: Session, plan: Schema) -> None:
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
