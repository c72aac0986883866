"""The rows that will be made anew: per table the original columns as arrow, as texts for rules, and where they are null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.database import Database
from sfumato.methods.replacing.sampling.levels import facts
from sfumato.methods.replacing.sampling.vectors import Vector
from sfumato.policy.rules.tree import ColumnValue


class Selected:
    """Some rows of every table of a database, in their original order."""

    def __init__(
        self, database: Database, rows: dict[str, IntArray] | None = None, emptied: Mapping[ColumnValue, str | None] | None = None
    ) -> None:
        self.database, self.emptied = database, emptied or {}
        self.rows = rows or {name: np.arange(table.rows, dtype=np.int64) for name, table in database.tables.items()}
        self._taken: dict[ColumnValue, pa.Array] = {}

    def count(self, table: str) -> int:
        return len(self.rows[table])

    def column(self, column: ColumnValue) -> pa.Array:
        """The original values, nulls included; of an emptied column what stands there instead."""
        key = ColumnValue(column.name, column.table)
        if key in self.emptied and key not in self._taken:
            self._taken[key] = pa.array([self.emptied[key]] * self.count(str(column.table)), pa.string())
        if key not in self._taken:
            table = self.database.tables[str(column.table)]
            whole = table.column(column.name).combine_chunks()
            whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
            rows = self.rows[str(column.table)]
            self._taken[key] = whole if len(rows) == table.rows else whole.take(pa.array(rows))
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
