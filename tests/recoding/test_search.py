"""What local search must find, and what it must leave alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods import local_search, refined
from sfumato.kinds.tables.methods.local_search import refine, refine_each
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.t_closeness import TCloseness

PAIR = Hierarchy.from_tree({"*": {"G": ["x", "y"], "H": [f"z{i}" for i in range(98)]}})
NUMBERS = Ranges(tuple(map(str, range(101))))
ATTEMPTS = local_search._ATTEMPTS
"""As many as there are for everybody; other tests are content with fewer (`tests/conftest.py`)."""


def _two_apart(boundary: tuple[str, ...]) -> RecodingProblem:
    """x and y at both ends of a range: joining x with y is cheap, joining the ends is not."""
    codes = (np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 100, 0, 100], dtype=np.int32))
    return RecodingProblem(
        ("pair", "number"), (PAIR.bounded(boundary), NUMBERS), codes, (), (Requirement(KAnonymity(k=2)),)
    )


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


CLAIMS = {
    "size": (Requirement(KAnonymity(k=5)),),
    "distance": (Requirement(KAnonymity(k=4)), Requirement(TCloseness(t=0.3), ("illness",))),
    "entropy": (Requirement(KAnonymity(k=3)), Requirement(LDiversity(l=2.5, kind="entropy"), ("illness",))),
    "order": (Requirement(KAnonymity(k=3)), Requirement(TCloseness(t=0.3, distance="ordered"), ("illness",))),
}


def _crowd(claims: str) -> RecodingProblem:
    """400 made-up people in two regions: a tree, a bounded tree, a range, and an illness that goes with age."""
    draw = np.random.default_rng(5)
    age, place = draw.integers(0, 101, 400), draw.integers(0, 27, 400)
    town = Hierarchy.from_paths([(f"t{i}", f"d{i // 3}", f"s{i // 9}", "*") for i in range(27)])
    half = Hierarchy.from_tree({"*": {"A": ["a", "b", "c"], "B": ["d", "e", "f"]}}).bounded(("A", "B"))
    codes = (age, place, draw.integers(0, 6, 400))
    illness = Sensitive("illness", ((age // 20 + draw.integers(0, 4, 400)) % 6).astype(np.int32), tuple("123456"))
    columns = tuple(np.asarray(column, dtype=np.int32) for column in codes)
    return RecodingProblem(("age", "town", "half"), (NUMBERS, town, half), columns, (illness,), CLAIMS[claims])


def _cut_into_districts(monkeypatch, entries):
    """Small districts and short turns; which kinds of turns were taken."""
    for bound in ("DISTRICT", "MOST"):
        monkeypatch.setattr(local_search, bound, entries)
    monkeypatch.setattr(local_search, "SOME", 1)
    taken, plain = [], local_search._Search._take_turn
    monkeypatch.setattr(
        local_search._Search,
        "_take_turn",
        lambda search, kind, each: (plain(search, kind, each), taken.append(kind))[0],
    )
    return taken


@pytest.mark.parametrize("claims", CLAIMS)
def test_more_seconds_never_give_a_worse_release(claims, monkeypatch):
    """The turns are the same however much work is allowed, and none makes anything worse."""
    taken = _cut_into_districts(monkeypatch, 120)
    problem = _crowd(claims)
    start = mondrian(problem)
    losses = [
        round(_cost(problem, refine(problem, [start], seconds=seconds)), 12)
        for seconds in (1e-9, 0.01, 0.02, 0.04, 0.08)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < _cost(problem, start)
    assert ("clear" in taken) == (claims == "size")


def test_a_search_by_default_ends_when_little_is_gained_and_one_of_stated_length_does_not(monkeypatch):
    monkeypatch.setattr(local_search, "SOON", 0)
    problem = _crowd("size")
    start, work = mondrian(problem), {}
    take = local_search._Search._take_turn
    for worth in (True, False):
        done = []
        monkeypatch.setattr(
            local_search._Search, "_take_turn", lambda self, *a, done=done: (take(self, *a), done.append(self.done))
        )
        found = refine(problem, [start], seconds=0.3, while_worth=worth)
        work[worth] = done[-1], _cost(problem, found)
    assert work[True][0] < 0.7 * work[False][0]
    assert work[False][1] <= work[True][1] <= 1.01 * work[False][1] < 1.01 * _cost(problem, start)
    asked = []
    monkeypatch.setattr(
        refined, "refine", lambda problem, starts, **settings: (asked.append(settings["while_worth"]), starts[0])[1]
    )
    for method in (refined.Refined(), refined.Refined(seconds=2)):
        method.group(problem, _Quiet())
    assert asked == [True, False]


class _Quiet:
    """A task of which only its utility is asked."""

    policy = SimpleNamespace(utility=SimpleNamespace(minimize="loss", suppress_at_most=None), effort="thorough")
    jobs = 1

    def progress(self, done, what):
        pass


@pytest.mark.parametrize("claims", CLAIMS)
def test_the_answer_does_not_depend_on_how_many_work(claims, monkeypatch):
    _cut_into_districts(monkeypatch, 60)
    monkeypatch.setattr(local_search, "HANDED", 0)  # so small a table would be left to one of them
    problem = _crowd(claims)
    one, three = (refine(problem, [mondrian(problem)], seconds=0.02, jobs=jobs) for jobs in (1, 3))
    assert (
        np.array_equal(one.cell, three.cell)
        and np.array_equal(one.group, three.group)
        and np.array_equal(one.count, three.count)
    )
    assert problem.satisfied(one).all() and int(one.count.sum()) == problem.records
    regions = problem.regions.of[problem.cell_point[one.cell]]
    assert all(len(set(regions[one.group == g])) == 1 for g in range(one.groups))


@pytest.mark.parametrize("claims", ["size", "distance"])
def test_several_short_searches_keep_the_claims_and_everybody(claims, monkeypatch):
    monkeypatch.setattr(local_search, "_ATTEMPTS", ATTEMPTS)
    problem = _crowd(claims)
    starts = [mondrian(problem), problem.coarsest()]
    found = refine_each(problem, starts, seconds=0.05)
    assert problem.satisfied(found).all()
    placed = np.bincount(found.cell, found.count, minlength=len(problem.cell_point))
    assert np.array_equal(placed, np.where(problem.out[problem.cell_point], 0, problem.row_cell.counts))
    assert _cost(problem, found) < min(_cost(problem, start) for start in starts)


def test_regions_without_a_choice_are_left_alone(monkeypatch):
    """Three regions: five records that cannot become two groups, four that are alike, and six that can be told
    apart."""
    monkeypatch.setattr(local_search, "_ATTEMPTS", ATTEMPTS)
    region = Hierarchy.flat(["a", "b", "c"])
    region = region.bounded(("a", "b", "c"))
    numbers = np.array([0, 1, 2, 3, 99, 7, 7, 7, 7, 0, 1, 2, 50, 51, 52], dtype=np.int32)
    where = np.repeat([0, 1, 2], [5, 4, 6]).astype(np.int32)
    problem = RecodingProblem(
        ("region", "number"), (region, NUMBERS), (where, numbers), (), (Requirement(KAnonymity(k=3)),)
    )
    start = problem.grouping(problem.regions.of)
    search = local_search._Search(local_search.SearchState(problem, "loss"), problem, start, 1000, 1, None)
    assert sorted(np.bincount(search.settled.group, search.settled.count)) == [4, 5] and search.entries.count.sum() == 6
    found = refine_each(problem, [start], seconds=0.5)
    assert sorted(np.bincount(found.group, found.count)) == [3, 3, 4, 5]
    assert np.isclose(_cost(problem, found) * 15, (5 * 0.99 + 6 * 0.02) / 2)
