"""Cutting points again and again where only the number of records counts: one group after the other, in place.

The same cuts as `partitioning` makes in rounds, for requirements that a number of records satisfies. A group is a run
of the order of points; a cut sorts the run into its parts and puts them on a stack.

One look at the points of a run counts the records of every code of every column; which cut is best is read from these
counts, and a second look hands the points out to the parts. Where a run has far fewer points than a column has codes
between its first and last, its points are looked at again instead.

Invariants
    I1  What a cut saves is added up part by part, in the order of the rounds, so that ties are broken alike.


Coarse classes
--------------
Classes of points that look alike once every column is read at a coarser level: one pass and one hash table.

A column read at a level gives every leaf a 64-bit number, equal for leaves that the level does not tell apart. The sum
of these numbers over the columns names a class; its low bits are replaced by the point's region, so that regions never
meet, whatever the numbers are. Two different classes share a name with probability about n² / 2⁶⁴ per table; then they
would be joined, which costs quality and not safety."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, IntArray
from sfumato.core.compiled import jit
from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts, cell_cost

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


class Trees(NamedTuple):
    """The hierarchies of the columns, one after the other; a column without one starts at −1.

    ``child[start + d · size + leaf]`` is the place among its siblings of the node above a leaf at depth d, and `node`
    its number."""

    start: NDArray[np.int64]
    depths: NDArray[np.int64]
    size: NDArray[np.int64]
    node: NDArray[np.int64]
    child: NDArray[np.int64]


class CuttingDesk(NamedTuple):
    """Working memory for one group: per position its part; per column and code the records (from ``base[c]``), per
    column the extent; per child size, extent, part; per part records and price; the best cut so far and what it makes
    of the children."""

    chosen: NDArray[np.int64]
    weight: NDArray[np.int64]
    base: NDArray[np.int64]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    size: NDArray[np.int64]
    lo: NDArray[np.int64]
    last: NDArray[np.int64]
    becomes: NDArray[np.int64]
    price: NDArray[np.float64]
    records: NDArray[np.int64]
    middle: NDArray[np.int64]
    saved: NDArray[np.float64]
    best: NDArray[np.int64]
    """Column, row of `Trees.child` (−1 for a range) and first code of the second part."""
    kept: NDArray[np.int64]


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
    """The group of every point of `order`, whose runs from `first` to `first` are cut into groups of at least `fewest`
    records."""
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
        for i in range(low, high):
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
    """How many parts the best cut of a run makes, 0 when there is none; `desk.chosen` tells the part of every
    position."""
    total = 0
    for i in range(low, high):
        total += counts[order[i]]
    if total < 2 * fewest:
        return 0
    count_codes(codes, counts, order, low, high, desk)
    desk.saved[0] = 0.0
    parts = 0
    for column in range(codes.shape[1]):
        lo = desk.lowest[column]
        last = desk.highest[column]
        few = last - lo >= 4 * (high - low) + 16
        start = trees.start[column]
        before = cell_cost(costs, column, lo, last) * total
        if lo < last and start >= 0:
            size = trees.size[column]
            depth = 1
            while (
                depth < trees.depths[column]
                and trees.node[start + depth * size + lo] == trees.node[start + depth * size + last]
            ):
                depth += 1
            row = start + min(depth, trees.depths[column] - 1) * size
            width = children_of(codes, counts, order, low, high, column, row, few, trees, desk)
            parts = tried(width, column, row, 0, fewest, before, parts, costs, desk)
        elif lo < last:
            medians_of(codes, order, low, high, column, few, total, desk)
            for side in range(2):
                halves_of(codes, counts, order, low, high, column, desk.middle[side], few, desk)
                parts = tried(2, column, -1, desk.middle[side], fewest, before, parts, costs, desk)
        forget_codes(codes, order, low, high, column, few, desk)
    hand_out(codes, order, low, high, parts, trees, desk)
    return parts


@jit
def count_codes(codes: CodeArray, counts: IntArray, order: IntArray, low: int, high: int, desk: CuttingDesk) -> None:
    """The records of every code of a run, and the smallest and largest code of every column."""
    for column in range(codes.shape[1]):
        desk.lowest[column] = codes[order[low], column]
        desk.highest[column] = codes[order[low], column]
    for i in range(low, high):
        point = order[i]
        many = counts[point]
        for column in range(codes.shape[1]):
            code = codes[point, column]
            desk.weight[desk.base[column] + code] += many
            if code < desk.lowest[column]:
                desk.lowest[column] = code
            elif code > desk.highest[column]:
                desk.highest[column] = code


@jit
def forget_codes(
    codes: CodeArray, order: IntArray, low: int, high: int, column: int, few: bool, desk: CuttingDesk
) -> None:
    """No records at any code of a column again."""
    base = desk.base[column]
    if few:
        for i in range(low, high):
            desk.weight[base + codes[order[i], column]] = 0
    else:
        for code in range(desk.lowest[column], desk.highest[column] + 1):
            desk.weight[base + code] = 0


@jit
def add_to_child(child: int, code: int, many: int, desk: CuttingDesk) -> None:
    """Records of a code stand under a child."""
    if desk.size[child] == 0:
        desk.lo[child] = code
        desk.last[child] = code
    desk.size[child] += many
    desk.lo[child] = min(desk.lo[child], code)
    desk.last[child] = max(desk.last[child], code)


@jit
def children_of(
    codes: CodeArray, counts: IntArray, order: IntArray, low: int, high: int, column: int, row: int, few: bool,
    trees: Trees,
    desk: CuttingDesk,
) -> int:  # fmt: skip
    """Size and extent of the children of the node around a run; one more than the last of them that has a person."""
    base = desk.base[column]
    width = 0
    if few:
        for i in range(low, high):
            width = max(width, trees.child[row + codes[order[i], column]] + 1)
    else:
        for code in range(desk.lowest[column], desk.highest[column] + 1):
            if desk.weight[base + code] > 0:
                width = max(width, trees.child[row + code] + 1)
    for child in range(width):
        desk.size[child] = 0
    if few:
        for i in range(low, high):
            code = codes[order[i], column]
            add_to_child(trees.child[row + code], code, counts[order[i]], desk)
    else:
        for code in range(desk.lowest[column], desk.highest[column] + 1):
            if desk.weight[base + code] > 0:
                add_to_child(trees.child[row + code], code, desk.weight[base + code], desk)
    return width


@jit
def halves_of(
    codes: CodeArray,
    counts: IntArray,
    order: IntArray,
    low: int,
    high: int,
    column: int,
    middle: int,
    few: bool,
    desk: CuttingDesk,
) -> None:
    """Size and extent of the codes before the middle and from it on."""
    base = desk.base[column]
    desk.size[0] = 0
    desk.size[1] = 0
    if few:
        for i in range(low, high):
            code = codes[order[i], column]
            add_to_child(1 if code >= middle else 0, code, counts[order[i]], desk)
    else:
        for code in range(desk.lowest[column], desk.highest[column] + 1):
            if desk.weight[base + code] > 0:
                add_to_child(1 if code >= middle else 0, code, desk.weight[base + code], desk)


@jit
def medians_of(
    codes: CodeArray, order: IntArray, low: int, high: int, column: int, few: bool, total: int, desk: CuttingDesk
) -> None:
    """The code of the median record, and the next code of the run (the same when there is none)."""
    base = desk.base[column]
    so_far = 0
    found = -1
    following = -1
    if few:
        mine = np.zeros(high - low, dtype=np.int64)
        for i in range(low, high):
            mine[i - low] = codes[order[i], column]
        ranks = np.argsort(mine)
        so_far_code = -1
        for rank in range(high - low):
            code = mine[ranks[rank]]
            if found >= 0 and following < 0 and code > found:
                following = code
            if code != so_far_code:
                so_far += desk.weight[base + code]
                so_far_code = code
            if found < 0 and 2 * so_far >= total:
                found = code
    else:
        for code in range(desk.lowest[column], desk.highest[column] + 1):
            if desk.weight[base + code] > 0:
                if found >= 0 and following < 0:
                    following = code
                so_far += desk.weight[base + code]
                if found < 0 and 2 * so_far >= total:
                    found = code
    desk.middle[0] = found
    desk.middle[1] = following if following >= 0 else found


@jit
def tried(
    width: int,
    column: int,
    row: int,
    middle: int,
    fewest: int,
    before: float,
    parts: int,
    costs: CellCosts,
    desk: CuttingDesk,
) -> int:
    """The number of parts of this cut when it is allowed and saves more than the best so far, else of the best so
    far."""
    made = joined(width, fewest, column, costs, desk)
    if made < 2:
        return parts
    for part in range(made):
        desk.records[part] = 0
    for child in range(width):
        if desk.size[child] > 0:
            desk.records[desk.becomes[child]] += desk.size[child]
    after = 0.0
    for part in range(made):  # I1
        after += desk.price[part] * desk.records[part]
    if before - after <= desk.saved[0]:
        return parts
    desk.saved[0] = before - after
    desk.best[0] = column
    desk.best[1] = row
    desk.best[2] = middle
    for child in range(width):
        desk.kept[child] = desk.becomes[child]
    return made


@jit
def hand_out(
    codes: CodeArray, order: IntArray, low: int, high: int, parts: int, trees: Trees, desk: CuttingDesk
) -> None:
    """The part of every position, by the best cut."""
    column = desk.best[0]
    row = desk.best[1]
    if parts > 0 and row >= 0:
        for i in range(low, high):
            desk.chosen[i] = desk.kept[trees.child[row + codes[order[i], column]]]
    elif parts > 0:
        for i in range(low, high):
            desk.chosen[i] = desk.kept[1 if codes[order[i], column] >= desk.best[2] else 0]


@jit
def joined(width: int, fewest: int, column: int, costs: CellCosts, desk: CuttingDesk) -> int:
    """The children as parts: those that are large enough alone, the others together, with the smallest large one if
    they need it.

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


# Coarse classes
# --------------


@jit
def coarse_classes(
    codes: NDArray[np.int32], region: IntArray, count: IntArray, marks: IntArray, start: IntArray, low: int
) -> tuple[IntArray, IntArray]:
    """Class of each point, numbered as met, and the records of each class.

    ``marks[start[c] + code]`` is the number of a code of column c at the level that is looked at; ``low`` masks region
    bits."""
    points, columns = codes.shape
    slots = 4
    while slots < 2 * points:
        slots *= 2
    names = np.empty(slots, dtype=np.int64)
    holder = np.full(slots, -1, dtype=np.int64)
    of = np.empty(points, dtype=np.int64)
    size = np.zeros(points, dtype=np.int64)
    classes = 0
    for point in range(points):
        name = np.int64(0)
        for column in range(columns):
            name += marks[start[column] + codes[point, column]]
        name = (name & ~low) | region[point]
        slot = (name ^ (name >> 29) ^ (name >> 47)) & (slots - 1)
        while holder[slot] >= 0 and names[slot] != name:
            slot = (slot + 1) & (slots - 1)
        if holder[slot] < 0:
            holder[slot] = classes
            names[slot] = name
            classes += 1
        of[point] = holder[slot]
        size[holder[slot]] += count[point]
    return of, size[:classes]


def plain_coarse_classes(
    codes: NDArray[np.int32], region: IntArray, count: IntArray, marks: IntArray, start: IntArray, low: int
) -> tuple[IntArray, IntArray]:
    """The same by sorting."""
    names = np.zeros(len(codes), dtype=np.int64)
    for column in range(codes.shape[1]):
        names += marks[start[column] + codes[:, column]]
    names = (names & ~np.int64(low)) | region
    _, first, of = np.unique(names, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[of], np.bincount(rank[of], weights=count, minlength=len(first)).astype(np.int64)
