"""What a ledger refuses is refused for what it is, with a way out that is open."""

import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, DataError, Infeasible
from sfumato.policy.policy import Policy
from tests.secret import SEED

VISITS = {
    "visit": [f"v{i}" for i in range(16)],
    "patient": [f"p{i % 8}" for i in range(16)],
    "age": [str(30 + i % 8 // 2) for i in range(16)],
    "illness": ["ABCD"[(i + i // 8) % 4] for i in range(16)],
}
TREE = {
    "version": 1,
    "columns": {
        "visit": "identifier",
        "patient": "identifier",
        "age": "quasi-identifier",
        "illness": {"role": "sensitive", "persistent": False},
    },
    "protect": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"l": 2}}],
    "key": "visit",
    "utility": {"suppress_at_most": "90%"},
}
PLAIN = TREE | {"columns": TREE["columns"] | {"illness": "sensitive"}, "method": "mondrian"}
WAYS = {
    "plain": PLAIN,
    "unlinked": TREE | {"person": "patient", "method": "mondrian"},
    "linked": TREE | {"person": {"columns": "patient", "rows": "linked"}, "method": {"linked": {"groups": "mondrian"}}},
}


def publish(folder, tree, data=VISITS, **more):
    """The next release of a ledger, written."""
    ledger = folder / "book"
    made = sf.publish(Policy.parse(tree | more), data=data, seed=SEED, ledger=ledger, new_ledger=not ledger.exists())
    made.write(folder / f"r{len(list(folder.iterdir()))}", report=False)
    return made


def without(*rows):
    return {name: [value for row, value in enumerate(values) if row not in rows] for name, values in VISITS.items()}


@pytest.mark.parametrize("way", [WAYS["unlinked"], WAYS["linked"]], ids=["unlinked", "linked"])
def test_a_column_that_outsiders_did_not_know_is_no_quasi_identifier_later(tmp_path, way):
    """No method can take back what the first release says of it."""
    publish(tmp_path, way)
    columns = way["columns"] | {"illness": "quasi-identifier"}
    with pytest.raises(
        Infeasible, match="'illness' is known to outsiders in this policy and was hidden to those of release 1"
    ):
        publish(tmp_path, way, columns=columns, protect=[{"k-anonymity": {"k": 2}}])


def test_a_level_that_earlier_releases_fall_below_is_said_to_be_out_of_reach(tmp_path):
    """Whoever stood among four can be left out now, and stands among four for ever."""
    uneven = VISITS | {"age": ["30"] * 4 + ["40"] * 12}
    publish(tmp_path, PLAIN, uneven)
    with pytest.raises(
        Infeasible, match="earlier releases leave k-anonymity at k 4, and no further release can raise it"
    ):
        publish(tmp_path, PLAIN, uneven, protect=[{"k-anonymity": {"k": 5}}])


@pytest.mark.parametrize("kind", ["unlinked", "linked"])
def test_values_of_people_that_changed_are_not_helped_by_what_check_refuses(tmp_path, kind):
    publish(tmp_path, WAYS[kind])
    with pytest.raises(Infeasible, match="1 in 'illness'") as refused:
        publish(tmp_path, WAYS[kind], VISITS | {"illness": ["E", *VISITS["illness"][1:]]})
    assert "series" not in refused.value.hint


@pytest.mark.parametrize("leaving", ["withhold", "refuse"])
def test_nobody_stands_in_for_people_in_several_rows(tmp_path, leaving):
    publish(tmp_path, WAYS["unlinked"])
    with pytest.raises(Infeasible) as refused:
        publish(
            tmp_path,
            WAYS["unlinked"],
            without(0, 1, 2),
            series={"leaving": leaving},
            utility={"suppress_at_most": "1%"},
        )
    assert refused.value.hint and "counterfeits" not in refused.value.hint


@pytest.mark.parametrize("kind", ["unlinked", "linked"])
def test_a_row_of_nobody_is_not_called_another_person_s(tmp_path, kind):
    publish(tmp_path, WAYS[kind])
    with pytest.raises(DataError, match=r"1 row\(s\) do not say whose they are"):
        publish(tmp_path, WAYS[kind], VISITS | {"patient": [None, *VISITS["patient"][1:]]})


def test_the_audit_counts_no_rows_of_people_whose_known_values_changed(tmp_path, monkeypatch):
    """How many rows of somebody fit a class is told by values; with those of another time too few would be counted."""
    publish(tmp_path, WAYS["unlinked"])
    monkeypatch.setattr("sfumato.history.constrain.constraints.require_expected_changes", lambda *_: None)
    with pytest.raises(AuditRefused, match="values of 'age' changed between releases"):
        publish(tmp_path, WAYS["unlinked"], VISITS | {"age": ["31", *VISITS["age"][1:]]})


def test_two_tables_are_not_counted_as_one(tmp_path):
    people = {"patient": [f"p{i}" for i in range(8)], "sex": list("ffffmmmm")}
    columns = TREE["columns"] | {"sex": "quasi-identifier"}
    tree = TREE | {"person": {"columns": "patient", "rows": "linked"}, "columns": columns}
    made = sf.publish(
        Policy.parse(tree | {"data": {"source": "r", "people": "p"}}), data={"people": people, "rows": VISITS}
    )
    with pytest.raises(sf.SfumatoError, match="people and their rows are two tables; count lines"):
        sf.estimate(made)
