"""What outsiders know by ``knows:`` beside several releases, held against all ways to pair rows with people, and in one
release."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from sfumato.core.errors import AuditRefused, DataError, LedgerError, PolicyError
from sfumato.history import persistent_classes
from sfumato.history.judge.series import _require_untold, persistent_classes_of
from sfumato.history.published_cells import PublishedCells
from sfumato.models.l_diversity import LDiversity
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.workflow.forecast import forecast_publish
from sfumato.workflow.plan import plan
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED
from tests.slow import SLOW

from .mixed_histories import Literal, Story, pairs_of, traded

TIES = [("a", "b"), ("o", "s"), ("s", "b"), ("b", "s"), ("o", "b"), ("t", "s")]
GIVEN = [("a", "b"), ("a",), ("b",)]


def respected(literal, worlds, given, tie):
    """Whether everybody has values that agree with a dependency: of what is known the true ones, else those of their
    rows."""
    first, second = tie
    told = dict(zip(literal.story.value[first].tolist(), literal.story.value[second].tolist(), strict=True))
    for person in range(literal.story.people):
        may = []
        for column in tie:
            sets = [
                literal.tables[t][1][world[person]].get(column) for t, world in enumerate(worlds) if person in world
            ]
            sets = [values for values in sets if values is not None]
            sets += [{str(literal.story.value[column][person])}] if column in given else []
            may.append(set.intersection(*sets) if sets else None)
        if None not in may and not any(told.get(one) in may[1] for one in may[0]):
            return False
    return True


def trades(seed, tie, judged):
    """(pairs that joint classes let trade places, those whose trade breaks the dependency) of one history, where it is
    judged."""
    story = Story(np.random.default_rng(seed), ties=[tie])
    literal, bundles = Literal(story), PublishedCells(story.history)
    made = wrong = 0
    for given in GIVEN:
        claim = PrivacyRequirement(LDiversity(l=2), given, ("s",))
        if not judged(bundles, claim, tie):
            continue
        found = persistent_classes_of(bundles, claim, cohorts=True)
        person = np.array([int(key[1:]) for key in bundles.keys.to_pylist()])
        tables = [t for sheet in found.sheets for t in literal.places(sheet)]
        classes = [person[found.of == c].tolist() for c in range(int(found.of.max(initial=-1)) + 1)]
        for one, other in pairs_of(classes):
            world = traded(literal, one, other, tables)
            assert literal.is_world(world, set(given))
            made, wrong = made + 1, wrong + (not respected(literal, world, set(given), tie))
    return np.array([made, wrong])


def told_by_the_audit(bundles, claim, tie):
    """Whether the audit judges the claim where outsiders know the dependency."""
    policies = [Policy.parse(policy.document.tree | {"knows": [" -> ".join(tie)]}) for policy in bundles.policies[:1]]
    bundles.__dict__["policies"] = policies
    try:
        _require_untold(bundles, claim)
    except DataError:
        return False
    return True


@pytest.mark.parametrize("tie", TIES, ids=" -> ".join)
def test_who_trades_places_agrees_with_what_outsiders_know(tie):
    made, wrong = sum(trades(seed, tie, told_by_the_audit) for seed in range(40 if SLOW else 16))
    assert wrong == 0
    assert made > 3


@pytest.mark.parametrize("tie", [("s", "b"), ("b", "s"), ("o", "b")], ids=" -> ".join)
def test_without_a_look_at_what_outsiders_know_some_trades_are_told(tie):
    """The control."""
    assert any(trades(seed, tie, lambda *_: True)[1] > 0 for seed in range(40))


def policy_of(knows, *, given=None, method="mondrian", **more):
    columns = {"id": "identifier", "zip": "quasi-identifier", "county": "quasi-identifier", "ill": "sensitive"}
    claim = (
        {"l-diversity": {"l": 2}} if given is None else {"given": given, "hide": "ill", "by": {"l-diversity": {"l": 2}}}
    )
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [claim],
        "knows": knows,
        "method": {method: {}},
        "key": "id",
        **more,
    }
    return Policy.parse(tree)


PEOPLE = {"id": list("pqrstuvw"), "zip": list("11223344"), "county": list("NNNNSSSS"), "ill": list("ABABABAB")}


@pytest.mark.parametrize("method", ["mondrian", "sequential", "anatomy", "local-suppression", "microaggregation"])
def test_knowledge_that_ties_what_is_given_to_what_is_not_is_refused_before_data_moves(method):
    """A certificate said l = 2 where whoever knows that an illness is one of women reads it off the row beside the only
    woman."""
    for knows, given in ((["ill -> county"], None), (["zip -> ill"], None), (["zip -> county"], ["county"])):
        with pytest.raises(PolicyError, match="candidates could be told apart"):
            plan(policy_of(knows, given=given, method=method))


def test_columns_that_nobody_sees_tell_nothing():
    """The map from zip to county takes nothing from a table without zip, unless zip tells something else that is
    published."""
    columns = {"id": "identifier", "county": "quasi-identifier", "ill": "sensitive"}
    columns["zip"] = {"role": "other", "publish": False}
    tree = {"version": 1, "columns": columns, "protect": [{"l-diversity": {"l": 2}}], "method": {"mondrian": {}}}
    plan(Policy.parse(tree | {"knows": ["zip -> county"]}))
    plan(Policy.parse(tree | {"knows": ["zip -> ill"]}))
    plan(Policy.parse(tree | {"knows": ["id -> county"]}))
    for knows in (["zip -> county", "zip -> ill"], ["id -> ill"]):  # whoever looks for somebody has a name
        with pytest.raises(PolicyError, match="candidates could be told apart"):
            plan(Policy.parse(tree | {"knows": knows}))


def test_a_release_beside_such_knowledge_does_not_hold(tmp_path):
    publish(policy_of([]), PEOPLE, seed=SEED).write(tmp_path / "r", report=False)
    written = Path(tmp_path / "r" / "policy.yaml")
    tree = yaml.safe_load(written.read_text())
    written.write_text(yaml.safe_dump(tree | {"knows": ["ill -> county"]}))
    (finding,) = (one for one in verify(tmp_path / "r").findings if one.model == "l-diversity")
    assert not finding.holds
    assert "candidates could be told apart" in finding.reason


def test_a_map_that_everybody_has_goes_with_a_ledger(tmp_path, monkeypatch):
    ledger = tmp_path / "book.ledger"
    for r in (1, 2):
        made = publish(policy_of(["zip -> county"]), PEOPLE, seed=SEED + r, ledger=ledger, new_ledger=r == 1)
        made.write(tmp_path / f"r{r}", report=False)
    assert verify(tmp_path / "r2", ledger=ledger, original=PEOPLE).holds
    with pytest.raises(PolicyError, match="not of anatomy"):
        publish(policy_of(["zip -> county"], method="anatomy"), PEOPLE, seed=SEED, ledger=ledger)
    monkeypatch.setattr(persistent_classes, "columns_kept_together", None)
    monkeypatch.setattr("sfumato.history.judge.series.columns_kept_together", lambda *_: frozenset({"zip"}))
    with pytest.raises(AuditRefused, match="which may tell who of a joint class traded places"):
        publish(policy_of(["zip -> county"]), PEOPLE, seed=SEED, ledger=ledger)


def test_knowledge_that_an_earlier_promise_did_not_count_on_is_refused_before_data_moves(tmp_path):
    """The first release promised something to who knows the county alone; the map to it was not thought of."""
    ledger = tmp_path / "book.ledger"
    first = publish(policy_of([], given=["county"]), PEOPLE, seed=SEED, ledger=ledger, new_ledger=True)
    first.write(tmp_path / "r1", report=False)
    later = policy_of(["zip -> county"], protect=[{"p-sensitivity": {"p": 2}}])
    for refused in (
        lambda: publish(later, PEOPLE, seed=SEED, ledger=ledger),
        lambda: forecast_publish(later, ledger=ledger),
    ):
        with pytest.raises(LedgerError, match="over 2 releases"):
            refused()
