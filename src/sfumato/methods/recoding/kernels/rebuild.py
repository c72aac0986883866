"""Rebuilding a draft: grow groups anew around random units, or improve the groups there are, record by record.

Invariants
    I1  Every record of the pool stays in exactly one group.
    I2  A step is kept only when it lowers the total cost and leaves no group lacking that was not lacking before.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.methods.recoding.kernels.cell_costs import CellCosts, beyond_tables, in_place
from sfumato.methods.recoding.kernels.draft import Draft, Offer, Pool, clear, copy, cost_without, lacking, put, take, total_cost

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
def best_home(costs: CellCosts, pool: Pool, draft: Draft, wanted: Offer, v: int, records: int, apart: int) -> tuple[int, float]:
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
    """Whether emptying group a could save: its units, sent away one by one, would not cost half as much again as now."""
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
    """Whether records of unit v still leave room for the variety that group g has to reach."""
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
    """Add to group g the records that raise the cost least, each worth `greed` times its present price, until it offers enough."""
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
