"""Cutting points again and again where only the number of records counts: one group after the other, in place.

The same cuts as `partitioning` makes in rounds, for claims that a number of records satisfies. A group is a run of the order of
points; a cut sorts the run into its parts and puts them on a stack.

Invariants
    I1  Points of a run stay in ascending order, so sums are added up in the order of the rounds, and ties are broken alike.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, IntArray
from sfumato.methods.recoding.kernels.cell_costs import CellCosts, cell_cost


class Trees(NamedTuple):
    """The hierarchies of the columns, one after the other; a column without one starts at −1.

    ``child[start + d · size + leaf]`` is the place among its siblings of the node above a leaf at depth d, and `node` its number.
    """

    start: NDArray[np.int64]
    depths: NDArray[np.int64]
    size: NDArray[np.int64]
    node: NDArray[np.int64]
    child: NDArray[np.int64]


class CuttingDesk(NamedTuple):
    """Room for one group: per position its child and its chosen part; per child size, extent, part; per part price and extent."""

    child: NDArray[np.int64]
    chosen: NDArray[np.int64]
    size: NDArray[np.int64]
    lo: NDArray[np.int64]
    last: NDArray[np.int64]
    becomes: NDArray[np.int64]
    price: NDArray[np.float64]
    weight: NDArray[np.int64]
    middle: NDArray[np.int64]
    best: NDArray[np.float64]


@jit
def cut_by_size(
    codes: CodeArray,
    counts: IntArray,
    order: IntArray,
    first: IntArray,
    fewest: int,
    costs: CellCosts,
    trees: Trees,
    desk: CuttingDesk,
) -> IntArray:
    """The group of every point of `order`, whose runs from `first` to `first` are cut into groups of at least `fewest` records."""
    final = np.full(len(counts), -1, dtype=np.int64)
    begin = np.zeros(len(order) + len(first) + 1, dtype=np.int64)
    end = np.zeros(len(order) + len(first) + 1, dtype=np.int64)
    spare = np.zeros(len(order), dtype=np.int64)
    offset = np.zeros(len(desk.size) + 1, dtype=np.int64)
    waiting = 0
    for run in range(len(first) - 1):
        begin[waiting] = first[run]
        end[waiting] = first[run + 1]
        waiting += 1
    groups = 0
    while waiting > 0:
        waiting -= 1
        low = begin[waiting]
        high = end[waiting]
        parts = best_cut(codes, counts, order, low, high, fewest, costs, trees, desk)
        if parts == 0:
            for i in range(low, high):
                final[order[i]] = groups
            groups += 1
            continue
        for part in range(parts + 1):
            offset[part] = 0
        for i in range(low, high):
            offset[desk.chosen[i] + 1] += 1
        place = low
        for part in range(parts):
            many = offset[part + 1]
            begin[waiting] = place
            end[waiting] = place + many
            waiting += 1
            offset[part] = place
            place += many
        for i in range(low, high):  # I1
            part = desk.chosen[i]
            spare[offset[part]] = order[i]
            offset[part] += 1
        for i in range(low, high):
            order[i] = spare[i]
    return final


@jit
def best_cut(
    codes: CodeArray,
    counts: IntArray,
    order: IntArray,
    low: int,
    high: int,
    fewest: int,
    costs: CellCosts,
    trees: Trees,
    desk: CuttingDesk,
) -> int:
    """How many parts the best cut of a run makes, 0 when there is none; `desk.chosen` tells the part of every position."""
    total = 0
    for i in range(low, high):
        total += counts[order[i]]
    if total < 2 * fewest:
        return 0
    desk.best[0] = 0.0
    parts = 0
    for column in range(codes.shape[1]):
        lo = codes[order[low], column]
        last = lo
        for i in range(low, high):
            code = codes[order[i], column]
            lo = min(lo, code)
            last = max(last, code)
        if lo == last:
            continue
        before = cell_cost(costs, column, lo, last) * total
        start = trees.start[column]
        if start >= 0:
            size = trees.size[column]
            depth = 1
            while depth < trees.depths[column] and trees.node[start + depth * size + lo] == trees.node[start + depth * size + last]:
                depth += 1
            row = start + min(depth, trees.depths[column] - 1) * size
            for i in range(low, high):
                desk.child[i] = trees.child[row + codes[order[i], column]]
            parts = tried(codes, counts, order, low, high, column, fewest, before, parts, costs, desk)
            continue
        medians_of(codes, counts, order, low, high, column, lo, last, total, desk)
        for side in range(2):
            for i in range(low, high):
                desk.child[i] = 1 if codes[order[i], column] >= desk.middle[side] else 0
            parts = tried(codes, counts, order, low, high, column, fewest, before, parts, costs, desk)
    return parts


@jit
def medians_of(
    codes: CodeArray,
    counts: IntArray,
    order: IntArray,
    low: int,
    high: int,
    column: int,
    lo: int,
    last: int,
    total: int,
    desk: CuttingDesk,
) -> None:
    """The code of the median record, and the next code of the run (the same when there is none)."""
    so_far = 0
    found = -1
    desk.middle[0] = -1
    desk.middle[1] = -1
    if last - lo < 8 * (high - low) + 64:
        for i in range(low, high):
            desk.weight[codes[order[i], column]] += counts[order[i]]
        for code in range(lo, last + 1):
            if desk.weight[code] > 0:
                if found >= 0 and desk.middle[1] < 0:
                    desk.middle[1] = code
                so_far += desk.weight[code]
                if found < 0 and 2 * so_far >= total:
                    found = code
                desk.weight[code] = 0
    else:
        mine = np.zeros(high - low, dtype=np.int64)
        for i in range(low, high):
            mine[i - low] = codes[order[i], column]
        ranks = np.argsort(mine)
        for rank in range(high - low):
            code = mine[ranks[rank]]
            if found >= 0 and desk.middle[1] < 0 and code > found:
                desk.middle[1] = code
            so_far += counts[order[low + ranks[rank]]]
            if found < 0 and 2 * so_far >= total:
                found = code
    desk.middle[0] = found
    if desk.middle[1] < 0:
        desk.middle[1] = found


@jit
def tried(
    codes: CodeArray, counts: IntArray, order: IntArray, low: int, high: int, column: int, fewest: int, before: float, parts: int,
    costs: CellCosts, desk: CuttingDesk,
) -> int:  # fmt: skip
    """The number of parts of this cut when it is allowed and saves more than the best so far, else of the best so far."""
    width = 0
    for i in range(low, high):
        width = max(width, desk.child[i] + 1)
    for child in range(width):
        desk.size[child] = 0
    for i in range(low, high):
        child = desk.child[i]
        code = codes[order[i], column]
        if desk.size[child] == 0:
            desk.lo[child] = code
            desk.last[child] = code
        desk.size[child] += counts[order[i]]
        desk.lo[child] = min(desk.lo[child], code)
        desk.last[child] = max(desk.last[child], code)
    made = joined(width, fewest, column, costs, desk)
    if made < 2:
        return parts
    after = 0.0
    for i in range(low, high):
        after += desk.price[desk.becomes[desk.child[i]]] * counts[order[i]]
    if before - after <= desk.best[0]:
        return parts
    desk.best[0] = before - after
    for i in range(low, high):
        desk.chosen[i] = desk.becomes[desk.child[i]]
    return made


@jit
def joined(width: int, fewest: int, column: int, costs: CellCosts, desk: CuttingDesk) -> int:
    """The children as parts: those that are large enough alone, the others together, with the smallest large one if they need it.

    0 when that does not work.
    """
    fine = 0
    left = 0
    smallest = -1
    for child in range(width):
        size = desk.size[child]
        if size >= fewest:
            fine += 1
            if smallest < 0 or size < desk.size[smallest]:
                smallest = child
        else:
            left += size
    needs = left > 0 and left < fewest
    if fine == 0 or (needs and fine < 2):
        return 0
    made = 0
    lo = -1
    last = -1
    for child in range(width):
        if desk.size[child] >= fewest and not (needs and child == smallest):
            desk.becomes[child] = made
            desk.price[made] = cell_cost(costs, column, desk.lo[child], desk.last[child])
            made += 1
        elif desk.size[child] > 0:
            desk.becomes[child] = -1
            lo = desk.lo[child] if lo < 0 else min(lo, desk.lo[child])
            last = max(last, desk.last[child])
    if lo < 0:
        return made
    for child in range(width):
        if desk.becomes[child] < 0:
            desk.becomes[child] = made
    desk.price[made] = cell_cost(costs, column, lo, last)
    return made + 1
