"""Neighbourhoods: a costly group and the groups near it, taken apart and put together again more cheaply.

Many neighbourhoods are worked on in one call, none sharing a group with another, so that each proposal can be judged by
the models and accepted by itself.

Notation
    entry       ``records[e]`` records of unit ``unit[e]``; group g has entries ``first[g]:first[g + 1]``
    order       groups in an order in which similar ones are near; only a window of it is searched for neighbours
    proposal    ``gone[g]`` names the proposal that replaces group g (−1: none); new entries name theirs through their
                group

Invariants
    I1  A proposal places exactly the records of the groups it replaces, all of one region, at a lower cost.
    I2  A group belongs to at most one proposal.

Cost: per neighbourhood one scan of the window and some passes over the pool.


Rebuild
-------
Rebuilding a draft: grow groups anew around random units, or improve the groups there are, record by record.

Invariants
    I1  Every record of the pool stays in exactly one group.
    I2  A step is kept only when it lowers the total cost and leaves no group lacking that was not lacking before.


Draft
-----
A draft: a few groups over a small pool of units, kept with their extents and costs while records are moved about.

Notation
    unit    records that are alike in everything that matters, with a count
    pool    the units of a neighbourhood: ``code[v]`` (leaves), ``tag[v]`` (sensitive values), ``records[v]``,
    ``price[v]``
    draft   ``held[g, v]`` records of unit v in group g; ``lo, last`` extents; ``cost`` of one record; ``number[0]``
            groups
    wanted  ``fewest`` records per group; per sensitive column `kinds` different values, and when `even` no value above
            1/kinds

Invariants
    I1  ``size[g]`` is the sum of ``held[g]``; extents are those of the units held; a group of size 0 has cost 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts, beyond_tables, cell_cost, in_place

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


LIMIT = 1.15
"""An arrangement grown anew is worth polishing up to this many times the present cost."""


class State(NamedTuple):
    """The groups as they are."""

    code: NDArray[np.int32]
    """Leaf codes of each unit."""
    tag: NDArray[np.int32]
    """Hidden values of each unit."""
    unit: IntArray
    records: IntArray
    first: IntArray
    size: IntArray
    lo: NDArray[np.int32]
    last: NDArray[np.int32]
    cost: FloatArray
    region: IntArray
    order: IntArray
    place: IntArray


class Proposals(NamedTuple):
    """New entries, the proposal of each new group, and which old groups are gone."""

    unit: IntArray
    records: IntArray
    group: IntArray
    proposal: IntArray
    gone: IntArray
    used: IntArray
    """Numbers of entries, new groups, proposals so far, and the work done (comparisons, roughly)."""


@in_place
def extents(state: State, costs: CellCosts) -> None:
    """Fill in sizes, extents and costs of all groups from their entries."""
    columns = state.code.shape[1]
    for g in range(len(state.size)):
        state.size[g], state.cost[g] = 0, 0.0
        for e in range(state.first[g], state.first[g + 1]):
            state.size[g] += state.records[e]
        for c in range(columns):
            lo, last = np.int32(2147483647), np.int32(-1)
            for e in range(state.first[g], state.first[g + 1]):
                code = state.code[state.unit[e], c]
                lo, last = min(lo, code), max(last, code)
            state.lo[g, c], state.last[g, c] = lo, last
            state.cost[g] += cell_cost(costs, c, lo, last)


@in_place
def nearest_groups(
    state: State, costs: CellCosts, gone: IntArray, seed: int, window: int, lean: float, near: IntArray, far: FloatArray
) -> int:
    """Fill `near` with the seed and its nearest free groups: a cheap union, and by `lean` much to save in the
    neighbour."""
    tables, start, size, values = costs.tables, costs.start, costs.size, costs.values
    lo, last, cost, region, order = state.lo, state.last, state.cost, state.region, state.order
    near[0], found, most = seed, 1, len(near)
    far[0] = -np.inf
    begin = max(0, state.place[seed] - window // 2)
    for i in range(begin, min(len(order), begin + window)):
        g = order[i]
        if g == seed or gone[g] >= 0 or region[g] != region[seed]:
            continue
        bound = (far[found - 1] if found == most else np.inf) + lean * cost[g]
        each = 0.0
        for c in range(tables):
            each += values[start[c] + min(lo[seed, c], lo[g, c]) * size[c] + max(last[seed, c], last[g, c])]
            if each > bound:
                break
        if tables < lo.shape[1]:
            each += beyond_tables(costs, lo, last, seed, lo, last, g)
        distance = each - lean * cost[g]
        if found == most and distance >= far[found - 1]:
            continue
        found = min(found + 1, most)
        at = found - 1
        while far[at - 1] > distance:
            near[at], far[at] = near[at - 1], far[at - 1]
            at -= 1
        near[at], far[at] = g, distance
    return found


@in_place
def gather(state: State, costs: CellCosts, chosen: IntArray, found: int, pool: Pool, draft: Draft) -> tuple[int, int]:
    """Pool the units of the chosen groups and draft the groups as they are; how many groups fitted, and how many
    units."""
    draft_units = 0
    clear(draft, len(pool.records))
    for i in range(found):
        g = chosen[i]
        if draft_units + state.first[g + 1] - state.first[g] > len(pool.records):
            return i, draft_units
        draft.number[0] += 1
        for e in range(state.first[g], state.first[g + 1]):
            v = 0
            while v < draft_units and pool.unit[v] != state.unit[e]:
                v += 1
            if v == draft_units:
                draft_units += 1
                pool.unit[v], pool.records[v], pool.price[v] = state.unit[e], 0, 0.0
                for c in range(pool.code.shape[1]):
                    pool.code[v, c] = state.code[state.unit[e], c]
                for h in range(pool.tag.shape[1]):
                    pool.tag[v, h] = state.tag[state.unit[e], h]
            before = pool.price[v] * pool.records[v]
            pool.records[v] += state.records[e]
            pool.price[v] = (before + state.cost[g] * state.records[e]) / pool.records[v]
            put(costs, pool, draft, i, v, state.records[e])
    return found, draft_units


@in_place
def room_for_one(draft: Draft) -> None:
    """An empty group, where units that can stand alone may go."""
    if draft.number[0] < len(draft.size):
        draft.number[0] += 1


@in_place
def emit(out: Proposals, pool: Pool, draft: Draft, chosen: IntArray, found: int, units: int) -> bool:
    """Write a draft down as a proposal; return whether it could be stored."""
    entries, groups, number = out.used[0], out.used[1], out.used[2]
    for g in range(draft.number[0]):
        if draft.size[g] == 0:
            continue
        if groups == len(out.proposal):
            return False
        for v in range(units):
            if draft.held[g, v] > 0:
                if entries == len(out.unit):
                    return False
                out.unit[entries], out.records[entries], out.group[entries] = pool.unit[v], draft.held[g, v], groups
                entries += 1
        out.proposal[groups] = number
        groups += 1
    for i in range(found):
        out.gone[chosen[i]] = number  # I2
    out.used[0], out.used[1], out.used[2] = entries, groups, number + 1
    return True


@in_place
def some_of(near: IntArray, found: int, wanted: int, chosen: IntArray, dice: NDArray[np.uint64]) -> int:
    """Choose the first of `near` and random others, the nearer the likelier; how many."""
    chosen[0], number = near[0], 1
    for _ in range(2 * wanted):
        if number >= min(wanted, found):
            break
        g = near[1 + min(random_below(dice, found - 1), random_below(dice, found - 1))]
        fresh = True
        for i in range(number):
            fresh = fresh and chosen[i] != g
        if fresh:
            chosen[number] = g
            number += 1
    return number


@in_place
def improve(
    state: State, costs: CellCosts, wanted: Offer, chosen: IntArray, found: int, pool: Pool, drafts: tuple[Draft, Draft,
    Draft],
    left: IntArray, dice: NDArray[np.uint64],
) -> tuple[float, int, int, int]:  # fmt: skip
    """Leave in the first draft the best arrangement found of the chosen groups; the gain, the groups and units it is
    about, and how much work it was."""
    best, trial, spare = drafts
    clear(trial, len(left))
    clear(spare, len(left))
    found, units = gather(state, costs, chosen, found, pool, best)
    if found == 0:
        return 0.0, 0, 0, 0
    before = total_cost(best)
    room_for_one(best)
    work = polish(costs, pool, best, spare, wanted, units) + units * units // 2
    greed = 0.25 * random_below(dice, 5)
    limit = LIMIT * total_cost(best)
    if construct(costs, pool, trial, wanted, left, units, greed, limit, dice) and sound(pool, trial, wanted, units):
        room_for_one(trial)
        work += polish(costs, pool, trial, spare, wanted, units)
        if total_cost(trial) < total_cost(best) - TINY:
            copy(trial, best, units)
    return before - total_cost(best), found, units, work


@in_place
def propose(
    state: State, costs: CellCosts, wanted: Offer, seeds: IntArray, window: int, tries: int, out: Proposals, pool: Pool,
    drafts: tuple[Draft, Draft, Draft], near: IntArray, far: FloatArray, chosen: IntArray, left: IntArray,
    dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """Work on the neighbourhoods of the seeds; what all proposals save together."""
    reach = len(chosen)
    saved = 0.0
    for seed in seeds:
        if out.gone[seed] >= 0:
            continue
        lean = 0.5 * random_below(dice, 3)
        close = nearest_groups(state, costs, out.gone, seed, window, lean, near, far)
        out.used[3] += min(window, len(state.order))
        for _ in range(tries):
            found = some_of(near, close, 2 + random_below(dice, reach - 1), chosen, dice)
            gain, found, units, work = improve(state, costs, wanted, chosen, found, pool, drafts, left, dice)
            out.used[3] += work
            if gain > 1e-7:  # I1
                if not emit(out, pool, drafts[0], chosen, found, units):
                    return saved
                saved += gain
                break
    return saved


# Rebuild
# -------


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


TINY = 1e-9


@in_place
def random_below(dice: NDArray[np.uint64], n: int) -> int:
    """A number in ``0 … n − 1`` from a small generator whose state is ``dice[0]``."""
    x = dice[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    dice[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(n))


@in_place
def best_home(
    costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, v: int, records: int, apart: int
) -> tuple[int, float]:
    """The group, other than `apart`, whose total grows least by these records; an empty one only when they suffice."""
    tables, start, size, values = costs.tables, costs.start, costs.size, costs.values
    lo, last, members, cost, code = draft.lo, draft.last, draft.size, draft.cost, pool.code
    home, least = -1, np.inf
    for g in range(draft.number[0]):
        if g == apart or (members[g] == 0 and records < wanted.fewest):
            continue
        already = members[g] * cost[g]
        bound = (least + already) / (members[g] + records)
        each = 0.0
        for c in range(tables):
            x = code[v, c]
            low, high = (x, x) if members[g] == 0 else (min(lo[g, c], x), max(last[g, c], x))
            each += values[start[c] + low * size[c] + high]
            if each > bound:
                break
        if tables < code.shape[1] and members[g] == 0:
            each += beyond_tables(costs, code, code, v, code, code, v)
        elif tables < code.shape[1]:
            each += beyond_tables(costs, lo, last, g, code, code, v)
        growth = (members[g] + records) * each - already
        if growth < least:
            home, least = g, growth
    return home, least


@in_place
def relocate(costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, units: int) -> bool:
    """Move a unit, or the surplus of its group, to where it costs less; whether anything moved."""
    moved = False
    for a in range(draft.number[0]):
        for v in range(units):
            records = draft.held[a, v]
            if 0 < draft.size[a] - records < wanted.fewest:
                records = draft.size[a] - wanted.fewest
            if records <= 0:
                continue
            whole = records == draft.held[a, v]
            after = cost_without(costs, pool, draft, a, v, units) if whole else draft.cost[a]
            saved = draft.size[a] * draft.cost[a] - (draft.size[a] - records) * after
            if saved <= TINY:
                continue
            b, growth = best_home(costs, pool, draft, wanted, v, records, a)
            if b >= 0 and growth < saved - TINY:
                take(costs, pool, draft, a, v, records, units)
                put(costs, pool, draft, b, v, records)
                if lacking(pool, draft, wanted, a, units) or lacking(pool, draft, wanted, b, units):  # I2
                    take(costs, pool, draft, b, v, records, units)
                    put(costs, pool, draft, a, v, records)
                else:
                    moved = True
    return moved


@in_place
def empty_out(costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, a: int, units: int) -> bool:
    """Send all records of group a to other groups; whether all found one."""
    for v in range(units):
        records = draft.held[a, v]
        if records > 0:
            b, _ = best_home(costs, pool, draft, wanted, v, records, a)
            if b < 0:
                return False
            take(costs, pool, draft, a, v, records, units)
            put(costs, pool, draft, b, v, records)
    return True


@in_place
def worth_a_try(costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, a: int, units: int) -> bool:
    """Whether emptying group a could save: its units, sent away one by one, would not cost half as much again as
    now."""
    allowed = 1.5 * draft.size[a] * draft.cost[a]
    for v in range(units):
        if draft.held[a, v] > 0:
            allowed -= best_home(costs, pool, draft, wanted, v, draft.held[a, v], a)[1]
            if allowed < 0.0:
                return False
    return True


@in_place
def dissolve(costs: CellCosts, pool: Pool, draft: Draft, spare: Draft, wanted: Offer, units: int) -> bool:
    """Empty groups out where that saves; whether any was."""
    moved = False
    for a in range(draft.number[0]):
        if draft.size[a] == 0 or draft.cost[a] <= TINY or not worth_a_try(costs, pool, draft, wanted, a, units):
            continue
        before = total_cost(draft)
        copy(draft, spare, units)
        emptied = empty_out(costs, pool, draft, wanted, a, units) and total_cost(draft) < before - TINY
        if emptied and sound(pool, draft, wanted, units):
            moved = True
        else:
            copy(spare, draft, units)
    return moved


@in_place
def polish(costs: CellCosts, pool: Pool, draft: Draft, spare: Draft, wanted: Offer, units: int) -> int:
    """Relocate and dissolve until neither helps; how much work that was."""
    turns = 0
    for _ in range(20):
        turns += 1
        moved = relocate(costs, pool, draft, wanted, units)
        if not dissolve(costs, pool, draft, spare, wanted, units) and not moved:
            break
    return turns * units * draft.number[0]


@in_place
def some_seed(left: NDArray[np.int64], units: int, below: int, dice: NDArray[np.uint64]) -> int:
    """A random unit with records left, but fewer than `below`; −1 when there is none."""
    start = random_below(dice, units)
    for i in range(units):
        v = (start + i) % units
        if 0 < left[v] < below:
            return v
    return -1


@in_place
def helping(left: int, size: int, fewest: int) -> int:
    """How many records of a unit a growing group takes: what it needs, or all when the rest could not stand alone."""
    need = max(fewest - size, 1)
    return need if left - need >= fewest else left


@in_place
def welcome(pool: Pool, draft: Draft, wanted: Offer, g: int, v: int, records: int, units: int) -> bool:
    """Return whether adding records of unit v still allows group g to reach its diversity."""
    for h in range(len(wanted.kinds)):
        same, kinds = 0, 0
        for u in range(units):
            if draft.held[g, u] > 0:
                kinds += wanted.tally[pool.tag[u, h]] == 0
                wanted.tally[pool.tag[u, h]] = 1
                if pool.tag[u, h] == pool.tag[v, h]:
                    same += draft.held[g, u]
        for u in range(units):
            wanted.tally[pool.tag[u, h]] = 0
        if wanted.even[h] and (same + records) * wanted.kinds[h] > max(draft.size[g] + records, wanted.fewest):
            return False
        if same > 0 and 0 < wanted.kinds[h] - kinds >= wanted.fewest - draft.size[g]:
            return False
    return True


@in_place
def grow(
    costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, left: NDArray[np.int64], g: int, units: int, greed: float
) -> bool:
    """Add to group g the records that raise the cost least, each worth `greed` times its present price, until it offers
    enough."""
    tables, start, size, values = costs.tables, costs.start, costs.size, costs.values
    lo, last, code, price, fewest = draft.lo, draft.last, pool.code, pool.price, wanted.fewest
    while lacking(pool, draft, wanted, g, units):
        members, already = draft.size[g], draft.size[g] * draft.cost[g]
        chosen, least = -1, np.inf
        for v in range(units):
            if left[v] <= 0:
                continue
            records = helping(left[v], members, fewest)
            worth = greed * price[v]
            bound = ((least + worth) * records + already) / (members + records)
            each = 0.0
            for c in range(tables):
                each += values[start[c] + min(lo[g, c], code[v, c]) * size[c] + max(last[g, c], code[v, c])]
                if each > bound:
                    break
            if tables < code.shape[1]:
                each += beyond_tables(costs, lo, last, g, code, code, v)
            score = ((members + records) * each - already) / records - worth
            if score < least and welcome(pool, draft, wanted, g, v, records, units):
                chosen, least = v, score
        if chosen < 0:
            return False
        records = helping(left[chosen], members, fewest)
        put(costs, pool, draft, g, chosen, records)
        left[chosen] -= records
    return True


@in_place
def construct(
    costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, left: NDArray[np.int64], units: int, greed: float,
    limit: float, dice: NDArray[np.uint64],
) -> bool:  # fmt: skip
    """Group the whole pool anew; whether that succeeded at a cost within the limit."""
    spent = 0.0
    clear(draft, units)
    for v in range(units):
        left[v] = pool.records[v]
    below = wanted.fewest if len(wanted.kinds) == 0 else np.int64(1 << 60)
    while draft.number[0] < len(draft.size):
        seed = some_seed(left, units, below, dice)
        if seed < 0:
            break
        g = draft.number[0]
        draft.number[0] += 1
        put(costs, pool, draft, g, seed, left[seed])
        left[seed] = 0
        if not grow(costs, pool, draft, wanted, left, g, units, greed):
            return settle(costs, pool, draft, wanted, left, units) and empty_out(costs, pool, draft, wanted, g, units)
        spent += draft.size[g] * draft.cost[g]
        if spent > limit:
            return False
    return settle(costs, pool, draft, wanted, left, units) and total_cost(draft) <= limit


@in_place
def settle(costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, left: NDArray[np.int64], units: int) -> bool:
    """Units with enough records stand alone, others join; whether everybody found a place (I1)."""
    for v in range(units):
        if left[v] >= wanted.fewest and draft.number[0] < len(draft.size):
            put(costs, pool, draft, draft.number[0], v, left[v])
            draft.number[0] += 1
            left[v] = 0
    for v in range(units):
        if left[v] > 0:
            g, _ = best_home(costs, pool, draft, wanted, v, left[v], -1)
            if g < 0:
                return False
            put(costs, pool, draft, g, v, left[v])
            left[v] = 0
    return True


@in_place
def sound(pool: Pool, draft: Draft, wanted: Offer, units: int) -> bool:
    """Whether no group lacks anything."""
    lack = 0
    for g in range(draft.number[0]):
        lack += lacking(pool, draft, wanted, g, units)
    return lack == 0


# Draft
# -----


# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)


class Pool(NamedTuple):
    """The units of a neighbourhood."""

    code: NDArray[np.int32]
    tag: NDArray[np.int32]
    records: IntArray
    price: FloatArray
    unit: IntArray


class Draft(NamedTuple):
    """Groups over a pool."""

    held: IntArray
    size: IntArray
    lo: NDArray[np.int32]
    last: NDArray[np.int32]
    cost: FloatArray
    number: IntArray


class Offer(NamedTuple):
    """What a group should offer before the models are asked."""

    fewest: int
    kinds: IntArray
    even: NDArray[np.bool_]
    tally: IntArray
    """Working memory for counting tags; all zero between calls."""


def new_pool(units: int, columns: int, tags: int) -> Pool:
    """Allocate a neighbourhood."""
    return Pool(
        np.zeros((units, columns), np.int32), np.zeros((units, tags), np.int32), np.zeros(units, np.int64),
        np.zeros(units), np.zeros(units, np.int64),
    )  # fmt: skip


def new_draft(groups: int, units: int, columns: int) -> Draft:
    """Allocate a draft."""
    extent = (groups, columns)
    return Draft(
        np.zeros((groups, units), np.int64), np.zeros(groups, np.int64), np.zeros(extent, np.int32),
        np.zeros(extent, np.int32), np.zeros(groups), np.zeros(1, np.int64),
    )  # fmt: skip


@in_place
def cost_without(costs: CellCosts, pool: Pool, draft: Draft, g: int, v: int, units: int) -> float:
    """The cost of one record of group g once unit v has left it; 0 when nobody remains."""
    total = 0.0
    for c in range(pool.code.shape[1]):
        low, high = draft.lo[g, c], draft.last[g, c]
        if low < pool.code[v, c] < high:  # strictly inside: nothing changes here
            total += cell_cost(costs, c, low, high)
            continue
        lo, last = np.int32(2147483647), np.int32(-1)
        for u in range(units):
            if u != v and draft.held[g, u] > 0:
                lo, last = min(lo, pool.code[u, c]), max(last, pool.code[u, c])
                if lo == low and last == high:
                    break
        if last >= 0:
            total += cell_cost(costs, c, lo, last)
    return total


@in_place
def put(costs: CellCosts, pool: Pool, draft: Draft, g: int, v: int, records: int) -> None:
    """Add records of unit v to group g (I1)."""
    total = 0.0
    for c in range(pool.code.shape[1]):
        code = pool.code[v, c]
        if draft.size[g] == 0:
            draft.lo[g, c], draft.last[g, c] = code, code
        else:
            draft.lo[g, c], draft.last[g, c] = min(draft.lo[g, c], code), max(draft.last[g, c], code)
        total += cell_cost(costs, c, draft.lo[g, c], draft.last[g, c])
    draft.cost[g] = total
    draft.held[g, v] += records
    draft.size[g] += records


@in_place
def take(costs: CellCosts, pool: Pool, draft: Draft, g: int, v: int, records: int, units: int) -> None:
    """Remove records of unit v from group g (I1)."""
    draft.held[g, v] -= records
    draft.size[g] -= records
    if draft.held[g, v] > 0:
        return
    draft.cost[g] = 0.0
    for c in range(pool.code.shape[1]):
        low, high = draft.lo[g, c], draft.last[g, c]
        if low < pool.code[v, c] < high:
            draft.cost[g] += cell_cost(costs, c, low, high)
            continue
        lo, last = np.int32(2147483647), np.int32(-1)
        for u in range(units):
            if draft.held[g, u] > 0:
                lo, last = min(lo, pool.code[u, c]), max(last, pool.code[u, c])
                if lo == low and last == high:
                    break
        if last >= 0:
            draft.lo[g, c], draft.last[g, c] = lo, last
            draft.cost[g] += cell_cost(costs, c, lo, last)


@in_place
def lacking(pool: Pool, draft: Draft, wanted: Offer, g: int, units: int) -> bool:
    """Whether a group that has members offers too few records or too little variety."""
    if draft.size[g] < wanted.fewest:
        return draft.size[g] > 0
    for h in range(len(wanted.kinds)):
        kinds, largest = 0, 0
        for v in range(units):
            if draft.held[g, v] > 0:
                tag = pool.tag[v, h]
                kinds += wanted.tally[tag] == 0
                wanted.tally[tag] += draft.held[g, v]
                largest = max(largest, wanted.tally[tag])
        for v in range(units):
            wanted.tally[pool.tag[v, h]] = 0
        if kinds < wanted.kinds[h] or (wanted.even[h] and largest * wanted.kinds[h] > draft.size[g]):
            return True
    return False


@in_place
def total_cost(draft: Draft) -> float:
    """The cost of all records of a draft."""
    total = 0.0
    for g in range(draft.number[0]):
        total += draft.size[g] * draft.cost[g]
    return total


@in_place
def clear(draft: Draft, units: int) -> None:
    """A draft without groups."""
    for g in range(draft.number[0]):
        draft.size[g], draft.cost[g] = 0, 0.0
        for v in range(units):
            draft.held[g, v] = 0
    draft.number[0] = 0


@in_place
def copy(source: Draft, target: Draft, units: int) -> None:
    """Make `target` equal to `source`."""
    clear(target, units)
    n = source.number[0]
    target.number[0] = n
    for g in range(n):
        target.size[g], target.cost[g] = source.size[g], source.cost[g]
        for v in range(units):
            target.held[g, v] = source.held[g, v]
        for c in range(source.lo.shape[1]):
            target.lo[g, c], target.last[g, c] = source.lo[g, c], source.last[g, c]
