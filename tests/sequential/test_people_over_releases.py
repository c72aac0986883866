"""Why people in several rows are refused with a ledger: what comes later weakens what was promised, whatever is published of it."""

from fractions import Fraction
from itertools import permutations

import pytest

from sfumato.errors import PolicyError
from sfumato.policy.policy import Policy
from sfumato.spine.plan import plan


def chance(people, first, second):
    """How likely the first row of the first release is somebody's of `people`, for who knows all records, and not which came later.

    A record is (person, value that it is known by); rows are the values that they cover. Every record stands in the second release,
    and as many as there are rows in the first.
    """
    mine = worlds = 0
    records = range(len(people))
    for then in permutations(records, len(first)):
        for now in permutations(records, len(second)):
            fits = all(people[i][1] in row for i, row in zip((*then, *now), (*first, *second), strict=True))
            worlds, mine = worlds + fits, mine + (fits and people[then[0]][0] == "me")
    return Fraction(mine, worlds)


def test_a_second_row_of_somebody_raises_the_chance_of_a_row_that_is_out_already():
    wide = {"30", "31", "32"}
    assert chance([("me", "30"), ("you", "31")], [wide] * 2, [wide] * 2) == Fraction(1, 2)
    assert chance([("me", "30"), ("you", "31"), ("me", "32")], [wide] * 2, [wide] * 3) == Fraction(2, 3)
    assert chance([("me", "30"), ("you", "31"), ("me", "39")], [wide] * 2, [wide, wide, {"39"}]) == Fraction(1, 2)


@pytest.mark.parametrize("rows", ["unlinked", "linked"])
def test_check_refuses_it_with_the_reason(rows):
    columns = {"visit": "identifier", "patient": "identifier", "age": "quasi-identifier", "illness": "sensitive"}
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 2}}], "key": "visit"}
    policy = Policy.parse(tree | {"person": {"columns": "patient", "rows": rows}})
    plan(policy)
    with pytest.raises(PolicyError, match="weaken what earlier releases promised"):
        plan(policy, remembering=True)
