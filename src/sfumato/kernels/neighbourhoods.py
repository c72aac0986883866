"""Neighbourhoods: a costly group and the groups near it, taken apart and put together again more cheaply.

Many neighbourhoods are worked on in one call, none sharing a group with another, so that each proposal can be judged by the
models and accepted by itself.

Notation
    entry       ``count[e]`` records of unit ``unit[e]``; group g has entries ``first[g]:first[g + 1]``
    order       groups in an order in which similar ones are near; only a window of it is searched for neighbours
    proposal    ``gone[g]`` names the proposal that replaces group g (−1: none); new entries name theirs through their group

Invariants
    I1  A proposal places exactly the records of the groups it replaces, all of one region, at a lower cost.
    I2  A group belongs to at most one proposal.

Cost: per neighbourhood one scan of the window and some passes over the pool.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import jit
from sfumato.kernels.cell_costs import CellCosts, cell_cost
from sfumato.kernels.draft import Draft, Pool, Wanted, clear, copy, put, total_cost
from sfumato.kernels.rebuild import TINY, construct, polish, random_below, sound

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class State(NamedTuple):
    """The groups as they are."""

    code: NDArray[np.int32]
    """Leaf codes of each unit."""
    tag: NDArray[np.int32]
    """Hidden values of each unit."""
    unit: IntArray
    count: IntArray
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
    count: IntArray
    group: IntArray
    proposal: IntArray
    gone: IntArray
    used: IntArray
    """Numbers of entries, new groups, proposals so far."""


@jit
def extents(state: State, costs: CellCosts) -> None:
    """Fill in sizes, extents and costs of all groups from their entries."""
    columns = state.code.shape[1]
    for g in range(len(state.size)):
        state.size[g], state.cost[g] = 0, 0.0
        for e in range(state.first[g], state.first[g + 1]):
            state.size[g] += state.count[e]
        for c in range(columns):
            lo, last = np.int32(2147483647), np.int32(-1)
            for e in range(state.first[g], state.first[g + 1]):
                code = state.code[state.unit[e], c]
                lo, last = min(lo, code), max(last, code)
            state.lo[g, c], state.last[g, c] = lo, last
            state.cost[g] += cell_cost(costs, c, lo, last)


@jit
def union_cost(state: State, costs: CellCosts, a: int, b: int, bound: float) -> float:
    """The cost of one record if groups a and b were one; some number above `bound` when it is above."""
    total = 0.0
    for c in range(state.code.shape[1]):
        total += cell_cost(costs, c, min(state.lo[a, c], state.lo[b, c]), max(state.last[a, c], state.last[b, c]))
        if total > bound:
            break
    return total


@jit
def nearest_groups(
    state: State, costs: CellCosts, gone: IntArray, seed: int, window: int, lean: float, chosen: IntArray, far: FloatArray
) -> int:
    """Fill `chosen` with the seed and its nearest free groups: a cheap union, and by `lean` much to save in the neighbour."""
    chosen[0], found = seed, 1
    far[0] = -1.0
    begin = max(0, state.place[seed] - window // 2)
    for i in range(begin, min(len(state.order), begin + window)):
        g = state.order[i]
        if g == seed or gone[g] >= 0 or state.region[g] != state.region[seed]:
            continue
        bound = (far[found - 1] if found == len(chosen) else np.inf) + lean * state.cost[g]
        distance = union_cost(state, costs, seed, g, bound) - lean * state.cost[g]
        if found == len(chosen) and distance >= far[found - 1]:
            continue
        at = found if found < len(chosen) else found - 1
        while at > 1 and far[at - 1] > distance:
            chosen[at], far[at] = chosen[at - 1], far[at - 1]
            at -= 1
        chosen[at], far[at] = g, distance
        found = min(found + 1, len(chosen))
    return found


@jit
def gather(state: State, costs: CellCosts, chosen: IntArray, found: int, pool: Pool, draft: Draft) -> tuple[int, int]:
    """Pool the units of the chosen groups and draft the groups as they are; how many groups fitted, and how many units."""
    draft_units = 0
    clear(draft, len(pool.count))
    for i in range(found):
        g = chosen[i]
        if draft_units + state.first[g + 1] - state.first[g] > len(pool.count):
            return i, draft_units
        draft.number[0] += 1
        for e in range(state.first[g], state.first[g + 1]):
            v = 0
            while v < draft_units and pool.unit[v] != state.unit[e]:
                v += 1
            if v == draft_units:
                draft_units += 1
                pool.unit[v], pool.count[v], pool.price[v] = state.unit[e], 0, 0.0
                pool.code[v] = state.code[state.unit[e]]
                pool.tag[v] = state.tag[state.unit[e]]
            pool.price[v] = (pool.price[v] * pool.count[v] + state.cost[g] * state.count[e]) / (pool.count[v] + state.count[e])
            pool.count[v] += state.count[e]
            put(costs, pool, draft, i, v, state.count[e])
    return found, draft_units


@jit
def room_for_one(draft: Draft) -> None:
    """An empty group, where units that can stand alone may go."""
    if draft.number[0] < len(draft.size):
        draft.number[0] += 1


@jit
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
                out.unit[entries], out.count[entries], out.group[entries] = pool.unit[v], draft.held[g, v], groups
                entries += 1
        out.proposal[groups] = number
        groups += 1
    for i in range(found):
        out.gone[chosen[i]] = number  # I2
    out.used[0], out.used[1], out.used[2] = entries, groups, number + 1
    return True


@jit
def propose(
    state: State, costs: CellCosts, wanted: Wanted, seeds: IntArray, window: int, tries: int, out: Proposals, pool: Pool,
    drafts: tuple[Draft, Draft, Draft], chosen: IntArray, dice: NDArray[np.uint64],
) -> float:  # fmt: skip
    """Work on the neighbourhoods of the seeds; what all proposals save together."""
    best, trial, spare = drafts
    left = np.zeros(len(pool.count), dtype=np.int64)
    far = np.zeros(len(chosen))
    saved = 0.0
    for seed in seeds:
        if out.gone[seed] >= 0:
            continue
        reach = 2 + random_below(dice, len(chosen) - 1)
        lean = 0.5 * random_below(dice, 3)
        found = nearest_groups(state, costs, out.gone, seed, window, lean, chosen[:reach], far[:reach])
        clear(trial, len(left))
        clear(spare, len(left))
        found, units = gather(state, costs, chosen, found, pool, best)
        if found == 0:
            continue
        before = total_cost(best)
        room_for_one(best)
        polish(costs, pool, best, spare, wanted, units)
        for _ in range(tries):
            greed = 0.25 * random_below(dice, 5)
            if construct(costs, pool, trial, wanted, left, units, greed, dice) and sound(pool, trial, wanted, units):
                room_for_one(trial)
                polish(costs, pool, trial, spare, wanted, units)
                if total_cost(trial) < total_cost(best) - TINY:
                    copy(trial, best, units)
        gain = before - total_cost(best)
        if gain > 1e-7:  # I1
            if not emit(out, pool, best, chosen, found, units):
                break
            saved += gain
    return saved
