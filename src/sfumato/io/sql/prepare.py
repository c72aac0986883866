"""The beginning of a load: everything that can be refused is refused here, in a transaction that changes nothing then."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from sfumato.data.database import Schema
from sfumato.errors import DataError
from sfumato.io.sql import journal
from sfumato.io.sql.address import FILES
from sfumato.io.sql.create import drop_all, make_table, rehearse_mariadb
from sfumato.io.sql.duckdb_link import trial
from sfumato.io.sql.finish_load import add_constraints, build_indexes
from sfumato.io.sql.link import Session
from sfumato.io.sql.names import quoted
from sfumato.io.sql.postgres_types import Types
from sfumato.io.sql.trouble import plainly

_LOCK = "SELECT pg_advisory_lock(hashtextextended('sfumato load ' || current_schema(), 0))"
_CREW = "hashtextextended('sfumato crew ' || current_schema(), 0)"


def begin_load(link: Session, plan: Schema, fingerprint: str, replace: bool) -> journal.Journal:
    """The journal to go on with: of a new load, or of the same load cut off earlier."""
    with plainly("preparing the target"):
        if link.dialect == "postgresql":
            alone(link)
        if link.dialect == "mariadb":
            alone_mariadb(link)
        with link.transaction():
            found = journal.look(link)
            if found and fingerprint in (found.fingerprint, journal.REHEARSAL):
                return found
            if found and not replace:
                raise DataError(
                    "the target holds an unfinished load of another release", hint="finish that one, or replace its tables"
                )
            _make_schemas(link, plan)
            if link.dialect == "postgresql":
                check_types(link, plan)
            old = _old_tables(link, plan, replace)
            if link.dialect == "mariadb":
                needed_elsewhere(link, old)
            _rehearse(link, plan, old, replace)
            journal.only_looking(fingerprint, old)
            journal.close(link)
            if link.dialect == "duckdb":
                drop_all(link, plan, old)
                old = set()
            journal.begin(link, fingerprint, old)
            _declare_types(link, plan)
            _declare_functions(link, plan)
    return journal.Journal(fingerprint, {}, frozenset(old))


def alone(link: Session) -> None:
    """Waits a little for an earlier run that the server has not noticed to be gone."""
    import psycopg

    link.run("SET lock_timeout = '20s'")
    link.run("SET statement_timeout = 0")
    try:
        link.run(_LOCK)
        link.run(f"SELECT pg_advisory_lock({_CREW})")  # whoever loads a table for a run that was killed may still be ending it
        link.run(f"SELECT pg_advisory_unlock({_CREW})")
    except psycopg.errors.LockNotAvailable:
        raise DataError("another load into this target is running", hint="wait for it to end") from None
    if not link.rows("SELECT has_schema_privilege(current_schema(), 'CREATE')")[0][0]:
        raise DataError("missing rights: the user may not create tables in the target", hint="grant CREATE on its schema")


def join_crew(link: Session) -> None:
    """A session that loads one of several tables: the next run waits until all of them are gone."""
    link.run(f"SELECT pg_advisory_lock_shared({_CREW})")
    link.run("SET statement_timeout = 0")


def alone_mariadb(link: Session) -> None:
    """The same for MariaDB."""
    if str(link.rows("SELECT GET_LOCK(CONCAT('sfumato load ', LEFT(SHA1(database()), 40)), 20)")[0][0]) != "1":
        raise DataError("another load into this target is running", hint="wait for it to end")


def needed_elsewhere(link: Session, tables: set[str]) -> None:
    """Keys are asleep while tables are replaced, so a table that stays and refers to one of them is asked for before."""
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
    there = journal.existing(link)
    folded = {name.lower() for name in there}  # files tell names apart without regard to case
    found = {name for name in wanted if name.lower() in folded} if link.dialect in FILES else there & wanted
    if found and not replace:
        raise DataError(f"the target has a table '{min(found)}' already", hint="choose an empty target, or replace its tables")
    if found and link.dialect in FILES and found & _views(link):
        raise DataError(f"the target has a view '{min(found & _views(link))}'", hint="choose an empty target")
    return found


def _views(link: Session) -> set[str]:
    listed = (
        "sqlite_master WHERE type = 'view'" if link.dialect == "sqlite" else "information_schema.tables WHERE table_type = 'VIEW'"
    )
    return {str(row[0]) for row in link.rows(f"SELECT {'name' if link.dialect == 'sqlite' else 'table_name'} FROM {listed}")}


def _rehearse(link: Session, plan: Schema, old: set[str], replace: bool) -> None:
    """Makes everything without rows and takes it back, so that what the target cannot make is known before anything changes."""
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
    taken = [one.name for one in plan.sequences if link.rows("SELECT to_regclass(%s)", link.relation(one.name))[0][0] is not None]
    if taken and not replace:
        raise DataError(f"the target has a sequence '{taken[0]}' already", hint="choose an empty target, or replace its tables")
    _declare_types(link, plan)
    _declare_functions(link, plan)
    _make_all(link, plan)
    link.run("ROLLBACK TO SAVEPOINT rehearsal")


def _in_memory(dialect: str) -> Any:
    return sqlite3.connect(":memory:", isolation_level=None) if dialect == "sqlite" else trial()


def _make_all(link: Session, plan: Schema) -> None:
    for table in plan.tables:
        with plainly(f"making table '{table.name}'"):
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
            "something else in the target needs the tables to be replaced", hint="drop it first, or choose an empty target"
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
