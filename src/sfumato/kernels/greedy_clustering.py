"""Greedy clustering of classes with counts: GreedyPKClustering's picks, without looking at every record for each of them.

Paper: [boundaries §3, functions GreedyPKClustering, DisperseCluster, FindBestCluster]

Notation
    k, distinct   fewest records of a group, and fewest different values of each sensitive column (p)
    level         diversity of a cell and a group (Def. 12, 13): the summed weights of the columns where the cell's value is new
    fresh         per sensitive column, the combos whose value is not in the group yet, as bits
    present       the combos that are left in the root, as bits
    growth        what joining adds to the loss of a group, ``(size + 1) · price' − size · price``
    total         the loss of a group after joining, ``(size + 1) · price'``

Invariants
    I1  Same picks as the pseudocode on single records that are sorted by root, quasi-identifier codes and sensitive codes, where
        "one tuple from" means the first one; the starting seed is the first record.
    I2  A group succeeds exactly when what is left of its root has k records and the demanded distinct values. Otherwise the
        pseudocode gathers all that is left and disperses it; so do we, at once. Joining kept groups breaks nothing.
    I3  As ``size + 1`` is the same for every candidate of a pick, the least loss is the least price.

Departures
    Dispersal by growth is not in the paper, which disperses by total loss and so spoils small clean groups; both are here. By
    growth, equal tuples go to one group: once the first has joined, no other group can be cheaper for the next.
    Leftovers are dispersed in the order of I1 (the paper leaves their order open).

Cost: a search of the prefix tree per pick; equal records that cost nothing are taken together. Dispersal looks at every group of
the root once per distinct tuple that is left over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels import jit
from sfumato.kernels._point_index import (
    BOX, FAR, STEP, Columns, Index, Ints, Records, Table, Wish,
    best_cell, build, enclose, free, nearest, record, take, widen, widened,
)  # fmt: skip

PATTERNS = 6
"""With more sensitive columns than this, diversity is computed combo by combo instead of word by word."""

ENTRY = record("cell", "group", "count")
KIND = record("demanded", "weight", "met", "left")


class Draft(NamedTuple):
    """The group that is being gathered, and what is left for it."""

    box: Records
    wish: Wish
    fresh: Ints
    present: Ints
    kinds: Records
    """Per sensitive column the different values that are demanded, their weight, those the group has, those the root has left."""
    value_left: Ints
    """Records of the root that are left with each sensitive value."""
    combo_left: Ints
    met: Ints
    """The values of the group, as value × columns + column; the first entry counts them."""
    patterns: Ints
    """Sets of columns from the most diverse to the least, and their rank; equal ranks are ties."""
    steps: Records


class Result(NamedTuple):
    """Who went where; `used` holds [entries, groups]."""

    boxes: Records
    sizes: Ints
    entries: Records
    used: Ints


class Work(NamedTuple):
    """Everything a run reads and writes."""

    table: Table
    columns: Columns
    index: Index
    draft: Draft
    result: Result


def prepare(table: Table, columns: Columns, root_start: Ints, k: int, distinct: Ints, weight: Ints) -> Work:
    """Index the points and make room for the result; `weight` are the integer weights of the sensitive columns."""
    width, words = table.codes.shape[1], -(-len(table.values) // 64)
    records, roots = int(table.cells["count"].sum()), len(root_start) - 1
    kinds = np.zeros(len(weight), dtype=KIND)
    kinds["demanded"], kinds["weight"] = distinct, weight
    draft = Draft(
        np.zeros(width + 1, BOX), Wish(np.zeros(1, np.int64), np.zeros(words, np.int64), np.zeros(table.bits.shape[1], np.int64)),
        np.full((len(weight), words), -1, np.int64), np.zeros(words, np.int64), kinds,
        np.zeros(len(table.holder_start), np.int64), np.zeros(len(table.values), np.int64),
        np.zeros(len(table.holder_start) + 1, np.int64), _patterns(weight), np.zeros(width + 1, STEP),
    )  # fmt: skip
    most = records // max(k, int(distinct.max(initial=1)), 2) + roots
    result = Result(np.zeros((most, width + 1), BOX), np.zeros(most, np.int64), np.zeros(records, ENTRY), np.zeros(2, np.int64))
    return Work(table, columns, build(table, root_start), draft, result)


def _patterns(weight: Ints) -> Ints:
    """Sets of columns as bits, by falling summed weight; sets of equal weight share a rank."""
    if len(weight) > PATTERNS:
        return np.zeros((2, 0), np.int64)
    bits = np.arange(1 << len(weight))
    level = sum(((bits >> column & 1) * weight[column] for column in range(len(weight))), np.zeros(len(bits), np.int64))
    order = np.argsort(-level, kind="stable")
    return np.stack([order, np.cumsum(np.append(0, np.diff(level[order]) != 0))]).astype(np.int64)


@jit
def gather(first: int, last: int, work: Work, k: int, by_growth: bool) -> None:
    """Cluster the roots ``first:last``."""
    for root in range(first, last):
        _open(root, work)
        opening = work.result.used[1]
        seed = work.table.cells[work.table.points[work.index.twigs[root].begin].start].combo
        while _suffices(root, work, k):
            seed = _sow(root, work, seed)
            size = _diversify(root, work)
            _keep(work, _fill_up(root, work, size, k))
        _disperse(root, work, opening, by_growth)


@jit
def _open(root: int, work: Work) -> None:
    """Count the sensitive values and the combos of a root."""
    table, draft = work.table, work.draft
    first, last = table.points[work.index.twigs[root].begin].start, table.points[work.index.twigs[root].end - 1].end
    draft.present[:] = 0
    for cell in range(first, last):
        combo = table.cells[cell].combo
        draft.combo_left[combo] = 0
        for column in range(len(draft.kinds)):
            draft.kinds[column].left = draft.value_left[table.values[combo, column]] = 0
    for cell in range(first, last):
        combo, count = table.cells[cell].combo, table.cells[cell].count
        draft.present[combo >> 6] |= 1 << (combo & 63)
        draft.combo_left[combo] += count
        for column in range(len(draft.kinds)):
            value = table.values[combo, column]
            draft.kinds[column].left += draft.value_left[value] == 0
            draft.value_left[value] += count


@jit
def _suffices(root: int, work: Work, k: int) -> bool:
    """Whether what is left can make another group. (I2)"""
    for column in range(len(work.draft.kinds)):
        if work.draft.kinds[column].left < work.draft.kinds[column].demanded:
            return False
    return work.index.twigs[root].left >= max(k, 1)


@jit
def _sow(root: int, work: Work, old: int) -> int:
    """Start a group with the first of the records that are most diverse from the old seed; the combo of the new one."""
    draft, table = work.draft, work.table
    _forget_group(draft, table)
    _meet(draft, table, old)
    _ask_for_diversity(draft)
    free(draft.box)
    point = nearest(root, table, work.columns, work.index, draft.box, draft.wish, draft.steps)
    cell = best_cell(table, draft.wish, point)
    _forget_group(draft, table)
    enclose(draft.box, table.codes[point])
    _hand_out(work, point, cell, 1)
    return table.cells[cell].combo


@jit
def _diversify(root: int, work: Work) -> int:
    """Add the cheapest of the most diverse records until the group shows enough different values; at least one is added."""
    draft, table, size, lacking = work.draft, work.table, 1, True
    while lacking and work.index.twigs[root].left > 0:
        _ask_for_diversity(draft)
        point = nearest(root, table, work.columns, work.index, draft.box, draft.wish, draft.steps)
        cell = best_cell(table, draft.wish, point)
        widen(work.columns, draft.box, table.codes[point])
        _hand_out(work, point, cell, 1)
        size, lacking = size + 1, False
        for column in range(len(draft.kinds)):
            lacking |= draft.kinds[column].met < draft.kinds[column].demanded
    return size


@jit
def _fill_up(root: int, work: Work, size: int, k: int) -> int:
    """Add the cheapest records until the group has k of them."""
    draft, table = work.draft, work.table
    draft.wish.picky[0] = 0
    while size < k:
        point = nearest(root, table, work.columns, work.index, draft.box, draft.wish, draft.steps)
        missing = k - size
        if widen(work.columns, draft.box, table.codes[point]):
            missing = 1  # the box has grown, so another point may now come first
        while missing > 0 and table.points[point].left > 0:
            cell = best_cell(table, draft.wish, point)
            many = min(missing, table.cells[cell].count)
            _hand_out(work, point, cell, many)
            missing, size = missing - many, size + many
    return size


@jit
def _forget_group(draft: Draft, table: Table) -> None:
    """No value is present any more."""
    for at in range(1, draft.met[0] + 1):
        _mark(draft, table, draft.met[at] // len(draft.kinds), draft.met[at] % len(draft.kinds), True)
    draft.met[0] = 0
    for column in range(len(draft.kinds)):
        draft.kinds[column].met = 0


@jit
def _mark(draft: Draft, table: Table, value: int, column: int, fresh: bool) -> None:
    """Note of all combos that hold a value of a column whether it is fresh."""
    for at in range(table.holder_start[value], table.holder_start[value + 1]):
        combo = table.holders[at]
        if fresh:
            draft.fresh[column, combo >> 6] |= 1 << (combo & 63)
        else:
            draft.fresh[column, combo >> 6] &= ~(1 << (combo & 63))


@jit
def _meet(draft: Draft, table: Table, combo: int) -> None:
    """Note the sensitive values of a combo as present."""
    for column in range(len(draft.kinds)):
        if draft.fresh[column, combo >> 6] & (1 << (combo & 63)):
            value = table.values[combo, column]
            draft.kinds[column].met += 1
            draft.met[0] += 1
            draft.met[draft.met[0]] = value * len(draft.kinds) + column
            _mark(draft, table, value, column, False)


@jit
def _hand_out(work: Work, point: int, cell: int, many: int) -> None:
    draft, combo = work.draft, work.table.cells[cell].combo
    _meet(draft, work.table, combo)
    draft.combo_left[combo] -= many
    if draft.combo_left[combo] == 0:
        draft.present[combo >> 6] &= ~(1 << (combo & 63))
    for column in range(len(draft.kinds)):
        value = work.table.values[combo, column]
        draft.value_left[value] -= many
        draft.kinds[column].left -= draft.value_left[value] == 0
    take(work.table, work.index, point, cell, many)
    _enter_result(work.result, cell, work.result.used[1], many)


@jit
def _enter_result(result: Result, cell: int, group: int, many: int) -> None:
    at = result.used[0]
    if at > 0 and result.entries[at - 1].cell == cell and result.entries[at - 1].group == group:
        result.entries[at - 1].count += many
        return
    result.entries[at].cell, result.entries[at].group, result.entries[at].count = cell, group, many
    result.used[0] += 1


@jit
def _ask_for_diversity(draft: Draft) -> None:
    """Wish for the highest level that is left in the root."""
    if len(draft.kinds) == 0:
        draft.wish.picky[0] = 0
        return
    draft.wish.picky[0] = 1
    if draft.patterns.shape[1]:
        _mask(draft)
    else:
        _mask_by_combo(draft)
    draft.wish.folded[:] = 0
    for word in range(len(draft.wish.mask)):
        draft.wish.folded[word & (len(draft.wish.folded) - 1)] |= draft.wish.mask[word]


@jit
def _mask(draft: Draft) -> None:
    """The combos of the highest level that are present: word by word, one set of fresh columns after the other."""
    mask, at, some = draft.wish.mask, 0, False
    while not some:
        rank = draft.patterns[1, at]
        mask[:] = 0
        while at < draft.patterns.shape[1] and draft.patterns[1, at] == rank:
            for word in range(len(mask)):
                mask[word] |= _matching(draft.present[word], draft.fresh, word, draft.patterns[0, at])
                some |= mask[word] != 0
            at += 1


@jit
def _mask_by_combo(draft: Draft) -> None:
    """The same, combo by combo."""
    mask, highest = draft.wish.mask, -1
    for combo in range(len(draft.combo_left)):
        word, bit, level = combo >> 6, 1 << (combo & 63), 0
        if draft.present[word] & bit == 0:
            continue
        for column in range(len(draft.kinds)):
            level += draft.kinds[column].weight if draft.fresh[column, word] & bit else 0
        if level > highest:
            mask[:] = 0
            highest = level
        if level == highest:
            mask[word] |= bit


@jit
def _matching(present: int, fresh: Ints, word: int, pattern: int) -> int:
    """Combos that are fresh in exactly the columns of the pattern."""
    for column in range(len(fresh)):
        present &= fresh[column, word] if pattern >> column & 1 else ~fresh[column, word]
    return present


@jit
def _keep(work: Work, size: int) -> None:
    group = work.result.used[1]
    for j in range(len(work.draft.box)):
        work.result.boxes[group, j] = work.draft.box[j]
    work.result.sizes[group] = size
    work.result.used[1] += 1


@jit
def _disperse(root: int, work: Work, opening: int, by_growth: bool) -> None:
    """Give what is left of a root to its groups, in the order of ties; a root that could make no group becomes one. (I2)"""
    table, result, twig = work.table, work.result, work.index.twigs[root]
    if opening == result.used[1]:
        enclose(result.boxes[opening], table.codes[twig.begin])
        result.used[1] += 1
    price = np.zeros(result.used[1] - opening, dtype=np.int64)
    for point in range(twig.begin, twig.end):
        if table.points[point].left > 0:
            if by_growth:
                _place_by_growth(work, point, opening)
            else:
                _place_by_total(work, point, opening, price)


@jit
def _place_by_growth(work: Work, point: int, opening: int) -> None:
    result, codes, best, found = work.result, work.table.codes, FAR, opening
    for group in range(opening, result.used[1]):
        box, size = result.boxes[group], result.sizes[group]
        growth = box[0].rest
        for j in range(codes.shape[1]):
            if growth >= best:
                break
            growth += (size + 1) * (widened(work.columns, j, box, codes[point, j]) - box[j].price)
        if growth < best:
            best, found = growth, group
    widen(work.columns, result.boxes[found], codes[point])
    result.sizes[found] += work.table.points[point].left
    for cell in range(work.table.points[point].start, work.table.points[point].end):
        if work.table.cells[cell].count > 0:
            _enter_result(result, cell, found, work.table.cells[cell].count)


@jit
def _place_by_total(work: Work, point: int, opening: int, price: Ints) -> None:
    result, codes = work.result, work.table.codes
    for group in range(opening, result.used[1]):
        price[group - opening] = 0
        for j in range(codes.shape[1]):
            price[group - opening] += widened(work.columns, j, result.boxes[group], codes[point, j])
    for cell in range(work.table.points[point].start, work.table.points[point].end):
        for _ in range(work.table.cells[cell].count):
            best, found = FAR, opening
            for group in range(opening, result.used[1]):
                total = (result.sizes[group] + 1) * price[group - opening]
                if total < best:
                    best, found = total, group
            widen(work.columns, result.boxes[found], codes[point])
            result.sizes[found] += 1
            _enter_result(result, cell, found, 1)
