"""A table of classes with counts is the same problem as the table of their rows: who stands with whom, and what is
published."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.core.registry import find
from sfumato.data.table import Table, encode_compactly
from sfumato.kinds.tables.methods.recoding import overlay_components, problem_of
from sfumato.kinds.tables.methods.recoding_history import keep_classes_apart
from sfumato.kinds.tables.methods.recoding_problem import Shares
from sfumato.release.method import Method, Task
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
    columns = {
        "age": age | ({"boundary": {"level": 2}} if bounded else {}),
        "town": "quasi-identifier",
        "sex": "quasi-identifier",
    }
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
        assert _bag(counted.table.select(seen), counted.counts) == _bag(
            whole.table.select(seen), np.ones(len(whole), dtype=int)
        )


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


@pytest.mark.parametrize("seed", range(6))
def test_shares_of_whole_cells_are_whole_classes(seed: int) -> None:
    """Where no cell is divided every class goes where its point goes; where one is, as many records of it go as were
    said."""
    problem = problem_of(_policy(CLAIMS["all columns"], bounded=False), _classes(_people(seed), seed))
    assert problem.multiplicity is not None
    group_of_point = np.random.default_rng(seed).integers(-1, 5, len(problem.points))
    grouping = problem.grouping(group_of_point)
    shares = problem.shares(grouping)
    assert shares.row.tolist() == list(range(problem.rows))
    assert shares.group.tolist() == group_of_point[problem.row_point.of].tolist()
    assert shares.count.tolist() == problem.multiplicity.tolist()
    fewer = problem.shares(replace(grouping, count=np.maximum(grouping.count - 1, 1)))
    placed = np.bincount(
        problem.row_cell.of[fewer.row],
        weights=np.where(fewer.group >= 0, fewer.count, 0),
        minlength=len(problem.row_cell),
    )
    assert placed[grouping.cell].tolist() == np.maximum(grouping.count - 1, 1).tolist()
    assert np.bincount(fewer.row, weights=fewer.count).tolist() == problem.multiplicity.tolist()


@pytest.mark.parametrize("counts", [np.array([5, 1, 2]), None])
def test_a_component_about_all_rows_need_not_name_them(counts: np.ndarray | None) -> None:
    """The same pieces as if it named them, alone and beside another one that cuts and suppresses elsewhere."""
    every, one = np.arange(3), np.ones(3, dtype=np.int64)
    shares = Shares(every, np.array([7, -1, 8]), one)
    other = (np.array([1, 2]), Shares(np.array([0, 1]), np.array([4, 5]), np.ones(2, dtype=np.int64)))
    if counts is not None:
        shares = Shares(np.array([0, 0, 1, 2]), np.array([7, 8, -1, 7]), np.array([3, 2, 1, 2]))
        other = (np.array([0, 2]), Shares(np.array([0, 0, 1]), np.array([4, 5, 4]), np.array([4, 1, 2])))
    for beside in ([], [other]):
        named, unnamed = (overlay_components([(rows, shares), *beside], 3, counts) for rows in (every, None))
        assert named.row.tolist() == unnamed.row.tolist()
        assert named.count.tolist() == unnamed.count.tolist()
        assert [of.tolist() for of in named.groups] == [of.tolist() for of in unnamed.groups]


@pytest.mark.parametrize("values", [127, 128, 129, 300, 32_768, 33_000])
def test_codes_in_few_bytes_tell_all_values_apart(values: int) -> None:
    """One value more than a byte holds, or two bytes, is no other value."""
    ages = [str(age) for age in np.random.default_rng(values).permutation(values)]
    policy = sf.Policy.parse(
        {
            "version": 1,
            "columns": {"age": {"role": "quasi-identifier", "hierarchy": "ranges"}},
            "protect": [{"k-anonymity": {"k": 2}}],
        }
    )
    problem = problem_of(policy, Table(pa.table({"age": ages})))
    leaves = problem.domains[0].leaves
    assert [leaves[code] for code in problem.points[problem.row_point.of, 0]] == ages
    assert problem.codes[0].itemsize == (1 if values <= 128 else 2 if values <= 32_768 else 4)


def test_there_may_be_more_history_classes_than_values() -> None:
    problem = problem_of(_policy(CLAIMS["all columns"], bounded=False), _classes(_people(6), 6))
    apart = np.arange(problem.rows)
    assert keep_classes_apart(problem, apart).codes[-1].tolist() == apart.tolist()


def test_what_was_let_go_is_made_anew() -> None:
    problem = problem_of(_policy(CLAIMS["bounded"], bounded=True), _classes(_people(5), 5))
    before = (problem.points.tolist(), problem.row_cell.of.tolist(), problem.regions.of.tolist(), problem.out.tolist())
    kept = problem.points
    problem.forget()
    assert (
        problem.points.tolist(),
        problem.row_cell.of.tolist(),
        problem.regions.of.tolist(),
        problem.out.tolist(),
    ) == before
    assert problem.points is not kept


def test_few_bytes_for_a_class() -> None:
    """What a driver holds while groups are made, beside the classes themselves; 300 bytes a class are promised for
    everything."""
    draw, names = np.random.default_rng(8), [f"q{place}" for place in range(8)]
    people = pa.table(
        {name: draw.geometric(0.5 if name in names else 0.4, 25_000).astype(str) for name in (*names, "s", "t")}
    )
    classes = _classes(people, 8)
    classes = Table(encode_compactly(classes.held), counts=classes.counts)
    roles = dict.fromkeys(names, "quasi-identifier") | dict.fromkeys("st", "sensitive")
    policy = sf.Policy.parse({"version": 1, "columns": roles, "protect": CLAIMS["all columns"]})
    method = find("methods", Method, "mondrian")()
    few = Table(classes.held.slice(0, 500), counts=np.asarray(classes.counts)[:500])
    method.run(Task(policy, few, Randomness(secret(8))))  # what is loaded once is no class
    tracemalloc.start()
    try:
        method.run(Task(policy, classes, Randomness(secret(8))))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 230 * classes.rows
