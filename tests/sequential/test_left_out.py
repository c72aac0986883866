"""A hidden column that a later release leaves out is still promised: methods look after what was told of it."""

import random

import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible
from sfumato.policy.policy import Policy
from tests.secret import SEED
from tests.slow import SLOW

WAYS = {
    "mondrian": {"method": "mondrian"},
    "counterfeits": {"method": "clustering", "series": {"leaving": "counterfeits"}},
    "unlinked": {"method": "mondrian", "person": "patient"},
    "linked": {"method": {"linked": {"groups": "mondrian"}}, "person": {"columns": "patient", "rows": "linked"}},
}


def policy(way, hidden, claims):
    said = {} if "person" not in WAYS[way] else {"persistent": False}
    columns = {
        "visit": "identifier",
        "patient": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 20]}},
    }
    columns |= {"zip": "quasi-identifier"} | {name: {"role": "sensitive", **said} for name in hidden}
    tree = {"version": 1, "columns": columns, "protect": claims, "key": "visit", "utility": {"suppress_at_most": "60%"}}
    return Policy.parse(tree | WAYS[way])


def table(way, seed, people):
    draw, rows = random.Random(seed), []
    for person in range(people):
        for visit in range(1 if "person" not in WAYS[way] else draw.choice([1, 1, 2])):
            values = {"age": str(draw.randint(20, 60)), "zip": draw.choice("abcd")}
            values |= {"illness": draw.choice("ABCDE"), "ward": draw.choice("XYZ")}
            rows.append({"visit": f"v{person}.{visit}", "patient": f"p{person}", **values})
    return rows


def columns_of(rows, *without):
    return {name: [row[name] for row in rows] for name in rows[0] if name not in without}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_told_of_a_column_that_is_left_out_is_looked_after(tmp_path, way):
    """In the data or not: what was told is remembered. Some leave and some come in between."""
    both = [{"l-diversity": {"l": 2}}, {"k-anonymity": {"k": 3}}]
    for seed in range(4 if SLOW else 2):
        rows, ledger = table(way, seed, 120), tmp_path / f"{seed}"
        stay = rows if way == "unlinked" else rows[6:]  # whoever leaves takes too many along there
        first, second = columns_of(rows[:110]), columns_of(stay, *(["ward"] if seed % 2 else []))
        publish = {"ledger": ledger, "seed": SEED}
        made = sf.publish(policy(way, ["illness", "ward"], both), data=first, new_ledger=True, **publish)
        made.write(tmp_path / f"{seed} first", report=False)
        later = sf.publish(policy(way, ["illness"], both), data=second, **publish)
        later.write(tmp_path / f"{seed} second", report=False)
        assert "ward" not in later.release.parts["data"].table.column_names
        assert sf.verify(tmp_path / f"{seed} second", ledger=ledger, original=second).holds
        third = sf.publish(policy(way, ["illness", "ward"], both), data=columns_of(stay), **publish)
        assert third.certificate.holds


def test_a_method_that_does_not_look_after_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.workflow.publication.records_to_leave_out", lambda *_: frozenset())  # nobody waits
    monkeypatch.setattr("sfumato.kinds.tables.methods.recoding_history._told_elsewhere", lambda *_: {})
    claims, data = [{"l-diversity": {"l": 2}}], columns_of(table("mondrian", 0, 120))
    made = sf.publish(
        policy("mondrian", ["illness", "ward"], claims), data=data, ledger=tmp_path / "b", new_ledger=True, seed=SEED
    )
    made.write(tmp_path / "r", report=False)
    with pytest.raises(Infeasible, match="earlier promises: l-diversity of illness, ward"):
        sf.publish(policy("mondrian", ["illness"], claims), data=data, ledger=tmp_path / "b", seed=SEED)


def test_a_release_that_hangs_on_nothing_hidden_is_bound_by_nothing(tmp_path):
    claims, data = [{"l-diversity": {"l": 2}}], columns_of(table("mondrian", 0, 120))
    made = sf.publish(
        policy("mondrian", ["ward"], claims), data=data, ledger=tmp_path / "b", new_ledger=True, seed=SEED
    )
    made.write(tmp_path / "r", report=False)
    alone = sf.publish(policy("mondrian", ["illness"], claims), data=data, seed=SEED)
    after = sf.publish(policy("mondrian", ["illness"], claims), data=data, ledger=tmp_path / "b", seed=SEED)
    assert after.release.parts["data"].table == alone.release.parts["data"].table
