"""Neighbourhoods: a costly group and the groups near it, taken apart and put together again more cheaply.

Many neighbourhoods are worked on in one call, none sharing a group with another, so that each proposal can be judged by the
models and accepted by itself.

Notation
    entry       ``records[e]`` records of unit ``unit[e]``; group g has entries ``first[g]:first[g + 1]``
    order       groups in an order in which similar ones are near; only a window of it is searched for neighbours
    proposal    ``gone[g]`` names the proposal that replaces group g (−1: none); new entries name theirs through their group

Invariants
    I1  A proposal places exactly the records of the groups it replaces, all of one region, at a lower cost.
    I2  A group belongs to at most one proposal.

Cost: per neighbourhood one scan of the window and some passes over the pool.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.kernels.cell_costs import CellCosts, beyond_tables, cell_cost, in_place
from sfumato.methods.recoding.kernels.draft import Draft, Offer, Pool, clear, copy, put, total_cost
from sfumato.methods.recoding.kernels.rebuild import TINY, construct, polish, random_below, sound

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
    """Fill `near` with the seed and its nearest free groups: a cheap union, and by `lean` much to save in the neighbour."""
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
    """Pool the units of the chosen groups and draft the groups as they are; how many groups fitted, and how many units."""
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
    """Write a draft down as a proposal; whether there was room."""
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
    state: State, costs: CellCosts, wanted: Offer, chosen: IntArray, found: int, pool: Pool, drafts: tuple[Draft, Draft, Draft],
    left: IntArray, dice: NDArray[np.uint64],
) -> tuple[float, int, int, int]:  # fmt: skip
    """Leave in the first draft the best arrangement found of the chosen groups; the gain, the groups and units it is about,
    and how much work it was."""
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
