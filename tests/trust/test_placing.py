"""Whether listed values can be those of the rows in a bucket, against seating everybody in every way."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from sfumato.kinds.subtables.checks import PairCounts, can_be_assigned


def by_trying(rows, people, listed):
    """Rows (kind, bucket), people (kind, value), lists (bucket, value): whether some seating gives every bucket its
    list."""
    return any(
        all(person[0] == row[0] for person, row in zip(order, rows, strict=True))
        and sorted((row[1], person[1]) for person, row in zip(order, rows, strict=True)) == sorted(listed)
        for order in permutations(people)
    )


def tally(many):
    left, right = np.array([one for one, _ in many]), np.array([other for _, other in many])
    return PairCounts.of(left, right)


def drawn(seed):
    """Kinds, buckets and values of a few people, and values in another order."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    kinds, buckets, values = (rng.integers(0, limit, n).tolist() for limit in (2, 3, 3))
    return kinds, buckets, values, rng.permutation(values).tolist()


def pairs(left, right):
    return list(zip(left, right, strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_it_finds_what_trying_everything_finds(seed):
    kinds, buckets, values, others = drawn(seed)
    for said in (values, others):
        rows, people, listed = pairs(kinds, buckets), pairs(kinds, values), pairs(buckets, said)
        assert can_be_assigned(tally(rows), tally(people), tally(listed)) == by_trying(rows, people, listed)


def test_both_answers_occur():
    cases = [drawn(seed) for seed in range(60)]
    assert {by_trying(pairs(k, b), pairs(k, v), pairs(b, o)) for k, b, v, o in cases} == {True, False}
