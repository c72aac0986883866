"""Sub-tables: ``table-1.csv``, ``table-2.csv``, …, each recoded or with buckets (then with ``table-n-sensitive.csv``).


Anatomy
-------
Anatomy: ``data.csv`` with exact values and a ``bucket``, and per sensitive column a table ``bucket,value,count``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, ReleaseError
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.subtables.joint_estimate import BUCKET as joint_estimate_BUCKET
from sfumato.kinds.subtables.joint_estimate import (
    COLUMN,
    COUNT,
    SENSITIVE,
    VALUE,
    WITHHELD,
    PublishedSubTables,
    align_original,
    read_tables,
)
from sfumato.policy.policy import Policy
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past_releases import (
    Memory,
    RememberedTable,
    counts_agree,
    remember,
    remembered_table_of,
    rows_covered_once,
)
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView, of_parts

MOST_TABLES = 200
"""Every pair of tables is compared, so their number is bounded whatever a folder says."""


@dataclass(frozen=True)
class SubTablesProvenance(Provenance):
    """The bucket of every row in every table: row by row, or the secret to assign remote rows again."""

    secret: str = ""
    """The secret of the run, in hexadecimal; without one the rows are known."""
    buckets: Mapping[str, int] = field(default_factory=dict)
    """Of every table with buckets: the number of buckets, and the number of the attempt."""
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

    def trace_type(self) -> type[Provenance]:
        return SubTablesProvenance

    def lists(self, parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        lists = {f"{part}{SENSITIVE}" for part in parts}  # one that belongs to no table stands for itself
        return {part: tuple({f"{part}{SENSITIVE}"} & {*parts}) for part in parts if part not in lists}

    def uncounted(self, policy: Policy) -> tuple[str, ...]:
        return ()

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Any) -> Memory:
        behind = {part: np.asarray(rows) for part, rows in trace.rows.items()}
        everybody = np.arange(original.rows)
        places = {part: _places(rows, original.rows) for part, rows in behind.items()}
        return remember(policy, original, everybody, policy.published, places)

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        """Return every table, and the sensitive columns of its buckets; a record that is suppressed there has no value
        in it."""
        found = []
        for part, rows in memory.places.items():
            table = exhibit.tables[part]
            links = (
                frozenset({f"{joint_estimate_BUCKET} of {part}"})
                if joint_estimate_BUCKET in table.names
                else frozenset()
            )
            sheet = remembered_table_of(table, rows)
            columns = {
                f"{joint_estimate_BUCKET} of {part}" if name == joint_estimate_BUCKET else name: text
                for name, text in sheet.columns.items()
            }
            found.append(RememberedTable(columns, sheet.here, links))
            for link in links:
                found.append(_hidden(exhibit.tables[f"{part}{SENSITIVE}"], found[-1], link, memory))
        return tuple(found)

    def accounts(self, exhibit: ReleaseView, memory: Memory) -> bool:
        """Rows one by one, and per bucket the values with their counts."""
        tables = {name for name in exhibit.tables if not name.endswith(SENSITIVE)}
        rows = all(
            rows_covered_once(places, exhibit.tables[part].rows)
            for part, places in memory.places.items()
            if part in tables
        )
        hiding = [part for part in memory.places if _hides(exhibit, part)]
        lists = [(exhibit.tables[f"{part}{SENSITIVE}"], _remembered(exhibit, memory, part)) for part in hiding]
        return (
            tables == set(memory.places) and rows and all(counts_agree(_listed(values), told) for values, told in lists)
        )

    def shown(self, exhibit: ReleaseView) -> tuple[str, ...]:
        told = exhibit.once(sub_tables).labels
        return tuple(name for name in exhibit.policy.published if name in told)

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        names = [name for name in exhibit.parts if not name.endswith(SENSITIVE)]
        if not 0 < len(names) <= MOST_TABLES:
            yield f"there are {len(names)} tables, where 1 to {MOST_TABLES} can be read"
            return
        tables = [f"table-{place}" for place in range(1, len(names) + 1)]
        with_buckets = [
            name
            for name in tables
            if name in exhibit.parts and joint_estimate_BUCKET in exhibit.parts[name].table.column_names
        ]
        lists = [f"{name}{SENSITIVE}" for name in with_buckets]
        yield from differing_parts(exhibit, [*tables, *lists])
        published = set(exhibit.policy.published)
        for name in tables:
            yield from self._strange(
                exhibit, name, published, {joint_estimate_BUCKET} if name in with_buckets else set()
            )
        for name in lists:
            alone = name in exhibit.parts and VALUE in exhibit.parts[name].table.column_names
            own = {joint_estimate_BUCKET, COUNT, VALUE, COLUMN} if alone else {joint_estimate_BUCKET, COUNT}
            yield from self._strange(exhibit, name, set() if alone else published, own)

    def _strange(self, exhibit: ReleaseView, part: str, may: set[str], must: set[str]) -> Iterator[str]:
        """Columns that a part must have, and columns of the policy that it may have."""
        shown = set(exhibit.parts[part].table.column_names) if part in exhibit.parts else set()
        yield from differing_columns(exhibit, part, (shown & may) | must)

    @property
    def rests_on_chance(self) -> bool:
        """An adversary who can repeat the row order of every table joins them row by row."""
        return True

    def records(self, exhibit: ReleaseView) -> int:
        tables = exhibit.once(sub_tables)
        return tables.people - max((table.withheld for table in tables.tables), default=0)

    def uncountable(self, exhibit: ReleaseView) -> str:
        return ""


def _places(behind: IntArray, records: int) -> IntArray:
    """The row of every record, −1 for those without one."""
    places = np.full(records, -1, dtype=np.int64)
    places[behind[behind >= 0]] = np.flatnonzero(behind >= 0)
    return places


def _hides(exhibit: ReleaseView, part: str) -> bool:
    return part in exhibit.tables and joint_estimate_BUCKET in exhibit.tables[part].names


def _names(values: Table) -> list[str]:
    """The columns that a table of sensitive values is about."""
    return (
        list(values.text(COLUMN).labels)
        if VALUE in values.names
        else [n for n in values.names if n not in (joint_estimate_BUCKET, COUNT)]
    )


def _listed(values: Table) -> dict[tuple[str, ...], int]:
    """(bucket, values) → count, as published."""
    shown = [VALUE] if VALUE in values.names else _names(values)
    *told, counts = (_texts(values.text(name)) for name in (joint_estimate_BUCKET, *shown, COUNT))
    return {entry: int(count) for entry, count in zip(zip(*told, strict=True), counts, strict=True)}


def _remembered(exhibit: ReleaseView, memory: Memory, part: str) -> list[list[str]]:
    """Return the bucket and sensitive values of every record that a table contains."""
    rows = memory.places[part]
    bucket = exhibit.tables[part].text(joint_estimate_BUCKET)
    mine = [bucket.labels[bucket.codes[row]] if row >= 0 else WITHHELD for row in rows.tolist()]
    kept = [i for i, label in enumerate(mine) if label != WITHHELD]
    columns = [_texts(memory.values.text(name)) for name in _names(exhibit.tables[f"{part}{SENSITIVE}"])]
    return [[column[i] for i in kept] for column in (mine, *columns)]


def _texts(column: TextColumn) -> list[str]:
    return [column.labels[code] for code in column.codes.tolist()]


def _hidden(values: Table, rows: RememberedTable, link: str, memory: Memory) -> RememberedTable:
    """The values behind the buckets of a table, as every remembered record has them."""
    names = _names(values)
    bucket = rows.columns[link]
    kept = np.array([label != WITHHELD for label in bucket.labels], dtype=np.bool_)[bucket.codes]
    return RememberedTable(
        {link: bucket, **{name: memory.values.text(name) for name in names}}, rows.here & kept, rows.links
    )


@of_parts
def sub_tables(exhibit: ReleaseView) -> PublishedSubTables:
    """The parts in common codes; ask for it with ``exhibit.once(sub_tables)``."""
    if len(exhibit.parts) > 2 * MOST_TABLES:
        raise ReleaseError(f"there are more tables than the {MOST_TABLES} that can be read")
    return read_tables(exhibit.tables)


def align_with_original(exhibit: ReleaseView) -> tuple[PublishedSubTables, dict[str, IntArray]] | None:
    """The tables and the original in the same codes; None when a table is generalized, not exact."""
    tables = exhibit.once(sub_tables)
    columns = align_original(tables, exhibit.original) if exhibit.private else None
    return None if columns is None else (tables, columns)


# Anatomy
# -------


BUCKET = "bucket"
_LISTED = ("bucket", "value", "count")


@dataclass(frozen=True)
class AnatomyProvenance(Provenance):
    """The bucket of every row: row by row, or the secret to assign remote rows again."""

    secret: str = ""
    """The secret of the run, in hexadecimal; without one the rows are known."""
    by: str = ""
    """The column by which rows were assigned, the number of buckets, and the number of the attempt."""
    buckets: int = 0
    attempt: int = 0


class AnatomyForm(Form):
    """Exact quasi-identifiers in one table, sensitive values in others, linked by buckets only."""

    name: ClassVar[str] = "anatomy"
    made: ClassVar[frozenset[str]] = frozenset({"bucket", "value", "count"})
    shows_columns: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    buckets: ClassVar[bool] = True
    remembered: ClassVar[bool] = True

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Any) -> Memory:
        return remember(policy, original, np.asarray(trace.rows["data"]), policy.published)

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        """The rows with their buckets, and for each sensitive column the values with their buckets."""
        rows = remembered_table_of(exhibit.data, memory.rows, frozenset({BUCKET}))
        hidden = [name for name in exhibit.policy.sensitive if name not in rows.columns]
        lists = [{BUCKET: rows.columns[BUCKET], name: memory.values.text(name)} for name in hidden]
        return (rows, *(RememberedTable(columns, rows.here, rows.links) for columns in lists))

    def accounts(self, exhibit: ReleaseView, memory: Memory) -> bool:
        lists = self.sheets(exhibit, memory)[1:]
        listed = all(
            counts_agree(
                _anatomy_listed(exhibit.tables[sensitive_part(exhibit, name)]),
                [_texts(sheet.columns[BUCKET]), _texts(text)],
            )
            for sheet in lists
            for name, text in sheet.columns.items()
            if name != BUCKET
        )
        return listed and rows_covered_once(memory.rows, exhibit.data.rows)

    def trace_type(self) -> type[Provenance]:
        return AnatomyProvenance

    def lists(self, parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return {"data": tuple(part for part in parts if part != "data")} if "data" in parts else super().lists(parts)

    def shown(self, exhibit: ReleaseView) -> tuple[str, ...]:
        return tuple(name for name in exhibit.policy.published if name not in self.made)

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        policy = exhibit.policy
        hidden = [name for name in policy.sensitive if name in policy.published]
        lists = {name: f"sensitive-{name}" for name in hidden}
        if len(hidden) == 1 and "sensitive" in exhibit.parts:
            lists = {hidden[0]: "sensitive"}
        if not hidden:
            yield "an anatomy hides sensitive columns, and the policy publishes none"
        yield from differing_parts(exhibit, ["data", *lists.values()])
        yield from differing_columns(
            exhibit, "data", [*(name for name in policy.published if name not in hidden), BUCKET]
        )
        for part in lists.values():
            yield from differing_columns(exhibit, part, self.made)

    def uncountable(self, exhibit: ReleaseView) -> str:
        one = len(exhibit.policy.sensitive) == 1
        return "" if one else "an anatomy of several sensitive columns is not one distribution; publish sub-tables"


def sensitive_part(exhibit: ReleaseView, column: str) -> str:
    """The part with the counts of one sensitive column."""
    own = f"sensitive-{column}"
    if own not in exhibit.parts and exhibit.policy.sensitive != (column,):
        raise DataError(f"no part lists the values of '{column}'")
    return own if own in exhibit.parts else "sensitive"


def _anatomy_listed(counts: Table) -> dict[tuple[str, ...], int]:
    """(bucket, value) → count, as published."""
    return {
        (bucket, value): int(count)
        for bucket, value, count in zip(*map(_texts, map(counts.text, _LISTED)), strict=True)
    }
