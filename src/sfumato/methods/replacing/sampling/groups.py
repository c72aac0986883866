"""Many small groups, each with its own total: items of orders, payments of contracts, blocks of a table.

Guarantee
    Inside every group the drawn sequence is uniform (with the given weights) over all that reach the group's total; groups are
    independent.

Notation
    W_r(s)   weight of all sequences of r items with total s; W_0(0) = 1, W_r(s) = Σ_v w(v)·W_{r−1}(s − v)
    C_r      prefix sums of W_r

Invariants
    I1  The next item is v with probability w(v)·W_{r−1}(s − v) / W_r(s): the law it has in the conditioned sequence.
    I2  While all counts fit into 62 bits they are exact integers; then an item of a run of equally weighted neighbours is found
        by one search in C_{r−1}. Larger counts are floats, tilted towards the group's mean so that nothing vanishes.

Cost: O(items · log) with I2's search, O(items · values) otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.totals import TotalSampler, tilt, tilted_weights
from sfumato.randomness import Randomness

_CELLS = 4_000_000
_TABLE = 3e8
_TILTS = 24


def group_totals(values: IntArray, weights: FloatArray, sizes: IntArray, totals: IntArray, random: Randomness) -> IntArray:
    """For every item, group by group, the position of its contribution in `values`.

    `values` are increasing, `weights` whole counts; `sizes[g]` items of group g add up to `totals[g]`.
    """
    _require_bounds(values, sizes, totals)
    found = np.empty(int(sizes.sum()), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for chosen, theta in _batches(values, weights, sizes, totals):
        if theta is not None and _cost(values, int(sizes[chosen].max())) > _TABLE:
            _one_by_one(values, weights, sizes, totals, starts, chosen, found, random)
        else:
            _Tables(values, weights, int(sizes[chosen].max()), theta).draw(
                sizes[chosen], totals[chosen], starts[chosen], found, random
            )
    return found


def _require_bounds(values: IntArray, sizes: IntArray, totals: IntArray) -> None:
    wrong = int(((totals < sizes * values[0]) | (totals > sizes * values[-1])).sum())
    if wrong:
        raise Infeasible(f"{wrong} groups have a total that their items cannot reach", hint="change the totals or the domain")


def _cost(values: IntArray, largest: int) -> float:
    return float(largest) ** 2 / 2 * float(values[-1] - values[0] + 1) * len(values)


def _batches(values: IntArray, weights: FloatArray, sizes: IntArray, totals: IntArray) -> list[tuple[IntArray, float | None]]:
    """Groups that can share tables: those with exact counts, then the others by the tilt they want."""
    logarithm = np.log2(float(weights.sum()))
    exact = sizes * logarithm < 61
    batches: list[tuple[IntArray, float | None]] = []
    if exact.any():
        batches.append((np.flatnonzero(exact), None))
    rest = np.flatnonzero(~exact)
    if len(rest):
        wanted = np.array([_ideal(values, weights, mean) for mean in _levels(totals[rest] / sizes[rest])])
        nearest = np.abs((totals[rest] / sizes[rest])[:, None] - _levels(totals[rest] / sizes[rest])).argmin(axis=1)
        batches += [(rest[nearest == place], float(wanted[place])) for place in np.unique(nearest)]
    return batches


def _levels(means: FloatArray) -> FloatArray:
    return np.unique(np.quantile(means, np.linspace(0, 1, _TILTS)))


def _ideal(values: IntArray, weights: FloatArray, mean: float) -> float:
    aim = np.clip(mean, values[0] + 1e-3, values[-1] - 1e-3)
    return float(tilt([values[:, None]], [weights], np.array([1000]), np.array([round(aim * 1000)]))[0])


class _Tables:
    def __init__(self, values: IntArray, weights: FloatArray, largest: int, theta: float | None) -> None:
        self.values = values
        exact = theta is None
        self.weights = (
            np.rint(weights).astype(np.int64)
            if theta is None
            else tilted_weights([values[:, None]], [weights / weights.max()], np.array([theta]))[0]
        )
        # only a run of neighbours with equal weights lets the prefix sums find the item
        self.searchable = bool(exact and (np.diff(values) == 1).all() and (self.weights == self.weights[0]).all())
        self.sums: list[NDArray[np.generic]] = [np.ones(1, dtype=np.int64 if exact else np.float64)]
        for _ in range(largest):
            self.sums.append(self._grown(self.sums[-1], exact))
        self.prefix = [np.concatenate([[0], np.cumsum(table)]) for table in self.sums] if self.searchable else []

    def _grown(self, table: NDArray[np.generic], exact: bool) -> NDArray[np.generic]:
        span = int(self.values[-1] - self.values[0])
        grown = np.zeros(len(table) + span, dtype=table.dtype)
        if self.searchable:
            prefix = np.concatenate([[0], np.cumsum(table)])
            place = np.arange(len(grown))
            upper = np.minimum(place + 1, len(table))
            lower = np.clip(place - span, 0, len(table))
            return np.asarray((prefix[upper] - prefix[lower]) * self.weights[0])
        for offset, weight in zip(self.values - self.values[0], self.weights, strict=True):
            grown[offset : offset + len(table)] += weight * table
        return grown if exact else grown / grown.max()

    def draw(self, sizes: IntArray, totals: IntArray, starts: IntArray, found: IntArray, random: Randomness) -> None:
        left = totals - sizes * self.values[0]  # every item counted from the smallest value
        for size in range(int(sizes.max()), 0, -1):
            active = np.flatnonzero(sizes >= size)
            step = self._search if self.searchable else self._weigh
            offsets, rows = step(size, left[active], random)
            found[starts[active] + sizes[active] - size] = rows
            left[active] -= offsets
        assert not left.any()

    def _search(self, size: int, left: IntArray, random: Randomness) -> tuple[IntArray, IntArray]:
        """One search in the prefix sums per group (I2)."""
        prefix, span = self.prefix[size - 1], int(self.values[-1] - self.values[0])
        upper = np.minimum(left + 1, len(prefix) - 1)
        lower = np.clip(left - span, 0, len(prefix) - 1)
        weight = prefix[upper] - prefix[lower]
        _require_positive(weight)
        target = prefix[lower] + random.below(weight)
        rest = np.searchsorted(prefix, target, side="right") - 1
        offsets = left - rest
        return offsets, offsets

    def _weigh(self, size: int, left: IntArray, random: Randomness) -> tuple[IntArray, IntArray]:
        """All values weighed for every group (I1)."""
        table = self.sums[size - 1]
        offsets = self.values - self.values[0]
        rows = np.empty(len(left), dtype=np.int64)
        step = max(1, _CELLS // len(offsets))
        for start in range(0, len(left), step):
            rest = left[start : start + step, None] - offsets
            inside = (rest >= 0) & (rest < len(table))
            weight = np.where(inside, table[np.where(inside, rest, 0)], 0) * self.weights
            cumulative = np.cumsum(weight, axis=1)
            _require_positive(cumulative[:, -1])
            target = (
                random.below(cumulative[:, -1].astype(np.int64))
                if cumulative.dtype == np.int64
                else random.uniform(len(rest)) * cumulative[:, -1]
            )
            rows[start : start + step] = (cumulative <= target[:, None]).sum(axis=1)
        rows = np.minimum(rows, len(offsets) - 1)
        return offsets[rows], rows


def _require_positive(weight: NDArray[np.generic]) -> None:
    wrong = int((np.asarray(weight) <= 0).sum())
    if wrong:
        raise Infeasible(f"{wrong} groups have a total that their items cannot reach", hint="change the totals or the domain")


def _one_by_one(
    values: IntArray,
    weights: FloatArray,
    sizes: IntArray,
    totals: IntArray,
    starts: IntArray,
    chosen: IntArray,
    found: IntArray,
    random: Randomness,
) -> None:
    """Large groups over wide domains: each is a table with one total of its own."""
    for group in chosen:
        sampler = TotalSampler([values[:, None]], [weights], np.zeros(int(sizes[group]), dtype=np.int64))
        found[starts[group] : starts[group] + sizes[group]] = sampler.draw(totals[group : group + 1], random)
