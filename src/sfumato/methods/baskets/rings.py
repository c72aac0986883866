"""The ring: each record may be published as itself or as one of its k − 1 successors on a circle.

Paper
    [multitype 3.2]: ring generalization gives a k-regular all-assignments graph.
Notation
    positions on the ring are 0 … n − 1; ``order[p]`` is the record at position p; publishing position q has the preimages
    q − k + 1 … q.
Invariants
    I1  Every row of `targets` and of `members` holds k different positions, and every position stands in k rows: k-regular.

>>> targets(5, 2).tolist()
[[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
>>> members(5, 2).tolist()
[[0, 4], [1, 0], [2, 1], [3, 2], [4, 3]]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import Infeasible


def targets(count: int, degree: int) -> NDArray[np.int32]:
    """For each position the positions it may be published at."""
    return _around(count, np.arange(degree), degree)


def members(count: int, degree: int) -> NDArray[np.int32]:
    """For each published position the positions it may stand for."""
    return _around(count, -np.arange(degree), degree)


def _around(count: int, offsets: NDArray[np.int64], degree: int) -> NDArray[np.int32]:
    if count < degree:
        what = f"{count} records cannot each have {degree} candidates"
        raise Infeasible(what, where="protect", hint=f"ask for at most {count} candidates, or give more records")
    return ((np.arange(count)[:, None] + offsets[None, :]) % count).astype(np.int32)  # I1
