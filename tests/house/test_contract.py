"""The contract suite: what every entry of the catalogue owes the house. Entries are found, not listed.

A model declares examples: parameters, something that satisfies them and something that does not. A method keeps
whatever it says it enforces, judged by the audit, for every model of its kind of data."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import sfumato as sf
from sfumato import testing
from sfumato.core.registry import catalogue
from sfumato.models.base import Model
from sfumato.models.differential_privacy import Sampling
from sfumato.release.evidence import Evidence
from sfumato.release.method import Method
from sfumato.release.metric import Metric
from sfumato.workflow.plan import plan
from tests.slow import SLOW

MODELS = catalogue("models", Model)
METHODS = catalogue("methods", Method)
METRICS = catalogue("metrics", Metric)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_tells_examples_apart(model: type[Model]) -> None:
    testing.check_model(model, rounds=400 if SLOW else 160)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_metric_gives_one_figure(metric: type[Metric]) -> None:
    testing.check_metric(metric)


def pairs() -> list[testing.EnforcedRequirement]:
    """Wherever a method accepts a policy with that one claim: at a level that few were asked for so far, in `make slow`
    at all."""
    found: list[testing.EnforcedRequirement] = []
    tried: Counter[str] = Counter()
    for method in METHODS.values():
        by_model: dict[tuple[str, str], list[testing.EnforcedRequirement]] = {}
        for requirement in testing.enforced(method):
            by_model.setdefault((requirement.kind, requirement.model.name), []).append(requirement)
        for asked in by_model.values():
            fresh = [requirement for requirement in asked if not tried[requirement.text]]
            found += asked if SLOW else fresh or sorted(asked, key=lambda requirement: tried[requirement.text])[:1]
            tried = Counter(requirement.text for requirement in found)
    return found


PAIRS = pairs()


@pytest.mark.parametrize(
    "pair", PAIRS, ids=lambda pair: f"{pair.method.name}-{pair.model.name}-{'-'.join(map(str, pair.level.values()))}"
)
def test_a_method_keeps_what_it_says_it_enforces(pair: testing.EnforcedRequirement) -> None:
    pair.check()


def test_every_model_has_a_method_that_enforces_it() -> None:
    drawn = {name for name, model in MODELS.items() if model.judges is Sampling}  # tests/people/test_sampled.py
    assert {pair.model.name for pair in PAIRS} == set(MODELS) - drawn


def test_methods_need_no_parameters() -> None:
    """Else nothing above would try them, and a policy could not name them alone."""
    assert [
        name for name, cls in METHODS.items() if any(field.is_required() for field in cls.model_fields.values())
    ] == []


def test_every_kind_of_data_that_models_speak_about_is_tried() -> None:
    assert [kind for model in MODELS.values() for kind in model.kinds if testing.example_data(kind) is None] == []


def test_every_form_has_a_reading() -> None:
    readings = catalogue("evidence", Evidence).values()
    assert {method.form for method in METHODS.values()} <= {reading.form for reading in readings}


@pytest.mark.parametrize(("room", "base"), [("models", Model), ("methods", Method)])
def test_every_entry_explains_itself(room: str, base: Any) -> None:
    for name, cls in catalogue(room, base).items():
        assert cls.__doc__, name
        assert all(field.description for field in cls.model_fields.values()), name


def test_the_planner_says_why() -> None:
    policy = sf.Policy.parse({"version": 1, "columns": testing.COLUMNS, "protect": [{"k-anonymity": {"k": 3}}]})
    assert {plan(policy, records=size).method.name for size in (1_000, 2_000_000)} == {
        "refined"
    }  # one default for all sizes
    assert "because" in plan(policy).reasons[0]


def test_every_form_is_tried_by_the_tests_of_trust() -> None:
    """A form that nobody spoils is a form that nobody trusts."""
    from sfumato.release.form import Form
    from tests.trust.every_form import FORMS

    assert set(FORMS) == set(catalogue("forms", Form))
