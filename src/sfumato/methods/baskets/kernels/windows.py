"""Moving records along a ring so that every k neighbours are alike: the search behind the `window` order.

The cost of a sequence is ``sum over pairs at distance w < k of (k − w) · D``, the total distance inside all windows of k. A move
takes a block out and puts it back where the cost is least. With a triangular weight the cost of inserting a record at *every*
gap is a running sum, so one look at all gaps of a stretch of m records costs O(m), not O(m k).

Notation
    far[a, b] ~ distance of two records, sequence ~ the records of a stretch in order, strain[g] ~ what widening gap g saves.
Invariants
    I1  Positions outside lo … hi − 1 never change; the sequence stays a permutation.
    I2  Every accepted move lowers the cost.
Cost
    O(m + k³) per record looked at, for a stretch of m records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray

Distances = NDArray[np.float32]


@jit
def _strain(far: Distances, seq: IntArray, size: int, k: int, block: int, gap: int) -> float:
    """How much the cost falls when a block is put into the gap before position `gap`: pairs across it move apart."""
    saved = 0.0
    for left in range(max(0, gap - k + 1), gap):
        for right in range(gap, min(size, left + k)):
            weight = k - (right - left)
            saved += min(block, weight) * far[seq[left], seq[right]]
    return saved


@jit
def _add_pull(value: NDArray[np.float64], size: int, reach: int, lo: int, hi: int, left: bool, cost: NDArray[np.float64]) -> None:
    """Add to cost[g], for each gap g in lo … hi, the triangular sum of `value` over the `reach` − 1 places to one side."""
    if reach <= 1:
        return
    total, box = 0.0, 0.0
    if left:
        for w in range(1, min(reach, lo + 1)):
            total += (reach - w) * value[lo - w]
            box += value[lo - w]
        cost[lo] += total
        for g in range(lo, hi):
            total += (reach - 1) * value[g] - box
            box += value[g]
            if g - reach + 1 >= 0:
                box -= value[g - reach + 1]
            cost[g + 1] += total
        return
    for w in range(1, min(reach, size - hi + 1)):
        total += (reach - w) * value[hi + w - 1]
        box += value[hi + w - 1]
    cost[hi] += total
    for g in range(hi - 1, lo - 1, -1):
        total += (reach - 1) * value[g] - box
        box += value[g]
        if g + reach - 1 < size:
            box -= value[g + reach - 1]
        cost[g] += total


@jit
def _insertion_costs(
    far: Distances,
    rest: IntArray,
    size: int,
    moved: IntArray,
    k: int,
    lo: int,
    hi: int,
    value: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> None:
    """cost[g], g in lo … hi: weighted distances between the block `moved`, put into gap g, and its neighbours."""
    block = len(moved)
    cost[lo : hi + 1] = 0.0
    for e in range(block):
        for place in range(max(0, lo - k), min(size, hi + k)):
            value[place] = far[moved[e], rest[place]]
        _add_pull(value, size, k - e, lo, hi, True, cost)
        _add_pull(value, size, k - (block - 1 - e), lo, hi, False, cost)


@jit
def _strain_without(
    far: Distances,
    rest: IntArray,
    size: int,
    k: int,
    block: int,
    lo: int,
    hi: int,
    p: int,
    strain: NDArray[np.float64],
    near: NDArray[np.float64],
) -> None:
    """The strain of every gap once the block at p is gone: copied where it cannot have changed, counted again around p."""
    for g in range(lo, hi - block + 1):
        if g <= p - k:
            near[g] = strain[g]
        elif g >= p + k:
            near[g] = strain[g + block]
        else:
            near[g] = _strain(far, rest, size, k, block, g)


@jit
def _strain_with(
    far: Distances,
    seq: IntArray,
    k: int,
    block: int,
    lo: int,
    hi: int,
    p: int,
    near: NDArray[np.float64],
    strain: NDArray[np.float64],
) -> None:
    """The strain of every gap once the block stands at p."""
    for g in range(lo, hi + 1):
        if g <= p - k:
            strain[g] = near[g]
        elif g >= p + block + k:
            strain[g] = near[g - block]
        else:
            strain[g] = _strain(far, seq, len(seq), k, block, g)


@jit
def _least(cost: NDArray[np.float64], near: NDArray[np.float64], lo: int, hi: int) -> int:
    best = lo
    for g in range(lo + 1, hi + 1):
        if cost[g] - near[g] < cost[best] - near[best]:
            best = g
    return best


@jit
def relocate(far: Distances, seq: IntArray, k: int, lo: int, hi: int, block: int, active: NDArray[np.bool_]) -> int:
    """One pass: take each block of `block` records out and put it back, either way round, where it costs least.

    `active` marks the records worth looking at and receives those whose surroundings changed. Returns the number of moves.
    """
    size, last = len(seq), hi - block
    rest = np.empty(size, np.int64)
    strain, near = np.zeros(size + 1, np.float64), np.zeros(size + 1, np.float64)
    value, cost, turned = np.zeros(size, np.float64), np.zeros(size + 1, np.float64), np.zeros(size + 1, np.float64)
    again = np.zeros(len(active), np.bool_)
    for g in range(lo, hi + 1):
        strain[g] = _strain(far, seq, size, k, block, g)
    moves, p = 0, lo
    while p <= last:
        wanted = False
        for e in range(block):
            wanted |= active[seq[p + e]]
        if not wanted:
            p += 1
            continue
        moved = seq[p : p + block].copy()
        rest[:p], rest[p : size - block] = seq[:p], seq[p + block :]
        _strain_without(far, rest, size - block, k, block, lo, hi, p, strain, near)
        _insertion_costs(far, rest, size - block, moved, k, lo, last, value, cost)
        now = cost[p] - near[p]
        best = _least(cost, near, lo, last)
        least = cost[best] - near[best]
        if block > 1:
            _insertion_costs(far, rest, size - block, moved[::-1].copy(), k, lo, last, value, turned)
            flipped = _least(turned, near, lo, last)
            if turned[flipped] - near[flipped] < least:
                best, least, moved = flipped, turned[flipped] - near[flipped], moved[::-1].copy()
        if least >= now - 1e-6 * (1.0 + abs(now)):
            p += 1
            continue
        moves += 1  # I2
        for g in range(max(lo, p - k), min(hi, p + block + k)):
            again[seq[g]] = True
        seq[:best], seq[best : best + block], seq[best + block :] = rest[:best], moved, rest[best : size - block]  # I1
        for g in range(max(lo, best - k), min(hi, best + block + k)):
            again[seq[g]] = True
        _strain_with(far, seq, k, block, lo, hi, best, near, strain)
        if best <= p:
            p += 1
    active[:] = again
    return moves


@jit
def _seam(far: Distances, seq: IntArray, k: int, first: int, last: int) -> float:
    """How much the cost falls when seq[first … last] is reversed: only pairs across its two ends change their distance."""
    saved = 0.0
    for inside in range(first, last + 1):
        mirror = first + last - inside
        if inside - first >= k and last - inside >= k:
            continue
        for left in range(max(0, first - k + 1), first):
            change = max(0, k - (inside - left)) - max(0, k - (mirror - left))
            saved += change * far[seq[left], seq[inside]]
        for right in range(last + 1, min(len(seq), last + k)):
            change = max(0, k - (right - inside)) - max(0, k - (right - mirror))
            saved += change * far[seq[right], seq[inside]]
    return saved


@jit
def _trim(far: Distances, seq: IntArray, k: int, first: int, last: int) -> float:
    """`_seam`, visiting only the places within k of an end of a long stretch."""
    if last - first < 2 * k:
        return _seam(far, seq, k, first, last)
    saved = 0.0
    for depth in range(k - 1):
        for reach in range(1, k - depth):
            weight = k - depth - reach
            head, tail = seq[first + depth], seq[last - depth]
            if first - reach >= 0:
                saved += weight * (far[seq[first - reach], head] - far[seq[first - reach], tail])
            if last + reach < len(seq):
                saved += weight * (far[seq[last + reach], tail] - far[seq[last + reach], head])
    return saved


@jit
def reverse(far: Distances, seq: IntArray, k: int, lo: int, hi: int, close: NDArray[np.int64]) -> int:
    """One pass: reverse stretches that bring a record next to one of its nearest, `close`, when that lowers the cost."""
    place = np.full(far.shape[0], -1, np.int64)
    for p in range(len(seq)):
        place[seq[p]] = p
    moves = 0
    for a in range(far.shape[0]):
        for b in close[a]:
            for side in range(2):
                p, q = min(place[a], place[b]), max(place[a], place[b])
                first, last = (p + 1, q) if side == 0 else (p, q - 1)
                if first < lo or last >= hi or last <= first:
                    continue
                saved = _trim(far, seq, k, first, last)
                if saved > 1e-6 * (1.0 + abs(saved)):
                    seq[first : last + 1] = seq[first : last + 1][::-1].copy()
                    for p in range(first, last + 1):
                        place[seq[p]] = p
                    moves += 1  # I2
    return moves


def plain_cost(far: Distances, seq: IntArray, k: int) -> float:
    """The cost of a sequence, term by term."""
    total = 0.0
    for w in range(1, min(k, len(seq))):
        total += (k - w) * float(far[seq[:-w], seq[w:]].astype(np.float64).sum())
    return total


def plain_relocate_once(far: Distances, seq: IntArray, k: int, lo: int, hi: int, p: int, block: int) -> float:
    """The least cost that one move of the block at p can reach, by trying every gap both ways round."""
    moved, rest = seq[p : p + block], np.delete(seq, np.s_[p : p + block])
    trials = [np.concatenate([rest[:g], way, rest[g:]]) for g in range(lo, hi - block + 1) for way in (moved, moved[::-1])]
    return min(plain_cost(far, trial, k) for trial in trials)
