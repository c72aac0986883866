"""Kernels against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.kinds.tables.methods import recoding_costs as _cell_costs
from sfumato.kinds.tables.methods.class_merging import Entries, Units
from sfumato.kinds.tables.methods.kernels.cell_costs import CLIMB, LOG, SPAN, TABLE, cell_costs_of
from sfumato.kinds.tables.methods.kernels.partitioning import coarse_classes, plain_coarse_classes
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_costs import OBJECTIVES, Costs
from sfumato.kinds.tables.methods.recoding_problem import Claims
from tests.slow import SLOW

from .problems import problems


@pytest.mark.twin(of=[coarse_classes])
@given(seed=st.integers(0, 2**32 - 1), points=st.integers(0, 60), columns=st.integers(1, 4))
@settings(deadline=None)
def test_coarse_classes_agree_with_sorting(seed, points, columns):
    dice = np.random.default_rng(seed)
    codes = dice.integers(0, 3, (points, columns)).astype(np.int32)
    region, count = dice.integers(0, 3, points), dice.integers(1, 9, points)
    marks, start = dice.integers(-(1 << 62), 1 << 62, 3 * columns), 3 * np.arange(columns)
    given_ = (codes, region, count, marks, start, 3)
    for quick, plain in zip(coarse_classes(*given_), plain_coarse_classes(*given_), strict=True):
        assert quick.tolist() == plain.tolist()


@pytest.mark.twin(of=[cell_costs_of])
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("pairs", [0, 512])
@given(drawn=problems(models=("k",)))
@settings(deadline=None, max_examples=50 if SLOW else 20)
def test_cell_costs_are_those_of_the_objective(objective, pairs, drawn):
    problem, _ = drawn
    costs = Costs.of(problem, objective)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cell_costs, "_PAIRS", pairs)
        flat = _cell_costs.cell_costs(problem, objective)
    assert set(flat.rule) <= ({TABLE} if pairs else {SPAN, LOG, CLIMB})
    for column, domain in enumerate(problem.domains):
        lo, last = (side.astype(np.int64) for side in np.triu_indices(domain.size))
        expected = costs.column(column, *domain.close(lo, last + 1))
        assert np.allclose(cell_costs_of(flat, column, lo, last), expected)


@given(drawn=problems(models=("k", "p", "frequency")))
@settings(deadline=None, max_examples=50)
def test_units_can_be_turned_back_into_cells(drawn):
    problem, _ = drawn
    claims = Claims(problem)
    units = Units(problem, claims)
    entries = units.entries(mondrian(problem))
    again = units.entries(units.grouping(entries)) if len(entries.unit) else entries
    assert [a.tolist() for a in (again.unit, again.group, again.count)] == [
        a.tolist() for a in (entries.unit, entries.group, entries.count)
    ]


@given(drawn=problems(models=("k", "p", "frequency", "t equal", "t ordered")))
@settings(deadline=None, max_examples=150 if SLOW else 60)
def test_verdicts_do_not_depend_on_which_groups_are_asked_about(drawn):
    problem, _ = drawn
    claims = Claims(problem)
    point = np.flatnonzero(~problem.out)
    halves = np.full(len(problem.points), -1)
    halves[point] = equivalence_classes_of([problem.regions.of[point], problem.points[point, 0] % 2]).of
    whole = problem.grouping(halves)
    for asked in range(whole.groups):
        alone = problem.grouping(np.where(halves == asked, 0, -1))
        assert claims.hold(alone)[0] == claims.hold(whole)[asked] == problem.satisfied(whole)[asked]


def test_entries_are_added_up_and_groups_numbered_without_gaps():
    entries = Entries.tidy(np.array([3, 3, 1]), np.array([7, 7, 2]), np.array([1, 2, 5]))
    assert (entries.unit.tolist(), entries.group.tolist(), entries.count.tolist()) == ([1, 3], [0, 1], [5, 3])
