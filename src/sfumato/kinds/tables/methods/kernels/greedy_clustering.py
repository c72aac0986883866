"""Greedy clustering of classes with counts: GreedyPKClustering's picks, without looking at every record for each of
them.

Paper: [boundaries §3, functions GreedyPKClustering, DisperseCluster, FindBestCluster]

Notation
    k, distinct   fewest records of a group, and fewest different values of each sensitive column (p)
    growth        what joining adds to the loss of a group, ``(size + 1) · price' − size · price``
    total         the loss of a group after joining, ``(size + 1) · price'``

Invariants
    I1  Same picks as the pseudocode on single records that are sorted by root, quasi-identifier codes and sensitive
        codes, where "one tuple from" means the first one; the starting seed is the first record.
    I2  A group succeeds exactly when what is left of its root has k records and the demanded distinct values. Otherwise
        the pseudocode gathers all that is left and disperses it; so do we, at once. Joining kept groups breaks nothing.
    I3  As ``size + 1`` is the same for every candidate of a pick, the least loss is the least price.

Departures
    Dispersal by growth is not in the paper, which disperses by total loss and so spoils small clean groups; both are
    here. By growth, equal tuples go to one group: once the first has joined, no other group can be cheaper for the
    next. Leftovers are dispersed in the order of I1 (the paper leaves their order open).

Cost: a search of the prefix tree per pick; equal records that cost nothing are taken together. Dispersal looks at every
group of the root once per distinct tuple that is left over.


Diversity
---------
What would make a group more diverse: sensitive values that it has, that are left, and the combos that bring most new
ones.

Paper: [boundaries Def. 12, 13]

Notation
    combo     a distinct tuple of sensitive values
    level     diversity of a combo and a group: the summed weights of the columns where the combo's value is new
    fresh     per sensitive column, the combos whose value is not in the group yet, as bits
    present   the combos that are left in the root, as bits
    pattern   a set of columns, as bits; combos that are fresh in exactly these columns have the same level

Cost: words of 64 combos × patterns down to the highest level that is present, per pick.


Point index
-----------
Which point costs least to join to a group: distinct tuples in lexicographic order, searched as a tree of shared
prefixes.

Notation
    point    a distinct tuple of leaf codes with records left to hand out; points are sorted by root, then by code
    combo    a distinct tuple of sensitive values; a cell is a combo at a point, with a count
    root     points that may share a group (a region); its tree splits on the first column, then the second, …, until
             few points are left in a twig
    box      the smallest publishable box around a group, with its price (see `_boxes`)
    wish     what a point must offer: anything, or a combo of a `mask`
    fold     combos share the bits of a few words per twig and point; where combos are few enough, each has its own

Invariants
    I1  `nearest` returns, of the points that offer what is wished for, the one with the lowest price, among these the
        one with the lowest number: what a scan over all points would return.
    I2  Prices grow with the distance of a code from the box, in either direction, so a walk away from the box may stop
        at the first twig that is too dear; the price paid so far plus `rest` is a lower bound for everything in a twig.
    I3  `bits` of a twig are the folded combos that are left in it; twigs without records are unlinked.

Cost: memory is O(points × (1 + columns / LEAF)) twigs; a search visits the prefixes that are cheaper than the answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.compiled import jit
from sfumato.kinds.tables.methods.kernels.cell_costs import (
    BOX,
    FAR,
    Columns,
    Records,
    Whole,
    enclose,
    free,
    record,
    widen,
    widened,
)

LEAF = 8
"""A twig with at most this many points is not split further."""
FOLD = 16
"""Words of bits that a twig or a point has at most; a power of two."""


POINT = record("start", "end", "leaf", "left")
CELL = record("count", "combo")
TWIG = record("begin", "end", "depth", "above", "kids", "kids_end", "code", "left")
LINK = record("after", "before")
STEP = record("twig", "origin", "cursor", "rightwards", "paid")


class PointTable(NamedTuple):
    """Points in the order of ties, and their cells."""

    codes: IntArray
    points: Records
    cells: Records
    values: IntArray
    """Sensitive values of each combo, numbered through over all columns: combos × columns."""
    holder_start: IntArray
    """The combos that hold value i are ``holders[holder_start[i]:holder_start[i + 1]]``."""
    holders: IntArray
    bits: IntArray
    """Which combos are left at a point, folded."""


class Index(NamedTuple):
    """The tree of prefixes; twigs 0 … roots − 1 are the roots, the parts of a twig are neighbours."""

    twigs: Records
    links: Records
    bits: IntArray


class Wish(NamedTuple):
    """What the next record should bring."""

    picky: IntArray
    """[1] when only combos of the mask will do, [0] when anything will."""
    mask: IntArray
    folded: IntArray


def build(table: PointTable, root_start: IntArray) -> Index:
    """The index over all points; points ``root_start[i]:root_start[i + 1]`` belong to root i."""
    points, columns = table.codes.shape
    roots = len(root_start) - 1
    twigs = np.zeros(roots + points + columns * (points // LEAF + 1), dtype=TWIG)
    twigs["begin"][:roots], twigs["end"][:roots], twigs["above"][:roots] = root_start[:-1], root_start[1:], -1
    twigs = twigs[: _grow(table.codes, table.points, twigs, roots)]
    links = np.zeros(len(twigs) + 1, dtype=LINK)
    links["after"] = links["before"] = np.arange(len(links))
    index = Index(twigs, links, np.zeros((len(twigs), table.bits.shape[1]), dtype=np.int64))
    _fill(table, index)
    return index


@jit
def _grow(codes: IntArray, points: Records, twigs: Records, used: Whole) -> Whole:
    """Split twigs until all are small; how many there are then."""
    twig = np.int64(0)
    while twig < used:
        twigs[twig].kids = used
        if twigs[twig].end - twigs[twig].begin <= LEAF or twigs[twig].depth == codes.shape[1]:
            for point in range(twigs[twig].begin, twigs[twig].end):
                points[point].leaf = twig
        else:
            used = _split(codes, twigs, twig, used)
        twigs[twig].kids_end = used
        twig += 1
    return used


@jit
def _split(codes: IntArray, twigs: Records, twig: Whole, used: Whole) -> Whole:
    column, first, end = twigs[twig].depth, twigs[twig].begin, twigs[twig].end
    for point in range(first, end):
        if point + 1 == end or codes[point + 1, column] != codes[point, column]:
            twigs[used].begin, twigs[used].end, twigs[used].depth = first, point + 1, column + 1
            twigs[used].above, twigs[used].code = twig, codes[point, column]
            used += 1
            first = point + 1
    return used


@jit
def _fill(table: PointTable, index: Index) -> None:
    words = index.bits.shape[1]
    for point in range(len(table.points)):
        for cell in range(table.points[point].start, table.points[point].end):
            table.points[point].left += table.cells[cell].count
            if words:
                table.bits[point, (table.cells[cell].combo >> 6) & (words - 1)] |= 1 << (table.cells[cell].combo & 63)
        leaf = table.points[point].leaf
        index.twigs[leaf].left += table.points[point].left
        for word in range(words):
            index.bits[leaf, word] |= table.bits[point, word]
    for twig in range(len(index.twigs) - 1, -1, -1):
        above = index.twigs[twig].above
        if above >= 0:
            index.twigs[above].left += index.twigs[twig].left
            for word in range(words):
                index.bits[above, word] |= index.bits[twig, word]


@jit
def take(table: PointTable, index: Index, point: Whole, cell: Whole, many: Whole) -> None:
    """Hand out records of a cell. (I3)"""
    table.cells[cell].count -= many
    table.points[point].left -= many
    twig = table.points[point].leaf
    while twig >= 0:
        index.twigs[twig].left -= many
        if index.twigs[twig].left == 0:
            index.links[twig].after = twig + 1
            index.links[twig + 1].before = twig
        twig = index.twigs[twig].above
    if table.cells[cell].count == 0 and index.bits.shape[1]:
        _forget(table, index, point, table.cells[cell].combo)


@jit
def _forget(table: PointTable, index: Index, point: Whole, combo: Whole) -> None:
    fold = index.bits.shape[1] * 64 - 1
    for cell in range(table.points[point].start, table.points[point].end):
        if table.cells[cell].count > 0 and table.cells[cell].combo & fold == combo & fold:
            return
    word, bit = (combo & fold) >> 6, 1 << (combo & 63)
    table.bits[point, word] &= ~bit
    twig = table.points[point].leaf
    while twig >= 0 and not _holds(table, index, twig, word, bit):
        index.bits[twig, word] &= ~bit
        twig = index.twigs[twig].above


@jit
def _holds(table: PointTable, index: Index, twig: Whole, word: Whole, bit: Whole) -> bool:
    """Whether a part of the twig still has the bit."""
    if index.twigs[twig].kids == index.twigs[twig].kids_end:
        for point in range(index.twigs[twig].begin, index.twigs[twig].end):  # noqa: SIM110 - compiled
            if table.bits[point, word] & bit:
                return True
        return False
    kid = following(index.links, index.twigs[twig].kids)
    while kid < index.twigs[twig].kids_end:
        if index.bits[kid, word] & bit:
            return True
        kid = following(index.links, kid + 1)
    return False


@jit
def following(links: Records, twig: Whole) -> Whole:
    """The first linked twig from `twig` on."""
    while links[twig].after != twig:
        links[twig].after = links[links[twig].after].after
        twig = links[twig].after
    return twig


@jit
def _preceding(links: Records, twig: Whole) -> Whole:
    """The last linked twig up to `twig`, −1 when there is none; slot i + 1 stands for twig i."""
    slot = twig + 1
    while links[slot].before != slot:
        links[slot].before = links[links[slot].before].before
        slot = links[slot].before
    return slot - 1


@jit
def best_cell(table: PointTable, wish: Wish, point: Whole) -> Whole:
    """The first cell of a point that offers what is wished for; −1 when none does."""
    for cell in range(table.points[point].start, table.points[point].end):
        combo = table.cells[cell].combo
        if table.cells[cell].count > 0 and (wish.picky[0] == 0 or wish.mask[combo >> 6] & (1 << (combo & 63))):
            return cell
    return -1


@jit
def _may_offer(bits: IntArray, row: Whole, wish: Wish) -> bool:
    if wish.picky[0] == 0:
        return True
    for word in range(bits.shape[1]):  # noqa: SIM110 - compiled
        if bits[row, word] & wish.folded[word]:
            return True
    return False


@jit
def _scan(
    twig: Whole,
    paid: Whole,
    table: PointTable,
    columns: Columns,
    index: Index,
    box: Records,
    wish: Wish,
    price: Whole,
    found: Whole,
) -> tuple[Whole, Whole]:
    """The best of what was found and the points of a twig that is not split further."""
    for point in range(index.twigs[twig].begin, index.twigs[twig].end):
        if table.points[point].left == 0 or not _may_offer(table.bits, point, wish):
            continue
        asked = paid
        for j in range(index.twigs[twig].depth, table.codes.shape[1]):
            asked += widened(columns, j, box, table.codes[point, j])
        if (asked < price or (asked == price and point < found)) and best_cell(table, wish, point) >= 0:
            price, found = asked, point
    return price, found


@jit
def nearest(
    root: Whole, table: PointTable, columns: Columns, index: Index, box: Records, wish: Wish, steps: Records
) -> Whole:
    """The point below `root` that offers what is wished for at the least price; −1 when none does. (I1)"""
    twigs, links = index.twigs, index.links
    price, found, depth, paid = np.int64(FAR), np.int64(-1), np.int64(0), np.int64(0)
    if twigs[root].kids == twigs[root].kids_end:
        return _scan(root, paid, table, columns, index, box, wish, price, found)[1]
    _enter(steps, depth, root, paid, index, box)
    while depth >= 0:
        twig, child, rightwards = steps[depth].twig, steps[depth].cursor, steps[depth].rightwards
        over = child < twigs[twig].kids or child >= twigs[twig].kids_end
        bound, late = paid, False
        if not over:
            paid = steps[depth].paid + widened(columns, depth, box, twigs[child].code)
            bound = paid + box[depth + 1].rest
            late = twigs[child].begin > found
            over = bound > price or (bound == price and late and rightwards == 1)  # I2
        if over:
            depth = _turn(steps, depth, links)
            continue
        steps[depth].cursor = following(links, child + 1) if rightwards else _preceding(links, child - 1)
        if (bound == price and late) or not _may_offer(index.bits, child, wish):
            continue
        if twigs[child].kids == twigs[child].kids_end:
            price, found = _scan(child, paid, table, columns, index, box, wish, price, found)
        else:
            depth += 1
            _enter(steps, depth, child, paid, index, box)
    return found


@jit
def _enter(steps: Records, depth: Whole, twig: Whole, paid: Whole, index: Index, box: Records) -> None:
    """Begin with the first part that is not left of the box and walk to the right."""
    first, last = index.twigs[twig].kids, index.twigs[twig].kids_end
    while first < last:
        middle = (first + last) // 2
        if index.twigs[middle].code < box[depth].lo:
            first = middle + 1
        else:
            last = middle
    steps[depth].twig, steps[depth].origin, steps[depth].paid = twig, first, paid
    steps[depth].cursor, steps[depth].rightwards = following(index.links, first), 1


@jit
def _turn(steps: Records, depth: Whole, links: Records) -> Whole:
    """After the walk to the right the walk to the left, then back to the twig above."""
    if steps[depth].rightwards == 0:
        return depth - 1
    steps[depth].rightwards = 0
    steps[depth].cursor = _preceding(links, steps[depth].origin - 1)
    return depth


# Diversity
# ---------


PATTERNS = 6
"""With more sensitive columns than this, diversity is computed combo by combo instead of word by word."""

KIND = record("demanded", "weight", "met", "left")


class Gathering(NamedTuple):
    """The group that is being gathered, and what is left for it."""

    box: Records
    wish: Wish
    fresh: IntArray
    present: IntArray
    kinds: Records
    """Per sensitive column the different values that are demanded, their weight, those the group has, those the root
    has left."""
    value_left: IntArray
    """Records of the root that are left with each sensitive value."""
    combo_left: IntArray
    met: IntArray
    """The values of the group, as value × columns + column; the first entry counts them."""
    patterns: IntArray
    """Sets of columns from the most diverse to the least, and their rank; equal ranks are ties."""
    steps: Records


def new_draft(table: PointTable, distinct: IntArray, weight: IntArray) -> Gathering:
    """Allocate a draft of a group; `weight` are the integer weights of the sensitive columns."""
    width, words, values = table.codes.shape[1], -(-len(table.values) // 64), len(table.holder_start)
    kinds = np.zeros(len(weight), dtype=KIND)
    kinds["demanded"], kinds["weight"] = distinct, weight
    return Gathering(
        np.zeros(width + 1, BOX), Wish(np.zeros(1, np.int64), np.zeros(words, np.int64), np.zeros(table.bits.shape[1],
        np.int64)),
        np.full((len(weight), words), -1, np.int64), np.zeros(words, np.int64), kinds, np.zeros(values, np.int64),
        np.zeros(len(table.values), np.int64), np.zeros(values + 1, np.int64), _patterns(weight), np.zeros(width + 1,
        STEP),
    )  # fmt: skip


def _patterns(weight: IntArray) -> IntArray:
    """Sets of columns as bits, by falling summed weight; sets of equal weight share a rank."""
    if len(weight) > PATTERNS:
        return np.zeros((2, 0), np.int64)
    bits = np.arange(1 << len(weight))
    level = sum(((bits >> column & 1) * weight[column] for column in range(len(weight))), np.zeros(len(bits), np.int64))
    order = np.argsort(-level, kind="stable")
    return np.stack([order, np.cumsum(np.append(0, np.diff(level[order]) != 0))]).astype(np.int64)


@jit
def open_root(table: PointTable, draft: Gathering, first: Whole, last: Whole) -> None:
    """Count the sensitive values and the combos of a root, whose cells are ``first:last``."""
    _clear(draft.present)
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
def suffices(kinds: Records, left: Whole, k: Whole) -> bool:
    """Whether what is left can make another group. (I2)"""
    for column in range(len(kinds)):
        if kinds[column].left < kinds[column].demanded:
            return False
    return bool(left >= max(k, 1))


@jit
def forget_group(draft: Gathering, table: PointTable) -> None:
    """No value is present any more."""
    for at in range(1, draft.met[0] + 1):
        _turn_over(table, draft.met[at] // len(draft.kinds), draft.fresh[draft.met[at] % len(draft.kinds)])
    draft.met[0] = 0
    for column in range(len(draft.kinds)):
        draft.kinds[column].met = 0


@jit
def _turn_over(table: PointTable, value: Whole, fresh: IntArray) -> None:
    """Fresh combos that hold a value become stale, and stale ones fresh."""
    for at in range(table.holder_start[value], table.holder_start[value + 1]):
        fresh[table.holders[at] >> 6] ^= 1 << (table.holders[at] & 63)


@jit
def meet(draft: Gathering, table: PointTable, combo: Whole) -> None:
    """Note the sensitive values of a combo as present."""
    for column in range(len(draft.kinds)):
        if draft.fresh[column, combo >> 6] & (1 << (combo & 63)):
            value = table.values[combo, column]
            draft.kinds[column].met += 1
            draft.met[0] += 1
            draft.met[draft.met[0]] = value * len(draft.kinds) + column
            _turn_over(table, value, draft.fresh[column])


@jit
def ask_for_diversity(draft: Gathering) -> None:
    """Wish for the highest level that is left in the root."""
    if len(draft.kinds) == 0:
        draft.wish.picky[0] = 0
        return
    draft.wish.picky[0] = 1
    if draft.patterns.shape[1]:
        _mask(draft)
    else:
        _mask_by_combo(draft)
    _clear(draft.wish.folded)
    for word in range(len(draft.wish.mask)):
        draft.wish.folded[word & (len(draft.wish.folded) - 1)] |= draft.wish.mask[word]


@jit
def _mask(draft: Gathering) -> None:
    """The combos of the highest level that are present: word by word, one set of fresh columns after the other."""
    mask, at, some = draft.wish.mask, 0, False
    while not some:
        rank = draft.patterns[1, at]
        _clear(mask)
        while at < draft.patterns.shape[1] and draft.patterns[1, at] == rank:
            for word in range(len(mask)):
                mask[word] |= _matching(draft.present[word], draft.fresh, word, draft.patterns[0, at])
                some |= mask[word] != 0
            at += 1


@jit
def _mask_by_combo(draft: Gathering) -> None:
    """The same, combo by combo."""
    mask, highest = draft.wish.mask, -1
    for combo in range(len(draft.combo_left)):
        word, bit, level = combo >> 6, np.int64(1) << (combo & 63), 0
        if draft.present[word] & bit == 0:
            continue
        for column in range(len(draft.kinds)):
            level += draft.kinds[column].weight if draft.fresh[column, word] & bit else 0
        if level > highest:
            _clear(mask)
            highest = level
        if level == highest:
            mask[word] |= bit


@jit
def _clear(words: IntArray) -> None:
    for word in range(len(words)):
        words[word] = 0


@jit
def _matching(present: Whole, fresh: IntArray, word: Whole, pattern: Whole) -> Whole:
    """Combos that are fresh in exactly the columns of the pattern."""
    for column in range(len(fresh)):
        present &= fresh[column, word] if pattern >> column & 1 else ~fresh[column, word]
    return present


@jit
def spend(draft: Gathering, table: PointTable, combo: Whole, many: Whole) -> None:
    """Records of a combo are no longer left."""
    draft.combo_left[combo] -= many
    if draft.combo_left[combo] == 0:
        draft.present[combo >> 6] &= ~(1 << (combo & 63))
    for column in range(len(draft.kinds)):
        value = table.values[combo, column]
        draft.value_left[value] -= many
        draft.kinds[column].left -= draft.value_left[value] == 0


# Greedy clustering
# -----------------


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


def prepare(
    table: PointTable, columns: Columns, root_start: IntArray, k: int, distinct: IntArray, weight: IntArray
) -> Work:
    """Index the points and allocate the result; `weight` are the integer weights of the sensitive columns."""
    width, records, roots = table.codes.shape[1], int(table.cells["count"].sum()), len(root_start) - 1
    most = records // max(k, int(distinct.max(initial=1)), 2) + roots
    result = Result(
        np.zeros((most, width + 1), BOX), np.zeros(most, np.int64), np.zeros(records, ENTRY), np.zeros(2, np.int64)
    )
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
    """Add the cheapest of the most diverse records until the group shows enough different values; at least one is
    added."""
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
    """Give what is left of a root to its groups, in the order of ties; a root that could make no group becomes one.
    (I2)"""
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
