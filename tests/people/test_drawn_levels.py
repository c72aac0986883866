"""Levels by the exponential mechanism: sensitivity and chances over all small tables and one record more, and the draw
itself."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.kinds.tables.methods import private_sampling
from sfumato.kinds.tables.methods.private_sampling import (
    STEP,
    PublishedSteps,
    below,
    detail,
    draw_by_score,
    draw_records,
    happens,
)
from sfumato.release.method import Task

COLUMNS: dict[str, Any] = {
    "q": {"role": "quasi-identifier", "hierarchy": {"*": {"low": ["a", "b"], "high": ["c"]}}},
    "r": {"role": "quasi-identifier", "hierarchy": {"all": ["x", "y"]}},
}
HEIGHTS = {"q": 2, "r": 1}
RECORDS = list(product("abc", "xy"))


def scores_of(records: list[tuple[str, str]], beta: float, k: int) -> list[int]:
    """The score of every choice of levels, as the method counts it."""
    protect = [{"differential-privacy": {"epsilon": 1.0, "delta": 0.1}}]
    policy = sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": protect})
    table = Table(
        pa.table(
            {"q": [q for q, _ in records], "r": [r for _, r in records]},
            schema=pa.schema([("q", "string"), ("r", "string")]),
        )
    )
    task = Task(policy, table)
    ladders = {name: private_sampling.ladder(policy, table, name) for name in HEIGHTS}
    steps = PublishedSteps(beta, k)
    return [
        private_sampling._score(task, ladders, dict(zip(HEIGHTS, one, strict=True)), steps)
        for one in private_sampling._choices(HEIGHTS)
    ]


@pytest.mark.parametrize(("beta", "k"), [(0.5, 2), (0.3, 1)])
def test_one_record_more_moves_every_score_up_and_by_no_more_than_the_span(beta: float, k: int) -> None:
    """All tables of up to three records over six values, and each record that may come; and what that does to every
    chance."""
    span, epsilon = STEP * detail([0, 0], list(HEIGHTS.values()))[1], 0.7
    most, known = 0, dict[tuple[tuple[str, str], ...], list[int]]()
    tables = [one for many in range(1, 4) for one in combinations_with_replacement(RECORDS, many)]
    for one in tables:
        known[one] = scores_of(list(one), beta, k)
    for one in (one for one in tables if len(one) < 3):
        for record in RECORDS:
            more = known[tuple(sorted((*one, record)))]
            moved = [after - before for before, after in zip(known[one], more, strict=True)]
            assert min(moved) >= 0 and max(moved) <= span
            most = max(most, *moved)
            before, after = chances(known[one], epsilon, span), chances(more, epsilon, span)
            assert all(abs(math.log(x / y)) <= epsilon + 1e-12 for x, y in zip(before, after, strict=True))
    assert most > span / 3  # the bound is no idle number


def chances(scores: list[int], epsilon: float, span: int) -> list[float]:
    weights = [math.exp(epsilon * (score - max(scores)) / span) for score in scores]
    return [weight / sum(weights) for weight in weights]


def test_scores_that_move_both_ways_would_need_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """The brute force can fail: with steps that fall, some chance changes by more than the budget."""
    init = PublishedSteps.__init__

    def falling(self: PublishedSteps, fraction: float, threshold: int) -> None:
        init(self, fraction, threshold)
        self.up_to[::2], self.up_to[1::2] = STEP, -STEP

    monkeypatch.setattr(PublishedSteps, "__init__", falling)
    with pytest.raises(AssertionError):
        test_one_record_more_moves_every_score_up_and_by_no_more_than_the_span(0.5, 2)


@pytest.mark.parametrize(("beta", "k"), [(0.05, 3), (0.5, 40), (0.63, 400), (0.9, 7)])
def test_steps_are_what_is_published_on_average(beta: float, k: int) -> None:
    steps = PublishedSteps(beta, k)
    assert steps.largest() <= STEP and (steps.up_to[1:] >= steps.up_to[:-1]).all()
    if k <= 40:
        one, other = int(k / beta) + 3, int(1.6 * k / beta) + 9
        ratio = steps.worth(np.array([one])) / steps.worth(np.array([other]))
        assert ratio == pytest.approx(average(one, beta, k) / average(other, beta, k), rel=1e-3)


def average(n: int, beta: float, k: int) -> float:
    """Records of a cell of n that are published on average."""
    return sum(j * math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(k, n + 1))


def test_chances_are_drawn_as_they_are_computed() -> None:
    """Exponentials of fractions, whole numbers of any size, and a choice among four, each within five deviations."""
    draw, turns = Randomness(seed=11), 4000
    for x in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 3)):
        share = sum(happens(x, draw) for _ in range(turns)) / turns
        assert abs(share - math.exp(-x)) <= 5 * math.sqrt(math.exp(-x) * (1 - math.exp(-x)) / turns) + 1e-12
    assert {below(3, draw) for _ in range(60)} == {0, 1, 2} and below(1 << 200, draw) < 1 << 200
    scores, span = [0, 50, 80, 100], 100
    found = Counter(draw_by_score(scores, 2.0, span, draw) for _ in range(turns))
    for place, chance in enumerate(chances(scores, 2.0, span)):
        assert abs(found[place] / turns - chance) <= 5 * math.sqrt(chance / turns)


def test_records_are_drawn_with_no_more_than_their_chance() -> None:
    class Words:
        def words(self, count: int) -> Any:
            return np.array([0, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)

    assert draw_records(4, 0.5, Words()).tolist() == [0, 1]  # type: ignore[arg-type]


def test_the_budget_is_spent_by_the_search_alone() -> None:
    assert private_sampling.draw_by_score([5], 0.1, 1, Randomness(seed=1)) == 0
    assert detail([0], [0]) == (1, 1)
