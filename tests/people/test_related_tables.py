"""A table of people and one of their rows: what is read, refused and published; and who could stand behind which
pseudonym."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.kinds.tables import evidence as reading
from sfumato.kinds.tables.methods.row_multisets import RowMultisets
from tests.command_line import run
from tests.people.worlds_of_people import Row
from tests.people.worlds_of_related_tables import random_related as case
from tests.people.worlds_of_related_tables import related_violations
from tests.slow import SLOW

CASES = 1500 if SLOW else 8


def columns_of(rows: list[Row]) -> dict[str, list[str]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def made(policy: dict[str, Any], people: list[Row], rows: list[Row], groups: str = "mondrian") -> sf.Publication | None:
    told = {**policy, "method": {"related": {"groups": groups, "seconds": 0.05}}}
    try:
        return sf.publish(sf.Policy.parse(told), data={"people": columns_of(people), "rows": columns_of(rows)})
    except sf.Infeasible:
        return None


def violations(publication: sf.Publication, policy: dict[str, Any], people: list[Row], rows: list[Row]) -> list[str]:
    parts = {name: part.table.to_pylist() for name, part in publication.release.parts.items()}
    return related_violations(parts, not publication.release.suppressed, policy, people, rows)


@pytest.mark.parametrize("groups", ["mondrian", "clustering"])
def test_nothing_too_sure_behind_a_pseudonym(groups: str) -> None:
    published = without = 0
    for seed in range(CASES):
        policy, people, rows = case(seed)
        publication = made(policy, people, rows, groups)
        if publication is not None:
            assert violations(publication, policy, people, rows) == [], f"seed {seed}"
            published += 1
            shown = {
                name: {row["person"] for row in publication.release.parts[name].table.to_pylist()}
                for name in ("people", "rows")
            }
            without += len(shown["rows"]) < len(shown["people"])
    assert published >= CASES // 4 and without >= CASES // 8, (published, without)


def test_a_method_that_looks_away_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """People without rows are published whoever stands with them; the reading refuses, and without it the floor."""
    monkeypatch.setattr(RowMultisets, "problem", _without_claims(RowMultisets.problem))
    assert refused(12) > 1
    before = reading._related_bags

    def without_the_absent(table: Any, claim: Any) -> Any:
        person, bag, cell = before(table, claim)
        return person, np.where(np.isin(np.arange(len(bag)), person[table.absent]), bag[0], bag), cell

    monkeypatch.setattr(reading, "_related_bags", without_the_absent)
    assert refused(12) > 1


def _without_claims(problem: Any) -> Any:
    from dataclasses import replace

    def of_lines(self: RowMultisets, kind: Any, records: Any) -> Any:
        made = problem(self, kind, records)
        return replace(made, requirements=()) if kind.line else made

    return of_lines


def refused(cases: int) -> int:
    found = 0
    for seed in range(cases):
        try:
            made(*case(seed))
        except sf.AuditRefused:
            found += 1
    return found


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_from_files_to_files(tmp_path: Path) -> None:
    """check, publish, verify with and without the original, measure and attack; nothing in the folder names the
    sources."""
    policy, people, rows = case(4)
    write(tmp_path / "people.csv", people)
    write(tmp_path / "rows.csv", rows)
    told, out = tmp_path / "policy.yaml", tmp_path / "out"
    told.write_text(json.dumps({**policy, "protect": [{"k-anonymity": {"k": 2}}]}))
    assert "related" in run("check", told).stdout
    assert run("publish", told, "--out", out).returncode == 0
    assert {file.name for file in out.iterdir()} >= {"people.csv", "rows.csv", "report.html"}
    assert "rows.csv" not in (out / "policy.yaml").read_text()
    for command in (["verify", out], ["verify", out, "--original", told], ["measure", out, "--original", told]):
        found = run(*command)
        assert found.returncode == 0, (found.stdout, found.stderr)
    played = run("attack", "linkage", out, "--original", told, "--known", "0")
    assert played.returncode == 0 and "fewest people left" in played.stdout, (played.stdout, played.stderr)
    (out / "rows.csv").write_text((out / "rows.csv").read_text() + "999,a,1\n")
    assert run("verify", out).returncode == 1


@pytest.mark.parametrize(
    ("people", "rows", "said"),
    [
        ({"id": ["1", "1"], "q0": ["x", "x"]}, {"id": ["1"], "q1": ["a"], "s0": ["1"]}, "somebody stands twice"),
        ({"id": ["1"], "q0": ["x"]}, {"id": ["2"], "q1": ["a"], "s0": ["1"]}, "belong to nobody"),
        (
            {"id": ["1"], "q0": ["x"], "q1": ["a"]},
            {"id": ["1"], "q1": ["a"], "s0": ["1"]},
            "and of the table of their rows",
        ),
        ({"q0": ["x"]}, {"id": ["1"], "q1": ["a"], "s0": ["1"]}, "has no column 'id'"),
        (
            {"id": ["1"]},
            {"id": ["1"], "q0": ["x"], "q1": ["a"], "s0": ["1"]},
            "no quasi-identifier is in the table of people",
        ),
    ],
)
def test_what_does_not_fit_is_refused(people: dict[str, list[str]], rows: dict[str, list[str]], said: str) -> None:
    with pytest.raises(sf.SfumatoError, match=said):
        sf.publish(
            sf.Policy.parse({**case(4)[0], "protect": [{"k-anonymity": {"k": 2}}]}),
            data={"people": people, "rows": rows},
        )


def test_a_table_of_people_needs_a_name_for_them() -> None:
    policy = {key: value for key, value in case(4)[0].items() if key != "person"}
    with pytest.raises(sf.PolicyError, match="there is a table of people"):
        sf.Policy.parse(policy)


def test_rows_that_nothing_ties_are_one_table() -> None:
    """Who has no row says nothing there; what is said of people stands beside each of their rows."""
    policy, people, rows = case(4)
    told = {**policy, "person": "id", "protect": [{"k-anonymity": {"k": 2}}], "method": "mondrian"}
    publication = sf.publish(sf.Policy.parse(told), data={"people": columns_of(people), "rows": columns_of(rows)})
    assert set(publication.release.parts) == {"data"} and len(publication.release.parts["data"]) == len(rows)
    with pytest.raises(sf.PolicyError, match="use related"):
        sf.publish(
            sf.Policy.parse({**policy, "method": "linked"}),
            data={"people": columns_of(people), "rows": columns_of(rows)},
        )
