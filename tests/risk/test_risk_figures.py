"""Every figure of a risk report against its definition, written once more on plain rows."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from scipy.special import expit

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.workflow.risk import figures as models
from sfumato.workflow.risk.figures import (
    combinations,
    individual_risk,
    population_uniques,
    snb_expected,
    special_uniques,
)
from tests.house.brute import distance, diverse
from tests.risk import plain_risk as plain
from tests.slow import SLOW

SEEDS = range(12 if SLOW else 5)


def random_rows(seed: int, rows: int = 40, columns: int = 4) -> list[tuple[str, ...]]:
    rng = random.Random(seed)
    widths = [rng.randint(2, 6) for _ in range(columns)]
    return [tuple(str(min(rng.randrange(w), rng.randrange(w))) for w in widths) for _ in range(rows)]


def frame(rows: list[tuple[str, ...]]) -> dict[str, list[str]]:
    return {f"q{place}": [row[place] for row in rows] for place in range(len(rows[0]))}


@pytest.mark.parametrize("seed", SEEDS)
def test_three_attackers_with_the_population_at_hand(seed: int) -> None:
    everybody = random_rows(seed, 120)
    rows = random.Random(seed).sample(everybody, 40)
    found = sf.risk(frame(rows), list(frame(rows)), population=frame(everybody), thresholds=(0.2, 0.4))
    for place, threshold in enumerate((0.2, 0.4)):
        highest, average, above = plain.prosecutor(rows, threshold)
        assert (found.prosecutor.highest, found.prosecutor.at_risk[place].records) == (float(highest), above)
        assert found.prosecutor.average == pytest.approx(float(average))
        highest, average, above = plain.journalist(rows, everybody, threshold)
        assert (found.journalist.highest, found.journalist.at_risk[place].records) == (
            pytest.approx(float(highest)),
            above,
        )
        assert found.journalist.average == pytest.approx(float(average))
    assert found.marketer.average == pytest.approx(float(plain.marketer(rows, everybody)))
    assert (found.k, found.classes) == (min(Counter(rows).values()), len(set(rows)))


@pytest.mark.parametrize("f", [1, 2, 3, 7, 24, 25, 80])
@pytest.mark.parametrize("times", [1.0, 1.01, 1.9, 2.1, 12.0, 150.0])
def test_the_expected_risk_of_a_record(f: int, times: float) -> None:
    found = float(individual_risk(np.array([f]), np.array([f * times]))[0])
    assert found == pytest.approx(plain.individual(f, 1 / times), rel=1e-7)


def test_classes_of_one_and_two_as_benedetti_and_franconi_print_them() -> None:
    p = 0.05
    one, two = individual_risk(np.array([1, 2]), np.array([20.0, 40.0]))
    assert one == pytest.approx(p / (1 - p) * math.log(1 / p))
    assert two == pytest.approx(p / (1 - p) - (p / (1 - p)) ** 2 * math.log(1 / p))


def test_weights_are_summed_over_a_class() -> None:
    data = {"a": ["x", "x", "y"], "w": ["10", "30", "5"]}
    found = sf.risk(data, ["a"], weights="w")
    assert found.records()["individual_risk"].to_pylist() == pytest.approx(
        [plain.individual(2, 2 / 40), plain.individual(2, 2 / 40), plain.individual(1, 1 / 5)], rel=1e-7
    )
    assert found.population is not None
    assert found.population.population == 45
    with pytest.raises(DataError, match="above zero"):
        sf.risk(data | {"w": ["1", "0", "2"]}, ["a"], weights="w")


@pytest.mark.parametrize("seed", SEEDS)
def test_distinction_and_separation_of_every_combination(seed: int) -> None:
    rows = random_rows(seed, 25)
    found = combinations({name: np.array(list(map(int, column))) for name, column in frame(rows).items()})
    assert len(found.found) == 4 + 6 + 4
    for each in found.found:
        part = [tuple(row[int(name[1])] for name in each.columns) for row in rows]
        assert each.distinction == pytest.approx(float(plain.distinction(part)))
        assert each.separation == pytest.approx(float(plain.separation(part)))
        assert each.uniques == sum(count == 1 for count in Counter(part).values())


def test_too_much_work_leaves_the_least_separating_columns_out() -> None:
    columns = {
        "many": np.arange(40),
        "few": np.arange(40) % 4,
        "two": np.arange(40) % 2,
        "one": np.zeros(40, dtype=np.int64),
    }
    found = combinations(columns, work=3 * 40)
    assert found.left_out == ("one",)
    assert {each.columns for each in found.found if len(each.columns) == 2} == {
        ("few", "many"),
        ("many", "two"),
        ("few", "two"),
    }


@pytest.mark.parametrize("largest", [2, 3, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_minimal_sample_uniques(seed: int, largest: int) -> None:
    rows = random_rows(seed, 22)
    sets = plain.minimal_uniques(rows, largest)
    found = special_uniques(
        {n: np.array(list(map(int, c))) for n, c in frame(rows).items()}, largest=largest, fraction=0.1
    )
    assert found.score.tolist() == [plain.suda_score(each, 4, largest) for each in sets]
    assert found.by_size == dict(sorted(Counter(len(s) for each in sets for s in each).items()))
    assert found.records == sum(map(bool, sets))
    total = sum(plain.suda_score(each, 4, largest) for each in sets) or 1.0
    for column in range(4):
        own = sum(plain.suda_score([s for s in each if column in s], 4, largest) for each in sets)
        assert found.contribution[f"q{column}"] == pytest.approx(own / total)


def test_sets_of_all_sizes_weigh_as_sdcmicro_lets_them() -> None:
    """(A − size)! for a set of that size."""
    rows = random_rows(3, 22)
    sets = plain.minimal_uniques(rows, 4)
    found = special_uniques({n: np.array(list(map(int, c))) for n, c in frame(rows).items()}, largest=4)
    assert found.score.tolist() == [float(sum(math.factorial(4 - len(s)) for s in each)) for each in sets]


def test_the_score_as_a_probability() -> None:
    rows = random_rows(5, 30, 3)
    fraction = 0.2
    found = special_uniques({n: np.array(list(map(int, c))) for n, c in frame(rows).items()}, fraction=fraction)
    sizes = Counter(Counter(rows).values())
    match = sizes[1] * fraction / (sizes[1] * fraction + 2 * sizes[2] * (1 - fraction))
    q = 1 + (8 - 3) / 20
    scores = [s for s in found.score if s]
    adjust = sum(1 / s**q for s in scores)
    assert found.match == pytest.approx(match)
    assert [d for d in found.dis if d] == pytest.approx(
        [1 / (1 + (sizes[1] / match - sizes[1]) / (s**q * adjust)) for s in scores]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_l_and_t_of_the_table_as_it_is(seed: int) -> None:
    rng = random.Random(seed)
    rows = random_rows(seed, 60, 2)
    secret = [str(rng.randrange(4)) for _ in rows]
    found = sf.risk(frame(rows) | {"s": secret}, ["q0", "q1"], sensitive=["s"]).diversity[0]
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for row, value in zip(rows, secret, strict=True):
        groups.setdefault(row, Counter())[value] += 1
    assert found.l_distinct == min(len(count) for count in groups.values())
    assert found.t == pytest.approx(
        max(distance(count, Counter(secret), "ordered") for count in groups.values()), abs=1e-5
    )
    assert all(diverse(count, {"l": found.l_entropy - 1e-4, "kind": "entropy"}) for count in groups.values())
    assert not all(diverse(count, {"l": found.l_entropy + 1e-3, "kind": "entropy"}) for count in groups.values())


SIZES = [1] * 50 + [2] * 22 + [3] * 9 + [5] * 4 + [11] * 2


@pytest.mark.parametrize("fraction", [0.02, 0.1, 0.35, 0.8])
def test_zayatz_by_exact_probabilities(fraction: float) -> None:
    population = round(sum(SIZES) / fraction)
    found = {each.model: each.uniques for each in population_uniques(np.array(SIZES), fraction).models}
    assert found["zayatz"] == pytest.approx(float(plain.zayatz(SIZES, population)), rel=1e-9)


def test_pitman_is_the_partition_of_greatest_likelihood() -> None:
    """No neighbour of (θ, α) is more likely by the product formula, and the uniques are Hoshino's."""
    seen = []
    original = models.minimize

    def spy(*arguments: object, **options: object) -> object:
        seen.append(original(*arguments, **options))
        return seen[-1]

    models.minimize = spy
    try:
        estimate = population_uniques(np.array(SIZES), 0.05).models[0].uniques
    finally:
        models.minimize = original
    alpha = float(expit(seen[0].x[0]))
    theta = math.exp(seen[0].x[1]) - alpha
    best = plain.pitman_likelihood(SIZES, theta, alpha)
    for da, dt in (
        (0.003, 0),
        (-0.003, 0),
        (0, 0.3),
        (0, -0.3),
        (0.002, 0.2),
        (-0.002, -0.2),
        (0.002, -0.2),
        (-0.002, 0.2),
    ):
        assert plain.pitman_likelihood(SIZES, theta + dt, alpha + da) < best
    population = round(sum(SIZES) / 0.05)
    assert estimate == pytest.approx(math.gamma(theta + 1) / math.gamma(theta + alpha) * population**alpha, rel=1e-6)


@pytest.mark.parametrize(("alpha", "beta", "fraction"), [(0.5, 0.2, 0.3), (1.7, 0.4, 0.15), (0.1, 0.05, 0.6)])
def test_the_equations_of_snb_follow_from_its_distribution(alpha: float, beta: float, fraction: float) -> None:
    one, two = snb_expected(1000.0, alpha, beta, fraction)
    assert one == pytest.approx(plain.snb_classes(1000.0, alpha, beta, fraction, 1), rel=1e-9)
    assert two == pytest.approx(plain.snb_classes(1000.0, alpha, beta, fraction, 2), rel=1e-9)


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.6])
def test_the_estimates_are_near_the_truth_of_a_population_that_is_known(fraction: float) -> None:
    rng = np.random.default_rng(7)
    members = 1 + rng.negative_binomial(0.4, 0.1, 20_000)
    everybody = np.repeat(np.arange(20_000), members)
    sample = rng.choice(everybody, round(fraction * len(everybody)), replace=False)
    sizes = np.bincount(sample)
    found = population_uniques(sizes[sizes > 0].astype(np.int64), fraction)
    truth = int((members == 1).sum())
    assert truth / 2 < found.uniques < 2 * truth


def test_the_rule_of_dankar() -> None:
    assert population_uniques(np.array(SIZES), 0.1).chosen == "pitman"
    small = population_uniques(np.array(SIZES), 0.3)
    by_model = {each.model: each.uniques for each in small.models}
    assert by_model["snb"] is not None
    assert small.uniques == min(by_model["snb"], by_model["zayatz"])
    assert population_uniques(np.array([1] * 30), 0.05).uniques == pytest.approx(600)
    assert population_uniques(np.array([2, 3, 3]), 0.05).uniques == 0
    assert population_uniques(np.array([1, 1, 2]), 1.0).uniques == 2
