"""The figures on Adult; what the issue's own attackers got stands beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.kinds.subtables.attacks import DeFinetti
from sfumato.kinds.tables.linkage_attacks import MembershipAttack
from sfumato.kinds.tables.minimality_attacks import Downcoding, Minimality
from sfumato.workflow.publication import Publication


def released(shared: Path, protect: list[Any], method: dict[str, Any]) -> Publication:
    document = sf.Policy.read(shared / "policies" / "adult-arx.yaml").document
    tree = {**document.tree, "protect": protect, "method": method, "utility": {}}
    return sf.publish(sf.Policy.from_document(replace(document, tree=tree)))


def test_de_finetti_on_anatomy(shared: Path, is_public: bool) -> None:
    """Known before: 0.42 against a certified 0.25, and 0.83 for the surest hundredth; this learner gets more."""
    publication = released(shared, [{"l-diversity": {"l": 4, "kind": "frequency"}}], {"anatomy": {}})
    played = DeFinetti(target="", original="").play(publication.exhibit)
    assert played["promised"] == 0.25
    assert played["guesses_right_blind"] == pytest.approx(0.25, abs=0.02)
    assert 0.42 < played["guesses_right"] < 0.55 if is_public else played["guesses_right"] > 0.27
    assert played["guesses_right_surest"] > (0.83 if is_public else played["guesses_right"])
    assert MembershipAttack(target="", original="").play(publication.exhibit)["advantage"] == 1.0


def test_downcoding_on_refined(shared: Path, is_public: bool) -> None:
    """Known before: 33 → 15, by an attacker we do not have. Exact rows halve the number too; a matching leaves fewer
    still."""
    publication = released(shared, [{"k-anonymity": {"k": 5}}], {"refined": {"seconds": 0.5 if is_public else 0.05}})
    played = Downcoding(target="", original="").play(publication.exhibit)
    assert played["after_exact_rows"] < (0.6 if is_public else 1) * played["covered"]
    assert played["rows_of_their_class"] <= played["matched"] < (9 if is_public else played["covered"])
    assert played["at_least_cost_is_true"] > (0.9 if is_public else 0.5)
    assert publication.certificate.holds, "every class still has its five rows"


def test_minimality_on_mondrian(shared: Path, is_public: bool) -> None:
    claims = [{"k-anonymity": {"k": 5}}, {"l-diversity": {"l": 3, "kind": "frequency"}}]
    publication = released(shared, claims, {"mondrian": {}})
    played = Minimality(target="", original="", worlds=400).play(publication.exhibit)
    assert played["true_values_agree"] == 1.0
    if is_public:
        assert played["guesses_right"] == pytest.approx(played["guesses_right_blind"], abs=0.03), (
            "little is gained on Adult"
        )
    assert played["guesses_right"] < played["promised"]
