"""Global recoding is expressible: a method that publishes its own intervals, defined here and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
import sfumato.kinds
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.recoding import feasible_problem
from sfumato.kinds.tables.methods.recoding_problem import Cells, Grouping, RecodingProblem
from sfumato.policy.generalizations import generalization_of

METHOD = '''
"""`levels`: every value of a column at the same level of its hierarchy, for the test of global recoding."""

from __future__ import annotations

from typing import ClassVar

from sfumato.release.method import Task
from sfumato.kinds.tables.methods.recoding import RecodingMethod
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem
from tests.recoding.test_full_domain import cheapest


class Levels(RecodingMethod):
    """Every value of a column at the same level of its hierarchy."""

    name: ClassVar[str] = "levels"
    mixed: ClassVar[bool] = True

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return cheapest(problem)
'''
COLUMNS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": "quasi-identifier",
    "diagnosis": "sensitive",
}


def at(problem: RecodingProblem, depths: tuple[int, ...]) -> Grouping:
    """The full-domain release with every column cut at a depth, no leaf above its ceiling."""
    points = np.flatnonzero(~problem.out)
    columns = []
    for column, (domain, depth) in enumerate(zip(problem.domains, depths, strict=True)):
        assert isinstance(domain, Hierarchy)
        leaf = problem.points[points, column]
        columns.append(Cells.at(domain, np.minimum(domain.ancestors[depth][leaf], domain.ceiling_nodes[leaf])))
    classes = equivalence_classes_of([side for cells in columns for side in cells.sides()])
    of = np.full(len(problem.points), -1, dtype=np.int64)
    of[points] = classes.of
    return replace(problem.grouping(of), published=tuple(cells.taken(classes.first) for cells in columns))


def cheapest(problem: RecodingProblem) -> Grouping:
    """The full-domain release of least total depth that satisfies every claim for its own outsider."""
    depths = product(*(range(len(domain.ancestors)) for domain in problem.domains if isinstance(domain, Hierarchy)))
    for one in sorted(depths, key=lambda some: (-sum(some), some)):
        if problem.satisfied(grouping := at(problem, one)).all():
            return grouping
    raise AssertionError("the coarsest release holds")


def table() -> dict[str, list[str]]:
    """Two people of 30, who by themselves would be published as they are."""
    age = ["30", "30", "41", "45", "52", "58", "41", "45"]
    return {"age": age, "sex": list("mfmfmfff"), "diagnosis": ["flu", "gout"] * 4}


def tree(*claims: Any, **more: Any) -> dict[str, Any]:
    return {"version": 1, "columns": COLUMNS, "protect": list(claims), **more}


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "levels.py").write_text(METHOD)
    monkeypatch.setattr(sfumato.kinds, "__path__", [*sfumato.kinds.__path__, str(tmp_path)])


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "claims",
    [
        [{"k-anonymity": {"k": 2}}],
        [{"given": ["age"], "hide": [], "by": {"k-anonymity": {"k": 2}}}, {"l-diversity": {"l": 2}}],
    ],
)
def test_a_column_is_published_at_one_level(claims: list[Any]) -> None:
    policy = sf.Policy.parse(tree(*claims, method={"levels": {}}))
    made = sf.publish(policy, data=table())
    assert made.certificate.holds
    domain = generalization_of(policy, "age", sorted(set(table()["age"])))
    assert isinstance(domain, Hierarchy)
    leaves = [domain.code_of[table()["age"][row]] for row in made.release.trace.rows["data"]]
    published = made.release.parts["data"].table.column("age").to_pylist()
    levels = [[domain.names[node] for node in row[leaves]] for row in domain.ancestors]
    assert published in levels
    assert published != levels[-1]
    assert "30" not in published


def test_intervals_that_a_method_brings_along_are_looked_at() -> None:
    bounded = {**COLUMNS, "age": {**COLUMNS["age"], "boundary": {"level": 1}}}  # type: ignore[dict-item]
    policy = sf.Policy.parse({**tree({"k-anonymity": {"k": 2}}), "columns": bounded})
    problem = feasible_problem(policy, policy.data.read(table()))
    honest = at(problem, (2, 0))
    assert problem.flaw(honest) == ""
    assert honest.published is not None
    age, sex = honest.published
    ages = problem.domains[0]
    assert isinstance(ages, Hierarchy)
    assert age.node is not None
    thirties, forties = (ages.node_of[label] for label in ("30-39", "40-49"))
    wrong = [
        ("does not contain", age.taken(np.roll(np.arange(len(age.lo)), 1))),
        ("beyond a boundary", Cells(np.zeros_like(age.lo), np.full_like(age.hi, ages.size))),
        ("beyond a boundary", Cells.at(ages, np.where(age.node == thirties, ages.parent[thirties], age.node))),
        ("cannot be published", Cells(age.lo, age.hi, np.where(age.node == forties, ages.parent[forties], age.node))),
        ("cannot be published", Cells(age.lo[:-1], age.hi[:-1])),
    ]
    for words, cells in wrong:
        assert words in problem.flaw(replace(honest, published=(cells, sex))), words
