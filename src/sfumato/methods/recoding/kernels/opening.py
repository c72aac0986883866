"""Opening boxes: everybody in a box who pays more than it costs moves in; who is left behind finds another home, or nobody moves.

One step takes a costly record and a box around it, which becomes a new group; or the box of a group that is there, as it is or
widened for the record, and whoever moves joins that group, which needs nobody to come: under claims on values most moves are of
this kind. Donors keep what they need: they give no more than their surplus, but for a few that give all and are filled up again or
dissolved (`rehousing`). Under claims on values,
donors take back what they lack and the new group gives up what it has too much of. Boxes shrink to what they hold. A step is kept
when it saves, or costs no more than chance and a falling temperature allow; what it may cost is drawn first, so that hopeless steps
end early.

Notation
    heat       the temperature: a step that costs x is kept with probability exp(−x / heat)
    log        moves of this step (unit, from, to, records), to be undone; ``chain`` leads from each to the donor's one before
    touched    groups that the step has changed, with their cost and box before it
    number     moves in the log, touched groups, work done (comparisons, roughly)

Invariants
    I1  After a step every group meets the terms, or nothing has changed (`undo`).
    I2  Only units of one region ever stand together.
    I3  A step depends on the dice and on nothing that is measured while it runs.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import CodeArray, IntArray
from sfumato.methods.recoding.kernels.box_drawing import GUESTS, Workbench, draw_box, draw_host, look_inside, units_inside
from sfumato.methods.recoding.kernels.cell_costs import CellCosts, cell_cost, in_place
from sfumato.methods.recoding.kernels.rebuild import TINY, random_below
from sfumato.methods.recoding.kernels.rehousing import STRAYS, give, rehouse, touch
from sfumato.methods.recoding.kernels.seating import Seating, Shape, end_group, measure, move, new_group
from sfumato.methods.recoding.kernels.terms import Terms, met, too_much

BROKEN = 2
"""So many donors, at most, give more than they can spare in one step."""
TURNS = 4
"""How often donors and the new group settle what each of them needs."""


@in_place
def offered(stand: Seating, desk: Workbench, terms: Terms, donors: int, host: int, price: float, dice: NDArray[np.uint64]) -> int:
    """How much donors give who pay more than the price: their surplus; all where they can spare it, and a few others; in all."""
    coming, broken = 0, random_below(dice, BROKEN + 1)
    begin = random_below(dice, donors)
    for j in range(donors):
        g = desk.donors[(begin + j) % donors]
        rest = stand.size[g] - desk.inside[g]
        desk.gives[g] = 0
        if g != host and stand.cost[g] > price + TINY:
            whole = rest == 0 or rest >= terms.fewest
            if not whole and broken > 0:
                whole = True
                broken -= 1
            desk.gives[g] = desk.inside[g] if whole else max(stand.size[g] - terms.fewest, 0)
        coming += desk.gives[g]
    return coming


@in_place
def allot(stand: Seating, desk: Workbench, terms: Terms, donors: int, price: float, dice: NDArray[np.uint64]) -> bool:
    """Decide how much every donor gives: who pays more than the price everything or the surplus, others what is still missing."""
    coming = offered(stand, desk, terms, donors, -1, price, dice)
    return lend(stand, desk, terms, donors, price, terms.fewest - coming) < np.inf


@in_place
def lend(stand: Seating, desk: Workbench, terms: Terms, donors: int, price: float, missing: int) -> float:
    """Donors who give nothing yet give of their surplus what is missing, the costliest first; what they pay more, or infinity."""
    added = 0.0
    while missing > 0:
        dearest, lender = -1.0, -1
        for i in range(donors):
            g = desk.donors[i]
            if desk.gives[g] == 0 and dearest < stand.cost[g] <= price + TINY and stand.size[g] > terms.fewest:
                dearest, lender = stand.cost[g], g
        if lender < 0:
            return np.inf
        surplus = min(stand.size[lender] - terms.fewest, desk.inside[lender])
        desk.gives[lender] = min(missing, surplus)
        missing -= desk.gives[lender]
        added += desk.gives[lender] * (price - dearest)
    return added


@in_place
def take_back(stand: Seating, desk: Workbench, i: int, many: int) -> None:
    """Undo a move of the log, or a part of it."""
    move(stand, desk.log[i, 0], desk.log[i, 2], desk.log[i, 1], many)
    desk.log[i, 3] -= many


@in_place
def reclaim(stand: Seating, desk: Workbench, terms: Terms, g: int) -> None:
    """A donor takes back what it lacks: first values that it has too few of, then anything."""
    for anything in range(2):
        i = desk.tail[g]
        while i >= 0:
            if met(terms, stand.tally, g, stand.size[g]) and stand.size[g] > 0:
                return
            if desk.log[i, 3] > 0:
                wanted = anything == 1
                for h in range(stand.tag.shape[1]):
                    v = stand.tag[desk.log[i, 0], h]
                    wanted = wanted or stand.tally[g, v] < terms.overall[v] * stand.size[g]
                if wanted:
                    take_back(stand, desk, i, desk.log[i, 3])
            i = desk.chain[i]


@in_place
def give_up(stand: Seating, desk: Workbench, terms: Terms, new: int) -> bool:
    """The new group returns records of values that it has too many of; whether it then meets the terms."""
    before = stand.size[new]
    size = before
    while size >= terms.fewest and not met(terms, stand.tally, new, size):
        v, many = too_much(terms, stand.tally, new, size)
        if v < 0:
            break
        many = min(many, stand.tally[new, v])
        desk.drop[v] += many
        stand.tally[new, v] -= many
        size -= many
    fine = size >= terms.fewest and met(terms, stand.tally, new, size)
    for v in range(stand.tally.shape[1]):
        stand.tally[new, v] += desk.drop[v]
    for i in range(desk.number[0] - 1, -1, -1):
        u = desk.log[i, 0]
        for h in range(stand.tag.shape[1]):
            many = min(desk.drop[stand.tag[u, h]], desk.log[i, 3])
            if many > 0 and fine:
                desk.drop[stand.tag[u, h]] -= many
                take_back(stand, desk, i, many)
    for v in range(stand.tally.shape[1]):
        desk.drop[v] = 0
    return fine


@in_place
def come_to_terms(stand: Seating, desk: Workbench, terms: Terms, new: int) -> bool:
    """Donors and the new group in turn; whether the new group meets the terms in the end."""
    for _ in range(TURNS):
        for i in range(desk.number[1]):
            g = desk.touched[i]
            if g != new and not met(terms, stand.tally, g, stand.size[g]):
                reclaim(stand, desk, terms, g)
        desk.number[2] += 16 * desk.number[0]
        if met(terms, stand.tally, new, stand.size[new]):
            return stand.size[new] > 0
        if not give_up(stand, desk, terms, new):
            return False
    return False


@in_place
def change(stand: Seating, desk: Workbench) -> float:
    """What the step has added to the total cost."""
    total = 0.0
    for i in range(desk.number[1]):
        g = desk.touched[i]
        desk.inside[g] = stand.size[g]
        total += stand.size[g] * stand.cost[g]
    for j in range(desk.number[0]):
        desk.inside[desk.log[j, 1]] += desk.log[j, 3]
        desk.inside[desk.log[j, 2]] -= desk.log[j, 3]
    for i in range(desk.number[1]):
        total -= desk.inside[desk.touched[i]] * desk.was_cost[i]
        desk.inside[desk.touched[i]] = 0
    return total


@in_place
def undo(stand: Seating, desk: Workbench) -> None:
    """Everything as it was before the step."""
    for i in range(desk.number[0] - 1, -1, -1):
        if desk.log[i, 3] > 0:
            move(stand, desk.log[i, 0], desk.log[i, 2], desk.log[i, 1], desk.log[i, 3])
    for i in range(desk.number[1]):
        g = desk.touched[i]
        stand.cost[g] = desk.was_cost[i]
        for c in range(len(desk.lo)):
            stand.lo[g, c], stand.last[g, c] = desk.was_lo[i, c], desk.was_last[i, c]


@in_place
def forget_inside(desk: Workbench, donors: int) -> None:
    """Nobody is known to be in the box."""
    for i in range(donors):
        desk.inside[desk.donors[i]] = 0


@in_place
def forget_step(stand: Seating, desk: Workbench) -> None:
    """Clear the desk; groups that are empty end."""
    for i in range(desk.number[1]):
        g = desk.touched[i]
        desk.marked[g], desk.tail[g] = 0, -1
        if stand.size[g] == 0:
            end_group(stand, g)
    desk.number[0], desk.number[1] = 0, 0


@in_place
def hand_over(stand: Seating, desk: Workbench, pieces: int, new: int, dice: NDArray[np.uint64]) -> None:
    """Those of the pieces that were found move who are given."""
    begin = random_below(dice, pieces)
    touch(stand, desk, new)
    for j in range(pieces):
        p = desk.found[(begin + j) % pieces]
        g = stand.home[p]
        many = min(stand.records[p], desk.gives[g])
        if many > 0:
            desk.gives[g] -= many
            give(stand, desk, stand.unit[p], g, new, many)


@in_place
def moved_in(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, pieces: int, new: int, most: float,
    dice: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """Everybody moves who is given; whether all groups meet the terms afterwards and no more is added than allowed."""
    hand_over(stand, desk, pieces, new, dice)
    if len(terms.kinds) > 0 and not come_to_terms(stand, desk, terms, new):
        return False
    for i in range(desk.number[1]):
        desk.number[2] += 8 + measure(stand, costs, shape, desk.touched[i]) * len(desk.lo)
    added = change(stand, desk)
    for i in range(desk.number[1]):
        g = desk.touched[i]
        if not met(terms, stand.tally, g, stand.size[g]):
            added -= stand.size[g] * stand.cost[g]
    return added < most and rehouse(stand, costs, shape, desk, terms, most - added, dice)


@in_place
def open_box(
    stand: Seating,
    costs: CellCosts,
    shape: Shape,
    terms: Terms,
    desk: Workbench,
    u: int,
    g: int,
    heat: float,
    dice: NDArray[np.uint64],
) -> float:
    """One step; what it changed of the total cost."""
    draw_box(stand, shape, desk, u, g, dice)
    desk.number[2] += 40
    if price_of(costs, desk) >= stand.cost[g] - TINY:
        return 0.0
    return open_drawn(stand, costs, shape, terms, desk, stand.region[u], heat, dice)


@in_place
def price_of(costs: CellCosts, desk: Workbench) -> float:
    """What a record pays in the box on the desk."""
    price = 0.0
    for c in range(len(desk.lo)):
        price += cell_cost(costs, c, desk.lo[c], desk.last[c])
    return price


@in_place
def open_drawn(
    stand: Seating,
    costs: CellCosts,
    shape: Shape,
    terms: Terms,
    desk: Workbench,
    region: int,
    heat: float,
    dice: NDArray[np.uint64],
) -> float:
    """Open the box on the desk for everybody of a region who pays more; what that changed of the total cost."""
    units_inside(stand, shape, desk, region)  # I2
    pieces, donors, records = look_inside(stand, desk)
    desk.number[2] += len(desk.word) * len(desk.lo) // 2 + 4 * pieces
    added = 0.0
    roomy = stand.number[1] > 0 and stand.number[2] > pieces + STRAYS
    enough = roomy and records >= terms.fewest and allot(stand, desk, terms, donors, price_of(costs, desk), dice)
    forget_inside(desk, donors)
    if enough:
        most = allowed(heat, dice)
        fine = moved_in(stand, costs, shape, terms, desk, pieces, new_group(stand), most, dice)
        added = judged(stand, desk, fine, most)
    forget_step(stand, desk)
    return added


@in_place
def allowed(heat: float, dice: NDArray[np.uint64]) -> float:
    """What a step may add to the total cost."""
    return -heat * np.log((random_below(dice, 1 << 30) + 1) / (1 << 30)) - TINY


@in_place
def judged(stand: Seating, desk: Workbench, fine: bool, most: float) -> float:
    """What a step has added to the total cost; undone when it is not fine, or adds more than allowed (I1)."""
    added = change(stand, desk) if fine else 0.0
    if fine and added < most:
        return added
    undo(stand, desk)
    return 0.0


@in_place
def join_box(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, u: int, g: int, heat: float,
    dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """One step in which a group takes in everybody in its box, or a wider one, who pays more; what it changed of the total cost."""
    host = draw_host(stand, shape, desk, u, dice)
    desk.number[2] += 20 + GUESTS * len(desk.lo)
    price = price_of(costs, desk)
    if host < 0 or price >= stand.cost[g] - TINY:
        return 0.0
    units_inside(stand, shape, desk, stand.region[u])
    pieces, donors, _ = look_inside(stand, desk)
    desk.number[2] += len(desk.word) * len(desk.lo) // 2 + 4 * pieces
    coming = offered(stand, desk, terms, donors, host, price, dice)
    forget_inside(desk, donors)
    added = 0.0
    if coming > 0 and stand.number[2] > pieces + STRAYS:
        most = allowed(heat, dice)
        added = judged(stand, desk, moved_in(stand, costs, shape, terms, desk, pieces, host, most, dice), most)
    forget_step(stand, desk)
    return added


@in_place
def costly_piece(stand: Seating, dice: NDArray[np.uint64]) -> int:
    """A piece of the costliest group that three random units are in; −1 when none of them costs anything."""
    dearest, piece = TINY, -1
    for _ in range(3):
        p = stand.of_unit[random_below(dice, len(stand.code))]
        while p >= 0:
            if stand.cost[stand.home[p]] > dearest:
                dearest, piece = stand.cost[stand.home[p]], p
            p = stand.beside[p]
    return piece


@in_place
def open_boxes(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, hot: float, cold: float, work: int,
    dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """Steps until the work is done, from hot to cold; what they changed of the total cost (I3)."""
    changed = 0.0
    desk.number[2] = 0
    while desk.number[2] < work:
        heat = hot * (cold / hot) ** (desk.number[2] / work)
        desk.number[2] += 20
        p = costly_piece(stand, dice)
        if p >= 0 and random_below(dice, 2 if len(terms.kinds) > 0 else 3) == 0:
            changed += join_box(stand, costs, shape, terms, desk, stand.unit[p], stand.home[p], heat, dice)
        elif p >= 0:
            changed += open_box(stand, costs, shape, terms, desk, stand.unit[p], stand.home[p], heat, dice)
    return changed


@in_place
def offer_boxes(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, lo: CodeArray, last: CodeArray, region: IntArray,
    dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """Open boxes of other groupings where that saves something, in an order of the dice; what that changed of the total cost."""
    changed, boxes = 0.0, len(lo)
    begin, step = random_below(dice, boxes), 1 + random_below(dice, boxes)
    while greatest_common(step, boxes) > 1:
        step += 1
    for i in range(boxes):
        b = (begin + i * step) % boxes
        for c in range(len(desk.lo)):
            desk.lo[c], desk.last[c] = lo[b, c], last[b, c]
        changed += open_drawn(stand, costs, shape, terms, desk, region[b], 0.0, dice)
    return changed


@in_place
def greatest_common(a: int, b: int) -> int:
    """The greatest common divisor."""
    while b > 0:
        a, b = b, a % b
    return a
