"""The cells of a plain text file as codes: one look at every eight bytes.

A plain file has one record for every line, no quotes, and line feeds alone; whatever else is found in it is left to the
reader that knows all of CSV.

Notation
    label      a text of a column; labels are numbered in the order in which they appear first
    slot       per column a table of labels by their hash, with open places marked −1; there are twice as many as labels
               may be
    word       eight bytes of the file, the first one lowest

Invariants
    I1  Two cells of a column have the same code exactly when their bytes are the same.
    I2  Every line but empty ones has as many cells as there are columns, or nothing is said (−1).
    I3  Behind a cell's last byte a word is zero, wherever the cell stands, so that equal cells have equal words; a cell
        of eight bytes is one word and an empty one.
    I4  A byte of a word is zero exactly where x − 1 borrows and x has no high bit; above the lowest such byte the
        borrow may lie, so only the lowest is believed.
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import CodeArray, IntArray
from sfumato.core.compiled import jit

_FEED = 10
_ONES, _HIGHS, _FACTOR = 0x0101010101010101, 0x8080808080808080, 0x9E3779B97F4A7C15


class CellLabels(NamedTuple):
    """Per column the labels so far."""

    slot: CodeArray
    begin: IntArray
    """Where a label stands first in the file."""
    size: IntArray
    hash: NDArray[np.uint64]
    found: IntArray
    """How many there are."""


@jit
def word_at(content: NDArray[np.uint8], words: NDArray[np.uint64], i: int) -> np.uint64:
    """The eight bytes from a place on; zeros behind the end (I3)."""
    at, shift = i >> 3, np.uint64((i & 7) << 3)
    if at + 1 < len(words):
        return (words[at] >> shift) | ((words[at + 1] << np.uint64(1)) << (np.uint64(63) - shift))
    word = np.uint64(0)
    for j in range(min(8, len(content) - i)):
        word |= np.uint64(content[i + j]) << np.uint64(j << 3)
    return word


@jit
def zeros_of(word: np.uint64) -> np.uint64:
    """The high bits of the bytes that are zero, right in the lowest one (I4)."""
    return (word - np.uint64(_ONES)) & ~word & np.uint64(_HIGHS)


@jit
def mixed(key: np.uint64, word: np.uint64) -> np.uint64:
    """A hash of everything before and one more word."""
    key = (key ^ word) * np.uint64(_FACTOR)
    return key ^ (key >> np.uint64(32))


@jit
def same_bytes(content: NDArray[np.uint8], words: NDArray[np.uint64], one: int, other: int, size: int) -> bool:
    """Whether two places begin with the same bytes."""
    while size >= 8:
        if word_at(content, words, one) != word_at(content, words, other):
            return False
        one, other, size = one + 8, other + 8, size - 8
    behind = (np.uint64(1) << np.uint64(size << 3)) - np.uint64(1)
    return ((word_at(content, words, one) ^ word_at(content, words, other)) & behind) == np.uint64(0)


@jit
def code_of(
    content: NDArray[np.uint8],
    words: NDArray[np.uint64],
    labels: CellLabels,
    c: int,
    begin: int,
    size: int,
    key: np.uint64,
) -> int:
    """Return the code of a label, new or known (I1), or −1 if the table of labels is full."""
    last = labels.slot.shape[1] - 1
    place = int(np.int64(key & np.uint64(last)))
    while labels.slot[c, place] >= 0:
        code = labels.slot[c, place]
        alike = labels.hash[c, code] == key and labels.size[c, code] == size
        if alike and same_bytes(content, words, labels.begin[c, code], begin, size):
            return code
        place = (place + 1) & last
    new = labels.found[c]
    if new == labels.begin.shape[1]:
        return -1
    labels.slot[c, place], labels.found[c] = new, new + 1
    labels.begin[c, new], labels.size[c, new], labels.hash[c, new] = begin, size, key
    return new


@jit
def code_cells(
    content: NDArray[np.uint8],
    words: NDArray[np.uint64],
    start: int,
    separator: int,
    labels: CellLabels,
    codes: CodeArray,
) -> int:
    """Fill in the codes of all records from a byte on, one line for each column; how many there are, −1 when one is not
    plain.

    `words` are the whole words of the content.
    """
    columns, room = codes.shape[0], codes.shape[1]
    end, i, row = len(content), start, 0
    separators, feeds = np.uint64(separator) * np.uint64(_ONES), np.uint64(_FEED) * np.uint64(_ONES)
    while i < end:
        if columns > 1 and content[i] == _FEED:
            i += 1
            continue
        if row == room:
            return -1
        for c in range(columns):
            begin, key, ended = i, np.uint64(0), False
            while not ended:
                word = word_at(content, words, i)
                found = zeros_of(word ^ separators) | zeros_of(word ^ feeds)
                if found != np.uint64(0):
                    below = ((found & (~found + np.uint64(1))) >> np.uint64(7)) - np.uint64(1)
                    word &= below
                    i += int(np.int64(((below & np.uint64(_ONES)) * np.uint64(_ONES)) >> np.uint64(56)))
                    ended = True
                else:
                    ended, i = i + 8 > end, min(i + 8, end)
                key = mixed(key, word)  # I3
            inner = i < end and content[i] == separator
            if inner != (c < columns - 1):
                return -1  # I2
            code = code_of(content, words, labels, c, begin, i - begin, key)
            if code < 0:
                return -1
            codes[c, row] = code
            i += 1
        row += 1
    return row
