"""Blind grouping: who stands with whom depends on sensitive values through one number only."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.mondrian import blind_mondrian
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_problem import Claims, RecodingProblem, Requirement, Sensitive, Sizes
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity


def problem(values: np.ndarray) -> RecodingProblem:
    rng = np.random.default_rng(3)
    tree = Hierarchy.from_tree({"*": {str(i): [f"{i}{j}" for j in range(4)] for i in range(4)}})
    codes = tuple(rng.integers(0, 16, len(values)).astype(np.int32) for _ in range(2))  # as methods give them
    hidden = Sensitive("s", values, tuple("vwxyz"))
    claims = (Requirement(KAnonymity(k=3)), Requirement(LDiversity(l=2, kind="frequency"), ("s",)))
    return RecodingProblem(("one", "two"), (tree, tree), codes, (hidden,), claims)


def groups_of(problem: RecodingProblem, grouping) -> tuple[int, ...]:
    return tuple(problem.group_of_record(grouping).tolist())


VALUES = np.random.default_rng(1).choice(5, 200, p=[0.4, 0.3, 0.1, 0.1, 0.1])


def by_size(fewest: int) -> tuple[int, ...]:
    one = problem(VALUES)
    return groups_of(one, mondrian(one, claims=Sizes(one, fewest)))


def test_groups_are_those_of_a_size() -> None:
    """Whatever the arrangement of the values: one of the few partitions that sizes give."""
    sizes = [3]
    while sizes[-1] <= 200:
        sizes.append(sizes[-1] + max(1, sizes[-1] // 4))
    allowed, rng = {by_size(size) for size in sizes}, np.random.default_rng(2)
    seen, looking = set(), set()
    for _ in range(12):
        one = problem(rng.permutation(VALUES))
        found = blind_mondrian(one, "loss")
        assert Claims(one).hold(found).all()
        seen.add(groups_of(one, found))
        looking.add(groups_of(one, mondrian(one)))
    assert seen <= allowed
    assert len(looking) == 12, "the method that looks at values gives a partition of its own every time"


@pytest.mark.parametrize("fewest", [3, 7, 20])
def test_sizes_are_all_that_is_asked(fewest: int) -> None:
    groups = np.array(by_size(fewest))
    assert np.bincount(groups).min() >= fewest
