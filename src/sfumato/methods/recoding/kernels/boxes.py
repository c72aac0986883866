"""Priced boxes: the smallest publishable interval around a group in every column, and what it would cost to let a value in.

Notation
    tree     a column whose publishable intervals are the nodes of a hierarchy
    line     a column of numbers where every interval may be published
    price    integer cost of an interval; `rest` of a column sums the prices from there on, so the first one is the whole price

Invariants
    I1  The price of a box never falls when the box grows. A single value costs nothing.
    I2  A box in a tree is a node, so the smallest box that also covers a value lies on the way from that node to the root.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray

Whole = Any
"""A machine word: a Python number to the reader, a 64-bit integer to the compiler."""
Records = Any
"""An array of named records, which the type checker cannot see into."""

FAR = 1 << 62


def record(*names: str) -> np.dtype[np.void]:
    """A record of whole numbers."""
    return np.dtype([(name, np.int64) for name in names])


COLUMN = record("tree", "offset")
NODE = record("price", "up", "lo", "hi")
BOX = record("lo", "hi", "node", "price", "rest")


class Columns(NamedTuple):
    """The quasi-identifiers: trees with priced nodes, or lines of numbers where every interval may be published."""

    heads: Records
    """Per column: whether it is a tree, and where it begins among the nodes."""
    nodes: Records
    """Nodes of a tree; leaves of a line, with their position as price."""


@jit
def widened(columns: Columns, j: Whole, box: Records, code: Whole) -> Whole:
    """The price in column j once `code` has joined."""
    if box[j].lo <= code < box[j].hi:
        return box[j].price
    base = columns.heads[j].offset
    if columns.heads[j].tree == 0:
        return columns.nodes[base + max(box[j].hi - 1, code)].price - columns.nodes[base + min(box[j].lo, code)].price
    node = base + box[j].node
    while not columns.nodes[node].lo <= code < columns.nodes[node].hi:
        node = base + columns.nodes[node].up
    return columns.nodes[node].price


@jit
def widen(columns: Columns, box: Records, codes: IntArray) -> bool:
    """Let a point join the box; whether the box had to grow."""
    grown = False
    for j in range(len(codes) - 1, -1, -1):
        grown |= widen_column(columns, j, box, codes[j])
        box[j].rest = box[j + 1].rest + box[j].price
    return grown


@jit
def widen_column(columns: Columns, j: Whole, box: Records, code: Whole) -> bool:
    """Let `code` join column j of the box; whether the box had to grow."""
    if box[j].lo <= code < box[j].hi:
        return False
    base = columns.heads[j].offset
    box[j].price = widened(columns, j, box, code)  # I1
    if columns.heads[j].tree == 0:
        box[j].lo, box[j].hi = min(box[j].lo, code), max(box[j].hi, code + 1)
        return True
    node = box[j].node
    while not columns.nodes[base + node].lo <= code < columns.nodes[base + node].hi:  # I2
        node = columns.nodes[base + node].up
    box[j].node, box[j].lo, box[j].hi = node, columns.nodes[base + node].lo, columns.nodes[base + node].hi
    return True


@jit
def enclose(box: Records, codes: IntArray) -> None:
    """The box of a single point, which costs nothing."""
    for j in range(len(codes)):
        box[j].lo, box[j].hi, box[j].node, box[j].price, box[j].rest = codes[j], codes[j] + 1, codes[j], 0, 0


@jit
def free(box: Records) -> None:
    """A box around everything that costs nothing: the nearest point is then the first."""
    for j in range(len(box)):
        box[j].lo, box[j].hi, box[j].price, box[j].rest = 0, FAR, 0, 0
