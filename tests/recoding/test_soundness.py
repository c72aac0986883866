"""Recoding methods on random small tables, judged by the definitions written out for each record."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.kinds.tables.methods.local_search import refine
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_costs import OBJECTIVES, Costs
from sfumato.kinds.tables.methods.refined import lattice_sweep
from tests.slow import SLOW

from .problems import MODELS, flaws, problems

MORE = 15 if SLOW else 1
calm = settings(max_examples=8 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
METHODS = {"mondrian": mondrian, "lattice": lattice_sweep}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@calm
def test_every_group_is_sound(method, model, data):
    problem, tests = data.draw(problems(models=(model,)))
    objective = data.draw(st.sampled_from(OBJECTIVES))
    assert flaws(problem, tests, METHODS[method](problem, objective=objective)) == []


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(drawn=problems())
@settings(calm, max_examples=12 * MORE)
def test_search_is_sound_and_never_worse_than_its_starts(objective, drawn):
    problem, tests = drawn
    starts = [mondrian(problem, objective=objective), lattice_sweep(problem, objective=objective)]
    refined = refine(problem, starts, objective=objective, seconds=0.02)
    assert flaws(problem, tests, refined) == []
    costs = Costs.of(problem, objective)
    assert costs.mean(problem, refined) <= min(costs.mean(problem, start) for start in starts) + 1e-9


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@settings(calm, max_examples=6 * MORE)
def test_search_is_sound_under_each_model_together_with_k_anonymity(model, data):
    problem, tests = data.draw(problems(models=(model, "k")))
    assert flaws(problem, tests, refine(problem, [mondrian(problem)], seconds=0.02)) == []
