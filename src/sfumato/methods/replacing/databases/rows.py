"""The rows that will be made anew: per table the original columns as arrow, as texts for rules, and where they are null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.database import Database
from sfumato.data.shelf import shelved
from sfumato.methods.replacing.sampling.levels import facts
from sfumato.methods.replacing.sampling.vectors import Vector
from sfumato.policy.rules.tree import ColumnValue


class Selected:
    """Some rows of every table of a database, in their original order."""

    def __init__(
        self, database: Database, rows: dict[str, IntArray] | None = None, emptied: Mapping[ColumnValue, str | None] | None = None
    ) -> None:
        self.database, self.emptied = database, emptied or {}
        self.chosen = rows
        """The rows of every table, where only some are published."""
        self.tables = list(rows or database.tables)
        self._taken: dict[ColumnValue, pa.Array] = {}

    def count(self, table: str) -> int:
        return self.database.tables[table].rows if self.chosen is None else len(self.chosen[table])

    def behind(self, table: str, order: IntArray) -> IntArray:
        """The original rows behind the published ones, in their order."""
        return order if self.chosen is None else self.chosen[table][order]

    def column(self, column: ColumnValue) -> pa.Array:
        """The original values, nulls included; of an emptied column what stands there instead."""
        key = ColumnValue(column.name, column.table)
        if key in self.emptied and key not in self._taken:
            self._taken[key] = shelved(pa.repeat(pa.scalar(self.emptied[key], pa.string()), self.count(str(column.table))))
        if key not in self._taken:
            table = self.database.tables[str(column.table)]
            cells = table.column(column.name)
            whole = cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
            self._taken[key] = whole if self.chosen is None else whole.take(pa.array(self.chosen[str(column.table)]))
        return self._taken[key]

    def missing(self, column: ColumnValue) -> BoolArray:
        found: BoolArray = np.asarray(pc.is_null(self.column(column)).to_numpy(zero_copy_only=False), dtype=bool)
        return found

    def has_nulls(self, column: ColumnValue) -> bool:
        return bool(self.column(column).null_count)

    def texts(self, column: ColumnValue, rows: IntArray | None = None) -> NDArray[Any]:
        """Texts for rules; a null is the empty text."""
        values = self.column(column) if rows is None else self.column(column).take(pa.array(rows))
        encoded = pc.fill_null(values, "").dictionary_encode()
        labels = np.array(encoded.dictionary.to_pylist() or [""], dtype=np.str_)
        found: NDArray[Any] = labels[encoded.indices.to_numpy(zero_copy_only=False)]
        return found

    def vector(self, column: ColumnValue, rows: IntArray) -> Vector:
        """The values as numbers, days or texts, in rows without nulls."""
        found: Any = self.texts(column, rows)
        return facts(found)


class TextsOf(Mapping[str, Any]):
    """Columns of a table as texts, made when a rule asks for one."""

    def __init__(self, data: Selected, columns: Mapping[str, ColumnValue], rows: IntArray | None) -> None:
        self.data, self.columns, self.rows = data, columns, rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.data.texts(self.columns[name], self.rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)
