"""A column that clearly names people in several rows is proposed as `person:`, with the reason; nothing else is."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.personal_columns.roles import infer_column_roles
from sfumato.data.table import Table
from sfumato.workflow.discover.discover import discover, policy_text

ROWS = 240


def visits(name: str = "patient_id", *, people: int = 100, lasting: bool = False) -> dict[str, list[str]]:
    draw = random.Random(7)
    whose = [n % people for n in range(ROWS)]
    illness = [f"ill {whose[n] % 7 if lasting else draw.randrange(7)}" for n in range(ROWS)]
    return {
        name: [f"{1000 + one}" for one in whose],
        "age": [str(draw.randint(20, 69)) for _ in range(ROWS)],
        "sex": [draw.choice("fm") for _ in range(ROWS)],
        "illness": illness,
    }


@pytest.mark.parametrize("name", ["patient_id", "CustomerNbr", "patient"])
def test_rows_of_people_are_proposed_with_the_reason_and_publish_as_they_stand(name: str) -> None:
    found = discover(visits(name))
    assert found.policy["person"] == name and found.policy["columns"][name] == "identifier"
    assert any(f"person: '{name}' names 100 people in 240 rows" in reason for reason in found.reasons)
    text = policy_text(found)
    assert f"person: {name}\n" in text and "100 people in 240 rows" in text
    tree: dict[str, Any] = {key: value for key, value in found.policy.items() if key != "data"}
    made = sf.publish(sf.Policy.parse(tree), data=visits(name))
    assert any(finding.model == "people" and finding.holds for finding in made.certificate.findings)


def test_a_value_that_stays_with_people_asks_for_linked_rows() -> None:
    found = discover(visits(lasting=True))
    assert found.policy["person"] == {"columns": "patient_id", "rows": "linked"}
    assert found.policy["columns"]["illness"] == {"role": "sensitive", "persistent": True}
    assert any("'illness' stays with a person" in reason for reason in found.reasons)
    policy = sf.Policy.parse({key: value for key, value in found.policy.items() if key != "data"})
    assert policy.person is not None and policy.person.linked


def test_numbers_of_people_that_look_like_a_measurement_name_people_all_the_same() -> None:
    """They stay with a person like nothing else, and are no value that people would rather keep."""
    draw = random.Random(12)
    data = {name: [value for value in values for _ in range(2)] for name, values in visits("person").items()}
    data["person"] = [str(draw.randrange(200)) for _ in data["person"]]
    assert {look.name: look.role for look in infer_column_roles(Table(pa.table(data)))}["person"] == "identifier"
    found = discover(data)
    assert found.policy["columns"]["person"] == "identifier"
    assert sf.Policy.parse({key: value for key, value in found.policy.items() if key != "data"}).person is not None


def test_what_is_not_clear_is_not_proposed() -> None:
    once = visits(people=ROWS)
    few = visits(people=12)
    thing = visits("order_id")
    missing = visits()
    missing["patient_id"][3] = ""
    for data in (once, few, thing, missing):
        found = discover(data)
        assert "person" not in found.policy and not any("person:" in reason for reason in found.reasons)


def test_of_two_columns_the_data_holder_chooses() -> None:
    both = visits() | {"employee_id": [str(n % 40) for n in range(ROWS)]}
    found = discover(both)
    assert "person" not in found.policy
    assert any("'patient_id' and 'employee_id' name people" in warning for warning in found.warnings)


def test_a_policy_that_counts_rows_is_told() -> None:
    columns = {"patient_id": "identifier", "age": "quasi-identifier", "illness": "sensitive"}
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 3}}]}
    told = discover(visits(), sf.Policy.parse(tree)).warnings
    assert any("say 'person: patient_id'" in warning for warning in told)
    said = discover(visits(), sf.Policy.parse(tree | {"person": "patient_id"})).warnings
    assert not any("person:" in warning for warning in said)
