"""Counts of triangles, four-cycles and four-cliques from sorted adjacency arrays.

Notation
    Nodes are first renumbered by ascending degree, so every node has few later neighbours; `later` lists only those.

Cost
    Triangles and four-cycles O(h·√h) at worst, far less on social graphs; four-cliques one more such factor. Memory O(N
    + h). Every kernel has a plain twin (`plain_*`) on dense matrices.


Shared neighbours
-----------------
Triangles, diamonds and four-cycles of a crowded graph, from rows of bits.

When people have hundreds of neighbours, walking along neighbour lists is slower than intersecting whole rows of the
adjacency matrix, 64 people at a time.

Cost
    N²/2 · N/64 word operations and N²/8 bytes; `pays_off` tells when that is faster. The plain twin multiplies
    matrices.


Changed edges
-------------
What a few lost and gained edges change in the numbers of small patterns: only their surroundings are looked at.

Edges are taken away and put in one by one. An edge u-v that comes brings, with N(·) the neighbours at that moment,

    triangles   |N(u) ∩ N(v)|
    paths       u-v in the middle: |N(u)| · |N(v)| less the triangles; at an end: one for every further step beyond u or
                v
    squares     ties between N(u) and N(v)
    paws        it closes a triangle that has a third tie somewhere, or hangs on a triangle of u or of v
    diamonds    it is the diagonal of two common neighbours, or a side beside a diagonal from u or v to a common
                neighbour
    cliques     ties among common neighbours

and one that goes takes the same away.

Invariants
    I1  What an edge brings is counted without it: before it is put in, after it is taken away.
    I2  Marks are wiped after every edge: 1 for N(v), 2 for N(u).

Cost
    For every edge the neighbours of the neighbours of its end with fewer of them (`rings`: of both ends); a copy of the
    graph. The plain twin counts the patterns of the whole graph before and after.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, IntArray
from sfumato.core.compiled import jit


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
    """Triangles at every node, and at every edge (in the slot of its earlier end); call on the output of
    `by_degree`."""
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


# Shared neighbours
# -----------------


_MEMORY = 1 << 28


def pays_off(degrees: IntArray) -> bool:
    """Whether rows of bits beat neighbour lists: compare words to intersect with list steps (each about four times
    dearer)."""
    nodes = len(degrees)
    words = nodes * nodes / 2 * (nodes / 64 + 2)
    steps = float((degrees.astype(np.float64) ** 2).sum()) / 2
    return nodes * nodes / 8 <= _MEMORY and words < 4 * steps


@jit
def _ones(word: np.uint64) -> np.uint64:
    """The number of set bits of a 64-bit word: pairs, then fours, then bytes, then all bytes at once."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@jit
def bit_rows(starts: IntArray, neighbours: CodeArray) -> NDArray[np.uint64]:
    """One row of bits per node."""
    nodes = len(starts) - 1
    rows = np.zeros((nodes, (nodes + 63) // 64), dtype=np.uint64)
    for node in range(nodes):
        for slot in range(starts[node], starts[node + 1]):
            other = neighbours[slot]
            rows[node, other >> 6] |= np.uint64(1) << np.uint64(other & 63)
    return rows


@jit
def shared_neighbours(starts: IntArray, neighbours: CodeArray) -> tuple[IntArray, int, int]:
    """Triangles at every node, diamonds, four-cycles."""
    nodes = len(starts) - 1
    rows = bit_rows(starts, neighbours)
    at_node = np.zeros(nodes, dtype=np.int64)
    diamonds = 0
    diagonals = 0
    for u in range(nodes):
        for v in range(u + 1, nodes):
            shared = 0
            for word in range(rows.shape[1]):
                shared += int(_ones(rows[u, word] & rows[v, word]))
            both = shared * (shared - 1) // 2
            diagonals += both
            if (rows[u, v >> 6] >> np.uint64(v & 63)) & np.uint64(1):
                at_node[u] += shared
                at_node[v] += shared
                diamonds += both
    return at_node // 2, diamonds, diagonals // 2


def plain_shared_neighbours(starts: IntArray, neighbours: CodeArray) -> tuple[IntArray, int, int]:
    """The same by one matrix product."""
    nodes = len(starts) - 1
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    matrix[np.repeat(np.arange(nodes), np.diff(starts)), neighbours] = 1
    shared = matrix @ matrix
    both = np.triu(shared * (shared - 1) // 2, 1)
    return (shared * matrix).sum(axis=1) // 2, int((both * matrix).sum()), int(both.sum()) // 2


# Changed edges
# -------------


Marks = NDArray[np.uint8]


@jit
def _roomy(
    starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, lost: int
) -> tuple[IntArray, CodeArray]:
    """Return where every node's list begins with space for added edges, and the lists."""
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
def changed_walks(
    starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, lost: int
) -> tuple[int, int, int]:
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
            common += np.int64(marks[near])  # type: ignore[assignment]
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
def changed_rings(
    starts: IntArray, neighbours: CodeArray, low: IntArray, high: IntArray, lost: int
) -> tuple[int, int, int]:
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
    """Triangles, paths, squares, paws, diamonds and cliques after all changes less those before, from whole
    matrices."""
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
