"""The space of all tables that keep the properties: integer points between linear inequalities, cut into independent parts.

Notation
    variable   a value that moves on its own: a cell, or all cells of a partition that share a value
    x          the vector of variables in units of their lattice (1, a day, 0.01, …), so every x is an integer
    rows       rows·x ≥ bounds;  equal·x stays what it is at the start
    strand     variables of one column, the unit along which block moves run
    part       a connected component of variables that share rows; parts are independent of each other

Invariants
    I1  Variables and rows are stored part by part, inside a part strand by strand and upwards in value: a part is a slice.
    I2  `start` is the data: a point that keeps every row, checked when the polytope is closed.
    I3  Every number stays below 2⁵³, so sums in double precision are exact.

>>> import numpy as np
>>> space = PropertySheet(np.array([3, 5, 11]), np.zeros(3, int), np.zeros(3, int), np.full(3, 50))
>>> space.add([0, 0, 0], [0, 1, 2], [-1, -1, 1], [0], "v[1] + v[2] <= v[3]")
>>> polytope = space.close()
>>> polytope.part_count, (polytope.rows @ polytope.start - polytope.bounds).tolist()
(1, [3, 3, 5, 11, 47, 45, 39])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.errors import DataError, PolicyError

Sparse = Any  # scipy's matrix; scipy is imported where it is needed


@dataclass(frozen=True, slots=True)
class Polytope:
    """A bounded set of integer points around the data; see the notation above."""

    start: IntArray
    strand: IntArray
    rows: Sparse
    bounds: IntArray
    equal: Sparse
    cells_at: IntArray
    rows_at: IntArray
    equal_at: IntArray
    variable_of: IntArray

    @property
    def part_count(self) -> int:
        return self.cells_at.size - 1

    def slack(self) -> IntArray:
        found: IntArray = self.rows @ self.start - self.bounds
        return found


@dataclass(slots=True)
class PropertySheet:
    """Collects properties as rows over numbered variables, then closes them into a `Polytope`."""

    start: IntArray
    strand: IntArray
    lower: IntArray
    upper: IntArray
    _terms: list[tuple[IntArray, IntArray, IntArray]] = field(default_factory=list)
    _bounds: list[IntArray] = field(default_factory=list)
    _count: int = 0
    _equal_terms: list[tuple[IntArray, IntArray, IntArray]] = field(default_factory=list)
    _equal_count: int = 0
    _floor: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    _ceiling: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, row: Any, variable: Any, coefficient: Any, bounds: Any, name: str) -> None:
        """Rows Σ coefficient · x ≥ bound; `row` counts from 0 within this call. The data must keep them."""
        row, variable, coefficient, bounds = (_ints(entry) for entry in (row, variable, coefficient, bounds))
        reached = np.bincount(row, coefficient * self.start[variable], minlength=bounds.size)
        broken = int((reached < bounds).sum())
        if broken:  # I2
            raise DataError(
                f"the property does not hold in the data ({broken} of {bounds.size} instances)",
                where=f"keep: {name}",
                hint="pattern-walk keeps what is true of the data; drop or weaken the property",
            )
        self._terms.append((row + self._count, variable, coefficient))
        self._bounds.append(bounds)
        self._count += bounds.size

    def add_equal(self, row: Any, variable: Any, coefficient: Any, values: Any, name: str) -> None:
        """Rows Σ coefficient · x = value, which the data must keep."""
        row, variable, coefficient, values = (_ints(entry) for entry in (row, variable, coefficient, values))
        self._check_equal(row, variable, coefficient, values, name)
        self._equal_terms.append((row + self._equal_count, variable, coefficient))
        self._equal_count += values.size

    def _check_equal(self, row: IntArray, variable: IntArray, coefficient: IntArray, values: IntArray, name: str) -> None:
        reached = np.bincount(row, coefficient * self.start[variable], minlength=values.size)
        broken = int((reached != values).sum())
        if broken:
            raise DataError(f"the property does not hold in the data ({broken} of {values.size} instances)", where=f"keep: {name}")

    def add_order(self, pairs: IntArray, name: str) -> None:
        """x_lower ≤ x_upper for variables of one strand, strictly ordered in the data; box rows they imply become needless.

        Partitions can have boxes of their own: a bound follows from the neighbour's only where that is at least as tight.
        """
        row = np.repeat(np.arange(pairs.shape[0]), 2)
        self.add(row, pairs[:, ::-1].ravel(), np.tile([1, -1], pairs.shape[0]), np.zeros(pairs.shape[0], int), name)
        low, high = pairs.T
        self._floor = np.union1d(self._floor, high[self.lower[low] >= self.lower[high]])
        self._ceiling = np.union1d(self._ceiling, low[self.upper[high] <= self.upper[low]])

    def close(self) -> Polytope:
        """The polytope with its box, sorted into parts."""
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        count = self.start.size
        self._check_box()
        rows, bounds = self._boxed()
        equal = _matrix(self._equal_terms, self._equal_count, count)
        _check_size(rows, self.lower, self.upper)
        both = sparse.vstack([rows, equal]).tocsr()
        links = sparse.bmat([[None, both.T], [both, None]]) if both.nnz else sparse.csr_matrix((count, count))
        part = connected_components(links, directed=False)[1][:count].astype(np.int64)
        order = np.lexsort((self.start, self.strand, part))
        return _sorted(self, rows, bounds, equal, part, order)

    def _check_box(self) -> None:
        outside = int(((self.start < self.lower) | (self.start > self.upper)).sum())
        if outside:
            raise DataError(f"{outside} values lie outside their domain", hint="widen the domain of the replaced columns")

    def _boxed(self) -> tuple[Sparse, IntArray]:
        from scipy import sparse

        below = np.setdiff1d(np.arange(self.start.size), self._floor)
        above = np.setdiff1d(np.arange(self.start.size), self._ceiling)
        eye = sparse.identity(self.start.size, dtype=np.int64, format="csr")
        rows = sparse.vstack([_matrix(self._terms, self._count, self.start.size), eye[below], -eye[above]]).tocsr()
        return rows, np.concatenate([*self._bounds, self.lower[below], -self.upper[above]])


def _ints(values: Sequence[int] | IntArray) -> IntArray:
    return np.asarray(values, dtype=np.int64)


def _matrix(terms: list[tuple[IntArray, IntArray, IntArray]], count: int, variables: int) -> Sparse:
    from scipy import sparse

    empty = np.empty(0, np.int64)
    row, variable, coefficient = (np.concatenate([empty, *parts]) for parts in (zip(*terms, strict=True) if terms else [()] * 3))
    return sparse.csr_matrix((coefficient, (row, variable)), shape=(count, variables), dtype=np.int64)


def _check_size(rows: Sparse, lower: IntArray, upper: IntArray) -> None:
    largest = np.maximum(np.abs(lower), np.abs(upper)).max(initial=0)
    total = abs(rows).sum(axis=1).max() if rows.nnz else 0
    if float(largest) * float(total) >= 2.0**52:  # I3
        raise PolicyError(
            "values or coefficients are too large for exact sums", hint="use fewer decimal places or a smaller domain"
        )


def _sorted(made: PropertySheet, rows: Sparse, bounds: IntArray, equal: Sparse, part: IntArray, order: IntArray) -> Polytope:
    """Everything moved into the order of I1."""
    count = int(part.max(initial=-1)) + 1
    rows, row_order, rows_at = _by_part(rows[:, order], part[order], count)
    equal, _, equal_at = _by_part(equal[:, order], part[order], count)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    cells_at = np.searchsorted(part[order], np.arange(count + 1))
    start, strand = made.start[order], made.strand[order]
    return Polytope(start, strand, rows, bounds[row_order], equal, cells_at, rows_at, equal_at, place)  # I1


def _by_part(rows: Sparse, part: IntArray, count: int) -> tuple[Sparse, IntArray, IntArray]:
    """Rows grouped by the part of their first variable, that grouping, and where each part begins."""
    rows = rows.tocsr()
    rows.sum_duplicates()
    filled = np.diff(rows.indptr) > 0
    home = np.zeros(rows.shape[0], np.int64)
    home[filled] = part[rows.indices[rows.indptr[:-1][filled]]]
    order = np.argsort(home, kind="stable")
    return rows[order], order, np.searchsorted(home[order], np.arange(count + 1))
