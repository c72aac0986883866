"""Random perfect matchings of a regular graph, one after another, by walks that never get stuck.

A row of `targets` lists the right nodes a left node may be matched with. Rows are shrunk in place: after each round the
first `degree` slots of a row are the edges no matching has used.

Paper
    [multitype Algorithm 1]: the closed walk. Goel, Kapralov, Khanna, "Perfect matchings in O(n log n) time in regular
    bipartite graphs": the truncated walk. Wong, Mamoulis, Cheung, "Non-homogeneous generalization": the backtracking
    walk.
Notation
    u ~ an original record, v ~ a published record, owner[v] ~ the u matched with v (−1: nobody), stream ~ see `chacha`.
Invariants
    I1  Before and after each round the unused edges form a `degree`-regular bipartite graph.
    I2  During a round the edge that matches u rests in the last unused slot of its row.
    I3  `owner` is a permutation at every moment of the closed walk; what is not yet matched is matched with itself on
        paper.
Departures
    Starts in ring order are several times faster than random ones, but a free place left far behind may then cost the
    last walks a number of steps quadratic in the distance. A walk that has taken `limit` steps is therefore dropped and
    the nearest free place is searched breadth first. How an assignment was found does not matter for the draw among
    disjoint ones.
Cost
    Truncated: about 9 steps per record and round on a ring, growing with log n. Closed: 20 to 40 steps.


Windows
-------
Moving records along a ring so that every k neighbours are alike: the search behind the `window` order.

The cost of a sequence is ``sum over pairs at distance w < k of (k − w) · D``, the total distance inside all windows of
k. A move takes a block out and puts it back where the cost is least. With a triangular weight the cost of inserting a
record at *every* gap is a running sum, so one look at all gaps of a stretch of m records costs O(m), not O(m k).

Notation
    far[a, b] ~ distance of two records, sequence ~ the records of a stretch in order, strain[g] ~ what widening gap g
    saves.
Invariants
    I1  Positions outside lo … hi − 1 never change; the sequence stays a permutation.
    I2  Every accepted move lowers the cost.
Cost
    O(m + k³) per record looked at, for a stretch of m records.


Guarding
--------
Withholding labels in one scan around a ring so that knowing the rule does not help to guess them.

Each position is either shown, or suppressed because its label is in the set S of labels that may not be shown there. S
is a function of what the scan has published before. So an adversary who knows the rule knows S, and assigns a
suppressed label the value x in S with probability f_x / f(S). That *chance* is counted like a label shown in part, and
S is widened until no window of `degree` places holds more than `bound` of any label.

Notation
    f_x ~ share of label x; a_t(x) ~ chance that place t has label x, as published (0 or 1 where it is shown). top_x ~
    the largest, over the windows around a place, of what x has there already plus f_x for every place still open.
Invariants
    I1  top_x + f_x ≤ bound for every label before each place: the scan could always go on by suppressing everything.
    I2  x outside S keeps I1 when shown (top_x + 1 ≤ bound); x in S keeps it when suppressed (top_x + f_x / f(S) ≤
        bound), and since f_x ≤ bound − top_x, widening S to all labels always suffices.
Cost
    O(records x degree x labels); memory O(degree x labels).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, IntArray
from sfumato.core.compiled import jit
from sfumato.core.kernels.chacha import below, plain_below

Stream = NDArray[np.uint32]


@jit
def _rest(targets: CodeArray, u: int, slot: int, last: int) -> None:
    """Swap the edge in `slot` into the slot `last` of row u (I2)."""
    targets[u, slot], targets[u, last] = targets[u, last], targets[u, slot]


@jit
def _search(targets: CodeArray, degree: int, owner: NDArray[np.int32], begin: int, chosen: NDArray[np.int32]) -> int:
    """Breadth first from `begin` to the nearest free place; enters the way into `chosen` and returns the places looked
    at."""
    n = targets.shape[0]
    came, slot_of = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    queue = np.empty(n + 1, np.int32)
    queue[0], head, tail = begin, 0, 1
    found = -1
    while found < 0:
        u = queue[head]
        head += 1
        for slot in range(degree if u == begin else degree - 1):
            v = targets[u, slot]
            if came[v] < 0:
                came[v], slot_of[v] = u, slot
                if owner[v] < 0:
                    found = v
                    break
                queue[tail] = owner[v]
                tail += 1
    u, v = np.int32(-1), np.int32(found)
    while u != begin:
        u = came[v]
        chosen[u] = slot_of[v]
        v = targets[u, degree - 1]  # I2
    return tail


@jit
def truncated_walk(targets: CodeArray, degree: int, stream: Stream, limit: int) -> tuple[NDArray[np.int32], int]:
    """One round: each record walks along unused edges until it meets any free published record; returns owner,
    steps."""
    n = targets.shape[0]
    owner = np.full(n, -1, np.int32)
    chosen = np.zeros(n, np.int32)
    steps = 0
    for begin in range(n):
        u, choices, taken = begin, degree, 0
        while u >= 0 and taken < limit:
            taken += 1
            chosen[u] = below(stream, choices)
            u = owner[targets[u, chosen[u]]]
            choices = degree - 1
        steps += taken
        if u >= 0:
            steps += _search(targets, degree, owner, begin, chosen)
        u = begin
        while u >= 0:
            v = targets[u, chosen[u]]
            _rest(targets, u, chosen[u], degree - 1)  # I1: every record and every place has used up one edge
            u, owner[v] = owner[v], u
    return owner, steps


@jit
def _step(
    targets: CodeArray, u: int, free: int, seen: NDArray[np.int64], walk: int, stream: Stream, revisit: bool
) -> int:
    """A slot among the first `free` of row u, at random among those whose end this walk has not seen; −1 if there is
    none."""
    fresh = 0
    for slot in range(free):
        fresh += seen[targets[u, slot]] != walk
    if fresh == 0:
        return below(stream, free) if revisit else -1
    pick = below(stream, fresh)
    for slot in range(free):
        if seen[targets[u, slot]] != walk:
            if pick == 0:
                return slot
            pick -= 1
    return -1


@jit
def _close(
    targets: CodeArray,
    degree: int,
    begin: int,
    home: int,
    onward: NDArray[np.int32],
    owner: NDArray[np.int32],
    matched: NDArray[np.bool_],
) -> None:
    """Enter the cycle from `begin` back to `home` into the matching; detours were overwritten in `onward` on the
    way."""
    u, v = begin, -1
    while v != home:
        v = onward[u]
        slot = 0
        while targets[u, slot] != v:
            slot += 1
        _rest(targets, u, slot, degree - 1)
        matched[u] = True
        u, owner[v] = owner[v], u  # I3


@jit
def closed_walk(
    targets: CodeArray, degree: int, starts: NDArray[np.int64], stream: Stream
) -> tuple[NDArray[np.int32], int]:
    """One round: from each record not yet matched, walk along unused edges until the walk closes; returns owner,
    steps."""
    n = targets.shape[0]
    owner = np.arange(n).astype(np.int32)
    matched = np.zeros(n, np.bool_)
    onward = np.zeros(n, np.int32)
    free = np.zeros(n, np.int32)
    known = np.full(n, -1, np.int64)
    seen = np.full(n, -1, np.int64)
    steps = 0
    for walk in range(n):
        begin = starts[walk]
        if matched[begin]:
            continue
        home, u, v = begin, begin, -1
        while v != home:
            steps += 1
            if known[u] != walk:
                known[u] = walk
                free[u] = degree - matched[u]
            slot = _step(targets, u, free[u], seen, walk, stream, True)
            free[u] -= 1
            v = targets[u, slot]
            _rest(targets, u, slot, free[u])
            onward[u], seen[v], u = v, walk, owner[v]
        _close(targets, degree, begin, home, onward, owner, matched)
    return owner, steps


@jit
def backtracking_walk(
    targets: CodeArray, degree: int, starts: NDArray[np.int64], stream: Stream
) -> tuple[NDArray[np.int32], int]:
    """One round: walks that never revisit a node in the same walk and step back from dead ends; returns owner,
    steps."""
    n = targets.shape[0]
    owner = np.arange(n).astype(np.int32)
    matched = np.zeros(n, np.bool_)
    onward = np.zeros(n, np.int32)
    free = np.zeros(n, np.int32)
    known = np.full(n, -1, np.int64)
    seen = np.full(n, -1, np.int64)
    trail = np.zeros(n + 1, np.int32)
    steps = 0
    for walk in range(n):
        begin = starts[walk]
        if matched[begin]:
            continue
        depth, trail[0], v = 0, begin, -1
        while v != begin:
            steps += 1
            u = trail[depth]
            if known[u] != walk:
                known[u] = walk
                free[u] = degree - matched[u]
            slot = _step(targets, u, free[u], seen, walk, stream, False)
            if slot < 0:
                depth -= 1
                continue
            free[u] -= 1
            v = targets[u, slot]
            _rest(targets, u, slot, free[u])
            onward[u], seen[v] = v, walk
            depth += 1
            trail[depth] = owner[v]
        _close(targets, degree, begin, begin, onward, owner, matched)
    return owner, steps


def plain_truncated_walk(rows: list[list[int]], words: Iterator[int], limit: int) -> list[int]:
    """One round of the truncated walk on lists, for small graphs and as the measure of the kernel.

    `rows` loses the matched edges. The order of the slots, and so each choice, is the kernel's.
    """
    degree = len(rows[0])
    owner: dict[int, int] = {}
    for begin in range(len(rows)):
        chosen: dict[int, int] = {}
        u, choices, free = begin, degree, False
        for _ in range(limit):
            chosen[u] = plain_below(words, choices)
            v = rows[u][chosen[u]]
            free = v not in owner
            if free:
                break
            u, choices = owner[v], degree - 1
        if not free:
            chosen = _plain_search(rows, owner, begin)
        u = begin
        while True:
            slot = chosen[u]
            rows[u][slot], rows[u][-1] = rows[u][-1], rows[u][slot]
            v = rows[u][-1]
            evicted = owner.get(v)
            owner[v] = u
            if evicted is None:
                break
            u = evicted
    for row in rows:
        row.pop()
    return [owner[v] for v in range(len(rows))]


def _plain_search(rows: list[list[int]], owner: dict[int, int], begin: int) -> dict[int, int]:
    """The slots along a shortest way from `begin` to a free place."""
    waiting = [begin]
    ways: dict[int, dict[int, int]] = {begin: {}}
    for u in waiting:
        for slot, v in enumerate(rows[u] if u == begin else rows[u][:-1]):
            if v not in owner:
                return {**ways[u], u: slot}
            if owner[v] not in ways:
                ways[owner[v]] = {**ways[u], u: slot}
                waiting.append(owner[v])
    raise AssertionError("a regular graph always has a way on")


# Windows
# -------


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
def _add_pull(
    value: NDArray[np.float64], size: int, reach: int, lo: int, hi: int, left: bool, cost: NDArray[np.float64]
) -> None:
    """Add to cost[g], for each gap g in lo … hi, the triangular sum of `value` over the `reach` − 1 places to one
    side."""
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
    """The strain of every gap once the block at p is gone: copied where it cannot have changed, counted again around
    p."""
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

    `active` marks the records worth looking at and receives those whose surroundings changed. Returns the number of
    moves."""
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
    """How much the cost falls when seq[first … last] is reversed: only pairs across its two ends change their
    distance."""
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
    """One pass: reverse stretches that bring a record next to one of its nearest, `close`, when that lowers the
    cost."""
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
    trials = [
        np.concatenate([rest[:g], way, rest[g:]]) for g in range(lo, hi - block + 1) for way in (moved, moved[::-1])
    ]
    return min(plain_cost(far, trial, k) for trial in trials)


# Guarding
# --------


EPSILON = 1e-9


@jit
def _slot(place: int, degree: int) -> int:
    """Where the chances of a place are kept: the first places for good, the others until they are out of reach."""
    return place if place < degree else degree + place % degree


@jit
def _tops(
    chances: NDArray[np.float64],
    share: NDArray[np.float64],
    place: int,
    count: int,
    degree: int,
    held: NDArray[np.float64],
    top: NDArray[np.float64],
) -> None:
    """`top` of every label at this place of the scan."""
    held[:], top[:] = 0.0, 0.0
    for begin in range(place, place - degree, -1):
        if 0 <= begin < place:
            held += chances[_slot(begin, degree)]
        round_the_end = max(0, begin + degree - count)
        still_open = degree - 1 - (place - max(begin, 0)) - round_the_end
        for label in range(len(share)):
            have = held[label] + still_open * share[label]
            for early in range(round_the_end):
                have += chances[early, label]
            top[label] = max(top[label], have)


@jit
def _widen(
    barred: NDArray[np.bool_], share: NDArray[np.float64], top: NDArray[np.float64], bound: float, first: int
) -> float:
    """Add labels to the barred set, from `first` on, until none is too likely behind a suppressed position; return the
    barred share."""
    mass, wanted = 0.0, 0.0
    for label in range(len(share)):
        if barred[label]:
            mass += share[label]
            wanted = max(wanted, share[label] / (bound - top[label]))
    for step in range(len(share)):
        label = (first + step) % len(share)
        if mass >= wanted - EPSILON:
            break
        if not barred[label]:
            barred[label] = True
            mass += share[label]
            wanted = max(wanted, share[label] / (bound - top[label]))
    return mass


@jit
def guard(labels: NDArray[np.int64], share: NDArray[np.float64], degree: int, bound: float) -> NDArray[np.bool_]:
    """Return which positions of the ring are suppressed; `labels` in the order of the scan."""
    count, kinds = len(labels), len(share)
    chances = np.zeros((2 * degree, kinds))
    held, top = np.zeros(kinds), np.zeros(kinds)
    hidden = np.zeros(count, np.bool_)
    for place in range(count):
        _tops(chances, share, place, count, degree, held, top)  # I1
        barred = top + 1 > bound + EPSILON
        mine = chances[_slot(place, degree)]
        mine[:] = 0.0
        if barred.any():
            mass = _widen(barred, share, top, bound, place % kinds)
            if barred[labels[place]]:
                hidden[place] = True
                mine[:] = np.where(barred, share / mass, 0.0)  # I2
                continue
        mine[labels[place]] = 1.0  # I2
    return hidden


def plain_guard(labels: list[int], share: list[float], degree: int, bound: float) -> list[bool]:
    """The same with every window written out."""
    count = len(labels)
    chance: list[list[float] | None] = [None] * count
    hidden = [False] * count
    for place in range(count):
        top = [0.0] * len(share)
        for begin in range(place - degree + 1, place + 1):
            window = [chance[(begin + step) % count] for step in range(degree)]
            for label, f in enumerate(share):
                still_open = sum(known is None for known in window) - 1
                top[label] = max(
                    top[label], sum(known[label] for known in window if known is not None) + still_open * f
                )
        barred = {label for label in range(len(share)) if top[label] + 1 > bound + EPSILON}
        for step in range(len(share)):
            wanted = max((share[label] / (bound - top[label]) for label in barred), default=0.0)
            if sum(share[label] for label in barred) >= wanted - EPSILON:
                break
            barred.add((place + step) % len(share))
        if labels[place] in barred:
            hidden[place], mass = True, sum(share[label] for label in barred)
            chance[place] = [share[label] / mass if label in barred else 0.0 for label in range(len(share))]
        else:
            chance[place] = [float(label == labels[place]) for label in range(len(share))]
    return hidden
