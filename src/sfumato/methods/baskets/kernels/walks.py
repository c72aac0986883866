"""Random perfect matchings of a regular graph, one after another, by walks that never get stuck.

A row of `targets` lists the right nodes a left node may be matched with. Rows are shrunk in place: after each round the first
`degree` slots of a row are the edges no matching has used.

Paper
    [multitype Algorithm 1]: the closed walk. Goel, Kapralov, Khanna, "Perfect matchings in O(n log n) time in regular
    bipartite graphs": the truncated walk. Wong, Mamoulis, Cheung, "Non-homogeneous generalization": the backtracking walk.
Notation
    u ~ an original record, v ~ a published record, owner[v] ~ the u matched with v (−1: nobody), stream ~ see `chacha`.
Invariants
    I1  Before and after each round the unused edges form a `degree`-regular bipartite graph.
    I2  During a round the edge that matches u rests in the last unused slot of its row.
    I3  `owner` is a permutation at every moment of the closed walk; what is not yet matched is matched with itself on paper.
Departures
    Starts in ring order are several times faster than random ones, but a free place left far behind may then cost the last
    walks a number of steps quadratic in the distance. A walk that has taken `limit` steps is therefore dropped and the nearest
    free place is searched breadth first. How an assignment was found does not matter for the draw among disjoint ones.
Cost
    Truncated: about 9 steps per record and round on a ring, growing with log n. Closed: 20 to 40 steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray
from sfumato.randomness.kernels.chacha import below, plain_below

Stream = NDArray[np.uint32]


@jit
def _rest(targets: CodeArray, u: int, slot: int, last: int) -> None:
    """Swap the edge in `slot` into the slot `last` of row u (I2)."""
    targets[u, slot], targets[u, last] = targets[u, last], targets[u, slot]


@jit
def _search(targets: CodeArray, degree: int, owner: NDArray[np.int32], begin: int, chosen: NDArray[np.int32]) -> int:
    """Breadth first from `begin` to the nearest free place; enters the way into `chosen` and returns the places looked at."""
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
    """One round: each record walks along unused edges until it meets any free published record; returns owner, steps."""
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
def _step(targets: CodeArray, u: int, free: int, seen: NDArray[np.int64], walk: int, stream: Stream, revisit: bool) -> int:
    """A slot among the first `free` of row u, at random among those whose end this walk has not seen; −1 if there is none."""
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
    """Enter the cycle from `begin` back to `home` into the matching; detours were overwritten in `onward` on the way."""
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
def closed_walk(targets: CodeArray, degree: int, starts: NDArray[np.int64], stream: Stream) -> tuple[NDArray[np.int32], int]:
    """One round: from each record not yet matched, walk along unused edges until the walk closes; returns owner, steps."""
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
def backtracking_walk(targets: CodeArray, degree: int, starts: NDArray[np.int64], stream: Stream) -> tuple[NDArray[np.int32], int]:
    """One round: walks that never revisit a node in the same walk and step back from dead ends; returns owner, steps."""
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
