"""What a recoded cell costs: the additive objectives that recoding methods minimize, column by column.

Notation
    loss          (|subset| − 1) / (|domain| − 1) of the published interval (`Domain.width`)
    ntil          height of the published interval over that of the column (`Domain.height`)
    entropy_loss  log₂ of the number of records under the published interval: what is still unknown about a record's value

The cost of a record is the weighted mean over its columns; the cost of a grouping is the mean over the records it places.

>>> from sfumato.data.generalization import Ranges
>>> problem = RecodingProblem(("age",), (Ranges(("20", "30", "60")),), (np.array([0, 1, 2, 2], dtype=np.int32),))
>>> costs = Costs.of(problem, "loss")
>>> costs.column(0, np.array([0, 0]), np.array([2, 3])).tolist()
[0.25, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.errors import PolicyError
from sfumato.methods.recoding.problem import Grouping, RecodingProblem

ColumnCost = Callable[[IntArray, IntArray], FloatArray]
OBJECTIVES = ("loss", "ntil", "entropy_loss")


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of publishing intervals, one function and one weight (they sum to 1) per column."""

    columns: tuple[ColumnCost, ...]
    weights: FloatArray

    @classmethod
    def of(cls, problem: RecodingProblem, objective: str) -> Costs:
        if objective not in OBJECTIVES:
            raise PolicyError(f"no cell-wise objective '{objective}'", hint=f"one of {', '.join(OBJECTIVES)}")
        weights = np.array([problem.weights.get(name, 1.0) for name in problem.names])
        columns = tuple(_column_cost(problem, column, objective) for column in range(len(problem.domains)))
        return cls(columns, weights / (weights.sum() or 1.0))

    def column(self, column: int, lo: IntArray, hi: IntArray) -> FloatArray:
        """The weighted cost of publishable intervals of one column."""
        weighted: FloatArray = self.columns[column](lo, hi) * self.weights[column]
        return weighted

    def per_record(self, problem: RecodingProblem, grouping: Grouping) -> FloatArray:
        """What one record of each group costs."""
        total = np.zeros(grouping.groups)
        for column, (lo, hi) in enumerate(problem.intervals(grouping)):
            total += self.column(column, lo, hi)
        return total

    def mean(self, problem: RecodingProblem, grouping: Grouping) -> float:
        """The cost of a grouping per placed record."""
        each = self.per_record(problem, grouping)
        return float((each[grouping.group] * grouping.count).sum() / max(int(grouping.count.sum()), 1))


def _column_cost(problem: RecodingProblem, column: int, objective: str) -> ColumnCost:
    domain = problem.domains[column]
    if objective == "loss":
        return domain.width
    if objective == "ntil":
        return domain.height
    below = np.concatenate([[0], np.cumsum(problem.tally(column))])
    return lambda lo, hi: np.log2(np.maximum(below[hi] - below[lo], 1))
