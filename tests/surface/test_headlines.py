"""One function decides the headline; it says *holds* only where something is promised to people, and all of it was
assessed."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.kinds.tables.form import Recoded
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding
from sfumato.release.summary import LABELS, UNASSESSED, decide_headline, is_requirement
from sfumato.ui.cli._output import WIDTH, summary_lines
from sfumato.ui.demos.scenario import Scenario
from tests.command_line import run
from tests.trust.every_form import FORMS, copy_of, release_of

POLICY = sf.Policy.parse(
    {
        "version": 1,
        "columns": {"age": "quasi-identifier", "ill": "sensitive"},
        "protect": [{"k-anonymity": {"k": 5}}, {"l-diversity": {"l": 2}}],
    }
)
PROMISED = Finding("k-anonymity", True, {"k": 5}, {"k": 6}, ("age",))
VALUES = Finding("l-diversity", True, {"l": 2, "kind": "distinct"}, {"l": 2, "kind": "distinct"}, ("age",), ("ill",))
CHECK = Finding("truthfulness", True, {"rows": 0}, {"rows": 0})
CASES = [
    ((PROMISED, VALUES, CHECK), "holds"),
    ((PROMISED, Finding("other columns", True, {}, {"k": 1, "alone": 3}, grade=MEASURED)), "open"),
    ((PROMISED, Finding("truthfulness", True, {"rows": 0}, grade=NOT_JUDGED)), "open"),
    ((Finding("k-anonymity", True, {"k": 5}, grade=NOT_JUDGED), VALUES), "open"),
    ((CHECK,), "nothing"),
    ((Finding("k-anonymity", True, {"k": 1}, {"k": 3}), CHECK), "nothing"),
    ((), "nothing"),
    ((Finding("k-anonymity", False, {"k": 5}, {"k": 3}), CHECK), "broken"),
    ((PROMISED, Finding("truthfulness", False, {"rows": 0}, {"rows": 2})), "broken"),
    ((CHECK, Finding("files", False, {"damaged": 0}, {"damaged": 1}, reason="data.csv was changed")), "broken"),
]


@pytest.mark.parametrize(("findings", "verdict"), CASES)
def test_there_are_four_headlines(findings: tuple[Finding, ...], verdict: str) -> None:
    head = decide_headline(findings, POLICY, Recoded())
    assert head.verdict == verdict
    assert head.label in (*LABELS.values(), UNASSESSED)
    assert head.sentence.endswith(".")


def test_the_headline_is_the_guarantee() -> None:
    head = decide_headline((PROMISED, VALUES), POLICY, Recoded())
    assert (
        head.sentence
        == "An adversary who knows age is left with at least 6 people and at least 2 different values of ill."
    )


def test_a_guarantee_that_was_not_assessed_is_never_said_to_hold() -> None:
    head = decide_headline((Finding("k-anonymity", True, {"k": 5}, grade=NOT_JUDGED),), POLICY, Recoded())
    assert head.label == UNASSESSED and "holds" not in head.label


def test_a_sensitive_column_without_a_requirement_is_an_open_point() -> None:
    bare = sf.Policy.parse(
        {
            "version": 1,
            "columns": {"age": "quasi-identifier", "ill": "sensitive"},
            "protect": [{"k-anonymity": {"k": 5}}],
        }
    )
    assert decide_headline((PROMISED,), bare, Recoded()).verdict == "open"


@pytest.mark.parametrize("form", FORMS)
def test_no_form_holds_without_a_requirement_about_people(form: str) -> None:
    folder, original = release_of(form)
    for audit in (sf.verify(folder), sf.verify(folder, original=original)):
        told = audit.summary("sfumato report DIR")
        promised = [finding for finding in audit.findings if is_requirement(finding)]
        assert (told.headline.verdict == "nothing") == (not promised)
        assert not (told.headline.verdict == "holds" and (audit.open or not promised))
        assert told.lost, "every form says what was lost"
        lines = [click.unstyle(line) for line in summary_lines(told)]
        assert max(map(len, lines)) <= WIDTH
        assert lines[-1].startswith("Next")
        assert json.dumps(told.to_json())


@pytest.mark.parametrize("name", sorted(catalogue("demos", Scenario)))
def test_no_demo_holds_without_a_requirement_about_people(name: str, tmp_path: Path) -> None:
    if name in ("patterns", "graph"):
        pytest.skip("takes ten seconds; its form is among the forms above")
    said: list[str] = []
    catalogue("demos", Scenario)[name]().play(tmp_path, said.append)
    heads = [line for line in said if any(label in line for label in LABELS.values())]
    assert len(heads) == 1
    assert (LABELS["nothing"] in heads[0]) == (name == "database")
    for question in ("Checked", "Lost", "Not covered", "Next"):
        assert any(line.startswith(question) for line in said), question
    assert not any(
        word in line for line in said for word in ("misfits", "disagreements", "asked:", "whoever", "damaged 0")
    )


def test_damaged_files_are_told_alone(tmp_path: Path) -> None:
    folder, _ = copy_of("recoded table", tmp_path)
    with (folder / "data.csv").open("a") as file:
        file.write("1,2,3,4\n")
    answer = run("verify", str(folder))
    assert answer.returncode == 1
    lines = answer.stdout.splitlines()
    assert lines[0] == "✗ This release does not keep what it promises."
    assert "data.csv" in answer.stdout and "Nothing else was assessed." in answer.stdout
    assert not any(word in answer.stdout for word in ("k-anonymity", "IndexError", "Certificate"))


def test_a_good_release_is_a_dozen_lines_for_a_recipient(tmp_path: Path) -> None:
    columns = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 50]}},
        "sex": "quasi-identifier",
        "ill": "sensitive",
    }
    protect = [{"k-anonymity": {"k": 4}}, {"l-diversity": {"l": 2, "kind": "frequency"}}]
    policy = sf.Policy.parse({"version": 1, "columns": columns, "protect": protect})
    people = {
        "age": [str(20 + n % 40) for n in range(160)],
        "sex": ["fm"[n % 2] for n in range(160)],
        "ill": ["abc"[n % 3] for n in range(160)],
    }
    folder = sf.publish(policy, data=people).write(tmp_path / "out")
    shown = run("verify", str(folder)).stdout.splitlines()
    assert shown[0] == "✓ What was promised holds."
    assert len(shown) <= 13


def test_preview_and_discover_work_for_a_generalized_table(tmp_path: Path) -> None:
    """Before and after of a few rows; the draft goes into a new file that nobody else may read."""
    rows = "\n".join(f"{20 + n % 40},{'fm'[n % 2]},{['flu', 'gout', 'cold'][n % 3]}" for n in range(120))
    (tmp_path / "people.csv").write_text(f"age,sex,illness\n{rows}\n")
    made = run("discover", "people.csv", "-o", "draft.yaml", cwd=tmp_path)
    assert made.returncode == 0 and "Next: sfumato check draft.yaml" in made.stdout
    assert (tmp_path / "draft.yaml").stat().st_mode & 0o077 == 0
    assert run("discover", "people.csv", "-o", "draft.yaml", cwd=tmp_path).returncode == 2
    columns = "{age: {role: quasi-identifier, hierarchy: {intervals: [10, 50]}}, sex: quasi-identifier, illness: other}"
    (tmp_path / "p.yaml").write_text(
        f"version: 1\ndata: people.csv\ncolumns: {columns}\nprotect: [{{k-anonymity: {{k: 5}}}}]\n"
    )
    (sample,) = json.loads(run("preview", "p.yaml", "--rows", "3", "--json", cwd=tmp_path).stdout)
    assert len(sample["rows"]) == 3
    records = {tuple(line.split(",")) for line in rows.splitlines()}
    for row in sample["rows"]:
        assert tuple(cell["before"] for cell in row.values()) in records
        assert row["illness"]["before"] == row["illness"]["after"]
        low, _, high = row["age"]["after"].partition("-")
        assert int(low) <= int(row["age"]["before"]) <= int(high or low)
    shown = run("preview", "p.yaml", cwd=tmp_path).stdout
    assert " → " in shown and shown.splitlines()[-1] == "Next: sfumato publish p.yaml --out DIR"
