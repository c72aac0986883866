"""Certificates of claims over several releases name how their adversary links rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf

ROWS = {
    "id": list("01234567"),
    "age": list("33334444"),
    "illness": ["flu", "cold", "gout", "flu", "cold", "gout", "flu", "cold"],
}


@pytest.mark.parametrize(
    ("cohorts", "said"), [("known", "who is in which release"), ("unknown", "of one release that a person is in it")]
)
@pytest.mark.parametrize("method", ["mondrian", "anatomy"])
def test_the_second_release_says_how_rows_are_linked(tmp_path: Path, method: str, cohorts: str, said: str) -> None:
    columns = {"id": "identifier", "age": "quasi-identifier", "illness": "sensitive"}
    tree = {"version": 1, "key": "id", "columns": columns, "method": method, "series": {"cohorts": cohorts}}
    policy = sf.Policy.parse(tree | {"protect": [{"l-diversity": {"l": 2, "kind": "frequency"}}]})
    found = []
    for number in range(2):
        made = sf.publish(policy, ROWS, ledger=tmp_path / "x.ledger", new_ledger=not number)
        folder = made.write(tmp_path / f"release-{number}", report=False)
        assert not sf.verify(folder).violated
        assumptions = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))["assumptions"]
        found.append([text for text in assumptions if "all ways of linking rows" in text])
    assert found[0] == []
    assert len(found[1]) == 1
    assert said in found[1][0]
