"""Whoever is left out of a later release is known by that: `global` leaves whole history classes out, newcomers one by
one."""

import random
from collections import Counter

import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible
from sfumato.kinds.tables.methods.full_domain import FullDomain
from sfumato.policy.policy import Policy
from tests.secret import SEED


def policy(method, person=False, **more):
    ill = {"role": "sensitive", "persistent": False} if person else "sensitive"
    columns = {"visit": "identifier", "patient": "identifier", "zip": "quasi-identifier", "illness": ill}
    columns["age"] = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"l": 2}}],
        "key": "visit",
    }
    tree |= {"method": method, "utility": {"suppress_at_most": "50%"}} | ({"person": "patient"} if person else {})
    return Policy.parse(tree | more)


def table(seed, people=80, person=False):
    draw, rows = random.Random(seed), []
    for one in range(people):
        for visit in range(draw.choice([1, 1, 2]) if person else 1):
            said = {"age": str(draw.randint(20, 60)), "zip": draw.choice("abcd"), "illness": draw.choice("ABCDE")}
            rows.append({"visit": f"v{one}.{visit}", "patient": f"p{one}", **said})
    return {name: [row[name] for row in rows] for name in rows[0]}


def twice(folder, first, second, data, later=None):
    publish = {"ledger": folder / "book", "seed": SEED}
    one = sf.publish(first, data=data, new_ledger=True, **publish)
    one.write(folder / "first", report=False)
    return one, sf.publish(second, data=later or data, **publish)


@pytest.mark.parametrize("person", [False, True], ids=["people", "rows of people"])
def test_levels_for_everybody_follow_groups_of_their_own(tmp_path, person):
    for seed in range(4):
        (tmp_path / f"{seed}").mkdir()
        declared = [policy(method, person) for method in ("mondrian", "global")]
        assert twice(tmp_path / f"{seed}", *declared, table(seed, person=person))[1].certificate.holds


def test_a_history_class_is_left_out_as_a_whole_and_newcomers_one_by_one(tmp_path):
    everybody, newcomers = table(0, 120), 0
    first = {name: values[:80] for name, values in everybody.items()}
    one, two = twice(tmp_path, policy("mondrian"), policy("global"), first, everybody)
    before = dict(
        zip(one.release.trace.rows["data"].tolist(), one.release.parts["data"].table.to_pylist(), strict=True)
    )
    looks = {row: (cells["age"], cells["zip"]) for row, cells in before.items()}
    kept = set(two.release.trace.rows["data"].tolist())
    whole, here = Counter(looks.values()), Counter(look for row, look in looks.items() if row in kept)
    assert {here[look] for look in whole if here[look] != whole[look]} == {0}, (
        "some classes are missing, and none in part"
    )
    newcomers = sum(row in kept for row in range(80, 120))
    assert 0 < newcomers < 40


def test_a_history_of_one_class_is_not_divided_either(tmp_path):
    wide = policy("mondrian", protect=[{"k-anonymity": {"k": 41}}, {"l-diversity": {"l": 2}}])
    one, two = twice(tmp_path, wide, policy("global"), table(1))
    assert len({(row["age"], row["zip"]) for row in one.release.parts["data"].table.to_pylist()}) == 1
    assert two.certificate.records.suppressed == 0


def test_classes_that_are_left_out_in_part_are_found_out(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.workflow.publication.records_to_leave_out", lambda *_: frozenset())  # nobody waits
    monkeypatch.setattr(FullDomain, "_undivided", lambda self, inside: inside)
    with pytest.raises(Infeasible, match="in their joint equivalence classes"):
        twice(tmp_path, policy("mondrian"), policy("global"), table(0))
