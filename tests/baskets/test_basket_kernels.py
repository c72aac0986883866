"""Every kernel against its plain twin."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from random_baskets import random_sets

from sfumato.methods.baskets.kernels import greedy, tours, votes, walks, windows
from sfumato.methods.baskets.rings import targets
from sfumato.randomness import Randomness
from sfumato.randomness.kernels import chacha


def test_the_stream_is_chacha20() -> None:
    """The first block for a zero key, as published with the cipher."""
    words = chacha.plain_words(bytes(32))
    first = b"".join(next(words).to_bytes(4, "little") for _ in range(8))
    assert first.hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


def test_kernel_and_plain_stream_agree_over_many_blocks() -> None:
    key = bytes(range(32))
    stream, words = chacha.open_stream(chacha.key_words(key), 0), chacha.plain_words(key)
    assert [int(chacha.next_word(stream)) for _ in range(100)] == [next(words) for _ in range(100)]


def test_choices_are_uniform() -> None:
    stream = chacha.open_stream(chacha.key_words(Randomness(seed=1).bytes(32)), 0)
    counts = np.bincount([int(chacha.below(stream, 7)) for _ in range(7000)], minlength=7)
    assert ((counts - 1000) ** 2 / 1000).sum() < 27.9  # chi-square, 6 degrees of freedom, 1e-4


@pytest.mark.parametrize("limit", [1, 2, 5, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_truncated_walk_equals_its_twin(seed: int, limit: int) -> None:
    """Also where patience is short and most places are found by search."""
    key, n, k = Randomness(seed=seed).bytes(32), 23, 4
    edges, rows = targets(n, k), targets(n, k).tolist()
    stream, words = chacha.open_stream(chacha.key_words(key), 0), chacha.plain_words(key)
    for turn in range(k):
        owner, _ = walks.truncated_walk(edges, k - turn, stream, limit)
        assert owner.tolist() == walks.plain_truncated_walk(rows, words, limit)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_votes_equal_the_dense_count(k: int, turned: bool) -> None:
    rng = np.random.default_rng(k)
    sets = random_sets(rng, 30, 11)
    members = np.stack([rng.permutation(30)[:k] for _ in range(30)]).astype(np.int32)
    rates = rng.random((11, 2 * k + 2)).astype(np.float32) if turned else np.zeros((0, 0), dtype=np.float32)
    starts, base, doubt_starts, doubt, threshold, distance = votes.vote(sets.starts, sets.items, members, sets.width, rates)
    want_base, want_doubt, want_distance = votes.plain_vote(sets.dense(), members, rates if turned else None)
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
    expected = windows.plain_relocate_once(far, seq.copy(), k, lo, hi, first, block)
    before = windows.plain_cost(far, seq, k)
    only = seq.copy()
    windows.relocate(far, only, k, lo, hi, block, active)
    assert windows.plain_cost(far, only, k) <= before + 1e-6
    if block == 1:
        assert windows.plain_cost(far, only, k) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("k", [2, 4, 7])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_relocation_only_ever_lowers_the_cost_and_keeps_the_ends(k: int, block: int) -> None:
    rng = np.random.default_rng(k)
    far, seq = _distances(rng, 60), rng.permutation(60)
    lo, hi = k - 1, 60 - k + 1
    ends = seq[:lo].tolist(), seq[hi:].tolist()
    costs = [windows.plain_cost(far, seq, k)]
    for _ in range(6):
        windows.relocate(far, seq, k, lo, hi, block, np.ones(60, dtype=bool))
        costs.append(windows.plain_cost(far, seq, k))
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
        gain = windows.plain_cost(far, seq, k) - windows.plain_cost(far, turned, k)
        assert windows._trim(far, seq, k, first, last) == pytest.approx(gain, abs=1e-4)


def test_reversals_lower_the_cost() -> None:
    rng = np.random.default_rng(3)
    far, seq = _distances(rng, 80), rng.permutation(80)
    close = np.argsort(far, axis=1)[:, :8]
    before = windows.plain_cost(far, seq, 4)
    moves = windows.reverse(far, seq, 4, 3, 77, close)
    assert moves > 0
    assert windows.plain_cost(far, seq, 4) < before
    assert sorted(seq.tolist()) == list(range(80))


def test_tours_get_shorter_by_what_they_say_and_keep_their_ends() -> None:
    rng = np.random.default_rng(5)
    half = rng.integers(1, 50, size=(40, 40))
    far = (half + half.T).astype(np.int32)
    path = np.arange(40)
    before = tours.plain_length(far, path)
    saved = tours.shorten(far, path)
    assert before - tours.plain_length(far, path) == saved > 0
    assert (path[0], path[-1]) == (0, 39)
    assert sorted(path.tolist()) == list(range(40))


def test_distance_of_sorted_rows() -> None:
    sets = random_sets(np.random.default_rng(1), 12, 9)
    for a in range(12):
        for b in range(12):
            want = greedy.plain_distance(set(sets.row(a).tolist()), set(sets.row(b).tolist()))
            assert greedy._distance(sets.starts, sets.items, a, b) == want
