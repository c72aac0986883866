"""Suppressed cells of small tables of people in several rows: enumeration of worlds, for every choice of known
columns."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

import sfumato as sf
from sfumato.kinds.person_evidence import PersonCount
from sfumato.kinds.tables.methods.local_suppression import RowsOfPeople
from tests.people.worlds_of_people import Row, Worlds, somewhere
from tests.slow import SLOW

CASES = 600 if SLOW else 12


def case(seed: int) -> tuple[dict[str, Any], list[Row]]:
    draw = random.Random(seed)
    columns = {
        "id": "identifier",
        "q0": "quasi-identifier",
        "q1": "quasi-identifier",
        "q2": "quasi-identifier",
        "s0": "sensitive",
    }
    records: list[Row] = []
    while len(records) < 7:
        person = str(len(records))
        for _ in range(min(draw.choice([1, 1, 1, 1, 2, 2, 3, 4, 6]), 8 - len(records))):
            cells = {f"q{i}": draw.choice("abc"[: draw.randint(1, 3)]) for i in range(3)}
            records.append({"id": person, **cells, "s0": draw.choice("xy")})
    draw.shuffle(records)
    protect = [{"subset-anonymity": {"k": 2, "m": draw.randint(1, 3)}}]
    return {
        "version": 1,
        "columns": columns,
        "protect": protect,
        "person": "id",
        "method": "local-suppression",
    }, records


def made(policy: dict[str, Any], records: list[Row]) -> sf.Publication | None:
    try:
        return sf.publish(
            sf.Policy.parse(policy), data={name: [record[name] for record in records] for name in records[0]}
        )
    except sf.Infeasible:
        return None


def violations(publication: sf.Publication, policy: dict[str, Any], records: list[Row]) -> list[str]:
    """Whoever knows some columns of everybody's rows, of all rows of one person, or of one row."""
    rows = publication.release.parts["data"].table.to_pylist()
    level = policy["protect"][0]["subset-anonymity"]
    most, wrong = Fraction(1, level["k"]), []
    for many in range(level["m"] + 1):
        for known in combinations(("q0", "q1", "q2"), many):
            labels = {name: {value: {value, "*"} for value in "abc"} for name in known}
            worlds = Worlds(rows, records, labels)
            for person in {record["id"] for record in records}:
                own = [j for j, record in enumerate(records) if record["id"] == person]
                looks = {tuple(row[name] for name in known): i for i, row in enumerate(rows)}
                if any(worlds.chance(i, own) > most for i in looks.values()):
                    wrong.append(f"a row is somebody's with more than {most} for who knows {known} of everybody")
                mine = [records[j] for j in own]
                if any(somewhere(rows, some, labels, i) > most for some in (mine, mine[:1]) for i in looks.values()):
                    wrong.append(f"a row is somebody's with more than {most} for who knows {known} of the person")
    return wrong


def test_nothing_too_sure_about_anybody() -> None:
    published = several = 0
    for seed in range(CASES):
        policy, records = case(seed)
        publication = made(policy, records)
        if publication is not None:
            assert violations(publication, policy, records) == [], f"seed {seed}"
            published += 1
            several += max(Counter(record["id"] for record in records).values()) > 1
    assert published >= CASES // 3 and several >= CASES // 4, (published, several)


def test_a_method_that_counts_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the audit; and where the audit counts rows, too, by the floor."""
    monkeypatch.setattr(RowsOfPeople, "most", lambda self, shown, known: 1)
    assert refused(24) > 3
    monkeypatch.setattr(PersonCount, "most", lambda self, classes, given: classes.counts * 0 + 1)
    assert refused(24) > 3


def refused(cases: int) -> int:
    found = 0
    for seed in range(cases):
        try:
            made(*case(seed))
        except sf.AuditRefused:
            found += 1
    return found
