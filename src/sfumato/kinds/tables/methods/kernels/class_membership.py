"""Who stands where: pieces of units in groups, moved about and put back.

Notation
    unit      records with equal codes in all relevant columns: ``code[u]`` (leaves), ``tag[u]`` (places in a tally)
    piece     ``records[p]`` records of ``unit[p]`` in group ``home[p]``; a unit may be divided among several groups
    lists     pieces of a unit from ``of_unit[u]`` by ``beside``, of a group from ``of_group[g]`` by ``after`` and
              ``before``
    box       ``lo[g] … last[g]``: the smallest publishable intervals around a group
    shape     which intervals are publishable: nodes of a tree, or all (``start`` −1)
    below     ``below[base[c] + i]``: the units whose code in column c is among the first i of those that occur, as bits
    within    ``within[r]``: the units of region r, as bits
    number    groups in `live`, in `free`, and pieces in `spare`

Invariants
    I1  Every record is in exactly one group; `size`, `tally`, `lo`, `last` and `cost` are those of the pieces.
    I2  `move` and its opposite leave everything as it was, but for the order within lists.


Box drawing
-----------
Draw a random box around a unit, and find the records in it.

Notation
    box        ``lo[c] … last[c]`` of the desk, both included
    number     moves in the log, touched groups, work done (comparisons, roughly)


Rehousing
---------
Who is left behind when a box is opened: groups that lack records are filled up again, or dissolved.

If only counts matter, a group that has lost records takes surplus records of others inside its box, costliest first;
the more it has left, the more likely this is tried. Otherwise, and under requirements on values, it is dissolved: each
of its pieces goes to the group whose total grows least.

Notation
    most      what may still be added to the total cost, where groups that lack something count as if they cost nothing
    touched   groups that the step has changed, with their cost and box before it (`Workbench`)

Invariants
    I1  Nothing goes on once nothing is left of `most`; what a later move might have saved is forgone, as it is hardly
        ever enough.
    I2  Only units of one region ever stand together.


Terms
-----
What a group must offer, as numbers that a loop can read: records, different values, shares, entropy, distance.

Notation
    row       ``tally[g]``: how many records of group g have each tag; the tags of sensitive column h are
              ``start[h]:start[h + 1]``
    fewest    records per group
    kinds     different values of a sensitive column (0: any)
    share     largest share of one value (1: any)
    entropy   least entropy of the shares (0: any)
    far       largest distance of the shares from `overall`, half the sum of absolute differences (1: any)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, FloatArray, IntArray
from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts, cell_cost, in_place
from sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding import random_below

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


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


# Box drawing
# -----------


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


FAR = 24
"""A member of a group is drawn among this many of its first pieces."""
GUESTS = 12
"""So many groups are looked at before one takes a person in."""


class Workbench(NamedTuple):
    """Working memory of one step."""

    word: NDArray[np.uint64]
    found: IntArray
    inside: IntArray
    """Per group its records in the box; zero between steps."""
    gives: IntArray
    donors: IntArray
    log: IntArray
    chain: IntArray
    tail: IntArray
    """Per group the last of its moves in the log; −1 between steps."""
    touched: IntArray
    marked: IntArray
    """Per group whether it is touched; zero between steps."""
    was_cost: FloatArray
    was_lo: IntArray
    was_last: IntArray
    lo: IntArray
    last: IntArray
    drop: IntArray
    number: IntArray


@in_place
def some_member(stand: Seating, g: int, dice: NDArray[np.uint64]) -> int:
    """A unit of a group, drawn among its first pieces."""
    p = stand.of_group[g]
    for _ in range(random_below(dice, FAR)):
        p = stand.after[p]
        if p < 0:
            p = stand.of_group[g]
    return stand.unit[p]


@in_place
def span(stand: Seating, shape: Shape, desk: Workbench, c: int, u: int, v: int) -> None:
    """The box reads column c as finely as two units allow."""
    x, y = stand.code[u, c], stand.code[v, c]
    desk.lo[c], desk.last[c] = closed(shape, c, min(x, y), max(x, y))


@in_place
def draw_box(stand: Seating, shape: Shape, desk: Workbench, u: int, g: int, dice: NDArray[np.uint64]) -> None:
    """A box around a unit: its group's with some columns finer, and some coarser; around some of its group; or
    anything."""
    columns, style = stand.lo.shape[1], random_below(dice, 4)
    for c in range(columns):
        desk.lo[c], desk.last[c] = stand.lo[g, c], stand.last[g, c]
    if style <= 1:
        for _ in range(1 + random_below(dice, 3 - style)):
            c = random_below(dice, columns)
            span(stand, shape, desk, c, u, some_member(stand, g, dice))
    if style == 1:
        for _ in range(1 + random_below(dice, 2)):
            c = random_below(dice, columns)
            v = random_below(dice, len(stand.code))
            desk.lo[c], desk.last[c] = closed(
                shape, c, min(desk.lo[c], stand.code[v, c]), max(desk.last[c], stand.code[v, c])
            )
    elif style == 2:
        for c in range(columns):
            desk.lo[c] = desk.last[c] = stand.code[u, c]
        for _ in range(1 + random_below(dice, 3)):
            v = some_member(stand, g, dice)
            for c in range(columns):
                desk.lo[c], desk.last[c] = closed(
                    shape, c, min(desk.lo[c], stand.code[v, c]), max(desk.last[c], stand.code[v, c])
                )
    elif style == 3:
        for c in range(columns):
            reading = random_below(dice, 3)
            if reading == 0:
                span(stand, shape, desk, c, u, u)
            elif reading == 1:
                span(stand, shape, desk, c, u, random_below(dice, len(stand.code)))


@in_place
def draw_host(stand: Seating, shape: Shape, desk: Workbench, u: int, dice: NDArray[np.uint64]) -> int:
    """A group of the unit's region that others may join, and its box: as it is, or widened for the unit; −1 when there
    is none."""
    host, least, free = -1, np.inf, random_below(dice, 2) == 0
    for _ in range(GUESTS):
        g = stand.live[random_below(dice, stand.number[0])]
        if stand.region[stand.unit[stand.of_group[g]]] != stand.region[u]:
            continue
        apart = 0.0
        for c in range(stand.lo.shape[1]):
            x = stand.code[u, c]
            if x < stand.lo[g, c] or x > stand.last[g, c]:
                apart += 1.0
        if apart < least:
            host, least = g, apart
        if free:
            break
    if host >= 0:
        for c in range(stand.lo.shape[1]):
            desk.lo[c], desk.last[c] = stand.lo[host, c], stand.last[host, c]
            if not free:
                x = stand.code[u, c]
                desk.lo[c], desk.last[c] = closed(shape, c, min(desk.lo[c], x), max(desk.last[c], x))
    return host


@in_place
def units_inside(stand: Seating, shape: Shape, desk: Workbench, region: int) -> None:
    """The units of a region in the box, as bits."""
    word, within, below = desk.word, stand.within, stand.below
    words = below.shape[1]
    for w in range(words):
        word[w] = within[region, w]
    for c in range(len(desk.lo)):
        if desk.lo[c] == 0 and desk.last[c] + 1 == shape.size[c]:
            continue
        low = stand.base[c] + stand.rank[stand.first_rank[c] + desk.lo[c]]
        high = stand.base[c] + stand.rank[stand.first_rank[c] + desk.last[c] + 1]
        for w in range(words):
            word[w] &= below[high, w] & ~below[low, w]


@in_place
def lowest_bit(x: np.uint64) -> int:
    """The place of the lowest bit that is set."""
    x = ~x & (x - np.uint64(1))  # the bits below it, which are counted in pairs, fours, eights and all
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@in_place
def look_inside(stand: Seating, desk: Workbench) -> tuple[int, int, int]:
    """List the pieces in the box and the groups they are of; how many pieces, groups and records."""
    pieces, donors, records = 0, 0, 0
    for w in range(len(desk.word)):
        x = desk.word[w]
        while x != 0:
            p = stand.of_unit[w * 64 + lowest_bit(x)]
            x &= x - np.uint64(1)
            while p >= 0:
                g = stand.home[p]
                desk.found[pieces] = p
                pieces += 1
                if desk.inside[g] == 0:
                    desk.donors[donors] = g
                    donors += 1
                desk.inside[g] += stand.records[p]
                records += stand.records[p]
                p = stand.beside[p]
    return pieces, donors, records


# Rehousing
# ---------


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


STRAYS = 64
"""So many pieces may be left without a group and look for another in one step."""


@in_place
def touch(stand: Seating, desk: Workbench, g: int) -> None:
    """Remember a group as it was before the step."""
    if desk.marked[g]:
        return
    i = desk.number[1]
    desk.marked[g], desk.touched[i], desk.was_cost[i] = 1, g, stand.cost[g]
    for c in range(len(desk.lo)):
        desk.was_lo[i, c], desk.was_last[i, c] = stand.lo[g, c], stand.last[g, c]
    desk.number[1] = i + 1


@in_place
def give(stand: Seating, desk: Workbench, u: int, a: int, b: int, many: int) -> None:
    """Move records and write it down."""
    touch(stand, desk, a)
    touch(stand, desk, b)
    move(stand, u, a, b, many)
    i = desk.number[0]
    desk.log[i, 0], desk.log[i, 1], desk.log[i, 2], desk.log[i, 3] = u, a, b, many
    desk.chain[i], desk.tail[a] = desk.tail[a], i
    desk.number[0] = i + 1


@in_place
def accepts(stand: Seating, terms: Terms, g: int, u: int, many: int) -> bool:
    """Whether a group still meets the terms with these records."""
    if len(terms.kinds) == 0:
        return True
    for h in range(stand.tag.shape[1]):
        stand.tally[g, stand.tag[u, h]] += many
    fine = met(terms, stand.tally, g, stand.size[g] + many)
    for h in range(stand.tag.shape[1]):
        stand.tally[g, stand.tag[u, h]] -= many
    return fine


@in_place
def home_for(
    stand: Seating, costs: CellCosts, terms: Terms, u: int, many: int, apart: int, most: float
) -> tuple[int, float]:
    """The group of its region, other than `apart`, whose total grows least and by how much; −1 when none grows by
    less."""
    tables, start, width, values = costs.tables, costs.start, costs.size, costs.values
    live, size, cost, lo, last, code = stand.live, stand.size, stand.cost, stand.lo, stand.last, stand.code
    home, least = np.int64(-1), most
    for i in range(stand.number[0]):
        g = live[i]
        if g == apart or size[g] == 0 or cost[g] * many >= least:
            continue
        already, each = size[g] * cost[g], 0.0
        bound = (least + already) / (size[g] + many)
        for c in range(tables):
            x = code[u, c]
            each += values[start[c] + min(lo[g, c], x) * width[c] + max(last[g, c], x)]
            if each > bound:
                break
        if each > bound:
            continue
        growth = (size[g] + many) * (each + cost_beyond(stand, costs, g, code, code, u)) - already
        if growth < least and region_of(stand, g) == stand.region[u] and accepts(stand, terms, g, u, many):
            home, least = g, growth  # I2
    return home, least


@in_place
def refill(stand: Seating, costs: CellCosts, shape: Shape, desk: Workbench, terms: Terms, g: int, most: float) -> float:
    """A group takes the records that it lacks from others in its box; what is left of `most`, nothing when that is not
    possible."""
    for c in range(len(desk.lo)):
        desk.lo[c], desk.last[c] = stand.lo[g, c], stand.last[g, c]
    units_inside(stand, shape, desk, stand.region[stand.unit[stand.of_group[g]]])  # I2
    pieces, lenders, _ = look_inside(stand, desk)
    desk.number[2] += len(desk.word) * len(desk.lo) // 2 + 4 * pieces
    most = borrow(stand, desk, terms, lenders, g, most)
    for j in range(pieces):
        p = desk.found[j]
        h = stand.home[p]
        many = min(stand.records[p], desk.gives[h])
        if most > 0.0 and many > 0:
            desk.gives[h] -= many
            give(stand, desk, stand.unit[p], h, g, many)
    for i in range(lenders):
        h = desk.donors[i]
        if most > 0.0 and desk.inside[h] > 0:
            desk.number[2] += 8 + measure(stand, costs, shape, h) * len(desk.lo)
        desk.inside[h] = 0
    return most


@in_place
def borrow(stand: Seating, desk: Workbench, terms: Terms, lenders: int, g: int, most: float) -> float:
    """Decide which groups in the box give how much of their surplus, the costliest first; what is left of `most`.

    `inside` says afterwards how much each of them gives.
    """
    need = terms.fewest - stand.size[g]
    for i in range(lenders):
        desk.gives[desk.donors[i]] = 0
    while need > 0 and most > 0.0:
        dearest, lender = -1.0, -1
        for i in range(lenders):
            h = desk.donors[i]
            if h != g and desk.gives[h] == 0 and stand.cost[h] > dearest and stand.size[h] > terms.fewest:
                dearest, lender = stand.cost[h], h
        desk.number[2] += 2 * lenders
        if lender < 0:
            most = 0.0
        else:
            desk.gives[lender] = min(need, min(stand.size[lender] - terms.fewest, desk.inside[lender]))
            need -= desk.gives[lender]
            most -= desk.gives[lender] * (stand.cost[g] - dearest)
    for i in range(lenders):
        desk.inside[desk.donors[i]] = desk.gives[desk.donors[i]]
    return most


@in_place
def dissolve(
    stand: Seating, costs: CellCosts, shape: Shape, desk: Workbench, terms: Terms, g: int, most: float, strays: int
) -> tuple[float, int]:
    """Everybody of a group goes where the total cost grows least.

    Returned are what is left of `most`, below nothing when a person finds no home, and how many pieces have gone in
    this step."""
    p = stand.of_group[g]
    while p >= 0:
        u, many = stand.unit[p], stand.records[p]
        p = stand.after[p]
        home, growth = home_for(stand, costs, terms, u, many, g, most)
        desk.number[2] += 2 * stand.number[0]
        strays += 1
        if home < 0 or strays > STRAYS:
            return -1.0, strays
        most -= growth
        give(stand, desk, u, g, home, many)
        widen(stand, costs, shape, home, u)
    stand.cost[g] = 0.0
    return most, strays


@in_place
def rehouse(
    stand: Seating, costs: CellCosts, shape: Shape, desk: Workbench, terms: Terms, most: float, dice: NDArray[np.uint64]
) -> bool:
    """Groups that no longer meet the terms are filled up or dissolved; whether that was possible and added less than
    `most`."""
    i, strays = 0, 0
    while i < desk.number[1]:
        g = desk.touched[i]
        lacking = not met(terms, stand.tally, g, stand.size[g])
        if lacking and len(terms.kinds) == 0 and random_below(dice, terms.fewest) < stand.size[g]:
            most -= stand.size[g] * stand.cost[g]
            most = refill(stand, costs, shape, desk, terms, g, most)
            if most <= 0.0:
                return False  # I1
            lacking = False
        if lacking:
            most, strays = dissolve(stand, costs, shape, desk, terms, g, most, strays)
            if most < 0.0:
                return False
        i += 1
    return True


# Terms
# -----


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


_SLACK = 1e-10
"""Verdicts are a little stricter than the models', so that no rounding lets a group pass here and fail there."""


class Terms(NamedTuple):
    """The terms of a problem's requirements."""

    fewest: int
    start: IntArray
    kinds: IntArray
    share: FloatArray
    entropy: FloatArray
    far: FloatArray
    overall: FloatArray


@in_place
def met(terms: Terms, tally: IntArray, g: int, size: int) -> bool:
    """Whether a group of this size and tally meets the terms; an empty one does."""
    if size < terms.fewest:
        return size == 0
    for h in range(len(terms.kinds)):
        kinds, largest, entropy, apart = 0, 0, 0.0, 0.0
        for v in range(terms.start[h], terms.start[h + 1]):
            many = tally[g, v]
            if many > 0:
                kinds += 1
                largest = max(largest, many)
                if terms.entropy[h] > 0.0:
                    entropy -= many / size * np.log(many / size)
            if terms.far[h] < 1.0:
                apart += abs(many / size - terms.overall[v])
        if kinds < terms.kinds[h] or largest > terms.share[h] * size + _SLACK:
            return False
        if entropy < terms.entropy[h] + _SLACK and terms.entropy[h] > 0.0:
            return False
        if apart > 2.0 * terms.far[h] - _SLACK and terms.far[h] < 1.0:
            return False
    return True


@in_place
def too_much(terms: Terms, tally: IntArray, g: int, size: int) -> tuple[int, int]:
    """The tag that a requirement on shares finds most over-represented, and how many records of it to drop; −1 when
    there is none."""
    worst, tag, many = 0.0, -1, 0
    for h in range(len(terms.kinds)):
        if terms.far[h] >= 1.0 and terms.share[h] >= 1.0 and terms.entropy[h] <= 0.0:
            continue
        for v in range(terms.start[h], terms.start[h + 1]):
            wanted = (
                terms.overall[v] * size
                if terms.far[h] < 1.0
                else terms.share[h] * size
                if terms.share[h] < 1.0
                else 0.0
            )
            if tally[g, v] - wanted > worst:
                worst, tag = tally[g, v] - wanted, v
                many = max(1, int(0.5 * worst if terms.share[h] >= 1.0 or terms.far[h] < 1.0 else worst))
    return tag, many
