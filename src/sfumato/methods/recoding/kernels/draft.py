"""A draft: a few groups over a small pool of units, kept with their extents and costs while records are moved about.

Notation
    unit    records that are alike in everything that matters, with a count
    pool    the units of a neighbourhood: ``code[v]`` (leaves), ``tag[v]`` (hidden values), ``records[v]``, ``price[v]``
    draft   ``held[g, v]`` records of unit v in group g; ``lo, last`` extents; ``cost`` of one record; ``number[0]`` groups
    wanted  ``fewest`` records per group; per hidden column `kinds` different values, and when `even` no value above 1/kinds

Invariants
    I1  ``size[g]`` is the sum of ``held[g]``; extents are those of the units held; a group of size 0 has cost 0.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.kernels.cell_costs import CellCosts, cell_cost, in_place


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
    """Room for counting tags; all zero between calls."""


def new_pool(units: int, columns: int, tags: int) -> Pool:
    """Room for a neighbourhood."""
    return Pool(
        np.zeros((units, columns), np.int32), np.zeros((units, tags), np.int32), np.zeros(units, np.int64),
        np.zeros(units), np.zeros(units, np.int64),
    )  # fmt: skip


def new_draft(groups: int, units: int, columns: int) -> Draft:
    """Room for a draft."""
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
