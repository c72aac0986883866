"""Shares: how many records of every row go to which group, where a row may be a class of many.

>>> shares = crossed(np.array([1, 0]), np.array([0, 3]), np.array([7, 8]), np.array([0, 2]), np.array([2, 2]), 5)
>>> shares.row.tolist(), shares.group.tolist(), shares.count.tolist()
([0, 0, 1, 1], [8, -1, 7, 8], [1, 1, 2, 1])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Shares:
    """`count[i]` records of row `row[i]` go to group `group[i]`, −1 when suppressed; sorted by row, every record in one."""

    row: IntArray
    group: IntArray
    count: IntArray


def crossed(order: IntArray, starts: IntArray, group: IntArray, first: IntArray, count: IntArray, records: int) -> Shares:
    """Rows that begin at `starts`, cut where groups begin and end; what no group takes is suppressed. In the order of the rows."""
    last = first + count
    cuts = np.concatenate([starts, first, last])
    cuts.sort()
    cuts = cuts[np.append(True, cuts[1:] != cuts[:-1]) & (cuts < records)]
    row = order[np.searchsorted(starts, cuts, side="right") - 1]
    of = np.full(len(cuts), -1, dtype=np.int64)
    if len(first):
        taker = np.searchsorted(first, cuts, side="right") - 1
        taken = (taker >= 0) & (cuts < last[taker])
        of[taken] = group[taker[taken]]
        del taker, taken
    many = np.diff(cuts, append=records)
    del cuts, last
    by_row = np.argsort(row, kind="stable")
    return Shares(row[by_row], of[by_row], many[by_row])
