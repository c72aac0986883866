"""What to do about every column of a database: replace it, ask a person, or keep it, each with the reason.

A table is about people by its name, by a column that points at a person, or because it refers to such a table. A column
of text, bytes, json, xml, hstore, array or another open type there is never kept because nothing was recognized.

>>> import pyarrow as pa
>>> from sfumato.data.database import ColumnFacts, Schema, TableFacts
>>> columns = ColumnFacts("id", "integer", "INT"), ColumnFacts("phonenumber", "text", "TEXT")
>>> facts = TableFacts("users", columns, primary_key=("id",))
>>> rows = Table(pa.table({"id": ["1", "2"], "phonenumber": ["+49 30 901820", "+49 30 901821"]}))
>>> found = column_decisions(Database(Schema((facts,)), {"users": rows}))
>>> found["users", "phonenumber"].action, found["users", "phonenumber"].reason
('replace', 'matched "phone number" (telephone numbers)')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.database import ColumnFacts, Database, TableFacts
from sfumato.data.personal_columns.detector import (
    ColumnDecision,
    DatabaseColumn,
    decide,
    people_tables,
    points_at_persons,
)
from sfumato.data.table import Table

MOST_ROWS = 20_000
"""Rows of a table that are looked at."""
_MOST_VALUES = 500


def column_decisions(
    database: Database, references: Iterable[tuple[str, str, str]] = (), most: int = MOST_ROWS
) -> dict[tuple[str, str], ColumnDecision]:
    """Return the decision for every column, by table and column.

    `references` are (table, column, parent) that were found in the rows, beside those that the schema declares.
    """
    found = list(references)
    for facts in database.schema.tables:
        found += [(facts.name, column, link.parent) for link in facts.foreign_keys for column in link.columns]
    referring = {(table, column) for table, column, _ in found}
    columns = {
        facts.name: described_columns(facts, database.tables.get(facts.name), referring, most)
        for facts in database.schema.tables
    }
    people = people_tables(columns, [(table, parent) for table, _, parent in found])
    pointing = {table for table, own in columns.items() if points_at_persons(own)}
    return {
        (table, column.name): decide(column, table in people, table in pointing)
        for table, own in columns.items()
        for column in own
    }


def described_columns(
    facts: TableFacts, table: Table | None, referring: Iterable[tuple[str, str]], most: int
) -> list[DatabaseColumn]:
    """Return what is known of the columns of a table; a column that refers to another table, or numbers rows, is a
    key."""
    keys = {column for name, column in referring if name == facts.name}
    keys |= set(facts.primary_key) if len(facts.primary_key) == 1 else set()
    return [_described(column, facts.name, table, column.name in keys, most) for column in facts.columns]


def _described(facts: ColumnFacts, table: str, rows: Table | None, key: bool, most: int) -> DatabaseColumn:
    kind, listed = facts.kind, bool(facts.choices)
    if rows is None or facts.name not in rows.names:
        return DatabaseColumn(facts.name, table, kind, key=key, listed=listed)
    values, counts = _distinct(rows.column(facts.name)[:most])
    known, rarest = sum(counts), min(counts, default=0)
    return DatabaseColumn(facts.name, table, kind, values[:_MOST_VALUES], known, len(values), rarest, key, listed)


def _distinct(cells: pa.ChunkedArray) -> tuple[Sequence[str], Sequence[int]]:
    """Return the different texts of some cells and how many rows have each; missing and empty ones are none."""
    found = pc.value_counts(cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells)
    pairs = [
        (str(value), count)
        for value, count in zip(*(found.field(place).to_pylist() for place in (0, 1)), strict=True)
        if value
    ]
    return [value for value, _ in pairs], [count for _, count in pairs]
