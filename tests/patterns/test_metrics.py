"""Distortion, clustering error and threshold queries against plain loops."""

from itertools import permutations

import numpy as np
import pytest

from sfumato.kinds.testdata.metrics import (
    RangeAnswering,
    clustering_error,
    distortion,
    errors,
    kmeans,
    mismatch,
    spread_starts,
)


def test_distortion_is_the_mean_relative_change():
    rng = np.random.default_rng(1)
    before, after = rng.integers(1, 50, (30, 3)).astype(float), rng.integers(1, 50, (30, 3)).astype(float)
    plain = np.mean(
        [abs(a - b) / b for row, new in zip(before, after, strict=True) for b, a in zip(row, new, strict=True)]
    )
    assert distortion(before, after) == pytest.approx(plain)
    assert distortion(before, before) == 0
    assert np.isfinite(distortion(np.zeros((3, 1)), np.ones((3, 1))))


def test_mismatch_is_the_least_over_all_assignments():
    rng = np.random.default_rng(2)
    for _ in range(20):
        one, other = rng.integers(0, 3, 25), rng.integers(0, 3, 25)
        least = min(sum(perm[a] != b for a, b in zip(one, other, strict=True)) for perm in permutations(range(3)))
        assert mismatch(one, other, 3) == pytest.approx(least / 25)


def test_kmeans_agrees_with_a_maintained_one():
    cluster = pytest.importorskip("sklearn.cluster")
    rng = np.random.default_rng(3)
    points = np.vstack([rng.normal(centre, 0.3, (60, 2)) for centre in ((0, 0), (3, 0), (0, 4))])
    starts = spread_starts(points, 3, rng)
    theirs = cluster.KMeans(3, init=points[starts], n_init=1).fit(points).labels_
    assert mismatch(kmeans(points, starts), theirs, 3) == 0


def test_clustering_error_grows_with_noise():
    rng = np.random.default_rng(4)
    points = np.vstack([rng.normal(centre, 0.5, (80, 2)) for centre in ((0, 0), (3, 0), (0, 4))])
    found = [clustering_error(points, points + rng.normal(0, noise, points.shape), 3) for noise in (0, 0.5, 5)]
    assert found[0] == 0
    assert found[0] <= found[1] < found[2]


def test_queries_against_plain_loops():
    rng = np.random.default_rng(5)
    table = RangeAnswering(
        rng.integers(0, 20, (50, 2)).astype(float), rng.integers(-1, 3, 50)
    )  # -1: in this table alone
    at, accepted = np.array([7.0, -np.inf]), np.array([0, 2])
    rows = [i for i in range(50) if table.numbers[i, 0] > 7 and table.label[i] in (0, 2)]
    assert table.answer(1, at, accepted) == pytest.approx(np.mean([table.numbers[i, 1] for i in rows]))
    assert table.answer(None, np.array([7.0, 3.0]), None) == sum(a > 7 and b > 3 for a, b in table.numbers)
    assert table.answer(1, np.array([99.0, 0.0]), None) is None


def test_query_error_is_zero_for_the_original_and_covers_every_form():
    rng = np.random.default_rng(6)
    table = RangeAnswering(rng.integers(0, 20, (200, 3)).astype(float), rng.integers(0, 4, 200))
    assert errors(table, table, ("a", "b", "c"), 40) == {"count": 0, "average a": 0, "average b": 0, "average c": 0}
    moved = RangeAnswering(table.numbers + 3, table.label)
    assert all(value > 0 for value in errors(table, moved, ("a", "b", "c"), 40).values())
