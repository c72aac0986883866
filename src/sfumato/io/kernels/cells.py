"""The cells of a plain text file as codes: one look at every byte.

A plain file has one record for every line, no quotes, and line feeds alone; whatever else is found in it is left to the reader that
knows all of CSV.

Notation
    label      a text that stands in a column; labels are numbered in the order in which they appear first
    slot       per column a table of labels by their hash, with open places marked −1; there are twice as many as labels may be

Invariants
    I1  Two cells of a column have the same code exactly when their bytes are the same.
    I2  Every line but empty ones has as many cells as there are columns, or nothing is said (−1).
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, IntArray

FACTOR, MASK, SHIFT = 1_000_003, (1 << 42) - 1, 21
_FEED = 10


class CellLabels(NamedTuple):
    """Per column the labels so far."""

    slot: CodeArray
    begin: IntArray
    """Where a label stands first in the file."""
    size: IntArray
    hash: IntArray
    found: IntArray
    """How many there are."""


@jit
def code_of(content: NDArray[np.uint8], labels: CellLabels, c: int, begin: int, size: int, key: int) -> int:
    """The number of a label of a column, new or known (I1); −1 when there is no room for another."""
    last = labels.slot.shape[1] - 1
    place = (key ^ (key >> SHIFT)) & last
    while labels.slot[c, place] >= 0:
        code = labels.slot[c, place]
        if labels.hash[c, code] == key and labels.size[c, code] == size:
            other, i = labels.begin[c, code], 0
            while i < size and content[other + i] == content[begin + i]:
                i += 1
            if i == size:
                return code
        place = (place + 1) & last
    new = labels.found[c]
    if new == labels.begin.shape[1]:
        return -1
    labels.slot[c, place], labels.found[c] = new, new + 1
    labels.begin[c, new], labels.size[c, new], labels.hash[c, new] = begin, size, key
    return new


@jit
def code_cells(content: NDArray[np.uint8], start: int, separator: int, labels: CellLabels, codes: CodeArray) -> int:
    """Fill in the codes of all records from a byte on, one line for each column; how many there are, −1 when one is not plain."""
    columns, room = codes.shape[0], codes.shape[1]
    end, i, row = len(content), start, 0
    while i < end:
        if columns > 1 and content[i] == _FEED:
            i += 1
            continue
        if row == room:
            return -1
        for c in range(columns):
            begin, key = i, 0
            while i < end and content[i] != separator and content[i] != _FEED:
                key = (key * FACTOR + int(content[i])) & MASK
                i += 1
            inner = i < end and content[i] == separator
            if inner != (c < columns - 1):
                return -1  # I2
            code = code_of(content, labels, c, begin, i - begin, key)
            if code < 0:
                return -1
            codes[c, row] = code
            i += 1
        row += 1
    return row
