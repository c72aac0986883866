"""Which rows look alike when cells are suppressed: counted for all rows at once, for every choice of known columns.

Notation
    codes     rows × columns, values from 1 on, 0 for a suppressed cell
    known     a choice of columns that an outsider knows
    alike     rows that show the same in the known columns, suppressed cells included
    M         rows of one person that fit what a row shows in the known columns; a suppressed cell fits every value

Where a person may stand in several rows, k·M rows must look alike, for up to m known columns: whoever knows fewer columns of all
rows of a person may find more of them in a larger class, and that is not implied by what holds for m columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group

Known = tuple[int, ...]


def choices(columns: Sequence[int], m: int, *, fewer_too: bool = False) -> list[Known]:
    """The columns an outsider knows; who knows fewer is left with more, as long as rows are people.

    >>> choices([0, 1], 1), choices([0, 1], 2, fewer_too=True)
    ([(0,), (1,)], [(), (0,), (1,), (0, 1)])
    """
    most = min(m, len(columns))
    return [known for many in range(0 if fewer_too else most, most + 1) for known in combinations(columns, many)]


@dataclass(frozen=True, slots=True)
class RowsOfPeople:
    """The original codes of all rows, and whose they are."""

    codes: IntArray
    person: IntArray

    def most(self, shown: IntArray, known: Known) -> IntArray:
        """M of what each row shows."""
        places = list(known)
        hidden = group([shown[:, place] == 0 for place in places], rows=len(shown))
        found = np.empty(len(shown), dtype=np.int64)
        for kind, first in enumerate(hidden.first.tolist()):
            rows = np.flatnonzero(hidden.of == kind)
            told = [place for place in places if shown[first, place]]
            looks = group([self.codes[:, place] for place in told], rows=len(self.codes))
            pairs = group([looks.of, self.person])
            most = np.zeros(len(looks), dtype=np.int64)
            np.maximum.at(most, looks.of[pairs.first], pairs.counts)
            found[rows] = most[looks.of[rows]]
        return found


def alike(codes: IntArray, known: Known) -> IntArray:
    """For each row how many rows look like it, itself included."""
    classes = group([codes[:, place] for place in known], rows=len(codes))
    return classes.counts[classes.of]


def wanted(codes: IntArray, known: Known, k: int, people: RowsOfPeople | None) -> IntArray | int:
    """How many rows must look like each row: k, or k times the rows of one person that fit it."""
    return k if people is None else k * people.most(codes, known)


def short_rows(codes: IntArray, asked: Sequence[tuple[Known, int]], people: RowsOfPeople | None = None) -> BoolArray:
    """rows × choices: do too few look alike?"""
    return np.stack([alike(codes, known) < wanted(codes, known, k, people) for known, k in asked], axis=1)
