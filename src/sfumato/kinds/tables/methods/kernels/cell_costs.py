"""The cost of an interval of leaves, ready for inner loops: a table of all pairs for small columns, a rule for large
ones.

Notation
    lo, last    smallest and largest leaf of a group in a column (both included)
    tables      the first so many columns are tables, which the inner loops read without asking
    TABLE       ``values[start + lo · size + last]``
    SPAN        ``weight · (values[start + last] − values[start + lo])``: numbers in a row
    LOG         ``weight · log₂(values[start + last + 1] − values[start + lo])``: records below, counted cumulatively
    CLIMB       from leaf `lo` up to the first node that reaches `last`; its cost is ``values[start + node]``


Boxes
-----
Priced boxes: the smallest publishable interval around a group in every column, and what it would cost to let a value
in.

Notation
    tree     a column whose publishable intervals are the nodes of a hierarchy
    line     a column of numbers where every interval may be published
    price    integer cost of an interval; `rest` of a column sums the prices from there on, so the first one is the
             whole price

Invariants
    I1  The price of a box never falls when the box grows. A single value costs nothing.
    I2  A box in a tree is a node, so the smallest box that also covers a value lies on the way from that node to the
        root.


Group joining
-------------
Join groups that break a requirement to the neighbour whose joining costs least.

Notation
    growth   what joining adds to the loss, ``(size₁ + size₂) · price₁₂ − size₁ · price₁ − size₂ · price₂``

Invariants
    I1  Groups join only within their root; ties go to the group with the lower number.
    I2  A group takes part in one join per round of its own accord; others may still join it.

Cost: groups of a root × failing groups of it, each comparison ending at the first column that makes it too dear.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, FloatArray, IntArray
from sfumato.core.compiled import jit

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


TABLE, SPAN, LOG, CLIMB = 0, 1, 2, 3

in_place = jit(_nrt=False, error_model="numpy")
"""For functions that make no arrays: nothing is counted, which halves their time and that of the compiler."""


class CellCosts(NamedTuple):
    """The columns' costs as flat arrays; `parent` and `reach` are parallel to `values` where a column climbs."""

    tables: int
    rule: NDArray[np.int64]
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    weight: NDArray[np.float64]
    values: NDArray[np.float64]
    parent: NDArray[np.int64]
    reach: NDArray[np.int64]


@in_place
def cell_cost(costs: CellCosts, column: int, lo: int, last: int) -> float:
    """What publishing the closed interval around ``lo … last`` costs one record."""
    start = costs.start[column]
    rule = costs.rule[column]
    if rule == TABLE:
        return costs.values[start + lo * costs.size[column] + last]
    if rule == SPAN:
        return costs.weight[column] * (costs.values[start + last] - costs.values[start + lo])
    if rule == LOG:
        return costs.weight[column] * np.log2(max(costs.values[start + last + 1] - costs.values[start + lo], 1.0))
    node = np.int64(lo)
    while costs.reach[start + node] <= last:
        node = costs.parent[start + node]
    return costs.values[start + node]


@in_place
def beyond_tables(
    costs: CellCosts, lo: CodeArray, last: CodeArray, i: int, other_lo: CodeArray, other_last: CodeArray, j: int
) -> float:
    """The cost, in the columns that are no tables, of one record of the box around boxes i and j.

    Inner loops read the tables themselves, from arrays bound to names of their own: reading them from the tuple, or in
    a function, costs ten times as much."""
    total = 0.0
    for c in range(costs.tables, lo.shape[1]):
        total += cell_cost(costs, c, min(lo[i, c], other_lo[j, c]), max(last[i, c], other_last[j, c]))
    return total


@jit
def cell_costs_of(costs: CellCosts, column: int, lo: IntArray, last: IntArray) -> FloatArray:
    """`cell_cost` for many intervals of one column."""
    each = np.empty(len(lo))
    for i in range(len(lo)):
        each[i] = cell_cost(costs, column, lo[i], last[i])
    return each


# Boxes
# -----


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


# Group joining
# -------------


@jit
def join_round(
    columns: Columns, boxes: Records, sizes: IntArray, root: IntArray, root_start: IntArray, failing: NDArray[np.bool_]
) -> IntArray:
    """Every failing group joins its cheapest neighbour; the number of the group that each became part of."""
    into = np.arange(len(root))
    moved = np.zeros(len(root), dtype=np.bool_)
    for group in range(len(root)):
        if not failing[group] or moved[group]:  # I2
            continue
        other = _cheapest(columns, boxes, sizes, into, group, root_start[root[group]], root_start[root[group] + 1])
        if other >= 0:
            kept, gone = min(group, other), max(group, other)
            _join(columns, boxes[kept], boxes[gone])
            sizes[kept] += sizes[gone]
            into[gone] = kept
            moved[kept] = moved[gone] = True
    for group in range(len(into)):
        into[group] = into[into[group]]  # a group only ever becomes part of a lower one
    return into


@jit
def _cheapest(
    columns: Columns, boxes: Records, sizes: IntArray, into: IntArray, group: Whole, first: Whole, last: Whole
) -> Whole:
    best, found = FAR, -1
    for other in range(first, last):  # I1
        if other == group or into[other] != other:
            continue
        both = sizes[group] + sizes[other]
        growth = sizes[other] * (boxes[group, 0].rest - boxes[other, 0].rest)
        for j in range(boxes.shape[1] - 1):
            if growth >= best:
                break
            growth += both * (_together(columns, j, boxes[group], boxes[other]) - boxes[group, j].price)
        if growth < best:
            best, found = growth, other
    return found


@jit
def _together(columns: Columns, j: Whole, box: Records, other: Records) -> Whole:
    """The price in column j of the smallest box around two boxes."""
    left, right = widened(columns, j, box, other[j].lo), widened(columns, j, box, other[j].hi - 1)
    if columns.heads[j].tree == 1:
        return max(left, right)  # both lie on the way from the box to the root
    return left + right - box[j].price


@jit
def _join(columns: Columns, box: Records, other: Records) -> None:
    for j in range(len(box) - 2, -1, -1):
        widen_column(columns, j, box, other[j].lo)
        widen_column(columns, j, box, other[j].hi - 1)
        box[j].rest = box[j + 1].rest + box[j].price
