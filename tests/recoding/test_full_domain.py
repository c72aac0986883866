"""Global recoding is expressible: a method that publishes its own intervals, defined here and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
import sfumato.methods
from sfumato.data.classes import group
from sfumato.data.hierarchy import Hierarchy
from sfumato.demos.hospital import discharges
from sfumato.methods.recoding.base import feasible_problem
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.policy.generalizations import generalization_of

METHOD = '''
"""`levels`: every value of a column at the same level of its hierarchy, for the test of global recoding."""

from __future__ import annotations

from typing import ClassVar

from sfumato.methods.base import Task
from sfumato.methods.recoding.base import RecodingMethod
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from tests.recoding.test_full_domain import cheapest


class Levels(RecodingMethod):
    """Every value of a column at the same level of its hierarchy."""

    name: ClassVar[str] = "levels"
    mixed: ClassVar[bool] = True

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        return cheapest(problem)
'''
COLUMNS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20, 40]}},
    "sex": "quasi-identifier",
    "diagnosis": "sensitive",
}
NAMES = ["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"]


def at(problem: RecodingProblem, depths: tuple[int, ...]) -> Grouping:
    """The full-domain release with every column cut at a depth, no leaf above its ceiling."""
    points = np.flatnonzero(~problem.out)
    sides = []
    for column, (domain, depth) in enumerate(zip(problem.domains, depths, strict=True)):
        assert isinstance(domain, Hierarchy)
        node = domain.ancestors[depth][problem.points[points, column]]
        floor, roof = (side[problem.points[points, column]] for side in domain.ceiling())
        sides += [np.maximum(domain.lo[node], floor), np.minimum(domain.hi[node], roof)]
    classes = group(sides)
    of = np.full(len(problem.points), -1, dtype=np.int64)
    of[points] = classes.of
    boxes = tuple((lo[classes.first], hi[classes.first]) for lo, hi in zip(sides[::2], sides[1::2], strict=True))
    return replace(problem.grouping(of), published=boxes)


def cheapest(problem: RecodingProblem) -> Grouping:
    """The full-domain release of least total depth that satisfies every claim for its own outsider."""
    depths = product(*(range(len(domain.ancestors)) for domain in problem.domains if isinstance(domain, Hierarchy)))
    for one in sorted(depths, key=lambda some: (-sum(some), some)):
        if problem.satisfied(grouping := at(problem, one)).all():
            return grouping
    raise AssertionError("the coarsest release holds")


def table(rows: int = 200) -> dict[str, list[str]]:
    made = discharges(rows)
    return {name: [row[i] for row in made] for i, name in enumerate(NAMES)}


def tree(*claims: Any, **more: Any) -> dict[str, Any]:
    return {"version": 1, "columns": COLUMNS, "protect": list(claims), **more}


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "levels.py").write_text(METHOD)
    monkeypatch.setattr(sfumato.methods, "__path__", [*sfumato.methods.__path__, str(tmp_path)])


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "claims",
    [
        [{"k-anonymity": {"k": 8}}],
        [{"given": ["age"], "hide": [], "by": {"k-anonymity": {"k": 8}}}, {"l-diversity": {"l": 2}}],
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
    levels = [[domain.label(int(domain.lo[n]), int(domain.hi[n])) for n in row[leaves]] for row in domain.ancestors]
    assert published in levels
    assert published != levels[-1]


def test_intervals_that_a_method_brings_along_are_looked_at() -> None:
    bounded = {**COLUMNS, "age": {**COLUMNS["age"], "boundary": {"level": 2}}}  # type: ignore[dict-item]
    policy = sf.Policy.parse({**tree({"k-anonymity": {"k": 2}}), "columns": bounded})
    problem = feasible_problem(policy, policy.data.read(table()))
    honest = at(problem, (1, 0))
    assert problem.flaw(honest) == ""
    assert honest.published is not None
    (lo, hi), sex = honest.published
    shifted = ((np.roll(lo, 1), np.roll(hi, 1)), sex)
    everything = ((np.zeros_like(lo), np.full_like(hi, problem.domains[0].size)), sex)
    crooked = ((lo, hi - 1), sex)
    assert "does not contain" in problem.flaw(replace(honest, published=shifted))
    assert "beyond a boundary" in problem.flaw(replace(honest, published=everything))
    assert "cannot be published" in problem.flaw(replace(honest, published=crooked))
