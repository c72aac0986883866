"""The values of a segment at its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.methods.replacing.databases.parts import Segment
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.policy.rules.tree import ColumnValue


def place(columns: dict[ColumnValue, pa.Array], segment: Segment, drawn: Any, data: Selected) -> None:
    """A segment's values at its rows; the first segment of a column that covers all rows needs no copying."""
    for column in segment.part.columns:
        rows, count = segment.rows[str(column.table)], data.count(str(column.table))
        fresh = drawn[column].arrow()
        if len(rows) == count:
            columns[column] = fresh
            continue
        before = columns.get(column)
        spots = np.full(count, -1, dtype=np.int64)
        spots[rows] = np.arange(len(rows))
        taken = fresh.take(pa.array(spots, mask=spots < 0))
        columns[column] = taken if before is None else pc.coalesce(taken, before)
