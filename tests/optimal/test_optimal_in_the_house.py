"""`optimal` from policy to report: the bound in the certificate, the sentence in the report, the audit that refutes
false ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.release.form import Form
from sfumato.release.metric import figures
from sfumato.release.release import Provenance
from sfumato.ui.demos.tables import discharges
from sfumato.workflow.forecast import forecast_publish
from tests.secret import SEED

NAMES = ["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"]
COLUMNS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": "quasi-identifier",
    "diagnosis": "sensitive",
}


def table(rows: int = 300) -> dict[str, list[str]]:
    made = discharges(rows)
    return {name: [row[i] for row in made] for i, name in enumerate(NAMES)}


def policy(**more: Any) -> sf.Policy:
    claims = [{"k-anonymity": {"k": 4}}, {"l-diversity": {"l": 2, "kind": "frequency"}}]
    return sf.Policy.parse(
        {"version": 1, "columns": COLUMNS, "protect": claims, "method": {"optimal": {"seconds": 10}}, **more}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("optimal") / "out"
    sf.publish(policy(), data=table(), seed=SEED).write(out)
    return out


def test_the_data_holder_measures_bound_and_gap(folder: Path) -> None:
    utility = sf.measure(folder, original=table())
    assert utility["optimality_gap"] < 1e-4
    assert utility["lower_bound"] == pytest.approx(utility["loss"], rel=1e-4)
    assert utility["loss"] > 0


def test_the_private_report_says_what_no_release_can_lose_less_than(folder: Path) -> None:
    page = folder.with_name("out.private.html").read_text()
    assert "No release of this kind can lose less than" in page
    assert "nodes of the hierarchies within its boundary" in page


def test_the_folder_does_not_say_it(folder: Path) -> None:
    """A bound is a figure of the original."""
    certificate = json.loads((folder / "certificate.json").read_text())
    assert not {"lower_bound", "optimality_gap"} & set(certificate["utility"])
    assert "optimality" not in {finding["model"] for finding in certificate["findings"]}
    assert json.loads((folder / "manifest.json").read_text())["public"] == {}
    assert "lose less than" not in (folder / "report.html").read_text()


def test_a_folder_of_an_earlier_version_still_says_its_bound(folder: Path) -> None:
    from sfumato.release.folder import open_release

    now = open_release(folder, original=table())
    old = replace(
        now, form=Form.read("recoded table", {"optimality": now.trace.optimality.model_dump()}), trace=Provenance()
    )
    assert "lower_bound" in figures(old)
    assert "lower_bound" not in figures(old.as_published())


@pytest.mark.parametrize("change", [{"lower_bound": 0.9}, {"lower_bound": 0.0}])
def test_a_false_bound_is_refuted(folder: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    """A bound above the measured loss, and a proven optimum whose bound lies far below it."""
    from sfumato.kinds.tables.checks import OptimalityHonest
    from sfumato.release.folder import open_release

    honest = open_release(folder, original=table())
    said = honest.trace.optimality.model_copy(update=change)
    forged = replace(honest, trace=replace(honest.trace, optimality=said))
    assert not OptimalityHonest().examine(forged).holds
    assert OptimalityHonest().examine(honest).holds


def test_check_says_what_the_bound_will_be_about() -> None:
    sentences = list(forecast_publish(policy(utility={"suppress_at_most": "2%"})).sentences())
    assert any(sentence.startswith("space:") and "2.000%" in sentence for sentence in sentences)


def test_the_planner_leaves_it_to_whoever_asks() -> None:
    asked = sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 3}}]})
    from sfumato.workflow.plan import plan

    assert plan(asked, records=1_000).method.name == "refined"


def test_suppression_stays_within_the_limit() -> None:
    made = sf.publish(policy(utility={"suppress_at_most": "3%"}), data=table())
    records = made.certificate.records
    assert records.suppressed <= 0.03 * records.input
    plain = sf.publish(policy(), data=table())
    assert made.utility["loss"] <= plain.utility["loss"] + 1e-9


def test_nothing_is_said_where_groups_are_asked_for_more_than_the_claim() -> None:
    """A mean risk of 0.1 allows groups of two beside large ones; the method makes all groups of ten, and has no bound
    on others."""
    claims = {"protect": [{"average-risk": {"risk": 0.1, "k": 2}}]}
    assert sf.publish(policy(**claims), data=table()).release.trace.optimality is None
