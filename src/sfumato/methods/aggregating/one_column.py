"""Groups of one column of numbers: the best there are.

Paper: Hansen, Mukherjee (2003).
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray


def best_groups(values: FloatArray, fewest: int) -> IntArray:
    """The group of each value; the sum of squared distances from the means of groups is the least there is."""
    from sfumato.methods.aggregating.kernels.shortest_path import best_runs

    if len(values) < 2 * fewest:
        return np.zeros(len(values), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    of = np.empty(len(values), dtype=np.int64)
    of[order] = best_runs(np.ascontiguousarray(values[order]), fewest)
    return of
