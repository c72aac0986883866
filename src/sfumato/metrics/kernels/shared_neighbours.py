"""Triangles, diamonds and four-cycles of a crowded graph, from rows of bits.

When people have hundreds of neighbours, walking along neighbour lists is slower than intersecting whole rows of the
adjacency matrix, 64 people at a time.

Cost
    N²/2 · N/64 word operations and N²/8 bytes; `pays_off` says when that is the better deal. The plain twin multiplies matrices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, IntArray

_MEMORY = 1 << 28


def pays_off(degrees: IntArray) -> bool:
    """Whether rows of bits beat neighbour lists: compare words to intersect with list steps (each about four times dearer)."""
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
