"""A tick stands only beside what was judged and holds: in the terminal, the report and JSON; and nothing open is
published."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.report_sections import _mark
from sfumato.kinds.testdata.constraint_checks import RulesKept
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Certificate, Finding, Records
from tests.command_line import run
from tests.secret import secret
from tests.trust.every_form import FORMS, release_of

GRADES = ["exact", "bound (at least)", "estimate ± 0.1 at 0.95", NOT_JUDGED, MEASURED, f"{MEASURED}, an estimate"]


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers in the old pattern: two figures are only measured, and one rule needs the private provenance."""
    rng = np.random.default_rng(1)
    data = {"v": [str(n) for n in rng.integers(0, 61, 80)], "s": [str(s) for s in rng.choice(["a", "b", "c"], 80)]}
    columns = {"v": {"role": "replaced", "domain": {"integers": [0, 60]}}, "s": "sensitive"}
    tree = {
        "version": 1,
        "columns": columns,
        "method": {"pattern-walk": {}},
        "keep": ["localities(v) sample 0.3 partition 20"],
    }
    return sf.publish(sf.Policy.parse(tree), data=data, seed=secret(3)).write(tmp_path_factory.mktemp("walk") / "out")


def test_what_is_measured_has_no_tick(walked: Path) -> None:
    certificate = json.loads((walked / "certificate.json").read_text())
    measured = {entry["model"]: entry for entry in certificate["findings"] if entry["grade"].startswith(MEASURED)}
    assert certificate["holds"] is True
    for name, entry in measured.items():
        assert entry["holds"] is None
        page = (walked / "report.html").read_text()
        assert not re.search(rf"✓</span></td><td>{name}<", page)


def test_a_rule_that_nobody_judged_is_counted_apart(walked: Path) -> None:
    shown = run("verify", str(walked))
    assert shown.returncode == 0
    first, *lines = shown.stdout.splitlines()
    assert "holds" not in first
    assert any("Rules: not assessed: " in line for line in lines)
    document = json.loads(run("verify", str(walked), "--json").stdout)
    assert (document["holds"], document["complete"], document["not_judged"]) == (None, False, ["rules left open"])


@pytest.mark.parametrize("form", FORMS)
def test_everywhere_a_tick_means_judged(form: str) -> None:
    """Whatever a form's audit says: as many ticks as findings that were judged and hold, in the terminal as in JSON."""
    folder = release_of(form)[0]
    document = json.loads(run("verify", str(folder), "--json").stdout)
    lines = run("verify", str(folder), "--verbose").stdout.splitlines()[1:]
    marks = Counter(found[1] for line in lines if (found := _MARKED.match(line)))
    assert marks["✓"] == sum(entry["holds"] is True for entry in document["findings"])
    assert marks["✗"] == sum(entry["holds"] is False for entry in document["findings"]) == 0
    assert marks["?"] == sum(entry["grade"] == NOT_JUDGED for entry in document["findings"])


_MARKED = re.compile(r"(?:Promised|Checked|Not covered|) *([✓✗?]) ")


@pytest.mark.parametrize("grade", GRADES)
def test_every_grade_in_every_place(grade: str) -> None:
    finding = Finding("a", True, grade=grade)
    certificate = Certificate((Finding("b", True), finding), Records(1, 1, 0))
    ticked = grade not in (NOT_JUDGED,) and not grade.startswith(MEASURED)
    assert (finding.verdict is True) == ticked
    assert ("✓" in _mark(finding)) == ticked
    assert (finding.to_json()["holds"] is True) == ticked
    assert certificate.holds == (grade != NOT_JUDGED)
    assert certificate.to_json()["holds"] is (None if grade == NOT_JUDGED else True)
    assert Finding("a", False, grade=grade).verdict is False


def test_nothing_is_published_that_was_promised_and_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    open_finding = Finding("rules", True, grade=NOT_JUDGED, reason="nobody looked")
    monkeypatch.setattr(RulesKept, "examine", lambda self, exhibit: open_finding)
    columns = {"v": {"role": "replaced", "domain": {"integers": [0, 9]}}, "w": "other"}
    policy = sf.Policy.parse({"version": 1, "columns": columns, "keep": ["v >= 1"], "method": {"obfuscation": {}}})
    with pytest.raises(sf.AuditRefused, match="nobody looked"):
        sf.publish(policy, data={"v": ["1", "2", "3"], "w": ["a", "b", "c"]})


@pytest.mark.parametrize("form", FORMS)
def test_a_tick_answers_something_that_was_asked(form: str) -> None:
    """A figure beside which nothing was demanded is told, not ticked, with the original at hand and without."""
    folder, original = release_of(form)
    for audit in (sf.verify(folder), sf.verify(folder, original=original)):
        assert [finding.model for finding in audit.findings if finding.verdict and not finding.required] == []
