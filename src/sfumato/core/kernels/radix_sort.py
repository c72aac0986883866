"""Sorting keys with their places, digit by digit: linear in the keys, however many of them differ.

Notation
    digit    `BITS` bits of a key; keys are below ``2 ** bits``, so a few digits are all there is to sort by
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.compiled import jit

BITS = 11


@jit
def sort_by_digits(keys: IntArray, places: IntArray, other_keys: IntArray, other_places: IntArray, bits: int) -> bool:
    """Sort keys, which are not negative, and their places with them; equal keys stay in their order.

    The other arrays are working memory; they hold the result if the return value is true.
    """
    tally = np.zeros((1 << BITS) + 1, dtype=np.int64)
    turned = False
    for shift in range(0, bits, BITS):
        for digit in range((1 << BITS) + 1):
            tally[digit] = 0
        if turned:
            spread(other_keys, other_places, keys, places, shift, tally)
        else:
            spread(keys, places, other_keys, other_places, shift, tally)
        turned = not turned
    return turned


@jit
def spread(
    keys: IntArray, places: IntArray, sorted_keys: IntArray, sorted_places: IntArray, shift: int, tally: IntArray
) -> None:
    """Sort by one digit; the tally is zero."""
    mask = (1 << BITS) - 1
    for i in range(len(keys)):
        tally[((keys[i] >> shift) & mask) + 1] += 1
    for digit in range(1 << BITS):
        tally[digit + 1] += tally[digit]
    for i in range(len(keys)):
        digit = (keys[i] >> shift) & mask
        at = tally[digit]
        sorted_keys[at] = keys[i]
        sorted_places[at] = places[i]
        tally[digit] = at + 1
