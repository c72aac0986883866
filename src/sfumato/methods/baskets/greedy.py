"""The thesis' greedy l-diversification, as printed: kept to show what it does, never to publish with.

Paper
    [multitype 3.6.3, Algorithm 2].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.errors import Infeasible
from sfumato.randomness import Randomness


def greedy_assignments(
    sets: Sets, order: IntArray, labels: NDArray[np.int64], diversity: int, randomness: Randomness
) -> NDArray[np.int32]:
    """Row r, column q: the position along `order` that is published at q in round r; `Infeasible` where a walk gets stuck."""
    from sfumato.methods.baskets.kernels.greedy import STUCK, greedy_round

    ordered, named = sets.take(order), labels[order]
    past = np.zeros((len(order), diversity), dtype=np.int32)
    rounds = np.empty((diversity, len(order)), dtype=np.int32)
    for turn in range(diversity):
        begins = randomness.permutation(len(order))
        limit = 200 * len(order)
        owner, state = greedy_round(ordered.starts, ordered.items, named, past, turn, begins, limit)
        if state == STUCK:
            raise Infeasible(f"the greedy walk is stuck in round {turn + 1}", where="greedy", hint="use labels: withhold")
        rounds[turn] = owner
        past[owner, turn] = np.arange(len(order))
    return rounds
