"""What local search must find, and what it must leave alone."""

from __future__ import annotations

import numpy as np

from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.problem import RecodingProblem, Requirement
from sfumato.models.k_anonymity import KAnonymity

PAIR = Hierarchy.from_tree({"*": {"G": ["x", "y"], "H": [f"z{i}" for i in range(98)]}})
NUMBERS = Ranges(tuple(map(str, range(101))))


def _two_apart(boundary: tuple[str, ...]) -> RecodingProblem:
    """x and y at both ends of a range: joining x with y is cheap, joining the ends is not."""
    codes = (np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 100, 0, 100], dtype=np.int32))
    return RecodingProblem(("pair", "number"), (PAIR.bounded(boundary), NUMBERS), codes, (), (Requirement(KAnonymity(k=2)),))


def _cost(problem, grouping):
    return Costs.of(problem, "loss").mean(problem, grouping)


def test_joins_what_is_near():
    problem = _two_apart(())
    ends = problem.grouping(np.array([0, 0, 1, 1]))
    assert np.isclose(_cost(problem, ends), 0.5)
    assert np.isclose(_cost(problem, refine(problem, [ends], seconds=1)), 0.5 / 99)


def test_never_crosses_a_region_however_cheap_that_would_be():
    problem = _two_apart(("x", "y"))
    refined = refine(problem, [mondrian(problem)], seconds=1)
    assert np.isclose(_cost(problem, refined), 0.5)


def test_a_large_class_lends_its_surplus():
    """Ten records at 0, four at 1, six at 100: one of the ten joins the four, so that nobody needs the whole range."""
    codes = (np.repeat([0, 1, 100], [10, 4, 6]).astype(np.int32),)
    problem = RecodingProblem(("number",), (NUMBERS,), codes, (), (Requirement(KAnonymity(k=5)),))
    start = problem.grouping(np.array([0, 0, 1]))
    refined = refine(problem, [start], seconds=1)
    assert np.isclose(_cost(problem, refined) * 20, 5 * 0.01)
    assert sorted(np.bincount(refined.group, refined.count).tolist()) == [5, 6, 9]
