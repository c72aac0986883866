"""Releases that version 0.1.0 made, one of every form it had, still verify; and what is changed in one is still found.

`first_version/` holds them as that version wrote them, with the made-up data they came from. Its certificates leave out
figures that are written today, and state levels of baskets that a folder alone does not tell: what they state is
compared."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import sfumato as sf
from tests.trust.every_form import read, redo, violations, write

FIRST = Path(__file__).parent / "first_version"
NAMES = sorted(path.name for path in FIRST.iterdir())


def original_of(name: str, folder: Path) -> str:
    """Where the original lies; a database is made from its text."""
    if (text := FIRST / name / "original.sql").exists():
        with sqlite3.connect(folder / "original.db") as base:
            base.executescript(text.read_text(encoding="utf-8"))
        return f"sqlite:///{folder / 'original.db'}"
    return str(FIRST / name / "original.csv")


def test_every_form_of_the_first_version_is_there() -> None:
    forms = {
        json.loads((FIRST / name / "release" / "manifest.json").read_text(encoding="utf-8"))["form"] for name in NAMES
    }
    assert forms == {"recoded table", "anatomy", "sub-tables", "replaced table", "baskets", "graph", "database"}


@pytest.mark.parametrize("name", NAMES)
def test_a_release_of_the_first_version_still_verifies(name: str, tmp_path: Path) -> None:
    folder = FIRST / name / "release"
    assert json.loads((folder / "certificate.json").read_text(encoding="utf-8"))["version"] == "0.1.0" != sf.__version__
    assert violations(folder) == set()
    assert violations(folder, original_of(name, tmp_path)) == set()


def test_a_figure_that_the_first_version_states_is_still_compared(tmp_path: Path) -> None:
    folder = shutil.copytree(FIRST / "mondrian" / "release", tmp_path / "release")
    tree = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    (stated,) = [finding for finding in tree["findings"] if finding["model"] == "suppression"]
    stated["achieved"]["input"] += 1
    (folder / "certificate.json").write_text(json.dumps(tree), encoding="utf-8")
    redo(folder)
    assert violations(folder, original_of("mondrian", tmp_path)) == {"certificate"}


def test_people_who_are_missing_from_a_release_of_the_first_version_are_found(tmp_path: Path) -> None:
    folder = shutil.copytree(FIRST / "mondrian" / "release", tmp_path / "release")
    write(folder / "data.csv", read(folder / "data.csv")[:-1])
    redo(folder)
    assert violations(folder) == {"certificate", "suppression"}


def test_whoever_reads_a_certificate_of_an_earlier_version_is_told_that_less_is_compared() -> None:
    found = sf.verify(FIRST / "mondrian" / "release").findings
    assert [finding.achieved["version"] for finding in found if finding.model == "earlier version"] == ["0.1.0"]


@pytest.mark.parametrize("version", [sf.__version__, "7.1", ""])
def test_no_other_version_may_leave_assumptions_out(version: str, tmp_path: Path) -> None:
    tree = {
        "version": 1,
        "columns": {"age": "quasi-identifier", "ill": "sensitive"},
        "protect": [{"k-anonymity": {"k": 2}}],
    }
    data = {"age": ["30", "30", "31", "31"], "ill": ["flu", "gout"] * 2}
    folder = sf.publish(sf.Policy.parse(tree), data=data).write(tmp_path / "out", report=False)
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8")) | {
        "version": version,
        "assumptions": [],
    }
    (folder / "certificate.json").write_text(json.dumps(certificate), encoding="utf-8")
    redo(folder)
    assert violations(folder) == {"certificate"}
