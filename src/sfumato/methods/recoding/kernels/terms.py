"""What a group must offer, as numbers that a loop can read: records, different values, shares, entropy, distance.

Notation
    row       ``tally[g]``: how many records of group g have each tag; the tags of hidden column h are ``start[h]:start[h + 1]``
    fewest    records per group
    kinds     different values of a hidden column (0: any)
    share     largest share of one value (1: any)
    entropy   least entropy of the shares (0: any)
    far       largest distance of the shares from `overall`, half the sum of absolute differences (1: any)
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.kernels.cell_costs import in_place

_SLACK = 1e-10
"""Verdicts are a little stricter than the models', so that no rounding lets a group pass here and fail there."""


class Terms(NamedTuple):
    """The terms of a problem's claims."""

    fewest: int
    start: IntArray
    kinds: IntArray
    share: FloatArray
    entropy: FloatArray
    far: FloatArray
    overall: FloatArray


@in_place
def met(terms: Terms, tally: IntArray, g: int, size: int) -> bool:
    """Whether a group of this size and tally meets the terms; an empty one does."""
    if size < terms.fewest:
        return size == 0
    for h in range(len(terms.kinds)):
        kinds, largest, entropy, apart = 0, 0, 0.0, 0.0
        for v in range(terms.start[h], terms.start[h + 1]):
            many = tally[g, v]
            if many > 0:
                kinds += 1
                largest = max(largest, many)
                if terms.entropy[h] > 0.0:
                    entropy -= many / size * np.log(many / size)
            if terms.far[h] < 1.0:
                apart += abs(many / size - terms.overall[v])
        if kinds < terms.kinds[h] or largest > terms.share[h] * size + _SLACK:
            return False
        if entropy < terms.entropy[h] + _SLACK and terms.entropy[h] > 0.0:
            return False
        if apart > 2.0 * terms.far[h] - _SLACK and terms.far[h] < 1.0:
            return False
    return True


@in_place
def too_much(terms: Terms, tally: IntArray, g: int, size: int) -> tuple[int, int]:
    """The tag that a claim on shares finds most over-represented, and how many records of it to drop; −1 when there is none."""
    worst, tag, many = 0.0, -1, 0
    for h in range(len(terms.kinds)):
        if terms.far[h] >= 1.0 and terms.share[h] >= 1.0 and terms.entropy[h] <= 0.0:
            continue
        for v in range(terms.start[h], terms.start[h + 1]):
            wanted = terms.overall[v] * size if terms.far[h] < 1.0 else terms.share[h] * size if terms.share[h] < 1.0 else 0.0
            if tally[g, v] - wanted > worst:
                worst, tag = tally[g, v] - wanted, v
                many = max(1, int(0.5 * worst if terms.share[h] >= 1.0 or terms.far[h] < 1.0 else worst))
    return tag, many
