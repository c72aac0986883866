"""A uniform column: every label of one level, requirements kept, refused where it cannot be kept up."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError

DRAW = random.Random(5)
PEOPLE = {
    "age": [str(DRAW.randrange(20, 80)) for _ in range(400)],
    "town": [DRAW.choice(["Bari", "Lecce", "Pisa", "Turin"]) for _ in range(400)],
    "illness": [DRAW.choice(["flu", "gout", "cold"]) for _ in range(400)],
}


def policy(method: str = "refined", **age: object) -> sf.Policy:
    return sf.Policy.parse(
        {
            "version": 1,
            "columns": {
                "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}, **age},
                "town": "quasi-identifier",
                "illness": "sensitive",
            },
            "protect": [{"k-anonymity": {"k": 5}}, {"l-diversity": {"l": 2}}],
            "method": {method: {}},
        }
    )


@pytest.mark.parametrize("method", ["refined", "mondrian", "clustering", "global"])
def test_all_labels_are_of_the_level_that_is_named(method: str) -> None:
    made = sf.publish(policy(method, at_most=1, uniform=True), PEOPLE)
    shown = set(made.release.parts["data"].table.column("age").to_pylist())
    assert made.certificate.holds and shown == {f"{low}-{low + 9}" for low in range(20, 80, 10)}


def test_without_it_labels_are_mixed() -> None:
    shown = set(sf.publish(policy(at_most=1), PEOPLE).release.parts["data"].table.column("age").to_pylist())
    assert any("-" not in label for label in shown) and any("-" in label for label in shown)


def test_a_level_must_be_named_and_the_method_must_write_it() -> None:
    with pytest.raises(PolicyError, match="no level is named"):
        policy(uniform=True)
    with pytest.raises(PolicyError, match="uniform"):
        sf.publish(policy("optimal", at_most=1, uniform=True), PEOPLE)


def test_it_is_refused_with_a_ledger(tmp_path: Path) -> None:
    people = {"number": [str(number) for number in range(400)], **PEOPLE}
    tree = {**policy(at_most=1, uniform=True).document.tree, "key": "number"}
    tree["columns"] = {"number": "identifier", **tree["columns"]}
    with pytest.raises(PolicyError, match="not kept up over several releases"):
        sf.publish(sf.Policy.parse(tree), people, ledger=tmp_path / "book", new_ledger=True)
