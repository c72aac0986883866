"""`load`: all tables into the target by its bulk path, one transaction per table, resumable.

Invariants: (1) before the first table everything that can be refused is refused, with nothing changed. (2) A table is
dropped (if it is replaced), created, filled and noted in the journal in one transaction, so that after a crash each table is
as before or complete. (3) The last transaction settles keys, counters and the journal together, so that a target without a
journal is finished.

Cost: a pass over the columns to write CSV, and the server's own COPY.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.csv as pa_csv

from sfumato.data.database import Schema, TableFacts
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.io.sql import duckdb_link, journal, mariadb_link
from sfumato.io.sql.link import Session, connect, same_database
from sfumato.io.sql.modes import Create
from sfumato.io.sql.names import listed, quoted
from sfumato.io.sql.prepare import join_crew
from sfumato.io.sql.rows import Progress
from sfumato.io.sql.storage import affinity, stored_column
from sfumato.io.sql.translate import carried
from sfumato.io.sql.translate_types import respelt
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
    source: str | None = None,
    mode: Create | None = None,
    jobs: int = 1,
) -> Loaded:
    """Makes and fills all tables of `schema`; a second run with the same fingerprint and data goes on where the first was cut off.

    With `source` a target that is the source is refused. `replace` lets tables of the same names go. `mode` says how the tables
    come about. `jobs` tables are loaded at once, where the server takes them so (PostgreSQL).
    """
    _complete(schema, parts)
    if source is not None and same_database(source, target, namespaces=(schema.namespace or None, namespace)):
        raise DataError("the target is the source", hint="give another database, schema or file as the target")
    steps = _Steps(progress, max(sum(parts[table.name].rows for table in schema.tables), 1))
    with connect(target, write=True, namespace=namespace) as link:
        plan = carried(schema, link.dialect, parts)
        way = mode or Create()
        state = way.begin(link, plan, fingerprint, replace)
        filling = _Filling(schema, plan, parts, state, steps, way)
        several = jobs if link.dialect == "postgresql" and not state.old else 1
        more = partial(connect, target, write=True, namespace=namespace)
        lost = filling.at_once(several, more) if several > 1 else filling.run(link)
        way.end(link, plan, lambda sentence: steps.tell(0, sentence))
    steps.tell(0, "the target is complete")
    rows = {table.name: parts[table.name].rows for table in schema.tables}
    return Loaded(rows, tuple(sorted(state.done)), plan.left_out + tuple(lost))


def rehearse(target: str, schema: Schema, *, namespace: str | None = None, mode: Create | None = None) -> tuple[str, ...]:
    """Tables of the target that a load would replace; whatever else would be refused is refused, with nothing changed."""
    with connect(target, write=True, namespace=namespace) as link:
        try:
            (mode or Create()).begin(link, carried(schema, link.dialect, _no_rows(schema)), journal.REHEARSAL, True)
        except journal.Rehearsed as found:
            return found.standing
    return ()  # a load that was cut off stands there and can go on


def create_tables(target: str, schema: Schema, *, replace: bool = False, namespace: str | None = None) -> Loaded:
    """All tables of a schema with their constraints and no rows."""
    return load(target, schema, _no_rows(schema), fingerprint="no rows", replace=replace, namespace=namespace)


def _no_rows(schema: Schema) -> dict[str, Table]:
    shapes = {table.name: pa.schema([(name, pa.string()) for name in table.names]) for table in schema.tables}
    return {name: Table(shape.empty_table()) for name, shape in shapes.items()}


@dataclass(slots=True)
class _Steps:
    """How far a load is; rows are most of the work, keys the last twentieth."""

    progress: Progress | None
    total: int
    sent: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, rows: int, sentence: str) -> None:
        with self.lock:
            self.sent += rows
            share = 1.0 if "complete" in sentence else 0.95 * self.sent / self.total
            if self.progress:
                self.progress(share, sentence)


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
        columns = {name: respelt(values, old.column(name), new.column(name), source, dialect) for name, values in columns.items()}
    own = [key for key in new.foreign_keys if key.parent == new.name] if dialect == "duckdb" else []
    return duckdb_link.in_generations(pa.table(columns), own, new.name) if own else pa.table(columns)


@dataclass(frozen=True, slots=True)
class _Filling:
    """Every table that is not complete yet, each in its own transaction."""

    schema: Schema
    plan: Schema
    parts: Mapping[str, Table]
    state: journal.Journal
    steps: _Steps
    way: Create

    def run(self, link: Session) -> list[str]:
        """One after the other; sentences about what the target did not take."""
        return [sentence for table in self.plan.tables for sentence in self._table(link, table)]

    def at_once(self, jobs: int, connected: Callable[[], contextlib.AbstractContextManager[Session]]) -> list[str]:
        """Several at a time, the largest first, each in a session of its own; nothing between them is checked before the end."""

        def one(table: TableFacts) -> list[str]:
            with connected() as link:
                link.others.update(self.plan.others)
                join_crew(link)
                return self._table(link, table)

        ordered = sorted(self.plan.tables, key=lambda table: -self.parts[table.name].rows)
        with ThreadPoolExecutor(jobs, "sfumato-load") as crew:
            waiting = [crew.submit(one, table) for table in ordered]
            try:
                return [sentence for each in waiting for sentence in each.result()]
            except BaseException:
                crew.shutdown(cancel_futures=True)
                raise

    def _table(self, link: Session, table: TableFacts) -> list[str]:
        frame = _ready(self.schema.table(table.name), table, self.parts[table.name], self.schema.dialect, link.dialect)
        self.steps.tell(0, f"loading {table.name}")
        if table.name in self.state.done:
            _same_rows(table, frame, *self.state.done[table.name])
            self.steps.tell(frame.num_rows, f"{table.name} was complete")
            return []
        with plainly(f"loading table '{table.name}'"), link.transaction():
            lost = self.way.make(link, self.plan, table, self.state)
            digest = _copy(link, table, frame, self.steps)
            journal.record(link, self.state.fingerprint, table.name, frame.num_rows, digest)
        return lost


def _same_rows(table: TableFacts, frame: pa.Table, rows: int, digest: str) -> None:
    """A resumed load must go on with the very rows it began with, or keys between the tables would break."""
    found = hashlib.sha256()
    for batch in frame.to_batches(max_chunksize=ROWS_AT_ONCE):
        found.update(csv_piece(batch))
    if rows != frame.num_rows or digest != found.hexdigest():
        raise DataError(
            f"the target holds an unfinished load with other rows in table '{table.name}'",
            hint="empty the target, or replace its tables",
        )


def csv_piece(batch: pa.RecordBatch) -> memoryview:
    """CSV with every text in quotes and nulls as nothing."""
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(batch, sink, pa_csv.WriteOptions(include_header=False, quoting_style="needed"))
    return memoryview(sink.getvalue())


def _copy(link: Session, table: TableFacts, frame: pa.Table, steps: _Steps) -> str:
    """Fills an empty table; the digest of what was sent."""
    digest = hashlib.sha256()
    with _SENDERS[link.dialect](link, table, frame) as take:
        for batch in frame.to_batches(max_chunksize=ROWS_AT_ONCE) if frame.num_columns else ():
            piece = csv_piece(batch)
            digest.update(piece)
            take(batch, piece)
            steps.tell(batch.num_rows, f"loading {table.name}")
    return digest.hexdigest()


Take = Callable[[pa.RecordBatch, memoryview], None]


@contextlib.contextmanager
def _copy_postgres(link: Session, table: TableFacts, frame: pa.Table) -> Iterator[Take]:
    with link.raw.cursor() as cursor:
        with cursor.copy(f"COPY {link.relation(table.name)} ({listed(table.written)}) FROM STDIN (FORMAT csv)") as copy:
            yield lambda _, piece: copy.write(piece)
        _counted(table, cursor.rowcount, frame)


@contextlib.contextmanager
def _insert(link: Session, table: TableFacts, frame: pa.Table) -> Iterator[Take]:
    kinds = [affinity(table.column(name).native) for name in table.written]
    statement = f"INSERT INTO {quoted(table.name)} ({listed(table.written)}) VALUES ({', '.join('?' * len(kinds))})"

    def take(batch: pa.RecordBatch, _: memoryview) -> None:
        columns = [stored_column(column, kind) for column, kind in zip(batch.columns, kinds, strict=True)]
        link.raw.executemany(statement, zip(*columns, strict=True))

    yield take
    _counted(table, link.rows(f"SELECT count(*) FROM {quoted(table.name)}")[0][0], frame)


@contextlib.contextmanager
def _insert_duckdb(link: Session, table: TableFacts, frame: pa.Table) -> Iterator[Take]:
    relation = link.relation(table.name)
    yield lambda batch, _: duckdb_link.insert_texts(link.raw, relation, table, batch)
    _counted(table, link.rows(f"SELECT count(*) FROM {relation}")[0][0], frame)


@contextlib.contextmanager
def _insert_mariadb(link: Session, table: TableFacts, frame: pa.Table) -> Iterator[Take]:
    yield lambda batch, _: mariadb_link.insert_texts(link.raw, table, batch)
    _counted(table, int(link.rows(f"SELECT count(*) FROM {quoted(table.name)}")[0][0]), frame)


_SENDERS = {"postgresql": _copy_postgres, "sqlite": _insert, "duckdb": _insert_duckdb, "mariadb": _insert_mariadb}


def _counted(table: TableFacts, rows: int, frame: pa.Table) -> None:
    if rows != frame.num_rows:
        raise DataError(
            f"table '{table.name}' took {rows} rows instead of {frame.num_rows}", hint="check the triggers and rules of the target"
        )
