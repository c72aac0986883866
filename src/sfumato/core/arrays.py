"""Type aliases of arrays, named by what they hold.

>>> narrow_codes(np.array([0, 127]), 128).dtype, narrow_codes(np.array([0, 128]), 129).dtype
(dtype('int8'), dtype('int16'))
>>> positions_in_runs(np.array([2, 0, 3])).tolist()
[0, 1, 0, 1, 2]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
"""Whole numbers: codes, counts, positions, ranks."""
CodeArray = NDArray[np.int32]
"""Codes of values, held small."""
NarrowArray = NDArray[np.signedinteger[Any]]
"""Codes of values in as few bytes as hold them; convert them before calculating."""
FloatArray = NDArray[np.float64]
"""Real numbers: shares, costs, probabilities."""
BoolArray = NDArray[np.bool_]
"""Answers, one for each entry."""


def narrow_codes(codes: NDArray[np.integer[Any]], values: int) -> NarrowArray:
    """Codes 0 … values − 1 in as few bytes as hold every one of them."""
    return codes.astype(np.min_scalar_type(-values), copy=False)


def positions_in_runs(lengths: IntArray) -> IntArray:
    """For runs of these lengths, one after the other, the place of every entry in its own run."""
    before: IntArray = np.cumsum(lengths) - lengths
    every: IntArray = np.arange(int(lengths.sum()))
    every -= np.repeat(before, lengths)
    return every
