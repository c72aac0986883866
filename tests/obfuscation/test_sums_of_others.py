"""What the others add up to: the law by transforms against a count by hand, also where the law is wrapped round."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.kinds.testdata.evidence import _window, fast_length, posterior_of_records


def plain_ways(values: list[list[int]], counts: list[int]) -> dict[int, int]:
    """In how many ways people with these values reach each sum."""
    ways = {0: 1}
    for own, many in zip(values, counts, strict=True):
        for _ in range(many):
            grown: dict[int, int] = {}
            for total, number in ways.items():
                for value in own:
                    grown[total + value] = grown.get(total + value, 0) + number
            ways = grown
    return ways


@pytest.mark.parametrize(("seed", "aside"), [(1, 0), (2, 12), (3, -25), (4, 40)])
def test_shares_are_those_of_a_count(seed: int, aside: int) -> None:
    draw = np.random.default_rng(seed)
    own = [[0, *draw.integers(0, 10, 3).tolist(), 9], [1, 2, *draw.integers(-4, 3, 2).tolist()]]
    counts = [90, 60]
    total = round(sum(n * sum(values) / len(values) for n, values in zip(counts, own, strict=True))) + aside
    found = posterior_of_records([np.array(values) for values in own], counts, total)
    assert found is not None
    for place, values in enumerate(own):
        others = plain_ways(own, [n - (other == place) for other, n in enumerate(counts)])
        ways = [others.get(total - value, 0) for value in values]
        expected = [float(Fraction(number, sum(ways))) for number in ways]
        assert found[place] == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_the_law_is_wrapped_in_the_test_above() -> None:
    """Else it would show nothing of shorter lengths."""
    single = [np.full(10, 0.1), np.full(7, 1 / 7)]
    assert fast_length(_window(single, [90, 60], 585)) < 90 * 9 + 60 * 6 + 1


def test_lengths_have_small_factors() -> None:
    for least in range(1, 400):
        found = fast_length(least)
        rest = found
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        assert rest == 1 and found >= least
        assert all(fast_length(smaller) <= found for smaller in range(max(1, least - 3), least))
