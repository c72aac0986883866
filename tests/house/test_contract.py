"""The contract suite: every method against every claim it says it enforces, judged by the audit. Entries are found, not listed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.audit.base import Reading
from sfumato.demos.hospital import discharges
from sfumato.methods.base import Method
from sfumato.models.base import Model
from sfumato.plan import plan
from sfumato.registry import catalogue

LEVELS: dict[str, list[dict[str, Any]]] = {
    "k-anonymity": [{"k": 4}],
    "p-sensitivity": [{"p": 3}],
    "alpha-k-anonymity": [{"alpha": 0.6, "k": 3}],
    "l-diversity": [
        {"l": 3},
        {"l": 2, "kind": "frequency"},
        {"l": 2.5, "kind": "entropy"},
        {"l": 2, "kind": "recursive", "c": 2},
    ],
    "k-linkability": [{"k": 3}],
    "k-diversity": [{"k": 1.5}],
    "t-closeness": [{"t": 0.4}, {"t": 0.3, "distance": "ordered", "order": sorted({row[-1] for row in discharges(500)})}],
}
COLUMNS = {
    "name": "identifier",
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, "boundary": {"level": 2}},
    "sex": "quasi-identifier",
    "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}},
    "diagnosis": "sensitive",
}
NAMES = ["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"]


def table() -> dict[str, list[str]]:
    rows = discharges(500)
    return {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}


def pairs() -> list[tuple[str, str, dict[str, Any]]]:
    """(method, model, level) wherever the method accepts a policy with that one claim."""
    found = []
    for method in catalogue("methods", Method).values():
        if "table" not in method.kinds or any(field.is_required() for field in method.model_fields.values()):
            continue
        for model, levels in LEVELS.items():
            for level in levels:
                policy = sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": [{model: level}]})
                if method().enforces(policy.claims[0], policy) and not method().refusal(policy):
                    found.append((method.name, model, level))
    return found


@pytest.mark.parametrize(("method", "model", "level"), pairs())
def test_a_method_keeps_what_it_says_it_enforces(method: str, model: str, level: dict[str, Any], tmp_path: Path) -> None:
    policy = sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": [{model: level}], "method": {method: {}}})
    publication = sf.publish(policy, data=table())  # Infeasible would fail the test: the claim is reachable
    publication.write(tmp_path / "out")
    verdict = sf.verify(tmp_path / "out", original=table())
    assert verdict.holds
    assert any(finding.model == model for finding in verdict.findings)


def test_every_table_model_has_levels_and_a_method_that_enforces_it() -> None:
    models = {name for name, cls in catalogue("models", Model).items() if "table" in cls.kinds and name in LEVELS}
    assert {model for _, model, _ in pairs()} == models


def test_every_form_has_a_reading() -> None:
    readings = catalogue("audit.readings", Reading)
    for method in catalogue("methods", Method).values():
        assert method.form in readings, method.name


@pytest.mark.parametrize("room", ["models", "methods"])
def test_every_entry_explains_itself(room: str) -> None:
    base: Any = Model if room == "models" else Method
    for name, cls in catalogue(room, base).items():
        assert cls.__doc__, name
        assert all(field.description for field in cls.model_fields.values()), name


def test_the_planner_says_why() -> None:
    policy = sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 3}}]})
    assert plan(policy, records=1_000).method.name == "refined"
    assert plan(policy, records=2_000_000).method.name == "mondrian"
    assert "because" in plan(policy).reasons[0]
