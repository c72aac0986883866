"""Every kernel against its plain twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from baselines.greedy import STUCK, greedy_round
from plain_orders import (
    plain_greedy_round,
    plain_length,
    plain_relocate,
    plain_reverse,
    plain_shorten,
    plain_walk_round,
)
from random_baskets import random_sets

from sfumato.core.kernels import chacha
from sfumato.core.randomness import Randomness
from sfumato.kinds.baskets.methods.kernels import blocks, rings
from sfumato.kinds.baskets.methods.nonreciprocal import ring_targets


def test_the_stream_is_chacha20() -> None:
    """The first block for a zero key, as published with the cipher."""
    words = chacha.plain_words(bytes(32))
    first = b"".join(next(words).to_bytes(4, "little") for _ in range(8))
    assert first.hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


@pytest.mark.twin(of=[chacha.open_stream, chacha.below])
def test_kernel_and_plain_stream_agree_over_many_blocks() -> None:
    key = bytes(range(32))
    stream, words = chacha.open_stream(chacha.key_words(key), 0), chacha.plain_words(key)
    assert [int(chacha.next_word(stream)) for _ in range(100)] == [next(words) for _ in range(100)]
    for bound in (1, 2, 3, 1000, 2**31 - 1):
        assert [chacha.below(stream, bound) for _ in range(50)] == [chacha.plain_below(words, bound) for _ in range(50)]


def test_choices_are_uniform() -> None:
    stream = chacha.open_stream(chacha.key_words(Randomness(seed=1).bytes(32)), 0)
    counts = np.bincount([int(chacha.below(stream, 7)) for _ in range(7000)], minlength=7)
    assert ((counts - 1000) ** 2 / 1000).sum() < 27.9  # chi-square, 6 degrees of freedom, 1e-4


@pytest.mark.twin(of=[rings.truncated_walk])
@pytest.mark.parametrize("limit", [1, 2, 5, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_truncated_walk_equals_its_twin(seed: int, limit: int) -> None:
    """Also where patience is short and most places are found by search."""
    key, n, k = Randomness(seed=seed).bytes(32), 23, 4
    edges, rows = ring_targets(n, k), ring_targets(n, k).tolist()
    stream, words = chacha.open_stream(chacha.key_words(key), 0), chacha.plain_words(key)
    for turn in range(k):
        owner, _ = rings.truncated_walk(edges, k - turn, stream, limit)
        assert owner.tolist() == rings.plain_truncated_walk(rows, words, limit)


@pytest.mark.twin(of=[blocks.vote])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_votes_equal_the_dense_count(k: int, turned: bool) -> None:
    rng = np.random.default_rng(k)
    sets = random_sets(rng, 30, 11)
    members = np.stack([rng.permutation(30)[:k] for _ in range(30)]).astype(np.int32)
    rates = rng.random((11, 2 * k + 2)).astype(np.float32) if turned else np.zeros((0, 0), dtype=np.float32)
    starts, base, doubt_starts, doubt, threshold, distance = blocks.vote(
        sets.starts, sets.items, members, sets.width, rates
    )
    want_base, want_doubt, want_distance = blocks.plain_vote(sets.dense(), members, rates if turned else None)
    for begin, items, want in ((starts, base, want_base), (doubt_starts, doubt, want_doubt)):
        for row in range(30):
            assert items[begin[row] : begin[row + 1]].tolist() == np.flatnonzero(want[row]).tolist()
    assert (distance.reshape(30, k) == want_distance).all()
    assert (threshold == want_distance.max(axis=1)).all()


def _distances(rng: np.random.Generator, size: int) -> np.ndarray:
    half = rng.random((size, size)).astype(np.float32)
    far = half + half.T
    np.fill_diagonal(far, 0)
    return far


@pytest.mark.parametrize(("k", "block"), [(2, 1), (3, 1), (5, 1), (3, 2), (4, 3), (6, 5)])
def test_relocation_finds_the_best_place(k: int, block: int) -> None:
    rng = np.random.default_rng(10 * k + block)
    far = _distances(rng, 26)
    lo, hi = k - 1, 26 - k + 1
    seq = rng.permutation(26)
    p = lo + 3
    active = np.zeros(26, dtype=bool)
    active[seq[p]] = True  # blocks that contain this record are tried, the first of them begins at p − block + 1
    first = max(lo, p - block + 1)
    expected = rings.plain_relocate_once(far, seq.copy(), k, lo, hi, first, block)
    before = rings.plain_cost(far, seq, k)
    only = seq.copy()
    rings.relocate(far, only, k, lo, hi, block, active)
    assert rings.plain_cost(far, only, k) <= before + 1e-6
    if block == 1:
        assert rings.plain_cost(far, only, k) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("k", [2, 4, 7])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_relocation_only_ever_lowers_the_cost_and_keeps_the_ends(k: int, block: int) -> None:
    rng = np.random.default_rng(k)
    far, seq = _distances(rng, 60), rng.permutation(60)
    lo, hi = k - 1, 60 - k + 1
    ends = seq[:lo].tolist(), seq[hi:].tolist()
    costs = [rings.plain_cost(far, seq, k)]
    for _ in range(6):
        rings.relocate(far, seq, k, lo, hi, block, np.ones(60, dtype=bool))
        costs.append(rings.plain_cost(far, seq, k))
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(costs))
    assert costs[-1] < costs[0]
    assert sorted(seq.tolist()) == list(range(60))
    assert (seq[:lo].tolist(), seq[hi:].tolist()) == ends


@pytest.mark.parametrize("k", [2, 3, 6])
def test_the_gain_of_a_reversal_is_exact(k: int) -> None:
    rng = np.random.default_rng(k)
    far, seq = _distances(rng, 40), rng.permutation(40)
    for first, last in ((k, k + 1), (k, k + 4), (3, 36), (5, 20), (10, 39 - k)):
        turned = seq.copy()
        turned[first : last + 1] = turned[first : last + 1][::-1]
        gain = rings.plain_cost(far, seq, k) - rings.plain_cost(far, turned, k)
        assert rings._trim(far, seq, k, first, last) == pytest.approx(gain, abs=1e-4)


def test_reversals_lower_the_cost() -> None:
    rng = np.random.default_rng(3)
    far, seq = _distances(rng, 80), rng.permutation(80)
    close = np.argsort(far, axis=1)[:, :8]
    before = rings.plain_cost(far, seq, 4)
    moves = rings.reverse(far, seq, 4, 3, 77, close)
    assert moves > 0
    assert rings.plain_cost(far, seq, 4) < before
    assert sorted(seq.tolist()) == list(range(80))


@pytest.mark.twin(of=[rings.relocate])
@pytest.mark.parametrize(("k", "block"), [(2, 1), (3, 1), (3, 2), (4, 3), (6, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_of_relocation_equals_its_twin(seed: int, k: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    far, seq, (lo, hi) = _whole_distances(rng, 18).astype(np.float32), rng.permutation(18), (k - 1, 18 - k + 1)
    active = rng.random(18) < 0.8
    expected, again, moves = plain_relocate(far, seq.tolist(), k, lo, hi, block, set(np.flatnonzero(active).tolist()))
    assert rings.relocate(far, seq, k, lo, hi, block, active) == moves > 0
    assert seq.tolist() == expected
    assert set(np.flatnonzero(active).tolist()) == again


@pytest.mark.twin(of=[rings.reverse])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_of_reversals_equals_its_twin(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    far, seq, (lo, hi) = _whole_distances(rng, 24).astype(np.float32), rng.permutation(24), (k - 1, 24 - k + 1)
    close = np.argsort(far, axis=1, kind="stable")[:, :5]
    expected, moves = plain_reverse(far, seq.tolist(), k, lo, hi, close)
    assert rings.reverse(far, seq, k, lo, hi, close) == moves > 0
    assert seq.tolist() == expected


def _whole_distances(rng: np.random.Generator, size: int) -> np.ndarray:
    """Whole numbers, so that sums do not depend on their order."""
    half = rng.integers(1, 1000, size=(size, size))
    far = half + half.T
    np.fill_diagonal(far, 0)
    return far


@pytest.mark.twin(of=[blocks.shorten])
@pytest.mark.parametrize("size", [3, 4, 7, 18])
@pytest.mark.parametrize("seed", range(5))
def test_a_tour_is_shortened_as_by_its_twin(seed: int, size: int) -> None:
    far, path = _whole_distances(np.random.default_rng(seed), size).astype(np.int32), np.arange(size)
    expected = plain_shorten(far, path.tolist())
    saved = blocks.shorten(far, path)
    assert path.tolist() == expected
    assert saved == plain_length(far, range(size)) - plain_length(far, expected)
    assert (path[0], path[-1]) == (0, size - 1)


@pytest.mark.twin(of=[rings.closed_walk, rings.backtracking_walk])
@pytest.mark.parametrize("backtracking", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_walks_that_close_equal_their_twin(seed: int, backtracking: bool) -> None:
    key, n, k = Randomness(seed=seed).bytes(32), 19, 4
    edges, rows = ring_targets(n, k), ring_targets(n, k).tolist()
    stream, words = chacha.open_stream(chacha.key_words(key), 0), chacha.plain_words(key)
    run = rings.backtracking_walk if backtracking else rings.closed_walk
    for turn in range(k):
        starts = np.random.default_rng(turn).permutation(n)
        owner, _ = run(edges, k - turn, starts, stream)
        assert owner.tolist() == plain_walk_round(rows, starts.tolist(), words, backtracking)


@pytest.mark.twin(of=[greedy_round])
@pytest.mark.parametrize("seed", range(8))
def test_the_printed_greedy_equals_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets, labels = random_sets(rng, 16, 9), rng.integers(0, 6, 16)
    rows = [set(sets.row(i).tolist()) for i in range(16)]
    past, before = np.zeros((16, 3), dtype=np.int32), [[] for _ in range(16)]
    for turn in range(3):
        begins = rng.permutation(16)
        owner, state = greedy_round(sets.starts, sets.items, labels, past, turn, begins, 4000)
        expected = plain_greedy_round(rows, labels.tolist(), before, begins.tolist())
        assert (state == STUCK) == (expected is None)
        if expected is None:
            break
        assert owner.tolist() == expected
        past[owner, turn] = np.arange(16)
        for place, who in enumerate(expected):
            before[who].append(place)
