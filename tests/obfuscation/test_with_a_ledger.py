"""Replaced tables in a ledger: blind draws are remembered and say nothing, kept columns are joined, everything else is
refused."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible, PolicyError, SfumatoError
from sfumato.history.ledger import Ledger
from sfumato.workflow.forecast import forecast_publish
from tests.secret import secret

PEOPLE = {
    "who": ["p1", "p2", "p3", "p4"],
    "age": ["30", "30", "40", "40"],
    "region": ["north", "south", "north", "south"],
    "illness": ["A", "B", "B", "A"],
    "income": ["1", "2", "3", "4"],
}
DRAWN = {"role": "replaced", "domain": {"integers": [1, 9]}}


def recoded(columns, **more):
    roles = {"who": "identifier"} | dict.fromkeys(columns, "quasi-identifier") | {"illness": "sensitive"}
    tree = {
        "version": 1,
        "columns": roles,
        "key": "who",
        "protect": [{"l-diversity": {"l": 2}}],
        "method": {"mondrian": {}},
    }
    return sf.Policy.parse(tree | more)


def replaced(columns, keep=(), method=None, **roles):
    roles = {"who": "identifier"} | columns | roles
    tree = {"version": 1, "columns": roles, "key": "who", "keep": list(keep), "method": method or {"obfuscation": {}}}
    return sf.Policy.parse(tree)


def enter(tmp_path, policy, name, data=PEOPLE):
    book = tmp_path / "office.ledger"
    used = {column: data[column] for column in data if column in policy.columns}
    made = sf.publish(policy, data=used, ledger=book, new_ledger=not book.exists(), seed=secret(1))
    made.write(tmp_path / name, report=False)
    return made, book, used


def test_a_blind_draw_is_remembered_and_nothing_hangs_on_it(tmp_path):
    enter(tmp_path, recoded(["age"]), "r1")
    made, book, used = enter(tmp_path, replaced({"income": DRAWN}), "r2")
    assert made.certificate.holds
    assert Ledger(book).history().releases[-1].sheets == ()
    assert sf.verify(tmp_path / "r2", ledger=book, original=used).holds
    third, _, used = enter(tmp_path, recoded(["age"]), "r3")
    assert third.certificate.holds
    assert sf.verify(tmp_path / "r3", ledger=book, original=used).holds
    assert "tell nothing" in " ".join(forecast_publish(replaced({"income": DRAWN}), ledger=book).sentences())


def test_columns_that_are_published_as_they_are_are_joined(tmp_path):
    """Example 1.1 of the paper with its second table published beside new incomes."""
    enter(tmp_path, recoded(["age"]), "r1")
    plain = {"region": "quasi-identifier", "illness": "sensitive", "income": DRAWN}
    with pytest.raises(SfumatoError, match="earlier promises"):
        enter(tmp_path, replaced(plain), "r2")
    alone = {"region": "other", "income": DRAWN}
    assert enter(tmp_path, replaced(alone), "r2")[0].certificate.holds
    (sheet,) = Ledger(tmp_path / "office.ledger").history().releases[-1].sheets
    assert set(sheet.columns) == {"region"}


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        (replaced({"income": DRAWN}, ["income <= original.income"]), "looks at the original"),
        (replaced({"income": {"role": "replaced", "domain": {"integers": [1, 9], "weights": "original"}}}), "learned"),
        (replaced({"income": DRAWN}, method={"obfuscation": {"engine": "blocks"}}), "LM\\* looks at the original"),
        (
            replaced({"income": DRAWN}, ["localities(income) sample 0.5 partition 4"], {"pattern-walk": {}}),
            "without a ledger",
        ),
    ],
)
def test_what_looks_at_the_original_is_refused_before_data_moves(policy, word, tmp_path):
    with pytest.raises(PolicyError, match=word):
        forecast_publish(policy, ledger=tmp_path / "new.ledger")


def test_databases_are_refused_before_data_moves(tmp_path):
    tree = {"version": 1, "data": {"kind": "database", "source": "sqlite:///nowhere.db", "target": "sqlite:///t.db"}}
    tree["columns"] = {"people.name": {"role": "replaced", "domain": {"values": ["a"]}}}
    with pytest.raises(PolicyError, match="cannot keep a database"):
        forecast_publish(sf.Policy.parse(tree | {"method": {"relational": {}}}), ledger=tmp_path / "new.ledger")


def test_marks_that_stay_and_solver_blocks_are_refused_with_the_data(tmp_path):
    gaps = PEOPLE | {"income": ["1", "", "3", "4"]}
    with pytest.raises(Infeasible, match="missing values"):
        enter(tmp_path, replaced({"income": DRAWN}), "r1", gaps)
    filled = replaced({"income": DRAWN | {"domain": {"integers": [1, 9], "nulls": "drawn"}}})
    assert enter(tmp_path, filled, "r1", gaps)[0].certificate.holds
