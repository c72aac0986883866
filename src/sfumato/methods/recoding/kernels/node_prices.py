"""What the records below generalized tuples can gain by being published there, at given prices: the inner step of the price bound.

Every record of unit i carries a price u[i]; publishing it at node t costs c[t]. The *gain* of a node is the largest total of
u − c over sets of records below it that a release may publish there: at least `least` records, showing at least `kinds` different
tags. All numbers are integers, so gains are exact. Records with u > c all take part; when they are too few or too alike, the best
others of new tags are added, and then the best others of any kind.

Invariants
    I1  No admissible set of records below a node totals more than its gain: among the records that must be added, those of the
        best-priced new tags and then the best-priced remaining ones are taken, and every exchange would lower the total.
    I2  A node is skipped only when it would not gain even if everybody who must be added had the best price among the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray

NOTHING = np.int64(-(1 << 62))
"""The gain of a node that no admissible set of records fits into."""


@jit
def _offer(
    price: IntArray, room: IntArray, who: IntArray, used: int, total: int, need: int, u: int, count: int, unit: int
) -> tuple[int, int]:
    """Put a unit into a list of the best offers, sorted by falling price, as short as it can be to hold `need` records.

    Returns how many offers the list has, and how many records (`used` and `total` before).
    """  # fmt: skip
    if total >= need and (used == 0 or u <= price[used - 1]):
        return used, total
    slot = used
    while slot > 0 and price[slot - 1] < u:
        price[slot], room[slot], who[slot] = price[slot - 1], room[slot - 1], who[slot - 1]
        slot -= 1
    price[slot], room[slot], who[slot] = u, count, unit
    used += 1
    total += count
    while used > 0 and total - room[used - 1] >= need:
        total -= room[used - 1]
        used -= 1
    return used, total


class Scratch(NamedTuple):
    """Room to work in: marks per tag, and two lists of offers (price, records, unit)."""

    shown: IntArray
    """The last node that showed each tag."""
    best: IntArray
    """The best unit of each tag that is new to a node, plus one."""
    met: IntArray
    varied: IntArray
    """Representatives of new tags: three rows of an offer list."""
    filling: IntArray


@jit
def _hot(entries: NDArray[np.int32], c: int, count: IntArray, u: IntArray) -> tuple[int, int, int]:
    """Records priced above the cost of the node, what they total, and the best price of the others, at least 0."""
    records, value, next_best = 0, 0, 0
    for unit in entries:
        price = u[unit]
        if price > c:
            records += count[unit]
            value += count[unit] * (price - c)
        elif price > next_best:
            next_best = price
    return records, value, next_best


@jit
def _various(entries: NDArray[np.int32], c: int, node: int, tag: IntArray, u: IntArray, shown: IntArray) -> int:
    """How many tags the records show that are priced above the cost of the node."""
    various = 0
    for unit in entries:
        if u[unit] > c and shown[tag[unit]] != node:
            shown[tag[unit]] = node
            various += 1
    return various


@jit
def _representatives(entries: NDArray[np.int32], node: int, wanted: int, tag: IntArray, u: IntArray, work: Scratch) -> int:
    """The best units of the best `wanted` tags that the node does not show yet; fewer when there are no more."""
    fresh = 0
    for unit in entries:
        if work.shown[tag[unit]] == node:
            continue
        if work.best[tag[unit]] == 0:
            work.met[fresh] = tag[unit]
            fresh += 1
            work.best[tag[unit]] = unit + 1
        elif u[unit] > u[work.best[tag[unit]] - 1]:
            work.best[tag[unit]] = unit + 1
    used, total = 0, 0
    for i in range(fresh):
        unit = work.best[work.met[i]] - 1
        work.best[work.met[i]] = 0
        used, total = _offer(work.varied[0], work.varied[1], work.varied[2], used, total, wanted, u[unit], 1, unit)
    return used


@jit
def _fill(entries: NDArray[np.int32], c: int, need: int, reps: int, count: IntArray, u: IntArray, work: Scratch) -> int:
    """The best `need` records besides those that take part already, as offers; −1 when there are too few."""
    price, room, who = work.filling[0], work.filling[1], work.filling[2]
    used, total, available = 0, 0, 0
    for unit in entries:
        if u[unit] <= c:
            left = count[unit]
            for i in range(reps):
                if work.varied[2, i] == unit:
                    left -= 1
            available += left
            if left > 0:
                used, total = _offer(price, room, who, used, total, need, u[unit], left, unit)
    if available < need:
        return -1
    for i in range(used):
        room[i] = min(need, room[i])
        need -= room[i]
    return used


@jit
def node_gains(
    start: IntArray,
    member: NDArray[np.int32],
    cost: IntArray,
    count: IntArray,
    tag: IntArray,
    u: IntArray,
    toll: IntArray,
    least: int,
    kinds: int,
    full: bool,
    gain: IntArray,
    taken: IntArray,
) -> int:
    """Fill `gain` with the gain of every node and return the total of the positive ones.

    Every node pays its `toll` off its gain. `taken` grows by the records that nodes of positive gain take of each unit. Unless
    `full`, nodes that cannot gain are skipped, with a gain of 0.
    """  # fmt: skip
    tags = tag.max() + 1 if len(tag) else 0
    offers = np.zeros((3, kinds + 2), np.int64), np.zeros((3, least + 2), np.int64)
    work = Scratch(np.full(tags, -1, np.int64), np.zeros(tags, np.int64), np.zeros(tags, np.int64), offers[0], offers[1])
    total = 0
    for node in range(len(cost)):
        c, entries = cost[node], member[start[node] : start[node + 1]]
        gain[node] = 0
        hot, value, next_best = _hot(entries, c, count, u)
        missing = max(least - hot, 0)
        if not full and (hot == 0 or value + missing * (next_best - c) <= toll[node]):  # I2
            continue
        various = _various(entries, c, node, tag, u, work.shown) if kinds > 1 else min(hot, 1)
        reps = _representatives(entries, node, kinds - various, tag, u, work) if various < kinds else 0  # I1
        need = least - hot - reps
        used = _fill(entries, c, need, reps, count, u, work) if need > 0 else 0
        if used < 0 or reps < kinds - various:
            gain[node] = NOTHING
            continue
        for i in range(reps):
            value += work.varied[0, i] - c
        for i in range(used):
            value += work.filling[1, i] * (work.filling[0, i] - c)
        gain[node] = value - toll[node]
        if gain[node] > 0:
            total += gain[node]
            _take(entries, c, reps, used, count, u, work, taken)
    return total


@jit
def _take(
    entries: NDArray[np.int32], c: int, reps: int, used: int, count: IntArray, u: IntArray, work: Scratch, taken: IntArray
) -> None:
    """Note the records that take part."""
    for unit in entries:
        if u[unit] > c:
            taken[unit] += count[unit]
    for i in range(reps):
        taken[work.varied[2, i]] += 1
    for i in range(used):
        taken[work.filling[2, i]] += work.filling[1, i]


def plain_node_gains(
    start: IntArray,
    member: NDArray[np.int32],
    cost: IntArray,
    count: IntArray,
    tag: IntArray,
    u: IntArray,
    toll: IntArray,
    least: int,
    kinds: int,
) -> list[int]:
    """The gain of every node, record by record."""  # fmt: skip
    gains = []
    for node in range(len(cost)):
        units = member[start[node] : start[node + 1]].tolist()
        records = sorted(((int(u[i] - cost[node]), int(tag[i])) for i in units for _ in range(int(count[i]))), reverse=True)
        chosen = [record for record in records if record[0] > 0]
        rest = [record for record in records if record[0] <= 0]
        while len({tag for _, tag in chosen}) < kinds and rest:
            fresh = [record for record in rest if record[1] not in {tag for _, tag in chosen}]
            if not fresh:
                break
            chosen.append(fresh[0])
            rest.remove(fresh[0])
        missing = max(least - len(chosen), 0)
        chosen += rest[:missing]
        fits = len(chosen) >= least and len({tag for _, tag in chosen}) >= kinds
        gains.append(sum(value for value, _ in chosen) - int(toll[node]) if fits else int(NOTHING))
    return gains
