"""The characteristic function of one integer vector, φ(t) = Σ w(v) e^{i t·v}, with its gradient, at many points.

In two dimensions φ(t) = Σ_a e^{i t₁a} Σ_b W(a, b) e^{i t₂b} needs one exponential per distinct a and b instead of one per vector.
Values on a grid (two marks from 80 to 100: 42 exponentials for 221 vectors) are told from scattered ones by counting. Consecutive
numbers with weights w·rʲ, as every plain range of integers or decimals has them under a tilt, are a geometric series.

Cost: points × (distinct values per dimension), plus a product with W; points × vectors when the values are scattered; points alone
for a series, so that amounts between 0 and 1,000 to the cent cost no more than marks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray

Complexes = NDArray[np.complex128]
_CHUNK = 1 << 14
"""Waves at a time, so that they stay in the cache; `einsum` multiplies them without waking threads that cost more than they do."""
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
        size = max(1, _CHUNK // self._width)
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
