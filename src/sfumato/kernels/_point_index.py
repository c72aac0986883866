"""Which point costs least to join to a group: distinct tuples in lexicographic order, searched as a tree of shared prefixes.

Notation
    point    a distinct tuple of leaf codes with records left to hand out; points are sorted by root, then by code
    combo    a distinct tuple of sensitive values; a cell is a combo at a point, with a count
    root     points that may share a group (a region); its tree splits on the first column, then the second, …, until few
             points are left in a twig
    box      the smallest publishable interval around a group, one per column, with its price; `rest` sums prices from there on
    price    integer cost of a box in a column; the price of a box never falls when the box grows
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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import jit

Ints = NDArray[np.int64]
Records = Any
"""An array of named records, which the type checker cannot see into."""

LEAF = 8
"""A twig with at most this many points is not split further."""
FAR = 1 << 62
FOLD = 16
"""Words of bits that a twig or a point has at most; a power of two."""


def record(*names: str) -> np.dtype[np.void]:
    """A record of whole numbers."""
    return np.dtype([(name, np.int64) for name in names])


COLUMN = record("tree", "offset")
NODE = record("price", "up", "lo", "hi")
POINT = record("start", "end", "leaf", "left")
CELL = record("count", "combo")
TWIG = record("begin", "end", "depth", "above", "kids", "kids_end", "code", "left")
LINK = record("after", "before")
BOX = record("lo", "hi", "node", "price", "rest")
STEP = record("twig", "origin", "cursor", "rightwards", "paid")


class Columns(NamedTuple):
    """The quasi-identifiers: trees with priced nodes, or lines of numbers where every interval may be published."""

    heads: Records
    """Per column: whether it is a tree, and where it begins among the nodes."""
    nodes: Records
    """Nodes of a tree; leaves of a line, with their position as price."""


class Table(NamedTuple):
    """Points in the order of ties, and their cells."""

    codes: Ints
    points: Records
    cells: Records
    values: Ints
    """Sensitive values of each combo, numbered through over all columns: combos × columns."""
    holder_start: Ints
    """The combos that hold value i are ``holders[holder_start[i]:holder_start[i + 1]]``."""
    holders: Ints
    bits: Ints
    """Which combos are left at a point, folded."""


class Index(NamedTuple):
    """The tree of prefixes; twigs 0 … roots − 1 are the roots, the parts of a twig are neighbours."""

    twigs: Records
    links: Records
    bits: Ints


class Wish(NamedTuple):
    """What the next record should bring."""

    picky: Ints
    """[1] when only combos of the mask will do, [0] when anything will."""
    mask: Ints
    folded: Ints


@jit
def widened(columns: Columns, j: int, box: Records, code: int) -> int:
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
def widen(columns: Columns, box: Records, codes: Ints) -> bool:
    """Let a point join the box; whether the box had to grow."""
    grown = False
    for j in range(len(codes) - 1, -1, -1):
        grown |= widen_column(columns, j, box, codes[j])
        box[j].rest = box[j + 1].rest + box[j].price
    return grown


@jit
def widen_column(columns: Columns, j: int, box: Records, code: int) -> bool:
    """Let `code` join column j of the box; whether the box had to grow."""
    if box[j].lo <= code < box[j].hi:
        return False
    base = columns.heads[j].offset
    box[j].price = widened(columns, j, box, code)
    if columns.heads[j].tree == 0:
        box[j].lo, box[j].hi = min(box[j].lo, code), max(box[j].hi, code + 1)
        return True
    node = box[j].node
    while not columns.nodes[base + node].lo <= code < columns.nodes[base + node].hi:
        node = columns.nodes[base + node].up
    box[j].node, box[j].lo, box[j].hi = node, columns.nodes[base + node].lo, columns.nodes[base + node].hi
    return True


@jit
def enclose(box: Records, codes: Ints) -> None:
    """The box of a single point, which costs nothing."""
    for j in range(len(codes)):
        box[j].lo, box[j].hi, box[j].node, box[j].price, box[j].rest = codes[j], codes[j] + 1, codes[j], 0, 0


@jit
def free(box: Records) -> None:
    """A box around everything that costs nothing: the nearest point is then the first."""
    for j in range(len(box)):
        box[j].lo, box[j].hi, box[j].price, box[j].rest = 0, FAR, 0, 0


def build(table: Table, root_start: Ints) -> Index:
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
def _grow(codes: Ints, points: Records, twigs: Records, used: int) -> int:
    """Split twigs until all are small; how many there are then."""
    twig = 0
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
def _split(codes: Ints, twigs: Records, twig: int, used: int) -> int:
    column, first, end = twigs[twig].depth, twigs[twig].begin, twigs[twig].end
    for point in range(first, end):
        if point + 1 == end or codes[point + 1, column] != codes[point, column]:
            twigs[used].begin, twigs[used].end, twigs[used].depth = first, point + 1, column + 1
            twigs[used].above, twigs[used].code = twig, codes[point, column]
            used += 1
            first = point + 1
    return used


@jit
def _fill(table: Table, index: Index) -> None:
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
def take(table: Table, index: Index, point: int, cell: int, many: int) -> None:
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
def _forget(table: Table, index: Index, point: int, combo: int) -> None:
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
def _holds(table: Table, index: Index, twig: int, word: int, bit: int) -> bool:
    """Whether a part of the twig still has the bit."""
    if index.twigs[twig].kids == index.twigs[twig].kids_end:
        for point in range(index.twigs[twig].begin, index.twigs[twig].end):
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
def following(links: Records, twig: int) -> int:
    """The first linked twig from `twig` on."""
    while links[twig].after != twig:
        links[twig].after = links[links[twig].after].after
        twig = links[twig].after
    return twig


@jit
def _preceding(links: Records, twig: int) -> int:
    """The last linked twig up to `twig`, −1 when there is none; slot i + 1 stands for twig i."""
    slot = twig + 1
    while links[slot].before != slot:
        links[slot].before = links[links[slot].before].before
        slot = links[slot].before
    return slot - 1


@jit
def best_cell(table: Table, wish: Wish, point: int) -> int:
    """The first cell of a point that offers what is wished for; −1 when none does."""
    for cell in range(table.points[point].start, table.points[point].end):
        combo = table.cells[cell].combo
        if table.cells[cell].count > 0 and (wish.picky[0] == 0 or wish.mask[combo >> 6] & (1 << (combo & 63))):
            return cell
    return -1


@jit
def _may_offer(bits: Ints, row: int, wish: Wish) -> bool:
    if wish.picky[0] == 0:
        return True
    for word in range(bits.shape[1]):
        if bits[row, word] & wish.folded[word]:
            return True
    return False


@jit
def _scan(
    twig: int, paid: int, table: Table, columns: Columns, index: Index, box: Records, wish: Wish, price: int, found: int
) -> tuple[int, int]:
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
def nearest(root: int, table: Table, columns: Columns, index: Index, box: Records, wish: Wish, steps: Records) -> int:
    """The point below `root` that offers what is wished for at the least price; −1 when none does. (I1)"""
    twigs, links = index.twigs, index.links
    price, found, depth = FAR, -1, 0
    if twigs[root].kids == twigs[root].kids_end:
        return _scan(root, 0, table, columns, index, box, wish, price, found)[1]
    _enter(steps, depth, root, 0, index, box)
    while depth >= 0:
        twig, child, rightwards = steps[depth].twig, steps[depth].cursor, steps[depth].rightwards
        over = child < twigs[twig].kids or child >= twigs[twig].kids_end
        paid, bound, late = 0, 0, False
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
def _enter(steps: Records, depth: int, twig: int, paid: int, index: Index, box: Records) -> None:
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
def _turn(steps: Records, depth: int, links: Records) -> int:
    """After the walk to the right the walk to the left, then back to the twig above."""
    if steps[depth].rightwards == 0:
        return depth - 1
    steps[depth].rightwards = 0
    steps[depth].cursor = _preceding(links, steps[depth].origin - 1)
    return depth
