"""`load`: all tables into the target by its bulk path, one transaction per table, resumable.

Invariants: (1) before the first table everything that can be refused is refused, with nothing changed. (2) A table is dropped (if it is
replaced), created, filled and noted in the journal in one transaction, so that after a crash each table is as before or complete.
(3) The last transaction settles keys, counters and the journal together, so that a target without a journal is finished.

Cost: a pass over the columns to write CSV, and the server's own COPY.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.data.database import Schema, TableFacts
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.io.sql import journal
from sfumato.io.sql.begin import begin_load
from sfumato.io.sql.carry import carried
from sfumato.io.sql.carry_types import respelt
from sfumato.io.sql.connect import Link, connect
from sfumato.io.sql.create import create_statement, sequences_of
from sfumato.io.sql.names import listed, quoted
from sfumato.io.sql.rows import Progress
from sfumato.io.sql.settle import settle
from sfumato.io.sql.storage import affinity, stored_column
from sfumato.io.sql.trouble import plainly

ROWS_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load did."""

    rows: dict[str, int]
    resumed: tuple[str, ...]
    """Tables that an earlier run had completed."""
    left_out: tuple[str, ...]
    """Sentences about what the target does not have."""


def load(
    target: str,
    schema: Schema,
    parts: Mapping[str, Table],
    *,
    fingerprint: str,
    progress: Progress | None = None,
    replace: bool = False,
    namespace: str | None = None,
) -> Loaded:
    """Makes and fills all tables of `schema`; a second run with the same fingerprint and data goes on where the first was cut off."""
    _complete(schema, parts)
    with connect(target, write=True, namespace=namespace) as link:
        plan = carried(schema, link.dialect, parts)
        ready = {table.name: _ready(schema.table(table.name), table, parts[table.name], schema.dialect, link.dialect) for table in plan.tables}
        state = begin_load(link, plan, fingerprint, replace)
        lost = _fill(link, plan, ready, state, progress)
        if progress:
            progress(0.95, "checking keys in the target")
        settle(link, plan)
    if progress:
        progress(1.0, "the target is complete")
    return Loaded({name: frame.num_rows for name, frame in ready.items()}, tuple(sorted(state.done)), plan.left_out + tuple(lost))


def _complete(schema: Schema, parts: Mapping[str, Table]) -> None:
    for table in schema.tables:
        if table.name not in parts:
            raise DataError(f"there are no rows for table '{table.name}'")
        missing = [name for name in table.written if name not in parts[table.name].names]
        if missing:
            raise DataError(f"the rows of table '{table.name}' lack the column '{missing[0]}'")


def _ready(old: TableFacts, new: TableFacts, part: Table, source: str, dialect: str) -> pa.Table:
    """The written columns, in the order of the table, spelt for the target."""
    columns = {name: part.column(name) for name in new.written}
    if source != dialect:
        columns = {name: respelt(values, old.column(name), new.column(name), dialect) for name, values in columns.items()}
    return pa.table(columns)


def _fill(link: Link, plan: Schema, ready: Mapping[str, pa.Table], state: journal.Journal, progress: Progress | None) -> list[str]:
    total, before, lost = max(sum(frame.num_rows for frame in ready.values()), 1), 0, list[str]()
    for table in plan.tables:
        frame = ready[table.name]
        if progress:
            progress(0.95 * before / total, f"loading {table.name}")
        if table.name in state.done:
            _same_rows(table, frame, *state.done[table.name])
        else:
            with plainly(f"loading table '{table.name}'"), link.transaction():
                lost += _make(link, plan, table, table.name in state.old)
                journal.record(link, state.fingerprint, table.name, frame.num_rows, _copy(link, table, frame))
        before += frame.num_rows
    return lost


def _same_rows(table: TableFacts, frame: pa.Table, rows: int, digest: str) -> None:
    """A resumed load must go on with the very rows it began with, or keys between the tables would break."""
    found = hashlib.sha256()
    for piece in csv_pieces(frame):
        found.update(piece)
    if rows != frame.num_rows or digest != found.hexdigest():
        raise DataError(
            f"the target holds an unfinished load with other rows in table '{table.name}'", hint="empty the target, or replace its tables"
        )


def _make(link: Link, plan: Schema, table: TableFacts, old: bool) -> list[str]:
    """An empty table in place of the old one; sentences about checks the target does not understand."""
    if old:
        _drop(link, table.name)
    if link.dialect == "sqlite":
        return _make_sqlite(link, table)
    for statement in sequences_of(plan, table):
        link.run(statement)
    link.run(create_statement(table, link.dialect))
    return [sentence for one in table.constraints if one.sql.startswith("CHECK") for sentence in _add_check(link, table, one.name, one.sql)]


def _drop(link: Link, name: str) -> None:
    """Keys of tables that wait to be replaced themselves may still point here."""
    if link.dialect == "postgresql":
        pointing = "SELECT conrelid::regclass::text, quote_ident(conname) FROM pg_constraint WHERE contype = 'f' AND confrelid = %s::regclass"
        for table, constraint in link.rows(pointing, quoted(name)):
            link.run(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}")
    link.run(f"DROP TABLE {quoted(name)}")


def _add_check(link: Link, table: TableFacts, name: str, sql: str) -> list[str]:
    import psycopg

    link.run("SAVEPOINT condition")
    try:
        link.run(f"ALTER TABLE {quoted(table.name)} ADD CONSTRAINT {quoted(name)} {sql}")
    except psycopg.errors.InsufficientPrivilege:
        raise
    except (psycopg.errors.SyntaxErrorOrAccessRuleViolation, psycopg.errors.FeatureNotSupported):
        link.run("ROLLBACK TO SAVEPOINT condition")
        return [f"the target does not understand the check '{name}' of table '{table.name}'"]
    link.run("RELEASE SAVEPOINT condition")
    return []


def _make_sqlite(link: Link, table: TableFacts) -> list[str]:
    import sqlite3
    from dataclasses import replace

    kept, lost = [], []
    for one in table.checks if not table.sql else ():
        with sqlite3.connect(":memory:") as trial:
            try:
                trial.execute(create_statement(replace(table, checks=(one,)), "sqlite"))
                kept.append(one)
            except sqlite3.Error:
                lost.append(f"the target does not understand the check '{one.name}' of table '{table.name}'")
    link.run(create_statement(replace(table, checks=tuple(kept)), "sqlite"))
    return lost


def csv_pieces(frame: pa.Table) -> Iterator[memoryview]:
    """CSV with every text in quotes and nulls as nothing, a piece at a time."""
    options = pa_csv.WriteOptions(include_header=False, quoting_style="needed")
    for batch in frame.to_batches(max_chunksize=ROWS_AT_ONCE):
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(batch, sink, options)
        yield memoryview(sink.getvalue())


def _copy(link: Link, table: TableFacts, frame: pa.Table) -> str:
    """Fills an empty table; the digest of what was sent."""
    digest = hashlib.sha256()
    if not frame.num_columns:
        return digest.hexdigest()
    if link.dialect == "postgresql":
        with link.raw.cursor() as cursor:
            with cursor.copy(f"COPY {quoted(table.name)} ({listed(table.written)}) FROM STDIN (FORMAT csv)") as copy:
                for piece in csv_pieces(frame):
                    digest.update(piece)
                    copy.write(piece)
            _counted(table, cursor.rowcount, frame)
        return digest.hexdigest()
    for piece in csv_pieces(frame):
        digest.update(piece)
    _insert(link, table, frame)
    return digest.hexdigest()


def _insert(link: Link, table: TableFacts, frame: pa.Table) -> None:
    kinds = [affinity(table.column(name).native) for name in table.written]
    marks = ", ".join("?" * len(kinds))
    statement = f"INSERT INTO {quoted(table.name)} ({listed(table.written)}) VALUES ({marks})"
    for batch in frame.to_batches(max_chunksize=ROWS_AT_ONCE):
        columns = [stored_column(column, kind) for column, kind in zip(batch.columns, kinds, strict=True)]
        link.raw.executemany(statement, zip(*columns, strict=True))
    _counted(table, link.rows(f"SELECT count(*) FROM {quoted(table.name)}")[0][0], frame)


def _counted(table: TableFacts, rows: int, frame: pa.Table) -> None:
    if rows != frame.num_rows:
        raise DataError(f"table '{table.name}' took {rows} rows instead of {frame.num_rows}", hint="check the triggers and rules of the target")
