"""Random small tables, every method, every model: a brute-force checker written from the definitions finds no violation."""

from __future__ import annotations

import os
from typing import Any

import pytest
from brute import savable, violations
from cases import random_case

import sfumato as sf

METHODS = {"mondrian": {}, "clustering": {}, "clustering total": {"disperse": "total"}, "refined": {"seconds": 0.3}}
CASES = 4000 if os.environ.get("SFUMATO_SLOW") else 500
PORTION = 100


def columns_of(records: list[dict[str, str]]) -> dict[str, list[str]]:
    return {name: [record[name] for record in records] for name in records[0]}


def published(method: str, policy: dict[str, Any], records: list[dict[str, str]]) -> list[dict[str, str]] | None:
    """The published rows, ``None`` when the method says that nothing can be published."""
    chosen = {method.split()[0]: METHODS[method]}
    try:
        publication = sf.publish(sf.Policy.parse({**policy, "method": chosen}), data=columns_of(records))
    except sf.Infeasible:
        return None
    rows: list[dict[str, str]] = publication.release.parts["data"].table.to_pylist()
    return rows


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("portion", range(CASES // PORTION))
def test_no_violation(method: str, portion: int) -> None:
    for seed in range(portion * PORTION, (portion + 1) * PORTION):
        policy, records = random_case(seed)
        rows = published(method, policy, records)
        if rows is not None:
            assert violations(rows, records, policy) == [], f"seed {seed}"


@pytest.mark.parametrize("method", METHODS)
def test_suppression_is_minimal_for_numbers_and_distinct_values(method: str) -> None:
    """[boundaries Properties 5, 6]: exactly the regions that cannot be saved are suppressed, and never without need."""
    for seed in range(10_000, 10_000 + CASES // 5):
        policy, records = random_case(seed, ["k-anonymity", "p-sensitivity"])
        rows = published(method, policy, records)
        assert len(rows or []) == savable(records, policy), f"seed {seed}"


def test_the_checker_can_fail() -> None:
    """A release with one value changed is found by the brute force."""
    failed = 0
    for seed in range(200):
        policy, records = random_case(seed, ["k-anonymity"])
        rows = published("mondrian", policy, records)
        if rows and len(rows) > 1 and policy["protect"][0]["k-anonymity"]["k"] > 1:
            name = next(name for name in rows[0] if name.startswith("q"))
            rows[0] = {**rows[0], name: "nobody"}
            assert violations(rows, records, policy), f"seed {seed}"
            failed += 1
    assert failed > 20
