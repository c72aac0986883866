"""Which point costs least to join to a group: distinct tuples in lexicographic order, searched as a tree of shared prefixes.

Notation
    point    a distinct tuple of leaf codes with records left to hand out; points are sorted by root, then by code
    combo    a distinct tuple of sensitive values; a cell is a combo at a point, with a count
    root     points that may share a group (a region); its tree splits on the first column, then the second, …, until few
             points are left in a twig
    box      the smallest publishable box around a group, with its price (see `_boxes`)
    wish     what a point must offer: anything, or a combo of a `mask`
    fold     combos share the bits of a few words per twig and point; where combos are few enough, each has its own

Invariants
    I1  `nearest` returns, of the points that offer what is wished for, the one with the lowest price, among these the one with
        the lowest number: what a scan over all points would return.
    I2  Prices grow with the distance of a code from the box, in either direction, so a walk away from the box may stop at the
        first twig that is too dear; the price paid so far plus `rest` is a lower bound for everything in a twig.
    I3  `bits` of a twig are the folded combos that are left in it; twigs without records are unlinked.

Cost: memory is O(points × (1 + columns / LEAF)) twigs; a search visits the prefixes that are cheaper than the answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray
from sfumato.methods.recoding.kernels.boxes import FAR, Columns, Records, Whole, record, widened

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
def nearest(root: Whole, table: PointTable, columns: Columns, index: Index, box: Records, wish: Wish, steps: Records) -> Whole:
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
