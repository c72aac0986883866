"""The law of the walk against exact uniform sampling, on small polytopes over the lattice and over the reals."""

from itertools import product

import numpy as np
import pytest
import scipy

from sfumato.core.kernels.chacha import next_uniform, open_stream
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.kernels.pattern_walk import Directions, sweep
from sfumato.kinds.testdata.methods.polytope_walk import PropertySheet, WalkEffort, walk
from tests.slow import SLOW

KEY = np.arange(8, dtype=np.uint32)
COPIES = 4000 if SLOW else 1500


def copies(data, low, high, rows, equal=()):
    """Many independent copies of one small polytope: each copy is a part, so one walk gives as many draws."""
    size = len(data)
    space = PropertySheet(np.tile(data, COPIES), np.repeat(np.arange(COPIES), size), np.full(size * COPIES, low),
                      np.full(size * COPIES, high))  # fmt: skip
    for add, given in ((space.add, rows), (space.add_equal, equal)):
        for terms, bound in given:
            row = np.repeat(np.arange(COPIES), len(terms))
            variable = (np.arange(COPIES)[:, None] * size + np.array([cell for cell, _ in terms])).ravel()
            add(row, variable, np.tile([factor for _, factor in terms], COPIES), np.full(COPIES, bound), "test")
    return space.close()


def lattice_points(size, low, high, rows, equal=()):
    for point in product(range(low, high + 1), repeat=size):
        above = all(sum(factor * point[cell] for cell, factor in terms) >= bound for terms, bound in rows)
        if above and all(sum(factor * point[cell] for cell, factor in terms) == bound for terms, bound in equal):
            yield point


def test_moves_of_one_point():
    polytope = copies([2], 0, 6, [])
    found = walk(polytope, Randomness(1), WalkEffort()).place
    assert scipy.stats.chisquare(np.bincount(found, minlength=7)).pvalue > 1e-4


CASES = {
    "order": ([1, 3, 4], 0, 5, [([(1, 1), (0, -1)], 0), ([(2, 1), (1, -1)], 0)], ()),
    "locality": ([0, 1, 4], 0, 5, [([(1, 1), (0, -1)], 0), ([(0, 1), (1, -2), (2, 1)], 0)], ()),
    "sum": ([1, 2, 3], 0, 5, [([(0, -1), (1, -1), (2, -1)], -9)], ()),
    "equidistant": ([1, 3, 5], 0, 7, [], [([(0, 1), (1, -2), (2, 1)], 0)]),
    "implied equality": ([1, 3, 5], 0, 7, [([(0, 1), (1, -2), (2, 1)], 0), ([(0, -1), (1, 2), (2, -1)], 0)], ()),
    "coarse equality": ([3, 2, 1], 0, 6, [], [([(0, 2), (1, -3)], 0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_lattice_law_is_uniform(name):
    data, low, high, rows, equal = CASES[name]
    points = {point: index for index, point in enumerate(lattice_points(len(data), low, high, rows, equal))}
    polytope = copies(data, low, high, rows, equal)
    walked = walk(polytope, Randomness(7), WalkEffort())
    found = walked.place[polytope.variable_of].reshape(COPIES, -1)
    counts = np.bincount([points[tuple(row)] for row in found.tolist()], minlength=len(points))
    assert scipy.stats.chisquare(counts).pvalue > 1e-4, counts


def draws(rows, bounds, start, moves, count, thin=12):
    """Points of one long real walk, `thin` sweeps apart."""
    place, slack = np.array(start, dtype=float), rows @ start - bounds
    touched, stream = rows @ moves, open_stream(KEY, 3)
    packed = Directions(*_signed(touched), *_columns(moves))
    found = np.empty((count, place.size))
    for index in range(count):
        for _ in range(thin):
            sweep(place, slack, stream, packed, 0, moves.shape[1], False, False)
        found[index] = place
    return found


def _signed(matrix):
    """Columns with their positive entries first, and where the negative ones begin."""
    starts, index, value = _columns(matrix)
    column = np.repeat(np.arange(matrix.shape[1]), np.diff(starts))
    order = np.lexsort((value < 0, column))
    turn = starts[:-1] + (matrix > 0).sum(axis=0)
    return starts, turn, index[order], value[order]


def _columns(matrix):
    filled = [np.flatnonzero(column) for column in matrix.T]
    starts = np.cumsum([0, *map(len, filled)])
    value = np.concatenate([column[at] for column, at in zip(matrix.T, filled, strict=True)])
    return starts, np.concatenate(filled), value


def test_real_law_on_a_simplex_is_uniform():
    """Coordinates of a uniform point of {x ≥ 0, Σ x ≤ 1} in three dimensions follow Beta(1, 3)."""
    rows, bounds = np.vstack([np.eye(3), -np.ones((1, 3))]), np.array([0, 0, 0, -1.0])
    found = draws(rows, bounds, np.array([0.2, 0.2, 0.2]), np.eye(3), COPIES)
    for coordinate in found.T:
        assert scipy.stats.kstest(coordinate, scipy.stats.beta(1, 3).cdf).pvalue > 1e-4


def test_real_law_with_a_locality_agrees_with_rejection_sampling():
    rows = np.array(
        [[1, -2, 1], [-1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], dtype=float
    )
    bounds = np.array([0, 0, 0, 0, 0, -1, -1, -1.0])
    moves = np.column_stack([np.eye(3), [0, 1, 1], [1, 1, 1]])
    found = draws(rows, bounds, np.array([0.1, 0.2, 0.6]), moves, COPIES)
    exact = np.random.default_rng(1).random((60_000, 3))
    exact = exact[(exact @ rows.T >= bounds).all(axis=1)]
    for direction in (*np.eye(3), np.array([1, -2, 1]), np.array([1, 1, 1])):
        assert scipy.stats.ks_2samp(found @ direction, exact @ direction).pvalue > 1e-4


def test_the_printed_one_way_step_is_not_uniform():
    """[multitype §5.4.1] draws from [0, l]; its law in one dimension is the arcsine law, and the test above would see
    it."""
    stream, place, found = open_stream(KEY, 4), 0.5, []
    for step in range(10 * COPIES):
        length = (1 - place if next_uniform(stream) < 0.5 else -place) * next_uniform(stream)
        place += length
        if step % 10 == 0:
            found.append(place)
    assert scipy.stats.kstest(found, "uniform").pvalue < 1e-6
    assert scipy.stats.kstest(found, scipy.stats.beta(0.5, 0.5).cdf).pvalue > 1e-4
