"""The cost of an interval of leaves, ready for inner loops: a table of all pairs for small columns, a rule for large ones.

Notation
    lo, last    smallest and largest leaf of a group in a column (both included)
    tables      the first so many columns are tables, which the inner loops read without asking
    TABLE       ``values[start + lo · size + last]``
    SPAN        ``weight · (values[start + last] − values[start + lo])``: numbers in a row
    LOG         ``weight · log₂(values[start + last + 1] − values[start + lo])``: records below, counted cumulatively
    CLIMB       from leaf `lo` up to the first node that reaches `last`; its cost is ``values[start + node]``
"""

# mypy: disable-error-code="arg-type, no-any-return, return-value"
# (array elements stand for int and float in compiled code)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import CodeArray, FloatArray, IntArray

TABLE, SPAN, LOG, CLIMB = 0, 1, 2, 3

in_place = jit(_nrt=False, error_model="numpy")
"""For functions that make no arrays: nothing is counted, which halves their time and that of the compiler."""


class CellCosts(NamedTuple):
    """The columns' costs as flat arrays; `parent` and `reach` are parallel to `values` where a column climbs."""

    tables: int
    rule: NDArray[np.int64]
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    weight: NDArray[np.float64]
    values: NDArray[np.float64]
    parent: NDArray[np.int64]
    reach: NDArray[np.int64]


@in_place
def cell_cost(costs: CellCosts, column: int, lo: int, last: int) -> float:
    """What publishing the closed interval around ``lo … last`` costs one record."""
    start = costs.start[column]
    rule = costs.rule[column]
    if rule == TABLE:
        return costs.values[start + lo * costs.size[column] + last]
    if rule == SPAN:
        return costs.weight[column] * (costs.values[start + last] - costs.values[start + lo])
    if rule == LOG:
        return costs.weight[column] * np.log2(max(costs.values[start + last + 1] - costs.values[start + lo], 1.0))
    node = np.int64(lo)
    while costs.reach[start + node] <= last:
        node = costs.parent[start + node]
    return costs.values[start + node]


@in_place
def beyond_tables(
    costs: CellCosts, lo: CodeArray, last: CodeArray, i: int, other_lo: CodeArray, other_last: CodeArray, j: int
) -> float:
    """The cost, in the columns that are no tables, of one record of the box around boxes i and j.

    Inner loops read the tables themselves, from arrays bound to names of their own: reading them from the tuple, or in a
    function, costs ten times as much.
    """
    total = 0.0
    for c in range(costs.tables, lo.shape[1]):
        total += cell_cost(costs, c, min(lo[i, c], other_lo[j, c]), max(last[i, c], other_last[j, c]))
    return total


@jit
def cell_costs_of(costs: CellCosts, column: int, lo: IntArray, last: IntArray) -> FloatArray:
    """`cell_cost` for many intervals of one column."""
    each = np.empty(len(lo))
    for i in range(len(lo)):
        each[i] = cell_cost(costs, column, lo[i], last[i])
    return each
