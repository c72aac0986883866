"""Policies with keys that seldom stand together: published and verified, or refused before any method runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.errors import PolicyError
from sfumato.release.certificate import NOTHING_PUBLISHED

DATA = {
    "id": [str(i) for i in range(8)],
    "who": list("abcdefgg"),
    "a": list("xxyyxxyy"),
    "d": list("12121212"),
    "s": list("12121212"),
}
ROLES: dict[str, Any] = {"id": "identifier", "who": "identifier", "a": "quasi-identifier", "d": "sensitive"}
UNPUBLISHED = {**ROLES, "s": {"role": "sensitive", "publish": False}}


def policy(columns: dict[str, Any], *protect: dict[str, Any], method: str = "mondrian", **more: Any) -> sf.Policy:
    tree = {"version": 1, "columns": columns, "protect": list(protect), "method": method, "key": "id"}
    return sf.Policy.parse(tree | more)


@pytest.mark.parametrize("method", ["mondrian", "global", "anatomy", "guardian", "microaggregation"])
def test_a_method_that_gives_no_new_values_refuses_replaced_columns(method: str) -> None:
    columns = {**ROLES, "s": {"role": "replaced", "domain": {"values": ["1", "2"]}}}
    with pytest.raises(PolicyError, match=r"new values|replaced|exactly"):
        sf.publish(policy(columns, {"l-diversity": {"l": 2}}, method=method), DATA)


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("method", ["mondrian", "linked", "guardian"])
def test_a_requirement_about_a_column_that_is_not_published(method: str, ledger: bool, tmp_path: Path) -> None:
    """The release tells nothing of the column, the finding says so, and the recount agrees."""
    hidden = {"given": ["a"], "hide": "s", "by": {"l-diversity": {"l": 2}}}
    shown = {"given": ["a"], "hide": "d", "by": {"l-diversity": {"l": 2}}}
    more = {"person": {"columns": "id", "rows": "linked"}} if method == "linked" else {}
    book: dict[str, Any] = {"ledger": tmp_path / "book", "new_ledger": True} if ledger else {}
    made = sf.publish(policy(UNPUBLISHED, hidden, shown, method=method, **more), DATA, **book)
    found = made.findings[0]
    assert found.holds and dict(found.achieved) == NOTHING_PUBLISHED and found.hide == ("s",)
    assert made.findings[1].achieved["l"] == 2
    assert sf.verify(made.write(tmp_path / "out", report=False), original=DATA).holds


def test_candidates_are_asked_for_where_the_hidden_column_is_not_published(tmp_path: Path) -> None:
    claim = {"given": ["a"], "hide": "s", "by": {"alpha-k-anonymity": {"alpha": 0.5, "k": 3}}}
    made = sf.publish(policy(UNPUBLISHED, claim), DATA)
    assert made.findings[0].holds and made.findings[0].achieved["k"] >= 3
    assert sf.verify(made.write(tmp_path / "out", report=False), original=DATA).holds
    with pytest.raises(sf.Infeasible):
        sf.publish(policy(UNPUBLISHED, {**claim, "by": {"alpha-k-anonymity": {"alpha": 0.5, "k": 9}}}), DATA)


def test_a_model_about_candidates_may_name_what_is_not_published(tmp_path: Path) -> None:
    game = {"profitability": {"benefit": 1, "loss": 2, "gain": 4, "cost": 1}}
    made = sf.publish(policy(UNPUBLISHED, {"given": ["a"], "hide": "s", "by": game}), DATA)
    assert sf.verify(made.write(tmp_path / "out", report=False), original=DATA).holds


@pytest.mark.parametrize("person", ["who", {"columns": "id", "together": "who"}])
def test_an_attack_that_does_not_pay_is_counted_again_for_people(person: Any, tmp_path: Path) -> None:
    game = {"profitability": {"benefit": 1, "loss": 2, "gain": 4, "cost": 1}}
    made = sf.publish(policy({**ROLES, "s": "drop"}, game, person=person), DATA)
    assert {"profitability", "people"} <= {found.model for found in made.findings}
    assert sf.verify(made.write(tmp_path / "out", report=False), original=DATA).holds
