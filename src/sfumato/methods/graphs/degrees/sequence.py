"""The cheapest k-anonymous degree sequence above a given one: who has to be raised to which number of ties, edges left aside.

Paper
    [obfuscation §3.4] states the problem; the dynamic program goes back to Liu and Terzi, whom it cites.

Notation
    d      degrees in descending order.
    f(i)   least total rise that makes the first i people k-anonymous by themselves.

Invariants
    I1  Groups are runs of consecutive people raised to the degree of the first. Whatever k-anonymous sequence is at least d
        person by person, its descending order is at least d place by place, and sorting does not change its sum.
    I2  Runs of k … 2k − 1 suffice: a longer run splits into two, and the second is raised less.
    I3  Of people with the same degree 5k are enough: a run from above reaches at most 2k − 1 of them, a run downwards begins with
        at most 2k − 1, and the more than k in the middle stay as they are, however many more join them.

Cost
    O(D·k²) for D different degrees, whatever the number of people (I3), in vector operations of length k.

>>> raised(np.array([5, 4, 4, 1, 1]), 2).tolist()
[5, 5, 5, 1, 1]
>>> least_rise(np.array([5, 4, 4, 1, 1]), 2)
2
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray

_FAR = np.int64(1 << 60)


def raised(degrees: IntArray, k: int) -> IntArray:
    """The cheapest k-anonymous sequence at least `degrees` (descending), place by place."""
    thin = _thinned(degrees, k)
    targets, few = degrees.copy(), degrees[thin]
    _, before = _program(few, k)
    goals, end = few.copy(), len(few)
    while end:
        begin = int(before[end])
        goals[begin:end] = few[begin]
        end = begin
    targets[thin] = goals
    return targets


def least_rise(degrees: IntArray, k: int) -> int:
    """The total rise of `raised`: no k-anonymous sequence above `degrees` rises less."""
    return int(_program(degrees[_thinned(degrees, k)], k)[0][-1])


def prefix_rises(degrees: IntArray, k: int, most: int) -> IntArray:
    """For m = 0 … most: the least total rise of the first m people in any k-anonymous sequence above `degrees`."""
    top = degrees[: most + 2 * k]
    cost, _ = _program(top, k)
    sums = np.concatenate([[0], np.cumsum(top)])
    rises = np.zeros(most + 1, dtype=np.int64)
    for m in range(1, most + 1):
        begins = np.arange(max(0, m - 2 * k + 1), min(m, len(degrees) - k + 1))
        rises[m] = (cost[begins] + (m - begins) * top[begins] - (sums[m] - sums[begins])).min()  # the last run may go on after m
    return rises


def _thinned(degrees: IntArray, k: int) -> BoolArray:
    """Which people the program has to look at (I3)."""
    places = np.arange(len(degrees))
    fresh = np.ones(len(degrees), dtype=bool)
    np.not_equal(degrees[1:], degrees[:-1], out=fresh[1:])
    looked: BoolArray = places - np.maximum.accumulate(np.where(fresh, places, 0)) < 5 * k
    return looked


def _program(degrees: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """f(i), and where the last run of the first i people begins."""
    count = len(degrees)
    sums = np.concatenate([[0], np.cumsum(degrees)])
    cost, before = np.full(count + 1, _FAR), np.zeros(count + 1, dtype=np.int64)
    cost[0] = 0
    for end in range(k, count + 1):
        low, high = max(0, end - 2 * k + 1), end - k + 1  # I2
        lengths = np.arange(end - low, end - high, -1)
        costs = cost[low:high] + lengths * degrees[low:high] - (sums[end] - sums[low:high])  # I1
        best = int(costs.argmin())
        cost[end], before[end] = costs[best], low + best
    return cost, before
