"""How a target gets its tables: `create` makes them from the schema, `fill` finds them there, `clone` copies all of the source.

    create   tables, keys, checks, indexes, sequences and the functions they call; views, triggers, partitions are left out
    fill     an application's migrations have made the tables; only rows are loaded. Foreign keys and triggers of the target are set
             aside for the load and put back, checked, in the last transaction
    clone    everything that `pg_dump --schema-only` knows: functions, views, materialized views (refreshed), triggers, partitions,
             inheritance, row security, comments, sequences; rights only when asked for

Invariants: a mode begins in one transaction together with the journal and ends in one together with its removal, so that a load
cut off anywhere goes on with the same command; what was set aside is written down in the target itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.data.database import Schema, TableFacts
from sfumato.errors import DataError
from sfumato.io.sql import journal
from sfumato.io.sql.create import drop_table, make_table
from sfumato.io.sql.dumping import Dump
from sfumato.io.sql.finish_load import counters, settle
from sfumato.io.sql.introspect import schema_of
from sfumato.io.sql.link import Session
from sfumato.io.sql.names import literal, quoted
from sfumato.io.sql.prepare import alone, begin_load
from sfumato.io.sql.trouble import plainly

_KEYS = """
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname),
       format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
FROM pg_constraint k WHERE k.contype = 'f' AND k.conparentid = 0 AND (k.conrelid = ANY ({0}) OR k.confrelid = ANY ({0}))"""
_VIEWS = "SELECT format('%I.%I', schemaname, matviewname) FROM pg_matviews WHERE NOT ispopulated ORDER BY 1"
_OWN_VIEWS = """
WITH RECURSIVE above(oid, depth) AS (
  SELECT oid, 0 FROM pg_class WHERE relkind = 'm'
  UNION SELECT r.ev_class, depth + 1 FROM above JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = above.oid
    JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid WHERE r.ev_class <> above.oid AND depth < 99)
SELECT oid::regclass::text FROM above JOIN pg_class v USING (oid) WHERE relkind = 'm' AND pg_has_role(v.relowner, 'USAGE')
GROUP BY oid ORDER BY max(depth), 1"""
"""Views of views last; one that is filled already is refreshed as well, for it was made before the rows came."""
Tell = Callable[[str], None]


class Create:
    """Tables made from what the schema declares."""

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> journal.Journal:
        return begin_load(link, plan, fingerprint, replace)

    def make(self, link: Session, plan: Schema, table: TableFacts, state: journal.Journal) -> list[str]:
        """Inside a table's transaction: the empty table; sentences about what the target did not take."""
        if table.name in state.old:
            drop_table(link, table.name)
        return make_table(link, plan, table)

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        settle(link, plan, tell)


class Fill(Create):
    """Rows only, into tables of PostgreSQL that are there; other servers: `modes_elsewhere`."""

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> journal.Journal:
        _postgres_only(link, "fill")
        with plainly("preparing the target"):
            alone(link)
            with link.transaction():
                found = unfinished(link, fingerprint)
                if found is not None:
                    return found
                require_fit(link, plan)
                journal.only_looking(fingerprint, self._empty(link, plan, replace))
                journal.close(link)
                journal.begin(link, fingerprint, ())
                _set_aside(link, plan)
        return journal.Journal(fingerprint, {}, frozenset())

    def _empty(self, link: Session, plan: Schema, replace: bool) -> list[str]:
        """The tables that had rows."""
        full = [table.name for table in plan.tables if link.rows(f"SELECT 1 FROM {link.relation(table.name)} LIMIT 1")]
        if full and not replace:
            raise DataError(f"table '{full[0]}' of the target has rows already", hint="choose an empty target, or replace its rows")
        if full:
            link.run(f"TRUNCATE {', '.join(link.relation(table.name) for table in plan.tables)} CASCADE")
        return full

    def make(self, link: Session, plan: Schema, table: TableFacts, state: journal.Journal) -> list[str]:
        return []

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with plainly("checking the keys of the target"), link.transaction():
            tell("checking foreign keys")
            for (statement,) in link.rows(f"SELECT statement FROM {quoted(journal.ASIDE)} ORDER BY place"):
                link.run(statement)
            counters(link, plan)
            tell("refreshing views")
            _refresh(link, _OWN_VIEWS)
            link.run(f"DROP TABLE {quoted(journal.ASIDE)}")
            journal.close(link)
            tell("all keys hold")


@dataclass
class Clone(Create):
    """Everything a PostgreSQL source declares, as its own tool writes it down; other servers: `modes_elsewhere`."""

    source: str
    grants: bool = False

    def begin(self, link: Session, plan: Schema, fingerprint: str, replace: bool) -> journal.Journal:
        _postgres_only(link, "clone")
        with plainly("preparing the target"):
            alone(link)
            with link.transaction():
                found = unfinished(link, fingerprint)
                if found is not None:
                    return found
                if journal.existing(link):
                    name = min(journal.existing(link))
                    raise DataError(f"the target has '{name}' already", hint="a clone needs an empty database")
                Dump(self.source, self.grants).run(link, "pre-data")
                journal.only_looking(fingerprint)
                link.others.update(plan.others)
                journal.begin(link, fingerprint, ())
        return journal.Journal(fingerprint, {}, frozenset())

    def make(self, link: Session, plan: Schema, table: TableFacts, state: journal.Journal) -> list[str]:
        return []

    def end(self, link: Session, plan: Schema, tell: Tell) -> None:
        with plainly("checking the keys of the target"), link.transaction():
            tell("building keys")
            Dump(self.source, self.grants).run(link, "post-data")
            counters(link, plan, owned=False)
            tell("refreshing views")
            _refresh(link)
            journal.close(link)
            tell("all keys hold")


def _postgres_only(link: Session, mode: str) -> None:
    if link.dialect != "postgresql":
        raise DataError(f"a target of this kind cannot be loaded with mode '{mode}'", hint="use 'create'")


def unfinished(link: Session, fingerprint: str) -> journal.Journal | None:
    """The same load, cut off earlier; another one is in the way."""
    found = journal.look(link)
    if found is not None and fingerprint in (found.fingerprint, journal.REHEARSAL):
        return found
    if found is not None:
        raise DataError(
            "the target holds an unfinished load of another release", hint="finish that one, or begin with a fresh target"
        )
    return None


def require_fit(link: Session, plan: Schema) -> None:
    """Every table and column that will be loaded is there with its type, and nothing else needs a value."""
    there = {table.name: table for table in schema_of(link).tables}
    for table in plan.tables:
        if table.name not in there:
            raise DataError(
                f"the target has no table '{table.name}'", hint="run the application's migrations first, or use another mode"
            )
        known = {column.name: column for column in there[table.name].columns}
        for name in table.written:
            wanted = table.column(name)
            if name not in known or known[name].computed:
                raise DataError(
                    f"the target has no column '{table.name}.{name}' to fill", hint="run the same migrations as in the source"
                )
            if known[name].kind != wanted.kind:
                raise DataError(f"'{table.name}.{name}' is {known[name].native} in the target and {wanted.native} in the source")
        for name, column in known.items():
            needed = not column.nullable and column.default is None and not column.generated
            if needed and name not in table.written:
                raise DataError(f"the target needs a value for '{table.name}.{name}', which the source does not have")


def _set_aside(link: Session, plan: Schema) -> None:
    """Foreign keys and triggers, written down so that the last transaction can put them back whoever runs it."""
    link.run(f"CREATE TABLE {quoted(journal.ASIDE)} (place serial, statement text)")
    names = ", ".join(f"{literal(link.relation(table.name))}::regclass" for table in plan.tables)
    for drop, add in link.rows(_KEYS.format(f"ARRAY[{names}]::oid[]")):
        link.run(drop)
        link.run(f"INSERT INTO {quoted(journal.ASIDE)} (statement) VALUES (%s)", add)
    for table in plan.tables:
        link.run(f"ALTER TABLE {link.relation(table.name)} DISABLE TRIGGER USER")
        link.run(
            f"INSERT INTO {quoted(journal.ASIDE)} (statement) VALUES (%s)",
            f"ALTER TABLE {link.relation(table.name)} ENABLE TRIGGER USER",
        )


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
