"""Rows of each sub-table, shuffled on their own, with bucket numbers where the table hides a column.

Invariants
    I1  Every table has its own random row order and its own bucket numbers; nothing but shared columns links two
        tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.randomness import Randomness
from sfumato.kinds.subtables.guardian_normal_form import SubTable
from sfumato.kinds.subtables.joint_estimate import SubTableSheet
from sfumato.kinds.subtables.methods.buckets import bucketize, joint_buckets


@dataclass(frozen=True, slots=True)
class Dealt:
    """One sub-table ready to be written: which record stands in each row, and its bucket (−1: hidden values
    withheld)."""

    table: SubTable
    rows: IntArray
    buckets: IntArray | None = None

    def sheet(self, columns: Mapping[str, IntArray], name: str) -> SubTableSheet:
        """The table in codes, as an outsider reads it."""
        visible = {column: columns[column][self.rows] for column in sorted(self.table.visible)}
        hidden = {column: columns[column][self.rows] for column in sorted(self.table.guarded)}
        return SubTableSheet.of_rows(visible, self.buckets, hidden, name=name)


def deal(
    columns: Mapping[str, IntArray],
    tables: Sequence[SubTable],
    levels: Mapping[str, float],
    randomness: Randomness,
    grids: int = 0,
) -> list[Dealt]:
    """Bucketize every guarded column at its level and shuffle every table."""
    return [_deal_one(columns, table, levels, randomness.child(place), grids) for place, table in enumerate(tables)]


def _deal_one(
    columns: Mapping[str, IntArray], table: SubTable, levels: Mapping[str, float], randomness: Randomness, grids: int
) -> Dealt:
    count = len(next(iter(columns.values())))
    rows = randomness.child("rows").permutation(count)  # I1
    if not table.guarded:
        return Dealt(table, rows)
    names = sorted(table.guarded)
    source = randomness.child("buckets")
    if len(names) == 1:
        buckets = bucketize(columns[names[0]], int(np.ceil(levels[names[0]])), source, what=f"column '{names[0]}'")
    else:
        buckets = joint_buckets([columns[name] for name in names], [levels[name] for name in names], source, grids)
    return Dealt(table, rows, buckets[rows])
