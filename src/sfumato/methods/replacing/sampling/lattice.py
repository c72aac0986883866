"""The law of a sum of many independent integer vectors, at any point, for a million terms.

Notation
    class c    terms with the same law: contribution values[c] (n × k integers) with probability weights[c]
    m_c        how many terms of class c are added
    φ_c        characteristic function of one term, E e^{i t·v}; the sum has φ = Π φ_c^{m_c}
    M          grid per dimension; the sum's mass outside a window of M points is below e⁻ᶜ, c = `_CUT`

Guarantee
    `pmf` differs from the truth by less than a few e⁻ᶜ (c = 36) plus rounding; `peak` is never below any value of `pmf`.

Invariants
    I1  Bernstein: a window of half-width x with x² = 2c(Σ mσ² + Rx/3) misses less than 2e⁻ᶜ of the mass, so folding the sum
        modulo M > 2x moves less than that.
    I2  |φ|² ≤ exp(−h) with h(t) = Σ m_c (1 − |φ_c|²). Points with h > 2c together add less than M^k e⁻ᶜ / M^k.
    I3  The second derivative of h is at most 2 Σ m_c trace(cov_c) in norm, so a box is dropped only when h > 2c on all of it.
        Nothing is assumed about where φ is large: sums on a sublattice have several peaks, all are found.
    I4  φ(−t) is the conjugate of φ(t), and only real parts are used: half the grid, counted twice, is enough.

Cost: a few dozen points per dimension and sum, found by halving boxes; independent of the number of terms. A few terms of a wide
range have no such points and are counted instead (`runs.py`).

>>> coin = Law([np.array([[0], [1]])], [np.array([0.5, 0.5])])
>>> round(float(coin.sum(np.array([1000])).pmf(np.array([[500]]))[0]), 6)
0.025225
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.replacing.sampling.characteristic import Characteristic
from sfumato.methods.replacing.sampling.runs import RunSum

_CUT = 36.0
_DENSE = 1 << 22
_SMALL = 1 << 12
_FEW = 256
_CHUNK = 1 << 18
_COUNTED = 100
"""Terms of one range up to which sums are counted, and totals asked for at a time: more are cheaper by Fourier sums."""


class Law:
    """The laws of single terms, one per class; `sum(m)` is the law of a sum."""

    def __init__(self, values: list[IntArray], weights: list[FloatArray]) -> None:
        self.values = values
        self.weights = [weight / weight.sum() for weight in weights]
        self.dimensions = values[0].shape[1]
        self.lows = np.array([value.min(axis=0) for value in values])
        self.spans = np.array([value.max(axis=0) for value in values]) - self.lows
        self.means = np.array([weight @ value for value, weight in zip(values, self.weights, strict=True)])
        self.variances = np.array(
            [weight @ (value - mean) ** 2.0 for value, weight, mean in zip(values, self.weights, self.means, strict=True)]
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

    def __init__(self, law: Law, counts: IntArray) -> None:
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
        for value, weight, low, count in zip(self.law.values, self.law.weights, self.law.lows, self.counts, strict=True):
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
