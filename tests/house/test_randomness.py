"""Draws below a bound, against every word there is."""

import hashlib
import random
from collections import Counter

import numpy as np
import pytest

from sfumato.core.randomness import Randomness, reduce_to_bounds


def accepted(bound, kind):
    """The results of all words that are kept, one for each; words drawn again are marked and left out."""
    words = np.arange(int(np.iinfo(kind).max) + 1).astype(kind)
    marked = np.zeros(len(words), dtype=bool)

    def again(late, turn):
        assert turn == 1
        marked[:] = late
        return np.zeros(int(late.sum()), dtype=kind)

    return reduce_to_bounds(words, bound, again)[~marked]


def whole_blocks(seed, name, counts):
    """The plain twin of a stream: whole blocks of at least 2¹⁶ bytes, one after the other, cut into what is asked
    for."""
    ready, number, drawn = b"", 0, []
    for count in counts:
        while len(ready) < count:
            block = hashlib.shake_256(b"sfumato\0" + repr((seed, (name,), number)).encode())
            ready, number = ready + block.digest(max(1 << 16, count - len(ready))), number + 1
        drawn.append(ready[:count])
        ready = ready[count:]
    return drawn


@pytest.mark.twin
def test_a_stream_made_piece_by_piece_is_the_stream_made_whole():
    rng = random.Random(5)
    for seed in range(60):
        sizes = [
            rng.choice((0, 1, 8, 511, 512, 513, 4096, 65_535, 65_536, 65_537, 150_000))
            for _ in range(rng.randint(1, 12))
        ]
        stream = Randomness(seed).child("name")
        assert [stream.bytes(size) for size in sizes] == whole_blocks(seed, "name", sizes), (seed, sizes)


def test_every_result_has_equally_many_words_and_no_word_is_wasted():
    for bound in range(1, 256):
        counts = Counter(accepted(bound, np.uint8).tolist())
        assert counts == dict.fromkeys(range(bound), 256 // bound), bound


def test_the_exact_limits_of_wider_words():
    for bound in (1, 2, 3, 255, 256, 257, 1000, 32767, 32768, 32769, 65535):
        counts = np.bincount(accepted(bound, np.uint16), minlength=bound)
        assert counts.tolist() == [65536 // bound] * bound


@pytest.mark.parametrize("bound", [1, 3, 10, 2**32, 2**62 - 1, 2**62])
def test_the_exact_limits_of_the_words_in_use(bound):
    rounds = 2**64 // bound * bound
    edges = [word for word in (0, bound - 1, rounds - 1, rounds, 2**64 - 1) if word < 2**64]
    for word in edges:
        drawn = []
        found = reduce_to_bounds(
            np.array([word], np.uint64),
            bound,
            lambda late, turn, drawn=drawn: drawn.append(turn) or np.array([5], np.uint64),
        )
        assert (found.tolist(), bool(drawn)) == (([word % bound], False) if word < rounds else ([5 % bound], True))


def test_every_place_has_its_own_bound():
    words = np.tile(np.arange(256).astype(np.uint8), 255)
    bounds = np.repeat(np.arange(1, 256), 256)
    late = np.zeros(len(words), dtype=bool)

    def again(marked, _turn):
        late[:] = marked
        return np.zeros(int(marked.sum()), dtype=np.uint8)

    found = reduce_to_bounds(words, bounds, again)
    assert (late == (words >= 256 // bounds * bounds)).all()
    assert (found[~late] == (words % bounds)[~late]).all()


def test_words_are_drawn_until_they_are_fair_and_the_given_ones_stay():
    turns = []
    given = np.array([255, 1, 254], np.uint8)
    answers = {1: [253, 7], 2: [250]}

    def again(late, turn):
        turns.append(late.tolist())
        return np.array(answers[turn], np.uint8)

    assert reduce_to_bounds(given, 251, again).tolist() == [250, 1, 7]
    assert turns == [[True, False, True], [True, False, False]]
    assert given.tolist() == [255, 1, 254]


@pytest.mark.parametrize("bound", [0, -1, 256])
def test_a_bound_that_no_word_reaches_is_refused(bound):
    with pytest.raises(ValueError, match="bound"):
        reduce_to_bounds(np.array([1], np.uint8), bound, lambda late, turn: np.array([1], np.uint8))


def test_one_bound_and_the_same_bound_for_each_draw_alike():
    one, other = Randomness(seed=3), Randomness(seed=3)
    bound = 3 * 2**60  # a quarter of the words is drawn again
    assert one.integers(bound, 1000).tolist() == other.below(np.full(1000, bound)).tolist()
