"""The thesis' greedy l-diversification, as printed: kept to show what it does, never to publish with.

It compares the labels of the candidates' own records, but what is published are the labels of preimages under the
assignment that is drawn. Round one always returns the identity; under any other round people lose l-diversity. A walk
may also get stuck.

Paper
    [multitype 3.6.3, Algorithm 1 with Algorithm 2, `greedyPick`].
Notation
    positions along the order stand for records; past[u, r] ~ the position u was matched with in round r.
Cost
    Up to n/2 candidates looked at per step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, IntArray
from sfumato.core.compiled import jit
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.item_sets import Sets

STUCK = -1


def greedy_assignments(
    sets: Sets, order: IntArray, labels: NDArray[np.int64], diversity: int, randomness: Randomness
) -> NDArray[np.int32]:
    """Row r, column q: the position along `order` that is published at q in round r; `Infeasible` where a walk gets
    stuck."""
    ordered, named = sets.take(order), labels[order]
    past = np.zeros((len(order), diversity), dtype=np.int32)
    rounds = np.empty((diversity, len(order)), dtype=np.int32)
    for turn in range(diversity):
        begins = randomness.permutation(len(order))
        limit = 200 * len(order)
        owner, state = greedy_round(ordered.starts, ordered.items, named, past, turn, begins, limit)
        if state == STUCK:
            raise Infeasible(
                f"the greedy walk is stuck in round {turn + 1}", where="greedy", hint="use labels: withhold"
            )
        rounds[turn] = owner
        past[owner, turn] = np.arange(len(order))
    return rounds


@jit
def _distance(starts: NDArray[np.int64], items: CodeArray, a: int, b: int) -> int:
    i, j, common = starts[a], starts[b], 0
    while i < starts[a + 1] and j < starts[b + 1]:
        common += items[i] == items[j]
        step = items[i] <= items[j]
        j += items[j] <= items[i]
        i += step
    return int(starts[a + 1] - starts[a] + starts[b + 1] - starts[b] - 2 * common)


@jit
def _allowed(
    u: int,
    v: int,
    labels: NDArray[np.int64],
    past: CodeArray,
    turn: int,
    head: CodeArray,
    link: CodeArray,
    end: CodeArray,
) -> bool:
    """Not matched before, not tried by this walk from u, and a label that u's earlier matches do not have."""
    for r in range(turn):
        if past[u, r] == v or labels[past[u, r]] == labels[v]:
            return False
    edge = head[u]
    while edge >= 0:
        if end[edge] == v:
            return False
        edge = link[edge]
    return True


@jit
def greedy_round(
    starts: NDArray[np.int64],
    items: CodeArray,
    labels: NDArray[np.int64],
    past: CodeArray,
    turn: int,
    begins: NDArray[np.int64],
    limit: int,
) -> tuple[CodeArray, int]:
    """One round over records in order; returns owner and 0, or what there is and `STUCK` when a walk cannot go on."""
    n = len(labels)
    owner, onward = np.arange(n).astype(np.int32), np.arange(n).astype(np.int32)
    done, seen = np.zeros(n, np.bool_), np.full(n, -1, np.int64)
    head, known = np.full(n, -1, np.int32), np.full(n, -1, np.int64)
    link, end = np.zeros(limit, np.int32), np.zeros(limit, np.int32)
    for walk in range(n):
        begin = begins[walk]
        if done[begin]:
            continue
        u, v, edges = begin, -1, 0
        while v != begin:
            if known[u] != walk:
                known[u], head[u] = walk, -1
            pick, last = -1, -1
            for j in range(n // 2 + 2):
                ahead, back = (u + j) % n, (u - j) % n
                first = _allowed(u, ahead, labels, past, turn, head, link, end)
                second = _allowed(u, back, labels, past, turn, head, link, end)
                if not first and not second:
                    continue
                near = ahead
                if not first or (second and _distance(starts, items, u, back) < _distance(starts, items, u, ahead)):
                    near = back
                if seen[near] != walk:
                    pick = near
                    break
                if last < 0:
                    last = near
            v = pick if pick >= 0 else last
            if v < 0 or edges == limit:
                return owner, STUCK
            end[edges], link[edges], head[u] = v, head[u], edges
            edges += 1
            onward[u], seen[v] = v, walk
            u = owner[v]
        u, v = begin, -1
        while v != begin:
            v = onward[u]
            done[u] = True
            u, owner[v] = owner[v], u
    return owner, 0
