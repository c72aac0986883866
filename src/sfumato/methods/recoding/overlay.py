"""Overlay: what several components say about the same rows, piece by piece.

Every component of a problem shares the records of a row out to groups of its own. Where a row stands for one record that is one
group each; where it is a class, the records of the class are cut wherever a component cuts them, and each piece has one group of
every component.

>>> shares = Shares(np.array([0, 0, 1]), np.array([7, 8, 7]), np.array([3, 2, 1]))
>>> others = Shares(np.array([0, 0]), np.array([4, 5]), np.array([4, 1]))
>>> laid = overlaid([(np.arange(2), shares), (np.array([0]), others)], 2, np.array([5, 1]))
>>> laid.row.tolist(), [of.tolist() for of in laid.groups], laid.count.tolist()
([0, 0, 0, 1], [[7, 8, 8, 7], [4, 4, 5, -1]], [3, 1, 1, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import one_each
from sfumato.methods.recoding.shares import Shares


@dataclass(frozen=True, slots=True)
class Pieces:
    """`count[i]` records of row `row[i]`, with the group that each component gives them; −1 where one suppresses them."""

    row: IntArray
    groups: tuple[IntArray, ...]
    count: IntArray


def overlaid(shared: Sequence[tuple[IntArray | None, Shares]], rows: int, counts: IntArray | None) -> Pieces:
    """The pieces of all rows, in their order; each component speaks of some rows (named first) and suppresses the others."""
    if len(shared) == 1 and shared[0][0] is None:  # nobody else cuts what it shares out
        return Pieces(shared[0][1].row, (shared[0][1].group,), shared[0][1].count)
    if counts is None:  # a row is one record, with one group of every component
        groups = tuple(_in_place(mine, shares, rows) for mine, shares in shared)
        return Pieces(np.arange(rows), groups, one_each(rows))
    many = counts
    end = np.cumsum(many)
    laid = [_starts(mine, shares, many, end) for mine, shares in shared]
    cuts = np.unique(np.concatenate([start for start, _ in laid]))
    groups = tuple(of[np.searchsorted(start, cuts, side="right") - 1] for start, of in laid)
    return Pieces(np.searchsorted(end, cuts, side="right"), groups, np.diff(cuts, append=end[-1] if rows else 0))


def _in_place(mine: IntArray | None, shares: Shares, rows: int) -> IntArray:
    if mine is None:
        return shares.group
    of = np.full(rows, -1, dtype=np.int64)
    of[mine[shares.row]] = shares.group
    return of


def _starts(mine: IntArray | None, shares: Shares, many: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Where each share begins, all records of all rows laid in a line, and its group."""
    if mine is None:
        return np.cumsum(shares.count) - shares.count, shares.group
    silent = np.setdiff1d(np.arange(len(many)), mine, assume_unique=True)
    row = np.concatenate([mine[shares.row], silent])
    group = np.concatenate([shares.group, np.full(len(silent), -1, dtype=np.int64)])
    count = np.concatenate([shares.count, many[silent]])
    order = np.argsort(row, kind="stable")
    ends = np.cumsum(count[order])
    return ends - count[order], group[order]
