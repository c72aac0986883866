"""The fewest cells, by an integer program: for small tables, with a bound that holds also where time runs out.

Notation
    x[r, c]      the cell of row r in column c is suppressed
    S, T ⊆ S     known columns, and those of them in which a row is suppressed
    z[r, S, T]   row r is suppressed in T, and shows its values in the rest of S

For every row r, known columns S and T ⊆ S: if x[r, ·] is as T says on S, then Σ z[r', S, T] ≥ k over the rows r' with the same
values in S ∖ T. What T says is a sum that is 1 only then, so the program is linear. The least weight of suppressed cells is its
value, and the solver's bound is one on every solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.methods.suppressing.patterns import Known

MOST = 60_000
"""Terms of a program that is tried."""


@dataclass(frozen=True, slots=True)
class Fewest:
    """Suppressed cells, a bound on the weight of any solution, and whether the cells reach it."""

    hidden: BoolArray
    bound: float
    proven: bool


def terms(codes: IntArray, asked: Sequence[tuple[Known, int]]) -> int:
    """How large the program would be."""
    rows = len(codes)
    return sum(rows * rows * (1 << len(known)) for known, _ in asked)


def fewest_cells(codes: IntArray, asked: Sequence[tuple[Known, int]], weights: FloatArray, seconds: float) -> Fewest | None:
    """The fewest cells; nothing when the solver finds nothing in its time."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    program = _CellProgram(codes)
    for known, k in asked:
        program.add(known, k)
    rows, columns = codes.shape
    cost = np.zeros(program.variables)
    cost[: rows * columns] = np.tile(weights, rows)
    matrix, low = program.matrix()
    found = milp(
        cost,
        constraints=LinearConstraint(matrix, low, np.inf),
        integrality=np.concatenate([np.ones(rows * columns), np.zeros(program.variables - rows * columns)]),
        bounds=Bounds(0, 1),
        options={"time_limit": seconds, "mip_rel_gap": 1e-6},
    )
    if found.x is None:
        return None
    hidden = found.x[: rows * columns].reshape(rows, columns) > 0.5
    bound = float(found.mip_dual_bound if found.mip_dual_bound is not None else 0.0)
    return Fewest(hidden, bound, bool(found.status == 0))


class _CellProgram:
    def __init__(self, codes: IntArray) -> None:
        self.codes = codes
        self.variables = codes.size
        self.together: dict[tuple[int, Known, Known], int] = {}
        self.places: list[tuple[int, int, float]] = []
        self.low: list[float] = []

    def add(self, known: Known, k: int) -> None:
        """The constraints of one choice of known columns."""
        for many in range(len(known) + 1):
            for hidden in combinations(known, many):
                for row in range(len(self.codes)):
                    self._fits(row, known, hidden, k)

    def _fits(self, row: int, known: Known, hidden: Known, k: int) -> None:
        """Σ z ≥ k (1 − Σ_T (1 − x) − Σ_{S∖T} x)."""
        line, columns = len(self.low), self.codes.shape[1]
        self.low.append(float(k * (1 - len(hidden))))
        shown = [column for column in known if column not in hidden]
        for other in np.flatnonzero((self.codes[:, shown] == self.codes[row, shown]).all(axis=1)).tolist():
            self.places.append((line, self._as_said(other, known, hidden), 1.0))
        for column in known:
            self.places.append((line, row * columns + column, float(-k if column in hidden else k)))

    def _as_said(self, row: int, known: Known, hidden: Known) -> int:
        """The variable that may be 1 only when the row is suppressed in just these of the known columns."""
        if (row, known, hidden) not in self.together:
            number = self.together[row, known, hidden] = self.variables
            self.variables += 1
            for column in known:
                line, place = len(self.low), row * self.codes.shape[1] + column
                if column in hidden:  # z ≤ x
                    self.places += [(line, place, 1.0), (line, number, -1.0)]
                    self.low.append(0.0)
                else:  # z ≤ 1 − x
                    self.places += [(line, place, -1.0), (line, number, -1.0)]
                    self.low.append(-1.0)
        return self.together[row, known, hidden]

    def matrix(self) -> tuple[object, FloatArray]:
        from scipy.sparse import csr_array

        line, place, value = (np.array(side) for side in zip(*self.places, strict=True))
        return csr_array((value, (line, place)), shape=(len(self.low), self.variables)), np.array(self.low)
