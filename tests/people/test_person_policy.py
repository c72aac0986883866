"""``person:`` in a policy: what is said, what is refused, and what a release says to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf

COLUMNS: dict[str, Any] = {"id": "identifier", "age": "quasi-identifier", "illness": "sensitive"}
DIVERSE = [{"l-diversity": {"l": 2}}]
VISITS = {
    "id": ["1", "1", "2", "3", "4", "5", "6", "6"],
    "age": ["30", "31", "30", "31", "30", "31", "30", "30"],
    "illness": ["flu", "gout", "flu", "gout", "cold", "flu", "cold", "gout"],
}


def policy(**more: Any) -> sf.Policy:
    plain = {
        "version": 1,
        "columns": COLUMNS,
        "protect": [{"k-anonymity": {"k": 3}}],
        "person": "id",
        "method": "mondrian",
    }
    return sf.Policy.parse({**plain, **more})


def test_a_class_of_five_that_is_one_man_is_no_class() -> None:
    """Seven rows, five of one man: every row would be his with 5/7."""
    data = {"id": list("1111123"), "age": ["30"] * 7, "illness": ["flu"] * 4 + ["cancer"] * 3}
    assert sf.publish(
        sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 3}}]}), data=data
    )
    with pytest.raises(sf.Infeasible, match="no record can be published"):
        sf.publish(policy(), data=data)


def test_without_the_original_people_are_not_judged(tmp_path: Path) -> None:
    sf.publish(policy(), data=VISITS).write(tmp_path / "out")
    assert "1" not in (tmp_path / "out" / "data.csv").read_text().splitlines()[0]
    outside = sf.verify(tmp_path / "out")
    assert [finding.model for finding in outside.open] == ["people"] and not outside.holds
    assert sf.verify(tmp_path / "out", original=VISITS).holds


def test_the_folder_says_nothing_about_people(tmp_path: Path) -> None:
    """Two originals with the same rows and other people give the same certificate."""
    certificates = []
    for ids in (VISITS["id"], list("12345678")):
        publication = sf.publish(policy(), data={**VISITS, "id": ids})
        certificates.append([f.to_json() for f in publication.certificate.findings if f.model == "people"])
    assert certificates[0] == certificates[1] and certificates[0][0]["achieved"] == {"classes": 0}


def test_another_original_refutes_it(tmp_path: Path) -> None:
    sf.publish(policy(), data=VISITS).write(tmp_path / "out")
    found = sf.verify(tmp_path / "out", original={**VISITS, "id": ["1"] * 8})
    assert found.violated and "people" in {finding.model for finding in found.findings if not finding.holds}


def test_a_row_of_nobody_is_an_error() -> None:
    with pytest.raises(sf.SfumatoError, match=r"1 row\(s\) do not say whose they are"):
        sf.publish(policy(), data={**VISITS, "id": ["", *VISITS["id"][1:]]})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"columns": {**COLUMNS, "id": "other"}}, "names people and cannot have the role 'other'"),
        ({"protect": [{"t-closeness": {"t": 0.3}}]}, "not defined for people in several rows"),
        ({"protect": [{"l-diversity": {"l": 2, "kind": "entropy"}}]}, "not defined for people in several rows"),
        ({"method": "sequential"}, "it counts rows"),
        (
            {"columns": {**COLUMNS, "illness": {"role": "sensitive", "persistent": True}}, "protect": DIVERSE},
            "stays with a person",
        ),
        ({"person": {"columns": "id", "rows": "linked"}}, "that nothing ties"),
        ({"person": {"columns": "id", "rows": "tied"}}, "'rows'"),
        ({"person": {"columns": "id", "colums": "id"}}, "unknown key 'colums'"),
    ],
)
def test_what_cannot_be_kept_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(sf.SfumatoError, match=said):
        sf.publish(policy(**more), data=VISITS)


def test_what_hardly_changes_must_be_called_persistent_or_not() -> None:
    data = {**VISITS, "illness": ["flu", "flu", "gout", "gout", "cold", "flu", "cold", "cold"]}
    with pytest.raises(sf.SfumatoError, match="stays the same for 100% of the people with several rows"):
        sf.publish(policy(protect=DIVERSE), data=data)
    told = {**COLUMNS, "illness": {"role": "sensitive", "persistent": False}}
    assert sf.publish(policy(protect=DIVERSE, columns=told), data=data).certificate.holds


def test_households_are_the_candidates() -> None:
    data = {**VISITS, "home": ["a", "a", "a", "b", "b", "c", "d", "d"]}
    alone = sf.publish(policy(columns={**COLUMNS, "home": "identifier"}), data=data)
    assert alone.certificate.holds
    with pytest.raises(sf.Infeasible):
        sf.publish(
            policy(columns={**COLUMNS, "home": "identifier"}, person={"columns": "id", "together": "home"}), data=data
        )
