"""Somebody is forgotten: nothing in the file tells who it was, the chain holds, and the next release is judged as
before."""

import pytest

from sfumato.core.errors import LedgerError
from sfumato.history.ledger import Ledger
from sfumato.history.ledger.forgetting import forget
from sfumato.policy.policy import Policy
from sfumato.ui.studio.work.releasing import timeline
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED

AGES = {"*": {"20-29": [str(n) for n in range(20, 30)], "30-39": [str(n) for n in range(30, 40)]}}


def office(count=24):
    return {
        "id": [f"zz-person-{n}" for n in range(count)],
        "age": [str(20 + (7 * n) % 20) for n in range(count)],
        "s": ["flu", "gout", "cold"] * (count // 3),
    }


def office_policy(**more):
    columns = {"id": "identifier", "age": {"role": "quasi-identifier", "hierarchy": AGES}, "s": "sensitive"}
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [{"l-diversity": {"l": 2}}],
        "key": "id",
        "method": "sequential",
    }
    return Policy.parse(tree | more)


@pytest.fixture
def book(tmp_path):
    for number in (1, 2):
        made = publish(office_policy(), office(), seed=SEED, ledger=tmp_path / "book", new_ledger=number == 1)
        made.write(tmp_path / f"r{number}", report=False)
    return tmp_path


def test_a_forgotten_person_is_nowhere_in_the_file_and_the_chain_holds(book):
    before = Ledger(book / "book").head()
    assert forget(Ledger(book / "book"), "zz-person-5") == [1, 2]
    content = (book / "book").read_bytes()
    assert b"zz-person-5" not in content
    ledger = Ledger(book / "book")
    keys = [past.memory.keys for past in ledger.history().releases]
    assert all("zz-person-5" not in names for names in keys)
    assert len({name for names in keys for name in names if name.startswith("forgotten")}) == 1
    assert ledger.verify() == 3
    assert ledger.verify(before) == 3
    assert verify(book / "r2", ledger=book / "book").holds


def test_the_next_release_is_judged_with_the_one_that_was_forgotten(book):
    forget(Ledger(book / "book"), "zz-person-5")
    left = {name: [v for n, v in enumerate(values) if n != 5] for name, values in office().items()}
    third = publish(office_policy(series={"leaving": "counterfeits"}), left, seed=SEED, ledger=book / "book")
    assert third.certificate.holds
    assert len(third.history) == 3


def test_an_exchanged_memory_without_an_entry_is_found(book):
    forget(Ledger(book / "book"), "zz-person-5")
    import sqlite3

    base = sqlite3.connect(book / "book")
    base.execute("DROP TRIGGER keep_files")
    base.execute("UPDATE files SET content = content || X'00' WHERE entry = 1 AND name = 'memory.arrow'")
    base.execute(
        "CREATE TRIGGER keep_files BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    )
    base.commit()
    base.close()
    with pytest.raises(LedgerError, match="exchanged"):
        Ledger(book / "book").verify()


def test_somebody_unknown_cannot_be_forgotten(book):
    with pytest.raises(LedgerError, match="remembers nobody"):
        forget(Ledger(book / "book"), "nobody")


def test_a_timeline_shows_the_releases_and_not_the_forgetting(book):
    forget(Ledger(book / "book"), "zz-person-5")
    told = timeline(lambda share, what: None, str(book / "book"))
    assert [entry["number"] for entry in told["entries"]] == [1, 2]
    assert told["wrong"] == ""
