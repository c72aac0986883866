"""Open points of a release: what can be done about each, and how the data holder accepts one with a name and a
reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError
from sfumato.io.plain_files import digest
from sfumato.release.folder import MANIFEST

ROWS = [
    f"{30 + group},{ward},{room},{illness}"
    for group in range(3)
    for ward, room, illness in (("A", "1", "flu"), ("B", "2", "gout"), ("C", "3", "cold"), ("D", "4", "cough"))
]
POLICY = """version: 1
data: people.csv
columns: {age: quasi-identifier, ward: other, room: ROOM, illness: sensitive}
protect: [k-anonymity: {k: 4}, l-diversity: {l: 4}]
method: {mondrian: {}}
"""
WARD = 'accept:\n  - {"open:other-columns:ward": {by: M. Weber, reason: wards are not known outside}}\n'


def _publish(folder: Path, text: str, room: str = "drop") -> sf.Publication:
    (folder / "people.csv").write_text("\n".join(["age,ward,room,illness", *ROWS]) + "\n", encoding="utf-8")
    (folder / "policy.yaml").write_text(text.replace("ROOM", room), encoding="utf-8")
    return sf.publish(sf.Policy.read(folder / "policy.yaml"), seed=2**128 + 1)


def test_a_point_says_what_can_be_done_about_it(tmp_path: Path) -> None:
    told = _publish(tmp_path, POLICY).summary()
    (point,) = told.open_points
    assert told.headline.verdict == "open"
    assert point.text == "12 of 12 records are unique if ward is also known."
    assert (point.identifier, point.figure, point.columns) == ("open:other-columns:ward", "12", ("ward",))
    assert [remedy.action for remedy in point.remedies] == ["count as known", "coarsen", "leave out"]
    assert point.acceptance == '- {"open:other-columns:ward": {by: NAME, reason: WHY}}'


def test_a_point_is_accepted_with_a_name_and_a_reason(tmp_path: Path) -> None:
    made = _publish(tmp_path, POLICY + WARD)
    told = made.summary()
    assert told.headline.verdict == "holds" and not told.open_points
    (point,) = told.accepted
    assert point.accepted is not None and point.accepted.by == "M. Weber"
    out = made.write(tmp_path / "out")
    stated = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    wanted = {"point": "open:other-columns:ward", "by": "M. Weber", "reason": "wards are not known outside"}
    assert stated["accepted"] == [wanted]
    assert "Accepted by M. Weber: wards are not known outside" in (out / "report.html").read_text(encoding="utf-8")
    assert not sf.verify(out).violated
    assert [point.accepted.by for point in sf.verify(out).summary().accepted if point.accepted] == ["M. Weber"]


@pytest.mark.parametrize("stated", [None, [{"point": "open:guess:illness", "by": "x", "reason": "y"}]])
def test_a_certificate_that_accepts_something_else_is_refused(tmp_path: Path, stated: Any) -> None:
    out = _publish(tmp_path, POLICY + WARD).write(tmp_path / "out", report=False)
    tree = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    tree["accepted"] = stated or []
    (out / "certificate.json").write_text(json.dumps(tree), encoding="utf-8")
    manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    if "certificate.json" in manifest["files"]:
        manifest["files"]["certificate.json"]["sha256"] = digest(out / "certificate.json")
        (out / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    violated = [finding for finding in sf.verify(out).findings if not finding.holds]
    assert any("the open points that the policy accepts" in finding.reason for finding in violated)


def test_an_accepted_point_is_open_again_when_another_column_comes_in(tmp_path: Path) -> None:
    told = _publish(tmp_path, POLICY + WARD, room="other").summary()
    assert told.headline.verdict == "open"
    assert [point.identifier for point in told.open_points] == ["open:other-columns:ward,room"]


@pytest.mark.parametrize(
    "entry",
    ["open:other-columns:ward", '{"open:other-columns:ward": fine}', '{"open:other-columns:ward": {by: M. Weber}}'],
)
def test_a_point_is_not_accepted_without_a_name_and_a_reason(entry: str) -> None:
    with pytest.raises(PolicyError, match="without a name and a reason"):
        sf.Policy.parse(POLICY.replace("ROOM", "drop") + f"accept: [{entry}]\n")


def test_a_graph_accepts_open_points_and_nothing_else() -> None:
    graph = "version: 1\ndata: {kind: graph, source: ties.csv}\nprotect: [k-degree-anonymity: {k: 2}]\n"
    assert sf.Policy.parse(graph + 'accept: [{"open:x": {by: a, reason: b}}]\n').acceptances[0].by == "a"
    with pytest.raises(PolicyError, match="columns of a table"):
        sf.Policy.parse(graph + "accept: [x]\n")
