"""From an all-assignments graph to what is published: the vote of each published record's preimages.

Paper
    [multitype 3.5].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.sets import Sets
from sfumato.methods.baskets.balance import turning_rates


@dataclass(frozen=True, slots=True)
class Votes:
    """Base, doubt and threshold of every published record, and its distance from each of its preimages."""

    base: Sets
    doubt: Sets
    threshold: NDArray[np.int64]
    distance: NDArray[np.int64]


def vote(sets: Sets, preimages: NDArray[np.int32], balance: float = 0.0) -> Votes:
    """The published form of each row of `preimages` (record numbers); `balance` is the bit error rate spent on true counts."""
    from sfumato.methods.baskets.kernels.votes import vote as count_votes

    rows = np.ascontiguousarray(preimages, dtype=np.int32)
    rates = turning_rates(sets, rows, balance) if balance > 0 else np.zeros((0, 0), dtype=np.float32)
    base_starts, base, doubt_starts, doubt, threshold, distance = count_votes(sets.starts, sets.items, rows, sets.width, rates)
    width = sets.width
    return Votes(Sets(base_starts, base, width), Sets(doubt_starts, doubt, width), threshold, distance.reshape(rows.shape))


def expected_error_rate(sets: Sets, preimages: NDArray[np.int32], votes: Votes) -> float:
    """The bit error rate averaged over all edges: what to expect before the assignment is drawn [multitype 3.7.1]."""
    return float((votes.distance / np.maximum(sets.sizes[preimages], 1)).mean())
