"""Anatomies of small tables of people: what every way to hand rows and values out says about somebody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from math import comb
from typing import Any

import pytest

import sfumato as sf
from sfumato.kinds.subtables.methods.buckets import PersonBuckets
from sfumato.release.evidence import ViolationCount
from tests.people.worlds_of_people import Row, asked, random_people
from tests.slow import SLOW

CASES = 2000 if SLOW else 16
CLAIMS: list[dict[str, Any]] = [{"p-sensitivity": {"p": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}}]


def publish(seed: int) -> tuple[sf.Publication | None, dict[str, Any], list[Row]]:
    policy, records = random_people(seed, most=8)
    policy = {**policy, "protect": [CLAIMS[seed % 2]], "method": "anatomy"}
    data = {name: [record[name] for record in records] for name in records[0]}
    try:
        return sf.publish(sf.Policy.parse(policy), data=data), policy, records
    except sf.Infeasible:
        return None, policy, records


def handed_out(rows: list[Row], records: list[Row], given: list[str]) -> Iterator[list[str]]:
    """The person of every row, in every world: rows with the same given values may be those of any record with them."""
    places, whose = defaultdict(list), defaultdict(list)
    for i, row in enumerate(rows):
        places[tuple(row[name] for name in given)].append(i)
    for record in records:
        whose[tuple(record[name] for name in given)].append(record["id"])
    for world in product(*(set(permutations(whose[key])) for key in places)):
        found = [""] * len(rows)
        for key, names in zip(places, world, strict=True):
            for i, name in zip(places[key], names, strict=True):
                found[i] = name
        yield found


def violations(publication: sf.Publication, policy: dict[str, Any], records: list[Row]) -> list[str]:
    rows = publication.release.parts["data"].table.to_pylist()
    values: dict[int, Counter[str]] = defaultdict(Counter)
    for entry in publication.release.parts["sensitive"].table.to_pylist():
        values[entry["bucket"]][entry["value"]] += entry["count"]
    size = Counter(row["bucket"] for row in rows)
    given = [name for name in policy["columns"] if name.startswith("q")]
    ((model, level),) = policy["protect"][0].items()
    share = asked(model, level)[2]
    worlds = list(handed_out(rows, records, given))
    wrong = []
    for person in {record["id"] for record in records}:
        held = [
            Counter(row["bucket"] for row, whose in zip(rows, world, strict=True) if whose == person)
            for world in worlds
        ]
        for value in {value for each in values.values() for value in each}:
            if all(any(values[b][value] + m > size[b] for b, m in world.items()) for world in held):
                wrong.append(f"{person} certainly has a value")
            for b in size:
                chances = [
                    1 - Fraction(comb(size[b] - values[b][value], world[b]), comb(size[b], world[b])) for world in held
                ]
                if share < 1 and sum(chances) > share * len(chances):
                    wrong.append(f"{person} has a value with more than {share} in a bucket")
    return wrong


def test_nothing_too_sure_about_anybody_in_a_bucket() -> None:
    published = 0
    for seed in range(CASES):
        publication, policy, records = publish(seed)
        if publication is not None:
            assert violations(publication, policy, records) == [], f"seed {seed}"
            published += 1
    assert published >= CASES // 4


def test_a_method_that_counts_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PersonBuckets, "broken", lambda self, bucket: _nothing(bucket))
    refused = 0
    for seed in range(60):
        try:
            publication, policy, records = publish(seed)
        except sf.AuditRefused:
            refused += 1
            continue
        assert publication is None or violations(publication, policy, records) == [], f"seed {seed}"
    assert refused > 5


def _nothing(bucket: Any) -> Any:
    import numpy as np

    return np.zeros(int(bucket.max()) + 1, dtype=bool)


def test_a_method_and_an_audit_that_count_rows_are_refused_by_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PersonBuckets, "broken", lambda self, bucket: _nothing(bucket))
    monkeypatch.setattr(
        "sfumato.kinds.subtables.evidence.judge_persons_in_buckets", lambda exhibit, claim: ViolationCount(0)
    )
    refused = 0
    for seed in range(30):
        try:
            publish(seed)
        except sf.AuditRefused as error:
            assert "said to hold" in f"{error}"
            refused += 1
    assert refused > 3
