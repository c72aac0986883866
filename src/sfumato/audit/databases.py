"""A published database as the audit sees it: tables by their own names, the policy bound to the schema, keys as row labels.

Shares no line with the methods. With the original at hand the schema is the original's, otherwise the one in the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audit.rules import Judge
from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.database import Schema
from sfumato.data.table import Table, TextColumn
from sfumato.errors import DataError
from sfumato.forms.database import DatabaseForm, bound_policy, schema_of, tables_of
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.rules import IntegrityRule
from sfumato.policy.rules.tree import Aggregate, ColumnValue, References, Unique
from sfumato.release.exhibit import Exhibit


class DatabaseExhibit:
    """The tables of a release, and the policy bound to their schema; ask for it with ``exhibit.once(DatabaseExhibit)``."""

    def __init__(self, exhibit: Exhibit) -> None:
        self.exhibit, self.form = exhibit, exhibit.of(DatabaseForm)
        self.names = {part: entry.table for part, entry in self.form.tables.items()}
        self.tables = exhibit.once(tables_of)

    @property
    def schema(self) -> Schema:
        return self.exhibit.once(schema_of)

    @property
    def bound(self) -> BoundPolicy:
        return self.exhibit.once(bound_policy)

    def column(self, column: ColumnValue) -> pa.ChunkedArray:
        if column.table not in self.tables:
            raise DataError(f"table '{column.table}' is missing")
        return self.tables[column.table].column(column.name)

    # ---- the original, row by row --------------------------------------------------------------------------------------

    @property
    def aligned(self) -> bool:
        """Whether the original row behind every published row is known."""
        return self.exhibit.private and self.exhibit.behind is not None

    def original(self, column: ColumnValue) -> pa.ChunkedArray:
        """The original values behind the published rows, in their order."""
        assert self.exhibit.behind is not None
        part = next(part for part, table in self.names.items() if table == column.table)
        table: Table = self.exhibit.original.tables[column.table]
        return table.column(column.name).take(pa.array(self.exhibit.behind[part]))

    def judge(self, rule: IntegrityRule) -> int:
        """How often a rule is broken; keys and references leave nulls out, as a database does."""
        if isinstance(rule.body, References):
            return dangling([self.column(c) for c in rule.body.child], [self.column(c) for c in rule.body.parent])
        if isinstance(rule.body, Unique):
            return repeated([self.column(c) for c in rule.body.columns])
        moved = {
            column for node in rule.body.walk() if isinstance(node, Aggregate) for column in node.by
        } & self.bound.mapped.keys()
        now: dict[str | None, Any] = {name: _Columns(table.names, table.text) for name, table in self.tables.items()}
        before: dict[str | None, Any] = {}
        if self.aligned:
            before = {name: _Columns(table.names, partial(self._old_text, name, moved)) for name, table in self.tables.items()}
        return Judge(now, before, _ordered(self.bound, rule)).broken(rule)

    def _old_text(self, table: str, moved: Set[ColumnValue], name: str) -> TextColumn:
        """An original column; groups by a linked column are met under their new names: one map renames them all."""
        column = ColumnValue(name, table)
        if column in moved:
            return self.tables[table].text(name)
        return Table(pa.table({name: self.original(column)})).text(name)


class _Columns(Mapping[str, TextColumn]):
    """The columns of a table, read when a rule asks for one."""

    def __init__(self, names: list[str], read: Callable[[str], TextColumn]) -> None:
        self.names, self.read = names, read

    def __getitem__(self, name: str) -> TextColumn:
        if name not in self.names:
            raise KeyError(name)
        return self.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _ordered(bound: BoundPolicy, rule: IntegrityRule) -> list[Any]:
    """References first whose key the rule groups by: two tables may refer to each other more than once."""
    groups = {node.by for node in rule.body.walk() if isinstance(node, Aggregate)}
    return sorted(bound.references, key=lambda reference: reference.child not in groups)


def labels(*sides: Sequence[pa.ChunkedArray]) -> tuple[list[IntArray], list[BoolArray]]:
    """Equal combinations get equal numbers across all sides; and where a part of a combination is null."""
    counts = [len(side[0]) for side in sides]
    number = np.zeros(sum(counts), dtype=np.int64)
    missing = np.zeros(sum(counts), dtype=bool)
    for columns in zip(*sides, strict=True):
        whole = pa.chunked_array([chunk for column in columns for chunk in _texts(column).chunks], pa.string())
        coded = whole.combine_chunks().dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        codes = np.asarray(pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64) + 1
        missing |= codes == 0
        whole_number = (
            codes if len(sides[0]) == 1 else np.unique(number * (len(coded.dictionary) + 1) + codes, return_inverse=True)[1]
        )
        number = whole_number.astype(np.int64)
    ends = np.cumsum(counts)[:-1]
    return np.split(number, ends), np.split(missing, ends)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_string(column.type) else pc.cast(column, pa.string())


def repeated(columns: Sequence[pa.ChunkedArray]) -> int:
    """Rows that repeat an earlier combination; combinations with a null never count, as in SQL."""
    ((number,), (missing,)) = labels(columns)
    present = number[~missing]
    return len(present) - len(np.unique(present))


def dangling(child: Sequence[pa.ChunkedArray], parent: Sequence[pa.ChunkedArray]) -> int:
    """Child rows whose combination has no null and does not occur in the parent."""
    ((own, known), (missing, gone)) = labels(child, parent)
    found = np.zeros(max(int(own.max(initial=-1)), int(known.max(initial=-1))) + 1, dtype=bool)
    found[known[~gone]] = True
    return int((~missing & ~found[own]).sum()) if len(own) else 0


def differing(one: Sequence[pa.ChunkedArray], other: Sequence[pa.ChunkedArray]) -> tuple[int, int]:
    """Rows of the first that the second lacks, and the other way round, counted as often as they occur."""
    if not one:
        return 0, 0
    ((left, right), _) = labels(one, other)
    size = max(int(left.max(initial=-1)), int(right.max(initial=-1))) + 1
    extra = np.bincount(left, minlength=size) - np.bincount(right, minlength=size)
    return int(extra[extra > 0].sum()), int(-extra[extra < 0].sum())
