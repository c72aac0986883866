"""`fill` and `clone` outside of PostgreSQL: rows into tables that are there, and a whole copy, of SQLite, DuckDB and MariaDB.

    fill    foreign keys sleep in SQLite and MariaDB and are asked for rows that name nothing at the end; DuckDB checks them row by
            row, and tables come in their order. Triggers are taken away and written down in the target, and made again at the end.
    clone   the tables as `create` makes them (by the source's own statements), then views, triggers, routines and comments by
            theirs. What cannot be copied exactly is refused by name before anything is read (`require_clonable`).

Invariants: as in `modes`; MariaDB ends a transaction with every such statement, so what is done there can be done twice: triggers
go only when they are written down, and the journal goes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sfumato.data.database import Schema, TableFacts
from sfumato.errors import DataError, PolicyError
from sfumato.io.sql import journal
from sfumato.io.sql.finish_load import no_orphans, settle, sqlite_holds
from sfumato.io.sql.link import Session, connect
from sfumato.io.sql.modes import Create, Tell, require_fit, unfinished
from sfumato.io.sql.names import literal, quoted
from sfumato.io.sql.prepare import alone_mariadb, needed_elsewhere
from sfumato.io.sql.trouble import plainly

_AFTER = "SELECT sql FROM sqlite_master WHERE type IN ('view', 'trigger') ORDER BY type DESC, rowid"
_VIEWS = "SELECT table_name, view_definition FROM information_schema.views WHERE table_schema = database()"
_VIRTUAL = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('virtual', 'shadow')"
_OF_SQLITE = "SELECT name, tbl_name, sql, '' FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"


class FillElsewhere(Create):
    """Rows only, into tables that are there."""

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> journal.Journal:
        with plainly("preparing the target"):
            if link.dialect == "mariadb":
                alone_mariadb(link)
            with link.transaction():
                found = unfinished(link, fingerprint)
                if found is None:
                    require_fit(link, plan)
                    old = _full(link, plan, replace)
                    journal.only_looking(fingerprint, old)
                    _write_down(link, {table.name for table in plan.tables})
                    journal.close(link)
                    journal.begin(link, fingerprint, old)
                    found = journal.Journal(fingerprint, {}, frozenset(old))
                journal.only_looking(fingerprint)
                for name, _, _ in _written(link):
                    link.run(f"DROP TRIGGER IF EXISTS {quoted(name)}")
                link.resume()
        return found

    def make(self, link: Session, plan: Schema, table: TableFacts, state: journal.Journal) -> list[str]:
        """Rows that are to be replaced, or that a transaction of MariaDB left behind, go first."""
        link.run(f"DELETE FROM {link.relation(table.name)}")
        return []

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with plainly("checking the keys of the target"), link.transaction():
            tell("checking foreign keys")
            if link.dialect == "sqlite":
                sqlite_holds(link)
            if link.dialect == "mariadb":
                no_orphans(link, plan)
            for _, statement, mode in _written(link):
                _made_again(link, statement, mode)
            link.run(f"DROP TABLE IF EXISTS {quoted(journal.ASIDE)}")
            journal.close(link)
            tell("all keys hold")


def _full(link: Session, plan: Schema, replace: bool) -> set[str]:
    """Tables that have rows."""
    full = {table.name for table in plan.tables if link.rows(f"SELECT 1 FROM {link.relation(table.name)} LIMIT 1")}
    if full and not replace:
        raise DataError(f"table '{min(full)}' of the target has rows already", hint="choose an empty target, or replace its rows")
    if full and link.dialect == "duckdb":
        raise DataError(
            f"table '{min(full)}' of the target has rows, and DuckDB's keys cannot sleep while they are replaced",
            hint="delete the rows first, or use 'create'",
        )
    if full and link.dialect == "mariadb":
        needed_elsewhere(link, {table.name for table in plan.tables})
    return full


def _triggers(link: Session) -> Iterator[tuple[str, str, str, str]]:
    """Name, table, statement and the mode it was written in."""
    if link.dialect == "sqlite":
        yield from ((str(name), str(table), str(sql), str(mode)) for name, table, sql, mode in link.rows(_OF_SQLITE))
    if link.dialect == "mariadb":
        named = "SELECT trigger_name, event_object_table FROM information_schema.triggers WHERE trigger_schema = database()"
        for name, table in sorted(link.rows(f"{named} ORDER BY action_order")):
            row = link.rows(f"SHOW CREATE TRIGGER {quoted(str(name))}")[0]
            yield str(name), str(table), _undefined(str(row[2])), str(row[1])


def _write_down(link: Session, tables: set[str]) -> None:
    link.run(f"DROP TABLE IF EXISTS {quoted(journal.ASIDE)}")
    link.run(f"CREATE TABLE {quoted(journal.ASIDE)} (place integer, name text, statement text, mode text)")
    link.resume()
    marks = ", ".join([link.mark] * 4)
    for place, (name, table, statement, mode) in enumerate(_triggers(link)):
        if table in tables:
            link.run(f"INSERT INTO {quoted(journal.ASIDE)} VALUES ({marks})", place, name, statement, mode)


def _written(link: Session) -> list[tuple[str, str, str]]:
    rows = link.rows(f"SELECT name, statement, mode FROM {quoted(journal.ASIDE)} ORDER BY place")
    return [(str(name), str(statement), str(mode)) for name, statement, mode in rows]


def _made_again(link: Session, statement: str, mode: str) -> None:
    """MariaDB reads a statement in the mode it was written in, and takes one that is there already for the same."""
    if link.dialect != "mariadb":
        link.run(statement)
        return
    before = str(link.rows("SELECT @@sql_mode, ''")[0][0])
    link.run(f"SET sql_mode = {literal(mode)}")
    try:
        link.run(statement.replace("CREATE ", "CREATE OR REPLACE ", 1))
    finally:
        link.run(f"SET sql_mode = {literal(before)}")


def _undefined(statement: str) -> str:
    """Without the user of the source who made it: who loads becomes its owner."""
    head, _, rest = statement.partition("DEFINER=")
    return head + rest.partition(" ")[2] if rest and len(head) < len("CREATE ALGORITHM=UNDEFINED OR REPLACE") else statement


@dataclass
class CloneElsewhere(Create):
    """Everything the source declares, by its own statements."""

    source: str

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> journal.Journal:
        found = journal.look(link)
        there = journal.existing(link)
        if found is None and there - {journal.JOURNAL}:
            raise DataError(f"the target has '{min(there)}' already", hint="a clone needs an empty database")
        return super().begin(link, plan, fingerprint, False)

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with connect(self.source) as source, plainly("reading what the source declares"):
            wanted = list(_declared(source))

        def rest() -> None:
            tell("making views and triggers")
            for statement, mode in wanted:
                _made_again(link, statement, mode)

        settle(link, plan, tell, rest)


def _declared(source: Session) -> Iterator[tuple[str, str]]:
    """Statements beyond the tables, with the mode they were written in, in an order in which they can be made."""
    if source.dialect == "sqlite":
        yield from ((str(sql), "") for (sql,) in source.rows(_AFTER))
        for setting in ("user_version", "application_id"):
            yield f"PRAGMA {setting} = {int(source.rows(f'PRAGMA {setting}')[0][0])}", ""
    elif source.dialect == "duckdb":
        mine = "NOT internal AND database_name = current_database()"
        views = {str(name): str(sql) for name, sql in source.rows(f"SELECT view_name, sql FROM duckdb_views() WHERE {mine}")}
        yield from ((views[name], "") for name in _in_order(views))
        yield from ((sentence, "") for sentence in _comments(source))
    else:
        yield from _of_mariadb(source)


def _comments(source: Session) -> Iterator[str]:
    mine = "NOT internal AND database_name = current_database() AND comment IS NOT NULL"
    for schema, table, text in source.rows(f"SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE {mine}"):
        yield f"COMMENT ON TABLE {quoted(schema)}.{quoted(table)} IS {literal(text)}"
    for schema, table, name, text in source.rows(
        f"SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() WHERE {mine}"
    ):
        yield f"COMMENT ON COLUMN {quoted(schema)}.{quoted(table)}.{quoted(name)} IS {literal(text)}"


def _of_mariadb(source: Session) -> Iterator[tuple[str, str]]:
    mode = str(source.rows("SELECT @@sql_mode, ''")[0][0])
    for name, kind in source.rows(
        "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = database() ORDER BY 2, 1"
    ):
        row = source.rows(f"SHOW CREATE {kind} {quoted(str(name))}")[0]
        yield _undefined(str(row[2])), str(row[1])
    for name in _in_order({str(name): str(text) for name, text in source.rows(_VIEWS)}):
        yield _undefined(str(source.rows(f"SHOW CREATE VIEW {quoted(name)}")[0][1])), mode
    yield from ((statement, written) for _, _, statement, written in _triggers(source))


def _in_order(texts: Mapping[str, str]) -> list[str]:
    """Views, those first whose names stand in the texts of others."""
    ordered: list[str] = []
    while waiting := [name for name in sorted(texts) if name not in ordered]:
        ready = [name for name in waiting if not any(_names(texts[name], other) for other in waiting if other != name)]
        ordered += ready or waiting
    return ordered


def _names(text: str, view: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(view)}(?!\w)", text) is not None


_REFUSED = {
    "sqlite": ((_VIRTUAL, "the virtual table"),),
    "duckdb": (
        ("SELECT type_name FROM duckdb_types() WHERE NOT internal AND database_name = current_database()", "the type"),
        ("SELECT function_name FROM duckdb_functions() WHERE NOT internal AND database_name = current_database()", "the macro"),
    ),
    "mariadb": (
        ("SELECT event_name FROM information_schema.events WHERE event_schema = database()", "the event"),
        (
            "SELECT table_name FROM information_schema.tables WHERE table_schema = database() "
            "AND table_type NOT IN ('BASE TABLE', 'VIEW')",
            "the sequence or versioned table",
        ),
    ),
}


def require_clonable(source: str) -> CloneElsewhere:
    """Refuses, before a row is read, what cannot be copied exactly."""
    with connect(source) as link, plainly("reading what the source declares"):
        for query, what in _REFUSED[link.dialect]:
            for (name,) in link.rows(query)[:1]:
                raise PolicyError(f"{what} '{name}' cannot be cloned", where="data.target", hint="use mode: create, or fill")
        if link.dialect == "mariadb":
            here = str(link.rows("SELECT database(), ''")[0][0])
            for statement, _ in _of_mariadb(link):
                if f"`{here}`." in statement or f" {here}." in statement:
                    said = f"a view, trigger or routine names its own database '{here}' and cannot be cloned"
                    raise PolicyError(said, where="data.target", hint="use mode: create, or fill")
    return CloneElsewhere(source)
