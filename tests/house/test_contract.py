"""The contract suite: what every entry of the catalogue owes the house. Entries are found, not listed.

A model declares examples: parameters, something that satisfies them and something that does not. A method keeps
whatever it says it enforces, judged by the audit, for every model of its kind of data."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.data.linkage import Linkage
from sfumato.models.base import Model, example_classes
from sfumato.models.differential_privacy import Sampling
from sfumato.policy.policy import Choice
from sfumato.release.evidence import Evidence
from sfumato.release.method import Method
from sfumato.ui.demos.tables import discharges
from sfumato.workflow.plan import plan
from tests.slow import SLOW

MODELS = catalogue("models", Model)
METHODS = catalogue("methods", Method)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_tells_examples_apart(model: type[Model]) -> None:
    """A model without examples is not tested by anybody; one that is always satisfied, or never, is none."""
    assert model.examples, (
        f"{model.name} declares no examples: parameters, something that holds and something that fails"
    )
    for each in model.examples:
        chosen = model(**each.level)
        assert chosen.satisfied(each.holds).all()
        assert not chosen.satisfied(each.fails).all()
        assert chosen.achieved(each.holds) != chosen.achieved(each.fails)


def random_words(rng: np.random.Generator) -> list[str]:
    letters = "1234"[: rng.integers(1, 5)]
    return ["".join(rng.choice(list(letters), rng.integers(1, 9))) for _ in range(rng.integers(2, 6))]


@cache
def random_crowds() -> list[tuple[list[str], Linkage]]:
    """The same groups for every model, and who looks at them; made once."""
    rng = np.random.default_rng(7)
    return [(groups, example_classes(*groups)) for groups in (random_words(rng) for _ in range(400 if SLOW else 160))]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_groups_that_satisfy_a_monotone_model_satisfy_it_together(model: type[Model]) -> None:
    for each in model.examples:
        chosen = model(**each.level)
        if not model.monotone or model.judges is not Linkage:
            return
        joined = 0
        for groups, seen in random_crowds():
            fine = np.flatnonzero(chosen.satisfied(seen))
            if len(fine) > 1:
                rest = [word for place, word in enumerate(groups) if place not in fine[:2]]
                assert chosen.satisfied(example_classes(groups[fine[0]] + groups[fine[1]], *rest))[0], (
                    each.level,
                    groups,
                )
                joined += 1
        assert joined > 10, each.level


class Case(NamedTuple):
    """Data of one kind, and what a policy says about it besides its claims."""

    tree: dict[str, Any]
    data: Any


@cache
def everybody() -> Path:
    """A population: everybody of the table, and as many others who look like them."""
    given = case("table")
    assert given is not None
    frame = pl.DataFrame({name: values * 2 for name, values in given.data.items()})
    path = Path(mkdtemp()) / "everybody.csv"
    frame.write_csv(path)
    return path


@cache
def case(kind: str) -> Case | None:
    if kind == "table":
        names = ["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"]
        data = dict(zip(names, map(list, zip(*discharges(80), strict=True)), strict=True))
        codes = {
            text: str(code) for code, text in enumerate(sorted(set(data["diagnosis"])))
        }  # numbers, for models that need an order
        return Case({"columns": COLUMNS}, data | {"diagnosis": [codes[text] for text in data["diagnosis"]]})
    if kind == "baskets":
        rng = np.random.default_rng(1)
        items = [" ".join(f"i{item}" for item in np.flatnonzero(rng.random(12) < 0.4)) or "i0" for _ in range(200)]
        tree = {"data": {"kind": "baskets", "items": "items"}, "columns": {"label": "sensitive"}}
        return Case(tree, {"items": items, "label": [str(v) for v in rng.integers(0, 9, 200)]})
    if kind == "graph":
        return Case({"data": {"kind": "graph"}}, nx.powerlaw_cluster_graph(150, 5, 0.4, seed=2))
    return None


COLUMNS = {
    "name": "identifier",
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 2}},
    "sex": "quasi-identifier",
    "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}},
    "diagnosis": "sensitive",
}


class Pair(NamedTuple):
    """A method that says it enforces a claim."""

    kind: str
    method: str
    model: str
    level: dict[str, Any]

    @property
    def claim(self) -> str:
        return f"{self.model} {self.level}"

    @property
    def policy(self) -> sf.Policy:
        level = json.dumps(self.level)
        hurried = Choice(self.method, {"seconds": 0.01} if "seconds" in METHODS[self.method].model_fields else {})
        policy = replace(declared(self.kind, self.model, level), method=hurried)
        if "boundary" in METHODS[self.method]().refusal(policy):  # what knows nothing of boundaries is asked without
            return replace(declared(self.kind, self.model, level, bounded=False), method=hurried)
        return policy


@cache
def declared(kind: str, model: str, level: str, bounded: bool = True) -> sf.Policy:
    """A policy with one claim, for whichever method; read once, because every process asks for all of them."""
    given, asked = case(kind), json.loads(level)
    assert given is not None
    tree: dict[str, Any] = {"version": 1, **given.tree, "protect": [{model: asked}]}
    if MODELS[model](**asked).of_population:
        tree["population"] = {"file": str(everybody())}
    if not bounded:
        tree["columns"] = {
            name: {**c, "boundary": None} if isinstance(c, dict) else c for name, c in tree["columns"].items()
        }
    return sf.Policy.parse(tree)


def pairs() -> list[Pair]:
    """Wherever a method accepts a policy with that one claim: at a level that few were asked for so far, in `make slow`
    at all."""
    found: list[Pair] = []
    tried: Counter[str] = Counter()
    for method in METHODS.values():
        for kind in method.kinds:
            for model in MODELS.values():
                if kind in model.kinds and case(kind) is not None:
                    asked = [Pair(kind, method.name, model.name, dict(each.level)) for each in model.examples]
                    asked = [pair for pair in asked if accepts(method(), pair.policy)]
                    fresh = [pair for pair in asked if not tried[pair.claim]]
                    found += asked if SLOW else fresh or sorted(asked, key=lambda pair: tried[pair.claim])[:1]
                    tried = Counter(pair.claim for pair in found)
    return found


def accepts(method: Method, policy: sf.Policy) -> bool:
    return method.enforces(policy.claims[0], policy) and not method.refusal(policy)


PAIRS = pairs()


@pytest.mark.parametrize(
    "pair", PAIRS, ids=lambda pair: f"{pair.method}-{pair.model}-{'-'.join(map(str, pair.level.values()))}"
)
def test_a_method_keeps_what_it_says_it_enforces(pair: Pair, tmp_path: Path) -> None:
    given, policy = case(pair.kind), pair.policy
    assert given is not None
    publication = sf.publish(policy, data=given.data)  # Infeasible would fail the test: the claim is reachable
    publication.write(tmp_path / "out", report=False)
    population = everybody() if policy.population is not None else None
    verdict = sf.verify(tmp_path / "out", original=given.data, population=population)
    assert verdict.holds
    assert any(finding.model == pair.model for finding in verdict.findings)


def test_every_model_has_a_method_that_enforces_it() -> None:
    drawn = {name for name, model in MODELS.items() if model.judges is Sampling}  # tests/people/test_sampled.py
    assert {pair.model for pair in PAIRS} == set(MODELS) - drawn


def test_methods_need_no_parameters() -> None:
    """Else nothing above would try them, and a policy could not name them alone."""
    assert [
        name for name, cls in METHODS.items() if any(field.is_required() for field in cls.model_fields.values())
    ] == []


def test_every_kind_of_data_that_models_speak_about_is_tried() -> None:
    assert [kind for model in MODELS.values() for kind in model.kinds if case(kind) is None] == []


def test_every_form_has_a_reading() -> None:
    readings = catalogue("evidence", Evidence).values()
    assert {method.form for method in METHODS.values()} <= {reading.form for reading in readings}


@pytest.mark.parametrize(("room", "base"), [("models", Model), ("methods", Method)])
def test_every_entry_explains_itself(room: str, base: Any) -> None:
    for name, cls in catalogue(room, base).items():
        assert cls.__doc__, name
        assert all(field.description for field in cls.model_fields.values()), name


def test_the_planner_says_why() -> None:
    policy = sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 3}}]})
    assert {plan(policy, records=size).method.name for size in (1_000, 2_000_000)} == {
        "refined"
    }  # one default for all sizes
    assert "because" in plan(policy).reasons[0]


def test_every_form_is_tried_by_the_tests_of_trust() -> None:
    """A form that nobody spoils is a form that nobody trusts."""
    from sfumato.release.form import Form
    from tests.trust.every_form import FORMS

    assert set(FORMS) == set(catalogue("forms", Form))
