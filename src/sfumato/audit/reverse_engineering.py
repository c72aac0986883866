"""Reverse engineering of LM and LM*: worlds that could have led to what was published, drawn as the paper prescribes.

Paper
    [obfuscation §5.5.2]: LM^R runs LM on the published table with the blocks in reverse order, (LM*)^R runs LM*; what both assume,
    that every solution of a block is equally likely, is exact here: a block keeps its total, and inside it all combinations of
    legal records with that total are drawn with equal probability.

Notation
    W_r(s)   logarithm of the number of ways r records reach the sum s
    t        repetitions; `worlds.repetitions(d, α)` says how many give ± d at 1 − α

Departures
    Blocks are disjoint and each keeps its own total, so their order does not matter and all are drawn at once.

Cost: t · N · (distinct contributions).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray


def linked(
    published: IntArray,
    values: IntArray,
    weights: NDArray[np.float64],
    blocks: list[IntArray],
    repetitions: int,
    random: np.random.Generator,
) -> IntArray:
    """How often person i had contribution values[j] in the drawn worlds, as a matrix (i, j).

    `published[i]` is the place in `values` of what was published for person i; `weights[j]` how many legal records have it.
    """
    counts = np.zeros((len(published), len(values)), dtype=np.int64)
    ways = _ways(values - values[0], weights, max((len(block) for block in blocks), default=0))
    for block in blocks:
        total = int((values[published[block]] - values[0]).sum())
        left = np.full(repetitions, total, dtype=np.int64)
        for place, person in enumerate(block):
            drawn = _step(values - values[0], weights, ways[len(block) - place - 1], left, random)
            counts[person] += np.bincount(drawn, minlength=len(values))
            left -= (values - values[0])[drawn]
    return counts


def linked_at_random(
    published: IntArray,
    values: IntArray,
    weights: NDArray[np.float64],
    size: int,
    repetitions: int,
    random: np.random.Generator,
) -> IntArray:
    """As `linked` for LM*: every repetition has its own random blocks; all repetitions go side by side."""
    people = len(published)
    counts = np.zeros((people, len(values)), dtype=np.int64)
    offsets = values - values[0]
    ways = _ways(offsets, weights, min(2 * size, people))
    orders = np.stack([random.permutation(people) for _ in range(repetitions)])
    for block in np.array_split(orders, max(1, people // size), axis=1):
        left = offsets[published[block]].sum(axis=1)
        for place in range(block.shape[1]):
            drawn = _step(offsets, weights, ways[block.shape[1] - place - 1], left, random)
            np.add.at(counts, (block[:, place], drawn), 1)
            left = left - offsets[drawn]
    return counts


def _ways(offsets: IntArray, weights: NDArray[np.float64], most: int) -> list[NDArray[np.float64]]:
    span = int(offsets[-1])
    found = [np.zeros(1)]
    for _ in range(most):
        before = found[-1]
        grown = np.full(len(before) + span, -np.inf)
        for offset, weight in zip(offsets, np.log(weights), strict=True):
            piece = grown[offset : offset + len(before)]
            np.logaddexp(piece, before + weight, out=piece)
        found.append(grown)
    return found


def _step(
    offsets: IntArray, weights: NDArray[np.float64], ways: NDArray[np.float64], left: IntArray, random: np.random.Generator
) -> IntArray:
    rest = left[:, None] - offsets
    inside = (rest >= 0) & (rest < len(ways))
    level = np.where(inside, ways[np.where(inside, rest, 0)], -np.inf) + np.log(weights)
    chance = np.exp(level - level.max(axis=1, keepdims=True))
    cumulative = np.cumsum(chance, axis=1)
    target = random.random(len(left)) * cumulative[:, -1]
    found: IntArray = np.minimum((cumulative <= target[:, None]).sum(axis=1), len(offsets) - 1).astype(np.int64)
    return found
