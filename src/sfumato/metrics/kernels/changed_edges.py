"""What a few lost and gained edges change in the numbers of small patterns: only their surroundings are looked at.

Edges are taken away and put in one by one. An edge u-v that comes brings, with N(·) the neighbours at that moment,

    triangles   |N(u) ∩ N(v)|
    paths       u-v in the middle: |N(u)| · |N(v)| less the triangles; at an end: one for every further step beyond u or v
    squares     ties between N(u) and N(v)
    paws        it closes a triangle that has a third tie somewhere, or hangs on a triangle of u or of v
    diamonds    it is the diagonal of two common neighbours, or a side beside a diagonal from u or v to a common neighbour
    cliques     ties among common neighbours

and one that goes takes the same away.

Invariants
    I1  What an edge brings is counted without it: before it is put in, after it is taken away.
    I2  Marks are wiped after every edge: 1 for N(v), 2 for N(u).

Cost
    For every edge the neighbours of the neighbours of its end with fewer of them (`rings`: of both ends); a copy of the graph.
    The plain twin counts the patterns of the whole graph before and after.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, IntArray
from sfumato.metrics.kernels.small_patterns import dense

Marks = NDArray[np.uint8]


@jit
def _roomy(starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, lost: int) -> tuple[IntArray, CodeArray]:
    """Where every node's list begins when there is room for what it gains, and the lists."""
    nodes = len(starts) - 1
    more = np.zeros(nodes, dtype=np.int64)
    for pair in range(lost, len(low)):
        more[low[pair]] += 1
        more[high[pair]] += 1
    begin = np.zeros(nodes + 1, dtype=np.int64)
    for node in range(nodes):
        begin[node + 1] = begin[node] + starts[node + 1] - starts[node] + more[node]
    lists = np.zeros(begin[nodes], dtype=np.int32)
    for node in range(nodes):
        for slot in range(starts[node], starts[node + 1]):
            lists[begin[node] + slot - starts[node]] = neighbours[slot]
    return begin, lists


@jit
def _leave(begin: IntArray, size: IntArray, lists: CodeArray, node: int, other: int) -> None:
    """Take `other` off the list of `node`; the last one takes its place."""
    for slot in range(begin[node], begin[node] + size[node]):
        if lists[slot] == other:
            lists[slot] = lists[begin[node] + size[node] - 1]
            size[node] -= 1
            return


@jit
def _join(begin: IntArray, size: IntArray, lists: CodeArray, node: int, other: int) -> None:
    lists[begin[node] + size[node]] = other
    size[node] += 1


@jit
def _mark(begin: IntArray, size: IntArray, lists: CodeArray, node: int, marks: Marks, bits: int) -> None:
    for slot in range(begin[node], begin[node] + size[node]):
        marks[lists[slot]] = np.uint8(marks[lists[slot]] | bits)


@jit
def _wipe(begin: IntArray, size: IntArray, lists: CodeArray, node: int, marks: Marks) -> None:
    for slot in range(begin[node], begin[node] + size[node]):
        marks[lists[slot]] = np.uint8(0)


@jit
def _met(begin: IntArray, size: IntArray, lists: CodeArray, node: int, marks: Marks, bits: int) -> int:
    """How many neighbours have all these marks."""
    met = 0
    for slot in range(begin[node], begin[node] + size[node]):
        if (marks[lists[slot]] & bits) == bits:
            met += 1
    return met


@jit
def changed_walks(starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, lost: int) -> tuple[int, int, int]:
    """How many triangles, paths and squares are more when the first `lost` pairs have gone and the others have come."""
    begin, lists = _roomy(starts, neighbours, low, high, lost)
    size, marks = starts[1:] - starts[:-1], np.zeros(len(starts), dtype=np.uint8)
    triangles, paths, squares = 0, 0, 0
    for pair in range(len(low)):
        u, v = low[pair], high[pair]
        if pair < lost:
            _leave(begin, size, lists, u, v)  # I1
            _leave(begin, size, lists, v, u)
        if size[u] > size[v]:
            u, v = v, u
        _mark(begin, size, lists, v, marks, 1)
        common, ends, ties = 0, 0, 0
        for slot in range(begin[u], begin[u] + size[u]):
            near = lists[slot]
            common += marks[near]
            ends += size[near] - 1
            ties += _met(begin, size, lists, near, marks, 1)
        for slot in range(begin[v], begin[v] + size[v]):
            ends += size[lists[slot]] - 1
        _wipe(begin, size, lists, v, marks)  # I2
        sign = -1 if pair < lost else 1
        triangles += sign * common
        paths += sign * (size[u] * size[v] - common + ends - 2 * common)
        squares += sign * ties
        if pair >= lost:
            _join(begin, size, lists, u, v)
            _join(begin, size, lists, v, u)
    return triangles, paths, squares


@jit
def changed_rings(starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, lost: int) -> tuple[int, int, int]:
    """The same for paws, diamonds and cliques."""
    begin, lists = _roomy(starts, neighbours, low, high, lost)
    size, marks = starts[1:] - starts[:-1], np.zeros(len(starts), dtype=np.uint8)
    paws, diamonds, cliques = 0, 0, 0
    for pair in range(len(low)):
        u, v = low[pair], high[pair]
        if pair < lost:
            _leave(begin, size, lists, u, v)  # I1
            _leave(begin, size, lists, v, u)
        _mark(begin, size, lists, v, marks, 1)
        _mark(begin, size, lists, u, marks, 2)
        common, hanging, third, beside, among = 0, 0, 0, 0, 0
        for slot in range(begin[u], begin[u] + size[u]):
            near = lists[slot]
            own = _met(begin, size, lists, near, marks, 2)
            hanging += own
            if marks[near] == 3:
                common += 1
                third += size[near] - 2
                beside += own + _met(begin, size, lists, near, marks, 1)
                among += _met(begin, size, lists, near, marks, 3)
        for slot in range(begin[v], begin[v] + size[v]):
            hanging += _met(begin, size, lists, lists[slot], marks, 1)
        _wipe(begin, size, lists, v, marks)  # I2
        _wipe(begin, size, lists, u, marks)
        sign = -1 if pair < lost else 1
        paws += sign * (hanging // 2 + third + common * (size[u] + size[v] - 2))
        diamonds += sign * (common * (common - 1) // 2 + beside)
        cliques += sign * (among // 2)
        if pair >= lost:
            _join(begin, size, lists, u, v)
            _join(begin, size, lists, v, u)
    return paws, diamonds, cliques


def plain_changed(starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, lost: int) -> tuple[int, ...]:
    """Triangles, paths, squares, paws, diamonds and cliques after all changes less those before, from whole matrices."""
    before = dense(starts, neighbours)
    after = before.copy()
    after[low, high] = after[high, low] = np.arange(len(low)) >= lost
    return tuple(new - old for new, old in zip(_plain_counts(after), _plain_counts(before), strict=True))


def _plain_counts(matrix: IntArray) -> tuple[int, ...]:
    degree, shared = matrix.sum(axis=1), matrix @ matrix
    at_edge = shared * matrix
    triangles = int(at_edge.sum()) // 6
    paths = int((np.outer(degree - 1, degree - 1) * matrix).sum()) // 2 - 3 * triangles
    squares = int(np.triu(shared * (shared - 1) // 2, 1).sum()) // 2
    paws = int((at_edge.sum(axis=1) // 2 * (degree - 2)).sum())
    diamonds = int(np.triu(at_edge * (at_edge - 1) // 2, 1).sum())
    cliques = 0
    for u, v in zip(*np.nonzero(np.triu(matrix, 1)), strict=True):
        both = np.flatnonzero(matrix[u] & matrix[v])
        cliques += int(matrix[np.ix_(both, both)].sum()) // 2
    return triangles, paths, squares, paws, diamonds, cliques // 6
