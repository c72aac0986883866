"""From a release that the kernel allows to one that is proven: back off cell by cell, then by whole columns, always in time.

Guarantee
    `climb_down` returns only when the exact guard has certified the board as it then stands; else it raises `Infeasible`.

Paper: [sequential Thm. 3.4] (deciding the full join is NP-hard for three and more releases, so some proofs must be given up)

Invariants
    I1  A rung that is not certified before its deadline is left for a coarser one; nothing uncertified is returned.
    I2  Each rung has a share of the budget, and rungs are finitely many.
    I3  Rungs of whole columns are tried without programs; only the last one, where nothing is left to give up, may use what time
        there is.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible
from sfumato.methods.sequences.search import Specialization
from sfumato.methods.sequences.witness import Witness, back_off

_CELLS, _CUT = 0.75, 0.9
"""Shares of the budget after which proving the cells, and then the cut, is given up."""
_LITTLE = 0.02
"""A share of the budget too small to begin another attempt."""
_MANY = 6
"""Columns up to which all sets of them are tried for suppression; beyond, single ones and all of them."""


class Ladder:
    """Ever coarser versions of a release, until one is proven."""

    def __init__(self, search: Specialization, cut: IntArray, started: float, budget: float) -> None:
        self.search, self.board, self.cut = search, search.board, cut
        self.started, self.budget = started, budget
        self.programs = self.lifted = 0
        self.spent = False
        """Whether something was given up because an attempt to prove it took too long."""

    def climb_down(self) -> str:
        """The name of the first rung that is proven; the board then stands there."""
        if self._backing_off(self.started + _CELLS * self.budget):
            return "cells"
        self.board.restore(self.cut)
        if self._backing_off(self.started + _CUT * self.budget):
            return "cut"
        if self._without_columns():
            return "columns"
        self.board.restore(self.cut)
        self.lifted += self.board.suppress(tuple(range(len(self.board.task.columns))))
        if self._certified(self.started + self.budget):
            return "suppressed"
        raise Infeasible(
            f"the claim could not be proven for all releases together within {self.budget:g} CPU seconds, not even with all columns"
            " of the new release suppressed",
            hint="allow more time (budget), publish fewer columns that earlier releases share, or lower the level",
        )

    def _backing_off(self, deadline: float) -> bool:
        """Generalize around those whose claim is not proven, or everybody when an attempt took too long (I1, I2)."""
        settled = None
        while True:
            begun = time.process_time()
            attempt = begun + (deadline - begun) / 2
            witness = Witness(self.board, attempt, settled)
            done = witness.certified()
            settled = witness.settled
            self.programs += witness.programs
            now = time.process_time()
            if done:
                return True
            self.spent |= now >= attempt
            if now >= deadline - _LITTLE * self.budget:
                return False
            moved = back_off(self.board, witness.short()) if now < attempt else self.board.lift(self._living())
            if not moved:
                return False
            self.lifted += moved

    def _living(self) -> IntArray:
        return np.flatnonzero(self.board.state())

    def _certified(self, deadline: float) -> bool:
        witness = Witness(self.board, deadline)
        done = witness.certified()
        self.programs += witness.programs
        return done

    def _without_columns(self) -> bool:
        """The cut with the cheapest set of shared columns suppressed for everybody that leaves nothing to prove (I3)."""
        options = []
        for columns in _sets(self.board.shared):
            self.board.restore(self.cut)
            moved = self.board.suppress(columns)
            options.append((self.search.loss(), columns, moved))
        for _, columns, moved in sorted(options):
            self.board.restore(self.cut)
            self.board.suppress(columns)
            if Witness(self.board, self.started).plain():
                self.lifted += moved
                return True
        return False


def _sets(columns: list[int]) -> list[tuple[int, ...]]:
    """
    >>> _sets([3, 5])
    [(3,), (5,), (3, 5)]
    """
    sizes = range(1, len(columns) + 1) if len(columns) <= _MANY else (1, len(columns))
    return [chosen for size in sizes for chosen in combinations(columns, size)]
