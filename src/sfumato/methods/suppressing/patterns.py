"""Which rows look alike when cells are suppressed: counted for all rows at once, for every choice of known columns.

Notation
    codes     rows × columns, values from 1 on, 0 for a suppressed cell
    known     a choice of columns that an outsider knows
    alike     rows that show the same in the known columns, suppressed cells included
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group

Known = tuple[int, ...]


def choices(columns: Sequence[int], m: int) -> list[Known]:
    """The columns an outsider knows; who knows fewer is left with more."""
    return list(combinations(columns, min(m, len(columns))))


def alike(codes: IntArray, known: Known) -> IntArray:
    """For each row how many rows look like it, itself included."""
    classes = group([codes[:, place] for place in known], rows=len(codes))
    return classes.counts[classes.of]


def short_rows(codes: IntArray, asked: Sequence[tuple[Known, int]]) -> BoolArray:
    """rows × choices: do too few look alike?"""
    return np.stack([alike(codes, known) < k for known, k in asked], axis=1)
