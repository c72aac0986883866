"""Checks for people who add a model, a method or a metric: ``from sfumato.testing import check_model``.

Each function takes a class and raises `AssertionError` with the reason where the class does not keep its part.
The project's own tests run them over the whole catalogue.

>>> from sfumato.models.k_anonymity import KAnonymity
>>> check_model(KAnonymity)
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

import numpy as np

from sfumato.core.registry import catalogue
from sfumato.data.graph import Graph
from sfumato.data.linkage import Linkage
from sfumato.models.base import Model, example_classes
from sfumato.models.differential_privacy import Sampling
from sfumato.policy.policy import Choice, Policy
from sfumato.release.method import Method
from sfumato.release.metric import Metric
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify

COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 2}},
    "sex": "quasi-identifier",
    "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}},
    "diagnosis": "sensitive",
}


def check_model(model: type[Model], rounds: int = 160) -> None:
    """Check that a model separates its examples, and that a monotone one stays satisfied when classes are merged."""
    assert model.__doc__, f"{model.name} has no docstring: its first line is the entry of the catalogue"
    _check_descriptions(model)
    assert model.examples, (
        f"{model.name} declares no examples: parameters, something that holds and something that fails"
    )
    for each in model.examples:
        chosen = model(**each.level)
        assert chosen.satisfied(each.holds).all(), f"{model.name} {each.level} does not hold for its own example"
        assert not chosen.satisfied(each.fails).all(), f"{model.name} {each.level} holds for the example that fails"
        assert chosen.achieved(each.holds) != chosen.achieved(each.fails), (
            f"{model.name} {each.level} reports the same figure for both examples"
        )
        if model.monotone and model.judges is Linkage:
            assert _merge_satisfied_classes(chosen, rounds) > 10, f"{each.level}: too few classes could be merged"


def _merge_satisfied_classes(chosen: Model, rounds: int) -> int:
    merged = 0
    for groups, linkage in _random_classes(rounds):
        fine = np.flatnonzero(chosen.satisfied(linkage))
        if len(fine) > 1:
            rest = [word for place, word in enumerate(groups) if place not in fine[:2]]
            together = example_classes(groups[fine[0]] + groups[fine[1]], *rest)
            assert chosen.satisfied(together)[0], f"{chosen}: {groups[fine[0]]!r} and {groups[fine[1]]!r} hold alone"
            merged += 1
    return merged


@cache
def _random_classes(rounds: int) -> list[tuple[list[str], Linkage]]:
    """Draw equivalence classes, each written as the sensitive values of its records; the same for every model."""
    rng = np.random.default_rng(7)
    drawn = []
    for _ in range(rounds):
        letters = list("1234"[: rng.integers(1, 5)])
        groups = ["".join(rng.choice(letters, rng.integers(1, 9))) for _ in range(rng.integers(2, 6))]
        drawn.append((groups, example_classes(*groups)))
    return drawn


class Case(NamedTuple):
    """Data of one kind, and what a policy says about it besides its requirements."""

    tree: dict[str, Any]
    data: Any


@cache
def example_data(kind: str) -> Case | None:
    """Return small data of a kind (table, baskets, graph); None where there is none."""
    rng = np.random.default_rng(1)
    if kind == "table":
        count, ages = 80, rng.integers(20, 90, 80)
        return Case(
            {"columns": COLUMNS},
            {
                "name": [f"Person {number}" for number in range(count)],
                "age": [str(age) for age in ages],
                "sex": [str(sex) for sex in rng.choice(["f", "m"], count)],
                "zip": [f"{10 + int(area)}{int(street):03}" for area, street in rng.integers(0, 20, (count, 2))],
                "diagnosis": [str(code) for code in rng.integers(0, 9, count)],  # numbers, for models with an order
            },
        )
    if kind == "baskets":
        items = [" ".join(f"i{item}" for item in np.flatnonzero(rng.random(12) < 0.4)) or "i0" for _ in range(200)]
        tree = {"data": {"kind": "baskets", "items": "items"}, "columns": {"label": "sensitive"}}
        return Case(tree, {"items": items, "label": [str(label) for label in rng.integers(0, 9, 200)]})
    if kind == "graph":
        return Case({"data": {"kind": "graph"}}, Graph.from_pairs(*_friendships(rng, 150), nodes=150))
    return None


def _friendships(rng: np.random.Generator, people: int) -> tuple[list[int], list[int]]:
    """Let each person befriend five earlier ones, half of them friends of a friend: few have many friends."""
    source, target = [0], [1]
    for person in range(2, people):
        for _ in range(5):
            one = int(rng.choice([source, target][rng.integers(2)]))
            source.append(person)
            target.append(one if one != person else int(rng.integers(person)))
    return source, target


@cache
def everybody() -> Path:
    """Return a file with a population: everybody of the table, and as many others who look like them."""
    data = example_data("table")
    assert data is not None
    path = Path(mkdtemp()) / "everybody.csv"
    rows = list(zip(*data.data.values(), strict=True))
    path.write_text("\n".join([",".join(data.data), *(",".join(row) for row in rows * 2)]) + "\n", encoding="utf-8")
    return path


class EnforcedRequirement(NamedTuple):
    """A requirement that a method says it enforces on data of a kind."""

    kind: str
    method: type[Method]
    model: type[Model]
    level: dict[str, Any]

    @property
    def text(self) -> str:
        return f"{self.model.name} {self.level}"

    @property
    def policy(self) -> Policy:
        """The policy with this requirement and method; without a boundary where the method has none."""
        level = json.dumps(self.level)
        hurried = Choice(self.method.name, {"seconds": 0.01} if "seconds" in self.method.model_fields else {})
        policy = replace(_declared(self.kind, self.model, level), method=hurried)
        if "boundary" in self.method().refusal(policy):
            return replace(_declared(self.kind, self.model, level, bounded=False), method=hurried)
        return policy

    @property
    def accepted(self) -> bool:
        """Whether the method takes a policy with this requirement."""
        method, policy = self.method(), self.policy
        return method.enforces(policy.claims[0], policy) and not method.refusal(policy)

    def check(self) -> None:
        """Publish, write and verify; `Infeasible` is a failure, because the requirement can be kept."""
        data, policy = example_data(self.kind), self.policy
        assert data is not None
        with TemporaryDirectory() as folder:
            publish(policy, data=data.data).write(Path(folder) / "out", report=False)
            population = everybody() if policy.population is not None else None
            verdict = verify(Path(folder) / "out", original=data.data, population=population)
        assert verdict.holds, f"{self.method.name} does not keep {self.text}: {verdict}"
        assert any(finding.model == self.model.name for finding in verdict.findings), f"{self.text} was not judged"


@cache
def _declared(kind: str, model: type[Model], level: str, bounded: bool = True) -> Policy:
    data, asked = example_data(kind), json.loads(level)
    assert data is not None
    tree: dict[str, Any] = {"version": 1, **data.tree, "protect": [{model.name: asked}]}
    if model(**asked).of_population:
        tree["population"] = {"file": str(everybody())}
    if not bounded:
        tree["columns"] = {
            name: {**entry, "boundary": None} if isinstance(entry, dict) else entry
            for name, entry in tree["columns"].items()
        }
    return Policy.parse(tree)


def enforced(method: type[Method]) -> Iterator[EnforcedRequirement]:
    """Yield every example of every model that a method says it enforces."""
    for kind in method.kinds:
        for model in catalogue("models", Model).values():
            if kind in model.kinds and model.judges is not Sampling and example_data(kind) is not None:
                asked = (EnforcedRequirement(kind, method, model, dict(each.level)) for each in model.examples)
                yield from (requirement for requirement in asked if requirement.accepted)


def check_method(method: type[Method], at_most: int | None = None) -> None:
    """Check that a method keeps what it says it enforces: one release per requirement, judged by the audit."""
    assert method.__doc__, f"{method.name} has no docstring: its first line is the entry of the catalogue"
    _check_descriptions(method)
    required = [name for name, field in method.model_fields.items() if field.is_required()]
    assert not required, f"{method.name} cannot be named alone in a policy: {required} have no default"
    for number, requirement in enumerate(enforced(method)):
        if at_most is None or number < at_most:
            requirement.check()


def check_metric(metric: type[Metric]) -> None:
    """Check that a metric declares its range and gives the same finite figures twice for a release it applies to."""
    assert metric.__doc__, f"{metric.name} has no docstring: its first line is the entry of the catalogue"
    assert getattr(metric, "range", ""), f"{metric.name} declares no range, like '0 … 1'"
    data = example_data("table")
    assert data is not None
    tree = {"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 3}}], "method": {"mondrian": {}}}
    view = publish(Policy.parse(tree), data=data.data).exhibit
    if metric().applies(view):
        first, second = metric().measure(view), metric().measure(view)
        assert first == second, f"{metric.name} measures two figures for one release: {first}, {second}"
        figures = list(first.values()) if isinstance(first, dict) else [first]
        assert all(math.isfinite(figure) for figure in figures if isinstance(figure, int | float)), (
            f"{metric.name}: {first}"
        )


def _check_descriptions(cls: type[Model] | type[Method]) -> None:
    silent = [name for name, field in cls.model_fields.items() if not field.description]
    assert not silent, f"{cls.name}: {silent} have no description, which is what a policy's author reads"
