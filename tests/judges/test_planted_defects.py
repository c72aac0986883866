"""Every judge finds a defect that was planted on purpose; those of sub-tables and histories have tests of their own."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from benchmarks.fuzz import block_histories, people_histories
from benchmarks.fuzz.block_histories import BlockHistoryKind
from benchmarks.fuzz.databases import _same_as_before
from benchmarks.fuzz.people import HouseholdKind, RelatedKind
from benchmarks.fuzz.people_histories import PeopleHistoryKind
from benchmarks.fuzz.recoded import RecodedKind
from benchmarks.fuzz.story import Kind, Story, columns_of
from benchmarks.fuzz.tally import Tally
from tests.databases.test_random_databases import random_case
from tests.judges import graphs, perturbed, population
from tests.judges.exists import release_exists
from tests.judges.history_cases import HistoryCase, HistoryFigures, play

RECORDS = [{"q0": str(value), "s0": str(value % 2)} for value in range(20)]
IN_ORDER = list(range(20))


def said(how: str, rows: list[dict[str, str]], public: dict[str, Any] | None = None, **asked: Any) -> list[str]:
    return perturbed.violations(how, asked, public or {}, rows, IN_ORDER, RECORDS, ["q0"])


def exchanged(one: int, other: int) -> list[dict[str, str]]:
    rows = [dict(row) for row in RECORDS]
    rows[one]["q0"], rows[other]["q0"] = rows[other]["q0"], rows[one]["q0"]
    return rows


def test_values_that_changed_places_too_far_apart() -> None:
    assert said("swapping", exchanged(3, 5), window=0.1) == []
    assert said("swapping", exchanged(3, 6), window=0.1) != []


def test_a_value_that_nobody_has_and_one_of_a_column_that_stays() -> None:
    rows = [dict(row) for row in RECORDS]
    rows[0]["q0"] = "77"
    assert said("shuffling", RECORDS) == [] and said("shuffling", rows) == ["q0: other values"]
    rows = [dict(row) for row in RECORDS]
    rows[0]["s0"] = "1"
    assert said("shuffling", rows) == ["s0 changed"]
    assert perturbed.violations("shuffling", {}, {}, RECORDS, [0, *IN_ORDER[:-1]], RECORDS, ["q0"]) == ["other records"]


def test_categories_that_are_kept_too_often_or_drawn_from_nowhere() -> None:
    records = [{"q0": "ab"[i % 2]} for i in range(400)]
    public = {"shares": {"q0": {"a": 0.5, "b": 0.5}}, "keep": {"q0": 0.1}}

    def judged(rows: list[dict[str, str]], public: dict[str, Any] = public) -> list[str]:
        return perturbed.violations("pram", {"keep": 0.1}, public, rows, list(range(400)), records, ["q0"])

    drawn = random.Random(1)
    honest = [{"q0": row["q0"] if drawn.random() < 0.1 else drawn.choice("ab")} for row in records]
    assert judged(honest) == []
    assert any("stayed" in one for one in judged(records))
    assert any("nobody has" in one for one in judged([{"q0": "c"}, *honest[1:]]))
    assert any("shares" in one for one in judged(honest, public | {"shares": {"q0": {"a": 0.4, "b": 0.6}}}))


def test_noise_of_another_size_than_is_published() -> None:
    variance = 0.1 * (20**2 - 1) / 12
    rows = [{**row, "q0": f"{float(row['q0']) + 0.7:.1f}"} for row in RECORDS]
    assert said("noise", rows, {"covariance": {"q0": {"q0": variance}}}) == []
    assert said("noise", rows, {"covariance": {"q0": {"q0": 2 * variance}}}) != []
    rows[0]["q0"] = "40.0"
    assert said("noise", rows, {"covariance": {"q0": {"q0": variance}}}) != []
    assert "q0: no noise" in said("noise", RECORDS, {"covariance": {"q0": {"q0": variance}}})


def test_a_row_of_one_person_and_a_presence_that_is_known() -> None:
    town = [{"a": "x"}, {"a": "x"}, {"a": "y"}]

    def fits(row: Any, person: Any) -> bool:
        return bool(row["a"] == person["a"])

    assert population.broken([{"a": "x"}], town, fits, "k-map", {"k": 2}) == ""
    assert population.broken([{"a": "y"}], town, fits, "k-map", {"k": 2}) != ""
    assert population.broken([{"a": "x"}], town, fits, "delta-presence", {"at_most": 0.5}) == ""
    assert population.broken([{"a": "y"}], town, fits, "delta-presence", {"at_most": 0.9}) != ""
    assert population.broken([{"a": "x"}], town, fits, "delta-presence", {"at_least": 0.1, "at_most": 0.9}) != ""


def test_a_flip_that_is_too_small() -> None:
    claims: list[tuple[str, dict[str, float]]] = [
        ("edge-privacy", {"epsilon": 1.0}),
        ("neighbourhood", {"known": 1, "success_at_most": 0.8}),
        ("degree-attack", {"apart": 1, "success_at_most": 0.8}),
    ]
    for model, level in claims:
        assert graphs.broken(model, level, [(0.3, 0.3)], 4) == ""
        assert graphs.broken(model, level, [(0.05, 0.05)], 4) != ""
        assert graphs.broken(model, level, [(0.3, 0.3)] * 5, 4) != "", "several releases tell more than one"
    assert graphs.tie_epsilon([(0.3, 0.0)]) == float("inf")


def test_an_infeasible_that_is_false() -> None:
    """Six equal rows with two values: two of the frequent one have to be left out, and then all is well."""
    records = [{"id": str(i), "q0": "a", "s0": "y" if i else "x"} for i in range(3)]
    columns = {"id": "identifier", "q0": "quasi-identifier", "s0": "sensitive"}
    claim = {"l-diversity": {"l": 2, "kind": "frequency"}}
    tree: dict[str, Any] = {"version": 1, "columns": columns, "protect": [claim], "method": {"mondrian": {}}}
    story = Story(tree, columns_of(records), columns_of(records), records, "mondrian")
    assert RecodedKind().release_exists(story)
    story.tree["utility"] = {"suppress_at_most": 0.2}
    assert not RecodedKind().release_exists(story)
    assert not release_exists([{"a": "x"}], lambda rows: False, 0)


def without_ledger(monkeypatch: pytest.MonkeyPatch, module: Any, place: Path) -> None:
    """Every release starts a ledger of its own, so that each is safe alone only; nothing is verified together."""
    publish, count = sf.publish, iter(range(100_000))

    def alone(policy: Any, data: Any, **options: Any) -> Any:
        return publish(policy, data, **{**options, "ledger": place / f"{next(count)}.ledger", "new_ledger": True})

    class Apart:
        """`sfumato` as the trials see it."""

        publish = staticmethod(alone)
        verify = staticmethod(lambda *_, **__: type("Verdict", (), {"findings": ()}))

        def __getattr__(self, name: str) -> Any:
            return getattr(sf, name)

    monkeypatch.setattr(module, "sf", Apart())


@pytest.mark.parametrize(
    ("kind", "module", "cases"),
    [(BlockHistoryKind(), block_histories, 30), (PeopleHistoryKind(), people_histories, 25)],
)
def test_releases_that_forget_each_other(
    kind: Kind, module: Any, cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ledger(monkeypatch, module, tmp_path)
    tally = Tally()
    for number in range(cases):
        place = tmp_path / f"case-{number}"
        place.mkdir()
        tally.case = f"{kind.name}:planted:{number}"
        try:
            kind.play(random.Random(tally.case), place, tally)
        except (ZeroDivisionError, ValueError):  # no world at all: the releases contradict each other
            tally.violations(["no world"])
    assert tally.rows[kind.name]["broken promises"] > 2


def test_values_that_change_are_judged_release_by_release(tmp_path: Path) -> None:
    figures = HistoryFigures()
    for number in range(120):
        rng = random.Random(f"changing:{number}")
        case = HistoryCase.draw(rng, methods=("mondrian", "anatomy"))
        if case.changing:
            place = tmp_path / str(number)
            place.mkdir()
            play(case, place, rng, figures, together=False)
    assert figures.counts["broken"] > 0


def test_a_household_whose_members_are_protected_one_by_one(tmp_path: Path) -> None:
    kind, found = HouseholdKind(), 0
    for number in range(60):
        story = kind.draw(random.Random(f"home:{number}"), tmp_path)
        tree = story.tree | {"person": "id", "method": "mondrian"}
        try:
            made = sf.publish(sf.Policy.parse(tree), data=story.data)
        except (sf.Infeasible, sf.PolicyError):
            continue
        kind.learn(story, made)
        found += bool(kind.judge(story, made.write(tmp_path / f"out-{number}", report=False)))
    assert found > 3


def test_a_pseudonym_with_fewer_people_than_were_asked_for(tmp_path: Path) -> None:
    kind, found = RelatedKind(), 0
    for number in range(20):
        story = kind.draw(random.Random(f"related:{number}"), tmp_path)
        try:
            made = sf.publish(sf.Policy.parse(story.tree | {"protect": [{"k-anonymity": {"k": 2}}]}), data=story.data)
        except sf.Infeasible:
            continue
        kind.learn(story, made)
        story.tree["protect"] = [{"k-anonymity": {"k": 5}}]
        found += bool(kind.judge(story, made.write(tmp_path / f"out-{number}", report=False)))
    assert found > 3


def test_a_replaced_column_that_keeps_its_values() -> None:
    found = 0
    for seed in range(30):
        case = random_case(seed)
        found += bool(_same_as_before(case, case.rows, case.rows))
    assert found > 3


@pytest.mark.parametrize("name", ["exists", "graphs", "histories", "perturbed", "population", "subtables"])
def test_a_judge_imports_nothing_of_what_it_judges(name: str) -> None:
    tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imported for alias in node.names} | {
        getattr(node, "module", None) or "" for node in imported
    }
    assert not any(one.startswith(("sfumato", "benchmarks")) for one in names)
