"""Blocks of alike records by exchange: two records of different blocks trade places when both blocks together gain.

`anneal` also takes exchanges that cost a little, less and less so, and gets past where `exchange` alone would stop. Its steps come
from a fixed sequence: the search is part of the public program, and what it finds depends on the items alone.

Notation
    far[a, b] ~ distance of two records of a piece; block[r] ~ the block of record r; members[b] ~ its records, one per column, −1
    where a block is smaller than the largest; near[b, r] ~ the sum of distances from r to the members of block b.
Invariants
    I1  Sizes of blocks never change; every record stays in exactly one block.
    I2  Every exchange of `exchange` lowers the sum of distances within blocks.
Cost
    Per record looked at: its nearest records x the size of a block; per exchange one pass over the piece.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray

_GAIN = 1e-5
_FIRST, _TIMES, _PLUS = 20_261_116, 6364136223846793005, 1442695040888963407
_COLD, _COOLED = 0.002, 1024


@jit
def sums_of_distances(far: NDArray[np.float32], members: IntArray) -> NDArray[np.float32]:
    """near[b, r] for every block and record."""
    near = np.zeros((members.shape[0], far.shape[0]), np.float32)
    for b in range(members.shape[0]):
        for slot in range(members.shape[1]):
            if members[b, slot] >= 0:
                near[b] += far[members[b, slot]]
    return near


@jit
def _best_trade(
    far: NDArray[np.float32], near: NDArray[np.float32], block: IntArray, members: IntArray, close: IntArray, r: int
) -> tuple[float, int, int]:
    """The exchange of r with a record of a block where one of its nearest stands that saves most: (saved, block, slot)."""
    mine, best, to, at = block[r], np.float64(_GAIN), -1, -1
    for c in range(close.shape[1]):
        b = block[close[r, c]]
        if b == mine:
            continue
        here = near[mine, r] - near[b, r]
        for slot in range(members.shape[1]):
            other = members[b, slot]
            if other >= 0:
                saved = here + near[b, other] - near[mine, other] + 2 * far[r, other]
                if saved > best:
                    best, to, at = saved, b, slot
    return best, to, at


@jit
def _trade(
    far: NDArray[np.float32], near: NDArray[np.float32], block: IntArray, members: IntArray, r: int, to: int, at: int
) -> None:
    """Record r and the one in slot `at` of block `to` change places."""
    mine, other = block[r], members[to, at]
    for slot in range(members.shape[1]):
        if members[mine, slot] == r:
            members[mine, slot] = other  # I1
    members[to, at], block[r], block[other] = r, to, mine
    for p in range(far.shape[0]):
        change = far[other, p] - far[r, p]
        near[mine, p] += change
        near[to, p] -= change


@jit
def exchange(
    far: NDArray[np.float32],
    near: NDArray[np.float32],
    block: IntArray,
    members: IntArray,
    close: IntArray,
    active: NDArray[np.bool_],
) -> int:
    """One pass over the records marked in `active`, which receives those worth looking at again; returns the exchanges made."""
    again, moves = np.zeros(len(block), np.bool_), 0
    for r in range(len(block)):
        if not active[r]:
            continue
        _saved, to, at = _best_trade(far, near, block, members, close, r)
        if to < 0:
            continue
        mine = block[r]
        _trade(far, near, block, members, r, to, at)
        moves += 1  # I2
        for slot in range(members.shape[1]):
            for b in (mine, to):
                if members[b, slot] >= 0:
                    again[members[b, slot]] = True
    active[:] = again
    return moves


@jit
def anneal(
    far: NDArray[np.float32],
    near: NDArray[np.float32],
    block: IntArray,
    members: IntArray,
    close: IntArray,
    steps: int,
    hot: float,
) -> int:
    """`steps` exchanges looked at, each of a record with one of a block where one of its nearest stands; returns those made."""
    state, moves, heat = np.uint64(_FIRST), 0, hot
    cooling = (_COLD / hot) ** (_COOLED / max(steps, _COOLED))
    for step in range(steps):
        if step % _COOLED == 0:
            heat *= cooling
        state = state * np.uint64(_TIMES) + np.uint64(_PLUS)
        word = state >> np.uint64(20)
        r = int(word % np.uint64(len(block)))
        word //= np.uint64(len(block))
        mine, to = block[r], block[close[r, int(word % np.uint64(close.shape[1]))]]
        word //= np.uint64(close.shape[1])
        at = int(word % np.uint64(members.shape[1]))
        other = members[to, at]
        if mine == to or other < 0:
            continue
        saved = near[mine, r] - near[to, r] + near[to, other] - near[mine, other] + 2 * far[r, other]
        if saved <= 0:
            state = state * np.uint64(_TIMES) + np.uint64(_PLUS)
            chance = (float(state >> np.uint64(33)) + 0.5) / 2147483648.0
            if saved < heat * np.log(chance):
                continue
        _trade(far, near, block, members, r, to, at)
        moves += 1
    return moves


def plain_within(far: NDArray[np.float32], block: IntArray) -> float:
    """The sum of distances within blocks, pair by pair."""
    same = block[:, None] == block[None, :]
    return float(far[same].astype(np.float64).sum())


def plain_best_trade(far: NDArray[np.float32], block: IntArray, r: int, allowed: set[int]) -> float:
    """The most that one exchange of r with a record of an allowed block saves, by trying every one."""
    now, best = plain_within(far, block), 0.0
    for other in range(len(block)):
        if block[other] != block[r] and int(block[other]) in allowed:
            trial = block.copy()
            trial[r], trial[other] = block[other], block[r]
            best = max(best, now - plain_within(far, trial))
    return best
