"""Blocks of alike records by exchange: two records of different blocks trade places when both blocks together gain.

`anneal` also takes exchanges that cost a little, less and less so, and gets past where `exchange` alone would stop. Its
steps come from a fixed sequence: the search is part of the public program, and what it finds depends on the items
alone.

Notation
    far[a, b] ~ distance of two records of a piece; block[r] ~ the block of record r; members[b] ~ its records, one per
    column, −1 where a block is smaller than the largest; near[b, r] ~ the sum of distances from r to the members of
    block b.
Invariants
    I1  Sizes of blocks never change; every record stays in exactly one block.
    I2  Every exchange of `exchange` lowers the sum of distances within blocks.
Cost
    Per record looked at: its nearest records x the size of a block; per exchange one pass over the piece.


Votes
-----
The published form of many small groups of sets: majority base, doubtful items, largest distance.

Row j of `members` names the original rows that published record j must be able to stand for.

Paper
    [multitype 3.5]: bit voting, distance bitmap, distance threshold.
Departures
    "Ties are resolved arbitrarily": here an item that exactly half of the group has is shown when that costs less bit
    error rate, which weighs each record by 1/size; where that ties too, so as to keep the number of rows that show the
    item close to the number of records that have it. Always dropping tied items biases every count downwards. `vote`
    may be given rates at which decisions are turned round, by item and cell: see `cells`.
Notation
    cell ~ 2·count + shown, the way a group of k has an item: by how many, and whether the majority shows it.
Cost
    One pass over the items of all groups: records x group size x items per record.


Dealing
-------
Dealing the items of a block to its rows: each item to as many rows as members have it, row sizes as even as can be.

Invariants
    I1  Item by item, as many rows have it as members do.
    I2  Looks at how many members have each item, never at which: any permutation of the members gives the same rows.
Cost
    One pass over the items of all blocks, times the size of a block.


Tours
-----
A short path through a stretch of records with both ends fixed: reversals and relocations until nothing helps.

Paper
    [multitype 3.6.1]: a heuristic for the travelling salesman inside each segment of the Gray order.
Departures
    The thesis uses a genetic algorithm; exchanging two edges (2-opt) and moving up to three records (Or-opt) is faster
    and finds shorter paths.
Cost
    O(m²) per round for m records; a handful of rounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.compiled import jit

_GAIN = 1e-5
_FIRST, _TIMES, _PLUS = 20_261_116, 6364136223846793005, 1442695040888963407
_COLD, _COOLED = 0.002, 1024


@jit
def sums_of_distances(far: NDArray[np.float32], members: IntArray) -> NDArray[np.float32]:
    """near[b, r] for every block and record."""
    near = np.zeros((members.shape[0], far.shape[0]), np.float32)
    for b in range(members.shape[0]):
        for slot in range(members.shape[1]):
            if members[b, slot] >= 0:
                near[b] += far[members[b, slot]]
    return near


@jit
def _best_trade(
    far: NDArray[np.float32], near: NDArray[np.float32], block: IntArray, members: IntArray, close: IntArray, r: int
) -> tuple[float, int, int]:
    """The exchange of r with a record of a block where one of its nearest stands that saves most: (saved, block,
    slot)."""
    mine, best, to, at = block[r], np.float64(_GAIN), -1, -1
    for c in range(close.shape[1]):
        b = block[close[r, c]]
        if b == mine:
            continue
        here = near[mine, r] - near[b, r]
        for slot in range(members.shape[1]):
            other = members[b, slot]
            if other >= 0:
                saved = here + near[b, other] - near[mine, other] + 2 * far[r, other]
                if saved > best:
                    best, to, at = saved, b, slot
    return best, to, at


@jit
def _trade(
    far: NDArray[np.float32], near: NDArray[np.float32], block: IntArray, members: IntArray, r: int, to: int, at: int
) -> None:
    """Record r and the one in slot `at` of block `to` change places."""
    mine, other = block[r], members[to, at]
    for slot in range(members.shape[1]):
        if members[mine, slot] == r:
            members[mine, slot] = other  # I1
    members[to, at], block[r], block[other] = r, to, mine
    for p in range(far.shape[0]):
        change = far[other, p] - far[r, p]
        near[mine, p] += change
        near[to, p] -= change


@jit
def exchange(
    far: NDArray[np.float32],
    near: NDArray[np.float32],
    block: IntArray,
    members: IntArray,
    close: IntArray,
    active: NDArray[np.bool_],
) -> int:
    """One pass over the records marked in `active`, which receives those worth looking at again; returns the exchanges
    made."""
    again, moves = np.zeros(len(block), np.bool_), 0
    for r in range(len(block)):
        if not active[r]:
            continue
        _saved, to, at = _best_trade(far, near, block, members, close, r)
        if to < 0:
            continue
        mine = block[r]
        _trade(far, near, block, members, r, to, at)
        moves += 1  # I2
        for slot in range(members.shape[1]):
            for b in (mine, to):
                if members[b, slot] >= 0:
                    again[members[b, slot]] = True
    active[:] = again
    return moves


@jit
def anneal(
    far: NDArray[np.float32],
    near: NDArray[np.float32],
    block: IntArray,
    members: IntArray,
    close: IntArray,
    steps: int,
    hot: float,
) -> int:
    """`steps` exchanges looked at, each of a record with one of a block where one of its nearest stands; returns those
    made."""
    state, moves, heat = np.uint64(_FIRST), 0, hot
    cooling = (_COLD / hot) ** (_COOLED / max(steps, _COOLED))
    for step in range(steps):
        if step % _COOLED == 0:
            heat *= cooling
        state = state * np.uint64(_TIMES) + np.uint64(_PLUS)
        word = state >> np.uint64(20)
        r = int(word % np.uint64(len(block)))
        word //= np.uint64(len(block))
        mine, to = block[r], block[close[r, int(word % np.uint64(close.shape[1]))]]
        word //= np.uint64(close.shape[1])
        at = int(word % np.uint64(members.shape[1]))
        other = members[to, at]
        if mine == to or other < 0:
            continue
        saved = near[mine, r] - near[to, r] + near[to, other] - near[mine, other] + 2 * far[r, other]
        if saved <= 0:
            state = state * np.uint64(_TIMES) + np.uint64(_PLUS)
            chance = (float(state >> np.uint64(33)) + 0.5) / 2147483648.0
            if saved < heat * np.log(chance):
                continue
        _trade(far, near, block, members, r, to, at)
        moves += 1
    return moves


def plain_within(far: NDArray[np.float32], block: IntArray) -> float:
    """The sum of distances within blocks, pair by pair."""
    same = block[:, None] == block[None, :]
    return float(far[same].astype(np.float64).sum())


def plain_best_trade(far: NDArray[np.float32], block: IntArray, r: int, allowed: set[int]) -> float:
    """The most that one exchange of r with a record of an allowed block saves, by trying every one."""
    now, best = plain_within(far, block), 0.0
    for other in range(len(block)):
        if block[other] != block[r] and int(block[other]) in allowed:
            trial = block.copy()
            trial[r], trial[other] = block[other], block[r]
            best = max(best, now - plain_within(far, trial))
    return best


# Votes
# -----


Flat = tuple[
    NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]
]


@jit
def _tally(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    group: NDArray[np.int32],
    count: NDArray[np.int32],
    weight: NDArray[np.float64],
    touched: NDArray[np.int32],
) -> tuple[int, float]:
    """Count and weigh the items of one group; lists those seen in `touched`, returns how many, and the group's
    weight."""
    kinds, total = 0, 0.0
    for row in group:
        share = 1.0 / max(1, starts[row + 1] - starts[row])
        total += share
        for place in range(starts[row], starts[row + 1]):
            item = items[place]
            if count[item] == 0:
                touched[kinds] = item
                weight[item] = 0.0
                kinds += 1
            count[item] += 1
            weight[item] += share
    return kinds, total


@jit
def _decide(
    k: int,
    touched: NDArray[np.int32],
    count: NDArray[np.int32],
    weight: NDArray[np.float64],
    total: float,
    owed: NDArray[np.float64],
    shown: NDArray[np.bool_],
) -> None:
    """Which of the items are shown; `owed` is by how many rows each item has been shown too rarely so far."""
    for item in touched:
        lead = 2 * weight[item] - total
        if 2 * count[item] != k:
            shown[item] = 2 * count[item] > k
        elif abs(lead) > 1e-9 * total:
            shown[item] = lead > 0
        else:
            shown[item] = owed[item] >= 0
        owed[item] += count[item] / k - shown[item]


@jit
def _turn_round(
    touched: NDArray[np.int32],
    count: NDArray[np.int32],
    rates: NDArray[np.float32],
    due: NDArray[np.float64],
    shown: NDArray[np.bool_],
) -> None:
    """Reverse decisions at the given rates, evenly along the groups; `due` is what each item has coming."""
    for item in touched:
        rate = rates[item, 2 * count[item] + shown[item]]
        if rate > 0:
            due[item] += rate
            if due[item] >= 1:
                due[item] -= 1
                shown[item] = not shown[item]


@jit
def cells(
    starts: NDArray[np.int64], items: NDArray[np.int32], members: NDArray[np.int32], width: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Items x cells: in how many groups the majority leaves an item there, and what reversing all of them would
    cost."""
    n, k = members.shape
    count, touched, weight = np.zeros(width, np.int32), np.zeros(width, np.int32), np.zeros(width, np.float64)
    shown, owed = np.zeros(width, np.bool_), np.zeros(width, np.float64)
    groups, cost = np.zeros((width, 2 * k + 2), np.int64), np.zeros((width, 2 * k + 2), np.float64)
    for j in range(n):
        kinds, total = _tally(starts, items, members[j], count, weight, touched)
        _decide(k, touched[:kinds], count, weight, total, owed, shown)
        for item in touched[:kinds]:
            cell = 2 * count[item] + shown[item]
            groups[item, cell] += 1
            cost[item, cell] += abs(2 * weight[item] - total) / k
            count[item] = 0
    return groups, cost


@jit
def vote(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    members: NDArray[np.int32],
    width: int,
    rates: NDArray[np.float32],
) -> Flat:
    """Boundaries and items of base and doubt, the thresholds, and each group's distance to each member.

    `rates` has items x cells, or no rows where the majority decides everything.
    """
    n, k = members.shape
    count, touched, weight = np.zeros(width, np.int32), np.zeros(width, np.int32), np.zeros(width, np.float64)
    shown, owed, due = np.zeros(width, np.bool_), np.zeros(width, np.float64), np.full(width, 0.5)
    base_starts, doubt_starts = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for j in range(n):
        kinds, total = _tally(starts, items, members[j], count, weight, touched)
        _decide(k, touched[:kinds], count, weight, total, owed, shown)
        if len(rates):
            _turn_round(touched[:kinds], count, rates, due, shown)
        base_starts[j + 1], doubt_starts[j + 1] = base_starts[j], doubt_starts[j]
        for item in touched[:kinds]:
            base_starts[j + 1] += shown[item]
            doubt_starts[j + 1] += count[item] < k
            count[item] = 0
    base, doubt = np.empty(base_starts[n], np.int32), np.empty(doubt_starts[n], np.int32)
    threshold, distance = np.zeros(n, np.int64), np.zeros(n * k, np.int64)
    owed[:], due[:] = 0.0, 0.5
    for j in range(n):
        kinds, total = _tally(starts, items, members[j], count, weight, touched)
        _decide(k, touched[:kinds], count, weight, total, owed, shown)
        if len(rates):
            _turn_round(touched[:kinds], count, rates, due, shown)
        touched[:kinds].sort()
        at_base, at_doubt = base_starts[j], doubt_starts[j]
        for item in touched[:kinds]:
            if shown[item]:
                base[at_base] = item
                at_base += 1
            if count[item] < k:
                doubt[at_doubt] = item
                at_doubt += 1
        for m in range(k):
            row = members[j, m]
            apart = at_base - base_starts[j] + starts[row + 1] - starts[row]
            for place in range(starts[row], starts[row + 1]):
                apart -= 2 * shown[items[place]]
            distance[j * k + m] = apart
            threshold[j] = max(threshold[j], apart)
        for item in touched[:kinds]:
            count[item] = 0
    return base_starts, base, doubt_starts, doubt, threshold, distance


def plain_vote(
    bits: NDArray[np.bool_], members: NDArray[np.int32], rates: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.bool_], ...]:
    """The same on a dense 0/1 matrix: base, doubt, distances (records x group size)."""
    groups, k = bits[members], members.shape[1]
    count = groups.sum(axis=1)
    share = 1.0 / np.maximum(groups.sum(axis=2), 1)
    lead = 2 * np.einsum("jm,jmi->ji", share, groups) - share.sum(axis=1, keepdims=True)
    base, owed = 2 * count > k, np.zeros(bits.shape[1])
    for j in range(len(members)):
        tied = 2 * count[j] == k
        even = np.abs(lead[j]) <= 1e-9 * share[j].sum()
        base[j] = np.where(tied, np.where(even, owed >= 0, lead[j] > 0), base[j])
        owed += count[j] / k - base[j]
    if rates is not None:
        due = np.full(bits.shape[1], 0.5)
        for j in range(len(members)):
            due += np.where(count[j] > 0, rates[np.arange(len(due)), 2 * count[j] + base[j]], 0)
            base[j] ^= due >= 1
            due -= due >= 1
    distance = (groups != base[:, None, :]).sum(axis=2)
    return base, (count > 0) & (count < k), distance


# Dealing
# -------


Dealt = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


@jit
def _dealing_tally(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    group: NDArray[np.int32],
    count: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> int:
    """Count the items of one block; lists those seen in `touched`, ascending, and returns how many."""
    kinds = 0
    for row in group:
        for place in range(starts[row], starts[row + 1]):
            item = items[place]
            if count[item] == 0:
                touched[kinds] = item
                kinds += 1
            count[item] += 1
    touched[:kinds].sort()
    return kinds


@jit
def _hand_out(copies: int, turn: int, sizes: NDArray[np.int64], taken: NDArray[np.bool_]) -> None:
    """Mark the `copies` rows with the fewest items so far; among equals the next in turn."""
    taken[:] = False
    for _ in range(copies):
        best = -1
        for step in range(len(sizes)):
            row = (turn + step) % len(sizes)
            if not taken[row] and (best < 0 or sizes[row] < sizes[best]):
                best = row
        taken[best] = True
    for row in range(len(sizes)):
        sizes[row] += taken[row]


@jit
def deal(starts: NDArray[np.int64], items: NDArray[np.int32], members: NDArray[np.int32], width: int) -> Dealt:
    """Boundaries and items of the rows (block by block) and of the doubtful items (one set per block), and the
    thresholds."""
    blocks, k = members.shape
    count, touched = np.zeros(width, np.int32), np.zeros(width, np.int32)
    base_starts, doubt_starts = np.zeros(blocks * k + 1, np.int64), np.zeros(blocks + 1, np.int64)
    threshold = np.zeros(blocks, np.int64)
    total = 0
    for b in range(blocks):
        for row in members[b]:
            total += starts[row + 1] - starts[row]
    base, doubt = np.empty(total, np.int32), np.empty(total, np.int32)
    sizes, taken = np.zeros(k, np.int64), np.zeros(k, np.bool_)
    at = 0
    for b in range(blocks):
        kinds = _dealing_tally(starts, items, members[b], count, touched)
        table = np.zeros((kinds, k), np.bool_)
        sizes[:], at_doubt, sure = 0, doubt_starts[b], 0
        for index in range(kinds):
            item = touched[index]
            _hand_out(count[item], (7 * index + item) % k, sizes, taken)  # I1, I2
            table[index] = taken
            sure += count[item] == k
            if count[item] < k:
                doubt[at_doubt] = item
                at_doubt += 1
            count[item] = 0
        doubt_starts[b + 1] = at_doubt
        largest = 0
        for m in range(k):
            for index in range(kinds):
                if table[index, m]:
                    base[at] = touched[index]
                    at += 1
            base_starts[b * k + m + 1] = at
            largest = max(largest, starts[members[b, m] + 1] - starts[members[b, m]])
        threshold[b] = min(doubt_starts[b + 1] - doubt_starts[b], largest + sizes.max() - 2 * sure)
    return base_starts, base, doubt_starts, doubt[: doubt_starts[blocks]].copy(), threshold


def plain_deal(sets: list[set[int]]) -> tuple[list[set[int]], set[int]]:
    """One block, plainly: the rows and the doubtful items."""
    rows: list[set[int]] = [set() for _ in sets]
    present = sorted(set().union(*sets))
    for index, item in enumerate(present):
        copies, turn = sum(item in one for one in sets), (7 * index + item) % len(sets)
        ranked = sorted(range(len(rows)), key=lambda row: (len(rows[row]), (row - turn) % len(rows)))
        for row in ranked[:copies]:
            rows[row].add(item)
    return rows, {item for item in present if sum(item in one for one in sets) < len(sets)}


# Tours
# -----


@jit
def _reversals(far: NDArray[np.int32], path: IntArray) -> int:
    """Reverse inner stretches whenever that shortens the path; returns what was saved."""
    saved = 0
    for i in range(len(path) - 3):
        for j in range(i + 2, len(path) - 1):
            before = far[path[i], path[i + 1]] + far[path[j], path[j + 1]]
            after = far[path[i], path[j]] + far[path[i + 1], path[j + 1]]
            if after < before:
                path[i + 1 : j + 1] = path[i + 1 : j + 1][::-1].copy()
                saved += before - after
    return saved


@jit
def _relocations(far: NDArray[np.int32], path: IntArray, block: int) -> int:
    """Move inner blocks of `block` records, either way round, whenever that shortens the path; returns what was
    saved."""
    saved, size = 0, len(path)
    for i in range(1, size - block):
        first, last = path[i], path[i + block - 1]
        out = far[path[i - 1], first] + far[last, path[i + block]] - far[path[i - 1], path[i + block]]
        gain, where, turn = 0, -1, False
        for j in range(size - 1):
            if i - 1 <= j < i + block:
                continue
            base = far[path[j], path[j + 1]]
            ahead = out + base - far[path[j], first] - far[last, path[j + 1]]
            back = out + base - far[path[j], last] - far[first, path[j + 1]]
            if ahead > gain:
                gain, where, turn = ahead, j, False
            if back > gain:
                gain, where, turn = back, j, True
        if where < 0:
            continue
        saved += gain
        moved = path[i : i + block].copy()
        if turn:
            moved = moved[::-1].copy()
        if where > i:
            path[i : where - block + 1] = path[i + block : where + 1].copy()
            path[where - block + 1 : where + 1] = moved
        else:
            path[where + 1 + block : i + block] = path[where + 1 : i].copy()
            path[where + 1 : where + 1 + block] = moved
    return saved


@jit
def shorten(far: NDArray[np.int32], path: IntArray) -> int:
    """Improve `path` in place, ends fixed; returns how much shorter it became."""
    total = 0
    while True:
        saved = _reversals(far, path)
        for block in range(1, 4):
            if len(path) > block + 1:
                saved += _relocations(far, path, block)
        total += saved
        if saved == 0:
            return total
