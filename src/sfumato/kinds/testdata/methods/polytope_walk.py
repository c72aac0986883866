"""Walk every part of a polytope from the data to a place that has forgotten it, and say how well it mixed.

Guarantee
    The result is a lattice point that keeps every row exactly. Over parts that have mixed its law is the uniform one on
    the points that the moves connect with the data; parts that have not mixed when the steps ran out are counted.

Invariants
    I1  Each part draws from its own stream, so the number of jobs does not change the answer.
    I2  A part in which nothing can move by any single move, although the linear program says it could, starts at
        another lattice point found by integer programming.

Departures
    [multitype §5.4] starts the walk at the data in full dimension. Where rows are implied equalities that walk stands
    still; here they become equalities first, and the walk runs inside the face.


Polytope
--------
The space of all tables that keep the properties: integer points between linear inequalities, cut into independent
parts.

Notation
    variable   a value that moves on its own: a cell, or all cells of a partition that share a value
    x          the vector of variables in units of their lattice (1, a day, 0.01, …), so every x is an integer
    rows       rows·x ≥ bounds;  equal·x stays what it is at the start
    strand     variables of one column, the unit along which block moves run
    part       a connected component of variables that share rows; parts are independent of each other

Invariants
    I1  Variables and rows are stored part by part, inside a part strand by strand and upwards in value: a part is a
        slice.
    I2  `start` is the data: a point that keeps every row, checked when the polytope is closed.
    I3  Every number stays below 2⁵³, so sums in double precision are exact.

>>> import numpy as np
>>> space = PropertySheet(np.array([3, 5, 11]), np.zeros(3, int), np.zeros(3, int), np.full(3, 50))
>>> space.add([0, 0, 0], [0, 1, 2], [-1, -1, 1], [0], "v[1] + v[2] <= v[3]")
>>> polytope = space.close()
>>> polytope.part_count, (polytope.rows @ polytope.start - polytope.bounds).tolist()
(1, [3, 3, 5, 11, 47, 45, 39])


Moves
-----
The directions of the walk: single values, blocks of neighbours, ramps and the data's own shape.

Single values alone mix badly (neighbours hem each other in) and do not connect all lattice points when every locality
is kept. Blocks shift 2, 4, 8 … neighbours together; ramps stretch everything beyond an anchor evenly; the shape
stretches the pattern. All are integer directions that do not depend on where the walk stands, so every one of them
leaves the uniform law unchanged.

Notation
    strand   the variables of one column in one part, upwards in value;  position  a variable's place in its strand

Invariants
    I1  Every move keeps `equal`: moves that would not are dropped, and integer vectors of its kernel take their place.
    I2  Moves are sorted by part, and indices inside a move count from the start of the part.

Cost
    About three moves a variable; building them is linear in the rows they touch.


Faces
-----
Where the polytope is flat: inequalities that can only hold as equalities, and the integer moves that keep equalities.

A walk cannot leave a face whose rows are tight everywhere; it has to walk inside it. One linear program over the cone
of directions at the data finds all such rows at once, and integer elimination gives a basis of the moves that keep
them.

Notation
    cone    the directions d with row·d ≥ 0 for every row that is tight at the data and equal·d = 0
    s       how far a direction loosens a doubtful row, at most 1

Invariants
    I1  Σ s is largest for a direction that loosens every row that can be loosened, because directions of a cone add up;
        rows with s = 0 there are implied equalities.
    I2  Column operations by ±1 and integer multiples keep the lattice: the basis generates every integer solution of
        equal·u = 0, not only a sublattice.

>>> [dict(sorted(move.items())) for move in lattice_kernel([{0: 2, 1: -1, 2: -1}], [0, 1, 2])]
[{1: -1, 2: 1}, {0: 1, 1: 2}]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import DataError, PolicyError
from sfumato.core.randomness import Randomness

if TYPE_CHECKING:
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import Bounds, Directions


Sparse = Any

BATCH = 6000
"""Variables that are prepared and walked together."""

PILOT = 8
"""Sweeps of the short walk that looks for rows which never loosen."""


@dataclass(frozen=True, slots=True)
class WalkEffort:
    """How hard to walk: at most `steps` a walk (None: as many as mixing takes), `walks` chains, and when a part has
    mixed."""

    steps: int | None = None
    walks: int = 4
    sample_size: float = 100.0
    ratio: float = 1.1
    jobs: int = 1

    def most_steps(self) -> int:
        return 1 << 24 if self.steps is None else self.steps


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Where the walk ended (in the polytope's order of variables) and what each part took to get there."""

    place: IntArray
    sweeps: FloatArray
    ratio: FloatArray
    sample_size: FloatArray
    implied: int

    def mixed(self, effort: WalkEffort) -> NDArray[np.bool_]:
        done: NDArray[np.bool_] = (self.ratio <= effort.ratio) & (self.sample_size >= effort.sample_size)
        return done


def walk(polytope: Polytope, chance: Randomness, effort: WalkEffort) -> WalkResult:
    """One random point of the polytope; see the module."""
    key = np.frombuffer(chance.child("walk").bytes(32), dtype="<u4").astype(np.uint32)
    place, report = np.empty(polytope.start.size), np.empty((polytope.part_count, 3))
    spans = list(_spans(polytope))

    def one(span: tuple[int, int]) -> int:
        batch, implied = _prepared(polytope, *span, key)
        _run(batch, key, effort, report)
        place[polytope.cells_at[batch.first] : polytope.cells_at[batch.last]] = batch.place
        return implied

    if min(effort.jobs, len(spans)) <= 1:
        implied = sum(map(one, spans))
    else:
        with ThreadPoolExecutor(effort.jobs) as pool:
            implied = sum(pool.map(one, spans))
    found = np.rint(place).astype(np.int64)
    return WalkResult(found, report[:, 0], report[:, 1], report[:, 2], implied)


def _spans(polytope: Polytope) -> Iterator[tuple[int, int]]:
    """Runs of parts with about BATCH variables."""
    first = 0
    while first < polytope.part_count:
        limit = polytope.cells_at[first] + BATCH
        last = max(first + 1, int(np.searchsorted(polytope.cells_at, limit, side="right")) - 1)
        yield first, last
        first = last


def _prepared(polytope: Polytope, first: int, last: int, key: Any) -> tuple[Batch, int]:
    """The batch with its faces settled and stuck parts started elsewhere, and how many rows turned out to be
    equalities."""
    from scipy import sparse

    cells = slice(polytope.cells_at[first], polytope.cells_at[last])
    equal = polytope.equal[polytope.equal_at[first] : polytope.equal_at[last], cells].tocsr()
    batch = batch_of(polytope, first, last, equal)
    moved, widest = _pilot(batch, key)
    own = polytope.rows[polytope.rows_at[first] : polytope.rows_at[last], cells]
    flat = _flat_rows(own, batch, widest, equal)
    if flat.any():
        equal = sparse.vstack([equal, own[flat]]).tocsr()
        batch = batch_of(polytope, first, last, equal)
        moved, _ = _pilot(batch, key)
    _unstick(polytope, batch, equal, moved, key)
    return batch, int(flat.sum())


def _pilot(batch: Batch, key: Any) -> tuple[NDArray[np.bool_], FloatArray]:
    """Which parts moved in a short walk, and the largest slack every row reached.

    Parts are bounded, so a step in any direction loosens some row.
    """
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import loosen_parts

    widest = batch.slack.copy()
    loosen_parts(batch.place.copy(), batch.slack.copy(), widest, ~key, PILOT, batch.bounds, batch.moves)
    loosened = np.concatenate([[0], np.cumsum(widest > batch.slack)])
    return loosened[batch.bounds.rows_at[1:]] > loosened[batch.bounds.rows_at[:-1]], widest


def _flat_rows(own: Sparse, batch: Batch, widest: FloatArray, equal: Sparse) -> NDArray[np.bool_]:
    """Rows of the batch that are implied equalities; only parts with a row that never loosened are looked at."""
    flat = np.zeros(widest.size, dtype=bool)
    cells_at, rows_at, _ = batch.bounds
    doubtful = widest == 0
    part = np.repeat(np.arange(rows_at.size - 1), np.diff(rows_at))
    suspect = np.zeros(rows_at.size - 1, dtype=bool)
    suspect[part[doubtful]] = True
    tight = np.flatnonzero(suspect[part] & (batch.slack == 0))
    if tight.size:
        cells = np.flatnonzero(np.repeat(suspect, np.diff(cells_at)))
        kept = equal[:, cells]
        kept = kept[np.diff(kept.indptr) > 0]
        flat[tight] = implied_equalities(own[tight][:, cells], doubtful[tight], kept)
    return flat


def _unstick(polytope: Polytope, batch: Batch, equal: Sparse, moved: NDArray[np.bool_], key: Any) -> None:
    """Start the parts that have moves but did not move at another lattice point."""  # I2
    cells_at, rows_at, moves_at = batch.bounds
    for part in np.flatnonzero(~moved & (np.diff(moves_at) > 0)):
        cells, rows = slice(cells_at[part], cells_at[part + 1]), slice(rows_at[part], rows_at[part + 1])
        whole = slice(polytope.rows_at[batch.first] + rows.start, polytope.rows_at[batch.first] + rows.stop)
        own = polytope.rows[whole, polytope.cells_at[batch.first + part] : polytope.cells_at[batch.first + part + 1]]
        kept = equal[:, cells]
        wish = np.random.default_rng([*key.tolist(), int(part)]).normal(size=cells.stop - cells.start)
        found = another_point(own, polytope.bounds[whole], kept, batch.place[cells].astype(np.int64), wish)
        batch.place[cells] = found
        batch.slack[rows] = own @ found - polytope.bounds[whole]


def _run(batch: Batch, key: Any, effort: WalkEffort, report: FloatArray) -> None:
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import Settings, walk_parts

    wanted = Settings(effort.walks, effort.most_steps(), effort.sample_size, effort.ratio, True)
    own = report[batch.first : batch.last]
    walk_parts(batch.place, batch.slack, own, key, batch.first, batch.bounds, batch.moves, wanted)  # I1


# Polytope
# --------


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

    def _check_equal(
        self, row: IntArray, variable: IntArray, coefficient: IntArray, values: IntArray, name: str
    ) -> None:
        reached = np.bincount(row, coefficient * self.start[variable], minlength=values.size)
        broken = int((reached != values).sum())
        if broken:
            raise DataError(
                f"the property does not hold in the data ({broken} of {values.size} instances)", where=f"keep: {name}"
            )

    def add_order(self, pairs: IntArray, name: str) -> None:
        """x_lower ≤ x_upper for variables of one strand, strictly ordered in the data; box rows they imply become
        needless.

        Partitions can have boxes of their own: a bound follows from the neighbour's only where that is at least as
        tight."""
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
            raise DataError(
                f"{outside} values lie outside their domain", hint="widen the domain of the replaced columns"
            )

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
    row, variable, coefficient = (
        np.concatenate([empty, *parts]) for parts in (zip(*terms, strict=True) if terms else [()] * 3)
    )
    return sparse.csr_matrix((coefficient, (row, variable)), shape=(count, variables), dtype=np.int64)


def _check_size(rows: Sparse, lower: IntArray, upper: IntArray) -> None:
    largest = np.maximum(np.abs(lower), np.abs(upper)).max(initial=0)
    total = abs(rows).sum(axis=1).max() if rows.nnz else 0
    if float(largest) * float(total) >= 2.0**52:  # I3
        raise PolicyError(
            "values or coefficients are too large for exact sums", hint="use fewer decimal places or a smaller domain"
        )


def _sorted(
    made: PropertySheet, rows: Sparse, bounds: IntArray, equal: Sparse, part: IntArray, order: IntArray
) -> Polytope:
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


# Moves
# -----


ANCHORS = 3
"""How many anchors a strand's ramps have."""

STEEPEST = 64
"""The largest entry of a move worth trying: steeper ones hardly ever find an integer step."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A run of parts, ready for the kernel: where each part's cells, rows and moves begin, and the six arrays of the
    moves."""

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
    return [
        *_blocks(number, position, length),
        *_ramps(number, position, length),
        _shapes(start, number, begin, length),
    ]


def _blocks(number: IntArray, position: IntArray, length: IntArray) -> list[Sparse]:
    """Runs of 2, 4, 8 … neighbours, the longest covering the whole strand."""
    found, size = [], 2
    while size < 2 * length.max(initial=0):
        inside = (length > 1) & (size < 2 * length)
        found.append(
            _columns(np.flatnonzero(inside), number[inside] * length.size + position[inside] // size, length.size)
        )
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


def _packed(
    own: Sparse, moves: Sparse, part: IntArray, cells_at: IntArray, rows_at: IntArray
) -> tuple[Bounds, Directions]:
    from sfumato.kinds.testdata.methods.kernels.pattern_walk import Bounds, Directions

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


# Faces
# -----


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


def another_point(
    rows: Sparse, bounds: IntArray, equal: Sparse, start: IntArray, wish: NDArray[np.float64]
) -> IntArray:
    """A lattice point that goes as far as it can in the direction `wish`, found by integer programming; the start if
    none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraints = [LinearConstraint(rows, bounds, np.inf)]
    if equal.shape[0]:
        constraints.append(LinearConstraint(equal, equal @ start, equal @ start))
    solved = milp(-wish, integrality=np.ones(start.size, np.int64), bounds=Bounds(-np.inf, np.inf),
    constraints=constraints,
                  options={"time_limit": 5.0})  # fmt: skip
    if solved.x is None:
        return start
    found = np.rint(solved.x).astype(np.int64)
    keeps = (rows @ found >= bounds).all() and (equal @ found == equal @ start).all()
    return found if keeps else start


def kernel_moves(equal: Sparse, part: IntArray) -> Sparse:
    """Moves for the parts that `equal` touches: a lattice basis of its kernel and the differences of neighbours in
    it."""
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
    """The basis of the sublattice on which `row` vanishes: Euclid on the values of the row, then drop the one that is
    left."""
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
