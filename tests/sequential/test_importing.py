"""A release that was made elsewhere is entered, judged with the others, and binds the next one."""

import csv

import pytest

from sfumato.core.errors import DataError
from sfumato.history.ledger import Ledger
from sfumato.workflow.import_release import import_release
from sfumato.workflow.publish import publish
from tests.secret import SEED

from .test_forgetting import office, office_policy


def written(path, table, names):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*(table[name] for name in names), strict=True))
    return path


def decades(table):
    return table | {"age": [f"{age[0]}0-{age[0]}9" for age in table["age"]]}


@pytest.mark.parametrize("keyed", [False, True])
def test_an_imported_release_is_judged_and_binds_the_next_one(tmp_path, keyed):
    names = ["age", "s", "id"] if keyed else ["age", "s"]
    file = written(tmp_path / "old.csv", decades(office()), names)
    entry, found = import_release(office_policy(), file, original=office(), ledger=tmp_path / "book", new_ledger=True)
    assert entry.imported
    assert all(finding.holds for finding in found if finding.hide)
    second = publish(office_policy(), office(), seed=SEED, ledger=tmp_path / "book")
    assert second.certificate.holds
    assert len(second.history) == 2
    assert second.findings[0].reason.endswith("over 2 releases")
    assert Ledger(tmp_path / "book").verify() == 1


def test_rows_that_could_be_several_people_need_a_key(tmp_path):
    mixed = decades(office())
    mixed["age"][0] = "*"
    file = written(tmp_path / "old.csv", mixed, ["age", "s"])
    with pytest.raises(DataError, match="who is behind which row"):
        import_release(office_policy(), file, original=office(), ledger=tmp_path / "book", new_ledger=True)


def test_what_does_not_hold_is_entered_and_said(tmp_path):
    alone = office() | {"s": ["flu"] * 24}
    file = written(tmp_path / "old.csv", alone, ["age", "s", "id"])
    entry, found = import_release(office_policy(), file, original=alone, ledger=tmp_path / "book", new_ledger=True)
    assert not found[0].holds
    assert entry.body["certificate"]["holds"] is False
