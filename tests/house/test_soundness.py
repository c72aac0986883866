"""Random small tables, every method that recodes, every model: a checker written from the definitions finds no
violation.

Methods are found, not listed: each with its defaults, and once more for every other word that one of its parameters may
be and for every switch."""

from __future__ import annotations

from typing import Any

import pytest
from brute import savable, violations
from cases import DISTANCES, DIVERSITIES, MODELS, random_case, recoding_variants

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.data.linkage import Linkage
from sfumato.models.base import Model
from tests.slow import SLOW

CASES = 4000 if SLOW else 24
"""Of every method, each its own: what methods share is tried on all of them."""
PORTION = min(CASES, 50)
SECONDS = 0.05
"""What a method may search for; small tables need no more."""
DEAR = {"optimal": 5}
"""Methods that run a solver are asked one case in so many."""


METHODS = list(recoding_variants(SECONDS))
NAMES = [
    "-".join((name, *(f"{key}-{value}" for key, value in level.items() if key != "seconds"))) for name, level in METHODS
]


def test_methods_that_recode_are_found() -> None:
    """Without one, every test below would pass in silence."""
    assert {"clustering", "mondrian", "mondrian-blind-True", "refined", "optimal"} <= set(NAMES)


def columns_of(records: list[dict[str, str]]) -> dict[str, list[str]]:
    return {name: [record[name] for record in records] for name in records[0]}


def published(
    method: tuple[str, Any], policy: dict[str, Any], records: list[dict[str, str]]
) -> list[dict[str, str]] | None:
    """The published rows, ``None`` when the method says that nothing can be published."""
    try:
        publication = sf.publish(sf.Policy.parse({**policy, "method": dict([method])}), data=columns_of(records))
    except sf.Infeasible:
        return None
    rows: list[dict[str, str]] = publication.release.parts["data"].table.to_pylist()
    return rows


def cases(method: tuple[str, Any], first: int, count: int) -> range:
    first += METHODS.index(method) * CASES
    return range(first, first + count, DEAR.get(method[0], 1))


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("portion", range(CASES // PORTION))
def test_no_violation(method: tuple[str, Any], portion: int) -> None:
    """Also: when everybody's region satisfies the claims there is a release, and then the method finds one."""
    asked = cases(method, portion * PORTION, PORTION)
    made = 0
    for seed in asked:
        policy, records = random_case(seed)
        rows = published(method, policy, records)
        if rows is None:
            assert savable(records, policy) < len(records), f"seed {seed}: a release exists"
            continue
        assert violations(rows, records, policy) == [], f"seed {seed}"
        made += len(rows) > 0
    assert made >= len(asked) // 4


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_suppression_is_minimal_for_numbers_and_distinct_values(method: tuple[str, Any]) -> None:
    """[boundaries Properties 5, 6]: exactly the regions that cannot be saved are suppressed, and never without need."""
    for seed in cases(method, 10_000, max(CASES // 5, 10)):
        policy, records = random_case(seed, ["k-anonymity", "p-sensitivity"])
        rows = published(method, policy, records)
        assert len(rows or []) == savable(records, policy), f"seed {seed}"


def test_every_model_of_tables_is_drawn() -> None:
    """A new model needs its definition in `brute` and its levels in `cases`; others stand in tests of their own."""
    of_tables = {
        name for name, model in catalogue("models", Model).items() if "table" in model.kinds and model.judges is Linkage
    }
    assert of_tables - {"subset-anonymity", "k-map", "delta-presence"} == set(MODELS) - {*DIVERSITIES, *DISTANCES} | {
        "l-diversity",
        "t-closeness",
    }


def test_the_checker_can_fail() -> None:
    """A release with one value changed is found by the brute force."""
    failed = 0
    for seed in range(200):
        policy, records = random_case(seed, ["k-anonymity"])
        rows = published(("mondrian", {}), policy, records)
        if rows and len(rows) > 1 and policy["protect"][0]["k-anonymity"]["k"] > 1:
            name = next(name for name in rows[0] if name.startswith("q"))
            rows[0] = {**rows[0], name: "nobody"}
            assert violations(rows, records, policy), f"seed {seed}"
            failed += 1
        if failed > 20:
            return
    assert failed > 20
