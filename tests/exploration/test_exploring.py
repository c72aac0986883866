"""Exploration: what is varied, what is dominated, what is chosen; stopped and gone on with; as JSON, page and
policy."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError
from sfumato.workflow.explore import explore as exploring
from sfumato.workflow.explore.exploration import Point, dominates, mark_dominated, try_variant
from sfumato.workflow.explore.variants import Variant, levels_of, variants
from tests.command_line import run

TREE = {
    "version": 1,
    "data": {"kind": "table", "source": "people.csv"},
    "columns": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "town": {"role": "quasi-identifier", "hierarchy": "town.csv"},
        "illness": "sensitive",
    },
    "protect": [{"k-anonymity": {"k": 4}}, {"l-diversity": {"l": 2}}],
    "utility": {"suppress_at_most": "50%"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = random.Random(5)
    rows = [f"{rng.randint(20, 60)},{rng.choice('abcd')},{rng.choice(['flu', 'gout', 'cold'])}" for _ in range(150)]
    (tmp_path / "people.csv").write_text("age,town,illness\n" + "\n".join(rows) + "\n")
    (tmp_path / "town.csv").write_text("a;north;*\nb;north;*\nc;south;*\nd;south;*\n")
    (tmp_path / "policy.yaml").write_text(json.dumps(TREE))
    return tmp_path


SWEEP = sf.Sweep({"k": (2, 4, 8), "l": (1, 2)}, ("mondrian",))


def test_every_point_is_what_publishing_its_policy_gives(folder: Path) -> None:
    found = sf.explore(folder / "policy.yaml", sweep=SWEEP)
    assert len(found.points) == 6
    for number, point in enumerate(found.points, 1):
        path = found.write(folder / f"p{number}.yaml", number)
        policy = sf.Policy.read(path)
        assert levels_of(policy) == dict(point.variant.levels)
        again = sf.publish(policy)
        assert again.certificate.holds
        assert again.utility["loss"] == pytest.approx(point.loss)
        assert again.utility["query_error"] == pytest.approx(point.query_error)
        assert point.achieved["k"] >= point.variant.levels["k"]


def test_the_chosen_policy_lies_elsewhere_and_still_works(folder: Path) -> None:
    done = run(
        "explore",
        str(folder / "policy.yaml"),
        "--level",
        "k=3,4",
        "--method",
        "mondrian",
        "--out",
        str(folder / "x" / "y"),
    )
    assert done.returncode == 0, done.stderr
    assert "chosen" in done.stdout
    chosen = sf.Policy.read(folder / "x" / "y" / "chosen.yaml")
    assert levels_of(chosen) == {"k": 4, "l": 2}
    assert sf.publish(chosen).certificate.holds
    assert "<script" not in (folder / "x" / "y" / "explore.html").read_text()


def test_domination_by_the_definition() -> None:
    """Against all pairs, with every figure compared one by one."""
    rng = random.Random(1)
    points = [
        Point(
            Variant({"k": rng.choice([2, 5]), "t": rng.choice([0.1, 0.3])}, "m", rng.choice([(), ("a",)])),
            "published",
            loss=rng.choice([0.1, 0.2]),
            query_error=rng.choice([0.1, 0.2]),
            suppressed=rng.choice([0.0, 0.1]),
        )
        for _ in range(60)
    ]
    safer = {"k": "more", "t": "less"}
    for one, two in itertools.permutations(points, 2):
        costs = [(one.loss, two.loss), (one.query_error, two.query_error), (one.suppressed, two.suppressed)]
        costs += [
            (-one.variant.levels["k"], -two.variant.levels["k"]),
            (one.variant.levels["t"], two.variant.levels["t"]),
        ]
        truth = (
            all(a <= b for a, b in costs)
            and any(a < b for a, b in costs)
            and set(one.variant.without) <= set(two.variant.without)
        )
        assert dominates(one, two, safer) == truth
    marked = mark_dominated(points, safer)
    assert [p.dominated for p in marked] == [any(dominates(o, p, safer) for o in points) for p in points]
    assert any(p.dominated for p in marked)
    assert not all(p.dominated for p in marked)


def test_what_was_not_published_or_not_measured_dominates_nothing() -> None:
    good = Point(Variant({"k": 9}, "m"), "published", loss=0.0, query_error=0.0, suppressed=0.0)
    for other in (Point(Variant({"k": 2}, "m"), "infeasible"), Point(Variant({"k": 2}, "m"), "not run")):
        assert not dominates(good, other, {"k": "more"})
        assert not dominates(other, good, {"k": "more"})
    unmeasured = Point(Variant({"k": 2}, "m"), "published", query_error=0.5, suppressed=0.0)
    assert not dominates(good, unmeasured, {"k": "more"})


def test_columns_that_are_left_out_count_as_lost(folder: Path) -> None:
    sweep = sf.Sweep({"k": (4,)}, ("mondrian",), without=((), ("town",)))
    all_of_it, less = sf.explore(folder / "policy.yaml", sweep=sweep).points
    assert (
        "town"
        in sf.publish(all_of_it.variant.policy(sf.Policy.read(folder / "policy.yaml")))
        .release.parts["data"]
        .table.column_names
    )
    publication = sf.publish(less.variant.policy(sf.Policy.read(folder / "policy.yaml")))
    assert "town" not in publication.release.parts["data"].table.column_names
    assert less.loss == pytest.approx((publication.utility["loss"] + 1) / 2)


def test_hierarchy_depths_are_kept(folder: Path) -> None:
    sweep = sf.Sweep({"k": (2,)}, ("mondrian",), depths={"town": (0, 1)})
    for point in sf.explore(folder / "policy.yaml", sweep=sweep).points:
        labels = (
            sf.publish(point.variant.policy(sf.Policy.read(folder / "policy.yaml"))).release.parts["data"].table["town"]
        )
        assert "*" not in labels.to_pylist()
        assert point.status == "published"


def test_infeasible_points_say_why(folder: Path) -> None:
    tree = TREE | {"utility": {"suppress_at_most": 0}, "protect": [{"k-anonymity": {"k": 4}}]}
    found = sf.explore(sf.Policy.parse(tree, base=folder), sweep=sf.Sweep({"k": (4, 500)}, ("mondrian",)))
    assert [point.status for point in found.points] == ["published", "infeasible"]
    assert found.points[1].reason
    assert found.points[1].reason in found.page()


def test_the_budget_ends_it_and_the_folder_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, out = folder / "policy.yaml", folder / "out"
    first = sf.explore(policy, sweep=SWEEP, budget=0, folder=out)
    assert {point.status for point in first.points} == {"not run"}
    assert first.chosen is None
    made: list[str] = []
    original = exploring.try_variant

    def counting(policy: sf.Policy, variant: Variant, data: object, *rest: object) -> Point:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(str(variant))
        return original(policy, variant, data)

    monkeypatch.setattr(exploring, "try_variant", counting)
    stopped = sf.explore(policy, sweep=SWEEP, folder=out)
    assert stopped.stopped
    assert [point.status for point in stopped.points].count("published") == 2
    monkeypatch.setattr(exploring, "try_variant", original)
    rest = sf.explore(policy, sweep=SWEEP, folder=out)
    assert not rest.stopped
    assert [point.status for point in rest.points] == ["published"] * 6
    assert rest.points[:2] == tuple(p for p in rest.points if str(p.variant) in made)
    monkeypatch.setattr(exploring, "try_variant", None)
    assert sf.explore(policy, sweep=SWEEP, folder=out) == rest


def test_points_of_other_data_or_another_policy_are_not_taken(folder: Path) -> None:
    policy, out = folder / "policy.yaml", folder / "out"
    sf.explore(policy, sweep=SWEEP, folder=out)
    text = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(text.replace("flu", "hay", 1))
    assert {point.status for point in sf.explore(policy, sweep=SWEEP, folder=out, budget=0).points} == {"not run"}
    (folder / "people.csv").write_text(text)
    assert {point.status for point in sf.explore(policy, sweep=SWEEP, folder=out, budget=0).points} == {"published"}
    (folder / "town.csv").write_text("a;north;*\nb;south;*\nc;north;*\nd;south;*\n")
    assert {point.status for point in sf.explore(policy, sweep=SWEEP, folder=out, budget=0).points} == {"not run"}


def test_a_damaged_journal_is_refused(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "points.jsonl").write_text('{"mark": 1}\n')
    done = run("explore", str(folder / "policy.yaml"), "--budget", "0", "--out", str(folder / "out"))
    assert done.returncode == 0  # of another mark
    (folder / "out" / "points.jsonl").write_text("[[[\n")
    done = run("explore", str(folder / "policy.yaml"), "--budget", "0", "--out", str(folder / "out"))
    assert done.returncode == 3
    assert "points.jsonl:1" in done.stderr


def test_two_processes_give_the_same(folder: Path) -> None:
    sweep = sf.Sweep({"k": (2, 4, 8)}, ("mondrian",))
    one, two = (sf.explore(folder / "policy.yaml", sweep=sweep, jobs=jobs) for jobs in (1, 2))
    assert [(p.variant, p.loss, p.query_error) for p in one.points] == [
        (p.variant, p.loss, p.query_error) for p in two.points
    ]


def test_the_json_reads_back_as_the_same_points(folder: Path) -> None:
    done = run("explore", str(folder / "policy.yaml"), "--level", "k=2,4", "--method", "mondrian", "--json")
    tree = json.loads(done.stdout)
    points = [
        Point.from_json({key: value for key, value in entry.items() if key != "number"}) for entry in tree["points"]
    ]
    assert [point.variant.levels["k"] for point in points] == [2, 4]
    assert tree["chosen"] == 2
    assert [point.to_json() for point in points] == [
        {k: v for k, v in e.items() if k != "number"} for e in tree["points"]
    ]


def test_without_words_the_first_level_is_swept_with_able_methods(folder: Path) -> None:
    found = variants(sf.Policy.read(folder / "policy.yaml"), sf.Sweep())
    assert {each.levels["k"] for each in found} == {2, 3, 4, 5, 10, 20}
    assert {each.levels["l"] for each in found} == {2}
    assert {each.method for each in found} >= {"mondrian", "clustering", "refined"}
    assert found[0] == Variant({"k": 4, "l": 2}, "refined")  # what the policy itself would publish


@pytest.mark.parametrize("method", [None, "clustering"])
def test_the_best_point_is_never_worse_than_the_release_of_the_policy(folder: Path, method: str | None) -> None:
    tree = TREE | ({"method": {method: {}}} if method else {})
    (folder / "policy.yaml").write_text(json.dumps(tree))
    release = sf.publish(folder / "policy.yaml")
    for sweep in (sf.Sweep(), sf.Sweep({"k": (2, 8)})):
        found = sf.explore(folder / "policy.yaml", sweep=sweep, budget=0.01)  # no time for anything else
        assert found.points[0].status == "published"
        assert found.chosen is not None
        best = found.points[found.chosen - 1]
        assert best.loss is not None and best.loss <= release.utility["loss"] + 1e-9


def test_a_search_that_the_budget_ends_is_marked_and_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, rows = sf.Policy.read(folder / "policy.yaml"), sf.Policy.read(folder / "policy.yaml").data.read(None)
    variant = Variant({"k": 8, "l": 2}, "refined")
    assert try_variant(policy, variant, rows, 1e-6).cut and not try_variant(policy, variant, rows).cut
    monkeypatch.setattr(exploring, "is_own", lambda policy, variant: False)
    monkeypatch.setattr(exploring, "try_variant", lambda *given: replace(try_variant(*given[:3]), cut=True))
    sf.explore(policy, sweep=sf.Sweep({"k": (8,)}, ("mondrian",)), folder=folder / "kept")
    assert not (folder / "kept" / "points.jsonl").exists()


def test_claims_in_one_line_are_varied_too() -> None:
    tree = TREE | {"protect": ["age, town -> illness : 3-diversity"]}
    each = variants(sf.Policy.parse(tree), sf.Sweep({"l": (2,)}, ("mondrian",)))[0]
    assert each.tree(sf.Policy.parse(tree))["protect"] == ["age, town -> illness : 2-diversity"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--level", "kk=3"], "did you mean 'k'?"),
        (["--level", "k"], "write it like k=3,5,10"),
        (["--level", "k=three"], "write it like k=3,5,10"),
        (["--without", "twon"], "did you mean 'town'?"),
        (["--depth", "age=0.5"], "no whole number"),
        (["--choose", "99", "--budget", "0", "--out", "OUT"], "no such point"),
    ],
)
def test_what_cannot_be_asked(folder: Path, options: list[str], says: str) -> None:
    given = [option.replace("OUT", str(folder / "o")) for option in options]
    done = run("explore", str(folder / "policy.yaml"), *given)
    assert done.returncode == 2
    assert says in done.stderr


def test_graphs_are_not_explored() -> None:
    with pytest.raises(PolicyError, match="tables"):
        sf.explore(sf.Policy.parse({"version": 1, "data": {"kind": "graph", "source": "g.tsv"}, "protect": []}))
