"""A certificate that says more than its figures do cannot be made, and one that was written so is caught when it is
read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.audit.certify import judge_claims
from sfumato.core.errors import AuditRefused
from sfumato.io.plain_files import digest
from sfumato.kinds.subtables.form import SubTables
from sfumato.release.certificate import NOT_JUDGED, Certificate, Finding
from sfumato.release.folder import read_folder
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView

DISHONEST: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("k-anonymity", {"k": 5}, {"k": 4}),
    ("k-anonymity", {"k": 5}, {}),
    ("k-anonymity", {"k": 5}, {"k": None}),
    ("k-anonymity", {"k": 5}, {"k": True}),
    ("k-anonymity", {"k": 5}, {"p": 9}),
    ("p-sensitivity", {"p": 2}, {"p": 1}),
    ("l-diversity", {"l": 2, "kind": "entropy"}, {"l": 2.5, "kind": "distinct"}),
    ("l-diversity", {"l": 2.5, "kind": "entropy"}, {"l": 2.49999, "kind": "entropy"}),
    ("t-closeness", {"t": 0.2, "distance": "equal"}, {"t": 0.200001, "distance": "equal"}),
    ("t-closeness", {"t": 0, "distance": "equal"}, {"t": 0.01, "distance": "equal"}),
    ("alpha-k-anonymity", {"alpha": 0.5, "k": 2}, {"alpha": 0.6, "k": 9}),
    ("alpha-k-anonymity", {"alpha": 0.5, "k": 2}, {"alpha": 0.5, "k": 1}),
    ("structural-attack", {"planted": 9, "success_at_most": 0.05}, {"planted": 9, "success_at_most": 0.06}),
    ("suppression", {"suppress_at_most": 0.02}, {"suppress_at_most": 0.03, "suppressed": 3, "input": 100}),
    ("truthfulness", {"rows": 0}, {"rows": 1}),
    ("truthfulness", {"rows": 0}, {}),
    ("k-anonymity", {"k": 5}, {"published": 1}),
    ("truthfulness", {"rows": 0}, {"published": 0}),
    ("a model nobody knows", {"x": 3}, {"x": 5}),
]
HONEST: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("k-anonymity", {"k": 5}, {"k": 5}),
    ("k-anonymity", {"k": 5}, {"published": 0}),
    ("l-diversity", {"l": 2.3333333, "kind": "frequency"}, {"l": 2.33333, "kind": "frequency"}),
    ("t-closeness", {"t": 0.12345678, "distance": "equal"}, {"t": 0.123457, "distance": "equal"}),
    ("t-closeness", {"t": 0.0, "distance": "equal"}, {"t": 1e-17, "distance": "equal"}),
    (
        "structural-attack",
        {"planted": 9, "success_at_most": 0.05, "against": "any"},
        {"planted": 9, "success_at_most": 0.04},
    ),
    ("suppression", {"suppress_at_most": 0.02}, {"suppress_at_most": 0.02, "suppressed": 2, "input": 100}),
    ("suppression", {}, {"suppressed": 3, "input": 100}),
    ("truthfulness", {"rows": 0}, {"rows": 0}),
    ("pinned", {}, {}),
]


@pytest.mark.parametrize(("model", "required", "achieved"), DISHONEST)
def test_a_finding_that_its_figures_deny_cannot_be_made(
    model: str, required: dict[str, Any], achieved: dict[str, Any]
) -> None:
    with pytest.raises(AuditRefused, match="cannot be said to hold"):
        Finding(model, True, required, achieved)
    for grade in ("bound (at least this much)", "estimate ± 0.05 at 0.95"):
        with pytest.raises(AuditRefused):
            Finding(model, True, required, achieved, grade=grade)
    assert not Finding(model, False, required, achieved).holds
    assert not Finding(model, True, required, achieved, grade=NOT_JUDGED).judged


@pytest.mark.parametrize(("model", "required", "achieved"), HONEST)
def test_a_finding_that_its_figures_support_can(model: str, required: dict[str, Any], achieved: dict[str, Any]) -> None:
    assert Finding(model, True, required, achieved).holds


POLICY = {
    "version": 1,
    "columns": {"age": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 2}}],
    "method": {"mondrian": {}},
    "utility": {"suppress_at_most": "50%"},
}
PEOPLE = {"age": ["30", "30", "40", "40"], "illness": ["a", "b", "a", "c"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sf.publish(sf.Policy.parse(POLICY), data=PEOPLE, seed=1).write(tmp_path / "out")


def rewritten(folder: Path, change: dict[str, Any], model: str) -> Path:
    """The folder with one finding changed, and a manifest that fits."""
    tree = json.loads((folder / "certificate.json").read_text())
    for finding in tree["findings"]:
        finding.update(change if finding["model"] == model else {})
    (folder / "certificate.json").write_text(json.dumps(tree))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["certificate.json"]["sha256"] = digest(folder / "certificate.json")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_a_certificate_that_lies_is_a_violation_and_no_crash(folder: Path) -> None:
    assert sf.verify(folder).holds
    rewritten(folder, {"achieved": {"k": 1}}, "k-anonymity")
    verdict = sf.verify(folder)
    wrong = {finding.model: finding.reason for finding in verdict.findings if not finding.holds}
    assert "k is 1 where 2 was asked for" in wrong["files"]
    assert not read_folder(folder).certificate.holds


def test_figures_that_older_certificates_left_out_are_not_judged_but_readable(folder: Path) -> None:
    """Version 0.1.0 wrote suppression without the share, and nothing at all for columns that are not published."""
    rewritten(folder, {"achieved": {"suppressed": 0, "input": 4}}, "suppression")
    rewritten(folder, {"achieved": {}}, "k-anonymity")
    read = read_folder(folder).certificate
    assert {finding.model for finding in read.findings if not finding.judged} >= {"suppression", "k-anonymity"}
    assert sf.verify(folder).holds


def test_what_is_written_is_read_back_the_same(folder: Path) -> None:
    tree = json.loads((folder / "certificate.json").read_text())
    assert json.loads(json.dumps(Certificate.from_json(tree).to_json())) == tree


def test_a_claim_that_no_rule_of_sub_tables_speaks_about_does_not_hold() -> None:
    """k-anonymity hides no column, so there is nothing that sub-tables could show for it."""
    parts = {"table-1": Part({"a": ["x", "y"], "b": ["u", "v"]})}
    policy = sf.Policy.parse(
        {"version": 1, "columns": {"a": "quasi-identifier", "b": "other"}, "protect": [{"k-anonymity": {"k": 9}}]}
    )
    (finding,) = judge_claims(ReleaseView(SubTables(), parts, policy))
    assert not finding.holds
    assert "nothing says how much k" in finding.reason


def test_a_hidden_column_that_is_not_published_is_a_figure() -> None:
    parts = {"table-1": Part({"a": ["x", "y"]})}
    columns = {"a": "quasi-identifier", "b": {"role": "sensitive", "publish": False}}
    policy = sf.Policy.parse({"version": 1, "columns": columns, "protect": ["a -> b : 2-diversity"]})
    (finding,) = judge_claims(ReleaseView(SubTables(), parts, policy))
    assert finding.holds
    assert finding.achieved == {"published": 0}
