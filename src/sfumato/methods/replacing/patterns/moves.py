"""The directions of the walk: single values, blocks of neighbours, ramps and the data's own shape.

Single values alone mix badly (neighbours hem each other in) and do not connect all lattice points when every locality is kept.
Blocks shift 2, 4, 8 … neighbours together; ramps stretch everything beyond an anchor evenly; the shape stretches the pattern.
All are integer directions that do not depend on where the walk stands, so every one of them leaves the uniform law unchanged.

Notation
    strand   the variables of one column in one part, upwards in value;  position  a variable's place in its strand

Invariants
    I1  Every move keeps `equal`: moves that would not are dropped, and integer vectors of its kernel take their place.
    I2  Moves are sorted by part, and indices inside a move count from the start of the part.

Cost
    About three moves a variable; building them is linear in the rows they touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.replacing.patterns.faces import kernel_moves
from sfumato.methods.replacing.patterns.polytope import Polytope

if TYPE_CHECKING:
    from sfumato.methods.replacing.kernels.walk import Bounds, Directions

Sparse = Any

ANCHORS = 3
"""How many anchors a strand's ramps have."""

STEEPEST = 64
"""The largest entry of a move worth trying: steeper ones hardly ever find an integer step."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A run of parts, ready for the kernel: where each part's cells, rows and moves begin, and the six arrays of the moves."""

    first: int
    last: int
    bounds: Bounds
    moves: Directions
    place: FloatArray
    slack: FloatArray


def batch_of(polytope: Polytope, first: int, last: int, equal: Sparse) -> Batch:
    """Parts `first` … `last` − 1; `equal` are the equalities of exactly these parts (given and implied)."""
    cells = slice(polytope.cells_at[first], polytope.cells_at[last])
    rows = slice(polytope.rows_at[first], polytope.rows_at[last])
    own = polytope.rows[rows, cells]
    start = polytope.start[cells]
    cells_at = polytope.cells_at[first : last + 1] - cells.start
    rows_at = polytope.rows_at[first : last + 1] - rows.start
    part = np.repeat(np.arange(last - first), np.diff(cells_at))
    directions = all_moves(start, polytope.strand[cells], part, equal)
    bounds, moves = _packed(own, directions, part, cells_at, rows_at)
    slack = own @ start - polytope.bounds[rows]
    return Batch(first, last, bounds, moves, start.astype(np.float64), slack.astype(np.float64))


def all_moves(start: IntArray, strand: IntArray, part: IntArray, equal: Sparse) -> Sparse:
    """One column per move over the variables of a batch."""
    from scipy import sparse

    pieces = [sparse.identity(start.size, dtype=np.int64, format="csc"), *_strand_moves(start, strand, part)]
    moves = sparse.hstack(pieces, format="csc")
    if not equal.shape[0]:
        return moves
    kept = np.asarray(abs(equal @ moves).sum(axis=0)).ravel() == 0  # I1
    return sparse.hstack([moves[:, kept], kernel_moves(equal, part)], format="csc")


def _strand_moves(start: IntArray, strand: IntArray, part: IntArray) -> list[Sparse]:
    fresh = np.ones(start.size, dtype=bool)
    fresh[1:] = (np.diff(part) != 0) | (np.diff(strand) != 0)
    begin = np.flatnonzero(fresh)
    number = np.cumsum(fresh) - 1
    length = np.diff(np.append(begin, start.size))[number] if start.size else begin
    position = np.arange(start.size) - begin[number]
    return [*_blocks(number, position, length), *_ramps(number, position, length), _shapes(start, number, begin, length)]


def _blocks(number: IntArray, position: IntArray, length: IntArray) -> list[Sparse]:
    """Runs of 2, 4, 8 … neighbours, the longest covering the whole strand."""
    found, size = [], 2
    while size < 2 * length.max(initial=0):
        inside = (length > 1) & (size < 2 * length)
        found.append(_columns(np.flatnonzero(inside), number[inside] * length.size + position[inside] // size, length.size))
        size *= 2
    return found


def _ramps(number: IntArray, position: IntArray, length: IntArray) -> list[Sparse]:
    """0 … 0 1 2 3 … from an anchor upwards, and its mirror image."""
    found = []
    for anchor in range(ANCHORS):
        at = (anchor * (length - 1)) // ANCHORS
        for away in (position - at, at - position + (length - 1 - 2 * at)):
            inside = (length > 2) & (away > 0) & (length <= STEEPEST)
            found.append(_columns(np.flatnonzero(inside), number[inside], length.size, away[inside]))
    return found


def _shapes(start: IntArray, number: IntArray, begin: IntArray, length: IntArray) -> Sparse:
    """The data's distances from its smallest value, in lowest terms."""
    rise = start - start[begin][number] if start.size else start
    factor = np.maximum(np.gcd.reduceat(rise, begin), 1)[number] if start.size else rise
    steps = rise // np.maximum(factor, 1)
    steepest = np.maximum.reduceat(steps, begin)[number] if start.size else steps
    inside = (length > 2) & (steps > 0) & (steepest <= STEEPEST)
    return _columns(np.flatnonzero(inside), number[inside], length.size, steps[inside])


def _columns(variable: IntArray, name: IntArray, height: int, step: IntArray | None = None) -> Sparse:
    """One column for every distinct `name`, with `step` (default 1) at its variables."""
    from scipy import sparse

    names, column = np.unique(name, return_inverse=True)
    data = np.ones(variable.size, np.int64) if step is None else step
    return sparse.csc_matrix((data, (variable, column)), shape=(height, names.size), dtype=np.int64)


def _packed(own: Sparse, moves: Sparse, part: IntArray, cells_at: IntArray, rows_at: IntArray) -> tuple[Bounds, Directions]:
    from sfumato.methods.replacing.kernels.walk import Bounds, Directions

    home = part[moves.indices[moves.indptr[:-1]]] if moves.shape[1] else np.empty(0, np.int64)
    order = np.argsort(home, kind="stable")
    moves, home = moves[:, order].tocsc(), home[order]
    touched = (own @ moves).tocsc()
    touched.eliminate_zeros()
    move = np.repeat(np.arange(home.size), np.diff(touched.indptr))
    signed = np.lexsort((touched.data < 0, move))
    turn = touched.indptr[:-1] + np.bincount(move[touched.data > 0], minlength=home.size)
    row_of = (touched.indices - rows_at[home][move])[signed]  # I2
    cell_of = moves.indices - np.repeat(cells_at[home], np.diff(moves.indptr))
    changes = (_long(touched.indptr), _long(turn), _long(row_of), touched.data[signed].astype(np.float64))
    steps = (_long(moves.indptr), _long(cell_of), moves.data.astype(np.float64))
    moves_at = np.searchsorted(home, np.arange(cells_at.size))
    return Bounds(_long(cells_at), _long(rows_at), _long(moves_at)), Directions(*changes, *steps)


def _long(numbers: Any) -> IntArray:
    found: IntArray = np.ascontiguousarray(numbers, dtype=np.int64)
    return found
