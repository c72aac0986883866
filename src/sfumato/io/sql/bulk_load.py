"""`load`: all tables into the target by its bulk path, one transaction per table, resumable.

Invariants: (1) before the first table everything that can be refused is refused, with nothing changed. (2) A table is
dropped (if it is replaced), created, filled and noted in the journal in one transaction, so that after a crash each
table is as before or complete. (3) The last transaction settles keys, counters and the journal together, so that a
target without a journal is finished.

Cost: a pass over the columns to write CSV, and the server's own COPY.


Findings
--------
`server_findings`: whether every declared constraint exists in the target, was checked on every row, and how many rows
violate it.

The server is asked twice: what its catalogue says (PostgreSQL: `convalidated`, `indisvalid`; SQLite:
`foreign_key_check`, `integrity_check`; DuckDB and MariaDB say nothing), and by counting the rows that would break each
constraint, whether or not it is declared there."""

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

from sfumato.core.errors import DataError
from sfumato.data.database import CheckConstraint, ForeignKey, Schema, ServerFinding, TableFacts
from sfumato.data.table import Table
from sfumato.io.sql import duckdb_driver, load_journal, mariadb_driver
from sfumato.io.sql.addresses import QUALIFIED, listed, quoted
from sfumato.io.sql.connection import Session, connect, same_database
from sfumato.io.sql.dialects import check_name, translate_schema, translate_values
from sfumato.io.sql.rows import Progress
from sfumato.io.sql.schema_reading import schema_of
from sfumato.io.sql.server_errors import plain_server_errors
from sfumato.io.sql.sql_syntax import plain_condition
from sfumato.io.sql.sqlite_storage import affinity, stored_column
from sfumato.io.sql.target_modes import Create
from sfumato.io.sql.target_preparation import join_parallel_load

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
    """Makes and fills all tables of `schema`; a second run with the same fingerprint and data goes on where the first
    was cut off.

    With `source` a target that is the source is refused. `replace` lets tables of the same names go. `mode` says how
    the tables come about. `jobs` tables are loaded at once, where the server takes them so (PostgreSQL)."""
    _complete(schema, parts)
    if source is not None and same_database(source, target, namespaces=(schema.namespace or None, namespace)):
        raise DataError("the target is the source", hint="give another database, schema or file as the target")
    steps = _Steps(progress, max(sum(parts[table.name].rows for table in schema.tables), 1))
    with connect(target, write=True, namespace=namespace) as link:
        plan = translate_schema(schema, link.dialect, parts)
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


def rehearse(
    target: str, schema: Schema, *, namespace: str | None = None, mode: Create | None = None
) -> tuple[str, ...]:
    """Tables of the target that a load would replace; whatever else would be refused is refused, with nothing
    changed."""
    with connect(target, write=True, namespace=namespace) as link:
        try:
            (mode or Create()).begin(
                link, translate_schema(schema, link.dialect, _no_rows(schema)), load_journal.REHEARSAL, True
            )
        except load_journal.Rehearsed as found:
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


def ready_rows(old: TableFacts, new: TableFacts, part: Table, source: str, dialect: str) -> pa.Table:
    """The written columns, in the order of the table, spelt for the target."""
    columns = {name: part.column(name) for name in new.written}
    if source != dialect:
        columns = {
            name: translate_values(values, old.column(name), new.column(name), source, dialect)
            for name, values in columns.items()
        }
    own = [key for key in new.foreign_keys if key.parent == new.name] if dialect == "duckdb" else []
    return duckdb_driver.in_generations(pa.table(columns), own, new.name) if own else pa.table(columns)


@dataclass(frozen=True, slots=True)
class _Filling:
    """Every table that is not complete yet, each in its own transaction."""

    schema: Schema
    plan: Schema
    parts: Mapping[str, Table]
    state: load_journal.Journal
    steps: _Steps
    way: Create

    def run(self, link: Session) -> list[str]:
        """One after the other; sentences about what the target did not take."""
        return [sentence for table in self.plan.tables for sentence in self._table(link, table)]

    def at_once(self, jobs: int, connected: Callable[[], contextlib.AbstractContextManager[Session]]) -> list[str]:
        """Several at a time, the largest first, each in a session of its own; nothing between them is checked before
        the end."""

        def one(table: TableFacts) -> list[str]:
            with connected() as link:
                link.others.update(self.plan.others)
                join_parallel_load(link)
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
        frame = ready_rows(
            self.schema.table(table.name), table, self.parts[table.name], self.schema.dialect, link.dialect
        )
        self.steps.tell(0, f"loading {table.name}")
        if table.name in self.state.done:
            _same_rows(table, frame, *self.state.done[table.name])
            self.steps.tell(frame.num_rows, f"{table.name} was complete")
            return []
        with plain_server_errors(f"loading table '{table.name}'"), link.transaction():
            lost = self.way.make(link, self.plan, table, self.state)
            digest = _copy(link, table, frame, self.steps)
            load_journal.record(link, self.state.fingerprint, table.name, frame.num_rows, digest)
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
    yield lambda batch, _: duckdb_driver.insert_texts(link.raw, relation, table, batch)
    _counted(table, link.rows(f"SELECT count(*) FROM {relation}")[0][0], frame)


@contextlib.contextmanager
def _insert_mariadb(link: Session, table: TableFacts, frame: pa.Table) -> Iterator[Take]:
    yield lambda batch, _: mariadb_driver.insert_texts(link.raw, table, batch)
    _counted(table, int(link.rows(f"SELECT count(*) FROM {quoted(table.name)}")[0][0]), frame)


_SENDERS = {"postgresql": _copy_postgres, "sqlite": _insert, "duckdb": _insert_duckdb, "mariadb": _insert_mariadb}


def _counted(table: TableFacts, rows: int, frame: pa.Table) -> None:
    if rows != frame.num_rows:
        raise DataError(
            f"table '{table.name}' took {rows} rows instead of {frame.num_rows}",
            hint="check the triggers and rules of the target",
        )


# Findings
# --------


_UNCHECKED = (
    f"SELECT {QUALIFIED.format('c')}, k.conname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE NOT"
    " k.convalidated"
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
        return int(self.link.rows(f"SELECT count(*) FROM {self.link.rows_of(table)} AS c WHERE {condition}")[0][0])


def server_findings(target: str, schema: Schema, *, namespace: str | None = None) -> tuple[ServerFinding, ...]:
    """One finding for every key, not-null and check that `schema` declares."""
    with connect(target, namespace=namespace) as link, plain_server_errors("checking the target"):
        asked = _Target(link, schema_of(link), schema.dialect or link.dialect, *_server_says(link))
        there = {table.name: table for table in asked.schema.tables}
        return tuple(
            finding
            for table in schema.tables
            for finding in (
                _examine(asked, schema, table, there[table.name]) if table.name in there else [_absent(table)]
            )
        )


def _server_says(link: Session) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    if link.dialect == "postgresql":
        unchecked = frozenset(
            (str(table), str(name)) for table, name in link.rows(f"{_UNCHECKED} AND {link.inside('c.relnamespace')}")
        )
        return unchecked, frozenset(str(row[0]) for row in link.rows(f"{_BROKEN} AND {link.inside('c.relnamespace')}"))
    if link.dialect in (
        "duckdb",
        "mariadb",
    ):  # they say of no constraint that it was not checked; rows are counted all the same
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
            table.name,
            "primary key",
            table.primary_key,
            "",
            present,
            sound,
            _repeated(asked, table.name, table.primary_key),
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
    groups = f"SELECT 1 FROM {asked.link.rows_of(table)} WHERE {known} GROUP BY {listed(columns)} HAVING count(*) > 1"
    return int(asked.link.rows(f"SELECT count(*) FROM ({groups}) AS g")[0][0])


def _required(asked: _Target, table: TableFacts, there: TableFacts, sound: bool) -> Iterator[ServerFinding]:
    """All columns of a table in one pass."""
    names = [column.name for column in table.columns if not column.nullable and column.name in there.names]
    if not names:
        return
    counts = ", ".join(f"count(*) - count({quoted(name)})" for name in names)
    for name, nulls in zip(
        names, asked.link.rows(f"SELECT {counts} FROM {asked.link.rows_of(table.name)}")[0], strict=True
    ):
        yield ServerFinding(table.name, "not null", (name,), "", not there.column(name).nullable, sound, int(nulls))


def _foreign(asked: _Target, key: ForeignKey, there: TableFacts, sound: bool) -> ServerFinding:
    shape = (key.columns, key.parent, key.parent_columns)
    found = next((one for one in there.foreign_keys if (one.columns, one.parent, one.parent_columns) == shape), None)
    known = " AND ".join(f"c.{quoted(name)} IS NOT NULL" for name in key.columns)
    pairs = zip(key.columns, key.parent_columns, strict=True)
    same = " AND ".join(f"p.{quoted(parent)} = c.{quoted(child)}" for child, parent in pairs)
    orphans = asked.count(
        key.table, f"{known} AND NOT EXISTS (SELECT 1 FROM {asked.link.rows_of(key.parent)} AS p WHERE {same})"
    )
    validated = sound and found is not None and (key.table, found.name) not in asked.unchecked
    return ServerFinding(
        key.table, "foreign key", key.columns, found.name if found else key.name, found is not None, validated, orphans
    )


def _check(
    asked: _Target, table: TableFacts, there: TableFacts, name: str, check: CheckConstraint, sound: bool
) -> ServerFinding:
    found = next(
        (one for one in there.checks if (name and one.name == name) or one.sql.split() == check.sql.split()), None
    )
    if found is None:
        said = plain_condition(check.sql, table.names, asked.said)
        meant = (one for one in there.checks if said is not None)
        found = next(
            (one for one in meant if plain_condition(one.sql, there.names, asked.schema.dialect) == said), None
        )
    if found is None:
        return ServerFinding(table.name, "check", (), name, present=False, validated=False)
    validated = sound and (table.name, found.name) not in asked.unchecked
    return ServerFinding(
        table.name, "check", (), found.name, True, validated, asked.count(table.name, f"NOT ({found.sql})")
    )
