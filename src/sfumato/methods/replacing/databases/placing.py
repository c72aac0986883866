"""Segments drawn one after the other, and their values at their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.shelf import shelved
from sfumato.methods.base import Progress
from sfumato.methods.replacing.databases.parts import FreeColumns, Segment
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.methods.replacing.sampling.blocks import forecast_of
from sfumato.methods.replacing.sampling.patience import Patience
from sfumato.methods.replacing.sampling.solver_pool import Crew, Divided
from sfumato.policy.rules.tree import ColumnValue
from sfumato.randomness import Randomness


def place(columns: dict[ColumnValue, pa.Array], segment: Segment, drawn: Any, data: Selected) -> None:
    """A segment's values at its rows; the first segment of a column that covers all rows needs no copying."""
    for column in segment.part.columns:
        rows, count = segment.rows[str(column.table)], data.count(str(column.table))
        fresh = drawn[column].arrow()
        if len(rows) == count:
            columns[column] = shelved(fresh)
            continue
        before = columns.get(column)
        spots = np.full(count, -1, dtype=np.int64)
        spots[rows] = np.arange(len(rows))
        taken = fresh.take(pa.array(spots, mask=spots < 0))
        columns[column] = taken if before is None else pc.coalesce(taken, before)


def draw_segments(
    columns: dict[ColumnValue, pa.Array], free: FreeColumns, random: Randomness, progress: Progress, patience: Patience | None
) -> None:
    """All free columns, one segment after the other; solver blocks tell how far they are."""
    count = len(free.segments)
    for number, segment in enumerate(free.segments):
        engine, chance, done = segment.route.engine, random.child(segment.title).child(number), [0]

        def tick(one: Divided, segment: Segment = segment, number: int = number, done: list[int] = done) -> None:
            done[0] += 1
            progress((number + min(1.0, done[0] / one.tasks)) / count, segment.title)

        if isinstance(engine, Divided):
            with Crew(1, [engine], tick, patience) as crew:
                drawn = engine.run(chance, crew)
        else:
            drawn = engine.run(chance)
        place(columns, segment, drawn, free.data)
        progress((number + 1) / count, segment.title)


def forecasts(free: FreeColumns, minutes: float) -> list[str]:
    """How long the solver will take for its segments."""
    return forecast_of([segment.route for segment in free.segments], minutes)
