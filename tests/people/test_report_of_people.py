"""A report of rows of people takes no class of rows for a class of people."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from tests.people.test_linkage_of_people import visits

COLUMNS = {
    "id": "identifier",
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
    "ill": "sensitive",
}


@pytest.mark.parametrize("rows", ["unlinked", "linked", ""])
def test_the_risk_of_being_found_is_told_where_rows_are_people(rows: str, tmp_path: Path) -> None:
    person = {"person": {"columns": "id", "rows": rows}} if rows else {}
    method = {"linked": {"groups": "mondrian"}} if rows == "linked" else "mondrian"
    tree = {"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 4}}], "method": method, **person}
    out = sf.publish(sf.Policy.parse(tree), data=visits()).write(tmp_path / "out")
    for page in (out / "report.html", tmp_path / "out.private.html"):
        told = page.read_text(encoding="utf-8")
        assert ("Risk of re-identification" in told) is (not rows)
        assert ("These are rows" in told) is bool(rows)
        assert not rows or "people look alike" not in told


def test_the_timeline_of_a_ledger_counts_rows_and_says_so(tmp_path: Path) -> None:
    columns = {"visit": "identifier", **COLUMNS}
    data = {"visit": [str(i) for i in range(len(visits()["id"]))], **visits()}
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [{"k-anonymity": {"k": 4}}],
        "method": "mondrian",
        "key": "visit",
    }
    for person in ({"person": "id"}, {}):
        place = tmp_path / f"{bool(person)}"
        place.mkdir()
        for name in ("first", "second"):
            made = sf.publish(
                sf.Policy.parse(tree | person), data=data, ledger=place / "book", new_ledger=name == "first"
            )
            made.write(place / name)
        told = (place / "second.private.html").read_text(encoding="utf-8")
        assert ("rows below" in told, "people below" in told) == (bool(person), not person)
