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

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.chacha import next_uniform, open_stream
from sfumato.kernels.mixing import diagnose

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLES = 64
"""How many points of each walk a round keeps for the diagnosis."""

PUSHES = 3
"""How many sweeps to the ends of chords spread the starts."""


@njit(nogil=True)  # type: ignore[untyped-decorator]
def chord(slack: Floats, row_of: Ints, change: Floats) -> tuple[float, float]:
    """The interval of t that keeps every touched slack ≥ 0."""
    low, high = -np.inf, np.inf
    for entry in range(row_of.size):
        reach = -slack[row_of[entry]] / change[entry]
        if change[entry] > 0.0:
            low = max(low, reach)
        else:
            high = min(high, reach)
    return low, high


@njit(nogil=True)  # type: ignore[untyped-decorator]
def draw(low: float, high: float, lattice: bool, chance: float) -> float:
    """A uniform point of the chord, integer when `lattice`."""
    if not lattice:
        return low + chance * (high - low)
    low, high = np.ceil(low), np.floor(high)
    return min(high, low + np.floor(chance * (high - low + 1.0)))


@njit(nogil=True)  # type: ignore[untyped-decorator]
def shift(place: Floats, slack: Floats, length: float, row_of: Ints, change: Floats, cell_of: Ints, step: Floats) -> None:
    """Go `length` times the move and bring the slacks along."""
    for entry in range(row_of.size):
        slack[row_of[entry]] += length * change[entry]  # I1
    for entry in range(cell_of.size):
        place[cell_of[entry]] += length * step[entry]


@njit(nogil=True)  # type: ignore[untyped-decorator]
def sweep(place, slack, stream, lattice, push, rows_from, row_of, change, cells_from, cell_of, step):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Every move once; with `push` to one of the two ends of its chord instead of a uniform point."""
    for move in range(rows_from.size - 1):
        rows = slice(rows_from[move], rows_from[move + 1])
        low, high = chord(slack, row_of[rows], change[rows])
        if high <= low:
            continue
        chance = next_uniform(stream)
        if push:
            chance = 0.0 if chance < 0.5 else 1.0 - 2.0**-53
        length = draw(low, high, lattice, chance)  # I2
        if length != 0.0:
            cells = slice(cells_from[move], cells_from[move + 1])
            shift(place, slack, length, row_of[rows], change[rows], cell_of[cells], step[cells])


@njit(nogil=True)  # type: ignore[untyped-decorator]
def walk_part(start, slack, key, nonce, walks, most_sweeps, wanted, limit, lattice, moves):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Walk one part until it has mixed or `most_sweeps` are done; the end of the last walk, sweeps, R̂ and sample size.

    `wanted` is the effective sample size to reach, `limit` the largest R̂; `moves` the six arrays of `sweep`.
    """
    places, slacks = np.empty((walks, start.size)), np.empty((walks, slack.size))
    stream = open_stream(key, nonce)
    for walk in range(walks):
        places[walk], slacks[walk] = start, slack
        for _ in range(PUSHES if walk > 0 else 0):
            sweep(places[walk], slacks[walk], stream, lattice, True, *moves)
    samples = np.empty((walks, SAMPLES, start.size))
    done, stride, ratio, size = 0, 1, np.inf, 0.0
    while True:
        for walk in range(walks):
            for sample in range(SAMPLES):
                for _ in range(stride):
                    sweep(places[walk], slacks[walk], stream, lattice, False, *moves)
                samples[walk, sample] = places[walk]
        done += stride * SAMPLES
        ratio, size = diagnose(samples)
        stride = min(2 * stride, (most_sweeps - done) // SAMPLES)  # I3
        if (ratio <= limit and size >= wanted) or stride < 1:
            return places[walks - 1], done, ratio, size


@njit(nogil=True)  # type: ignore[untyped-decorator]
def walk_parts(parts, nonce, place, slack, report, key, settings, bounds, moves):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Walk the listed `parts` in place; `report[part]` becomes (sweeps, R̂, effective sample size).

    The stream of a part is `nonce` + part. `bounds` are the first variable, row and move of every part; indices inside `moves` count from the part's own start.
    """
    cells_at, rows_at, moves_at = bounds
    rows_from, row_of, change, cells_from, cell_of, step = moves
    walks, most_steps, wanted, limit, lattice = settings
    for part in parts:
        cells = slice(cells_at[part], cells_at[part + 1])
        rows = slice(rows_at[part], rows_at[part + 1])
        first, last = moves_at[part], moves_at[part + 1]
        if first == last:
            report[part] = (0.0, 1.0, np.inf)
            continue
        own = (rows_from[first : last + 1], row_of, change, cells_from[first : last + 1], cell_of, step)
        sweeps = max(SAMPLES, most_steps // (last - first))
        end, done, ratio, size = walk_part(
            place[cells], slack[rows], key, nonce + part, walks, sweeps, wanted, limit, lattice, own
        )
        place[cells] = end
        report[part] = (float(done), ratio, size)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def loosen_parts(place, slack, widest, key, sweeps, lattice, bounds, moves):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """A short walk through every part, half of it pushed; `widest[row]` becomes the largest slack seen."""
    cells_at, rows_at, moves_at = bounds
    rows_from, row_of, change, cells_from, cell_of, step = moves
    for part in range(cells_at.size - 1):
        here, left = place[cells_at[part] : cells_at[part + 1]], slack[rows_at[part] : rows_at[part + 1]]
        own = slice(moves_at[part], moves_at[part + 1] + 1)
        stream = open_stream(key, part)
        for turn in range(sweeps):
            sweep(here, left, stream, lattice, turn % 2 == 0, rows_from[own], row_of, change, cells_from[own], cell_of, step)
            for row in range(left.size):
                at = rows_at[part] + row
                widest[at] = max(widest[at], left[row])


def plain_sweep(place, slack, chances, lattice, moves, rows):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The twin of `sweep` on dense matrices: columns of `moves` are directions, `rows` the inequalities."""
    for move, chance in zip(moves.T, chances, strict=True):
        change = rows @ move
        lows = [-left / by for left, by in zip(slack, change, strict=True) if by > 0]
        highs = [-left / by for left, by in zip(slack, change, strict=True) if by < 0]
        length = draw(max(lows), min(highs), lattice, chance)
        place, slack = place + length * move, slack + length * change
    return place, slack
