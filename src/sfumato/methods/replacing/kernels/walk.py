"""Hit-and-run along a fixed set of sparse moves, over the reals or over the integer lattice.

A step takes one move u, finds the whole chord {t : x + t·u keeps every row} and draws t uniformly from it. Only the rows that
u touches are looked at, and their slacks are updated in place.

Guarantee
    The uniform law on the polytope (or on its lattice points) is left unchanged by every step; the walk converges to it on
    the set that the moves connect.

Paper
    [multitype §5.4], R. L. Smith, "Efficient Monte Carlo procedures for generating points uniformly distributed over bounded
    regions" (1984).

Notation
    rows      slack = A x − b ≥ 0;  a move's entries are the nonzero A·u (`row_of`, `change`) and the nonzero u (`cell_of`, `step`)
    part      a set of variables that no row connects with others; parts are walked one by one, each with its own stream
    walk      one of several chains through a part, from starts pushed towards different corners

Invariants
    I1  Every slack stays ≥ 0; on the lattice all numbers are integers below 2⁵³, so this is exact.
    I2  The chord contains t = 0 and is the same from every point on it, so drawing uniformly from it is reversible.
    I3  Rounds double in length and only the last one is judged, so at least half of all steps are burn-in.

Departures
    The printed step is uniform on [0, l], one way only, and piles up at the boundary; the full chord does not. The printed walk
    takes a fixed number of steps; this one stops when R̂ and the effective sample size of every coordinate say so.

Cost
    Time per step is the number of rows the move touches; 5-15 million steps a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiled import jit
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.replacing.kernels.mixing import diagnose
from sfumato.randomness.kernels.chacha import next_uniform, open_stream

Words = NDArray[np.uint32]

SAMPLES = 64
"""How many points of each walk a round keeps for the diagnosis."""

PUSHES = 3
"""How many sweeps to the ends of chords spread the starts."""


class Directions(NamedTuple):
    """Sparse directions: the rows each one changes, and the cells it steps.

    Move m owns the entries from[m] … from[m + 1]; up to turn[m] its changes are positive, from there on negative.
    """

    rows_from: IntArray
    turn: IntArray
    row_of: IntArray
    change: FloatArray
    cells_from: IntArray
    cell_of: IntArray
    step: FloatArray


class Bounds(NamedTuple):
    """Where each part's cells, rows and moves begin; row and cell numbers inside moves count from the part's own start."""

    cells_at: IntArray
    rows_at: IntArray
    moves_at: IntArray


class Settings(NamedTuple):
    """How many walks, how many steps each at most, and the effective sample size and R̂ at which a part has mixed."""

    walks: int
    most_steps: int
    sample_size: float
    ratio: float
    lattice: bool


@jit
def chord(slack: FloatArray, moves: Directions, move: int) -> tuple[float, float]:
    """The interval of t that keeps every touched slack ≥ 0."""
    low, high = -np.inf, np.inf
    for entry in range(moves.rows_from[move], moves.turn[move]):
        reach = -slack[moves.row_of[entry]] / moves.change[entry]
        if reach > low:
            low = reach
    for entry in range(moves.turn[move], moves.rows_from[move + 1]):
        reach = -slack[moves.row_of[entry]] / moves.change[entry]
        if reach < high:
            high = reach
    return low, high


@jit
def draw(low: float, high: float, lattice: bool, chance: float) -> float:
    """A uniform point of the chord, integer when `lattice`."""
    if not lattice:
        return low + chance * (high - low)
    low, high = np.ceil(low), np.floor(high)
    return float(min(high, low + np.floor(chance * (high - low + 1.0))))


@jit
def shift(place: FloatArray, slack: FloatArray, length: float, moves: Directions, move: int) -> None:
    """Go `length` times the move and bring the slacks along."""
    for entry in range(moves.rows_from[move], moves.rows_from[move + 1]):
        slack[moves.row_of[entry]] += length * moves.change[entry]  # I1
    for entry in range(moves.cells_from[move], moves.cells_from[move + 1]):
        place[moves.cell_of[entry]] += length * moves.step[entry]


@jit
def sweep(
    place: FloatArray, slack: FloatArray, stream: Words, moves: Directions, first: int, last: int, lattice: bool, push: bool
) -> None:
    """Moves `first` … `last` − 1 once; with `push` to one of the two ends of the chord instead of a uniform point."""
    for move in range(first, last):
        low, high = chord(slack, moves, move)
        if high <= low:
            continue
        chance = next_uniform(stream)
        if push:
            chance = 0.0 if chance < 0.5 else 1.0 - 2.0**-53
        length = draw(low, high, lattice, chance)  # I2
        if length != 0.0:
            shift(place, slack, length, moves, move)


@jit
def walk_part(
    start: FloatArray, slack: FloatArray, stream: Words, moves: Directions, first: int, last: int, wanted: Settings
) -> tuple[FloatArray, int, float, float]:
    """Walk one part until it has mixed or its steps are done: the end of the last walk, sweeps, R̂ and sample size."""
    places, slacks = np.empty((wanted.walks, start.size)), np.empty((wanted.walks, slack.size))
    for walk in range(wanted.walks):
        places[walk], slacks[walk] = start, slack
        for _ in range(PUSHES if walk > 0 else 0):
            sweep(places[walk], slacks[walk], stream, moves, first, last, wanted.lattice, True)
    samples = np.empty((wanted.walks, SAMPLES, start.size))
    most_sweeps, done, stride = wanted.most_steps // (last - first), 0, 1
    while True:
        for walk in range(wanted.walks):
            for sample in range(SAMPLES):
                for _ in range(stride):
                    sweep(places[walk], slacks[walk], stream, moves, first, last, wanted.lattice, False)
                samples[walk, sample] = places[walk]
        done += stride * SAMPLES
        ratio, size = diagnose(samples)
        stride = min(2 * stride, (most_sweeps - done) // SAMPLES)  # I3
        if (ratio <= wanted.ratio and size >= wanted.sample_size) or stride < 1:
            return places[wanted.walks - 1], done, ratio, size


@jit
def walk_parts(
    place: FloatArray,
    slack: FloatArray,
    report: FloatArray,
    key: Words,
    nonce: int,
    bounds: Bounds,
    moves: Directions,
    wanted: Settings,
) -> None:
    """Walk every part in place; `report[part]` becomes (sweeps, R̂, effective sample size). A part's stream is nonce + part."""
    for part in range(bounds.cells_at.size - 1):
        cells = slice(bounds.cells_at[part], bounds.cells_at[part + 1])
        rows = slice(bounds.rows_at[part], bounds.rows_at[part + 1])
        first, last = bounds.moves_at[part], bounds.moves_at[part + 1]
        if first == last:
            report[part] = (0.0, 1.0, np.inf)
            continue
        stream = open_stream(key, nonce + part)
        end, done, ratio, size = walk_part(place[cells], slack[rows], stream, moves, first, last, wanted)
        place[cells] = end
        report[part] = (float(done), ratio, size)


@jit
def loosen_parts(
    place: FloatArray, slack: FloatArray, widest: FloatArray, key: Words, sweeps: int, bounds: Bounds, moves: Directions
) -> None:
    """A short lattice walk through every part, half of it pushed; `widest[row]` becomes the largest slack seen."""
    for part in range(bounds.cells_at.size - 1):
        here = place[bounds.cells_at[part] : bounds.cells_at[part + 1]]
        left = slack[bounds.rows_at[part] : bounds.rows_at[part + 1]]
        stream = open_stream(key, part)
        for turn in range(sweeps):
            sweep(here, left, stream, moves, bounds.moves_at[part], bounds.moves_at[part + 1], True, turn % 2 == 0)
            for row in range(left.size):
                at = bounds.rows_at[part] + row
                widest[at] = max(widest[at], left[row])


def plain_sweep(
    place: FloatArray, slack: FloatArray, chances: list[float], rows: FloatArray, directions: FloatArray, lattice: bool
) -> tuple[FloatArray, FloatArray]:
    """The twin of `sweep` on dense matrices: columns of `directions` are the moves, `rows` the inequalities."""
    for direction, chance in zip(directions.T, chances, strict=True):
        change = rows @ direction
        low = max(-left / by for left, by in zip(slack, change, strict=True) if by > 0)
        high = min(-left / by for left, by in zip(slack, change, strict=True) if by < 0)
        length = draw(low, high, lattice, chance)
        place, slack = place + length * direction, slack + length * change
    return place, slack
