"""Greedy clustering of classes with counts: GreedyPKClustering's picks, without looking at every record for each of them.

Paper: [boundaries §3, functions GreedyPKClustering, DisperseCluster, FindBestCluster]

Notation
    k, distinct   fewest records of a group, and fewest different values of each sensitive column (p)
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

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray
from sfumato.methods.recoding.kernels.boxes import BOX, FAR, Columns, Records, Whole, enclose, free, record, widen, widened
from sfumato.methods.recoding.kernels.diversity import (
    Gathering,
    ask_for_diversity,
    forget_group,
    meet,
    new_draft,
    open_root,
    spend,
    suffices,
)
from sfumato.methods.recoding.kernels.point_index import Index, PointTable, best_cell, build, nearest, take

ENTRY = record("cell", "group", "count")


class Result(NamedTuple):
    """Who went where; `used` holds [entries, groups]."""

    boxes: Records
    sizes: IntArray
    entries: Records
    used: IntArray


class Work(NamedTuple):
    """Everything a run reads and writes."""

    table: PointTable
    columns: Columns
    prefixes: Index
    draft: Gathering
    result: Result


def prepare(table: PointTable, columns: Columns, root_start: IntArray, k: int, distinct: IntArray, weight: IntArray) -> Work:
    """Index the points and make room for the result; `weight` are the integer weights of the sensitive columns."""
    width, records, roots = table.codes.shape[1], int(table.cells["count"].sum()), len(root_start) - 1
    most = records // max(k, int(distinct.max(initial=1)), 2) + roots
    result = Result(np.zeros((most, width + 1), BOX), np.zeros(most, np.int64), np.zeros(records, ENTRY), np.zeros(2, np.int64))
    return Work(table, columns, build(table, root_start), new_draft(table, distinct, weight), result)


@jit
def gather(first: Whole, last: Whole, work: Work, k: Whole, by_growth: bool) -> None:
    """Cluster the roots ``first:last``."""
    for root in range(first, last):
        twig = work.prefixes.twigs[root]
        cell, end = work.table.points[twig.begin].start, work.table.points[twig.end - 1].end
        open_root(work.table, work.draft, cell, end)
        opening, seed = work.result.used[1], work.table.cells[cell].combo
        while suffices(work.draft.kinds, twig.left, k):
            seed = _sow(root, work, seed)
            size = _diversify(root, work)
            size = _fill_up(root, work, size, k)
            _keep(work.draft.box, work.result, size)
        _disperse(root, work, opening, by_growth)


@jit
def _sow(root: Whole, work: Work, old: Whole) -> Whole:
    """Start a group with the first of the records that are most diverse from the old seed; the combo of the new one."""
    draft, table = work.draft, work.table
    forget_group(draft, table)
    meet(draft, table, old)
    ask_for_diversity(draft)
    free(draft.box)
    point = nearest(root, table, work.columns, work.prefixes, draft.box, draft.wish, draft.steps)
    cell = best_cell(table, draft.wish, point)  # I1
    forget_group(draft, table)
    enclose(draft.box, table.codes[point])
    _hand_out(work, point, cell, np.int64(1))
    return table.cells[cell].combo


@jit
def _diversify(root: Whole, work: Work) -> Whole:
    """Add the cheapest of the most diverse records until the group shows enough different values; at least one is added."""
    draft, table, size, lacking = work.draft, work.table, 1, True
    while lacking and work.prefixes.twigs[root].left > 0:
        ask_for_diversity(draft)
        point = nearest(root, table, work.columns, work.prefixes, draft.box, draft.wish, draft.steps)  # I3
        cell = best_cell(table, draft.wish, point)
        widen(work.columns, draft.box, table.codes[point])
        _hand_out(work, point, cell, np.int64(1))
        size, lacking = size + 1, False
        for column in range(len(draft.kinds)):
            lacking |= draft.kinds[column].met < draft.kinds[column].demanded
    return size


@jit
def _fill_up(root: Whole, work: Work, size: Whole, k: Whole) -> Whole:
    """Add the cheapest records until the group has k of them."""
    draft, table = work.draft, work.table
    draft.wish.picky[0] = 0
    while size < k:
        point = nearest(root, table, work.columns, work.prefixes, draft.box, draft.wish, draft.steps)
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
def _hand_out(work: Work, point: Whole, cell: Whole, many: Whole) -> None:
    draft, combo = work.draft, work.table.cells[cell].combo
    meet(draft, work.table, combo)
    spend(draft, work.table, combo, many)
    take(work.table, work.prefixes, point, cell, many)
    _enter_result(work.result, cell, work.result.used[1], many)


@jit
def _enter_result(result: Result, cell: Whole, group: Whole, many: Whole) -> None:
    at = result.used[0]
    if at > 0 and result.entries[at - 1].cell == cell and result.entries[at - 1].group == group:
        result.entries[at - 1].count += many
        return
    result.entries[at].cell, result.entries[at].group, result.entries[at].count = cell, group, many
    result.used[0] += 1


@jit
def _keep(box: Records, result: Result, size: Whole) -> None:
    group = result.used[1]
    for j in range(len(box)):
        result.boxes[group, j] = box[j]
    result.sizes[group] = size
    result.used[1] += 1


@jit
def _disperse(root: Whole, work: Work, opening: Whole, by_growth: bool) -> None:
    """Give what is left of a root to its groups, in the order of ties; a root that could make no group becomes one. (I2)"""
    table, result, twig = work.table, work.result, work.prefixes.twigs[root]
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
def _place_by_growth(work: Work, point: Whole, opening: Whole) -> None:
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
def _place_by_total(work: Work, point: Whole, opening: Whole, price: IntArray) -> None:
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
            _enter_result(result, cell, found, np.int64(1))
