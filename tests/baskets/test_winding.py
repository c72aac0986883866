"""The winding number: on a ring the offsets of a perfect matching add up to a multiple of n, so one known match tells
about all others.

Every matching is listed. What `blocks` promises in its place is listed in `test_blocks`.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from sfumato.core.randomness import Randomness
from sfumato.kinds.baskets.methods.nonreciprocal import assignments, ring_targets


def matchings(count: int, degree: int) -> list[tuple[int, ...]]:
    """All perfect matchings of the ring, as the offset of every record."""
    return [
        offsets
        for offsets in product(range(degree), repeat=count)
        if len({(place + offset) % count for place, offset in enumerate(offsets)}) == count
    ]


COUNTED = [(4, 2, 2), (5, 2, 2), (6, 2, 2), (5, 3, 13), (6, 3, 20), (6, 4, 80)]


@pytest.mark.parametrize(("count", "degree", "number"), COUNTED)
def test_the_mean_offset_is_a_whole_number(count: int, degree: int, number: int) -> None:
    listed = matchings(count, degree)
    assert len(listed) == number
    assert all(sum(offsets) % count == 0 for offsets in listed)


@pytest.mark.parametrize(("count", "degree"), [(4, 2), (5, 2), (6, 2), (5, 3), (6, 3), (6, 4)])
def test_one_known_match_helps_with_everybody_on_a_ring(count: int, degree: int) -> None:
    """Without insiders 1/k on average over the matchings; beside one, everybody else is guessed better than 1/(k − 1)
    at k = 2."""
    listed = matchings(count, degree)
    alone = [max(Counter(offsets[person] for offsets in listed).values()) / len(listed) for person in range(count)]
    beside = []
    for known in range(degree):
        left = [offsets for offsets in listed if offsets[0] == known]
        beside += [max(Counter(offsets[person] for offsets in left).values()) / len(left) for person in range(1, count)]
    assert max(beside) > max(alone)
    if degree == 2:
        assert min(beside) == 1.0  # whoever knows one row knows everybody's


@pytest.mark.parametrize("walk", ["truncated", "closed"])
def test_what_the_program_draws_on_a_ring_of_two_is_one_bit(walk: str) -> None:
    for seed in range(5):
        rounds = assignments(ring_targets(30, 2), walk, Randomness(seed))  # type: ignore[arg-type]
        offsets = {tuple((place - who) % 30 for place, who in enumerate(owner.tolist())) for owner in rounds}
        assert offsets == {(0,) * 30, (1,) * 30}


@pytest.mark.parametrize(("count", "degree"), [(6, 3), (6, 2), (4, 2)])
def test_blocks_have_the_most_matchings(count: int, degree: int) -> None:
    """k!^(n/k), against those of the ring."""
    factorial = {2: 2, 3: 6}[degree]
    assert factorial ** (count // degree) > len(matchings(count, degree))
