"""Records with fixed totals: exactly uniform over all tables whose sums are as wanted, for a million records.

Guarantee
    The drawn sequence has the law of independent terms (with the given weights) conditioned on its totals. With weights that
    count legal records, every legal table is equally likely.

Notation
    v      contribution of a record to the totals (k integers), one row of a class's value table
    θ      exponential tilt: weights w(v)·e^{θ·v} give the same conditional law for every θ; θ makes the wanted total the mean
    s      the total that is still to be reached by the remaining records

Invariants
    I1  Draw the first half independently and accept with probability pmf_rest(s − drawn) / peak_rest: the accepted half has
        the law it has in the conditioned sequence. Continue with the rest.
    I2  The last few records are drawn one by one, each with probability proportional to w(v) times the exact probability
        that the remaining ones reach the rest (tables of sums by convolution, no subtraction, no rounding to zero of
        what is possible).

Departures
    The working notes take the maximum of the pmf by scanning; here it is bounded from above by the Fourier sum of absolute
    values, which needs no search and keeps I1 exact.

Cost: about three draws per record and total, plus a few dozen Fourier points per halving.

>>> from sfumato.randomness import Randomness
>>> sampler = TotalSampler([np.arange(80, 101)[:, None]], [np.ones(21)], np.zeros(4, dtype=np.int64))
>>> grades = sampler.draw(np.array([360]), Randomness(seed=1)) + 80
>>> int(grades.sum())
360
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.lattice import Law, Sum
from sfumato.randomness import Randomness

_BASE_COST = 2e7
_MANY = 200_000
_NOISE = 1e-12
_DEEPEST = 300.0
"""How small a product of weights may be, as a logarithm; the smallest number is beyond 700."""
_TRIES = 24
"""Halves that are drawn at a time; about every second one is accepted, and judging them may be dear."""


class TotalSampler:
    """Draws one contribution per record so that the totals come out exactly.

    `values[c]` (n × k) are the distinct contributions of a record of class c, `weights[c]` how many legal records give each,
    `classes[i]` the class of record i. `draw` returns, for every record, the row of its class's table. Where records lie elsewhere
    there are none here to draw for, and `counts` says how many each class has.
    """

    def __init__(
        self, values: list[IntArray], weights: list[FloatArray], classes: IntArray, counts: IntArray | None = None
    ) -> None:
        self.values = [np.asarray(value, dtype=np.int64) for value in values]
        self.weights = [np.asarray(weight, dtype=np.float64) for weight in weights]
        self.classes = classes
        self.counts: IntArray = np.bincount(classes, minlength=len(values)).astype(np.int64) if counts is None else counts
        self.dimensions = self.values[0].shape[1]
        self._laws: dict[tuple[float, ...], Law] = {}
        self._thetas: dict[bytes, FloatArray] = {}

    def draw(self, total: IntArray, random: Randomness) -> IntArray:
        """A conditioned sequence; raises `Infeasible` when the total cannot be reached."""
        total = np.asarray(total, dtype=np.int64)
        self.require_reachable(total)
        law = self.law(np.zeros(self.dimensions)) if self._is_short else self.law_towards(total)
        return _Descent(self, law, random).run(np.arange(len(self.classes)), total)

    @cached_property
    def _is_short(self) -> bool:
        """So few records that a law without a tilt rounds no total to zero: as good as any, and the same for all totals."""
        rarest = max(math.log(weight.sum()) - math.log(weight[weight > 0].min()) for weight in self.weights)
        records = len(self.classes)
        return records * rarest < _DEEPEST and (records + 1) ** (self.dimensions + 1) * self._terms <= _BASE_COST

    @property
    def _terms(self) -> float:
        """Entries of one step of the tables of sums, but for the number of records."""
        spans = np.max([np.ptp(value, axis=0) for value in self.values], axis=0).astype(float) + 1
        return float(np.prod(spans)) * max(len(value) for value in self.values)

    def law_towards(self, total: IntArray) -> Law:
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

    def _chosen(self, law: Sum, theta: FloatArray, low: IntArray, high: IntArray, random: Randomness) -> IntArray | None:
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

    def law(self, theta: FloatArray) -> Law:
        key = tuple(theta.tolist())
        if key not in self._laws:
            self._laws[key] = Law(self.values, tilted_weights(self.values, self.weights, theta))
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

    A total on the rim of what is possible has no finite θ; the steps then stop at a large one, which is as good as any: the
    conditional law does not depend on θ.
    """
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
    values: list[IntArray], weights: list[FloatArray], counts: IntArray, total: IntArray, theta: FloatArray, scale: FloatArray
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

    def __init__(self, sampler: TotalSampler, law: Law, random: Randomness) -> None:
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
