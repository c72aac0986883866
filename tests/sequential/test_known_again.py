"""A fresh start that is none: other keys, another name for a hidden column, and outsiders who are taken to forget."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.errors import AuditRefused, Infeasible, LedgerError
from sfumato.data.table import Table
from sfumato.history.published_cells import RememberedValues
from sfumato.history.record_identity import other_name, other_rows
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import WHOSE
from sfumato.workflow.forecast import forecast_publish
from sfumato.workflow.import_release import import_release
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED

PEOPLE = 48


def policy(quasi, hidden="illness", key="id", method="mondrian", **series):
    columns = {"id": "identifier", "number": "identifier", quasi: "quasi-identifier", hidden: "sensitive"}
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [{"l-diversity": {"l": 2}}],
        "key": key,
        "method": {method: {}},
    }
    return Policy.parse(tree | {"series": series})


def table(quasi, each, hidden="illness", people=range(PEOPLE), name="p{}"):
    return {
        "id": [name.format(i) for i in people],
        "number": [str(1000 + i) for i in people],
        quasi: [str(i % each) for i in people],
        hidden: ["ABCD"[i // 6 % 4] for i in people],
    }


@pytest.fixture
def book(tmp_path):
    made = publish(policy("age"), table("age", 6), seed=SEED, ledger=tmp_path / "book", new_ledger=True)
    made.write(tmp_path / "r1", report=False)
    return tmp_path / "book"


@pytest.mark.parametrize("method", ["mondrian", "sequential", "anatomy", "guardian"])
def test_people_whom_nobody_knows_again_are_refused(book, method):
    with pytest.raises(Infeasible, match="nobody in the table was in an earlier release"):
        publish(policy("region", method=method), table("region", 4, name="P{}"), seed=SEED, ledger=book)
    with pytest.raises(Infeasible, match="nobody in the table was in an earlier release"):
        publish(policy("region", key="number", method=method), table("region", 4), seed=SEED, ledger=book)


def test_one_who_is_known_again_is_enough_and_may_be_of_any_release(book, tmp_path):
    second = table("age", 6, people=range(20, 80))
    publish(policy("age"), second, seed=SEED, ledger=book).write(tmp_path / "r2", report=False)
    third = table("age", 6, people=[0, *range(100, 130)])  # in the first release, not in the second
    assert publish(policy("age"), third, seed=SEED, ledger=book).certificate.records.published >= 30


@pytest.mark.parametrize("method", ["mondrian", "sequential", "anatomy"])
def test_a_hidden_column_under_another_name_is_refused(book, method):
    """Each release by itself leaves two illnesses; who is 0 years old and of region 1 has one."""
    with pytest.raises(Infeasible, match="'diagnosis' says of everybody what 'illness' said"):
        publish(policy("region", "diagnosis", method=method), table("region", 4, "diagnosis"), seed=SEED, ledger=book)


def test_the_audit_finds_another_name_by_itself(book, monkeypatch):
    monkeypatch.setattr("sfumato.history.constrain.constraints.require_no_renamed_column", lambda *_: None)
    with pytest.raises(AuditRefused, match="one column under two names"):
        publish(policy("region", "diagnosis"), table("region", 4, "diagnosis"), seed=SEED, ledger=book)


def test_another_column_that_is_no_other_name_is_published(book, tmp_path):
    data = table("region", 4, "diagnosis")
    data["diagnosis"][3] = "D"  # one of 48 has something else
    publish(policy("region", "diagnosis"), data, seed=SEED, ledger=book).write(tmp_path / "r2", report=False)
    assert verify(tmp_path / "r2", ledger=book, original=data).holds


def _remembered(**columns):
    values, many = RememberedValues(), len(columns["x"])
    values.add(Table(pa.table(columns)), np.arange(many), many)
    return values


def test_what_may_be_chance_is_no_other_name():
    same = list("AB" * 20)
    assert other_name(_remembered(x=same, y=same), ["x"], []) == ("x", "y")
    assert other_name(_remembered(x=same, y=same), ["x"], ["y"]) is None, (
        "they stand in one table, or are tied by others"
    )
    assert other_name(_remembered(x=same, y=[*same[:-1], "A"]), ["x"], []) is None
    few = list("AB" * 5)
    assert other_name(_remembered(x=few, y=few), ["x"], []) is None
    rare = [*"AAAA", *"B" * 36]
    assert other_name(_remembered(x=rare, y=rare), ["x"], []) is None


def visits(quasi, each, name="v{}", **more):
    """Two visits of everybody, with illnesses of their own."""
    rows = range(2 * PEOPLE)
    data = {"id": [name.format(i) for i in rows], "number": [f"person {i // 2}" for i in rows]}
    return data | {
        quasi: [str(i // 2 % each) for i in rows],
        "illness": ["ABCD"[(i // 2 + i // 12 + 3 * i) % 4] for i in rows],
        **more,
    }


def of_people(quasi, rows="unlinked", method="mondrian", **column):
    columns = {
        "id": "identifier",
        "number": "identifier",
        quasi: "quasi-identifier",
        "illness": {"role": "sensitive", **column},
    }
    tree = {"version": 1, "columns": columns, "protect": [{"l-diversity": {"l": 2}}], "key": "id", "method": method}
    return Policy.parse(tree | {"person": {"columns": "number", "rows": rows}})


WAYS = [("unlinked", "mondrian"), ("linked", {"linked": {"groups": "mondrian"}})]


@pytest.fixture(params=WAYS, ids=["unlinked", "linked"])
def visited(request, tmp_path):
    made = publish(
        of_people("age", *request.param), visits("age", 6), seed=SEED, ledger=tmp_path / "visits", new_ledger=True
    )
    made.write(tmp_path / "r1", report=False)
    return tmp_path / "visits", request.param


def test_rows_of_people_under_other_keys_are_refused(visited, monkeypatch):
    """People are known by their names, and every row would be a new one of somebody who is known."""
    ledger, way = visited
    renamed = visits("region", 4, name="V{}")
    with pytest.raises(
        Infeasible, match="rows of people say again in 'illness' what rows of theirs said that are gone"
    ):
        publish(of_people("region", *way), renamed, seed=SEED, ledger=ledger)
    monkeypatch.setattr("sfumato.history.constrain.constraints.require_rows_recognized", lambda *_: None)
    with pytest.raises(AuditRefused, match="the same rows under other keys"):
        publish(of_people("region", *way), renamed, seed=SEED, ledger=ledger)


def test_rows_that_are_really_new_are_published(visited, tmp_path):
    ledger, way = visited
    other = visits("age", 6, name="V{}", illness=["ABCD"[(i // 2 + i // 8 + i + 1) % 4] for i in range(2 * PEOPLE)])
    publish(of_people("age", *way), other, seed=SEED, ledger=ledger).write(tmp_path / "r2", report=False)
    assert verify(tmp_path / "r2", ledger=ledger, original=other).holds


def test_a_value_that_stays_over_releases_is_said_to_stay(tmp_path):
    """One row of everybody at a time: no table shows that it stays, and both together give it away."""

    def some(quasi, each, name):
        return {key: values[:24:2] for key, values in visits(quasi, each, name).items()}

    ledger = tmp_path / "few"
    publish(of_people("age"), some("age", 2, "v{}"), seed=SEED, ledger=ledger, new_ledger=True).write(
        tmp_path / "r1", report=False
    )
    with pytest.raises(
        Infeasible, match="'illness' stays the same for 100% of the people with several rows in all releases"
    ):
        publish(of_people("region"), some("region", 3, "V{}"), seed=SEED, ledger=ledger)
    assert publish(
        of_people("region", persistent=False), some("region", 3, "V{}"), seed=SEED, ledger=ledger
    ).certificate.holds


def _rows_of(before, now):
    """Records of people 0, 1, …, gone and new, by what they say."""
    told = [(person, value) for some in (before, now) for person, values in enumerate(some) for value in values]
    values, gone = RememberedValues(), sum(map(len, before))
    values.add(
        Table(pa.table({WHOSE: [str(p) for p, _ in told], "x": [v for _, v in told]})), np.arange(len(told)), len(told)
    )
    return other_rows(values, ["x"], np.arange(gone, len(told)), np.arange(gone))


def test_what_may_be_chance_is_no_sign_of_the_same_rows():
    bags = ["AB", "C", "AAC", "B"] * 8
    assert _rows_of(bags, [values[::-1] for values in bags]) == "x", "in whichever order"
    assert _rows_of(bags[:19], bags[:19]) is None, "so few people"
    assert _rows_of(["A"] * 60 + ["B"] * 4, ["A"] * 60 + ["B"] * 4) is None, "nearly everybody says the same"
    assert _rows_of(["A"] * 60 + ["B"] * 9, ["A"] * 60 + ["B"] * 9) == "x"
    assert _rows_of(["A"] * 60 + ["B"] * 9, ["A"] * 61 + ["B"] * 8) is None, "one of nine says something else"
    assert _rows_of(bags, [*(values + "A" for values in bags[:24]), *bags[24:]]) is None, "most have one more row"


def test_outsiders_who_knew_who_is_there_do_not_forget_it(book):
    """Whoever left would be told by what is missing; the first release promised that they would not."""
    with pytest.raises(LedgerError, match="release 1 promised"):
        publish(policy("age", cohorts="unknown"), table("age", 6), seed=SEED, ledger=book)
    declared = policy("age", cohorts="unknown")
    with pytest.raises(LedgerError, match="release 1 promised"):
        forecast_publish(declared, ledger=book)


def test_the_audit_does_not_forget_it_either(book, monkeypatch):
    """One of eight leaves: that says nothing to who does not know who is there, and the value of who left to others."""
    monkeypatch.setattr("sfumato.workflow.publication.records_to_leave_out", lambda *_: frozenset())  # nobody waits
    stay = table("age", 6, people=[i for i in range(PEOPLE) if i != 7])
    monkeypatch.setattr("sfumato.workflow.publish.require_no_weaker_adversary", lambda *_: None)
    with pytest.raises(Infeasible, match="in their joint equivalence classes"):
        publish(policy("age", cohorts="unknown"), stay, seed=SEED, ledger=book)
    monkeypatch.setattr("sfumato.history.judge.series.is_membership_known", lambda *_: False)
    assert publish(policy("age", cohorts="unknown"), stay, seed=SEED, ledger=book).certificate.holds


def test_a_release_from_elsewhere_is_about_people_who_are_known(book, tmp_path):
    data = table("region", 4, name="P{}")
    rows = zip(*data.values(), strict=True)
    (tmp_path / "old.csv").write_text("\n".join([",".join(data), *map(",".join, rows)]), encoding="utf-8")
    with pytest.raises(Infeasible, match="nobody in the table was in an earlier release"):
        import_release(policy("region"), tmp_path / "old.csv", original=data, ledger=book)
