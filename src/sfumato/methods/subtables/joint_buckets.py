"""Buckets for several hidden columns at once: each stays diverse even for whoever knows all the others.

Guarantee
    In every bucket, among the rows that agree on all hidden columns but one, no value of that one has a share above 1/l. Rows
    that fit into no such bucket are the residue (bucket −1); their hidden values must not be published.

Paper
    [versatile App. B, Alg. 3] (multi-SA publishing by integer programming), the baseline users compare with.

Notation
    A class is a combination of hidden values with its count; a line is a set of classes that differ in one column only. A
    composition x (how many of each class) is *fit* when l·x_c ≤ Σ of x over the line, for every class c and every line through c.

Invariants
    I1  Sums of fit compositions are fit, so one program finds the largest publishable part and nothing in the residue is fit.
    I2  The publishable part is cut into small fit buckets only so that what remains is fit again.

Departures
    The program runs over classes with counts, not over tuples. The printed algorithm makes one bucket of everything that is
    publishable (by I1 its loop runs once). Cutting that up (I2) into grids is ours, makes a much stronger method, and is
    asked for with `grids`. With one hidden column both reduce to ordinary bucketization.

Cost
    One integer program with a variable per class; then at most `grids` grids, each a few passes over the classes. What is
    not cut by then stays one bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.methods.subtables.buckets import bucketize, largest_l
from sfumato.randomness import Randomness

_SECONDS = 20.0
_DENSE = 2e6
_ANCHORS = 24


@dataclass(frozen=True, slots=True)
class Lattice:
    """The classes of hidden combinations and their lines as a sparse matrix: line sums minus l times the class, per class."""

    counts: IntArray
    excess: Any

    @classmethod
    def of(cls, columns: Sequence[IntArray], levels: Sequence[float], counts: IntArray) -> Lattice:
        from scipy import sparse

        size = len(counts)
        blocks = []
        for place, level in enumerate(levels):
            line = group([codes for other, codes in enumerate(columns) if other != place], rows=size).of
            member = sparse.csr_array((np.ones(size), (np.arange(size), line)))
            blocks.append(member @ member.T - level * sparse.eye_array(size))
        return cls(counts, sparse.vstack(blocks).tocsr())

    def fit(self, composition: IntArray) -> bool:
        return bool((self.excess @ composition >= -1e-7).all())

    def largest(self) -> IntArray:
        """The largest fit composition within the counts (to the solver's gap, within its time)."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        size = len(self.counts)
        found = milp(
            -np.ones(size), constraints=LinearConstraint(self.excess, 0, np.inf), bounds=Bounds(0, self.counts),
            integrality=np.ones(size, dtype=np.int64), options={"time_limit": _SECONDS, "mip_rel_gap": 1e-3},
        )  # fmt: skip
        chosen = np.zeros(size, dtype=np.int64) if found.x is None else np.round(found.x).astype(np.int64)
        return chosen if self.fit(chosen) else np.zeros_like(chosen)

    def repetitions(self, left: IntArray, piece: IntArray) -> int:
        """How often the piece can be taken from `left` so that the rest stays fit."""
        taken = self.excess @ piece
        spare = self.excess @ left
        by_count = int((left[piece > 0] // piece[piece > 0]).min())
        by_line = np.floor((spare[taken > 0] + 1e-7) / taken[taken > 0])  # I2
        return min(by_count, int(by_line.min(initial=by_count)))


def joint_buckets(columns: Sequence[IntArray], levels: Sequence[float], randomness: Randomness, grids: int = 0) -> IntArray:
    """A bucket per row, −1 for the residue."""
    if len(columns) == 1 and largest_l(columns[0]) >= levels[0]:
        return bucketize(columns[0], int(np.ceil(levels[0])), randomness)
    classes = group(columns)
    distinct = [codes[classes.first] for codes in columns]
    lattice = Lattice.of(distinct, levels, classes.counts)
    return _deal(classes.of, _compositions(lattice, distinct, levels, grids), randomness)


def _compositions(lattice: Lattice, columns: Sequence[IntArray], levels: Sequence[float], grids: int) -> list[tuple[IntArray, int]]:
    """Fit compositions with how often each is used; together the largest publishable part."""
    left = lattice.largest()  # I1
    made: list[tuple[IntArray, int]] = []
    for _ in range(grids if _volume(columns) <= _DENSE else 0):
        piece, times = _best_grid(lattice, columns, levels, left)
        if not times:
            break
        made.append((piece, times))
        left = left - times * piece
    return [*made, (left, 1)] if left.any() else made


def _volume(columns: Sequence[IntArray]) -> float:
    return float(np.prod([codes.max() + 1.0 for codes in columns]))


def _best_grid(lattice: Lattice, columns: Sequence[IntArray], levels: Sequence[float], left: IntArray) -> tuple[IntArray, int]:
    """The grid (l values of every column, all their combinations) that can be cut off most often, tried around frequent classes."""
    dense = np.zeros([int(codes.max()) + 1 for codes in columns], dtype=np.int64)
    dense[tuple(columns)] = left
    best, most = np.zeros_like(left), 0
    for anchor in np.argsort(-left, kind="stable")[:_ANCHORS]:
        grid = _grid_around([int(codes[anchor]) for codes in columns], dense, levels)
        if grid is not None:
            inside = [np.isin(codes, axis) for codes, axis in zip(columns, grid, strict=True)]
            piece = np.logical_and.reduce(inside).astype(np.int64)
            times = lattice.repetitions(left, piece)
            best, most = (piece, times) if times > most else (best, most)
    return best, most


def _grid_around(anchor: list[int], dense: IntArray, levels: Sequence[float]) -> list[IntArray] | None:
    """Column by column, the values whose scarcest combination with those chosen so far is most frequent."""
    axes = [np.array([value]) for value in anchor]
    for place, level in enumerate(levels):
        free = [np.arange(dense.shape[place]) if place == other else axis for other, axis in enumerate(axes)]
        scarcest = dense[np.ix_(*free)].min(axis=tuple(other for other in range(dense.ndim) if other != place))
        scarcest[anchor[place]] = np.iinfo(np.int64).max
        chosen = np.argsort(-scarcest, kind="stable")[: int(np.ceil(level))]
        if len(chosen) < level or scarcest[chosen].min() < 1:
            return None
        axes[place] = chosen
    return axes


def _deal(of: IntArray, compositions: list[tuple[IntArray, int]], randomness: Randomness) -> IntArray:
    """Rows of every class, in random order, to the buckets that ask for it; bucket numbers are shuffled."""
    order = randomness.permutation(len(of))
    order = order[np.argsort(of[order], kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(of))])[:-1]
    numbers = randomness.permutation(sum(times for _, times in compositions))
    dealt = np.full(len(of), -1, dtype=np.int64)
    first = 0
    for piece, times in compositions:
        for one in np.flatnonzero(piece):
            taken = order[start[one] : start[one] + times * piece[one]]
            dealt[taken] = np.repeat(numbers[first : first + times], piece[one])
            start[one] += times * piece[one]
        first += times
    return dealt
