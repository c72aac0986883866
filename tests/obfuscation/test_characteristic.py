"""The closed form of a geometric series against its terms, and totals over wide ranges."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.replacing.sampling.characteristic import Characteristic
from sfumato.methods.replacing.sampling.totals import TotalSampler
from sfumato.randomness import Randomness


def law(size: int, rate: float, centre: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.arange(size) - centre
    weights = np.exp(rate * values - (rate * values).max())
    return values[:, None], weights / weights.sum()


@pytest.mark.parametrize(("size", "rate", "centre"), [(1000, 0.0, 480), (1000, -0.01, 90), (200, 0.3, 190), (20_000, -6e-4, 1600)])
def test_a_series_is_the_sum_of_its_terms(size: int, rate: float, centre: int) -> None:
    values, weights = law(size, rate, centre)
    series = Characteristic(values, weights)
    terms = np.exp(1j * np.outer(points := np.append(np.geomspace(1e-9, np.pi, 60), 0.0), values[:, 0])) * weights
    assert series._rate is not None
    found, slopes = series.with_slopes(points[:, None])
    assert np.abs(found - terms.sum(axis=1)).max() < 1e-12
    assert np.abs(slopes[:, 0] - 1j * (terms * values[:, 0]).sum(axis=1)).max() < 1e-12 * size


def test_other_laws_are_added_term_by_term() -> None:
    values, weights = law(1000, 0.0, 0)
    bumpy = weights.copy()
    bumpy[500] *= 1 + 1e-6
    assert Characteristic(values, bumpy)._rate is None
    assert Characteristic(values * 2, weights)._rate is None


def test_amounts_to_the_cent_reach_their_total() -> None:
    sampler = TotalSampler([np.arange(40_000)[:, None]], [np.ones(40_000)], np.zeros(300, dtype=np.int64))
    assert int(sampler.draw(np.array([1_000_003]), Randomness(seed=3)).sum()) == 1_000_003
