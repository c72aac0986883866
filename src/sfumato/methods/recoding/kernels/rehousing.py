"""Who is left behind when a box is opened: groups that lack records are filled up again, or dissolved.

Where only numbers count, a group that has lost some of its records takes the surplus of others who stand in its box, from the
costliest on; the more it has left, the more likely that is tried. Otherwise, and under claims on values, it is dissolved: each of
its pieces goes to the group whose total grows least.

Notation
    most      what may still be added to the total cost, where groups that lack something count as if they cost nothing
    touched   groups that the step has changed, with their cost and box before it (`Workbench`)

Invariants
    I1  Nothing goes on once nothing is left of `most`; what a later move might have saved is forgone, as it is hardly ever enough.
    I2  Only units of one region ever stand together.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.recoding.kernels.box_drawing import Workbench, look_inside, units_inside
from sfumato.methods.recoding.kernels.cell_costs import CellCosts, in_place
from sfumato.methods.recoding.kernels.rebuild import random_below
from sfumato.methods.recoding.kernels.seating import Seating, Shape, cost_beyond, measure, move, region_of, widen
from sfumato.methods.recoding.kernels.terms import Terms, met

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
def home_for(stand: Seating, costs: CellCosts, terms: Terms, u: int, many: int, apart: int, most: float) -> tuple[int, float]:
    """The group of its region, other than `apart`, whose total grows least and by how much; −1 when none grows by less."""
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
    """A group takes the records that it lacks from others in its box; what is left of `most`, nothing when that is not possible."""
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

    Returned are what is left of `most`, below nothing when somebody finds no home, and how many pieces have gone in this step.
    """
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
    """Groups that no longer meet the terms are filled up or dissolved; whether that was possible and added less than `most`."""
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
