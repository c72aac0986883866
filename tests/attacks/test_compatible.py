"""Who may stand behind which row, against an enumeration of all ways to hand out the rows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from sfumato.core.errors import PolicyError
from sfumato.kinds.tables.minimality_attacks import Downcoding, compatible_pairs

from .small_exhibits import UNDER, letters, random_recoded, recoded


def covers(row: list[str], person: list[str]) -> bool:
    return all(leaf in UNDER[label] for label, leaf in zip(row, person, strict=True))


def texts(table, names) -> list[list[str]]:
    columns = [table.frame.column(name).to_pylist() for name in names]
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("seed", range(60))
def test_possible_pairs_are_those_of_some_way_to_hand_out_the_rows(seed: int) -> None:
    exhibit = random_recoded(seed, 5)
    rows, people = texts(exhibit.data, ("q0", "q1")), texts(exhibit.original, ("q0", "q1"))
    ways = [
        way
        for way in permutations(range(len(people)), len(rows))
        if all(covers(row, people[who]) for row, who in zip(rows, way, strict=True))
    ]
    if not ways:
        with pytest.raises(PolicyError, match="right --original"):
            _ = compatible_pairs(exhibit).possible
        return
    by_hand = {(tuple(row), tuple(people[who])) for way in ways for row, who in zip(rows, way, strict=True)}
    found = compatible_pairs(exhibit)
    kinds = [tuple(people[first]) for first in found.people.first]
    classes = [tuple(rows[first]) for first in found.rows.first]
    pairs = zip(found.row[found.possible], found.person[found.possible], strict=True)
    assert {(classes[row], kinds[person]) for row, person in pairs} == by_hand
    covered = {(row, person) for row in classes for person in kinds if covers(list(row), list(person))}
    assert {(classes[row], kinds[person]) for row, person in zip(found.row, found.person, strict=True)} == covered


def test_exact_rows_take_their_people_away() -> None:
    """Three people at a, two at b; two rows say a, so behind 'ab' are one a and two b."""
    policy = letters(1)
    exhibit = recoded(
        policy,
        {"q0": ["a", "a", "ab", "ab", "ab"], "s": list("xxxxx")},
        {"q0": ["a", "a", "a", "b", "b"], "s": list("xxxxx")},
    )
    played = Downcoding(target="", original="").play(exhibit)
    assert (played["covered"], played["after_exact_rows"]) == (5.0, 3.0)
    assert played["generalized_rows"] == 3
    assert "at_least_cost_is_true" not in played, "without the trace nobody knows"


def test_a_matching_rules_out_who_is_needed_elsewhere() -> None:
    """Rows ab, ab and cde, cde and *: whoever is at a must be behind ab when ab has nobody else."""
    policy = letters(1)
    exhibit = recoded(
        policy, {"q0": ["ab", "ab", "*", "*"], "s": list("xxxx")}, {"q0": ["a", "b", "c", "d"], "s": list("xxxx")}
    )
    played = Downcoding(target="", original="").play(exhibit)
    assert played["covered"] == np.mean([2, 2, 4, 4])
    assert played["matched"] == 2.0
    assert played["at_least_cost"] == 2.0
