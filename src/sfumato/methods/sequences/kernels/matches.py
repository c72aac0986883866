"""Which edges of a flow between two lists of nodes are matches: true for some assignment of records that fits the counts.

Invariants
    I1  An edge is a match iff its ends lie in one strong component of the residual graph of the true flow; ends joined by flow are
        contracted first, so the component search runs on what is left, which is small.

Twin: `sfumato.audit.levels` finds the same components with scipy.

Cost: linear in living edges.
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import BoolArray, IntArray


@jit
def _root(parent: IntArray, x: int) -> int:
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@jit
def strong_components(size: int, start: IntArray, head: IntArray) -> IntArray:
    """Tarjan's search without recursion over a graph in rows ``head[start[v]:start[v + 1]]``."""
    number = np.full(size, -1, np.int64)
    low = np.zeros(size, np.int64)
    label = np.full(size, -1, np.int64)
    place = start[:-1].copy()
    stack = np.empty(size, np.int64)
    path = np.empty(size, np.int64)
    count, depth, clock = 0, 0, 0
    for origin in range(size):
        if number[origin] >= 0:
            continue
        path[0], steps = origin, 1
        number[origin] = low[origin] = clock
        clock += 1
        stack[depth] = origin
        depth += 1
        while steps:
            v = path[steps - 1]
            if place[v] < start[v + 1]:
                w = head[place[v]]
                place[v] += 1
                if number[w] < 0:
                    number[w] = low[w] = clock
                    clock += 1
                    stack[depth] = w
                    depth += 1
                    path[steps] = w
                    steps += 1
                elif label[w] < 0:
                    low[v] = min(low[v], number[w])
                continue
            steps -= 1
            if steps:
                above = path[steps - 1]
                low[above] = min(low[above], low[v])
            if low[v] == number[v]:
                while True:
                    depth -= 1
                    label[stack[depth]] = count
                    if stack[depth] == v:
                        break
                count += 1
    return label


@jit
def kill_mismatches(lefts: int, rights: int, left: IntArray, right: IntArray, flow: BoolArray, alive: BoolArray) -> int:
    """Mark living edges dead that are no matches (I1); returns how many."""
    parent = np.arange(lefts + rights)
    for e in range(len(left)):
        if flow[e]:
            a, b = _root(parent, left[e]), _root(parent, lefts + right[e])
            if a != b:
                parent[b] = a
    name = np.full(lefts + rights, -1, np.int64)
    tail, head = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
    which = np.empty(len(left), np.int64)
    open_edges, blocks = 0, 0
    for e in range(len(left)):
        if not alive[e] or flow[e]:
            continue
        a, b = _root(parent, left[e]), _root(parent, lefts + right[e])
        if a == b:
            continue
        for x in (a, b):
            if name[x] < 0:
                name[x] = blocks
                blocks += 1
        tail[open_edges], head[open_edges], which[open_edges] = name[a], name[b], e
        open_edges += 1
    if open_edges == 0:
        return 0
    start = np.zeros(blocks + 1, np.int64)
    for i in range(open_edges):
        start[tail[i] + 1] += 1
    for v in range(blocks):
        start[v + 1] += start[v]
    place, row = start[:-1].copy(), np.empty(open_edges, np.int64)
    for i in range(open_edges):
        row[place[tail[i]]] = head[i]
        place[tail[i]] += 1
    label = strong_components(blocks, start, row)
    killed = 0
    for i in range(open_edges):
        if label[tail[i]] != label[head[i]]:
            alive[which[i]] = False
            killed += 1
    return killed
