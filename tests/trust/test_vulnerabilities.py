"""A folder of an affected earlier version is said to be one, by `verify`; the page and the program have one list."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.kinds.graphs.form import Edges
from sfumato.kinds.subtables.form import AnatomyForm, SubTables
from sfumato.kinds.tables.form import Recoded
from sfumato.release.certificate import Certificate, Records
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView
from sfumato.release.vulnerabilities import PAGE, VULNERABILITIES, concerning
from tests.command_line import run
from tests.trust.every_form import copy_of, redo, violations

FIRST = Path(__file__).parent / "first_version"
QUASI = {"a": "quasi-identifier", "b": "quasi-identifier", "c": "sensitive"}
OTHER = {"a": "other", "b": "other", "c": "other"}


def named(folder: Path) -> dict[str, Any] | None:
    found = [one for one in sf.verify(folder).findings if one.model == "known vulnerabilities"]
    assert all(one.state == "warning" for one in found)
    return dict(found[0].achieved) if found else None


def view(form: Form, version: str = "0.1.0", ledger: Any = None, **policy: Any) -> ReleaseView:
    tree = {"version": 1, "columns": QUASI, "protect": [{"k-anonymity": {"k": 2}}]} | policy
    certificate = Certificate((), Records(0, 0, 0), version=version, ledger=ledger)
    return ReleaseView(form, {}, sf.Policy.parse(tree), certificate)


def rule(hide: Any, model: str, **levels: Any) -> list[Any]:
    return [{"given": ["b"], "hide": hide, "by": {model: levels}}]


BOOK = {"release": 2, "head": "0"}
SERIES = {"series": {"cohorts": "unknown"}, "key": "id", "columns": QUASI | {"id": "identifier"}}
PERSON = {"person": {"columns": "id"}, "columns": QUASI | {"id": "identifier"}}
GRAPH = {"data": {"kind": "graph"}, "columns": {}, "protect": [{"edge-privacy": {"epsilon": 2.0}}]}
FREQUENT = [{"l-diversity": {"l": 2, "kind": "frequency"}}]
AFFECTED = {
    "T1": [
        (SubTables, {"columns": OTHER, "protect": rule(["a", "c"], "t-closeness", t=0.1)}, True),
        (SubTables, {"columns": OTHER, "protect": rule(["a", "c"], "l-diversity", l=2)}, False),
        (SubTables, {"columns": OTHER, "protect": rule("c", "t-closeness", t=0.1)}, False),
    ],
    "T2": [(AnatomyForm, {}, True), (SubTables, {"columns": OTHER, "protect": rule("c", "t-closeness", t=0.1)}, True),
           (Recoded, {}, False)],
    "T15": [(Recoded, SERIES | {"ledger": BOOK}, True), (Recoded, SERIES, False), (Recoded, {"ledger": BOOK}, False)],
    "T16": [(AnatomyForm, SERIES | {"ledger": BOOK}, True), (AnatomyForm, {"ledger": BOOK}, False)],
    "T3": [(lambda: Edges(nodes=9, delete=0.2, add=0.1), GRAPH, True),
           (lambda: Edges(nodes=9, delete=0.2, add=0.2), GRAPH, False)],
    "T4": [(AnatomyForm, PERSON | {"protect": FREQUENT}, True), (AnatomyForm, {"protect": FREQUENT}, False),
           (Recoded, PERSON | {"protect": FREQUENT}, False)],
    "R1": [(Recoded, {"protect": [{"t-closeness": {"t": 0.5, "distance": "ordered", "order": ["x", "y"]}}]}, True),
           (Recoded, {"protect": [{"t-closeness": {"t": 0.5}}]}, False)],
    "E1": [(Recoded, {"knows": ["a -> b"]}, True), (Recoded, {}, False)],
    "E2": [(Recoded, {"ledger": BOOK}, True), (Recoded, {}, False)],
    "E3": [(Recoded, {"ledger": BOOK}, True), (Recoded, {}, False)],
    "E4": [(lambda: Recoded(counterfeits=1), {}, True), (Recoded, {}, False)],
}  # fmt: skip


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in AFFECTED.items() for case in cases])
def test_releases_of_an_affected_kind_are_named(name: str, case: Any) -> None:
    form, settings, concerned = case
    more = {key: value for key, value in settings.items() if key != "ledger"}
    for version, old in (("0.1.0", True), ("0.2.0", False), ("", True), ("next", True), ("0.10.0", False)):
        names = [one.name for one in concerning(view(form(), version, settings.get("ledger"), **more))]
        assert (name in names) == (concerned and old), (version, names)


def test_the_page_and_the_program_have_one_list() -> None:
    assert set(AFFECTED) == {one.name for one in VULNERABILITIES}
    page, mended, told = Path(PAGE).read_text(encoding="utf-8"), "", []
    for line in page.splitlines():
        if line.startswith("## Mended"):
            mended = re.search(r"\d+\.\d+\.\d+", line)[0]  # type: ignore[index]
        if entry := re.match(r"\| ([A-Z]\d+) \| (\w+) \|", line):
            told.append((entry[1], entry[2], mended))
    assert told == [(one.name, one.severity, one.mended) for one in VULNERABILITIES]


def test_verify_names_the_version_and_what_concerns_the_folder() -> None:
    assert named(FIRST / "anatomy" / "release") == {"version": "0.1.0", "names": "T2"}
    assert named(FIRST / "mondrian" / "release") is None
    said = run("verify", str(FIRST / "guardian" / "release")).stdout
    assert "An affected version made this release: 0.1.0" in " ".join(said.split())
    assert "vulnerabilities.md" in said


def test_releases_of_this_version_are_not_named_and_forged_versions_are(tmp_path: Path) -> None:
    folder, _ = copy_of("anatomy", tmp_path)
    assert named(folder) is None
    certificate = json.loads((folder / "certificate.json").read_text())
    (folder / "certificate.json").write_text(json.dumps(certificate | {"version": "<b>"}))
    redo(folder)
    assert named(folder) == {"version": "unknown", "names": "T2"}
    assert "certificate" not in violations(folder)
