"""What a recoded cell costs: the additive objectives that recoding methods minimize, column by column.

Notation
    loss          (|subset| − 1) / (|domain| − 1) of the published interval (`Domain.width`)
    ntil          height of the published interval over that of the column (`Domain.height`)
    entropy_loss  log₂ of the number of records under the published interval: what is still unknown about a record's
                  value

The cost of a record is the weighted mean over its columns; the cost of a grouping is the mean over the records it
places.

>>> from sfumato.data.generalization import Ranges
>>> problem = RecodingProblem(("age",), (Ranges(("20", "30", "60")),), (np.array([0, 1, 2, 2], dtype=np.int32),))
>>> costs = Costs.of(problem, "loss")
>>> costs.column(0, np.array([0, 0]), np.array([2, 3])).tolist()
[0.25, 1.0]


Pricing
-------
What publishing an interval costs, as integers, so that equal losses compare as equal.

Notation
    price    height of the subtree over the height of the hierarchy ([boundaries Def. 10]), or the share of the domain
             it covers
    unit     the common denominator of all prices where it is small, else a fine grid

Invariants
    I1  Prices are multiples of 1/unit; with hierarchies of moderate height, and ranges of whole numbers, they are
        exact.
    I2  A sum of prices over all columns and records fits a machine word.


Cell costs
----------
The columns' costs as the flat arrays that kernels read (see `kernels.cell_costs`).

Cost: a column of n leaves takes n² numbers up to `_PAIRS` leaves, and about n beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import PolicyError
from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem

if TYPE_CHECKING:
    from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts, Columns


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


# Pricing
# -------


Price = Literal["height", "width"]


def columns_of(problem: RecodingProblem, price: Price) -> Columns:
    """The columns of a problem as the kernels read them."""
    from sfumato.kinds.tables.methods.kernels.cell_costs import COLUMN, NODE, Columns

    unit = _unit(problem, price)
    parts = [_column(domain, price, unit) for domain in problem.domains]
    size = np.array([len(part[0]) for part in parts], dtype=np.int64)
    heads = np.zeros(len(parts), dtype=COLUMN)
    heads["tree"] = [isinstance(domain, Hierarchy) for domain in problem.domains]
    heads["offset"] = np.cumsum(size) - size
    nodes = np.zeros(int(size.sum()), dtype=NODE)
    for field, name in enumerate(NODE.names or ()):
        nodes[name] = np.concatenate([part[field] for part in parts])
    return Columns(heads, nodes)


def _column(domain: Generalization, price: Price, unit: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Price, parent, lo and hi of every node; of a line, the position of every leaf and three columns that are not
    read."""
    if isinstance(domain, Hierarchy):
        last = domain.size - 1 if price == "width" else int(domain.heights[-1])
        paid = domain.hi - domain.lo - 1 if price == "width" else domain.heights
        return np.rint(paid / max(last, 1) * unit).astype(np.int64), domain.parent, domain.lo, domain.hi
    if isinstance(domain, Ranges):
        start = np.zeros(domain.size, dtype=np.int64)
        position = domain.width(start, np.arange(1, domain.size + 1))
        return np.rint(position * unit).astype(np.int64), start, start, start
    raise TypeError(f"no prices are known for a domain of type {type(domain).__name__}")


def _unit(problem: RecodingProblem, price: Price) -> int:
    widest = (1 << 61) // (len(problem.domains) * (problem.records + 1))  # I2
    common = math.lcm(*(_denominator(domain, price) for domain in problem.domains))  # I1
    return common if 0 < common <= widest else min(widest, 1 << 40)


def _denominator(domain: Generalization, price: Price) -> int:
    """The common denominator of all prices of a column; 0 when there is none."""
    if isinstance(domain, Hierarchy):
        return max(domain.size - 1 if price == "width" else int(domain.heights[-1]), 1)
    if isinstance(domain, Ranges) and bool((domain.numbers == np.rint(domain.numbers)).all()):
        return max(int(domain.numbers[-1] - domain.numbers[0]), 1)
    return 0


# Cell costs
# ----------


_PAIRS = 512
_NONE = np.zeros(0, dtype=np.int64)
Piece = tuple[int, FloatArray, IntArray, IntArray]


def cell_costs(problem: RecodingProblem, objective: str) -> CellCosts:
    """Flatten the objective of a problem."""
    from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts

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
    from sfumato.kinds.tables.methods.kernels.cell_costs import CLIMB, LOG, SPAN, TABLE

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
