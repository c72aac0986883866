"""Grow partial guesses of where planted accounts sit, one account at a time, keeping the likeliest.

Notation
    A guess is a row of nodes, one for each account placed so far. `pair[t, s]` is the log-likelihood ratio of a pair that was
    planted tied (t = 1) or not, and is seen joined (s = 1) or not. `by_degree[d]` is the ratio of a node of degree d for
    the account being placed.

Cost
    guesses × neighbours of their anchors × accounts placed; memory 4 · keep candidates. The plain twin is a double loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.kernels.walk_search import joined
from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, FloatArray, IntArray


@jit
def _gain(starts: IntArray, neighbours: CodeArray, guess: CodeArray, node: int, tied: NDArray[np.bool_], pair: FloatArray) -> float:
    """What the ties of `node` to the guess add; minus infinity when it is already in it."""
    total = 0.0
    for place in range(len(guess)):
        if guess[place] == node:
            return -np.inf
        total += pair[int(tied[place]), int(joined(starts, neighbours, node, guess[place]))]
    return total


@jit
def grow(
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
                    if joined(starts, neighbours, node, guess[anchors[earlier]]):
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


def plain_grow(
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
