"""The closed form of a geometric series against its terms, and totals over wide ranges."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling import sum_distribution
from sfumato.kinds.testdata.methods.sampling.sum_distribution import (
    Characteristic,
    SumDistribution,
    TotalSampler,
    sequences,
)
from tests.secret import SEED


def law(size: int, rate: float, centre: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.arange(size) - centre
    weights = np.exp(rate * values - (rate * values).max())
    return values[:, None], weights / weights.sum()


@pytest.mark.parametrize(
    ("size", "rate", "centre"), [(1000, 0.0, 480), (1000, -0.01, 90), (200, 0.3, 190), (20_000, -6e-4, 1600)]
)
def test_a_series_is_the_sum_of_its_terms(size: int, rate: float, centre: int) -> None:
    values, weights = law(size, rate, centre)
    series = Characteristic(values, weights)
    terms = np.exp(1j * np.outer(points := np.append(np.geomspace(1e-9, np.pi, 60), 0.0), values[:, 0])) * weights
    assert series.rate is not None
    found, slopes = series.with_slopes(points[:, None])
    assert np.abs(found - terms.sum(axis=1)).max() < 1e-12
    assert np.abs(slopes[:, 0] - 1j * (terms * values[:, 0]).sum(axis=1)).max() < 1e-12 * size


def test_other_laws_are_added_term_by_term() -> None:
    values, weights = law(1000, 0.0, 0)
    bumpy = weights.copy()
    bumpy[500] *= 1 + 1e-6
    assert Characteristic(values, bumpy).rate is None
    assert Characteristic(values * 2, weights).rate is None


def test_amounts_to_the_cent_reach_their_total() -> None:
    sampler = TotalSampler([np.arange(40_000)[:, None]], [np.ones(40_000)], np.zeros(300, dtype=np.int64))
    assert int(sampler.draw(np.array([1_000_003]), Randomness(seed=3)).sum()) == 1_000_003


@pytest.mark.parametrize(("terms", "numbers"), [(1, 5), (2, 7), (3, 4), (5, 3)])
def test_sequences_are_counted_as_a_list_of_all_counts_them(terms: int, numbers: int) -> None:
    listed = Counter(map(sum, itertools.product(range(numbers), repeat=terms)))
    assert [sequences(terms, numbers, total) for total in range(-1, terms * numbers + 1)] == [
        listed[total] for total in range(-1, terms * numbers + 1)
    ]


@pytest.mark.parametrize("theta", [0.0, 1e-3, -4e-4])
@pytest.mark.parametrize("terms", [2, 9, 40])
def test_a_few_terms_of_a_wide_range_are_counted_and_agree_with_the_transform(
    terms: int, theta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(50, 5_050)
    law = SumDistribution([values[:, None]], [np.exp(theta * (values - values.mean()))])
    counted = law.sum(np.array([terms]))
    totals = np.rint(counted.mean + np.linspace(-3, 3, 41)[:, None] * counted.deviation).astype(np.int64)
    found, peak = counted.pmf(totals), counted.peak
    monkeypatch.setattr(sum_distribution, "_COUNTED", 0)
    transformed = SumDistribution(law.values, law.weights).sum(np.array([terms]))
    assert found == pytest.approx(transformed.pmf(totals), rel=1e-6, abs=1e-12)
    assert found.max() <= peak <= transformed.peak * (1 + 1e-6)
    assert counted.pmf(np.array([[counted.low[0] - 1], [counted.low[0] + counted.span[0] + 1]])).tolist() == [0.0, 0.0]


def test_one_mean_over_a_wide_range_is_reached() -> None:
    """Three thousand numbers up to a million: every halving down to the last record, some by transform and some by
    counting."""
    size = 1_000_001
    sampler = TotalSampler([np.arange(size)[:, None]], [np.ones(size)], np.zeros(3_000, dtype=np.int64))
    drawn = sampler.draw(np.array([490_944 * 3_000]), Randomness(seed=SEED))
    assert int(drawn.sum()) == 490_944 * 3_000
    assert 0 <= drawn.min() < 10_000
    assert 990_000 < drawn.max() < size
