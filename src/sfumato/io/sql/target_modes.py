"""How a target gets its tables: `create` makes them from the schema, `fill` finds them there, `clone` copies all of the
source.

    create   tables, keys, checks, indexes, sequences and the functions they call; views, triggers, partitions are left
             out
    fill     an application's migrations have made the tables; only rows are loaded. Foreign keys and triggers of the
             target are set aside for the load and put back, checked, in the last transaction
    clone    everything that `pg_dump --schema-only` knows: functions, views, materialized views (refreshed), triggers,
             partitions, inheritance, row security, comments, sequences; rights only when asked for

Invariants: a mode begins in one transaction together with the journal and ends in one together with its removal, so
that a load cut off anywhere goes on with the same command; what was set aside is written down in the target itself.


Modes elsewhere
---------------
`fill` and `clone` outside of PostgreSQL: rows into tables that are there, and a whole copy, of SQLite, DuckDB and
MariaDB.

    fill    foreign keys sleep in SQLite and MariaDB and are asked for rows that name nothing at the end; DuckDB checks
            them row by row, and tables come in their order. Triggers are taken away and written down in the target, and
            made again at the end.
    clone   the tables as `create` makes them (by the source's own statements), then views, triggers, routines and
            comments by theirs. What cannot be copied exactly is refused by name before anything is read
            (`require_clonable`).

Invariants: as in `modes`; MariaDB ends a transaction with every such statement, so what is done there can be done
twice: triggers go only when they are written down, and the journal goes last.


Dumping
-------
A database's schema as PostgreSQL's own `pg_dump` writes it, carried out in a session; no shell, no password in a
command."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sfumato.core.errors import DataError, PolicyError
from sfumato.data.database import Schema, TableFacts
from sfumato.io.sql import load_journal
from sfumato.io.sql.addresses import address_of, literal, quoted
from sfumato.io.sql.connection import SPELLING, Session, connect
from sfumato.io.sql.postgres_dumps import environment_of, program
from sfumato.io.sql.schema_reading import schema_of
from sfumato.io.sql.server_errors import plain_server_errors
from sfumato.io.sql.target_preparation import (
    advance_sequences,
    begin_load,
    drop_table,
    finish_load,
    make_table,
    require_no_orphans,
    require_not_referenced,
    sqlite_holds,
    wait_until_alone,
    wait_until_alone_mariadb,
)

_KEYS = """
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname),
       format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
FROM pg_constraint k WHERE k.contype = 'f' AND k.conparentid = 0
  AND (k.conrelid = ANY ({0}) OR k.confrelid = ANY ({0}))"""
_VIEWS = "SELECT format('%I.%I', schemaname, matviewname) FROM pg_matviews WHERE NOT ispopulated ORDER BY 1"
_OWN_VIEWS = """
WITH RECURSIVE above(oid, depth) AS (
  SELECT oid, 0 FROM pg_class WHERE relkind = 'm'
  UNION SELECT r.ev_class, depth + 1 FROM above JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass
    AND d.refobjid = above.oid
    JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid WHERE r.ev_class <> above.oid
      AND depth < 99)
SELECT oid::regclass::text FROM above JOIN pg_class v USING (oid) WHERE relkind = 'm' AND pg_has_role(v.relowner,
  'USAGE')
GROUP BY oid ORDER BY max(depth), 1"""
"""Views of views last; one that is filled already is refreshed as well, for it was made before the rows came."""
Tell = Callable[[str], None]


class Create:
    """Tables made from what the schema declares."""

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> load_journal.Journal:
        return begin_load(link, plan, fingerprint, replace)

    def make(self, link: Session, plan: Schema, table: TableFacts, state: load_journal.Journal) -> list[str]:
        """Inside a table's transaction: the empty table; sentences about what the target did not take."""
        if table.name in state.old:
            drop_table(link, table.name)
        return make_table(link, plan, table)

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        finish_load(link, plan, tell)


class Fill(Create):
    """Rows only, into tables of PostgreSQL that are there; other servers: `modes_elsewhere`."""

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> load_journal.Journal:
        _postgres_only(link, "fill")
        with plain_server_errors("preparing the target"):
            wait_until_alone(link)
            with link.transaction():
                found = unfinished(link, fingerprint)
                if found is not None:
                    return found
                require_fit(link, plan)
                load_journal.only_looking(fingerprint, self._empty(link, plan, replace))
                load_journal.close(link)
                load_journal.begin(link, fingerprint, ())
                _set_aside(link, plan)
        return load_journal.Journal(fingerprint, {}, frozenset())

    def _empty(self, link: Session, plan: Schema, replace: bool) -> list[str]:
        """The tables that had rows."""
        full = [table.name for table in plan.tables if link.rows(f"SELECT 1 FROM {link.relation(table.name)} LIMIT 1")]
        if full and not replace:
            raise DataError(
                f"table '{full[0]}' of the target has rows already", hint="choose an empty target, or replace its rows"
            )
        if full:
            link.run(f"TRUNCATE {', '.join(link.relation(table.name) for table in plan.tables)} CASCADE")
        return full

    def make(self, link: Session, plan: Schema, table: TableFacts, state: load_journal.Journal) -> list[str]:
        return []

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with plain_server_errors("checking the keys of the target"), link.transaction():
            tell("checking foreign keys")
            for (statement,) in link.rows(f"SELECT statement FROM {quoted(load_journal.ASIDE)} ORDER BY place"):
                link.run(statement)
            advance_sequences(link, plan)
            tell("refreshing views")
            _refresh(link, _OWN_VIEWS)
            link.run(f"DROP TABLE {quoted(load_journal.ASIDE)}")
            load_journal.close(link)
            tell("all keys hold")


@dataclass
class Clone(Create):
    """Everything a PostgreSQL source declares, as its own tool writes it down; other servers: `modes_elsewhere`."""

    source: str
    grants: bool = False

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> load_journal.Journal:
        _postgres_only(link, "clone")
        with plain_server_errors("preparing the target"):
            wait_until_alone(link)
            with link.transaction():
                found = unfinished(link, fingerprint)
                if found is not None:
                    return found
                if load_journal.existing(link):
                    name = min(load_journal.existing(link))
                    raise DataError(f"the target has '{name}' already", hint="a clone needs an empty database")
                Dump(self.source, self.grants).run(link, "pre-data")
                load_journal.only_looking(fingerprint)
                link.others.update(plan.others)
                load_journal.begin(link, fingerprint, ())
        return load_journal.Journal(fingerprint, {}, frozenset())

    def make(self, link: Session, plan: Schema, table: TableFacts, state: load_journal.Journal) -> list[str]:
        return []

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with plain_server_errors("checking the keys of the target"), link.transaction():
            tell("building keys")
            Dump(self.source, self.grants).run(link, "post-data")
            advance_sequences(link, plan, owned=False)
            tell("refreshing views")
            _refresh(link)
            load_journal.close(link)
            tell("all keys hold")


def _postgres_only(link: Session, mode: str) -> None:
    if link.dialect != "postgresql":
        raise DataError(f"a target of this kind cannot be loaded with mode '{mode}'", hint="use 'create'")


def unfinished(link: Session, fingerprint: str) -> load_journal.Journal | None:
    """The same load, cut off earlier; another one is in the way."""
    found = load_journal.look(link)
    if found is not None and fingerprint in (found.fingerprint, load_journal.REHEARSAL):
        return found
    if found is not None:
        raise DataError(
            "the target holds an unfinished load of another release",
            hint="finish that one, or begin with a fresh target",
        )
    return None


def require_fit(link: Session, plan: Schema) -> None:
    """Every table and column that will be loaded is there with its type, and nothing else needs a value."""
    there = {table.name: table for table in schema_of(link).tables}
    for table in plan.tables:
        if table.name not in there:
            raise DataError(
                f"the target has no table '{table.name}'",
                hint="run the application's migrations first, or use another mode",
            )
        known = {column.name: column for column in there[table.name].columns}
        for name in table.written:
            wanted = table.column(name)
            if name not in known or known[name].computed:
                raise DataError(
                    f"the target has no column '{table.name}.{name}' to fill",
                    hint="run the same migrations as in the source",
                )
            if known[name].kind != wanted.kind:
                raise DataError(
                    f"'{table.name}.{name}' is {known[name].native} in the target and {wanted.native} in the source"
                )
        for name, column in known.items():
            needed = not column.nullable and column.default is None and not column.generated
            if needed and name not in table.written:
                raise DataError(f"the target needs a value for '{table.name}.{name}', which the source does not have")


def _set_aside(link: Session, plan: Schema) -> None:
    """Record foreign keys and triggers, so that the last transaction of any run can restore them."""
    link.run(f"CREATE TABLE {quoted(load_journal.ASIDE)} (place serial, statement text)")
    for statement in set_keys_aside(link, plan):
        link.run(f"INSERT INTO {quoted(load_journal.ASIDE)} (statement) VALUES (%s)", statement)


def set_keys_aside(link: Session, plan: Schema) -> list[str]:
    """Drop foreign keys and disable triggers of PostgreSQL; the statements that put them back."""
    again = []
    names = ", ".join(f"{literal(link.relation(table.name))}::regclass" for table in plan.tables)
    for drop, add in link.rows(_KEYS.format(f"ARRAY[{names}]::oid[]")):
        link.run(drop)
        again.append(str(add))
    for table in plan.tables:
        link.run(f"ALTER TABLE {link.relation(table.name)} DISABLE TRIGGER USER")
        again.append(f"ALTER TABLE {link.relation(table.name)} ENABLE TRIGGER USER")
    return again


def put_keys_back(link: Session, statements: list[str]) -> None:
    """Make what was set aside again, checked, and refresh what views hold of the rows."""
    for statement in statements:
        link.run(statement)
    if link.dialect == "postgresql":
        _refresh(link, _OWN_VIEWS)


def _refresh(link: Session, views: str = _VIEWS) -> None:
    """Materialized views, those that others are made of first."""
    waiting = [str(row[0]) for row in link.rows(views)]
    while waiting:
        left = []
        for name in waiting:
            link.run("SAVEPOINT refresh")
            try:
                link.run(f"REFRESH MATERIALIZED VIEW {name}")
            except Exception:
                link.run("ROLLBACK TO SAVEPOINT refresh")
                left.append(name)
                if len(left) == len(waiting):
                    raise
        waiting = left


# Modes elsewhere
# ---------------


_AFTER = "SELECT sql FROM sqlite_master WHERE type IN ('view', 'trigger') ORDER BY type DESC, rowid"
_MODES_ELSEWHERE_VIEWS = (
    "SELECT table_name, view_definition FROM information_schema.views WHERE table_schema = database()"
)
_VIRTUAL = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('virtual', 'shadow')"
_OF_SQLITE = "SELECT name, tbl_name, sql, '' FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"


class FillElsewhere(Create):
    """Rows only, into tables that are there."""

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> load_journal.Journal:
        with plain_server_errors("preparing the target"):
            if link.dialect == "mariadb":
                wait_until_alone_mariadb(link)
            with link.transaction():
                found = unfinished(link, fingerprint)
                if found is None:
                    require_fit(link, plan)
                    old = _full(link, plan, replace)
                    load_journal.only_looking(fingerprint, old)
                    _write_down(link, {table.name for table in plan.tables})
                    load_journal.close(link)
                    load_journal.begin(link, fingerprint, old)
                    found = load_journal.Journal(fingerprint, {}, frozenset(old))
                load_journal.only_looking(fingerprint)
                for name, _, _ in _written(link):
                    link.run(f"DROP TRIGGER IF EXISTS {quoted(name)}")
                link.resume()
        return found

    def make(self, link: Session, plan: Schema, table: TableFacts, state: load_journal.Journal) -> list[str]:
        """Rows that are to be replaced, or that a transaction of MariaDB left behind, go first."""
        link.run(f"DELETE FROM {link.relation(table.name)}")
        return []

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with plain_server_errors("checking the keys of the target"), link.transaction():
            tell("checking foreign keys")
            if link.dialect == "sqlite":
                sqlite_holds(link)
            if link.dialect == "mariadb":
                require_no_orphans(link, plan)
            for _, statement, mode in _written(link):
                _made_again(link, statement, mode)
            link.run(f"DROP TABLE IF EXISTS {quoted(load_journal.ASIDE)}")
            load_journal.close(link)
            tell("all keys hold")


def _full(link: Session, plan: Schema, replace: bool) -> set[str]:
    """Tables that have rows."""
    full = {table.name for table in plan.tables if link.rows(f"SELECT 1 FROM {link.relation(table.name)} LIMIT 1")}
    if full and not replace:
        raise DataError(
            f"table '{min(full)}' of the target has rows already", hint="choose an empty target, or replace its rows"
        )
    if full and link.dialect == "duckdb":
        raise DataError(
            f"table '{min(full)}' of the target has rows, and DuckDB's keys cannot sleep while they are replaced",
            hint="delete the rows first, or use 'create'",
        )
    if full and link.dialect == "mariadb":
        require_not_referenced(link, {table.name for table in plan.tables})
    return full


def triggers_of(link: Session) -> Iterator[tuple[str, str, str, str]]:
    """Name, table, statement and the mode it was written in."""
    if link.dialect == "sqlite":
        yield from ((str(name), str(table), str(sql), str(mode)) for name, table, sql, mode in link.rows(_OF_SQLITE))
    if link.dialect == "mariadb":
        named = (
            "SELECT trigger_name, event_object_table FROM information_schema.triggers WHERE trigger_schema = database()"
        )
        for name, table in sorted(link.rows(f"{named} ORDER BY action_order")):
            row = link.rows(f"SHOW CREATE TRIGGER {quoted(str(name))}")[0]
            yield str(name), str(table), _undefined(str(row[2])), str(row[1])


def _write_down(link: Session, tables: set[str]) -> None:
    link.run(f"DROP TABLE IF EXISTS {quoted(load_journal.ASIDE)}")
    link.run(f"CREATE TABLE {quoted(load_journal.ASIDE)} (place integer, name text, statement text, mode text)")
    link.resume()
    marks = ", ".join([link.mark] * 4)
    for place, (name, table, statement, mode) in enumerate(triggers_of(link)):
        if table in tables:
            link.run(f"INSERT INTO {quoted(load_journal.ASIDE)} VALUES ({marks})", place, name, statement, mode)


def _written(link: Session) -> list[tuple[str, str, str]]:
    rows = link.rows(f"SELECT name, statement, mode FROM {quoted(load_journal.ASIDE)} ORDER BY place")
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
    return (
        head + rest.partition(" ")[2]
        if rest and len(head) < len("CREATE ALGORITHM=UNDEFINED OR REPLACE")
        else statement
    )


@dataclass
class CloneElsewhere(Create):
    """Everything the source declares, by its own statements."""

    source: str

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> load_journal.Journal:
        found = load_journal.look(link)
        there = load_journal.existing(link)
        if found is None and there - {load_journal.JOURNAL}:
            raise DataError(f"the target has '{min(there)}' already", hint="a clone needs an empty database")
        return super().begin(link, plan, fingerprint, False)

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with connect(self.source) as source, plain_server_errors("reading what the source declares"):
            wanted = list(_declared(source))

        def rest() -> None:
            tell("making views and triggers")
            for statement, mode in wanted:
                _made_again(link, statement, mode)

        finish_load(link, plan, tell, rest)


def _declared(source: Session) -> Iterator[tuple[str, str]]:
    """Statements beyond the tables, with the mode they were written in, in an order in which they can be made."""
    if source.dialect == "sqlite":
        yield from ((str(sql), "") for (sql,) in source.rows(_AFTER))
        for setting in ("user_version", "application_id"):
            yield f"PRAGMA {setting} = {int(source.rows(f'PRAGMA {setting}')[0][0])}", ""
    elif source.dialect == "duckdb":
        mine = "NOT internal AND database_name = current_database()"
        views = {
            str(name): str(sql) for name, sql in source.rows(f"SELECT view_name, sql FROM duckdb_views() WHERE {mine}")
        }
        yield from ((views[name], "") for name in _in_order(views))
        yield from ((sentence, "") for sentence in _comments(source))
    else:
        yield from _of_mariadb(source)


def _comments(source: Session) -> Iterator[str]:
    mine = "NOT internal AND database_name = current_database() AND comment IS NOT NULL"
    for schema, table, text in source.rows(
        f"SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE {mine}"
    ):
        yield f"COMMENT ON TABLE {quoted(schema)}.{quoted(table)} IS {literal(text)}"
    for schema, table, name, text in source.rows(
        f"SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() WHERE {mine}"
    ):
        yield f"COMMENT ON COLUMN {quoted(schema)}.{quoted(table)}.{quoted(name)} IS {literal(text)}"


def _of_mariadb(source: Session) -> Iterator[tuple[str, str]]:
    mode = str(source.rows("SELECT @@sql_mode, ''")[0][0])
    for name, kind in source.rows(
        "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = database() ORDER BY"
        " 2, 1"
    ):
        row = source.rows(f"SHOW CREATE {kind} {quoted(str(name))}")[0]
        yield _undefined(str(row[2])), str(row[1])
    for name in _in_order({str(name): str(text) for name, text in source.rows(_MODES_ELSEWHERE_VIEWS)}):
        yield _undefined(str(source.rows(f"SHOW CREATE VIEW {quoted(name)}")[0][1])), mode
    yield from ((statement, written) for _, _, statement, written in triggers_of(source))


def _in_order(texts: Mapping[str, str]) -> list[str]:
    """Return the views, each after the views whose names its text contains."""
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
        (
            "SELECT function_name FROM duckdb_functions() WHERE NOT internal AND database_name = current_database()",
            "the macro",
        ),
    ),
    "mariadb": (
        ("SELECT event_name FROM information_schema.events WHERE event_schema = database()", "the event"),
        (
            (
                "SELECT table_name FROM information_schema.tables WHERE table_schema = database() "
                "AND table_type NOT IN ('BASE TABLE', 'VIEW')"
            ),
            "the sequence or versioned table",
        ),
    ),
}


def require_clonable(source: str) -> CloneElsewhere:
    """Refuses, before a row is read, what cannot be copied exactly."""
    with connect(source) as link, plain_server_errors("reading what the source declares"):
        for query, what in _REFUSED[link.dialect]:
            for (name,) in link.rows(query)[:1]:
                raise PolicyError(
                    f"{what} '{name}' cannot be cloned", where="data.target", hint="use mode: create, or fill"
                )
        if link.dialect == "mariadb":
            here = str(link.rows("SELECT database(), ''")[0][0])
            for statement, _ in _of_mariadb(link):
                if f"`{here}`." in statement or f" {here}." in statement:
                    said = f"a view, trigger or routine names its own database '{here}' and cannot be cloned"
                    raise PolicyError(said, where="data.target", hint="use mode: create, or fill")
    return CloneElsewhere(source)


# Dumping
# -------


_LIMIT = 64 << 20
"""Largest text of a schema."""


@dataclass(frozen=True)
class Dump:
    """The schema of a source, in two sections: what is needed before rows come, and what is made of them."""

    source: str
    grants: bool = False

    def run(self, link: Session, section: str) -> None:
        """All statements of a section, inside the session's transaction; the session speaks as before afterwards."""
        path = link.rows("SELECT current_setting('search_path')")[0][0]
        link.run(self.text(section))
        link.run("SELECT set_config('search_path', %s, false)", path)
        for setting, value in SPELLING.items():
            link.run("SELECT set_config(%s, %s, false)", setting, value)
        link.run("SET statement_timeout = 0")

    def text(self, section: str) -> str:
        """The statements; lines for the terminal program are left out."""
        given = ["--schema-only", f"--section={section}", "--no-owner", *([] if self.grants else ["--no-privileges"])]
        text = dumped([program("pg_dump"), *given], self.source)
        lines = (line for line in text.splitlines() if not line.startswith("\\"))
        return "\n".join(line for line in lines if line != "CREATE SCHEMA public;")


def dumped(command: list[str], source: str) -> str:
    """What a program writes about a database; its complaints may hold addresses and are not repeated."""
    address = address_of(source)
    environment = {**os.environ, **environment_of(address)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=600, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        raise DataError("the schema of the source could not be dumped", hint="check that pg_dump runs") from None
    if done.returncode != 0 or len(done.stdout) > _LIMIT:
        newer = b"server version" in done.stderr
        hint = (
            "install the client programs of the server's version"
            if newer
            else "check the rights of the user on the source"
        )
        raise DataError("the schema of the source could not be dumped", hint=hint)
    return done.stdout.decode("utf-8")
