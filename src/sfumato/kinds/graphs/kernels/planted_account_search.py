"""Search for a planted path in a graph: depth first, with degree intervals and a budget of wrong ties.

Notation
    A node fits level i when its degree lies in [low[i], high[i]]. Its errors are the earlier levels j where the tie
    between the two nodes differs from `ties[j, i]`; a path may collect at most `budget` of them. The step from level i
    − 1 to i follows an edge, so that tie is never an error.

Cost
    Counted in `steps`, nodes looked at; the search gives up at `limit`. The plain twin enumerates by recursion.


Beam growth
-----------
Grow partial guesses of where planted accounts sit, one account at a time, keeping the likeliest.

Notation
    A guess is a row of nodes, one for each account placed so far. `pair[t, s]` is the log-likelihood ratio of a pair
    that was planted tied (t = 1) or not, and is seen joined (s = 1) or not. `by_degree[d]` is the ratio of a node of
    degree d for the account being placed.

Cost
    guesses × neighbours of their anchors × accounts placed; memory 4 · keep candidates. The plain twin is a double
    loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, FloatArray, IntArray
from sfumato.core.compiled import jit


@jit
def has_edge(starts: IntArray, neighbours: CodeArray, u: int, v: int) -> bool:
    """Binary search for v among the neighbours of u."""
    left, right = starts[u], starts[u + 1]
    while left < right:
        middle = (left + right) >> 1
        if neighbours[middle] < v:
            left = middle + 1
        else:
            right = middle
    return bool(left < starts[u + 1] and neighbours[left] == v)


@jit
def _errors(
    starts: IntArray,
    neighbours: CodeArray,
    ties: NDArray[np.bool_],
    path: IntArray,
    level: int,
    node: int,
    allowed: int,
) -> int:
    """Wrong ties of `node` to the levels before its predecessor, or −1 when it stands on the path or exceeds
    `allowed`."""
    wrong = 0
    for earlier in range(level):
        if path[earlier] == node:
            return -1
    for earlier in range(level - 1):
        if has_edge(starts, neighbours, node, path[earlier]) != ties[earlier, level]:
            wrong += 1
            if wrong > allowed:
                return -1
    return wrong


@jit
def walk_search(
    starts: IntArray,
    neighbours: CodeArray,
    low: IntArray,
    high: IntArray,
    ties: NDArray[np.bool_],
    budget: int,
    limit: int,
    most: int,
) -> tuple[IntArray, int]:
    """Up to `most` fitting paths, one a row, and the steps taken; `limit` steps reached means the search gave up."""
    nodes, levels = len(starts) - 1, len(low)
    found = np.empty((most, levels), dtype=np.int64)
    count, steps = 0, 0
    path = np.empty(levels, dtype=np.int64)
    slot = np.empty(levels, dtype=np.int64)
    spent = np.zeros(levels, dtype=np.int64)
    for first in range(nodes):
        steps += 1
        degree = starts[first + 1] - starts[first]
        if degree < low[0] or degree > high[0]:
            continue
        path[0], slot[0], level = first, starts[first], 0
        while level >= 0:
            if steps >= limit or count >= most:
                return found[:count], steps
            if level == levels - 1:
                found[count] = path
                count += 1
                level -= 1
                continue
            if slot[level] == starts[path[level] + 1]:
                level -= 1
                continue
            node = neighbours[slot[level]]
            slot[level] += 1
            steps += 1
            degree = starts[node + 1] - starts[node]
            if degree < low[level + 1] or degree > high[level + 1]:
                continue
            wrong = _errors(starts, neighbours, ties, path, level + 1, node, budget - spent[level])
            if wrong < 0:
                continue
            level += 1
            path[level], slot[level], spent[level] = node, starts[node], spent[level - 1] + wrong
    return found[:count], steps


def plain_walk_search(
    starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, ties: NDArray[np.bool_], budget: int
) -> list[list[int]]:
    """Every fitting path, by plain recursion."""
    near = [set(neighbours[starts[v] : starts[v + 1]].tolist()) for v in range(len(starts) - 1)]

    def grown(path: list[int], errors: int) -> list[list[int]]:
        level = len(path)
        if level == len(low):
            return [path]
        longer = []
        for node in sorted(near[path[-1]]) if path else range(len(near)):
            wrong = errors + sum((path[j] in near[node]) != ties[j, level] for j in range(level - 1))
            if low[level] <= len(near[node]) <= high[level] and node not in path and wrong <= budget:
                longer += grown([*path, node], wrong)
        return longer

    return grown([], 0)


# Beam growth
# -----------


@jit
def _gain(
    starts: IntArray, neighbours: CodeArray, guess: CodeArray, node: int, tied: NDArray[np.bool_], pair: FloatArray
) -> float:
    """What the ties of `node` to the guess add; minus infinity when it is already in it."""
    total = 0.0
    for place in range(len(guess)):
        if guess[place] == node:
            return -np.inf
        total += pair[int(tied[place]), int(has_edge(starts, neighbours, node, guess[place]))]
    return total


@jit
def extend_guesses(
    starts: IntArray,
    neighbours: CodeArray,
    guesses: CodeArray,
    scores: FloatArray,
    tied: NDArray[np.bool_],
    anchors: IntArray,
    pair: FloatArray,
    by_degree: FloatArray,
    keep: int,
) -> tuple[IntArray, CodeArray, FloatArray]:
    """Parents, new nodes and scores of the best `keep` ways to place one more account next to an anchor."""
    room = 4 * keep
    parent, chosen, score = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.float64)
    count, floor = 0, -np.inf
    for row in range(len(guesses)):
        guess = guesses[row]
        for rank in range(len(anchors)):
            anchor = guess[anchors[rank]]
            for slot in range(starts[anchor], starts[anchor + 1]):
                node = neighbours[slot]
                seen_before = False
                for earlier in range(rank):
                    if has_edge(starts, neighbours, node, guess[anchors[earlier]]):
                        seen_before = True
                if seen_before:
                    continue
                value = scores[row] + by_degree[starts[node + 1] - starts[node]]
                value += _gain(starts, neighbours, guess, node, tied, pair)
                if value <= floor or value == -np.inf:
                    continue
                parent[count], chosen[count], score[count] = row, node, value
                count += 1
                if count == room:
                    floor = np.partition(score, room - keep)[room - keep]
                    kept = 0
                    for place in range(room):
                        if score[place] >= floor and kept < 2 * keep:
                            parent[kept], chosen[kept], score[kept] = parent[place], chosen[place], score[place]
                            kept += 1
                    count = kept
    return parent[:count], chosen[:count], score[:count]


def plain_extend_guesses(
    near: list[set[int]],
    guesses: list[list[int]],
    scores: list[float],
    tied: list[bool],
    anchors: list[int],
    pair: FloatArray,
    by_degree: FloatArray,
) -> dict[tuple[int, int], float]:
    """Every way to place one more account: (parent, node) → score."""
    grown = {}
    for row, guess in enumerate(guesses):
        for node in set().union(*(near[guess[anchor]] for anchor in anchors)) - set(guess):
            gain = sum(pair[int(t), int(placed in near[node])] for t, placed in zip(tied, guess, strict=True))
            grown[row, node] = scores[row] + by_degree[len(near[node])] + gain
    return grown
