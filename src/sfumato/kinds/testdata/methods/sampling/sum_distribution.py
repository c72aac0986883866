"""Records with fixed totals: exactly uniform over all tables whose sums are as wanted, for a million records.

Guarantee
    The drawn sequence has the law of independent terms (with the given weights) conditioned on its totals. With weights
    that count legal records, every legal table is equally likely.

Notation
    v      contribution of a record to the totals (k integers), one row of a class's value table
    θ      exponential tilt: weights w(v)·e^{θ·v} give the same conditional law for every θ; θ makes the wanted total
           the mean
    s      the total that is still to be reached by the remaining records

Invariants
    I1  Draw the first half independently and accept with probability pmf_rest(s − drawn) / peak_rest: the accepted half
        has the law it has in the conditioned sequence. Continue with the rest.
    I2  The last few records are drawn one by one, each with probability proportional to w(v) times the exact
        probability that the remaining ones reach the rest (tables of sums by convolution, no subtraction, no rounding
        to zero of what is possible).

Departures
    The working notes take the maximum of the pmf by scanning; here it is bounded from above by the Fourier sum of
    absolute values, which needs no search and keeps I1 exact.

Cost: about three draws per record and total, plus a few dozen Fourier points per halving.

>>> from sfumato.core.randomness import Randomness
>>> sampler = TotalSampler([np.arange(80, 101)[:, None]], [np.ones(21)], np.zeros(4, dtype=np.int64))
>>> grades = sampler.draw(np.array([360]), Randomness(seed=1)) + 80
>>> int(grades.sum())
360


Lattice
-------
The law of a sum of many independent integer vectors, at any point, for a million terms.

Notation
    class c    terms with the same law: contribution values[c] (n × k integers) with probability weights[c]
    m_c        how many terms of class c are added
    φ_c        characteristic function of one term, E e^{i t·v}; the sum has φ = Π φ_c^{m_c}
    M          grid per dimension; the sum's mass outside a window of M points is below e⁻ᶜ, c = `_CUT`

Guarantee
    `pmf` differs from the truth by less than a few e⁻ᶜ (c = 36) plus rounding; `peak` is never below any value of
    `pmf`.

Invariants
    I1  Bernstein: a window of half-width x with x² = 2c(Σ mσ² + Rx/3) misses less than 2e⁻ᶜ of the mass, so folding the
        sum modulo M > 2x moves less than that.
    I2  |φ|² ≤ exp(−h) with h(t) = Σ m_c (1 − |φ_c|²). Points with h > 2c together add less than M^k e⁻ᶜ / M^k.
    I3  The second derivative of h is at most 2 Σ m_c trace(cov_c) in norm, so a box is dropped only when h > 2c on all
        of it. Nothing is assumed about where φ is large: sums on a sublattice have several peaks, all are found.
    I4  φ(−t) is the conjugate of φ(t), and only real parts are used: half the grid, counted twice, is enough.

Cost: a few dozen points per dimension and sum, found by halving boxes; independent of the number of terms. A few terms
of a wide range have no such points and are counted instead (`runs.py`).

>>> coin = SumDistribution([np.array([[0], [1]])], [np.array([0.5, 0.5])])
>>> round(float(coin.sum(np.array([1000])).pmf(np.array([[500]]))[0]), 6)
0.025225


Characteristic
--------------
The characteristic function of one integer vector, φ(t) = Σ w(v) e^{i t·v}, with its gradient, at many points.

In two dimensions φ(t) = Σ_a e^{i t₁a} Σ_b W(a, b) e^{i t₂b} needs one exponential per distinct a and b instead of one
per vector. Counting distinguishes values on a grid (two marks from 80 to 100: 42 exponentials for 221 vectors) from
scattered ones. Consecutive numbers with weights w·rʲ, as every plain range of integers or decimals has them under a
tilt, are a geometric series.

Cost: points × (distinct values per dimension), plus a product with W; points × vectors when the values are scattered;
points alone for a series, so that amounts between 0 and 1,000 to the cent cost no more than marks.


Runs
----
The law of a sum of a few numbers from one range, exactly: counted, not transformed.

A few terms of a wide range are what Fourier sums are worst at: φ falls so slowly that every point of a grid as long as
the range matters. Counting needs no grid. Under a tilt the weights of consecutive numbers are w·rʲ, so that every
sequence with sum t has the same weight wᵐ·rᵗ, and what is left is how many there are.

Notation
    m, n   terms, and numbers 0 … n − 1 that each may be
    N(t)   Σ_j (−1)ʲ C(m, j) C(t − jn + m − 1, m − 1) sequences with sum t, in whole numbers of any length

Invariants
    I1  A geometric law on consecutive numbers is log-concave, and so is a sum of such terms: it rises to its peak and
        falls from there, so that halving finds the peak.

>>> law = RunSum(terms=2, numbers=6, weight=1 / 6, rate=0.0)
>>> [round(36 * law.pmf(t)) for t in range(-1, 12)]
[0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness

_BASE_COST = 2e7
_MANY = 200_000
_NOISE = 1e-12
_DEEPEST = 300.0
"""How small a product of weights may be, as a logarithm; the smallest number is beyond 700."""
_TRIES = 24
"""Halves that are drawn at a time; about every second one is accepted, and judging them may be dear."""


class TotalSampler:
    """Draws one contribution per record so that the totals come out exactly.

    `values[c]` (n × k) are the distinct contributions of a record of class c, `weights[c]` how many legal records give
    each, `classes[i]` the class of record i. `draw` returns, for every record, the row of its class's table. Where
    records lie elsewhere there are none here to draw for, and `counts` says how many each class has."""

    def __init__(
        self, values: list[IntArray], weights: list[FloatArray], classes: IntArray, counts: IntArray | None = None
    ) -> None:
        self.values = [np.asarray(value, dtype=np.int64) for value in values]
        self.weights = [np.asarray(weight, dtype=np.float64) for weight in weights]
        self.classes = classes
        self.counts: IntArray = (
            np.bincount(classes, minlength=len(values)).astype(np.int64) if counts is None else counts
        )
        self.dimensions = self.values[0].shape[1]
        self._laws: dict[tuple[float, ...], SumDistribution] = {}
        self._thetas: dict[bytes, FloatArray] = {}

    def draw(self, total: IntArray, random: Randomness) -> IntArray:
        """A conditioned sequence; raises `Infeasible` when the total cannot be reached."""
        total = np.asarray(total, dtype=np.int64)
        self.require_reachable(total)
        law = self.law(np.zeros(self.dimensions)) if self._is_short else self.law_towards(total)
        return _Descent(self, law, random).run(np.arange(len(self.classes)), total)

    @cached_property
    def _is_short(self) -> bool:
        """So few records that a law without a tilt rounds no total to zero: as good as any, and the same for all
        totals."""
        rarest = max(math.log(weight.sum()) - math.log(weight[weight > 0].min()) for weight in self.weights)
        records = len(self.classes)
        return records * rarest < _DEEPEST and (records + 1) ** (self.dimensions + 1) * self._terms <= _BASE_COST

    @property
    def _terms(self) -> float:
        """Entries of one step of the tables of sums, but for the number of records."""
        spans = np.max([np.ptp(value, axis=0) for value in self.values], axis=0).astype(float) + 1
        return float(np.prod(spans)) * max(len(value) for value in self.values)

    def law_towards(self, total: IntArray) -> SumDistribution:
        """The law of single terms, tilted so that the total is the mean."""
        return self.law(self._theta(total))

    def _theta(self, total: IntArray) -> FloatArray:
        key = total.tobytes()
        if key not in self._thetas:
            self._thetas[key] = tilt(self.values, self.weights, self.counts, total)
        return self._thetas[key]

    def draw_between(self, low: IntArray, high: IntArray, random: Randomness) -> IntArray:
        """As `draw`, with each total anywhere in low … high; the total itself follows the conditioned law."""
        return self.draw(self.choose_total(low, high, random), random)

    def choose_total(self, low: IntArray, high: IntArray, random: Randomness) -> IntArray:
        """A total in the box, with probability proportional to the weight of the sequences that have it."""
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        if (low == high).all():
            return low
        plain = self.law(np.zeros(self.dimensions)).sum(self.counts)
        found = self._chosen(plain, np.zeros(self.dimensions), low, high, random)
        if found is None:  # the box lies in the tail: bring its nearest corner into the middle
            aim = np.clip(np.rint(plain.mean), np.maximum(low, plain.low), np.minimum(high, plain.low + plain.span))
            theta = self._theta(aim.astype(np.int64))
            found = self._chosen(self.law(theta).sum(self.counts), theta, low, high, random)
        if found is None:
            raise Infeasible("no total inside the wanted bounds can be reached", hint="widen the bounds")
        return found

    def _chosen(
        self, law: Sum, theta: FloatArray, low: IntArray, high: IntArray, random: Randomness
    ) -> IntArray | None:
        """A total of the box by its weight under the untilted law; None when the law has (almost) no mass there."""
        first = np.maximum(np.maximum(low, law.low), np.floor(law.mean - law.reach).astype(np.int64))
        last = np.minimum(np.minimum(high, law.low + law.span), np.ceil(law.mean + law.reach).astype(np.int64))
        candidates = _box(first, last)
        mass = law.pmf(candidates)
        if not mass.sum() > _NOISE:
            return None
        with np.errstate(divide="ignore"):
            level = np.where(mass > _NOISE * mass.max(), np.log(mass), -np.inf) - candidates @ theta
        found: IntArray = candidates[_one(np.exp(level - level.max()), random)]
        return found

    def chance(self, total: IntArray) -> float:
        """The probability of a total under the law that is tilted towards it, up to a few e⁻³⁶."""
        law = self.law_towards(total).sum(self.counts)
        return float(law.pmf(np.asarray(total, dtype=np.int64)[None, :])[0])

    def law(self, theta: FloatArray) -> SumDistribution:
        key = tuple(theta.tolist())
        if key not in self._laws:
            self._laws[key] = SumDistribution(self.values, tilted_weights(self.values, self.weights, theta))
        return self._laws[key]

    def require_reachable(self, total: IntArray) -> None:
        """Bounds and steps that every sum obeys; what passes here can still be unreachable on ragged supports."""
        low = sum(count * value.min(axis=0) for count, value in zip(self.counts, self.values, strict=True))
        high = sum(count * value.max(axis=0) for count, value in zip(self.counts, self.values, strict=True))
        for axis in range(self.dimensions):
            if not low[axis] <= total[axis] <= high[axis]:
                raise Infeasible(
                    f"total {total[axis]} lies outside the reachable {low[axis]} … {high[axis]}",
                    hint="change the total or the domain",
                )
            step = self._step(axis)
            if step and (total[axis] - low[axis]) % step:
                raise Infeasible(
                    f"total {total[axis]} cannot be reached: every sum is {low[axis]} plus a multiple of {step}",
                    hint="change the total",
                )

    def _step(self, axis: int) -> int:
        return math.gcd(*(int(np.gcd.reduce(value[:, axis] - value[:, axis].min())) for value in self.values), 0)


def tilted_weights(values: list[IntArray], weights: list[FloatArray], theta: FloatArray) -> list[FloatArray]:
    """w(v)·e^{θ·v} per class, scaled so that the largest exponent is 0."""
    found = []
    for value, weight in zip(values, weights, strict=True):
        power = value @ theta
        found.append(weight * np.exp(power - power.max()))
    return found


def tilt(values: list[IntArray], weights: list[FloatArray], counts: IntArray, total: IntArray) -> FloatArray:
    """θ that makes `total` the mean, by damped Newton steps on the convex log-partition function.

    A total on the rim of what is possible has no finite θ; the steps then stop at a large one, which is as good as any:
    the conditional law does not depend on θ."""
    scale = np.maximum(np.max([np.ptp(value, axis=0) for value in values], axis=0), 1).astype(float)
    theta = np.zeros(len(total))
    level, slope, bend = _partition(values, weights, counts, total, theta, scale)
    for _ in range(100):
        if np.abs(slope).max() <= 1e-9 * max(float(counts.sum()), 1.0):
            break
        step = np.linalg.lstsq(bend + 1e-12 * np.trace(bend) * np.eye(len(theta)), slope, rcond=None)[0]
        step *= min(1.0, 20.0 / max(float(np.abs(step).max()), 1e-300))
        size = 1.0
        while size > 1e-6:
            trial = _partition(values, weights, counts, total, theta - size * step, scale)
            if trial[0] <= level:
                break
            size /= 2
        if size <= 1e-6 or np.abs(theta - size * step).max() > 600:
            break
        theta = theta - size * step
        level, slope, bend = trial
    found: FloatArray = theta / scale
    return found


def _partition(
    values: list[IntArray],
    weights: list[FloatArray],
    counts: IntArray,
    total: IntArray,
    theta: FloatArray,
    scale: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Σ m_c log Σ w e^{θ·v/scale} − θ·total/scale with gradient and second derivative."""
    level = float(-(total / scale) @ theta)
    slope = -(total / scale)
    bend = np.zeros((len(theta), len(theta)))
    for value, weight, count in zip(values, weights, counts, strict=True):
        moved = value / scale
        power = moved @ theta
        mass = weight * np.exp(power - power.max())
        norm = mass.sum()
        mean = mass @ moved / norm
        level += count * (math.log(norm) + float(power.max()))
        slope = slope + count * mean
        centred = moved - mean
        bend += count * (centred.T * (mass / norm)) @ centred
    return level, slope, bend


class _Descent:
    """One conditioned draw: halves while many records are left, then record by record."""

    def __init__(self, sampler: TotalSampler, law: SumDistribution, random: Randomness) -> None:
        self.values = sampler.values
        self.classes = sampler.classes
        self.law = law
        self.random = random
        self.found = np.empty(len(sampler.classes), dtype=np.int64)
        self.cumulative = [np.cumsum(weight) for weight in law.weights]

    def run(self, records: IntArray, total: IntArray) -> IntArray:
        while len(records) > self._base(records):
            now, later = records[::2], records[1::2]
            drawn, used = self._half(now, later, total)
            self.found[now] = drawn
            total = total - used
            records = later
        self._finish(records, total)
        return self.found

    def _base(self, records: IntArray) -> int:
        """How many records the tables of sums can hold within the cost allowed."""
        spans = self.law.spans.max(axis=0).astype(float) + 1
        terms = max(len(value) for value in self.values)
        count = 1
        while count < len(records) and (count + 1) ** (len(spans) + 1) * np.prod(spans) * terms <= _BASE_COST:
            count += 1
        return count

    def _half(self, now: IntArray, later: IntArray, total: IntArray) -> tuple[IntArray, IntArray]:
        rest = self.law.sum(np.bincount(self.classes[later], minlength=len(self.values)).astype(np.int64))
        batch = max(1, min(_TRIES, _MANY // len(now)))
        for _ in range(_MANY):
            drawn = self._independent(now, batch)
            used = self._sums(now, drawn)
            chance = rest.pmf(total - used) / rest.peak  # I1
            accepted = np.flatnonzero(self.random.uniform(batch) < chance)
            if len(accepted):
                return drawn[accepted[0]], used[accepted[0]]
        raise Infeasible("the totals cannot be reached together", hint="change one of the totals or the domain")

    def _independent(self, records: IntArray, batch: int) -> IntArray:
        uniform = self.random.uniform(batch * len(records)).reshape(batch, len(records))
        if len(self.values) == 1:
            return placed_by(self.cumulative[0], uniform)
        drawn = np.empty(uniform.shape, dtype=np.int64)
        classes = self.classes[records]
        for place in np.unique(classes):
            chosen = np.flatnonzero(classes == place)
            drawn[:, chosen] = placed_by(self.cumulative[place], uniform[:, chosen])
        return drawn

    def _sums(self, records: IntArray, drawn: IntArray) -> IntArray:
        classes = self.classes[records]
        found = np.zeros((len(drawn), self.law.dimensions), dtype=np.int64)
        for place in np.unique(classes) if len(self.values) > 1 else (0,):
            chosen = slice(None) if len(self.values) == 1 else np.flatnonzero(classes == place)
            for row, line in enumerate(drawn):
                found[row] += self._added(line[chosen], self.values[place])
        return found

    def _added(self, line: IntArray, values: IntArray) -> IntArray:
        """The sum of the drawn rows; counting them first is faster where many share few rows."""
        often = len(line) >= len(values)
        found: IntArray = np.bincount(line, minlength=len(values)) @ values if often else values[line].sum(axis=0)
        return found

    def _finish(self, records: IntArray, total: IntArray) -> None:
        """Record by record (I2)."""
        tails = self._tails(records)
        for place, record in enumerate(records):
            own = self.classes[record]
            rest = tails[place]
            left = total - self.values[own]
            inside = ((left >= rest[1]) & (left < rest[1] + np.array(rest[0].shape))).all(axis=1)
            chance = np.zeros(len(left))
            chance[inside] = rest[0][tuple((left[inside] - rest[1]).T)] * self.law.weights[own][inside]
            if not chance.sum() > 0:
                raise Infeasible("the totals cannot be reached together", hint="change one of the totals or the domain")
            chosen = _one(chance, self.random)
            self.found[record] = chosen
            total = left[chosen]

    def _tails(self, records: IntArray) -> list[tuple[FloatArray, IntArray]]:
        """tails[i]: the law of the sum of the records after record i, as a dense table with its lowest corner."""
        tails: list[tuple[FloatArray, IntArray]] = [
            (np.ones((1,) * self.law.dimensions), np.zeros(self.law.dimensions, dtype=np.int64))
        ]
        for record in records[:0:-1]:
            own = self.classes[record]
            table, low = tails[-1]
            shape = np.array(table.shape) + self.law.spans[own]
            grown = np.zeros(shape)
            for offset, weight in zip(self.values[own] - self.law.lows[own], self.law.weights[own], strict=True):
                grown[tuple(slice(o, o + size) for o, size in zip(offset, table.shape, strict=True))] += weight * table
            tails.append((grown / grown.max(), low + self.law.lows[own]))
        return tails[::-1]


def placed_by(cumulative: FloatArray, uniform: FloatArray) -> NDArray[np.int64]:
    """The row that each uniform number falls on."""
    place = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    found: NDArray[np.int64] = np.minimum(place, len(cumulative) - 1)
    return found


def _one(weight: FloatArray, random: Randomness) -> int:
    cumulative = np.cumsum(weight)
    place = int(np.searchsorted(cumulative, float(random.uniform(1)[0]) * cumulative[-1], side="right"))
    return min(place, int(np.flatnonzero(weight)[-1]))


def _box(first: IntArray, last: IntArray) -> IntArray:
    sizes = np.maximum(last - first + 1, 0)
    if np.prod(sizes.astype(float)) > 5e6:
        raise Infeasible("too many combinations of totals to choose from", hint="fix one of the totals")
    axes = [np.arange(low, high + 1) for low, high in zip(first, last, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1).astype(np.int64)


# Lattice
# -------


_CUT = 36.0
_DENSE = 1 << 22
_SMALL = 1 << 12
_FEW = 256
_CHUNK = 1 << 18
_COUNTED = 100
"""Terms of one range up to which sums are counted, and totals asked for at a time: more are cheaper by Fourier sums."""


class SumDistribution:
    """The laws of single terms, one per class; `sum(m)` is the law of a sum."""

    def __init__(self, values: list[IntArray], weights: list[FloatArray]) -> None:
        self.values = values
        self.weights = [weight / weight.sum() for weight in weights]
        self.dimensions = values[0].shape[1]
        self.lows = np.array([value.min(axis=0) for value in values])
        self.spans = np.array([value.max(axis=0) for value in values]) - self.lows
        self.means = np.array([weight @ value for value, weight in zip(values, self.weights, strict=True)])
        self.variances = np.array(
            [
                weight @ (value - mean) ** 2.0
                for value, weight, mean in zip(values, self.weights, self.means, strict=True)
            ]
        )
        self.centers: IntArray = np.rint(self.means).astype(np.int64)
        self._sums: dict[bytes, Sum] = {}

    @cached_property
    def characteristics(self) -> list[Characteristic]:
        """φ of every class, its rounded mean taken out so that phases stay small."""
        centred = [value - center for value, center in zip(self.values, self.centers, strict=True)]
        return [Characteristic(value, weight) for value, weight in zip(centred, self.weights, strict=True)]

    def sum(self, counts: IntArray) -> Sum:
        """The law of a sum with counts[c] terms of class c; made once."""
        key = counts.tobytes()
        if key not in self._sums:
            self._sums[key] = Sum(self, counts)
        return self._sums[key]


class Sum:
    """The law of Σ of m_c terms of each class c."""

    def __init__(self, law: SumDistribution, counts: IntArray) -> None:
        self.law = law
        self.counts = counts
        self.mean: FloatArray = counts @ law.means
        self.low: IntArray = counts @ law.lows
        self.span: IntArray = counts @ law.spans
        self._shift: IntArray = counts @ law.centers

    @cached_property
    def deviation(self) -> FloatArray:
        found: FloatArray = np.sqrt(self.counts @ self.law.variances)
        return found

    @cached_property
    def reach(self) -> FloatArray:
        """Half-width of the window that holds all but e⁻ᶜ of the mass, per dimension (I1)."""
        radius = np.max(self.law.spans, axis=0, where=self.counts[:, None] > 0, initial=0)
        third = _CUT * radius / 3
        found: FloatArray = third + np.sqrt(third**2 + 2 * _CUT * self.deviation**2)
        return found

    @cached_property
    def _run(self) -> RunSum | None:
        """The same law by counting, when it adds a few numbers of one wide range."""
        (used,) = np.nonzero(self.counts)
        if len(used) != 1 or self.law.dimensions != 1 or self.counts.sum() > _COUNTED or int(self.span[0]) < _SMALL:
            return None
        rate = self.law.characteristics[used[0]].rate
        weights = self.law.weights[used[0]]
        return None if rate is None else RunSum(int(self.counts.sum()), len(weights), float(weights[0]), rate)

    @cached_property
    def _dense(self) -> FloatArray | None:
        """The whole law by a full Fourier transform when its support is small."""
        cells = np.prod(self.span + 1.0)
        if cells > (_DENSE if self.counts.sum() <= _FEW else _SMALL):
            return None
        shape = tuple(_fast(int(size) + 1) for size in self.span)
        axes = tuple(range(len(shape)))
        product = np.ones((), dtype=complex)
        for value, weight, low, count in zip(
            self.law.values, self.law.weights, self.law.lows, self.counts, strict=True
        ):
            if count:
                single = np.zeros(shape)
                np.add.at(single, tuple((value - low).T), weight)
                product = product * np.fft.rfftn(single, axes=axes) ** int(count)
        whole: FloatArray = np.fft.irfftn(product, s=shape, axes=axes) if product.ndim else np.ones(shape)
        return np.maximum(whole, 0.0)

    @cached_property
    def _points(self) -> tuple[FloatArray, NDArray[np.complex128], float]:
        """The frequencies that matter, φ there (with the centre taken out), and the volume of the grid."""
        grid = np.minimum(2 * np.ceil(self.reach) + 1, self.span + 1).astype(np.int64)
        step = 2 * np.pi / grid
        low = np.zeros((1, self.law.dimensions), dtype=np.int64)
        size = grid[None, :].copy()
        size[0, 0] = grid[0] // 2 + 1  # I4
        while (size > 1).any():
            low, size = _halved(low, size, step * np.maximum(self.deviation, 1e-9))
            kept = self._may_matter((low + (size - 1) / 2) * step, (size - 1) / 2 * step)
            low, size = low[kept], size[kept]
        points = low * step
        mirrored = np.where((low[:, 0] > 0) & (2 * low[:, 0] < grid[0]), 2.0, 1.0)
        return points, self._transform(points) * mirrored, float(np.prod(grid.astype(float)))

    def _may_matter(self, middle: FloatArray, half: FloatArray) -> NDArray[np.bool_]:
        """Whether h can be at most 2c somewhere in the boxes middle ± half (I2, I3)."""
        height, slope = self._height(middle)
        bend: FloatArray = self.counts @ self.law.variances
        # in coordinates scaled by the deviation the bound on the second derivative is 2 · dimensions
        scale = np.sqrt(np.maximum(bend, 1e-30))
        radius = np.sqrt(((half * scale) ** 2).sum(axis=1))
        steep = np.sqrt(((slope / scale) ** 2).sum(axis=1))
        found: NDArray[np.bool_] = height - steep * radius - self.law.dimensions * radius**2 <= 2 * _CUT
        return found

    def _height(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """h(t) = Σ m_c (1 − |φ_c(t)|²) and its gradient."""
        height = np.zeros(len(points))
        slope = np.zeros(points.shape)
        for place in np.flatnonzero(self.counts):
            count = float(self.counts[place])
            value, inclined = self.law.characteristics[place].with_slopes(points)
            height += count * (1 - (value.real**2 + value.imag**2))
            slope -= 2 * count * (value.conj()[:, None] * inclined).real
        return height, slope

    def _transform(self, points: FloatArray) -> NDArray[np.complex128]:
        logarithm = np.zeros(len(points), dtype=complex)
        for place in np.flatnonzero(self.counts):
            with np.errstate(divide="ignore"):
                logarithm += float(self.counts[place]) * np.log(self.law.characteristics[place].at(points))
        return np.exp(logarithm)

    def pmf(self, totals: IntArray) -> FloatArray:
        """The probability of each total (rows of `totals`)."""
        inside = ((totals >= self.low) & (totals <= self.low + self.span)).all(axis=1)
        found = np.zeros(len(totals))
        if self._run is not None and len(totals) <= _COUNTED:
            return np.array([self._run.pmf(int(total)) for total in totals[:, 0] - self.low[0]])
        if self._dense is not None:
            found[inside] = self._dense[tuple((totals[inside] - self.low).T)]
            return found
        inside &= (np.abs(totals - self.mean) <= self.reach).all(axis=1)
        points, transform, volume = self._points
        moved = (totals[inside] - self._shift).astype(float)
        values = np.empty(len(moved))
        real, imaginary = transform.real.copy(), transform.imag.copy()
        for start, stop in _chunks(len(moved), len(points)):
            phase = np.einsum("ik,jk->ij", moved[start:stop], points)
            whole = np.einsum("ij,j->i", np.cos(phase), real) + np.einsum("ij,j->i", np.sin(phase), imaginary)
            values[start:stop] = whole / volume
        found[inside] = np.maximum(values, 0.0)
        return found

    @cached_property
    def peak(self) -> float:
        """An upper bound of `pmf` everywhere, close to its maximum."""
        if self._run is not None:
            return self._run.peak
        if self._dense is not None:
            return float(self._dense.max())
        _, transform, volume = self._points
        return float(np.abs(transform).sum() / volume)


def _fast(length: int) -> int:
    """The next length without prime factors above 5, which Fourier transforms like."""
    while True:
        rest = length
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 1


def _halved(low: IntArray, size: IntArray, scale: FloatArray) -> tuple[IntArray, IntArray]:
    """Every box cut in two along its longest side (sides measured in deviations)."""
    side = np.argmax(np.where(size > 1, size * scale, -1.0), axis=1)
    rows = np.arange(len(low))
    first, second, start = size.copy(), size.copy(), low.copy()
    cut = size[rows, side] // 2
    first[rows, side] = cut
    second[rows, side] -= cut
    start[rows, side] += cut
    keep = cut > 0
    return np.concatenate([low[keep], start]), np.concatenate([first[keep], second])


def _chunks(count: int, width: int) -> list[tuple[int, int]]:
    size = max(1, _CHUNK // max(width, 1))
    return [(start, min(start + size, count)) for start in range(0, count, size)]


# Characteristic
# --------------


Complexes = NDArray[np.complex128]
_CHARACTERISTIC_CHUNK = 1 << 14
"""Waves at a time, so that they stay in the cache; `einsum` multiplies them without waking threads that cost more than
they do."""
_SPARSE = 16
_NEAR = 8.0
"""Where the closed form of a series would subtract nearly equal numbers, it is built up by doubling."""


class Characteristic:
    """φ of the law that gives `weights[j]` to the vector `values[j]` (n × k)."""

    def __init__(self, values: IntArray, weights: FloatArray) -> None:
        self.values, self.weights = values.astype(float), weights
        self._grid = _grid(values, weights) if values.shape[1] == 2 else None
        self._width = len(values) if self._grid is None else sum(self._grid[2].shape)
        self.rate = _rate(values, weights) if values.shape[1] == 1 else None

    def at(self, points: FloatArray) -> Complexes:
        return self._all(points, slopes=False)[0]

    def with_slopes(self, points: FloatArray) -> tuple[Complexes, Complexes]:
        """φ and its gradient (points × k)."""
        return self._all(points, slopes=True)

    def _all(self, points: FloatArray, *, slopes: bool) -> tuple[Complexes, Complexes]:
        if self.rate is None:
            return self._in_chunks(points, slopes)
        found, inclined = self._series(points[:, 0])
        return found, inclined[:, None]

    def _series(self, points: FloatArray) -> tuple[Complexes, Complexes]:
        """Σ w₀ e^{zj} e^{it·low} over j < n with z = rate + it, and its derivative by t."""
        assert self.rate is not None
        count, low = len(self.values), self.values[0, 0]
        z = self.rate + 1j * points
        with np.errstate(divide="ignore", invalid="ignore"):
            step, whole = np.expm1(z), np.expm1(z * count)
            total = whole / step
            ahead = (count * (whole + 1) - total * (step + 1)) / step
        near = np.abs(z) * count < _NEAR
        total[near], ahead[near] = _doubled(z[near], count)
        start = self.weights[0] * np.exp(1j * points * low)
        return start * total, 1j * start * (low * total + ahead)

    def _in_chunks(self, points: FloatArray, slopes: bool) -> tuple[Complexes, Complexes]:
        found = np.empty(len(points), dtype=complex)
        inclined = np.empty(points.shape if slopes else (0, 0), dtype=complex)
        size = max(1, _CHARACTERISTIC_CHUNK // self._width)
        for start in range(0, len(points), size):
            part = slice(start, start + size)
            one = self._gridded(points[part], slopes) if self._grid else self._listed(points[part], slopes)
            found[part] = one[0]
            if slopes:
                inclined[part] = 1j * one[1]
        return found, inclined

    def _listed(self, points: FloatArray, slopes: bool) -> tuple[Complexes, Complexes]:
        waves = _waves(points @ self.values.T)
        return waves @ self.weights, waves @ (self.values * self.weights[:, None]) if slopes else waves

    def _gridded(self, points: FloatArray, slopes: bool) -> tuple[Complexes, Complexes]:
        assert self._grid is not None
        first, second, table = self._grid
        ahead = _waves(np.outer(points[:, 0], first))
        aside = _waves(np.outer(points[:, 1], second))
        summed = np.einsum("ij,jk->ik", ahead, table)
        found = np.einsum("ij,ij->i", summed, aside)
        if not slopes:
            return found, summed
        along = np.einsum("ij,ij->i", np.einsum("ij,jk->ik", ahead * first, table), aside)
        across = np.einsum("ij,ij->i", summed, aside * second)
        return found, np.stack([along, across], axis=1)


def _waves(phases: FloatArray) -> Complexes:
    """e^{i phase}; real cosines and sines are several times faster than the complex exponential."""
    found = np.empty(phases.shape, dtype=complex)
    np.cos(phases, out=found.real)
    np.sin(phases, out=found.imag)
    return found


def _doubled(z: Complexes, count: int) -> tuple[Complexes, Complexes]:
    """Σ e^{zj} and Σ j e^{zj} over j < count: from half as many terms to all, bit by bit of the count.

    >>> sums, ahead = _doubled(np.array([0.1j, 0j]), 7)
    >>> bool(np.allclose(sums, [sum(np.exp(0.1j * j) for j in range(7)), 7])), complex(ahead[1])
    (True, (21+0j))
    """
    total, ahead, terms = np.zeros_like(z), np.zeros_like(z), 0
    for bit in bin(count)[2:]:
        turned = np.exp(z * terms)
        total, ahead, terms = total * (1 + turned), ahead + turned * (terms * total + ahead), 2 * terms
        if bit == "1":
            turned = np.exp(z * terms)
            total, ahead, terms = total + turned, ahead + terms * turned, terms + 1
    return total, ahead


def _rate(values: IntArray, weights: FloatArray) -> float | None:
    """The logarithm of the common factor between weights of consecutive values; None when there is none."""
    if len(values) < 64 or (np.diff(values[:, 0]) != 1).any() or not (weights > 0).all():
        return None
    logs = np.log(weights)
    rate = float(logs[-1] - logs[0]) / (len(values) - 1)
    straight = logs[0] + rate * np.arange(len(values))
    return rate if np.abs(logs - straight).max() <= 1e-11 else None


def _grid(values: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, Complexes] | None:
    """The distinct values per dimension and the weights between them; None when most combinations do not occur."""
    first, row = np.unique(values[:, 0], return_inverse=True)
    second, column = np.unique(values[:, 1], return_inverse=True)
    if len(first) * len(second) > _SPARSE * len(values) or len(first) + len(second) >= len(values):
        return None
    table = np.zeros((len(first), len(second)), dtype=complex)
    np.add.at(table, (row, column), weights)
    return first.astype(float), second.astype(float), table


# Runs
# ----


_ABOVE = 1 + 1e-9
"""What rounding may take from a logarithm, put back, so that nothing is ever above the peak."""


def sequences(terms: int, numbers: int, total: int) -> int:
    """How many sequences of numbers 0 … numbers − 1 have this sum.

    >>> sequences(3, 10, 13), sequences(3, 10, 14)
    (75, 75)
    """
    top = terms * (numbers - 1)
    if not 0 <= total <= top:
        return 0
    total = min(total, top - total)
    signed = (
        (-1) ** over * math.comb(terms, over) * math.comb(total - over * numbers + terms - 1, terms - 1)
        for over in range(total // numbers + 1)
    )
    return sum(signed)


@dataclass(frozen=True)
class RunSum:
    """A sum of `terms` numbers 0 … `numbers` − 1, number j with probability weight · e^{rate · j}."""

    terms: int
    numbers: int
    weight: float
    rate: float

    def pmf(self, total: int) -> float:
        return math.exp(self._level(total)) if 0 <= total <= self.terms * (self.numbers - 1) else 0.0

    @cached_property
    def peak(self) -> float:
        """Not below any value of `pmf` (I1)."""
        low, high = 0, self.terms * (self.numbers - 1)
        while low < high:
            middle = (low + high) // 2
            if self._level(middle) < self._level(middle + 1):
                low = middle + 1
            else:
                high = middle
        return math.exp(self._level(low)) * _ABOVE

    def _level(self, total: int) -> float:
        return (
            math.log(sequences(self.terms, self.numbers, total))
            + self.terms * math.log(self.weight)
            + self.rate * total
        )
