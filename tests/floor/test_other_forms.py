"""Stories told end to end: the floor agrees with what it can count, and says what it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

import sfumato as sf
from sfumato.audit import recount
from sfumato.core.registry import find
from sfumato.ui.demos import tables, testdata
from sfumato.ui.demos.scenario import Scenario
from tests.secret import secret


@pytest.fixture
def few_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stories about a quarter of their people: the same commands, claims and releases."""
    for story, drawn in (
        (tables, tables.discharges),
        (testdata, testdata.students),
        (tables, tables.versatile_discharges),
    ):
        monkeypatch.setattr(story, drawn.__name__, lambda count, drawn=drawn: drawn(count // 4))
    quarters = {day: (first // 4, last // 4) for day, (first, last) in tables.QUARTERS.items()}
    monkeypatch.setattr(tables, "QUARTERS", quarters)


def counts(folder: Path) -> list[str]:
    findings = json.loads((folder / "certificate.json").read_text())["findings"]
    assert recount.disagreements(folder, findings) == []
    return [
        "counted" if each.counted and each.exact else "at least" if each.achieved else "not"
        for each in recount.recount(folder)
    ]


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("hospital", [["counted", "counted"]]),
        ("versatile", [["counted"] * 6]),
        ("testdata", [["not"]]),
        ("sequential", [["counted", "counted"]] * 4),
    ],
)
@pytest.mark.usefixtures("few_people")
def test_a_story(scenario: str, expected: list[list[str]], tmp_path: Path) -> None:
    find("demos", Scenario, scenario)().play(tmp_path, lambda sentence: None)
    folders = sorted(file.parent for file in tmp_path.rglob("certificate.json"))
    assert [counts(folder) for folder in folders] == expected


def test_a_graph_of_equal_degrees(tmp_path: Path) -> None:
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": 3}}]}
    publication = sf.publish(sf.Policy.parse(tree), data=nx.path_graph(12), seed=secret(3))
    assert counts(publication.write(tmp_path / "out", report=False)) == ["counted"]
