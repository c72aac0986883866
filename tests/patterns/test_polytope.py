"""Faces, moves and the walk as a whole: properties hold, flat parts still move, the answer does not depend on jobs."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sfumato.core.errors import DataError, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods import polytope_walk as _walking
from sfumato.kinds.testdata.methods.linear_properties import ReplacedColumn, RuleSheet, reason_not_linear
from sfumato.kinds.testdata.methods.polytope_walk import (
    WalkEffort,
    all_moves,
    another_point,
    implied_equalities,
    lattice_kernel,
    walk,
)
from sfumato.policy.constraint_language import parse

EXAMPLE = np.array([3, 5, 11, 27, 33, 45])
PROPERTIES = ["v[1] + v[2] <= v[3]", "v[3] + v[5] < 2 * v[4]", "v[4] + v[5] > v[6]"]
QUICK = WalkEffort(steps=4000)


def sheet(values, low=0, high=60):
    return RuleSheet({"v": ReplacedColumn(np.array(values), low, high)}, len(values))


def published(table, rules, seed, effort=QUICK):
    polytope, variable, _ = table.polytope([parse(rule) for rule in rules], Randomness(seed))
    place = walk(polytope, Randomness(seed), effort).place[polytope.variable_of]
    return {name: place[own] for name, own in variable.items()}


def test_the_one_dimensional_example():
    """[multitype §1.2]: three properties of six values survive, the values do not."""
    seen = set()
    for seed in range(30):
        d = published(sheet(EXAMPLE), PROPERTIES, seed)["v"]
        assert d[0] + d[1] <= d[2]
        assert d[2] + d[4] < 2 * d[3]
        assert d[3] + d[4] > d[5]
        assert d.min() >= 0
        assert d.max() <= 60
        seen.add(tuple(d.tolist()))
    assert len(seen) > 25
    assert tuple(EXAMPLE.tolist()) not in seen


def test_a_property_that_is_not_true_of_the_data_is_refused():
    with pytest.raises(DataError, match="does not hold"):
        sheet(EXAMPLE).polytope([parse("v[3] <= v[1]")], Randomness(1))
    with pytest.raises(DataError, match="outside"):
        sheet(EXAMPLE, high=40).polytope([], Randomness(1))
    with pytest.raises(DataError, match="record 9"):
        sheet(EXAMPLE).polytope([parse("v[9] <= v[1]")], Randomness(1))


@pytest.mark.parametrize(
    "rule", ["v * v <= 3", "unique(v)", "v != 3", "max(v) <= 4", "v <= mean(v)", "v <= 3 or v >= 5"]
)
def test_rules_the_walk_cannot_keep_are_refused(rule):
    assert reason_not_linear(parse(rule))
    with pytest.raises(PolicyError, match="pattern-walk cannot keep"):
        sheet(EXAMPLE).polytope([parse(rule)], Randomness(1))


def test_rules_across_columns_records_and_the_original():
    table = RuleSheet(
        {
            "a": ReplacedColumn(np.array([10, 20, 30]), 0, 99),
            "b": ReplacedColumn(np.array([150, 250, 350]), 0, 990, 10),
        },
        3,
    )
    rules = [
        "a < b",
        "b - a within 3 of 5",
        "a >= original.a - 5 and a <= original.a + 5",
        "sum(a) = 60",
        "mean(b) <= 26",
    ]
    for seed in range(20):
        found = published(table, rules, seed)
        a, b = found["a"], found["b"] / 10
        assert (a < b).all()
        assert (np.abs(b - a - 5) <= 3).all()
        assert (np.abs(a - [10, 20, 30]) <= 5).all()
        assert a.sum() == 60
        assert b.mean() <= 26


def test_columns_that_stay_are_constants():
    table = RuleSheet({"a": ReplacedColumn(np.array([5, 9]), 0, 20)}, 2, lambda name: [4, 8])
    found = [published(table, ["a >= w"], seed)["a"] for seed in range(40)]
    assert min(row[0] for row in found) == 4
    assert min(row[1] for row in found) == 8


def test_days_are_linear_too():
    day = np.array([737000, 737100])
    table = RuleSheet({"d": ReplacedColumn(day, 736000, 738000)}, 2)
    assert published(table, ["d >= 2018-11-01"], 3)["d"].min() >= 736999
    assert published(table, ['d >= "2018-11-01"'], 3)["d"].min() >= 736999


def test_implied_equalities_are_found_and_walked_inside():
    """2 v2 = v1 + v3 written as two inequalities: no single value can move, yet the table must."""
    rules = ["2 * v[2] >= v[1] + v[3]", "2 * v[2] <= v[1] + v[3]"]
    polytope, _, _ = sheet([1, 3, 5], high=20).polytope([parse(rule) for rule in rules], Randomness(1))
    walked = walk(polytope, Randomness(1), QUICK)
    assert walked.implied == 2
    seen = {tuple(published(sheet([1, 3, 5], high=20), rules, seed)["v"].tolist()) for seed in range(20)}
    assert len(seen) > 15
    assert all(2 * b == a + c for a, b, c in seen)


def test_a_pinned_value_stays_and_the_others_move():
    rules = ["v[2] = 3", "v[1] <= v[2]"]
    seen = {tuple(published(sheet([1, 3, 5], high=20), rules, seed)["v"].tolist()) for seed in range(30)}
    assert {row[1] for row in seen} == {3}
    assert len({row[0] for row in seen}) == 4
    assert len({row[2] for row in seen}) > 10


def test_implied_equalities_against_brute_force():
    rng = np.random.default_rng(2)
    for _ in range(40):
        rows = rng.integers(-2, 3, (5, 3))
        found = implied_equalities(sparse.csr_matrix(rows), np.ones(5, dtype=bool), sparse.csr_matrix((0, 3)))
        cone = [d for d in product(range(-6, 7), repeat=3) if (rows @ d >= 0).all()]
        loosened = (np.array(cone) @ rows.T > 0).any(axis=0)
        assert (found == ~loosened).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=2))
def test_lattice_kernel_generates_every_integer_solution(rows):
    basis = lattice_kernel([{cell: value for cell, value in enumerate(row) if value} for row in rows], [0, 1, 2])
    matrix = np.array([[move.get(cell, 0) for cell in range(3)] for move in basis], dtype=float).reshape(-1, 3)
    assert not (np.array(rows) @ matrix.T).any()
    for point in product(range(-3, 4), repeat=3):
        if not (np.array(rows) @ point).any():
            weights = (
                np.linalg.lstsq(matrix.T, np.array(point, dtype=float), rcond=None)[0] if len(basis) else np.zeros(0)
            )
            np.testing.assert_allclose(matrix.T @ weights, point, atol=1e-8)
            np.testing.assert_allclose(weights, np.rint(weights), atol=1e-8)


def test_another_point_leaves_a_place_where_no_single_move_helps():
    rows = sparse.csr_matrix(np.vstack([np.eye(2), -np.eye(2)]))
    found = another_point(
        rows, np.array([0, 0, -9, -9]), sparse.csr_matrix((0, 2)), np.array([4, 4]), np.array([1.0, -1.0])
    )
    assert found.tolist() == [9, 0]


def test_moves_connect_all_lattice_points_when_every_locality_is_kept():
    rng = np.random.default_rng(5)
    for _ in range(12):
        data = np.sort(rng.choice(10, 4, replace=False))
        polytope, _, pattern = sheet(data, high=9).polytope([parse("localities(v)")], Randomness(1))
        inside = (polytope.rows @ GRID.T >= polytope.bounds[:, None]).all(axis=0)
        moves = all_moves(data, np.zeros(4, int), np.zeros(4, int), sparse.csr_matrix((0, 4))).toarray().T
        assert pattern["v"].points.tolist() == [0, 1, 2, 3]
        assert (_reached(data, inside, moves) == inside).all()


GRID = np.indices((10,) * 4).reshape(4, -1).T
"""Every point there is; the one with number n has the digits of n."""


def _reached(start, inside, moves):
    """Which points inside are met by moves of any length from one to the next, from the start on."""
    steps = np.concatenate([length * moves for length in range(-9, 10)]).astype(np.int64)
    reached, waiting = np.zeros(len(GRID), dtype=bool), np.array([start])
    while len(waiting):
        there = (waiting[:, None] + steps).reshape(-1, 4)
        numbers = np.unique(there[((there >= 0) & (there <= 9)).all(axis=1)] @ [1000, 100, 10, 1])
        fresh = numbers[inside[numbers] & ~reached[numbers]]
        reached[fresh] = True
        waiting = GRID[fresh]
    return reached


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=4, max_size=40),
    st.integers(3, 12),
    st.sampled_from([0.1, 1.0]),
    st.integers(0, 9),
)
def test_every_sampled_locality_survives(values, size, share, seed):
    table, rules = sheet(values, high=40), [parse(f"localities(v) sample {share} partition {size}")]
    polytope, variable, patterns = table.polytope(rules, Randomness(seed))
    place = walk(polytope, Randomness(seed), WalkEffort(steps=1500)).place[polytope.variable_of]
    assert place.min() >= 0
    assert place.max() <= 40
    for i, j, k, wide in patterns["v"].triples:
        near, far = abs(place[j] - place[i]), abs(place[k] - place[j])
        assert near >= far if wide else near <= far
    values, new = np.array(values), place[variable["v"]]
    for one, other in combinations(range(len(values)), 2):
        if one // size == other // size and values[one] == values[other]:
            assert new[one] == new[other]


def test_without_the_order_constraint_sampled_localities_break():
    """Why I1 of the localities exists: the linear forms alone do not keep the absolute ones."""
    broken = 0
    for seed in range(20):
        values = np.random.default_rng(seed).permutation(60)[:12]
        table = sheet(values, high=60)
        _, _, patterns = table.polytope([parse("localities(v) sample 0.1")], Randomness(seed))
        bare = _bare(patterns["v"], values)
        place = walk(bare, Randomness(seed), QUICK).place[bare.variable_of]
        broken += sum((abs(place[j] - place[i]) >= abs(place[k] - place[j])) != bool(s)
                      and abs(place[j] - place[i]) != abs(place[k] - place[j]) for i, j, k,
                      s in patterns["v"].triples)  # fmt: skip
    assert broken > 10


def _bare(pattern, values):
    from sfumato.kinds.testdata.methods.polytope_walk import PropertySheet

    start = np.empty(pattern.points.max() + 1, np.int64)
    start[pattern.points] = values
    space = PropertySheet(start, np.zeros(start.size, int), np.zeros(start.size, int), np.full(start.size, 60))
    i, j, k, side = pattern.triples.T
    sign, row = np.where(side == 1, 1, -1), np.arange(i.size)
    space.add(
        np.tile(row, 3),
        np.concatenate([i, j, k]),
        np.concatenate([-sign, 2 * sign, -sign]),
        np.zeros(i.size, int),
        "bare",
    )
    return space.close()


def test_the_number_of_jobs_does_not_change_the_answer(monkeypatch):
    monkeypatch.setattr(_walking, "BATCH", 30)
    values = np.random.default_rng(1).integers(0, 80, 200)
    rule = ["localities(v) sample 0.2 partition 10"]
    one = published(sheet(values, high=80), rule, 5, WalkEffort(steps=3000, jobs=1))["v"]
    two = published(sheet(values, high=80), rule, 5, WalkEffort(steps=3000, jobs=2))["v"]
    assert (one == two).all()
    assert (one != published(sheet(values, high=80), rule, 6, WalkEffort(steps=3000))["v"]).any()


def test_walk_says_when_it_has_not_mixed():
    values = np.random.default_rng(1).permutation(100_000)[:60]
    table = sheet(values, high=100_000)
    polytope, _, _ = table.polytope([parse("localities(v) sample 0.05")], Randomness(1))
    short, long = WalkEffort(steps=100), WalkEffort()
    assert not walk(polytope, Randomness(1), short).mixed(short).all()
    assert walk(polytope, Randomness(1), long).mixed(long).all()
