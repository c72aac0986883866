"""Join groups that break a claim to the neighbour whose joining costs least.

Notation
    growth   what joining adds to the loss, ``(size₁ + size₂) · price₁₂ − size₁ · price₁ − size₂ · price₂``

Invariants
    I1  Groups join only within their root; ties go to the group with the lower number.
    I2  A group takes part in one join per round of its own accord; others may still join it.

Cost: groups of a root × failing groups of it, each comparison ending at the first column that makes it too dear.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray
from sfumato.methods.recoding.kernels.boxes import FAR, Columns, Records, Whole, widen_column, widened


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
def _cheapest(columns: Columns, boxes: Records, sizes: IntArray, into: IntArray, group: Whole, first: Whole, last: Whole) -> Whole:
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
