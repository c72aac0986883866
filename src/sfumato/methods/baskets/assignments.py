"""Disjoint assignments of records to published records: k of them from a k-regular graph, one of which becomes true.

Guarantee
    One assignment is drawn uniformly from k disjoint ones that use every edge once, so each edge is the true one with
    probability exactly 1/k, whatever walk found them.
Paper
    [multitype 3.5, 3.6.2, Algorithm 1, Theorem 3.6.1].
Departures
    The closed walk returns to its own start; a walk that stops at any free record (Goel, Kapralov, Khanna) finds matchings
    of the same kind several times faster and is the default.

>>> from sfumato.methods.baskets.rings import targets
>>> from sfumato.randomness import Randomness
>>> rounds = assignments(targets(6, 3), "closed", Randomness(seed=1))
>>> sorted(rounds[:, 0].tolist())  # published position 0 stands once for each of its preimages
[0, 4, 5]
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import Randomness

Walk = Literal["truncated", "closed", "backtracking"]
PATIENCE = 20_000
"""Steps after which a truncated walk gives up chance and searches."""


def assignments(targets: NDArray[np.int32], walk: Walk, randomness: Randomness) -> NDArray[np.int32]:
    """Row r, column q: the position whose record is published at q in the r-th assignment."""
    return assignments_and_steps(targets, walk, randomness)[0]


def assignments_and_steps(targets: NDArray[np.int32], walk: Walk, randomness: Randomness) -> tuple[NDArray[np.int32], int]:
    """The assignments with the number of steps all walks took together."""
    from sfumato.methods.baskets.kernels import walks
    from sfumato.randomness.kernels.chacha import key_words, open_stream

    count, degree = targets.shape
    edges = targets.copy()
    stream = open_stream(key_words(randomness.bytes(32)), 0)
    rounds, steps = np.empty((degree, count), dtype=np.int32), 0
    for turn in range(degree):
        left = degree - turn
        if walk == "truncated":
            rounds[turn], taken = walks.truncated_walk(edges, left, stream, PATIENCE)
        else:
            starts = randomness.permutation(count)
            round_of = walks.closed_walk if walk == "closed" else walks.backtracking_walk
            rounds[turn], taken = round_of(edges, left, starts, stream)
        steps += int(taken)
    return rounds, steps
