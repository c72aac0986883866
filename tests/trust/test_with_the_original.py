"""With the original at hand: what was published about people is theirs, in every form, or it is said not to be
judged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from tests.secret import secret
from tests.trust.every_form import FORMS, columns, copy_of, read, redo, release_of, violations, write

Rows = list[dict[str, str]]


def changed(folder: Path, file: str, change: Callable[[Rows], object]) -> Path:
    rows = read(folder / file)
    change(rows)
    write(folder / file, rows)
    redo(folder)
    return folder


def test_an_age_that_nobody_has_and_an_illness_never_seen(tmp_path: Path) -> None:
    folder, original = copy_of("anatomy", tmp_path)
    assert violations(folder, original) == set()
    age = changed(folder, "data.csv", lambda rows: rows[0].update(age="99"))
    assert "truthful buckets" in violations(age, original)
    folder, _ = copy_of("anatomy", tmp_path / "illness")
    illness = changed(folder, "sensitive.csv", lambda rows: rows[0].update(value="never seen"))
    assert "truthful buckets" in violations(illness, original)


def test_an_anatomy_that_withholds_somebody_of_a_history(tmp_path: Path) -> None:
    """Who left leaves a companion alone, who is withheld: only the trace tells that nothing else is missing."""
    tree = {
        "version": 1,
        "key": "name",
        "columns": {"name": "identifier", "age": "quasi-identifier", "illness": "sensitive"},
    }
    tree |= {"protect": [{"l-diversity": {"l": 2}}], "method": {"anatomy": {}}, "series": {"leaving": "withhold"}}
    policy, book = sf.Policy.parse(tree), tmp_path / "book.ledger"
    people = {
        "name": [f"P{n}" for n in range(12)],
        "age": [str(20 + n) for n in range(12)],
        "illness": ["flu", "gout", "cold"] * 4,
    }
    left = {name: values[1:] for name, values in people.items()}
    sf.publish(policy, data=people, seed=secret(4), ledger=book, new_ledger=True).write(tmp_path / "first")
    second = sf.publish(policy, data=left, seed=secret(5), ledger=book)
    assert second.certificate.records.suppressed == 1
    folder = second.write(tmp_path / "second")
    assert violations(folder, left) == set()

    def found(folder: Path) -> sf.Finding:
        return next(one for one in sf.verify(folder, original=left).findings if one.model == "truthful buckets")

    assert found(folder).judged
    (tmp_path / "second.private.trace").unlink()
    assert not found(folder).judged
    strange = changed(folder, "sensitive.csv", lambda rows: rows[0].update(value="never seen"))
    assert "truthful buckets" in violations(strange, left)


@pytest.fixture(scope="module", params=["guardian", "utility-aware", "single-attribute", "multi-sensitive"])
def without_a_companion(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, sf.Policy, dict]:
    """The second release in sub-tables of eleven people, of whom one is withheld, and the eleven."""
    path = tmp_path_factory.mktemp(request.param)
    shown = {"age": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive"}
    tree = {"version": 1, "key": "name", "columns": {"name": "identifier", **shown}, "method": {request.param: {}}}
    policy = sf.Policy.parse(tree | {"protect": [{"l-diversity": {"l": 2}}], "series": {"leaving": "withhold"}})
    people = {"name": [f"P{n}" for n in range(12)], "age": [str(20 + n) for n in range(12)], "town": list("abcd") * 3}
    people |= {"illness": ["flu", "gout", "cold"] * 4}
    left = {name: values[1:] for name, values in people.items()}
    sf.publish(policy, data=people, seed=secret(4), ledger=path / "book", new_ledger=True).write(
        path / "first", report=False
    )
    second = sf.publish(policy, data=left, seed=secret(5), ledger=path / "book")
    assert second.certificate.records.suppressed == 1
    second.write(path / "second", report=False)
    return path, policy, left


def test_sub_tables_that_withhold_somebody_of_a_history(without_a_companion: tuple, tmp_path: Path) -> None:
    """All tables are about the same people, which only the trace tells, and say nothing but the truth about them."""
    path, _, left = without_a_companion
    assert sf.verify(path / "second", original=left, ledger=path / "book").holds
    folder = Path(shutil.copytree(path / "second", tmp_path / "second"))
    (agreement,) = (one for one in sf.verify(folder, original=left).findings if one.model == "agreement")
    assert agreement.holds
    assert agreement.judged == (
        not any(folder.glob("*-sensitive.csv"))
    )  # whose values buckets list only the trace tells
    strange = changed(
        folder, "table-1.csv", lambda rows: rows[0].update({next(iter(set(rows[0]) - {"bucket"})): "never seen"})
    )
    assert "agreement" in violations(strange, left)


def test_sub_tables_about_different_people(without_a_companion: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that left out somebody else in each table, or put somebody in twice, would be found out."""
    from sfumato.kinds.subtables.checks import Agreement
    from sfumato.kinds.subtables.methods.subtable_method import SubTableMethod

    path, policy, left = without_a_companion
    run = SubTableMethod.run

    def twice(self, task):
        release = run(self, task)
        rows = {name: behind.copy() for name, behind in release.trace.rows.items()}
        first = next(iter(rows.values()))
        first[0] = first[1]
        return replace(release, trace=replace(release.trace, rows=rows))

    monkeypatch.setattr(SubTableMethod, "run", twice)
    with pytest.raises(sf.AuditRefused, match=f"{Agreement.name}: .*has a record twice"):
        sf.publish(policy, data=left, seed=secret(6), ledger=path / "book")


def illness(age: int) -> str:
    return random.Random(age).choice("abcdefgh")


def _swap_values(rows: Rows) -> None:
    """Two entries of different buckets trade their values: every total stays as it was."""
    one = rows[0]
    mine = {row["value"] for row in rows if row["bucket"] == one["bucket"]}
    other = next(
        row for row in rows
        if row["bucket"] != one["bucket"] and row["count"] == one["count"] and row["value"] not in mine
        and one["value"] not in {each["value"] for each in rows if each["bucket"] == row["bucket"]}
    )  # fmt: skip
    one["value"], other["value"] = other["value"], one["value"]


def _swap_buckets(rows: Rows) -> None:
    ill = {str(n): illness(n) for n in range(80)}
    other = next(row for row in rows if row["bucket"] != rows[0]["bucket"] and ill[row["age"]] != ill[rows[0]["age"]])
    rows[0]["bucket"], other["bucket"] = other["bucket"], rows[0]["bucket"]


@pytest.mark.parametrize(("file", "change"), [("sensitive.csv", _swap_values), ("data.csv", _swap_buckets)])
def test_values_in_the_wrong_bucket(file: str, change: Callable[[Rows], object], tmp_path: Path) -> None:
    """Everybody looks different here, so each bucket is known to hold its own people, with no trace at hand."""
    data = {"age": [str(n) for n in range(80)], "illness": [illness(n) for n in range(80)]}
    tree = {"version": 1, "columns": {"age": "quasi-identifier", "illness": "sensitive"}, "method": {"anatomy": {}}}
    policy = sf.Policy.parse(tree | {"protect": [{"l-diversity": {"l": 2, "kind": "frequency"}}]})
    folder = sf.publish(policy, data=data, seed=secret(3)).write(tmp_path / "out")
    assert violations(folder, data) == set()
    assert {"truthful buckets"} <= violations(changed(folder, file, change), data)


@pytest.mark.parametrize("seed", range(12))
def test_every_random_change_of_a_visible_cell_or_value_is_found(seed: int, tmp_path: Path) -> None:
    """Tables of exact values, by whichever method: a cell that changes the bag of rows is no longer the original's."""
    rng = random.Random(seed)
    for form in ("anatomy", "sub-tables"):
        folder, original = copy_of(form, tmp_path / form)
        file = rng.choice(sorted(folder.glob("*.csv"))).name
        rows = read(folder / file)
        column = rng.choice([name for name in rows[0] if name not in ("bucket", "count", "column")])
        row = rng.choice(rows)
        others = sorted({each[column] for each in rows} - {row[column]})
        row[column] = rng.choice([*others, "never seen"])
        write(folder / file, rows)
        redo(folder)
        assert violations(folder, original), (form, file, column)


@pytest.mark.parametrize("form", FORMS)
def test_another_original_is_not_taken_for_this_one(form: str, tmp_path: Path) -> None:
    """Every form looks at the original it is given."""
    import networkx as nx
    import numpy as np

    from sfumato.data.baskets import Baskets
    from sfumato.data.item_sets import Sets

    folder, original = release_of(form)
    if form in ("graph", "graph figures"):
        other = nx.powerlaw_cluster_graph(80, 12, 0.4, seed=9)
    elif form in ("baskets", "basket blocks"):
        other = Baskets(Sets.of([[i % 8] for i in range(60)], 8), original.names, original.labels)
    elif form == "database":
        import sqlite3

        with sqlite3.connect(tmp_path / "shop.db") as base:
            base.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, points INTEGER NOT NULL)")
            base.executemany("INSERT INTO customer VALUES (?, ?, ?)", [(n, "x", 1) for n in range(1, 20)])
        other = f"sqlite:///{tmp_path / 'shop.db'}"
    elif form == "replaced table":
        other = original | {"ward": ["S"] * 59 + ["N"]}
    elif form == "related tables":
        other = original | {"rows": original["rows"] | columns(seed=77)}
    else:
        other = columns(seed=77)
    assert np.array(sorted(violations(folder, other))).size


def with_rules(method: str, roles: dict[str, object], protect: list[object]) -> tuple[sf.Policy, dict[str, list[str]]]:
    data = columns(80)
    data["stay"] = ["5" if illness == "burn" else "2" for illness in data["illness"]]
    tree = {
        "version": 1,
        "columns": roles,
        "protect": protect,
        "method": {method: {}},
        "keep": ['if illness = "burn" then stay = 5'],
    }
    return sf.Policy.parse(tree), data


def test_a_rule_between_parts_is_open_without_the_original_and_judged_with_it(tmp_path: Path) -> None:
    roles = {
        "age": "quasi-identifier",
        "sex": "quasi-identifier",
        "ward": "other",
        "stay": "other",
        "illness": "sensitive",
    }
    policy, data = with_rules("anatomy", roles, [{"l-diversity": {"l": 2, "kind": "frequency"}}])
    folder = sf.publish(policy, data=data, seed=secret(3)).write(tmp_path / "out")
    alone = sf.verify(folder)
    assert not alone.violated and not alone.holds
    assert [finding.model for finding in alone.open] == ["rules left open"]
    beside = sf.verify(folder, original=data)
    assert beside.holds
    assert next(f for f in beside.findings if f.model == "rules").achieved == {"rules": 1, "broken": 0}
    broken = data | {"stay": ["2"] * 80}
    assert "rules" in violations(folder, broken)


def test_a_boundary_whose_tree_grows_from_the_data_is_not_judged_without_it(tmp_path: Path) -> None:
    data = columns(80)
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 1}}
    roles = {"age": age, "sex": "quasi-identifier", "ward": "other", "illness": "sensitive"}
    tree = {"version": 1, "columns": roles, "protect": [{"k-anonymity": {"k": 3}}], "method": {"mondrian": {}}}
    folder = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(3)).write(tmp_path / "out")
    alone = sf.verify(folder)
    assert [finding.model for finding in alone.open] == ["boundaries"]
    assert not alone.holds and not alone.violated
    assert sf.verify(folder, original=data).holds


def test_a_value_that_went_missing_is_found_without_the_trace(tmp_path: Path) -> None:
    folder, original = copy_of("replaced table", tmp_path)
    changed(folder, "data.csv", lambda rows: rows[0].update(score=""))
    assert "missing values" in violations(folder, original)
