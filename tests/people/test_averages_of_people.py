"""Averages of small tables of people in several rows: enumeration of worlds, for whoever knows the groups, and whoever
does not."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from tests.people.worlds_of_people import Row, people_violations

CLAIMS: list[dict[str, Any]] = [
    {"k-anonymity": {"k": 2}}, {"p-sensitivity": {"p": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}},
]  # fmt: skip


def case(seed: int) -> tuple[dict[str, Any], list[Row]]:
    draw = random.Random(seed)
    records: list[Row] = []
    for person in range(6):
        for _ in range(draw.choice([1, 1, 1, 2, 2])):
            records.append({"id": str(person), "q0": str(draw.randint(0, 30)), "s0": draw.choice("xyz")})
    columns = {"id": "identifier", "q0": {"role": "quasi-identifier"}, "s0": {"role": "sensitive", "persistent": False}}
    protect = draw.sample(CLAIMS, draw.randint(1, 2))
    return {"version": 1, "columns": columns, "protect": protect, "person": "id", "method": "microaggregation"}, records


def made(policy: dict[str, Any], records: list[Row]) -> sf.Publication | None:
    try:
        return sf.publish(
            sf.Policy.parse(policy), data={name: [record[name] for record in records] for name in records[0]}
        )
    except sf.Infeasible:
        return None


def violations(publication: sf.Publication, policy: dict[str, Any], records: list[Row]) -> list[str]:
    """The groups are known: whoever fits a row is somebody of its group. Then nothing is known: every row may be
    anybody's."""
    rows = publication.release.parts["data"].table.to_pylist()
    behind = publication.release.trace.rows["data"].tolist()
    of = {record: row["q0"] for row, record in zip(rows, behind, strict=True)}
    grouped = [{**record, "q0": of[place]} for place, record in enumerate(records)]
    wrong = people_violations(rows, behind, grouped, policy)
    classes, most = Counter(row["q0"] for row in rows), max(Counter(record["id"] for record in records).values())
    asked = [level["k"] for claim in policy["protect"] for level in claim.values() if "k" in level]
    return wrong + [
        f"{most} rows of one person may be among {n}" for n in classes.values() for k in asked if k * most > n
    ]


def test_nothing_too_sure_about_anybody() -> None:
    published = several = 0
    for seed in range(36):
        policy, records = case(seed)
        publication = made(policy, records)
        if publication is not None:
            assert violations(publication, policy, records) == [], f"seed {seed}"
            published += 1
            several += len({row["q0"] for row in publication.release.parts["data"].table.to_pylist()}) > 1
    assert published >= 12 and several >= 4, (published, several)


def test_a_method_that_counts_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.kinds.tables.methods.microaggregation.most_rows", lambda policy, table: 1)
    monkeypatch.setattr(
        "sfumato.kinds.tables.methods.microaggregation.groups_safe_for_persons",
        lambda policy, table, of: np.ones(int(of.max()) + 1, dtype=np.bool_),
    )
    refused = 0
    for seed in range(40):
        policy, records = case(seed)
        try:
            publication = made(policy, records)
        except sf.AuditRefused:
            refused += 1
            continue
        assert publication is None or violations(publication, policy, records) == [], f"seed {seed}"
    assert refused > 10


def test_groups_that_are_written_alike_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the people of each group have a value, and two thirds of both together: no release, and not one that is
    refused."""
    told = [("1", "v"), ("2", "v"), ("3", "x"), ("4", "y"), ("1", "x"), ("2", "y"), ("5", "v"), ("6", "v")]
    records = [{"id": name, "q0": "5", "s0": value} for name, value in told]
    policy = {**case(0)[0], "protect": [CLAIMS[2]]}
    monkeypatch.setattr(
        "sfumato.kinds.tables.methods.microaggregation.best_groups", lambda points, fewest: np.arange(8) // 4
    )
    assert made(policy, records) is None
    apart = [{**record, "q0": str(5 + place // 4)} for place, record in enumerate(records)]
    assert made(policy, apart) is not None
