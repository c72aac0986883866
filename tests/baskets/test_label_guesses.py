"""Labels that follow from items: the joint guess is played, and no claim about shares is shown to hold where it exceeds
1/l."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.attacks import LabelGuess
from sfumato.kinds.baskets.block_evidence import joint_guess
from sfumato.kinds.baskets.metrics import true_count
from sfumato.workflow.estimate import basket_answer
from tests.command_line import run
from tests.secret import secret


def patients(count: int, strength: float, seed: int = 3) -> Baskets:
    """Six illnesses; each makes three of eighteen items likelier."""
    rng = np.random.default_rng(seed)
    illness = rng.integers(0, 6, count)
    chance = np.full((count, 18), 0.25)
    chance[np.arange(count)[:, None], 3 * illness[:, None] + np.arange(3)] += strength
    names = tuple(f"i{number}" for number in range(18))
    return Baskets(
        Sets.from_dense(rng.random((count, 18)) < chance), names, {"illness": illness.astype(str).astype(object)}
    )


def policy(**method: object) -> sf.Policy:
    claims = [{"l-diversity": {"l": 4, "kind": "frequency"}}]
    tree = {"version": 1, "data": {"kind": "baskets"}, "columns": {"illness": "sensitive"}, "protect": claims}
    return sf.Policy.parse(tree | {"method": {"blocks": {"spread": 2, **method}}})


def test_labels_that_items_tell_are_refused_or_said_to_be_told(tmp_path: Path) -> None:
    told = patients(900, 0.6)
    with pytest.raises(AuditRefused, match="exact for labels independent of items; measured 0"):
        sf.publish(policy(), data=told, seed=secret(1))
    publication = sf.publish(policy(correlated="accepted"), data=told, seed=secret(1))
    finding = publication.findings[0]
    assert finding.verdict is None
    assert "measured 0." in finding.reason
    stated = publication.certificate.findings[0]
    assert stated.verdict is None
    assert "independent of items" in stated.grade
    assert "0." not in stated.reason  # the figure is the data holder's
    folder = publication.write(tmp_path / "out", report=False)
    seen = LabelGuess(target=str(folder), original="").play(publication.exhibit)
    assert seen["guesses_right:illness"] > seen["guesses_right_from_items:illness"] > seen["promised:illness"] == 0.25
    assert not [finding for finding in sf.verify(folder, original=told).findings if not finding.holds]


def test_independent_labels_stay_below_the_promise() -> None:
    publication = sf.publish(policy(), data=patients(900, 0.0), seed=secret(1))
    assert publication.findings[0].verdict is True
    seen = LabelGuess(target="", original="").play(publication.exhibit)
    assert seen["guesses_right:illness"] < 0.25 + 0.06


def test_the_guess_finds_what_only_the_block_tells() -> None:
    """Two people, two labels, items that tell one of them: the other's is known by exclusion; which row is whose is not
    used."""
    sets = Sets.of([[0], []] * 200, 1)
    labels = np.array([0, 1] * 200)
    found = joint_guess(sets, labels, np.repeat(np.arange(200), 2), np.array([1, 0] * 200))
    assert found.with_release == found.alone == 1.0
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 400)
    blind = joint_guess(Sets.of([[]] * 400, 1), labels, np.repeat(np.arange(100), 4), np.full(400, -1))
    assert blind.with_release == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("shows", ["vote", "dealt"])
def test_queries_are_answered_with_bounds(shows: str, tmp_path: Path) -> None:
    baskets = patients(300, 0.3)
    publication = sf.publish(policy(items=shows, correlated="accepted"), data=baskets, seed=secret(2))
    for present, absent in (("i0",), ()), (("i0", "i4"), ()), ((), ("i1", "i2")), (("i3",), ("i7",)):
        conditions = [f"items has {item}" for item in present] + [f"items lacks {item}" for item in absent]
        found, people = basket_answer(publication, "count where " + " and ".join(conditions))
        truth = true_count(baskets, present=present, absent=absent)
        assert people == 300
        assert found.low <= truth <= found.high
        assert found.low <= found.estimate <= found.high
        if shows == "dealt" and len(present) == 1 and not absent:
            assert found.low == found.high == truth
    found, _ = basket_answer(publication, "count where illness = 3")
    assert found.low <= int((baskets.labels["illness"] == "3").sum()) <= found.high
    folder = publication.write(tmp_path / "out", report=False)
    asked = run("query", str(folder), "count where items has i0")
    assert asked.returncode == 0
    assert "between" in asked.stdout
    assert run("query", str(folder), "count where tea").returncode == 2


def test_lists_of_lists_are_baskets() -> None:
    rows = [["tea", "soap"], {"tea"}, ("soap", "salt"), ["salt"]] * 5
    tree = {"version": 1, "data": {"kind": "baskets"}, "protect": [{"k-anonymity": {"k": 4}}]}
    publication = sf.publish(sf.Policy.parse(tree), data=rows, seed=secret(1))
    assert publication.certificate.holds
    assert len(sf.Baskets.of([["a"]])) == 1


def test_a_nearly_empty_release_is_called_so() -> None:
    rng = np.random.default_rng(5)
    sparse = Baskets(Sets.from_dense(rng.random((400, 60)) < 0.02), tuple(f"i{n}" for n in range(60)), {})
    tree = {"version": 1, "data": {"kind": "baskets"}, "protect": [{"k-anonymity": {"k": 8}}]}
    voted = sf.Policy.parse(tree | {"method": {"blocks": {"items": "vote"}}})
    certificate = sf.publish(voted, data=sparse, seed=secret(1)).certificate
    found = next(finding for finding in certificate.findings if finding.model == "emptiness")
    assert found.achieved["empty"] > 0.2
    assert "nearly empty" in found.reason
