"""Who stands where: pieces of units in groups, moved about and put back.

Notation
    unit      records that are alike in everything that matters: ``code[u]`` (leaves), ``tag[u]`` (places in a tally)
    piece     ``records[p]`` records of ``unit[p]`` in group ``home[p]``; a unit may stand in several groups
    lists     pieces of a unit from ``of_unit[u]`` by ``beside``, of a group from ``of_group[g]`` by ``after`` and ``before``
    box       ``lo[g] … last[g]``: the smallest publishable intervals around a group
    shape     which intervals are publishable: nodes of a tree, or all (``start`` −1)
    below     ``below[base[c] + i]``: the units whose code in column c is among the first i of those that occur, as bits
    within    ``within[r]``: the units of region r, as bits
    number    groups in `live`, in `free`, and pieces in `spare`

Invariants
    I1  Every record stands in exactly one group; `size`, `tally`, `lo`, `last` and `cost` are those of the pieces.
    I2  `move` and its opposite leave everything as it was, but for the order within lists.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import CodeArray, FloatArray, IntArray
from sfumato.methods.recoding.kernels.cell_costs import CellCosts, cell_cost, in_place


class Shape(NamedTuple):
    """Trees of the columns, one after the other; `size` leaves each."""

    parent: IntArray
    lo: IntArray
    hi: IntArray
    start: IntArray
    size: IntArray


class Seating(NamedTuple):
    """Pieces and groups."""

    code: NDArray[np.int32]
    tag: IntArray
    region: IntArray
    within: NDArray[np.uint64]
    below: NDArray[np.uint64]
    base: IntArray
    rank: IntArray
    """How many of the codes that occur are smaller, for every code of every column, from ``first_rank[c]`` on."""
    first_rank: IntArray
    unit: IntArray
    records: IntArray
    home: IntArray
    beside: IntArray
    of_unit: IntArray
    after: IntArray
    before: IntArray
    of_group: IntArray
    size: IntArray
    cost: FloatArray
    lo: CodeArray
    last: CodeArray
    tally: IntArray
    live: IntArray
    place: IntArray
    free: IntArray
    spare: IntArray
    number: IntArray


@in_place
def fill_bits(stand: Seating) -> None:
    """Set the bits of `within` and `below`, which are zero."""
    for u in range(len(stand.code)):
        word, bit = u >> 6, np.uint64(1) << np.uint64(u & 63)
        stand.within[stand.region[u], word] |= bit
        for c in range(stand.code.shape[1]):
            stand.below[stand.base[c] + stand.rank[stand.first_rank[c] + stand.code[u, c]] + 1, word] |= bit
    for c in range(stand.code.shape[1]):
        for row in range(stand.base[c] + 1, stand.base[c + 1]):
            for w in range(stand.below.shape[1]):
                stand.below[row, w] |= stand.below[row - 1, w]


@in_place
def closed(shape: Shape, c: int, lo: int, last: int) -> tuple[int, int]:
    """The smallest publishable interval around ``lo … last``, both included."""
    start = shape.start[c]
    if start < 0:
        return np.int64(lo), np.int64(last)
    node = np.int64(lo)
    while shape.hi[start + node] <= last:
        node = shape.parent[start + node]
    return shape.lo[start + node], shape.hi[start + node] - 1


@in_place
def measure(stand: Seating, costs: CellCosts, shape: Shape, g: int) -> int:
    """Fill in the box and the cost of a group from its pieces; how many there are."""
    columns, pieces = stand.lo.shape[1], 0
    p = stand.of_group[g]
    while p >= 0:
        u = stand.unit[p]
        for c in range(columns):
            x = np.int64(stand.code[u, c])
            if pieces == 0:
                stand.lo[g, c], stand.last[g, c] = x, x
            elif x < stand.lo[g, c]:
                stand.lo[g, c] = x
            elif x > stand.last[g, c]:
                stand.last[g, c] = x
        pieces += 1
        p = stand.after[p]
    stand.cost[g] = 0.0
    if pieces:
        for c in range(columns):
            stand.cost[g] += cell_cost(costs, c, stand.lo[g, c], stand.last[g, c])
            stand.lo[g, c], stand.last[g, c] = closed(shape, c, stand.lo[g, c], stand.last[g, c])
    return pieces


@in_place
def region_of(stand: Seating, g: int) -> int:
    """The region that a group is in."""
    return stand.region[stand.unit[stand.of_group[g]]]


@in_place
def cost_beyond(stand: Seating, costs: CellCosts, g: int, lo: CodeArray, last: CodeArray, i: int) -> float:
    """The cost, in the columns that are no tables, of one record of the smallest box that holds a group and box i."""
    total = 0.0
    for c in range(costs.tables, stand.lo.shape[1]):
        total += cell_cost(costs, c, min(stand.lo[g, c], lo[i, c]), max(stand.last[g, c], last[i, c]))
    return total


@in_place
def measure_first(stand: Seating, costs: CellCosts, shape: Shape, groups: int) -> None:
    """Fill in the boxes and costs of the first groups."""
    for g in range(groups):
        measure(stand, costs, shape, g)


@in_place
def widen(stand: Seating, costs: CellCosts, shape: Shape, g: int, u: int) -> None:
    """Let the box of a group contain a unit."""
    stand.cost[g] = 0.0
    for c in range(stand.lo.shape[1]):
        lo, last = min(stand.lo[g, c], stand.code[u, c]), max(stand.last[g, c], stand.code[u, c])
        stand.cost[g] += cell_cost(costs, c, lo, last)
        stand.lo[g, c], stand.last[g, c] = closed(shape, c, lo, last)


@in_place
def piece_in(stand: Seating, u: int, g: int) -> int:
    """The piece of a unit in a group, −1 when there is none."""
    p = stand.of_unit[u]
    while p >= 0 and stand.home[p] != g:
        p = stand.beside[p]
    return p


@in_place
def move(stand: Seating, u: int, a: int, b: int, many: int) -> None:
    """Records of a unit go from group a to group b (I1, I2); boxes and costs are not looked at."""
    p = piece_in(stand, u, a)
    stand.records[p] -= many
    if stand.records[p] == 0:
        _remove(stand, p, u, a)
    q = piece_in(stand, u, b)
    if q < 0:
        stand.number[2] -= 1
        q = stand.spare[stand.number[2]]
        stand.unit[q], stand.records[q], stand.home[q] = u, 0, b
        stand.beside[q], stand.of_unit[u] = stand.of_unit[u], q
        stand.before[q], stand.after[q] = -1, stand.of_group[b]
        if stand.of_group[b] >= 0:
            stand.before[stand.of_group[b]] = q
        stand.of_group[b] = q
    stand.records[q] += many
    stand.size[a] -= many
    stand.size[b] += many
    for h in range(stand.tag.shape[1]):
        stand.tally[a, stand.tag[u, h]] -= many
        stand.tally[b, stand.tag[u, h]] += many


@in_place
def _remove(stand: Seating, p: int, u: int, g: int) -> None:
    """Take an empty piece out of its lists."""
    if stand.of_unit[u] == p:
        stand.of_unit[u] = stand.beside[p]
    else:
        q = stand.of_unit[u]
        while stand.beside[q] != p:
            q = stand.beside[q]
        stand.beside[q] = stand.beside[p]
    left, right = stand.before[p], stand.after[p]
    if left < 0:
        stand.of_group[g] = right
    else:
        stand.after[left] = right
    if right >= 0:
        stand.before[right] = left
    stand.spare[stand.number[2]] = p
    stand.number[2] += 1


@in_place
def new_group(stand: Seating) -> int:
    """An empty group."""
    stand.number[1] -= 1
    g = stand.free[stand.number[1]]
    stand.live[stand.number[0]], stand.place[g] = g, stand.number[0]
    stand.number[0] += 1
    stand.of_group[g], stand.size[g], stand.cost[g] = -1, 0, 0.0
    for v in range(stand.tally.shape[1]):
        stand.tally[g, v] = 0
    return g


@in_place
def end_group(stand: Seating, g: int) -> None:
    """An empty group is no longer live."""
    stand.number[0] -= 1
    other = stand.live[stand.number[0]]
    stand.live[stand.place[g]], stand.place[other] = other, stand.place[g]
    stand.place[g] = -1
    stand.free[stand.number[1]] = g
    stand.number[1] += 1
