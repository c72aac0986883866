"""Where the polytope is flat: inequalities that can only hold as equalities, and the integer moves that keep equalities.

A walk cannot leave a face whose rows are tight everywhere; it has to walk inside it. One linear program over the cone of directions
at the data finds all such rows at once, and integer elimination gives a basis of the moves that keep them.

Notation
    cone    the directions d with row·d ≥ 0 for every row that is tight at the data and equal·d = 0
    s       how far a direction loosens a doubtful row, at most 1

Invariants
    I1  Σ s is largest for a direction that loosens every row that can be loosened, because directions of a cone add up; rows
        with s = 0 there are implied equalities.
    I2  Column operations by ±1 and integer multiples keep the lattice: the basis generates every integer solution of
        equal·u = 0, not only a sublattice.

>>> [dict(sorted(move.items())) for move in lattice_kernel([{0: 2, 1: -1, 2: -1}], [0, 1, 2])]
[{1: -1, 2: 1}, {0: 1, 1: 2}]
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray

Sparse = Any
Vector = dict[int, int]


def implied_equalities(tight: Sparse, doubtful: NDArray[np.bool_], equal: Sparse) -> NDArray[np.bool_]:
    """Which of the `doubtful` rows among the `tight` ones no feasible point can loosen."""
    from scipy import sparse
    from scipy.optimize import linprog

    count, width = int(doubtful.sum()), tight.shape[1]
    if not count:
        return np.zeros(tight.shape[0], dtype=bool)
    picks = sparse.identity(tight.shape[0], format="csr")[:, np.flatnonzero(doubtful)]
    loosening = sparse.hstack([-tight, picks]).tocsr()
    kept = sparse.hstack([equal, sparse.csr_matrix((equal.shape[0], count))]).tocsr() if equal.shape[0] else None
    solved = linprog(
        np.concatenate([np.zeros(width), -np.ones(count)]),
        A_ub=loosening,
        b_ub=np.zeros(tight.shape[0]),
        A_eq=kept,
        b_eq=np.zeros(equal.shape[0]) if kept is not None else None,
        bounds=[(None, None)] * width + [(0, 1)] * count,
        method="highs",
    )
    assert solved.x is not None
    flat = np.zeros(tight.shape[0], dtype=bool)
    flat[np.flatnonzero(doubtful)] = solved.x[width:] < 0.5  # I1
    return flat


def another_point(rows: Sparse, bounds: IntArray, equal: Sparse, start: IntArray, wish: NDArray[np.float64]) -> IntArray:
    """A lattice point that goes as far as it can in the direction `wish`, found by integer programming; the start if none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraints = [LinearConstraint(rows, bounds, np.inf)]
    if equal.shape[0]:
        constraints.append(LinearConstraint(equal, equal @ start, equal @ start))
    solved = milp(-wish, integrality=np.ones(start.size, np.int64), bounds=Bounds(-np.inf, np.inf), constraints=constraints,
                  options={"time_limit": 5.0})  # fmt: skip
    if solved.x is None:
        return start
    found = np.rint(solved.x).astype(np.int64)
    keeps = (rows @ found >= bounds).all() and (equal @ found == equal @ start).all()
    return found if keeps else start


def kernel_moves(equal: Sparse, part: IntArray) -> Sparse:
    """Moves for the parts that `equal` touches: a lattice basis of its kernel and the differences of neighbours in it."""
    from scipy import sparse

    home = part[equal.indices[equal.indptr[:-1]]]
    order = np.argsort(home, kind="stable")
    rows = _vectors(equal)
    moves: list[Vector] = []
    for group in np.split(order, np.flatnonzero(np.diff(home[order])) + 1):
        first, last = np.searchsorted(part, [home[group[0]], home[group[0]] + 1])
        basis = lattice_kernel([rows[row] for row in group], list(range(first, last)))
        moves += basis + [_difference(one, other) for one, other in pairwise(basis)]
    moves = [move for move in moves if move]
    entries = [(cell, column, step) for column, move in enumerate(moves) for cell, step in move.items()]
    cell, column, step = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return sparse.csc_matrix((step, (cell, column)), shape=(part.size, len(moves)), dtype=np.int64)


def lattice_kernel(equal: list[Vector], cells: list[int]) -> list[Vector]:
    """A basis of the integer vectors u over `cells` with equal·u = 0."""
    basis: list[Vector] = [{cell: 1} for cell in cells]
    for row in equal:
        basis = _eliminated(row, basis)
    return basis


def _eliminated(row: Vector, basis: list[Vector]) -> list[Vector]:
    """The basis of the sublattice on which `row` vanishes: Euclid on the values of the row, then drop the one that is left."""
    live = [(value, vector) for vector in basis if (value := _value(row, vector))]
    still = [vector for vector in basis if not _value(row, vector)]
    while len(live) > 1:
        live.sort(key=lambda entry: (abs(entry[0]), len(entry[1])))
        (least, pivot), rest = live[0], live[1:]
        live = [(least, pivot)]
        for value, vector in rest:  # I2
            reduced = _plus(vector, pivot, -(value // least))
            if value % least:
                live.append((value % least, reduced))
            else:
                still.append(reduced)
    return still


def _vectors(rows: Sparse) -> list[Vector]:
    edges = rows.indptr
    return [dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True)) for a, b in pairwise(edges)]


def _value(row: Vector, vector: Vector) -> int:
    return sum(step * row.get(cell, 0) for cell, step in vector.items())


def _plus(vector: Vector, other: Vector, factor: int) -> Vector:
    total = dict(vector)
    for cell, step in other.items():
        total[cell] = total.get(cell, 0) + factor * step
    return {cell: step for cell, step in total.items() if step}


def _difference(one: Vector, other: Vector) -> Vector:
    return _plus(one, other, -1)
