"""Sub-tables: ``table-1.csv``, ``table-2.csv``, …, each recoded or with buckets (then with ``table-n-sensitive.csv``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table, TextColumn
from sfumato.decomposition.published_subtables import (
    BUCKET,
    COLUMN,
    COUNT,
    SENSITIVE,
    VALUE,
    WITHHELD,
    PublishedSubTables,
    aligned,
    read_tables,
)
from sfumato.errors import ReleaseError
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit, of_parts
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past import Memory, Sheet, counts_agree, each_once, remember, sheet_of
from sfumato.release.release import Part, Trace

MOST_TABLES = 200
"""Every pair of tables is compared, so their number is bounded whatever a folder says."""


@dataclass(frozen=True)
class SubTablesTrace(Trace):
    """Who stands in which bucket of which table: row by row, or how rows that lie elsewhere are dealt once more."""

    secret: str = ""
    """The secret of the run, in hexadecimal; without one the rows are known."""
    buckets: Mapping[str, int] = field(default_factory=dict)
    """Of every table with buckets: into how many its rows were dealt, at which attempt."""
    attempt: Mapping[str, int] = field(default_factory=dict)


class SubTables(Form):
    """Several tables that share columns; what must not be learned together does not stand together."""

    name: ClassVar[str] = "sub-tables"
    made: ClassVar[frozenset[str]] = frozenset({"bucket", "value", "count", "column"})
    shows_columns: ClassVar[bool] = True
    buckets: ClassVar[bool] = True
    reads_knowledge: ClassVar[bool] = True
    joins_columns: ClassVar[bool] = True
    remembered: ClassVar[bool] = True

    def trace_type(self) -> type[Trace]:
        return SubTablesTrace

    def lists(self, parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        lists = {f"{part}{SENSITIVE}" for part in parts}  # one that belongs to no table stands for itself
        return {part: tuple({f"{part}{SENSITIVE}"} & {*parts}) for part in parts if part not in lists}

    def uncounted(self, policy: Policy) -> tuple[str, ...]:
        return ()

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Trace, original: Any) -> Memory:
        behind = {part: np.asarray(rows) for part, rows in trace.rows.items()}
        everybody = np.arange(original.rows)
        places = {part: _places(rows, original.rows) for part, rows in behind.items()}
        return remember(policy, original, everybody, policy.published, places)

    def sheets(self, exhibit: Exhibit, memory: Memory) -> tuple[Sheet, ...]:
        """Every table, and what the buckets of a table hide, with the buckets; who is withheld there has no value in it."""
        found = []
        for part, rows in memory.places.items():
            table = exhibit.tables[part]
            links = frozenset({f"{BUCKET} of {part}"}) if BUCKET in table.names else frozenset()
            sheet = sheet_of(table, rows)
            columns = {f"{BUCKET} of {part}" if name == BUCKET else name: text for name, text in sheet.columns.items()}
            found.append(Sheet(columns, sheet.here, links))
            for link in links:
                found.append(_hidden(exhibit.tables[f"{part}{SENSITIVE}"], found[-1], link, memory))
        return tuple(found)

    def accounts(self, exhibit: Exhibit, memory: Memory) -> bool:
        """Rows one by one, and per bucket the values with their counts."""
        tables = {name for name in exhibit.tables if not name.endswith(SENSITIVE)}
        rows = all(each_once(places, exhibit.tables[part].rows) for part, places in memory.places.items() if part in tables)
        hiding = [part for part in memory.places if _hides(exhibit, part)]
        lists = [(exhibit.tables[f"{part}{SENSITIVE}"], _remembered(exhibit, memory, part)) for part in hiding]
        return tables == set(memory.places) and rows and all(counts_agree(_listed(values), told) for values, told in lists)

    def shown(self, exhibit: Exhibit) -> tuple[str, ...]:
        told = exhibit.once(sub_tables).labels
        return tuple(name for name in exhibit.policy.published if name in told)

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        names = [name for name in exhibit.parts if not name.endswith(SENSITIVE)]
        if not 0 < len(names) <= MOST_TABLES:
            yield f"there are {len(names)} tables, where 1 to {MOST_TABLES} can be read"
            return
        tables = [f"table-{place}" for place in range(1, len(names) + 1)]
        with_buckets = [name for name in tables if name in exhibit.parts and BUCKET in exhibit.parts[name].table.column_names]
        lists = [f"{name}{SENSITIVE}" for name in with_buckets]
        yield from differing_parts(exhibit, [*tables, *lists])
        published = set(exhibit.policy.published)
        for name in tables:
            yield from self._strange(exhibit, name, published, {BUCKET} if name in with_buckets else set())
        for name in lists:
            alone = name in exhibit.parts and VALUE in exhibit.parts[name].table.column_names
            own = {BUCKET, COUNT, VALUE, COLUMN} if alone else {BUCKET, COUNT}
            yield from self._strange(exhibit, name, set() if alone else published, own)

    def _strange(self, exhibit: Exhibit, part: str, may: set[str], must: set[str]) -> Iterator[str]:
        """Columns that a part must have, and columns of the policy that it may have."""
        shown = set(exhibit.parts[part].table.column_names) if part in exhibit.parts else set()
        yield from differing_columns(exhibit, part, (shown & may) | must)

    @property
    def rests_on_chance(self) -> bool:
        """Whoever can repeat the order of every table joins them row by row."""
        return True

    def records(self, exhibit: Exhibit) -> int:
        tables = exhibit.once(sub_tables)
        return tables.people - max((table.withheld for table in tables.tables), default=0)

    def uncountable(self, exhibit: Exhibit) -> str:
        return ""


def _places(behind: IntArray, records: int) -> IntArray:
    """The row of every record, −1 for those without one."""
    places = np.full(records, -1, dtype=np.int64)
    places[behind[behind >= 0]] = np.flatnonzero(behind >= 0)
    return places


def _hides(exhibit: Exhibit, part: str) -> bool:
    return part in exhibit.tables and BUCKET in exhibit.tables[part].names


def _names(values: Table) -> list[str]:
    """The columns that a table of hidden values is about."""
    return list(values.text(COLUMN).labels) if VALUE in values.names else [n for n in values.names if n not in (BUCKET, COUNT)]


def _listed(values: Table) -> dict[tuple[str, ...], int]:
    """(bucket, values) → count, as published."""
    shown = [VALUE] if VALUE in values.names else _names(values)
    *told, counts = (_texts(values.text(name)) for name in (BUCKET, *shown, COUNT))
    return {entry: int(count) for entry, count in zip(zip(*told, strict=True), counts, strict=True)}


def _remembered(exhibit: Exhibit, memory: Memory, part: str) -> list[list[str]]:
    """Bucket and hidden values of every record that stands in a table and is not withheld there."""
    rows = memory.places[part]
    bucket = exhibit.tables[part].text(BUCKET)
    mine = [bucket.labels[bucket.codes[row]] if row >= 0 else WITHHELD for row in rows.tolist()]
    kept = [i for i, label in enumerate(mine) if label != WITHHELD]
    columns = [_texts(memory.values.text(name)) for name in _names(exhibit.tables[f"{part}{SENSITIVE}"])]
    return [[column[i] for i in kept] for column in (mine, *columns)]


def _texts(column: TextColumn) -> list[str]:
    return [column.labels[code] for code in column.codes.tolist()]


def _hidden(values: Table, rows: Sheet, link: str, memory: Memory) -> Sheet:
    """The values behind the buckets of a table, as every remembered record has them."""
    names = _names(values)
    bucket = rows.columns[link]
    kept = np.array([label != WITHHELD for label in bucket.labels], dtype=np.bool_)[bucket.codes]
    return Sheet({link: bucket, **{name: memory.values.text(name) for name in names}}, rows.here & kept, rows.links)


@of_parts
def sub_tables(exhibit: Exhibit) -> PublishedSubTables:
    """The parts in common codes; ask for it with ``exhibit.once(sub_tables)``."""
    if len(exhibit.parts) > 2 * MOST_TABLES:
        raise ReleaseError(f"there are more tables than the {MOST_TABLES} that can be read")
    return read_tables(exhibit.tables)


def beside_original(exhibit: Exhibit) -> tuple[PublishedSubTables, dict[str, IntArray]] | None:
    """The tables and the original in the same codes; None when a table is generalized, not exact."""
    tables = exhibit.once(sub_tables)
    columns = aligned(tables, exhibit.original) if exhibit.private else None
    return None if columns is None else (tables, columns)
