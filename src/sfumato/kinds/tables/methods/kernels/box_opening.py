"""Opening boxes: everybody in a box who pays more than it costs moves in; who is left behind finds another home, or
nobody moves.

One step takes a costly record and a box around it, which becomes a new group; or the box of a group that is there, as
it is or widened for the record, and records that move join that group, which needs no members: under requirements on
values most moves are of this kind. Donors keep what they need: they give no more than their surplus, but for a few that
give all and are filled up again or dissolved (`rehousing`). Under requirements on values, donors take back what they
lack and the new group gives up what it has too much of. Boxes shrink to what they hold. A step is kept when it saves,
or costs no more than chance and a falling temperature allow; what it may cost is drawn first, so that hopeless steps
end early.

Notation
    heat       the temperature: a step that costs x is kept with probability exp(−x / heat)
    log        moves of this step (unit, from, to, records), to be undone; ``chain`` leads from each to the donor's one
               before
    touched    groups that the step has changed, with their cost and box before it
    number     moves in the log, touched groups, work done (comparisons, roughly)

Invariants
    I1  After a step every group meets the terms, or nothing has changed (`undo`).
    I2  Only units of one region ever stand together.
    I3  A step depends on the dice and on nothing that is measured while it runs.


Clearing
--------
Clearing: a few near groups are dissolved at once, and boxes are opened for their records.

Opening one box at a time (`opening`) does not exchange two boxes for two others where neither exchange pays by itself.
One step here clears a costly group and up to four groups near it. Their records, the strays, stay where they are until
a box takes them in: some boxes are drawn around strays, the one that is cheapest for what its strays paid before is
opened, and so on while there are strays and boxes that are worth it. Records that cost more than the box move in as
well, and groups with a surplus fill it up. What is left of a cleared group stays together where it is enough, else each
record goes to the group whose total grows least. The step is kept when it saves, or costs no more than chance and the
temperature allow. Only where numbers alone are claimed: no mixture of values is looked at.

Notation
    cleared    ``desk.marked`` is 2; its cost is what its records paid, its box the one that it had
    stray      a record of a cleared group
    dearness   what a box adds to the total cost for every unit of cost that its strays paid

Paper: ruin and recreate (Schrimpf et al. 2000) is the idea; what is ruined and how it is put together is our own.

Invariants
    I1  After a step every group meets the terms, or nothing has changed.
    I2  Only units of one region ever stand together.
    I3  A step depends on the dice and on nothing that is measured while it runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, FloatArray, IntArray
from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts, cell_cost, in_place
from sfumato.kinds.tables.methods.kernels.class_membership import (
    GUESTS,
    STRAYS,
    Seating,
    Shape,
    Terms,
    Workbench,
    closed,
    cost_beyond,
    dissolve,
    draw_box,
    draw_host,
    end_group,
    give,
    look_inside,
    measure,
    met,
    move,
    new_group,
    region_of,
    rehouse,
    too_much,
    touch,
    units_inside,
)
from sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding import TINY, random_below

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


BROKEN = 2
"""So many donors, at most, give more than they can spare in one step."""
TURNS = 4
"""How often donors and the new group settle what each of them needs."""


@in_place
def offered(
    stand: Seating, desk: Workbench, terms: Terms, donors: int, host: int, price: float, dice: NDArray[np.uint64]
) -> int:
    """How much donors give who pay more than the price: their surplus; all where they can spare it, and a few others;
    in all."""
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
    """Decide how much every donor gives: who pays more than the price everything or the surplus, others what is still
    missing."""
    coming = offered(stand, desk, terms, donors, -1, price, dice)
    return lend(stand, desk, terms, donors, price, terms.fewest - coming) < np.inf


@in_place
def lend(stand: Seating, desk: Workbench, terms: Terms, donors: int, price: float, missing: int) -> float:
    """Donors who give nothing yet give of their surplus what is missing, the costliest first; what they pay more, or
    infinity."""
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
    """Open the box on the desk for all people of a region who pays more; what that changed of the total cost."""
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
    """One step in which a group takes in everybody in its box, or a wider one, who pays more; what it changed of the
    total cost."""
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
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, lo: CodeArray, last: CodeArray,
    region: IntArray,
    dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """Open boxes of other groupings where that saves something, in an order of the dice; what that changed of the total
    cost."""
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


# Clearing
# --------


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


CLEARED, NEAR = 5, 16
"""Groups that are cleared in one step, at most, and the nearest ones that they are drawn from."""
STEPS = 3
"""Steps that are tried around one group, until one is kept: who is near it has to be found but once."""
TRIES = 24
"""Boxes that are drawn before the best of them is opened."""
MORE = 2
"""So many boxes more than groups were cleared may be opened."""
DEAR = 1.3
"""No box is opened that is dearer than this."""


class Site(NamedTuple):
    """Working memory of one step."""

    group: IntArray
    near: IntArray
    far: FloatArray
    unit: IntArray
    records: IntArray
    paid: FloatArray
    lo: IntArray
    last: IntArray
    number: IntArray
    """Cleared groups, and pieces of strays."""


@in_place
def nearest(
    stand: Seating,
    costs: CellCosts,
    desk: Workbench,
    site: Site,
    g: int,
    lo: CodeArray,
    last: CodeArray,
    b: int,
    lean: float,
) -> int:
    """Fill `near` with the groups of g's region that have the cheapest box together with box b; how many.

    By `lean` groups are nearer that cost much themselves.
    """
    found, most, region = 0, len(site.near), region_of(stand, g)
    tables, start, width, values = costs.tables, costs.start, costs.size, costs.values
    live, cost, low, high = stand.live, stand.cost, stand.lo, stand.last
    for i in range(stand.number[0]):
        h = live[i]
        bound = lean * cost[h] + (site.far[found - 1] if found == most else np.inf)
        if h == g or cost[h] <= TINY or cost[h] >= bound:
            continue
        each = 0.0
        for c in range(tables):
            each += values[start[c] + min(low[h, c], lo[b, c]) * width[c] + max(high[h, c], last[b, c])]
            if each >= bound:
                break
        if each >= bound:
            continue
        each += cost_beyond(stand, costs, h, lo, last, b)
        if each >= bound or region_of(stand, h) != region:
            continue  # I2
        found = min(found + 1, most)
        at = found - 1
        while at > 0 and site.far[at - 1] > each - lean * stand.cost[h]:
            site.near[at], site.far[at] = site.near[at - 1], site.far[at - 1]
            at -= 1
        site.near[at], site.far[at] = h, each - lean * stand.cost[h]
    desk.number[2] += 3 * stand.number[0]
    return found


@in_place
def clear(stand: Seating, desk: Workbench, site: Site, g: int) -> None:
    """A group is given up."""
    touch(stand, desk, g)
    desk.marked[g] = 2
    site.group[site.number[0]] = g
    site.number[0] += 1


@in_place
def look_around(
    stand: Seating, costs: CellCosts, desk: Workbench, site: Site, u: int, g: int, dice: NDArray[np.uint64]
) -> int:
    """Fill `near` with the groups near a group, or near a unit of it; how many."""
    lean = 0.5 * random_below(dice, 3)
    if random_below(dice, 2) == 0:
        return nearest(stand, costs, desk, site, g, stand.lo, stand.last, g, lean)
    return nearest(stand, costs, desk, site, g, stand.code, stand.code, u, lean)


@in_place
def clear_some(stand: Seating, desk: Workbench, site: Site, g: int, found: int, dice: NDArray[np.uint64]) -> None:
    """Clear a group and some of those that were found near it; the nearer the likelier."""
    site.number[0] = 0
    clear(stand, desk, site, g)
    wanted = 1 + random_below(dice, CLEARED) if found > 0 else 0
    for _ in range(2 * wanted):
        h = site.near[min(random_below(dice, found), random_below(dice, found))]
        if site.number[0] < wanted and desk.marked[h] == 0:
            clear(stand, desk, site, h)


@in_place
def list_strays(stand: Seating, site: Site) -> None:
    """The pieces of the cleared groups."""
    n = 0
    for i in range(site.number[0]):
        g = site.group[i]
        p = stand.of_group[g]
        while p >= 0:
            site.unit[n], site.records[n], site.paid[n] = stand.unit[p], stand.records[p], stand.cost[g]
            n += 1
            p = stand.after[p]
    site.number[1] = n


@in_place
def cover(stand: Seating, shape: Shape, desk: Workbench, c: int, u: int) -> None:
    """The box on the desk holds a unit's code in a column, too."""
    x = stand.code[u, c]
    desk.lo[c], desk.last[c] = closed(shape, c, min(desk.lo[c], x), max(desk.last[c], x))


@in_place
def some_stray(site: Site, dice: NDArray[np.uint64]) -> int:
    """The unit of a stray."""
    return site.unit[random_below(dice, site.number[1])]


@in_place
def draw_around(stand: Seating, shape: Shape, desk: Workbench, site: Site, u: int, dice: NDArray[np.uint64]) -> None:
    """A box around a stray: and some others; or a cleared group's with the stray in it, some columns coarser or
    finer."""
    columns = len(desk.lo)
    if random_below(dice, 3) == 0:
        for c in range(columns):
            desk.lo[c] = desk.last[c] = stand.code[u, c]
        for _ in range(1 + random_below(dice, 4)):
            v = some_stray(site, dice)
            for c in range(columns):
                cover(stand, shape, desk, c, v)
        return
    g = site.group[random_below(dice, site.number[0])]
    for c in range(columns):
        desk.lo[c], desk.last[c] = stand.lo[g, c], stand.last[g, c]
        cover(stand, shape, desk, c, u)
    if random_below(dice, 4) == 0:
        c = random_below(dice, columns)
        cover(stand, shape, desk, c, random_below(dice, len(stand.code)))
    for _ in range(random_below(dice, 4)):
        c = random_below(dice, columns)
        desk.lo[c] = desk.last[c] = stand.code[u, c]
        if random_below(dice, 3) > 0:
            cover(stand, shape, desk, c, some_stray(site, dice))


@in_place
def dearness_at_first_sight(stand: Seating, desk: Workbench, site: Site, price: float) -> float:
    """The dearness of the box on the desk if nobody moved in but strays."""
    records, paid = 0, 0.0
    for i in range(site.number[1]):
        inside = True
        for c in range(len(desk.lo)):
            x = stand.code[site.unit[i], c]
            if x < desk.lo[c] or x > desk.last[c]:
                inside = False
                break
        if inside:
            records += site.records[i]
            paid += site.records[i] * site.paid[i]
    desk.number[2] += site.number[1]
    return records * price / paid if paid > 0.0 else np.inf


@in_place
def dearness(stand: Seating, desk: Workbench, terms: Terms, donors: int, price: float) -> float:
    """The dearness of the box on the desk, whose donors are known; infinite when it would lack records.

    Strays all move in, others who pay more if their groups can spare them; `gives` says afterwards who gives how much.
    """
    added, paid, coming = 0.0, 0.0, 0
    for i in range(donors):
        g = desk.donors[i]
        many = desk.inside[g]
        if desk.marked[g] == 2:
            paid += many * stand.cost[g]
            added += many * price
        else:
            rest = stand.size[g] - many
            if stand.cost[g] <= price + TINY:
                many = 0
            elif 0 < rest < terms.fewest:
                many = max(stand.size[g] - terms.fewest, 0)
            added -= many * (stand.cost[g] - price)
        desk.gives[g] = many
        coming += many
    added += lend(stand, desk, terms, donors, price, terms.fewest - coming)
    return added / paid if paid > 0.0 else np.inf


@in_place
def look_at_box(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, region: int
) -> tuple[int, float]:
    """Find the records of a region inside the box on the desk: number of pieces, and cost of the box."""
    units_inside(stand, shape, desk, region)  # I2
    pieces, donors, records = look_inside(stand, desk)
    desk.number[2] += len(desk.word) * len(desk.lo) // 2 + 4 * pieces
    dear = dearness(stand, desk, terms, donors, price_of(costs, desk)) if records >= terms.fewest else np.inf
    forget_inside(desk, donors)
    return pieces, dear


@in_place
def choose_box(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, site: Site, region: int,
    dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """Leave on the site the least dear of some boxes around strays, and say how dear it is."""
    least, u, dearest = DEAR, some_stray(site, dice), 0.0
    for i in range(site.number[1]):
        dearest = max(dearest, site.paid[i])
    for i in range(TRIES):
        if i % 4 == 0:
            u = some_stray(site, dice)
        draw_around(stand, shape, desk, site, u, dice)
        desk.number[2] += 40
        price = price_of(costs, desk)
        if price >= least * dearest or dearness_at_first_sight(stand, desk, site, price) >= least:
            continue
        _, dear = look_at_box(stand, costs, shape, terms, desk, region)
        if dear < least:
            least = dear
            for c in range(len(desk.lo)):
                site.lo[c], site.last[c] = desk.lo[c], desk.last[c]
    return least


@in_place
def open_chosen(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, site: Site, region: int,
    dice: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """Open the box that was left on the site; return whether it could be stored."""
    for c in range(len(desk.lo)):
        desk.lo[c], desk.last[c] = site.lo[c], site.last[c]
    pieces, _ = look_at_box(stand, costs, shape, terms, desk, region)
    moves = pieces + STRAYS
    if stand.number[1] == 0 or stand.number[2] <= moves or desk.number[0] + moves >= len(desk.log):
        return False
    hand_over(stand, desk, pieces, new_group(stand), dice)
    for i in range(desk.number[1]):
        if desk.marked[desk.touched[i]] == 1:
            desk.number[2] += 8 + measure(stand, costs, shape, desk.touched[i]) * len(desk.lo)
    return True


@in_place
def added_so_far(stand: Seating, desk: Workbench, site: Site) -> float:
    """What the step has added to the total cost, strays costing nothing."""
    added = change(stand, desk)
    for i in range(site.number[0]):
        added -= stand.size[site.group[i]] * stand.cost[site.group[i]]
    return added


@in_place
def settle_strays(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, site: Site, most: float
) -> bool:
    """Rests of cleared groups stay together where they are enough, others find homes; whether that adds less than
    `most`."""
    for i in range(site.number[0]):
        g = site.group[i]
        if stand.size[g] >= terms.fewest:
            desk.number[2] += 8 + measure(stand, costs, shape, g) * len(desk.lo)
            most -= stand.size[g] * stand.cost[g]
        else:
            stand.cost[g] = np.inf if stand.size[g] > 0 else 0.0  # nobody's home
    strays = 0
    for i in range(site.number[0]):
        g = site.group[i]
        if most <= 0.0:
            return False
        if stand.size[g] < terms.fewest:
            most, strays = dissolve(stand, costs, shape, desk, terms, g, most, strays)
            if most < 0.0:
                return False
    return True


@in_place
def clear_and_open(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, site: Site, g: int, found: int,
    heat: float,
    dice: NDArray[np.uint64],
) -> tuple[bool, float]:  # fmt: skip
    """One step; whether it was kept, and what it changed of the total cost (I1)."""
    most, region = allowed(heat, dice), region_of(stand, g)
    clear_some(stand, desk, site, g, found, dice)
    boxes, fine = site.number[0] + MORE, True
    while boxes > 0 and fine:
        boxes -= 1
        list_strays(stand, site)
        if site.number[1] == 0 or choose_box(stand, costs, shape, terms, desk, site, region, dice) >= DEAR:
            break
        fine = (
            open_chosen(stand, costs, shape, terms, desk, site, region, dice) and added_so_far(stand, desk, site) < most
        )
    fine = fine and settle_strays(stand, costs, shape, terms, desk, site, most - added_so_far(stand, desk, site))
    added = change(stand, desk) if fine else np.inf
    kept = added < most
    if not kept:
        undo(stand, desk)
    forget_step(stand, desk)
    return kept, added if kept else 0.0


@in_place
def clear_groups(
    stand: Seating, costs: CellCosts, shape: Shape, terms: Terms, desk: Workbench, site: Site, hot: float, cold: float,
    work: int,
    dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """Steps until the work is done, from hot to cold; what they changed of the total cost (I3)."""
    changed = 0.0
    desk.number[2] = 0
    while desk.number[2] < work:
        heat = hot * (cold / hot) ** (desk.number[2] / work)
        desk.number[2] += 20
        p = costly_piece(stand, dice)
        if p >= 0:
            g, found = stand.home[p], look_around(stand, costs, desk, site, stand.unit[p], stand.home[p], dice)
            for _ in range(STEPS):
                kept, added = clear_and_open(stand, costs, shape, terms, desk, site, g, found, heat, dice)
                changed += added
                if kept:
                    break  # those near it may be gone
    return changed
