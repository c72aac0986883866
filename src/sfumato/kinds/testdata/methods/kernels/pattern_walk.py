"""Hit-and-run along a fixed set of sparse moves, over the reals or over the integer lattice.

A step takes one move u, finds the whole chord {t : x + t·u keeps every row} and draws t uniformly from it. Only the
rows that u touches are looked at, and their slacks are updated in place.

Guarantee
    The uniform law on the polytope (or on its lattice points) is left unchanged by every step; the walk converges to it
    on the set that the moves connect.

Paper
    [multitype §5.4], R. L. Smith, "Efficient Monte Carlo procedures for generating points uniformly distributed over
    bounded regions" (1984).

Notation
    rows      slack = A x − b ≥ 0;  a move's entries are the nonzero A·u (`row_of`, `change`) and the nonzero u
              (`cell_of`, `step`)
    part      a set of variables that no row connects with others; parts are walked one by one, each with its own stream
    walk      one of several chains through a part, from starts pushed towards different corners

Invariants
    I1  Every slack stays ≥ 0; on the lattice all numbers are integers below 2⁵³, so this is exact.
    I2  The chord contains t = 0 and is the same from every point on it, so drawing uniformly from it is reversible.
    I3  Rounds double in length and only the last one is judged, so at least half of all steps are burn-in.

Departures
    The printed step is uniform on [0, l], one way only, and piles up at the boundary; the full chord does not. The
    printed walk takes a fixed number of steps; this one stops when R̂ and the effective sample size of every coordinate
    say so.

Cost
    Time per step is the number of rows the move touches; 5-15 million steps a second.


Mixing
------
Have several walks forgotten where they started? Split R̂ and the effective sample size of every coordinate.

Paper
    A. Gelman et al., *Bayesian Data Analysis* (3rd ed.) §11.4-11.5; C. J. Geyer, "Practical Markov chain Monte Carlo"
    (1992) for the cut of the autocorrelation sum at the first negative pair.

Notation
    samples[c, t, v] coordinate v of walk c at time t;  W mean variance inside the half-walks;  V pooled variance
    estimate; R̂ = √(V/W);  ρ_t = 1 − (W − mean autocovariance at lag t)/V;  ESS = N / (1 + 2 Σ ρ_t).

Invariants
    I1  A coordinate that never moved in any walk is ignored; one that stays at different values in different walks
        gives R̂ = ∞.

>>> import numpy as np
>>> worst, least = diagnose(np.zeros((2, 8, 1)))
>>> float(worst), float(least)
(1.0, 16.0)


Localities
----------
Which of two values is closer to a third: all localities of a sorted vector of distinct values, without the implied
ones.

A locality (i, j, k) with i < j < k says d_j − d_i ≥ d_k − d_j (`wide`: the left gap is at least as wide) or ≤
(`narrow`).

Guarantee
    Every comparison of |d_i − d_j| with |d_j − d_k| follows from the returned set and the sorted order alone.

Paper
    [multitype Algorithm 5, Rules 1-2, Theorem 5.3.1]

Notation
    μ = 2 d_j − d_i, the mirror image of d_i in d_j;  k⁻ the last index above j whose value lies below μ;  k⁺ the first
    index above j whose value is at least μ.

Invariants
    I1  For fixed j, as i falls μ grows, so k⁺ only moves right: one pointer per j, O(n²) in all.
    I2  For fixed j, of all i with the same k⁺ only the smallest counts (Rule 1), of all i with the same k⁻ only the
        largest (Rule 2): `pruned` keeps exactly these.

Departures
    Line 6 of the algorithm searches the whole vector; only indices above j can be k, and with ties k⁻ could be j
    itself. Values are distinct here (equal values are one point of the pattern) and the search begins at j + 1. An
    exact mirror image is recorded as `narrow`, as the algorithm does; Definition 5 would call it ≥. Lines 9-10 keep one
    k per (i, j) and side; Rules 1 and 2 also imply most i, which `pruned` drops: 608,000 localities of 900 random
    values become 216,000.

Cost
    O(n²); 900 values in about 10 ms.

>>> import numpy as np
>>> extract(np.array([0.0, 1.0, 3.0]), False).tolist()      # 1 − 0 ≤ 3 − 1
[[0, 1, 2, 0]]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.compiled import jit
from sfumato.core.kernels.chacha import next_uniform, open_stream

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
    """Where each part's cells, rows and moves begin; row and cell numbers inside moves count from the part's own
    start."""

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
    place: FloatArray,
    slack: FloatArray,
    stream: Words,
    moves: Directions,
    first: int,
    last: int,
    lattice: bool,
    push: bool,
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
    """Walk every part in place; `report[part]` becomes (sweeps, R̂, effective sample size). A part's stream is nonce +
    part."""
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


# Mixing
# ------


@jit
def diagnose(samples: FloatArray) -> tuple[float, float]:
    """The largest R̂ and the smallest effective sample size over all coordinates."""
    worst, least = 1.0, float(samples.shape[0] * samples.shape[1])
    draws = np.empty((samples.shape[0], samples.shape[1]))
    for coordinate in range(samples.shape[2]):
        for walk in range(samples.shape[0]):
            for time in range(samples.shape[1]):
                draws[walk, time] = samples[walk, time, coordinate]
        ratio, size = coordinate_mixing(draws)
        worst = max(worst, ratio)
        least = min(least, size)
    return worst, least


@jit
def coordinate_mixing(draws: FloatArray) -> tuple[float, float]:
    """R̂ and effective sample size of one coordinate; each walk counts as two half-walks."""
    walks, half = 2 * draws.shape[0], draws.shape[1] // 2
    means, spreads = np.empty(walks), np.empty(walks)
    for walk in range(walks):
        part = draws[walk // 2, (walk % 2) * half : (walk % 2) * half + half]
        means[walk] = part.mean()
        spreads[walk] = ((part - means[walk]) ** 2).sum() / (half - 1)
    within, between = spreads.mean(), ((means - means.mean()) ** 2).sum() / (walks - 1)
    if within == 0.0:  # I1
        return (1.0, float(walks * half)) if between == 0.0 else (np.inf, 0.0)
    pooled = within * (half - 1) / half + between
    return np.sqrt(pooled / within), walks * half / (1.0 + 2.0 * _autocorrelation_sum(draws, means, within, pooled))


@jit
def _autocorrelation_sum(draws: FloatArray, means: FloatArray, within: float, pooled: float) -> float:
    half, total, lag = draws.shape[1] // 2, 0.0, 1
    while lag + 1 < half:
        pair = _autocorrelation(draws, means, within, pooled, lag) + _autocorrelation(
            draws, means, within, pooled, lag + 1
        )
        if pair <= 0.0:
            break
        total += pair
        lag += 2
    return total


@jit
def _autocorrelation(draws: FloatArray, means: FloatArray, within: float, pooled: float, lag: int) -> float:
    half, total = draws.shape[1] // 2, 0.0
    for walk in range(means.size):
        start = (walk % 2) * half
        for time in range(start, start + half - lag):
            total += (draws[walk // 2, time] - means[walk]) * (draws[walk // 2, time + lag] - means[walk])
    return float(1.0 - (within - total / (means.size * half)) / pooled)


def plain_coordinate_mixing(draws: FloatArray) -> tuple[float, float]:
    """The twin on whole arrays."""
    half = draws.shape[1] // 2
    parts = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    within, between = parts.var(axis=1, ddof=1).mean(), parts.mean(axis=1).var(ddof=1)
    if within == 0:
        return (1.0, float(parts.size)) if between == 0 else (float("inf"), 0.0)
    pooled = within * (half - 1) / half + between
    centred = parts - parts.mean(axis=1, keepdims=True)
    covariances = [(centred[:, : half - lag] * centred[:, lag:]).sum() / parts.size for lag in range(1, half)]
    correlations = [1 - (within - value) / pooled for value in covariances]
    total = 0.0
    for first, second in zip(correlations[::2], correlations[1::2], strict=False):
        if first + second <= 0:
            break
        total += first + second
    return float(np.sqrt(pooled / within)), float(parts.size / (1 + 2 * total))


# Localities
# ----------


NARROW, WIDE = 0, 1


@jit
def extract(values: NDArray[np.float64], pruned: bool) -> NDArray[np.int64]:
    """Rows (i, j, k, side) for the strictly increasing `values`."""
    count = values.size
    found = np.empty((count * (count - 1) + 1, 4), np.int64)
    size = 0
    for j in range(1, count - 1):
        right = j + 1
        narrow_at, wide_at = -1, -1
        for i in range(j - 1, -1, -1):
            mirror = 2.0 * values[j] - values[i]
            while right < count and values[right] < mirror:
                right += 1  # I1
            if right < count:
                if pruned and narrow_at >= 0 and found[narrow_at, 2] == right:
                    found[narrow_at, 0] = i  # I2
                else:
                    narrow_at = size
                    found[size] = (i, j, right, NARROW)
                    size += 1
            if right - 1 > j and not (pruned and wide_at >= 0 and found[wide_at, 2] == right - 1):
                wide_at = size
                found[size] = (i, j, right - 1, WIDE)
                size += 1
    return found[:size].copy()


def plain_extract(values: NDArray[np.float64], pruned: bool) -> NDArray[np.int64]:
    """The twin: a binary search for every pair."""
    rows = []
    for j in range(1, values.size - 1):
        first = np.searchsorted(values, 2.0 * values[j] - values[:j], side="left")
        first = np.maximum(first, j + 1)
        for i in range(j - 1, -1, -1):
            k = int(first[i])
            if k < values.size and not (pruned and i > 0 and first[i - 1] == k):
                rows.append((i, j, k, NARROW))
            if k - 1 > j and not (pruned and i < j - 1 and first[i + 1] == k):
                rows.append((i, j, k - 1, WIDE))
    return np.array(rows, dtype=np.int64).reshape(-1, 4)
