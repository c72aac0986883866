"""The ledger: whole entries or none, a chain that shows every change, and no folder without its entry."""

import json
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sfumato.core.errors import LedgerError, PolicyError
from sfumato.history.ledger import Ledger
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED

from .stories import people, policy, random_generator, release

SOURCE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A ledger with three releases."""
    path = tmp_path_factory.mktemp("book")
    table = people(random_generator(2), 6)
    table["s"] = ["s0", "s1", "s2", "s3", "s0", "s1"]
    for columns in (["a", "b"], ["b", "s"], ["a", "s"]):
        release(path, columns, table)
    return path


def test_a_new_ledger_is_private_and_its_chain_holds(book):
    assert stat.S_IMODE(os.stat(book / "book.ledger").st_mode) == 0o600
    assert Ledger(book / "book.ledger").verify() == 3
    bodies = [entry.body for entry in Ledger(book / "book.ledger").entries()]
    assert [body["seed"] for body in bodies] == [SEED] * 3
    assert all(body["certificate"]["holds"] for body in bodies)


def test_entries_cannot_be_changed_or_removed_through_the_database(book):
    base = sqlite3.connect(book / "book.ledger")
    for change in ("UPDATE entries SET body = '{}'", "DELETE FROM entries WHERE number = 3", "DELETE FROM files"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            base.execute(change)
    base.close()


def test_a_changed_byte_is_found_or_belongs_to_nothing(book, tmp_path):
    content = (book / "book.ledger").read_bytes()
    whole = _everything(Ledger(book / "book.ledger"))
    rng = random.Random(7)
    found = 0
    for _ in range(150):
        place = rng.randrange(len(content))
        copy = tmp_path / "copy.ledger"
        copy.write_bytes(content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :])
        try:
            Ledger(copy).verify()
        except LedgerError:
            found += 1
            continue
        assert _everything(Ledger(copy)) == whole
    assert found > 50


def _everything(ledger):
    return [(entry.number, dict(entry.body), entry.digest, ledger.files(entry.number)) for entry in ledger.entries()]


def test_a_swapped_part_is_found_even_by_somebody_who_switches_the_triggers_off(book, tmp_path):
    copy = tmp_path / "copy.ledger"
    copy.write_bytes((book / "book.ledger").read_bytes())
    base = sqlite3.connect(copy)
    base.execute("DROP TRIGGER keep_files")
    base.execute("UPDATE files SET content = content || X'00' WHERE entry = 2 AND name = 'data.csv'")
    base.execute(
        "CREATE TRIGGER keep_files BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    )
    base.commit()
    base.close()
    with pytest.raises(LedgerError, match="entry 2"):
        Ledger(copy).verify()


def test_the_release_folder_holds_nothing_of_the_ledger_but_its_head(book):
    for number in (1, 2, 3):
        for file in (book / f"release-{number}").rglob("*"):
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                assert "p0" not in text
                assert "seed" not in text
                said = json.loads(text)["ledger"] if file.name == "certificate.json" else {}
                assert json.dumps(said)[1:-1].lower().count("ledger") == 0
                assert set(said) <= {"release", "head"}


def test_verification_against_the_ledger_and_only_its_own(book, tmp_path):
    assert verify(book / "release-3", ledger=book / "book.ledger").holds
    other = tmp_path / "other"
    other.mkdir()
    release(other, ["a", "s"], people(random_generator(4), 8))
    with pytest.raises(LedgerError, match="does not know"):
        verify(book / "release-3", ledger=other / "book.ledger")


def test_an_entry_can_be_written_out_again(book, tmp_path):
    Ledger(book / "book.ledger").restore(3, tmp_path / "again")
    assert verify(tmp_path / "again", ledger=book / "book.ledger").holds


def test_two_writers_at_once_one_is_told_to_retry(tmp_path):
    table = people(random_generator(9), 6)
    table["s"] = ["s0", "s1", "s2", "s3", "s0", "s1"]
    first = publish(policy(["a", "s"]), table, ledger=tmp_path / "book.ledger", new_ledger=True)
    second = publish(policy(["b", "s"]), table, ledger=tmp_path / "book.ledger", new_ledger=True)
    first.write(tmp_path / "one", report=False)
    with pytest.raises(LedgerError, match="meantime"):
        second.write(tmp_path / "two", report=False)
    assert not (tmp_path / "two").exists()
    impatient = Ledger(tmp_path / "book.ledger", patience=0.05)
    with (
        Ledger(tmp_path / "book.ledger").writing(),
        pytest.raises(LedgerError, match="being entered"),
        impatient.writing(),
    ):
        pass
    assert Ledger(tmp_path / "book.ledger").verify() == 1


def test_a_ledger_needs_a_key_and_is_recognised(tmp_path):
    keyless = policy(["a", "s"])
    from dataclasses import replace

    with pytest.raises(PolicyError, match="key"):
        publish(replace(keyless, key=()), people(random_generator(1), 4), ledger=tmp_path / "x.ledger", new_ledger=True)
    (tmp_path / "no.ledger").write_bytes(b"not a database at all, only some text that is long enough" * 20)
    with pytest.raises(LedgerError):
        Ledger(tmp_path / "no.ledger").entries()
    base = sqlite3.connect(tmp_path / "other.db")
    base.execute("CREATE TABLE t (x)")
    base.commit()
    base.close()
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger(tmp_path / "other.db").entries()


KILLER = """
    import os, signal, sys
    sys.path.insert(0, {root!r})
    from tests.sequential.stories import people, policy, random_generator
    from sfumato.workflow.publish import publish
    from pathlib import Path
    def run(folder, step):
        table = people(random_generator(2), 6)
        table["s"] = ["s0", "s1", "s2", "s3", "s0", "s1"]
        folder.mkdir()
        publication = publish(policy(["a", "s"]), table, ledger=folder / "book.ledger", new_ledger=True)
        calls = 0
        def tracer(frame, event, argument):
            nonlocal calls
            if not any(place in frame.f_code.co_filename for place in ("history/ledger/", "release/folder.py", "workflow/write.py")):
                return None
            if event in ("call", "return"):
                calls += 1
                if calls == step:
                    os.kill(os.getpid(), signal.SIGKILL)
            return tracer
        sys.settrace(tracer)
        publication.write(folder / "out", report=False)
        sys.settrace(None)
        return calls
    def killed_at(step, folder):
        child = os.fork()
        if child == 0:
            run(folder, step)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    home = Path({folder!r})
    run(home / "first", -1)  # whatever is loaded is loaded once, and not in every child
    total = run(home / "whole", -1)
    for step in (1, total // 2, total - 9, total - 6, total - 4, total - 2):
        print(killed_at(step, home / f"step{{step}}"))
"""  # noqa: E501


def test_a_kill_at_any_step_leaves_the_old_ledger_or_the_new_one_and_no_folder_without_its_entry(tmp_path):
    code = textwrap.dedent(KILLER.format(root=str(SOURCE), folder=str(tmp_path)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=280, check=False,
                          env={**os.environ, "PYTHONPATH": str(SOURCE / "src")}, cwd=SOURCE)  # fmt: skip
    assert done.stdout.split() == [str(-signal.SIGKILL)] * 6, done.stderr[-500:]
    outcomes = set()
    for folder in tmp_path.glob("step*"):
        ledger = Ledger(folder / "book.ledger", new=True)  # killed before it was made, it is not there
        entries = ledger.verify()
        assert entries in (0, 1)
        if (folder / "out").exists():
            assert entries == 1
            assert verify(folder / "out", ledger=folder / "book.ledger").holds
        outcomes.add((entries, (folder / "out").exists()))
    assert (0, False) in outcomes
    assert (1, True) in outcomes or (1, False) in outcomes
