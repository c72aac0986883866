"""A box around a unit, drawn at random, and who stands in it.

Notation
    box        ``lo[c] … last[c]`` of the desk, both included
    number     moves in the log, touched groups, work done (comparisons, roughly)
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.kernels.cell_costs import in_place
from sfumato.methods.recoding.kernels.rebuild import random_below
from sfumato.methods.recoding.kernels.seating import Seating, Shape, closed

FAR = 24
"""A member of a group is drawn among this many of its first pieces."""
GUESTS = 12
"""So many groups are looked at before one takes somebody in."""


class Workbench(NamedTuple):
    """Room for one step."""

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
    """A box around a unit: its group's with some columns finer, and some coarser; around some of its group; or anything."""
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
            desk.lo[c], desk.last[c] = closed(shape, c, min(desk.lo[c], stand.code[v, c]), max(desk.last[c], stand.code[v, c]))
    elif style == 2:
        for c in range(columns):
            desk.lo[c] = desk.last[c] = stand.code[u, c]
        for _ in range(1 + random_below(dice, 3)):
            v = some_member(stand, g, dice)
            for c in range(columns):
                desk.lo[c], desk.last[c] = closed(shape, c, min(desk.lo[c], stand.code[v, c]), max(desk.last[c], stand.code[v, c]))
    elif style == 3:
        for c in range(columns):
            reading = random_below(dice, 3)
            if reading == 0:
                span(stand, shape, desk, c, u, u)
            elif reading == 1:
                span(stand, shape, desk, c, u, random_below(dice, len(stand.code)))


@in_place
def draw_host(stand: Seating, shape: Shape, desk: Workbench, u: int, dice: NDArray[np.uint64]) -> int:
    """A group of the unit's region that others may join, and its box: as it is, or widened for the unit; −1 when there is none."""
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
