"""Places in the order of whole numbers: counted where the numbers lie close together, else sorted."""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray


@jit
def by_key(key: IntArray) -> IntArray:
    """Places in the order of their keys; equal ones as they come where they are counted."""
    lo = key[0]
    last = key[0]
    for i in range(len(key)):
        lo = min(lo, key[i])
        last = max(last, key[i])
    if last - lo > 2 * len(key):
        return np.argsort(key)
    begin = np.zeros(last - lo + 2, dtype=np.int64)
    for i in range(len(key)):
        begin[key[i] - lo + 1] += 1
    for at in range(last - lo + 1):
        begin[at + 1] += begin[at]
    ranks = np.zeros(len(key), dtype=np.int64)
    for i in range(len(key)):
        ranks[begin[key[i] - lo]] = i
        begin[key[i] - lo] += 1
    return ranks
