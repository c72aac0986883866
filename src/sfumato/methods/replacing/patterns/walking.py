"""Walk every part of a polytope from the data to a place that has forgotten it, and say how well it mixed.

Guarantee
    The result is a lattice point that keeps every row exactly. Over parts that have mixed its law is the uniform one on the points
    that the moves connect with the data; parts that have not mixed when the steps ran out are counted.

Invariants
    I1  Each part draws from its own stream, so the number of jobs does not change the answer.
    I2  A part in which nothing can move by any single move, although the linear program says it could, starts at another lattice
        point found by integer programming.

Departures
    [multitype §5.4] starts the walk at the data in full dimension. Where rows are implied equalities that walk stands still; here
    they become equalities first, and the walk runs inside the face.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.replacing.patterns.faces import another_point, implied_equalities
from sfumato.methods.replacing.patterns.moves import Batch, batch_of
from sfumato.methods.replacing.patterns.polytope import Polytope
from sfumato.randomness import Randomness

Sparse = Any

BATCH = 6000
"""Variables that are prepared and walked together."""

PILOT = 8
"""Sweeps of the short walk that looks for rows which never loosen."""


@dataclass(frozen=True, slots=True)
class WalkEffort:
    """How hard to walk: at most `steps` a walk (None: as many as mixing takes), `walks` chains, and when a part has mixed."""

    steps: int | None = None
    walks: int = 4
    sample_size: float = 100.0
    ratio: float = 1.1
    jobs: int = 1

    def most_steps(self) -> int:
        return 1 << 24 if self.steps is None else self.steps


@dataclass(frozen=True, slots=True)
class Walked:
    """Where the walk ended (in the polytope's order of variables) and what each part took to get there."""

    place: IntArray
    sweeps: FloatArray
    ratio: FloatArray
    sample_size: FloatArray
    implied: int

    def mixed(self, effort: WalkEffort) -> NDArray[np.bool_]:
        done: NDArray[np.bool_] = (self.ratio <= effort.ratio) & (self.sample_size >= effort.sample_size)
        return done


def walk(polytope: Polytope, chance: Randomness, effort: WalkEffort) -> Walked:
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
    return Walked(found, report[:, 0], report[:, 1], report[:, 2], implied)


def _spans(polytope: Polytope) -> Iterator[tuple[int, int]]:
    """Runs of parts with about BATCH variables."""
    first = 0
    while first < polytope.part_count:
        limit = polytope.cells_at[first] + BATCH
        last = max(first + 1, int(np.searchsorted(polytope.cells_at, limit, side="right")) - 1)
        yield first, last
        first = last


def _prepared(polytope: Polytope, first: int, last: int, key: Any) -> tuple[Batch, int]:
    """The batch with its faces settled and stuck parts started elsewhere, and how many rows turned out to be equalities."""
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
    from sfumato.methods.replacing.kernels.walk import loosen_parts

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
    from sfumato.methods.replacing.kernels.walk import Settings, walk_parts

    wanted = Settings(effort.walks, effort.most_steps(), effort.sample_size, effort.ratio, True)
    own = report[batch.first : batch.last]
    walk_parts(batch.place, batch.slack, own, key, batch.first, batch.bounds, batch.moves, wanted)  # I1
