"""The columns' costs as the flat arrays that kernels read (see `kernels.cell_costs`).

Cost: a column of n leaves takes n² numbers up to `_PAIRS` leaves, and about n beyond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.problem import RecodingProblem

if TYPE_CHECKING:
    from sfumato.methods.recoding.kernels.cell_costs import CellCosts

_PAIRS = 512
_NONE = np.zeros(0, dtype=np.int64)
Piece = tuple[int, FloatArray, IntArray, IntArray]


def cell_costs(problem: RecodingProblem, objective: str) -> CellCosts:
    """Flatten the objective of a problem."""
    from sfumato.methods.recoding.kernels.cell_costs import CellCosts

    costs = Costs.of(problem, objective)
    pieces = [_piece(problem, costs, column, objective) for column in range(len(problem.domains))]
    length = [max(len(values), len(parent)) for _, values, parent, _ in pieces]
    return CellCosts(
        0,
        np.array([rule for rule, *_ in pieces], dtype=np.int64),
        np.array([domain.size for domain in problem.domains], dtype=np.int64),
        np.cumsum([0, *length[:-1]]).astype(np.int64),
        costs.weights,
        np.concatenate([values for _, values, _, _ in pieces]),
        np.concatenate([_padded(parent, n) for (_, _, parent, _), n in zip(pieces, length, strict=True)]),
        np.concatenate([_padded(reach, n) for (_, _, _, reach), n in zip(pieces, length, strict=True)]),
    )


def _padded(array: IntArray, length: int) -> IntArray:
    return np.concatenate([array, np.zeros(length - len(array), dtype=np.int64)])


def _piece(problem: RecodingProblem, costs: Costs, column: int, objective: str) -> Piece:
    from sfumato.methods.recoding.kernels.cell_costs import CLIMB, LOG, SPAN, TABLE

    domain = problem.domains[column]
    if domain.size <= _PAIRS:
        return TABLE, _pairs(domain, costs, column), _NONE, _NONE
    if isinstance(domain, Ranges):
        if objective == "entropy_loss":
            return LOG, np.concatenate([[0.0], np.cumsum(problem.tally(column))]), _NONE, _NONE
        return SPAN, domain.numbers / ((domain.numbers[-1] - domain.numbers[0]) or 1.0), _NONE, _NONE
    if not isinstance(domain, Hierarchy):
        raise TypeError(f"no cost rule for {type(domain).__name__}")
    return CLIMB, costs.column(column, domain.lo, domain.hi), domain.parent, domain.hi


def _pairs(domain: Generalization, costs: Costs, column: int) -> FloatArray:
    lo, last = np.triu_indices(domain.size)
    table = np.zeros((domain.size, domain.size))
    table[lo, last] = costs.column(column, *domain.close(lo.astype(np.int64), last.astype(np.int64) + 1))
    return table.ravel()
