"""Search for a planted path in a graph: depth first, with degree intervals and a budget of wrong ties.

Notation
    A node fits level i when its degree lies in [low[i], high[i]]. Its errors are the earlier levels j where the tie between
    the two nodes differs from `ties[j, i]`; a path may collect at most `budget` of them. The step from level i − 1 to i
    follows an edge, so that tie is never an error.

Cost
    Counted in `steps`, nodes looked at; the search gives up at `limit`. The plain twin enumerates by recursion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, IntArray


@jit
def joined(starts: IntArray, neighbours: CodeArray, u: int, v: int) -> bool:
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
    starts: IntArray, neighbours: CodeArray, ties: NDArray[np.bool_], path: IntArray, level: int, node: int, allowed: int
) -> int:
    """Wrong ties of `node` to the levels before its predecessor, or −1 when it stands on the path or exceeds `allowed`."""
    wrong = 0
    for earlier in range(level):
        if path[earlier] == node:
            return -1
    for earlier in range(level - 1):
        if joined(starts, neighbours, node, path[earlier]) != ties[earlier, level]:
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
