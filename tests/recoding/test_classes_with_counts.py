"""A table of classes with counts is the same problem as the table of their rows: who stands with whom, and what is published."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.table import Table
from sfumato.methods.base import Method, Task
from sfumato.methods.recoding.base import problem_of
from sfumato.randomness import Randomness
from sfumato.registry import find
from tests.secret import secret

CLAIMS = {
    "all columns": [{"k-anonymity": {"k": 4}}, {"p-sensitivity": {"p": 2}}],
    "some columns": [
        {"given": ["age", "town"], "by": {"k-anonymity": {"k": 6}}},
        {"given": ["sex"], "hide": "illness", "by": {"l-diversity": {"l": 2}}},
    ],
    "bounded": [{"k-anonymity": {"k": 3}}, {"t-closeness": {"t": 0.4}}],
}


def _policy(protect: object, *, bounded: bool) -> sf.Policy:
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    columns = {"age": age | ({"boundary": {"level": 2}} if bounded else {}), "town": "quasi-identifier", "sex": "quasi-identifier"}
    return sf.Policy.parse({"version": 1, "columns": columns | {"illness": "sensitive"}, "protect": protect})


def _people(seed: int, rows: int = 300) -> pa.Table:
    draw = np.random.default_rng(seed)
    ages = [str(20 + int(age)) for age in draw.geometric(0.12, rows).clip(1, 60)]
    towns, ills = draw.choice(list("abcd"), rows, p=[0.5, 0.3, 0.15, 0.05]), draw.choice(["flu", "gout", "cold"], rows)
    return pa.table({"age": ages, "town": towns, "sex": draw.choice(["f", "m"], rows), "illness": ills})


def _classes(rows: pa.Table, seed: int) -> Table:
    """Different rows with counts, in an order that tells nothing."""
    found = rows.group_by(rows.column_names).aggregate([([], "count_all")])
    found = found.take(pa.array(np.random.default_rng(seed).permutation(found.num_rows)))
    return Table(found.select(rows.column_names), counts=found.column("count_all").to_numpy())


@pytest.mark.parametrize("protect", CLAIMS)
@pytest.mark.parametrize("method", ["mondrian", "clustering", "global"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_rows_are_published(method: str, protect: str, seed: int) -> None:
    rows, policy = _people(seed), _policy(CLAIMS[protect], bounded=protect == "bounded")
    made = [
        find("methods", Method, method)().run(Task(policy, data, Randomness(secret(seed))))
        for data in (Table(rows), _classes(rows, seed))
    ]
    (whole, lost), (counted, gone) = [(release.parts["data"], release.suppressed) for release in made]
    assert lost == gone
    assert whole.counts is None
    assert counted.counts is not None
    for seen in (["age", "town"], ["sex", "illness"]) if protect == "some columns" else (whole.table.column_names,):
        assert _bag(counted.table.select(seen), counted.counts) == _bag(whole.table.select(seen), np.ones(len(whole), dtype=int))


def _bag(table: pa.Table, counts: np.ndarray) -> Counter[tuple[str, ...]]:
    bag: Counter[tuple[str, ...]] = Counter()
    for row, many in zip(zip(*(column.to_pylist() for column in table.columns), strict=True), counts, strict=True):
        bag[row] += int(many)
    return bag


def test_the_trace_of_classes_says_where_their_records_went() -> None:
    """Every class gives away as many records as it has, and each piece covers its class."""
    rows = _people(3)
    classes, policy = _classes(rows, 3), _policy(CLAIMS["some columns"], bounded=False)
    release = find("methods", Method, "refined")(seconds=0.2).run(Task(policy, classes, Randomness(secret(3))))
    behind, part = np.asarray(release.trace.rows["data"]), release.parts["data"]
    assert classes.counts is not None
    assert part.counts is not None
    given = np.bincount(behind, weights=part.counts, minlength=classes.rows)
    assert int(given.sum()) + release.suppressed == classes.records == 300
    assert (given <= classes.counts).all()
    illness = classes.frame.column("illness").take(pa.array(behind)).to_pylist()
    assert part.table.column("illness").to_pylist() == illness


def test_classes_have_no_group_per_row() -> None:
    classes, policy = _classes(_people(4), 4), _policy(CLAIMS["all columns"], bounded=False)
    problem = problem_of(policy, classes)
    assert problem.rows == classes.rows
    assert problem.records == 300
    with pytest.raises(ValueError, match="shares"):
        problem.group_of_record(problem.coarsest())
