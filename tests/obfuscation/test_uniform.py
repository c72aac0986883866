"""Every exact engine against the list of all legal tables: a chi-square test on thousands of draws."""

import itertools
from collections import Counter

import numpy as np
import pytest
from worlds import p_value, problem, uniformity

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling import sum_distribution
from sfumato.kinds.testdata.methods.sampling.keyed_randomness import Permutation, ranks
from sfumato.kinds.testdata.methods.sampling.sampler_selection import exact
from sfumato.kinds.testdata.methods.sampling.sum_distribution import TotalSampler
from sfumato.kinds.testdata.methods.sampling.total_samplers import group_totals
from tests.slow import SLOW

DRAWS = 800 if SLOW else 240
SMALL = {"integers": [0, 3]}
GIVEN = {"g": ["x", "y", "x"], "h": ["1", "2", "3"]}
ENGINES = [
    ("legal records", {"a": SMALL, "b": SMALL}, ["a < b"], 2, None),
    ("legal records", {"a": SMALL, "b": {"integers": [0, 2]}}, ["if a = 1 then b = 2", "a != 3"], 2, None),
    ("legal records", {"a": {"pattern": "a[bc]{1,2}"}}, ['not match(a, ".*cc")'], 2, None),
    ("permuted ranks", {"a": {"integers": [0, 4]}}, ["unique(a)"], 3, None),
    ("permuted ranks", {"a": {"integers": [0, 1]}, "b": {"integers": [0, 2]}}, ["unique(a, b)"], 3, None),
    ("permuted ranks", {"a": {"integers": [0, 2]}, "b": {"integers": [0, 2]}}, ["unique(a, b)", "a <= b"], 3, None),
    ("permuted ranks", {"a": {"integers": [0, 2]}}, ["unique(a, g)"], 3, GIVEN),
    ("fixed totals", {"a": SMALL}, ["sum(a) = 5"], 4, None),
    ("fixed totals", {"a": SMALL}, ["mean(a) = 1.5 within 0.5"], 3, None),
    ("fixed totals", {"a": SMALL, "b": {"integers": [0, 2]}}, ["a <= b + 1", "sum(a) + sum(b) = 6"], 3, None),
    ("fixed totals", {"a": SMALL, "b": {"integers": [0, 2]}}, ["sum(a) = 4", "sum(b) = 3", "a != b"], 3, None),
    ("fixed totals", {"a": SMALL}, ["max(a) = 2", "min(a) = 0"], 3, None),
    ("fixed totals", {"a": SMALL}, ["count(a >= 2) = 1"], 3, None),
    ("fixed totals", {"a": SMALL}, ["mean(a where a > 0) = 2"], 3, None),
    ("fixed totals", {"a": SMALL}, ["if g = 'x' then a <= 1", "sum(a) = 4"], 3, GIVEN),
    ("totals per group", {"a": SMALL}, ["sum(a by g) = 3"], 3, GIVEN),
    ("totals per group", {"a": SMALL, "b": SMALL}, ["sum(a by g) = 2", "a <= b"], 3, GIVEN),
    ("shuffle", {"h": {"integers": [1, 3]}}, ["same_multiset(h)"], 3, GIVEN),
    ("one draw per determining value", {"a": SMALL}, ["g determines a"], 3, GIVEN),
    ("one draw per determining value", {"a": SMALL, "b": {"integers": [0, 1]}}, ["a determines b"], 3, None),
    ("one draw per determining value", {"a": {"integers": [0, 1]}, "b": SMALL}, ["a determines b", "b != 2"], 3, None),
    ("filled classes", {"a": SMALL}, ["at_least(2, a)"], 5, None),
    ("filled classes", {"a": {"integers": [0, 1]}, "b": {"integers": [0, 1]}}, ["at_least(2, a, b)"], 4, None),
    ("interval per record", {"a": SMALL}, ["a <= h", "a + 1 >= original.h"], 3, GIVEN),
]


@pytest.mark.parametrize(("engine", "domains", "rules", "count", "original"), ENGINES)
def test_every_legal_table_is_equally_likely(engine, domains, rules, count, original):
    asked = problem(domains, rules, count, original)
    engines = [exact(asked, part) for part in asked.parts]
    assert engine in [one.name for one in engines]
    assert all(one.uniform for one in engines)
    p, tables = uniformity(asked, DRAWS)
    assert tables > 1
    assert p > 1e-4


def sequences(values, weights, classes, keep):
    found = {}
    for rows in itertools.product(*(range(len(values[c])) for c in classes)):
        total = sum(values[c][row] for c, row in zip(classes, rows, strict=True))
        if keep(total):
            found[rows] = float(np.prod([weights[c][row] for c, row in zip(classes, rows, strict=True)]))
    return found


TOTALS = [
    ([np.arange(5)[:, None]], [np.ones(5)], [0] * 4, [8]),
    ([np.array([[0], [2], [4]])], [np.array([1.0, 2.0, 5.0])], [0] * 5, [10]),  # a sublattice: only even sums
    ([np.array([[0, 0], [1, 0], [0, 1], [2, 1], [1, 3]])], [np.ones(5)], [0] * 4, [4, 4]),
    ([np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 1, 1]])], [np.ones(4)], [0] * 4, [2, 2, 2]),
    (
        [np.array([[0], [1], [5]]), np.array([[0], [2]])],
        [np.array([1.0, 2, 3]), np.array([1.0, 5])],
        [0, 1, 0, 1, 0],
        [7],
    ),
]


@pytest.mark.parametrize("cost", [2e7, 0.0], ids=["by tables", "by halving"])
@pytest.mark.parametrize(("values", "weights", "classes", "total"), TOTALS)
def test_totals_by_tables_and_by_halving(monkeypatch, cost, values, weights, classes, total):
    monkeypatch.setattr(sum_distribution, "_BASE_COST", cost)
    sampler = TotalSampler(values, weights, np.array(classes))
    random = Randomness(seed=5)
    wanted = sequences(values, weights, classes, lambda found: (found == np.array(total)).all())
    draws = 600 if SLOW else 240
    counted = Counter(tuple(sampler.draw(np.array(total), random).tolist()) for _ in range(draws))
    scale = draws / sum(wanted.values())
    assert p_value(counted, {rows: weight * scale for rows, weight in wanted.items()}) > 1e-4


@pytest.mark.parametrize(("values", "weights", "classes", "total"), TOTALS)
def test_few_records_need_no_tilt(values, weights, classes, total):
    plain, tilted = (TotalSampler(values, weights, np.array(classes)) for _ in range(2))
    assert plain._is_short
    tilted._is_short = False
    drawn = [
        [sampler.draw(np.array(total), Randomness(seed=seed)).tolist() for seed in range(20)]
        for sampler in (plain, tilted)
    ]
    assert drawn[0] == drawn[1]


def test_many_records_are_tilted():
    """Without it, what lies far from the mean is rounded to zero, and said to be impossible."""
    sampler = TotalSampler([np.arange(3)[:, None]], [np.array([1e250, 1.0, 1.0])], np.zeros(3, dtype=np.int64))
    assert not sampler._is_short
    assert sampler.draw(np.array([6]), Randomness(seed=1)).tolist() == [2, 2, 2]


def test_the_sum_of_a_million_terms_has_the_right_law():
    from math import comb, log

    coin = TotalSampler([np.array([[0], [1]])], [np.ones(2)], np.zeros(4, dtype=np.int64)).law(np.zeros(1))
    for terms in (50, 3000):
        law = coin.sum(np.array([terms]))
        for total in (terms // 2, terms // 2 + int(terms**0.5)):
            exactly = log(comb(terms, total)) - terms * log(2)
            assert np.log(law.pmf(np.array([[total]]))[0]) == pytest.approx(exactly, abs=1e-8)
            assert law.peak >= law.pmf(np.array([[total]]))[0] * (1 - 1e-12)


def test_sparse_and_dense_laws_agree(monkeypatch):
    from sfumato.kinds.testdata.methods.sampling import sum_distribution

    marks = np.arange(80, 85)
    pairs = np.array([(c, t) for c in marks for t in marks if (c + t) % 2 == 0])
    where = np.array([[8200, 8200], [8206, 8192], [8201, 8200]])
    dense = sum_distribution.SumDistribution([pairs], [np.ones(len(pairs))]).sum(np.array([100])).pmf(where)
    monkeypatch.setattr(sum_distribution, "_DENSE", 0)
    monkeypatch.setattr(sum_distribution, "_SMALL", 0)
    sparse = sum_distribution.SumDistribution([pairs], [np.ones(len(pairs))]).sum(np.array([100])).pmf(where)
    assert np.allclose(dense, sparse, atol=1e-14)
    assert dense[2] < 1e-15  # the sum of both marks is always even


@pytest.mark.parametrize("exactly", [True, False])
def test_groups(monkeypatch, exactly):
    from sfumato.kinds.testdata.methods.sampling import total_samplers

    values, weights, size, total, draws = np.array([0, 1, 3, 4]), np.array([1.0, 2, 1, 5]), 4, 8, 6000
    if not exactly:  # as if counts did not fit into 62 bits
        monkeypatch.setattr(total_samplers, "_batches", lambda *a: [(np.arange(draws), 0.3)])
    drawn = group_totals(values, weights, np.full(draws, size), np.full(draws, total), Randomness(seed=2))
    counted = Counter(map(tuple, drawn.reshape(draws, size).tolist()))
    wanted = sequences([values], [weights], [0] * size, lambda found: found == total)
    scale = draws / sum(wanted.values())
    assert p_value(counted, {rows: weight * scale for rows, weight in wanted.items()}) > 1e-4


def test_small_permutations_are_uniform_over_all_orders():
    draws = 6000
    random = Randomness(seed=3)
    counted = Counter(tuple(Permutation(random.bytes(16), 4)(np.arange(4)).tolist()) for _ in range(draws))
    expected = dict.fromkeys(itertools.permutations(range(4)), draws / 24)
    assert p_value(counted, expected) > 1e-4


@pytest.mark.parametrize("size", [1 << 17, (1 << 17) + 1, 40_000_000, 10**12 + 39])
def test_permutations_never_repeat_and_spread_evenly(size):
    numbers = np.arange(min(size, 200_000))
    image = Permutation(bytes(range(16)), size)(numbers)
    assert len(np.unique(image)) == len(numbers)
    assert image.min() >= 0
    assert image.max() < size
    bins = Counter((image * 50 // size).tolist())
    if size > len(numbers):
        assert p_value(bins, dict.fromkeys(range(50), len(numbers) / 50)) > 1e-4


def test_a_permutation_of_a_whole_space_is_onto():
    size = (1 << 17) + 11
    assert (np.sort(Permutation(b"k" * 16, size)(np.arange(size))) == np.arange(size)).all()


def test_ranks_are_functions_of_key_and_record():
    whole = ranks(b"k" * 16, 1000, np.arange(100))
    assert (ranks(b"k" * 16, 1000, np.array([7, 3, 99])) == whole[[7, 3, 99]]).all()
    assert (ranks(b"j" * 16, 1000, np.arange(100)) != whole).any()


@pytest.mark.parametrize(
    "values", [np.array([(a, b) for a in range(6) for b in range(5)]), np.array([[0, 0], [7, 1], [3, 9]])]
)
def test_characteristic_functions_on_a_grid_and_listed_agree_with_the_definition(values):
    from sfumato.kinds.testdata.methods.sampling.sum_distribution import Characteristic

    weights = np.arange(1, len(values) + 1) / np.arange(1, len(values) + 1).sum()
    points = np.random.default_rng(1).uniform(-3, 3, (700, 2))
    waves = np.exp(1j * (points @ values.T))
    value, slope = Characteristic(values, weights).with_slopes(points)
    assert np.allclose(value, waves @ weights)
    assert np.allclose(slope, 1j * waves @ (values * weights[:, None]))
    assert np.allclose(Characteristic(values, weights).at(points), value)


def test_totals_of_two_columns_that_exclude_each_other_are_still_found():
    from sfumato.core.errors import Infeasible

    asked = problem({"a": {"integers": [0, 3]}, "b": {"integers": [0, 3]}}, ["a = b", "sum(a) = 20", "sum(b) = 22"], 20)
    with pytest.raises(Infeasible):
        exact(asked, asked.parts[0])


def test_many_records_with_few_or_many_values():
    """Counts that are cut off far out (I2 of `occupancy`): the number of used values has the law of the exact count."""
    from math import comb

    from sfumato.kinds.testdata.methods.sampling.record_samplers import Occupancy

    assert Occupancy.made(10_000, 3, 3_000, 1) is None  # large classes of few values: declined, not guessed
    for records, values, least, rights in [(3000, 40, 1, 5), (3000, 2000, 4, 1), (3000, 5, 2, 3)]:
        drawn = Occupancy.made(records, values, least, rights).draw(Randomness(seed=3))
        often = np.bincount(drawn, minlength=values)
        assert often.sum() == records
        assert often[often > 0].min() >= least
    few, cells = Occupancy.made(6, 3, 2, 2), Counter()
    random, draws = Randomness(seed=4), 3000 if SLOW else 1000
    for _ in range(draws):
        cells[len(np.unique(few.draw(random)))] += 1
    ways = {1: 3 * 2, 2: 3 * 4 * (2 * comb(6, 2) + comb(6, 3)), 3: 8 * 90}
    assert p_value(cells, {used: draws * way / sum(ways.values()) for used, way in ways.items()}) > 1e-4
