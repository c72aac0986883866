"""The ordered distance of t-closeness: an order of numbers, never of spellings; missing values stand apart."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.data.linkage import Linkage
from sfumato.models.t_closeness import TCloseness
from tests.slow import SLOW

CASES = 150 if SLOW else 60


def linkage(groups: list[list[str]]) -> Linkage:
    labels = tuple(dict.fromkeys(value for group in groups for value in group))
    codes = np.array([labels.index(value) for group in groups for value in group], dtype=np.int64)
    return Linkage.of_groups(
        np.repeat(np.arange(len(groups)), [len(group) for group in groups]), {"pay": (codes, labels)}
    )


def ordered(*groups: list[str], order: tuple[str, ...] | None = None) -> float:
    return float(TCloseness(t=1, distance="ordered", order=order).achieved(linkage(list(groups)))["t"])


def earth_movers(one: Counter[str], other: Counter[str]) -> float:
    """The transport problem itself: numbers at their ranks over m − 1, a missing value one apart from every number."""
    values = sorted({*one, *other})
    numbers = sorted({float(value) for value in values if value})

    def apart(a: str, b: str) -> float:
        if not a or not b:
            return float(a != b)
        return abs(numbers.index(float(a)) - numbers.index(float(b))) / max(len(numbers) - 1, 1)

    n = len(values)
    costs = [apart(a, b) for a in values for b in values]
    rows = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    totals = [counter[value] / sum(counter.values()) for counter in (one, other) for value in values]
    return float(linprog(costs, A_eq=np.vstack(rows), b_eq=totals).fun)


def test_the_example_of_the_paper() -> None:
    """Li et al. §4: incomes 3k … 11k; {3k, 4k, 5k} is at 0.375 and {6k, 8k, 11k} at 0.167 from all of them."""
    pay = [str(thousand * 1000) for thousand in range(3, 12)]
    rest = [value for value in pay if value not in ("3000", "4000", "5000")]
    assert ordered(pay[:3], rest) == pytest.approx(0.375)
    middle = ["6000", "8000", "11000"]
    each = TCloseness(t=0.17, distance="ordered").satisfied(linkage([middle, [v for v in pay if v not in middle]]))
    assert each[0]


def test_a_missing_value_does_not_turn_numbers_into_text() -> None:
    """As text 10, 100, 9 stand in this order, and a group of 9 and 10 looks average."""
    low, high = ["9", "10", "9", "10"], ["100", "1000", "100", "1000"]
    whole = ordered(low, high)
    assert whole == pytest.approx(1 / 3)
    with_missing = ordered([*low, ""], [*high, ""])
    assert with_missing == pytest.approx(0.8 / 3, rel=1e-5)


def test_spellings_of_one_number_are_one_value() -> None:
    assert ordered(["1", "2"], ["1.0", "02"]) == 0.0
    assert ordered(["1", "1.0", "5"], ["1.0", "1", "5.0"]) == 0.0


def test_days_are_ordered_by_the_calendar() -> None:
    assert ordered(["2020-01-31", "2020-02-01"], ["2021-03-01", "2021-03-02"]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("values", [["mild", "severe"], ["1", "two"], ["1", "nan"], ["1", "inf"], ["2020-01-01", "7"]])
def test_what_has_no_order_is_refused_without_saying_values(values: list[str]) -> None:
    with pytest.raises(DataError, match="needs an order") as error:
        ordered(values, values)
    assert "pay" in error.value.what
    assert not any(value in str(error.value) for value in ("two", "nan", "2020"))


def test_an_order_may_be_declared() -> None:
    order = ("mild", "moderate", "severe")
    assert ordered(["mild", "moderate"], ["severe", "severe"], order=order) == pytest.approx(0.375)
    with pytest.raises(DataError):
        ordered(["mild", "fatal"], ["severe", "mild"], order=order)


def test_text_without_an_order_is_an_error_of_the_data() -> None:
    columns = {"age": "quasi-identifier", "illness": "sensitive"}
    claim = {"t-closeness": {"t": 0.5, "distance": "ordered"}}
    people = {"age": ["1", "2", "3", "4"], "illness": ["flu", "gout", "flu", "gout"]}
    with pytest.raises(DataError, match="needs an order"):
        sf.publish(
            sf.Policy.parse({"version": 1, "columns": columns, "protect": [claim], "method": {"mondrian": {}}}),
            data=people,
        )


def test_never_below_the_earth_movers_distance_and_equal_to_it_where_nothing_is_missing() -> None:
    rng = random.Random(7)
    missing = 0
    for _ in range(CASES):
        values = rng.sample(["", "", "9", "10", "100", "2.5", "-3"], rng.randint(2, 5))
        groups = [[rng.choice(values) for _ in range(rng.randint(1, 6))] for _ in range(2)]
        whole = Counter(value for group in groups for value in group)
        exact = max(earth_movers(Counter(group), whole) for group in groups)
        found = ordered(*groups)
        assert found >= exact - 1e-5
        if "" in whole:
            missing += 1
        else:
            assert math.isclose(found, exact, abs_tol=1e-5)
    assert missing > CASES // 4


def test_joining_groups_never_raises_the_largest_distance() -> None:
    rng = random.Random(3)
    for _ in range(200):
        groups = [[rng.choice(["", "1", "5", "20", "3"]) for _ in range(rng.randint(1, 5))] for _ in range(4)]
        joined = [groups[0] + groups[1], *groups[2:]]
        assert ordered(*joined) <= ordered(*groups) + 1e-9


def test_shares_are_what_the_formula_says() -> None:
    """Two of three missing among four of eight: |2/3 − 1/2| + 1/3 · (distance of one number from all four)."""
    groups = ["", "", "1"], ["", "", "2", "3", "4"]
    numbers = Fraction(sum(abs(4 - place) for place in (1, 2, 3)), 4 * 3)
    assert ordered(*groups) == pytest.approx(float(Fraction(1, 6) + numbers / 3), rel=1e-5)
