"""What the rows of a block show: the vote of its members in every row, or their items dealt evenly over the rows.

vote    every row shows the items that most members have: for whoever looks at records. On sparse data hardly any item has a
majority.
dealt   every item stands in exactly as many rows as members have it: for whoever counts. Single items are counted exactly, none is
        lost; what stands together in a row is chance beyond what the block says, so a row is nobody's basket.

Invariants
    I1  Both are functions of how many members have each item: nothing in a row depends on which member it is given to.
    I2  Every member fits every row of its block: both contain what all members have, differ in doubtful items only, and in no more
        than the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.methods.baskets.partition import Partition
from sfumato.methods.baskets.voting import vote

Shows = Literal["vote", "dealt"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Base, doubt and threshold of every place of a partition, in its order."""

    base: Sets
    doubt: Sets
    threshold: NDArray[np.int64]


def rows_of(sets: Sets, blocks: Partition, shows: Shows, balance: float = 0.0) -> Rows:
    """The published rows of all blocks; `balance` is the bit error rate that the vote may spend on true counts."""
    parts, places = [], []
    for size in np.unique(blocks.sizes).tolist():
        members = blocks.of_size(size)
        parts.append(_voted(sets, members, balance) if shows == "vote" else _dealt(sets, members))  # I1, I2
        first = blocks.starts[:-1][blocks.sizes == size]
        places.append((first[:, None] + np.arange(size)[None, :]).reshape(-1))
    back = np.argsort(np.concatenate(places), kind="stable")
    base, doubt = Sets.stacked([part.base for part in parts]), Sets.stacked([part.doubt for part in parts])
    return Rows(base.take(back), doubt.take(back), np.concatenate([part.threshold for part in parts])[back])


def _voted(sets: Sets, members: NDArray[np.int32], balance: float) -> Rows:
    votes = vote(sets, members, balance)
    again = _each(members)
    return Rows(votes.base.take(again), votes.doubt.take(again), votes.threshold[again])


def _dealt(sets: Sets, members: NDArray[np.int32]) -> Rows:
    from sfumato.methods.baskets.kernels.dealing import deal

    rows = np.ascontiguousarray(members, dtype=np.int32)
    base_starts, base, doubt_starts, doubt, threshold = deal(sets.starts, sets.items, rows, sets.width)
    again = _each(members)
    return Rows(Sets(base_starts, base, sets.width), Sets(doubt_starts, doubt, sets.width).take(again), threshold[again])


def _each(members: NDArray[np.int32]) -> IntArray:
    """Every block as often as it has members."""
    return np.repeat(np.arange(members.shape[0], dtype=np.int64), members.shape[1])
