"""The trap: two releases that each keep an ordinary promise, and together give people away; no method may publish
them."""

import pytest

from sfumato.audit.join_attack import JoinAttack
from sfumato.core.errors import Infeasible
from sfumato.policy.policy import Policy
from sfumato.workflow.forecast import forecast_publish
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED

FOUR = {"id": list("pqrs"), "a": ["1", "1", "2", "2"], "b": ["x", "y", "x", "y"], "s": ["A", "B", "C", "D"]}
CLAIMS = {
    "distinct": {"l-diversity": {"l": 2}},
    "frequency": {"l-diversity": {"l": 2, "kind": "frequency"}},
    "p": {"p-sensitivity": {"p": 2}},
    "closeness": {"t-closeness": {"t": 0.2}},
    "anonymity": {"k-anonymity": {"k": 2}},
    "share": {"alpha-k-anonymity": {"alpha": 0.5, "k": 2}},
}
HIDING = ("distinct", "frequency", "p", "closeness")


def release_policy(method, claim, hidden):
    columns = {name: {"role": "quasi-identifier", "publish": name != hidden} for name in ("a", "b")}
    columns = {"id": "identifier", **columns, "s": "sensitive"}
    tree = {"version": 1, "columns": columns, "protect": [CLAIMS[claim]], "key": "id"}
    return Policy.parse(tree | ({} if method is None else {"method": {method: {}}}))


def first_release(path, method, claim):
    first = publish(release_policy(method, claim, "b"), FOUR, seed=SEED, ledger=path / "book.ledger", new_ledger=True)
    first.write(path / "r1", report=False)


def published_twice(path, method, claim, then=None):
    ledger = path / "book.ledger"
    first_release(path, method, claim)
    second = publish(release_policy(then or method, claim, "a"), FOUR, seed=SEED, ledger=ledger)
    second.write(path / "r2", report=False)
    return second


@pytest.mark.parametrize("claim", sorted(CLAIMS))
@pytest.mark.parametrize("method", ["mondrian", "clustering", "refined"])
def test_four_people_stay_unknown_after_two_recoded_tables(tmp_path, method, claim):
    second = published_twice(tmp_path, method, claim)
    assert second.certificate.holds
    audit = verify(tmp_path / "r2", original=FOUR, ledger=tmp_path / "book.ledger")
    assert audit.holds
    _nobody_below(tmp_path / "book.ledger")


@pytest.mark.parametrize(("first", "then"), [("anatomy", "anatomy"), ("guardian", "guardian"), ("mondrian", "anatomy"),
                                             ("anatomy", "mondrian"), ("utility-aware", "clustering")])  # fmt: skip
def test_four_people_stay_unknown_whatever_forms_follow_each_other(tmp_path, first, then):
    for claim in HIDING[:2]:
        path = tmp_path / claim
        path.mkdir()
        second = published_twice(path, first, claim, then)
        assert second.certificate.holds
        _nobody_below(path / "book.ledger")


def _nobody_below(ledger):
    (figures,) = JoinAttack(ledger=str(ledger), k=2).run().values()
    assert figures["full"]["people_below"] == 0


def test_a_release_that_looks_at_no_history_is_refused_by_the_audit(tmp_path, monkeypatch):
    """A method that forgets is found out: this is what 0.1 did."""
    monkeypatch.setattr("sfumato.workflow.publication.records_to_leave_out", lambda *_: frozenset())  # nobody waits
    from sfumato.history.constrain.constraints import HistoryConstraint
    from sfumato.kinds.tables.methods import recoding

    monkeypatch.setattr(recoding, "constrain_task", lambda task, **_: HistoryConstraint.first(task.data))
    with pytest.raises(
        Infeasible, match="4 people do not reach the required level in their joint equivalence classes, over 2 releases"
    ):
        published_twice(tmp_path, "mondrian", "distinct")


def test_what_was_promised_before_is_judged_with_a_policy_that_does_not_promise_it(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.workflow.publication.records_to_leave_out", lambda *_: frozenset())  # nobody waits
    from sfumato.history.constrain.constraints import HistoryConstraint
    from sfumato.kinds.tables.methods import recoding

    ledger = tmp_path / "book.ledger"
    publish(release_policy("mondrian", "distinct", "b"), FOUR, seed=SEED, ledger=ledger, new_ledger=True).write(
        tmp_path / "r1", report=False
    )
    later = release_policy("mondrian", "anonymity", "a")
    assert publish(later, FOUR, seed=SEED, ledger=ledger).certificate.holds
    monkeypatch.setattr(recoding, "constrain_task", lambda task, **_: HistoryConstraint.first(task.data))
    with pytest.raises(Infeasible, match="earlier promises"):
        publish(later, FOUR, seed=SEED, ledger=ledger)


def test_a_promise_to_somebody_who_knows_less_replaces_none(tmp_path):
    """Both tables exact would tell everything to who knows a and b, whom the first release counted on."""
    data = {**FOUR, "c": ["k"] * 4}

    def declared(shown, claim):
        columns = {name: {"role": "quasi-identifier", "publish": name in shown} for name in ("a", "b", "c")}
        tree = {
            "version": 1,
            "columns": {"id": "identifier", **columns, "s": "sensitive"},
            "protect": [claim],
            "key": "id",
        }
        return Policy.parse(tree)

    first, narrow = {"l-diversity": {"l": 2}}, {"given": ["c"], "hide": "s", "by": {"l-diversity": {"l": 2}}}
    ledger = tmp_path / "book.ledger"
    publish(declared("a", first), data, seed=SEED, ledger=ledger, new_ledger=True).write(tmp_path / "r1", report=False)
    second = publish(declared("bc", narrow), data, seed=SEED, ledger=ledger)
    assert any(finding.model == "earlier promises" and finding.holds for finding in second.certificate.findings)
    assert set(second.release.parts["data"].table.column("b").to_pylist()) == {"*"}
    again = publish(declared("bc", first), data, seed=SEED, ledger=ledger)
    assert not any(finding.model == "earlier promises" for finding in again.certificate.findings)


def test_check_says_what_the_past_binds_and_refuses_what_cannot_be_judged(tmp_path):
    ledger = tmp_path / "book.ledger"
    publish(release_policy("mondrian", "distinct", "b"), FOUR, seed=SEED, ledger=ledger, new_ledger=True).write(
        tmp_path / "r1", report=False
    )
    said = list(forecast_publish(release_policy("mondrian", "distinct", "a"), ledger=ledger).sentences())
    assert any("stands at l 2" in sentence for sentence in said)


def test_too_many_withheld_is_refused(tmp_path):
    ledger = tmp_path / "book.ledger"
    publish(release_policy("mondrian", "distinct", "b"), FOUR, seed=SEED, ledger=ledger, new_ledger=True).write(
        tmp_path / "r1", report=False
    )
    left = {name: values[1:] for name, values in FOUR.items()}
    tree = release_policy("mondrian", "distinct", "a").document.tree | {"utility": {"suppress_at_most": "10%"}}
    with pytest.raises(Infeasible, match="would be suppressed"):
        publish(Policy.parse(tree), left, seed=SEED, ledger=ledger)
