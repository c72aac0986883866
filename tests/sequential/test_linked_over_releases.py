"""Linked rows with a ledger: what all releases say about people together, held against all worlds of small
histories."""

from collections import Counter

import pytest

import sfumato as sf
from sfumato.audit.join_attack import JoinAttack
from sfumato.core.errors import LedgerError, PolicyError, SfumatoError
from sfumato.history.ledger.forgetting import forget
from sfumato.history.ledger.ledger import Ledger
from sfumato.kinds.tables.methods.row_multisets import PastRecords, RowMultisets
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import NO_ROW, WHOSE
from sfumato.workflow.import_release import import_release
from sfumato.workflow.plan import plan
from sfumato.workflow.report import render
from tests.people.linked_worlds_over_releases import (
    linked_history,
    published_related,
    related_history,
    related_violations,
)
from tests.people.linked_worlds_over_releases import linked_violations as violations
from tests.people.test_related_tables import case
from tests.people.worlds_over_releases import published
from tests.secret import SEED
from tests.slow import SLOW

CASES = 300 if SLOW else 3
RELATED = (0, 4, 6)
MONDRIAN = ("linked", {"groups": "mondrian"})
FOUND_OUT = (4, 8, 10)
"""Histories that say too much when each release is judged alone, and also when rows are counted in joint classes."""


def history_of(folder, seed, method=MONDRIAN):
    policy, records, here = linked_history(seed)
    (folder / f"{seed}").mkdir()
    return published(folder / f"{seed}", policy, records, here, method), records, policy, here


@pytest.mark.parametrize("groups", ["mondrian", "clustering", "refined"])
def test_nothing_is_too_sure_about_anybody_over_all_releases(tmp_path, groups):
    made = several = 0
    first = ["mondrian", "clustering", "refined"].index(
        groups
    ) * CASES  # each on others: most of what they do they share
    for seed in range(first, first + CASES):
        history, records, policy, _ = history_of(tmp_path, seed, ("linked", {"groups": groups, "seconds": 0.05}))
        if len(history) > 1:
            made += 1
            several += max(Counter(record["id"] for record in records).values()) > 1
            assert violations(history, records, policy) == [], (groups, seed)
    assert made >= CASES // 3 and several >= made // 2


def forgets_the_past(monkeypatch):
    monkeypatch.setattr(
        "sfumato.kinds.tables.methods.longitudinal.past_records", lambda task, policy: PastRecords.none(task.data)
    )


@pytest.mark.parametrize("counting", ["releases one by one", "rows for people"])
def test_other_ways_to_count_are_found_out(tmp_path, monkeypatch, counting):
    """The control: a method that forgets the past, and an audit that would let it pass."""
    forgets_the_past(monkeypatch)
    if counting == "rows for people":
        monkeypatch.setattr("sfumato.history.judge.series.links_rows", lambda history: False)
    else:
        monkeypatch.setattr("sfumato.audit.certify.together", lambda exhibit, alone: iter(alone))
    found = 0
    for seed in FOUND_OUT:
        history, records, policy, _ = history_of(tmp_path, seed)
        found += bool(violations(history, records, policy))
    assert found == len(FOUND_OUT)


def test_the_audit_refuses_a_method_that_forgets_the_past(tmp_path, monkeypatch):
    forgets_the_past(monkeypatch)
    for seed in FOUND_OUT:
        history, _, _, here = history_of(tmp_path, seed)
        assert len(history) < len(here)


def related_of(folder, seed):
    policy, people, rows = case(seed)
    told, releases = related_history(policy, people, rows, seed)
    (folder / f"related {seed}").mkdir(parents=True)
    made = published_related(folder / f"related {seed}", told, releases, "mondrian")
    return made, related_violations(made, people, rows, told) if len(made) > 1 else []


def test_people_and_their_rows_in_two_tables_are_counted_alike(tmp_path):
    made = lone = 0
    for seed in range(2 * CASES):
        history, wrong = related_of(tmp_path, seed)
        assert wrong == [], seed
        made += len(history) > 1
        lone += any(one.original.absent.any() for one in history[1:])
    assert made >= CASES // 2 and lone


def test_two_tables_that_are_judged_release_by_release_are_found_out(tmp_path, monkeypatch):
    forgets_the_past(monkeypatch)
    assert max(len(related_of(tmp_path / "refused", seed)[0]) for seed in RELATED) < 2
    monkeypatch.setattr("sfumato.audit.certify.together", lambda exhibit, alone: iter(alone))
    assert all(related_of(tmp_path / "found", seed)[1] for seed in RELATED)


VISITS = {
    "visit": [f"v{i}" for i in range(9)],
    "patient": ["a", "a", "b", "b", "c", "d", "e", "f", "f"],
    "age": ["30", "31", "30", "31", "32", "33", "32", "30", "33"],
    "illness": ["flu", "gout", "ulcer", "asthma", "flu", "gout", "gout", "ulcer", "flu"],
}
TREE = {
    "version": 1,
    "columns": {"visit": "identifier", "patient": "identifier", "age": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"l": 2}}],
    "key": "visit",
    "person": {"columns": "patient", "rows": "linked"},
    "utility": {"suppress_at_most": "60%"},
    "method": {"linked": {"groups": "mondrian"}},
}


def without(*patients):
    kept = [row for row, name in enumerate(VISITS["patient"]) if name not in patients]
    return {name: [values[row] for row in kept] for name, values in VISITS.items()}


def publish(folder, name, table, **more):
    made = sf.publish(
        Policy.parse(TREE | more), data=table, ledger=folder / "book", new_ledger=name == "first", seed=SEED
    )
    made.write(folder / name, report=False)
    return made


def shown(made):
    return Counter(row["person"] for row in made.release.parts["data"].table.to_pylist())


def test_somebody_who_comes_later_waits_until_others_do(tmp_path):
    """A row that nobody of the same past has is left out, and so is who has nobody else to be new with."""
    publish(tmp_path, "first", without("f"))
    second = publish(tmp_path, "second", VISITS)
    assert second.certificate.records.suppressed == 2
    assert len(shown(second)) == 5


def test_whoever_leaves_takes_companions_along_unless_the_policy_refuses(tmp_path):
    publish(tmp_path, "first", without("f"))
    with pytest.raises(SfumatoError, match="1 people of earlier releases are no longer in the table"):
        publish(tmp_path, "refused", without("f", "a"), series={"leaving": "refuse"})
    second = publish(tmp_path, "second", without("f", "a"))
    assert sorted(shown(second).values()) == [1, 1, 1]  # b, alone with two rows, is withheld beside a
    back = publish(tmp_path, "third", without("f"))
    assert sorted(shown(back).values()) == [1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"person": "patient", "method": "mondrian"}, "publishes rows that are tied"),
        ({"person": {"columns": "patient", "rows": "linked", "together": "home"}}, "whose rows they are"),
    ],
)
def test_a_later_release_ties_the_same_rows(tmp_path, more, why):
    publish(tmp_path, "first", VISITS)
    with pytest.raises(LedgerError, match=why):
        publish(tmp_path, "second", {**VISITS, "home": VISITS["patient"]}, **more)


def test_a_row_stays_with_its_person(tmp_path):
    publish(tmp_path, "first", VISITS)
    moved = {**VISITS, "patient": ["b", "a", "a", "b", *VISITS["patient"][4:]]}
    with pytest.raises(LedgerError, match="another person's"):
        publish(tmp_path, "second", moved)


def test_shifted_dates_are_not_remembered_and_tied_tables_not_imported(tmp_path):
    dated = TREE | {"columns": {**TREE["columns"], "day": {"role": "other", "dates": {"shift": 30}}}}
    with pytest.raises(PolicyError, match="two shifts of one date"):
        plan(Policy.parse(dated), remembering=True)
    with pytest.raises(PolicyError, match="cannot be imported"):
        import_release(
            Policy.parse(TREE), tmp_path / "data.csv", original=VISITS, ledger=tmp_path / "book", new_ledger=True
        )


def test_commands_on_the_ledger_count_people(tmp_path):
    publish(tmp_path, "first", without("f"))
    second = publish(tmp_path, "second", without("f"))
    assert "5 people in joint classes over 2 releases" in [finding.reason for finding in second.findings]
    assert "people below" in render(second.exhibit)
    assert sf.verify(tmp_path / "second", ledger=tmp_path / "book").holds
    joined = JoinAttack(ledger=str(tmp_path / "book")).run()["illness"]
    assert joined["people"] == 5 and joined["fewest_people_left"] == 2 and not joined["people_with_a_certain_value"]


def test_forgetting_somebody_takes_all_rows_out_and_leaves_the_others_judged(tmp_path):
    for name in ("first", "second"):
        publish(tmp_path, name, VISITS)
    ledger = Ledger(tmp_path / "book")
    assert forget(ledger, "a") == [1, 2]
    for past in ledger.history().releases:
        assert not {"v0", "v1"} & set(past.memory.keys)
        assert "a" not in past.memory.values.frame.column(WHOSE).to_pylist()
    assert publish(tmp_path, "third", without("a")).certificate.holds


PATIENTS = {"patient": list("abcdef"), "sex": list("fmfmff"), "blood": list("ABABAB")}
COLUMNS = {**TREE["columns"], "sex": "quasi-identifier", "blood": "sensitive"}


def test_somebody_without_rows_is_forgotten_and_remembered_as_such(tmp_path):
    """The line of a person has a key of its own, and stays the line of somebody when who it was is forgotten."""
    rows = without("c", "d")
    tree = {"columns": COLUMNS, "method": {"related": {"groups": "mondrian"}}, "data": {"source": "r", "people": "p"}}
    for name in ("first", "second"):
        publish(tmp_path, name, {"people": PATIENTS, "rows": rows}, **tree)
    ledger = Ledger(tmp_path / "book")
    assert forget(ledger, "c") == [1, 2]
    memory = ledger.history().releases[0].memory
    assert sum(key.startswith(NO_ROW) for key in memory.keys) == 2 and not any(
        key.endswith("\x1fc") for key in memory.keys
    )
    left = {
        name: [value for value, who in zip(values, PATIENTS["patient"], strict=True) if who != "c"]
        for name, values in PATIENTS.items()
    }
    third = publish(tmp_path, "third", {"people": left, "rows": rows}, **tree)
    assert third.certificate.holds and len(third.release.parts["people"]) < 6
    assert sf.verify(tmp_path / "third", ledger=tmp_path / "book").holds


@pytest.mark.parametrize("forgetful", [False, True])
def test_what_rows_told_that_are_gone_still_counts(tmp_path, monkeypatch, forgetful):
    """a and b could stand apart from c and d by what is left; but then whoever knows of a's second visit knows what it
    was."""
    monkeypatch.setattr("sfumato.workflow.publication.records_to_leave_out", lambda *_: frozenset())  # nobody waits
    data = {
        "visit": [f"v{i}" for i in range(8)],
        "patient": list("aabbccdd"),
        "age": ["30", "50", "30", "50", "40", "50", "40", "50"],
        "illness": ["flu", "ulcer", "gout", "ulcer", "flu", "asthma", "gout", "asthma"],
    }
    publish(tmp_path, "first", data, protect=[{"k-anonymity": {"k": 4}}, {"l-diversity": {"l": 2}}])
    left = {name: values[::2] for name, values in data.items()}
    if forgetful:
        monkeypatch.setattr(RowMultisets, "_slots_of", lambda self, name, kind: list(range(kind.told)))
        with pytest.raises(sf.Infeasible, match="in their joint equivalence classes"):
            publish(tmp_path, "second", left)
        return
    second = publish(tmp_path, "second", left)
    assert len({row["age"] for row in second.release.parts["data"].table.to_pylist()}) == 1


def test_a_hidden_column_may_come_later(tmp_path):
    """Rows that are gone told nothing of it, and ask for nothing."""
    publish(tmp_path, "first", without("f"))
    later = {"columns": {**TREE["columns"], "ward": "sensitive"}}
    data = {
        name: values[1:] for name, values in without("f").items()
    }  # v0 left, and v2, which looked like it, is left out
    second = publish(tmp_path, "second", {**data, "ward": list("123123")}, **later)
    assert sorted(shown(second).values()) == [1, 1, 1, 1, 1]
