"""How many rows of one person fit into each published box, at most.

Notation
    row     a row of somebody who has several, as leaf codes; rows are sorted by one column, the *guide*
    box     what a group is published as: an interval of leaves in every column

Cost: for every box the rows whose guide lies in its interval, each comparison ending at the first column that does not fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import IntArray


@jit
def most_rows_of_one(
    codes: NDArray[np.int64], person: IntArray, guide: int, start: IntArray, lo: IntArray, hi: IntArray, tally: IntArray
) -> IntArray:
    """Per box the largest number of rows of one person that fit.

    `start[c]` is the first row whose guide is at least c; `tally` is a zero for every person, and is left so.
    """
    most = np.zeros(len(lo), dtype=np.int64)
    for box in range(len(lo)):
        first, last = start[lo[box, guide]], start[hi[box, guide]]
        for row in range(first, last):
            fits = True
            for column in range(codes.shape[1]):
                if codes[row, column] < lo[box, column] or codes[row, column] >= hi[box, column]:
                    fits = False
                    break
            if fits:
                tally[person[row]] += 1
                if tally[person[row]] > most[box]:
                    most[box] = tally[person[row]]
        for row in range(first, last):
            tally[person[row]] = 0
    return most
