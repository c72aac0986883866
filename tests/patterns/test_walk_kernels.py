"""The stream, the diagnosis and the step against their plain twins."""

import numpy as np
import pytest

from sfumato.core.kernels.chacha import next_block, next_uniform, open_stream, plain_block
from sfumato.kinds.testdata.methods.kernels.pattern_walk import (
    Bounds,
    Directions,
    Settings,
    coordinate_mixing,
    diagnose,
    loosen_parts,
    plain_coordinate_mixing,
    plain_sweep,
    sweep,
    walk_parts,
)

KEY = np.arange(3, 11, dtype=np.uint32)


def test_block_function_is_the_published_one():
    """The test vector of RFC 8439 §2.3.2 (twenty rounds)."""
    stream = open_stream(np.frombuffer(bytes(range(32)), dtype="<u4").astype(np.uint32), 0)
    stream[12:16] = [1, 0x09000000, 0x4A000000, 0]
    state = [int(word) for word in stream[:16]]
    next_block(stream, 20)
    assert stream[16:20].tolist() == [0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3]
    assert stream[16:32].tolist() == plain_block(state, 20)


@pytest.mark.twin(of=[open_stream, next_uniform])
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


@pytest.mark.twin(of=[coordinate_mixing, diagnose])
@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_diagnosis_equals_its_twin(memory):
    rng = np.random.default_rng(4)
    draws = np.zeros((4, 64))
    for time in range(1, 64):
        draws[:, time] = memory * draws[:, time - 1] + rng.normal(size=4)
    np.testing.assert_allclose(coordinate_mixing(draws), plain_coordinate_mixing(draws))
    both = np.stack([draws, rng.normal(size=(4, 64))], axis=2)
    np.testing.assert_allclose(diagnose(both), plain_diagnose(both))


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


@pytest.mark.twin(of=[sweep])
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


def plain_diagnose(samples):
    """The worst coordinate of both figures."""
    each = [plain_coordinate_mixing(samples[:, :, place]) for place in range(samples.shape[2])]
    return max(1.0, *(ratio for ratio, _ in each)), min(
        float(samples.shape[0] * samples.shape[1]), *(size for _, size in each)
    )


class PlainPart:
    """One part on dense matrices: rows of inequalities, columns of moves, and a stream of its own."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        cells = int(rng.integers(2, 5))
        self.rows = np.vstack([np.eye(cells), -np.eye(cells), rng.integers(-1, 2, (3, cells))]).astype(float)
        self.moves = np.hstack([np.eye(cells), rng.integers(-1, 2, (cells, 2))])
        self.moves = self.moves[:, np.abs(self.moves).sum(axis=0) > 0]
        self.place = rng.integers(3, 8, cells).astype(float)
        bound = np.concatenate([np.zeros(cells), np.full(cells, -10.0), self.rows[2 * cells :] @ self.place - 6])
        self.slack = self.rows @ self.place - bound

    def swept(self, place, slack, stream, push=False):
        """Every move once; a chance is drawn only where the chord is longer than a point."""
        for move in self.moves.T:
            change = self.rows @ move
            low = max(-left / by for left, by in zip(slack, change, strict=True) if by > 0)
            high = min(-left / by for left, by in zip(slack, change, strict=True) if by < 0)
            if high > low:
                chance = next_uniform(stream)
                chance = chance if not push else 0.0 if chance < 0.5 else 1.0 - 2.0**-53
                place, slack = plain_sweep(place, slack, [chance], self.rows, move[:, None], True)
        return place, slack

    def plain_walk(self, stream, wanted):
        """[walks from corners, rounds that double, until the last round has mixed]: the end, sweeps, both figures."""
        walks = [(self.place, self.slack) for _ in range(wanted.walks)]
        for walk in range(1, wanted.walks):
            for _ in range(3):
                walks[walk] = self.swept(*walks[walk], stream, push=True)
        done, stride = 0, 1
        while True:
            samples = np.empty((wanted.walks, 64, len(self.place)))
            for walk in range(wanted.walks):
                for sample in range(64):
                    for _ in range(stride):
                        walks[walk] = self.swept(*walks[walk], stream)
                    samples[walk, sample] = walks[walk][0]
            done += 64 * stride
            ratio, size = plain_diagnose(samples)
            stride = min(2 * stride, (wanted.most_steps // self.moves.shape[1] - done) // 64)
            if (ratio <= wanted.ratio and size >= wanted.sample_size) or stride < 1:
                return walks[-1][0], done, ratio, size


def packed(parts):
    """Parts side by side, as the kernels read them; the last one has no moves."""
    sizes = [(len(part.place), len(part.slack), part.moves.shape[1]) for part in parts] + [(1, 2, 0)]
    starts = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(sizes, axis=0)])
    rows, cells = [_signed(part.rows @ part.moves) for part in parts], [_columns(part.moves) for part in parts]

    def chained(pieces):
        ends = np.cumsum([0, *(piece[-1] for piece in pieces)])
        return np.concatenate([[0], *(piece[1:] + end for piece, end in zip(pieces, ends, strict=False))])

    before = np.cumsum([0, *(own[0][-1] for own in rows)])
    moves = Directions(
        chained([own[0] for own in rows]), np.concatenate([own[1] + b for own, b in zip(rows, before, strict=False)]),
        np.concatenate([own[2] for own in rows]), np.concatenate([own[3] for own in rows]).astype(float),
        chained([own[0] for own in cells]), np.concatenate([own[1] for own in cells]),
        np.concatenate([own[2] for own in cells]).astype(float),
    )  # fmt: skip
    place = np.concatenate([*(part.place for part in parts), [4.0]])
    slack = np.concatenate([*(part.slack for part in parts), [1.0, 2.0]])
    return place, slack, Bounds(*(np.ascontiguousarray(column) for column in starts.T)), moves


@pytest.mark.twin(of=[walk_parts])
@pytest.mark.parametrize("seed", range(3))
def test_walks_through_parts_equal_their_twin(seed):
    """On the lattice every number is whole, so both sides take the same steps to the same point."""
    parts = [PlainPart(10 * seed + number) for number in range(2)]
    place, slack, bounds, moves = packed(parts)
    wanted = Settings(3, 1500, 60.0, 1.1, True)
    report = np.zeros((3, 3))
    walk_parts(place, slack, report, KEY, 100, bounds, moves, wanted)
    for number, part in enumerate(parts):
        end, done, ratio, size = part.plain_walk(open_stream(KEY, 100 + number), wanted)
        assert place[bounds.cells_at[number] : bounds.cells_at[number + 1]].tolist() == end.tolist()
        np.testing.assert_allclose(report[number], (done, ratio, size))
    assert place[-1] == 4.0
    assert report[-1].tolist() == [0.0, 1.0, np.inf]


@pytest.mark.twin(of=[loosen_parts])
@pytest.mark.parametrize("seed", range(3))
def test_the_widest_slack_of_a_short_walk(seed):
    parts = [PlainPart(10 * seed + number) for number in range(2)]
    place, slack, bounds, moves = packed(parts)
    widest = np.zeros(len(slack))
    loosen_parts(place, slack, widest, KEY, 9, bounds, moves)
    for number, part in enumerate(parts):
        stream, here, left = open_stream(KEY, number), part.place, part.slack
        seen = []
        for turn in range(9):
            here, left = part.swept(here, left, stream, push=turn % 2 == 0)
            seen.append(left)
        assert widest[bounds.rows_at[number] : bounds.rows_at[number + 1]].tolist() == np.max(seen, axis=0).tolist()
        assert place[bounds.cells_at[number] : bounds.cells_at[number + 1]].tolist() == here.tolist()


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
