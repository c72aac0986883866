"""A schema as DuckDB can make it: tables after those they refer to, sequences that begin past the last number, no circles of keys.

DuckDB cannot move a sequence and cannot add a foreign key to a table that is there. So a sequence is made with the first free
number, and a key that would close a circle (between tables, or between the rows of one) is left out and named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from sfumato.data.database import ForeignKey, Schema, SequenceFacts, TableFacts
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.io.sql.duckdb_link import in_generations
from sfumato.io.sql.names import quoted


def for_duckdb(schema: Schema, parts: Mapping[str, Table]) -> Schema:
    """The schema in an order and a form that DuckDB can make."""
    ordered = [name for names in schema.generations() for name in names]
    kept, lost = [], []
    for at, name in enumerate(ordered):
        table = schema.table(name)
        possible = tuple(key for key in table.foreign_keys if _possible(key, set(ordered[:at]), parts))
        lost += [_sentence(key) for key in table.foreign_keys if key not in possible]
        kept.append(_numbered(replace(table, foreign_keys=possible, constraints=())))
    known = {one.name for one in schema.sequences}
    sequences = (*schema.sequences, *(one for one in _own_sequences(kept) if one.name not in known))
    moved = tuple(_moved(one, kept, parts) for one in sequences)
    return replace(schema, tables=tuple(kept), sequences=moved, left_out=schema.left_out + tuple(lost))


def _possible(key: ForeignKey, before: set[str], parts: Mapping[str, Table]) -> bool:
    if key.parent != key.table:
        return key.parent in before
    try:
        in_generations(parts[key.table].frame, [key], key.table)
    except DataError:
        return False
    return True


def _sentence(key: ForeignKey) -> str:
    where = f"the foreign key of '{key.table}' ({', '.join(key.columns)}) to '{key.parent}'"
    return f"{where} is not copied: DuckDB allows no keys in a circle"


def _numbered(table: TableFacts) -> TableFacts:
    """A column that another dialect numbers gets a sequence of its own."""
    columns = tuple(
        replace(column, identity="", sequence=f"{table.name}_{column.name}_seq") if column.identity == "SEQUENCE" else column
        for column in table.columns
    )
    return replace(table, columns=columns)


def _own_sequences(tables: list[TableFacts]) -> list[SequenceFacts]:
    wanted = (
        column.sequence for table in tables for column in table.columns if column.sequence == f"{table.name}_{column.name}_seq"
    )
    return [SequenceFacts(name, f"CREATE SEQUENCE {quoted(name)} START 1") for name in wanted]


def _moved(sequence: SequenceFacts, tables: list[TableFacts], parts: Mapping[str, Table]) -> SequenceFacts:
    """Begins after the highest number of all columns that it numbers."""
    numbers = [
        int(value)
        for table in tables
        for column in table.columns
        if column.sequence == sequence.name
        for value in parts[table.name].column(column.name).drop_null().to_pylist()
    ]
    step = re.search(r"INCREMENT BY (-?\d+)", sequence.sql)
    by = int(step[1]) if step else 1
    if not numbers:
        return sequence
    start = max(numbers) + by if by > 0 else min(numbers) + by
    return replace(sequence, sql=re.sub(r"START -?\d+", f"START {start}", sequence.sql))
