"""`refresh`: the rows of a target that have changed since the last release, in one transaction.

Rows are found by their primary keys. What is new or different is written, what is gone is deleted; a table without a
key is written anew. Foreign keys and triggers of the target are set aside and put back inside the same transaction, so
that the server checks every key over all rows, and a refresh that is cut off leaves the target as it was. A second run
with the same releases changes nothing.

PostgreSQL and SQLite; other servers cannot set keys aside and put them back in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import DataError
from sfumato.data.database import Schema, TableFacts
from sfumato.data.table import Table
from sfumato.io.sql.addresses import listed, quoted
from sfumato.io.sql.bulk_load import ROWS_AT_ONCE, csv_piece, ready_rows
from sfumato.io.sql.connection import Session, connect, same_database
from sfumato.io.sql.dialects import translate_schema
from sfumato.io.sql.server_errors import plain_server_errors
from sfumato.io.sql.sqlite_storage import affinity, stored_column
from sfumato.io.sql.target_modes import put_keys_back, set_keys_aside, triggers_of
from sfumato.io.sql.target_preparation import advance_sequences, sqlite_holds, wait_until_alone

_GONE = "_sfumato_gone"


@dataclass(frozen=True, slots=True)
class Changes:
    """How many rows of a table were added, changed and removed."""

    added: int
    changed: int
    removed: int


def refresh(
    target: str,
    schema: Schema,
    before: Mapping[str, Table],
    after: Mapping[str, Table],
    *,
    namespace: str | None = None,
    source: str | None = None,
    tell: Callable[[float, str], None] = lambda *_: None,
) -> dict[str, Changes]:
    """Turn the rows of the release `before`, which the target holds, into those of `after`."""
    if source is not None and same_database(source, target, namespaces=(schema.namespace or None, namespace)):
        raise DataError("the target is the source", hint="give another database, schema or file as the target")
    found = {}
    with connect(target, write=True, namespace=namespace) as link:
        if link.dialect not in ("postgresql", "sqlite"):
            hint = "load the whole release with --replace"
            raise DataError("only PostgreSQL and SQLite can be refreshed", where="data.target", hint=hint)
        plan = translate_schema(schema, link.dialect, after)
        if link.dialect == "postgresql":
            wait_until_alone(link)
        with plain_server_errors("refreshing the target"), link.transaction():
            aside = _set_aside(link, plan)
            for place, table in enumerate(plan.tables):
                tell(place / len(plan.tables), f"refreshing {table.name}")
                facts = schema.table(table.name)
                rows = [
                    ready_rows(facts, table, side[table.name], schema.dialect, link.dialect) for side in (before, after)
                ]
                found[table.name] = _write(link, table, *rows)
            tell(1.0, "checking foreign keys")
            put_keys_back(link, aside)
            if link.dialect == "sqlite":
                sqlite_holds(link)
            advance_sequences(link, plan, owned=False) if link.dialect == "postgresql" else None
    return found


def _set_aside(link: Session, plan: Schema) -> list[str]:
    """The statements that put keys and triggers back."""
    if link.dialect == "postgresql":
        return set_keys_aside(link, plan)
    link.run("PRAGMA defer_foreign_keys = ON")
    known, again = {table.name for table in plan.tables}, []
    for name, table, statement, _ in triggers_of(link):
        if table in known:
            link.run(f"DROP TRIGGER {quoted(name)}")
            again.append(statement)
    return again


def _write(link: Session, table: TableFacts, before: pa.Table, after: pa.Table) -> Changes:
    """Delete what is gone or different, and write what is new or different."""
    if not table.primary_key:
        link.run(f"DELETE FROM {link.relation(table.name)}")
        _insert(link, table, after)
        same = before.num_rows == after.num_rows and _sorted_rows(before) == _sorted_rows(after)
        return Changes(0, 0, 0) if same else Changes(after.num_rows, 0, before.num_rows)
    there, here = _keys(table, before), _keys(table, after)
    place = pc.index_in(here, value_set=there)
    known = pc.is_valid(place)
    old = before.take(pc.fill_null(place, 0)) if before.num_rows else after
    differs = np.zeros(after.num_rows, dtype=bool)
    for name in after.column_names:
        one, other = after.column(name), old.column(name)
        equal = pc.or_(pc.fill_null(pc.equal(one, other), False), pc.and_(pc.is_null(one), pc.is_null(other)))
        differs |= ~np.asarray(equal.to_numpy(), dtype=bool)
    is_known = np.asarray(known.to_numpy(zero_copy_only=False), dtype=bool)
    gone = pc.invert(pc.is_in(there, value_set=here))
    written = pa.array(~is_known | differs)
    lost = before.select(table.primary_key).filter(gone)
    _delete(link, table, pa.concat_tables([lost, after.select(table.primary_key).filter(written)]))
    _insert(link, table, after.filter(written))
    return Changes(int((~is_known).sum()), int((is_known & differs).sum()), lost.num_rows)


def _sorted_rows(rows: pa.Table) -> list[str]:
    return sorted(repr(row) for row in zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _keys(table: TableFacts, rows: pa.Table) -> pa.Array:
    """The primary key of every row as one text."""
    cells = [rows.column(name).combine_chunks() for name in table.primary_key]
    if len(cells) == 1:
        return cells[0]
    sized = [pc.binary_join_element_wise(pc.binary_length(one).cast(pa.string()), one, ":") for one in cells]
    return pc.binary_join_element_wise(*sized, "")


def _delete(link: Session, table: TableFacts, keys: pa.Table) -> None:
    if not keys.num_rows:
        return
    names = table.primary_key
    if link.dialect == "sqlite":
        where = " AND ".join(f"{quoted(name)} = ?" for name in names)
        link.raw.executemany(f"DELETE FROM {quoted(table.name)} WHERE {where}", _stored(table, keys))
        return
    relation, gone = link.relation(table.name), quoted(_GONE)
    link.run(f"CREATE TEMPORARY TABLE {gone} ON COMMIT DROP AS SELECT {listed(names)} FROM {relation} WITH NO DATA")
    _copy(link, gone, names, keys)
    same = " AND ".join(f"t.{quoted(name)} = g.{quoted(name)}" for name in names)
    link.run(f"DELETE FROM {relation} AS t USING {gone} AS g WHERE {same}")
    link.run(f"DROP TABLE {gone}")


def _insert(link: Session, table: TableFacts, rows: pa.Table) -> None:
    if not rows.num_rows:
        return
    if link.dialect == "postgresql":
        _copy(link, link.relation(table.name), table.written, rows)
        return
    marks = ", ".join("?" * rows.num_columns)
    statement = f"INSERT INTO {quoted(table.name)} ({listed(table.written)}) VALUES ({marks})"
    link.raw.executemany(statement, _stored(table, rows))


def _stored(table: TableFacts, rows: pa.Table) -> zip[tuple[object, ...]]:
    columns = [
        stored_column(rows.column(name).combine_chunks(), affinity(table.column(name).native))
        for name in rows.column_names
    ]
    return zip(*columns, strict=True)


def _copy(link: Session, relation: str, names: tuple[str, ...], rows: pa.Table) -> None:
    with link.raw.cursor().copy(f"COPY {relation} ({listed(names)}) FROM STDIN (FORMAT csv)") as copy:
        for batch in rows.to_batches(max_chunksize=ROWS_AT_ONCE):
            copy.write(csv_piece(batch))
