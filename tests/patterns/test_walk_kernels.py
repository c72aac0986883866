"""The stream, the diagnosis and the step against their plain twins."""

import numpy as np
import pytest

from sfumato.methods.replacing.kernels.mixing import coordinate_mixing, diagnose, plain_coordinate_mixing
from sfumato.methods.replacing.kernels.walk import Directions, plain_sweep, sweep
from sfumato.randomness.kernels.chacha import next_block, next_uniform, open_stream, plain_block

KEY = np.arange(3, 11, dtype=np.uint32)


def test_block_function_is_the_published_one():
    """The test vector of RFC 8439 §2.3.2 (twenty rounds)."""
    stream = open_stream(np.frombuffer(bytes(range(32)), dtype="<u4").astype(np.uint32), 0)
    stream[12:16] = [1, 0x09000000, 0x4A000000, 0]
    state = [int(word) for word in stream[:16]]
    next_block(stream, 20)
    assert stream[16:20].tolist() == [0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3]
    assert stream[16:32].tolist() == plain_block(state, 20)


def test_stream_equals_its_twin_over_many_blocks():
    stream = open_stream(KEY, 12345)
    state = [int(word) for word in stream[:16]]
    for block in range(5):
        words = plain_block([*state[:12], block, *state[13:]])
        for pair in range(0, 16, 2):
            expected = ((words[pair] << 21) | (words[pair + 1] >> 11)) * 2.0**-53
            assert next_uniform(stream) == expected


def test_streams_of_other_parts_and_keys_differ():
    first = [next_uniform(open_stream(KEY, part)) for part in range(200)]
    assert len(set(first)) == 200
    assert next_uniform(open_stream(KEY + np.uint32(1), 0)) != first[0]


def test_draws_are_uniform():
    stream = open_stream(KEY, 1)
    draws = np.array([next_uniform(stream) for _ in range(50_000)])
    counts = np.bincount((draws * 20).astype(int), minlength=20)
    assert ((counts - 2500) ** 2 / 2500).sum() < 53  # chi-square, 19 degrees, 1 in 20,000


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_diagnosis_equals_its_twin(memory):
    rng = np.random.default_rng(4)
    draws = np.zeros((4, 64))
    for time in range(1, 64):
        draws[:, time] = memory * draws[:, time - 1] + rng.normal(size=4)
    np.testing.assert_allclose(coordinate_mixing(draws), plain_coordinate_mixing(draws))


def test_diagnosis_sees_walks_apart_and_slow_walks():
    rng = np.random.default_rng(5)
    good = rng.normal(size=(4, 64, 2))
    ratio, size = diagnose(good)
    assert ratio < 1.1
    assert size > 100
    apart = good + np.arange(4)[:, None, None] * 3
    assert diagnose(apart)[0] > 1.5
    slow = np.cumsum(good, axis=1)
    assert diagnose(slow)[1] < 40
    still = np.zeros((4, 64, 1))
    still[2] = 1.0
    assert diagnose(still) == (np.inf, 0.0)


@pytest.mark.parametrize("lattice", [True, False])
def test_sweep_equals_its_twin(lattice):
    rng = np.random.default_rng(6)
    rows = np.vstack([np.eye(4), -np.eye(4), rng.integers(-2, 3, (5, 4))]).astype(float)
    place = np.array([4.0, 5.0, 3.0, 6.0])
    slack = rows @ place - np.minimum(rows @ place, 0) + np.r_[np.zeros(8), np.ones(5) * 7]
    slack[4:8] = 10 - place
    moves = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 2, 3]], dtype=float).T
    touched = rows @ moves
    packed = Directions(*_signed(touched), *_columns(moves))
    stream, twin = open_stream(KEY, 9), open_stream(KEY, 9)
    expected = plain_sweep(place, slack, [next_uniform(twin) for _ in range(4)], rows, moves, lattice)
    sweep(place, slack, stream, packed, 0, 4, lattice, False)
    np.testing.assert_allclose(place, expected[0])
    np.testing.assert_allclose(slack, expected[1])


def _signed(matrix):
    """Columns with their positive entries first, and where the negative ones begin."""
    starts, index, value = _columns(matrix)
    column = np.repeat(np.arange(matrix.shape[1]), np.diff(starts))
    order = np.lexsort((value < 0, column))
    turn = starts[:-1] + (matrix > 0).sum(axis=0)
    return starts, turn, index[order], value[order]


def _columns(matrix):
    starts, index, value = [0], [], []
    for column in matrix.T:
        filled = np.flatnonzero(column)
        index.extend(filled)
        value.extend(column[filled])
        starts.append(len(index))
    return np.array(starts), np.array(index), np.array(value)
