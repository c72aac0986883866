"""What the records below generalized tuples can gain by being published there, at given prices: the inner step of the price bound.

Every record of unit i carries a price u[i]; publishing it at node t costs c[t]. The *gain* of a node is the largest total of
u − c over sets of records below it that a release may publish there: at least `least` records, showing at least `kinds` different
tags. All numbers are integers, so gains are exact. Records with u > c all take part; when they are too few or too alike, the best
others of new tags are added, and then the best others of any kind.

Invariants
    I1  No admissible set of records below a node totals more than its gain: among the records that must be added, those of the
        best-priced new tags and then the best-priced remaining ones are taken, and every exchange would lower the total.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import jit

IntArray = NDArray[np.int64]
NOTHING = np.int64(-(1 << 62))
"""The gain of a node that no admissible set of records fits into."""


@jit
def _offer(price: IntArray, room: IntArray, who: IntArray, used: int, need: int, u: int, count: int, unit: int) -> int:
    """Put a unit into a list of the best offers, sorted by falling price, as short as it can be to hold `need` records."""
    total = 0
    for slot in range(used):
        total += room[slot]
    if total >= need and (used == 0 or u <= price[used - 1]):
        return used
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
    return used


@jit
def node_gains(
    start: IntArray, member: NDArray[np.int32], cost: IntArray, count: IntArray, tag: IntArray, u: IntArray,
    least: int, kinds: int, full: bool, gain: IntArray, taken: IntArray,
) -> int:
    """Fill `gain` with the gain of every node and return the total of the positive ones.

    `taken` grows by the records that nodes of positive gain take of each unit. Unless `full`, nodes where nobody would gain are
    skipped, with a gain of 0.
    """  # fmt: skip
    tags = 0
    for unit in range(len(tag)):
        tags = max(tags, tag[unit] + 1)
    shown = np.full(tags, -1, dtype=np.int64)
    best = np.zeros(tags, dtype=np.int64)
    price, room, who = np.zeros(least + kinds + 2, np.int64), np.zeros(least + kinds + 2, np.int64), np.zeros(least + kinds + 2, np.int64)
    rep_price, rep_room, rep_who = np.zeros(kinds + 2, np.int64), np.zeros(kinds + 2, np.int64), np.zeros(kinds + 2, np.int64)
    met = np.zeros(tags, dtype=np.int64)
    total = 0
    for node in range(len(cost)):
        c, first, last = cost[node], start[node], start[node + 1]
        gain[node] = 0
        hot, value, various = 0, 0, 0
        for entry in range(first, last):
            unit = member[entry]
            if u[unit] > c:
                hot += count[unit]
                value += count[unit] * (u[unit] - c)
                if shown[tag[unit]] != node:
                    shown[tag[unit]] = node
                    various += 1
        if hot == 0 and not full:
            continue
        reps, used = 0, 0
        if various < kinds:
            fresh = 0
            for entry in range(first, last):
                unit = member[entry]
                if shown[tag[unit]] == node:
                    continue
                if best[tag[unit]] == 0:
                    best[tag[unit]] = unit + 1
                    met[fresh] = tag[unit]
                    fresh += 1
                elif u[unit] > u[best[tag[unit]] - 1]:
                    best[tag[unit]] = unit + 1
            for i in range(fresh):
                unit = best[met[i]] - 1
                best[met[i]] = 0
                reps = _offer(rep_price, rep_room, rep_who, reps, kinds - various, u[unit], 1, unit)
            if reps < kinds - various:
                gain[node] = NOTHING
                continue
            for i in range(reps):
                value += rep_price[i] - c
        need = least - hot - reps
        if need > 0:
            available = 0
            for entry in range(first, last):
                unit = member[entry]
                if u[unit] <= c:
                    left = count[unit]
                    for i in range(reps):
                        if rep_who[i] == unit:
                            left -= 1
                    available += left
                    if left > 0:
                        used = _offer(price, room, who, used, need, u[unit], left, unit)
            if available < need:
                gain[node] = NOTHING
                continue
            for i in range(used):
                take = min(need, room[i])
                value += take * (price[i] - c)
                room[i] = take
                need -= take
        gain[node] = value
        if value > 0:
            total += value
            for entry in range(first, last):
                unit = member[entry]
                if u[unit] > c:
                    taken[unit] += count[unit]
            for i in range(reps):
                taken[rep_who[i]] += 1
            for i in range(used):
                taken[who[i]] += room[i]
    return total


def node_gains_plainly(
    start: IntArray, member: NDArray[np.int32], cost: IntArray, count: IntArray, tag: IntArray, u: IntArray,
    least: int, kinds: int,
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
        gains.append(sum(value for value, _ in chosen) if fits else int(NOTHING))
    return gains
