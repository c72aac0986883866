"""Counts of triangles, four-cycles and four-cliques from sorted adjacency arrays.

Notation
    Nodes are first renumbered by ascending degree, so every node has few later neighbours; `later` lists only those.

Cost
    Triangles and four-cycles O(h·√h) at worst, far less on social graphs; four-cliques one more such factor. Memory O(N + h).
    Every kernel has a plain twin (`plain_*`) on dense matrices.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, IntArray


@jit
def by_degree(starts: IntArray, neighbours: CodeArray) -> tuple[IntArray, CodeArray]:
    """The graph renumbered by ascending degree, neighbour lists ascending again."""
    nodes = len(starts) - 1
    order = np.argsort(starts[1:] - starts[:-1], kind="mergesort")
    rank = np.empty(nodes, dtype=np.int32)
    for place in range(nodes):
        rank[order[place]] = place
    first = np.zeros(nodes + 1, dtype=np.int64)
    for place in range(nodes):
        first[place + 1] = first[place] + starts[order[place] + 1] - starts[order[place]]
    filled = first[:-1].copy()
    renumbered = np.empty(len(neighbours), dtype=np.int32)
    for place in range(nodes):  # visiting in rank order writes every list in ascending order
        node = order[place]
        for slot in range(starts[node], starts[node + 1]):
            other = rank[neighbours[slot]]
            renumbered[filled[other]] = place
            filled[other] += 1
    return first, renumbered


@jit
def _later(starts: IntArray, neighbours: CodeArray) -> IntArray:
    """For each node the slot where its later neighbours begin."""
    nodes = len(starts) - 1
    begin = np.empty(nodes, dtype=np.int64)
    for node in range(nodes):
        slot = starts[node]
        while slot < starts[node + 1] and neighbours[slot] < node:
            slot += 1
        begin[node] = slot
    return begin


@jit
def triangles(starts: IntArray, neighbours: CodeArray) -> tuple[IntArray, IntArray]:
    """Triangles at every node, and at every edge (in the slot of its earlier end); call on the output of `by_degree`."""
    nodes = len(starts) - 1
    begin = _later(starts, neighbours)
    at_node = np.zeros(nodes, dtype=np.int64)
    at_slot = np.zeros(len(neighbours), dtype=np.int64)
    mark = np.full(nodes, -1, dtype=np.int64)
    for u in range(nodes):
        for slot in range(begin[u], starts[u + 1]):
            mark[neighbours[slot]] = slot
        for slot in range(begin[u], starts[u + 1]):
            v = neighbours[slot]
            for third in range(begin[v], starts[v + 1]):
                w = neighbours[third]
                if mark[w] >= 0:
                    at_node[u] += 1
                    at_node[v] += 1
                    at_node[w] += 1
                    at_slot[slot] += 1
                    at_slot[mark[w]] += 1
                    at_slot[third] += 1
        for slot in range(begin[u], starts[u + 1]):
            mark[neighbours[slot]] = -1
    return at_node, at_slot


@jit
def four_cycles(starts: IntArray, neighbours: CodeArray) -> int:
    """Cycles of four edges, chords allowed; each is found once, from its last node."""
    nodes = len(starts) - 1
    begin = _later(starts, neighbours)
    paths = np.zeros(nodes, dtype=np.int64)
    found = 0
    for v in range(nodes):
        for slot in range(starts[v], begin[v]):
            u = neighbours[slot]
            for step in range(starts[u], starts[u + 1]):
                w = neighbours[step]
                if w >= v:
                    break
                found += paths[w]
                paths[w] += 1
        for slot in range(starts[v], begin[v]):
            u = neighbours[slot]
            for step in range(starts[u], starts[u + 1]):
                w = neighbours[step]
                if w >= v:
                    break
                paths[w] = 0
    return found


@jit
def four_cliques(starts: IntArray, neighbours: CodeArray) -> int:
    """Complete graphs on four nodes."""
    nodes = len(starts) - 1
    begin = _later(starts, neighbours)
    near = np.zeros(nodes, dtype=np.bool_)
    both = np.zeros(nodes, dtype=np.bool_)
    shared = np.empty(nodes, dtype=np.int32)
    found = 0
    for u in range(nodes):
        for slot in range(begin[u], starts[u + 1]):
            near[neighbours[slot]] = True
        for slot in range(begin[u], starts[u + 1]):
            v = neighbours[slot]
            count = 0
            for step in range(begin[v], starts[v + 1]):
                w = neighbours[step]
                if near[w]:
                    both[w] = True
                    shared[count] = w
                    count += 1
            for place in range(count):
                w = shared[place]
                for step in range(begin[w], starts[w + 1]):
                    if both[neighbours[step]]:
                        found += 1
            for place in range(count):
                both[shared[place]] = False
        for slot in range(begin[u], starts[u + 1]):
            near[neighbours[slot]] = False
    return found


def dense(starts: IntArray, neighbours: CodeArray) -> IntArray:
    """The 0/1 matrix, for the plain twins."""
    nodes = len(starts) - 1
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    matrix[np.repeat(np.arange(nodes), np.diff(starts)), neighbours] = 1
    return matrix


def plain_triangles(starts: IntArray, neighbours: CodeArray) -> tuple[IntArray, IntArray]:
    """Triangles at every node, and at every edge in the order (smaller, larger)."""
    matrix = dense(starts, neighbours)
    shared = matrix @ matrix * matrix
    return shared.sum(axis=1) // 2, shared[np.triu(matrix, 1) == 1]


def plain_four_cycles(starts: IntArray, neighbours: CodeArray) -> int:
    """Every pair with s common neighbours is a diagonal of s(s − 1)/2 cycles; a cycle has two diagonals."""
    matrix = dense(starts, neighbours)
    shared = np.triu(matrix @ matrix, 1)
    return int((shared * (shared - 1) // 2).sum()) // 2


def plain_four_cliques(starts: IntArray, neighbours: CodeArray) -> int:
    """An edge whose two ends share t joined pairs of neighbours lies in t cliques; a clique has six edges."""
    matrix = dense(starts, neighbours)
    found = 0
    for u, v in zip(*np.nonzero(np.triu(matrix, 1)), strict=True):
        shared = np.flatnonzero(matrix[u] & matrix[v])
        found += int(matrix[np.ix_(shared, shared)].sum()) // 2
    return found // 6
