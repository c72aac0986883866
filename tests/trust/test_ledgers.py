"""A ledger in the hands of somebody who can write it: what it may do to its reader, and what a certificate still
shows."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.core.errors import LedgerError, PolicyError, SfumatoError
from sfumato.history.ledger.entries import GENESIS, LedgerPlace
from sfumato.history.ledger.ledger import APPLICATION, FORMAT, SCHEMA, Ledger
from sfumato.io.plain_files import digest, is_inner
from sfumato.policy.policy import Policy
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.command_line import run
from tests.sequential.stories import people, policy, random_generator, release

TABLE = people(random_generator(2), 6) | {"s": ["s0", "s1", "s2", "s3", "s0", "s1"]}
Stored = list[tuple[dict, dict[str, bytes]]]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with three releases."""
    path = tmp_path_factory.mktemp("book")
    for columns in (["a", "b"], ["b", "s"], ["a", "s"]):
        release(path, columns, TABLE)
    return path


def stored(file: Path) -> Stored:
    """Body and files of every entry, read without the product."""
    base = sqlite3.connect(file)
    bodies = base.execute("SELECT number, body FROM entries ORDER BY number").fetchall()
    files = [
        dict(base.execute("SELECT name, content FROM files WHERE entry = ?", (number,)).fetchall())
        for number, _ in bodies
    ]
    base.close()
    return [(json.loads(body), content) for (_, body), content in zip(bodies, files, strict=True)]


def forged(entries: Stored, file: Path) -> Path:
    """A ledger with these entries in which every digest and every head was computed anew, as a careful forger leaves
    it."""
    base = sqlite3.connect(file)
    base.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {SCHEMA}")
    previous = GENESIS
    for number, (body, files) in enumerate(entries, start=1):
        if "salt" in body:
            digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
            body["certificate"]["ledger"] = {
                "release": number,
                "head": LedgerPlace(number, previous, body["salt"]).head(digests),
            }
        text = json.dumps(body, sort_keys=True, ensure_ascii=False)
        total = hashlib.sha256(previous.encode() + b"\0" + text.encode())
        for name, content in sorted(files.items()):
            total.update(b"\0" + name.encode() + b"\0" + hashlib.sha256(content).digest())
        base.executemany("INSERT INTO files VALUES (?, ?, ?)", [(number, *pair) for pair in sorted(files.items())])
        base.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (number, text, previous, total.hexdigest()))
        previous = total.hexdigest()
    base.commit()
    base.close()
    return file


def head_of(folder: Path) -> str:
    return str(json.loads((folder / "certificate.json").read_text())["ledger"]["head"])


# ---- heads -----------------------------------------------------------------------------------------------------------


def test_every_certificate_carries_a_head_that_its_ledger_has(book: Path) -> None:
    for number in (1, 2, 3):
        said = json.loads((book / f"release-{number}" / "certificate.json").read_text())["ledger"]
        assert said["release"] == number
        assert run("ledger", "verify", str(book / "book.ledger"), "--head", said["head"]).returncode == 0
        done = run(
            "ledger", "verify", str(book / "book.ledger"), "--release", str(book / f"release-{number}"), "--json"
        )
        assert json.loads(done.stdout)["release"] == number
        assert verify(book / f"release-{number}", ledger=book / "book.ledger").holds


def test_what_verify_shows_can_be_kept_and_given_back(book: Path) -> None:
    shown = json.loads(run("ledger", "verify", str(book / "book.ledger"), "--json").stdout)["head"]
    assert shown == Ledger(book / "book.ledger").entries()[-1].digest
    assert run("ledger", "verify", str(book / "book.ledger"), "--head", shown.upper()).returncode == 0


def cut_last(entries: Stored) -> Stored:
    return entries[:-1]


def cut_middle(entries: Stored) -> Stored:
    return [entries[0], entries[2]]


def cut_first(entries: Stored) -> Stored:
    return entries[1:]


def swap(entries: Stored) -> Stored:
    return [entries[1], entries[0], entries[2]]


def change_first(entries: Stored) -> Stored:
    return [(entries[0][0] | {"records": 5}, entries[0][1]), *entries[1:]]


def change_published(entries: Stored) -> Stored:
    return [*entries[:2], (entries[2][0], entries[2][1] | {"data.csv": b"a,s\n*,s0\n"})]


def other_last(entries: Stored) -> Stored:
    return [*entries[:2], entries[0]]


def salt_anew(entries: Stored) -> Stored:
    return [*entries[:2], (entries[2][0] | {"salt": "00" * 32}, entries[2][1])]


def without_heads(entries: Stored) -> Stored:
    """As if it had been written before there were heads."""
    for body, files in entries:
        del body["salt"], body["certificate"]["ledger"]
        tree = json.loads(files["certificate.json"])
        del tree["ledger"]
        files["certificate.json"] = json.dumps(tree).encode()
    return entries


FORGERIES = [
    cut_last,
    cut_middle,
    cut_first,
    swap,
    change_first,
    change_published,
    other_last,
    salt_anew,
    without_heads,
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_chain_computed_anew_is_found_from_a_published_certificate(
    book: Path, tmp_path: Path, forge: Callable
) -> None:
    """The forger has the file and all the time in the world; the certificate of the last release is out of reach."""
    file = forged(forge(stored(book / "book.ledger")), tmp_path / "forged.ledger")
    assert Ledger(file).verify() > 0  # by itself the chain looks whole: this is why heads are published
    for known in (["--head", head_of(book / "release-3")], ["--release", str(book / "release-3")]):
        done = run("ledger", "verify", str(file), *known)
        assert done.returncode == 6, done.stdout
        assert done.stderr.startswith("error: the ledger")
    done = run("verify", str(book / "release-3"), "--ledger", str(file))
    assert done.returncode == 6


def test_the_forger_of_these_tests_leaves_an_untouched_ledger_as_it_is(book: Path, tmp_path: Path) -> None:
    same = forged(stored(book / "book.ledger"), tmp_path / "same.ledger")
    assert Ledger(same).verify(head_of(book / "release-3")) == 3
    assert Ledger(same).entries() == Ledger(book / "book.ledger").entries()


def test_a_ledger_from_before_there_were_heads_goes_on(book: Path, tmp_path: Path) -> None:
    file = forged(without_heads(stored(book / "book.ledger"))[:2], tmp_path / "book.ledger")
    release(tmp_path, ["a", "s"], TABLE)
    assert Ledger(file).verify(head_of(tmp_path / "release-3")) == 3
    assert verify(tmp_path / "release-3", ledger=file).holds


def test_a_certificate_whose_head_was_taken_out_is_not_the_one_that_was_entered(book: Path, tmp_path: Path) -> None:
    shutil.copytree(book / "release-3", tmp_path / "r")
    tree = json.loads((tmp_path / "r" / "certificate.json").read_text())
    del tree["ledger"]
    (tmp_path / "r" / "certificate.json").write_text(json.dumps(tree))
    with pytest.raises(LedgerError, match="does not know"):
        Ledger(book / "book.ledger").entry_of(tmp_path / "r")


def test_a_head_says_nothing_without_the_salt_and_the_salt_stays_in_the_ledger(book: Path) -> None:
    """Everything else that goes into a head may be known to somebody who knows all people but one."""
    entries = stored(book / "book.ledger")
    salts = [body["salt"] for body, _ in entries]
    assert len(set(salts)) == 3
    assert all(len(bytes.fromhex(salt)) == 32 for salt in salts)
    for number in (1, 2, 3):
        text = "".join(file.read_text() for file in (book / f"release-{number}").rglob("*") if file.is_file())
        assert not any(salt in text for salt in salts)
        assert not any(entry.digest in text for entry in Ledger(book / "book.ledger").entries())
    files = {"data.csv": "ab" * 32}
    assert LedgerPlace(1, GENESIS, salts[0]).head(files) != LedgerPlace(1, GENESIS, salts[1]).head(files)


# ---- what a ledger may do to its reader ------------------------------------------------------------------------------

DECLARATIONS = [
    "CREATE TRIGGER forget AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE number < NEW.number; END",
    "CREATE TRIGGER quiet BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
    "CREATE VIEW more AS SELECT * FROM entries",
    "CREATE INDEX quick ON entries (digest)",
    "CREATE TABLE notes (text)",
    "CREATE VIRTUAL TABLE words USING fts5 (body)",
    "DROP TRIGGER hold_entries",
    "DROP TRIGGER keep_files",
    "ALTER TABLE entries ADD COLUMN remark",
    "ALTER TABLE files RENAME COLUMN name TO title",
    "ANALYZE",
]


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_a_schema_that_is_not_ours_is_refused_before_anything_is_asked(
    book: Path, tmp_path: Path, declaration: str
) -> None:
    file = tmp_path / "book.ledger"
    shutil.copyfile(book / "book.ledger", file)
    base = sqlite3.connect(file)
    try:
        base.execute(declaration)
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite cannot: {error}")
    base.commit()
    base.close()
    assert run("ledger", "verify", str(file)).returncode == 6
    ledger = Ledger(file)
    for ask in (ledger.entries, ledger.history, lambda: ledger.files(1), lambda: ledger.writing().__enter__()):
        with pytest.raises(LedgerError, match="tables or triggers"):
            ask()


OUTSIDE = [
    "/tmp/sfumato-planted",
    "../planted",
    "a/../../planted",
    "..",
    ".",
    "",
    "a//b",
    "a/./b",
    "/",
    "\0",
    "a\0b",
    "x" * 5000,
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_leads_out_of_the_folder_is_refused(book: Path, tmp_path: Path, name: str) -> None:
    entries = stored(book / "book.ledger")
    entries[0][1][name] = b"planted"
    file = forged(entries, tmp_path / "forged.ledger")
    before = sorted(path for path in tmp_path.rglob("*"))
    ledger = Ledger(file)
    for ask in (
        ledger.verify,
        ledger.history,
        lambda: ledger.files(1),
        lambda: ledger.restore(1, tmp_path / "out" / "again"),
    ):
        with pytest.raises(LedgerError, match="belongs in no folder"):
            ask()
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert not os.path.lexists("/tmp/sfumato-planted")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.one_of(
        st.text(max_size=40), st.lists(st.sampled_from(["..", ".", "", "a", "b.csv", "\0"]), max_size=6).map("/".join)
    )
)
def test_an_inner_name_leads_below_the_folder_wherever_that_is(name: str) -> None:
    """The rule against what the operating system makes of the name."""
    folder = "/some/where/deep"
    if is_inner(name):
        assert os.path.normpath(os.path.join(folder, name)).startswith(folder + "/")
        assert os.path.normpath(name) == name
    elif "\0" not in name:
        there = os.path.normpath(os.path.join(folder, name))
        assert not there.startswith(folder + "/") or os.path.normpath(name) != name


def test_a_policy_in_a_ledger_reads_nothing_outside(book: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a0;*\n")
    entries = stored(book / "book.ledger")
    tree = Policy.read(book / "release-1" / "policy.yaml").document.tree
    tree["columns"]["a"]["hierarchy"] = str(secret)
    entries[0][1]["policy.yaml"] = json.dumps(tree).encode()
    first = Ledger(forged(entries, tmp_path / "forged.ledger")).history().releases[0]
    for look in ("cover", "exhibit"):
        with pytest.raises(SfumatoError, match="no file of the folder"):
            getattr(first, look)


@pytest.mark.parametrize("make", [lambda p, t: p.symlink_to(t), lambda p, t: os.mkfifo(p), lambda p, t: p.mkdir()])
def test_a_ledger_is_a_plain_file(book: Path, tmp_path: Path, make: Callable) -> None:
    make(tmp_path / "odd.ledger", book / "book.ledger")
    before = digest(book / "book.ledger")
    assert run("ledger", "verify", str(tmp_path / "odd.ledger")).returncode == 6
    with pytest.raises(LedgerError, match="plain file"):
        publish(policy(["a", "s"]), TABLE, ledger=tmp_path / "odd.ledger")
    assert digest(book / "book.ledger") == before


@pytest.mark.parametrize("text", ["null", "[]", "{}", '{"certificate": 3}', "[" * 100_000, '{"a": 1, "a": 2}', "NaN"])
def test_a_body_that_is_no_entry_is_a_broken_ledger(book: Path, tmp_path: Path, text: str) -> None:
    base = sqlite3.connect(tmp_path / "odd.ledger")
    base.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {SCHEMA}")
    chained = hashlib.sha256(GENESIS.encode() + b"\0" + text.encode()).hexdigest()
    base.execute("INSERT INTO entries VALUES (1, ?, ?, ?)", (text, GENESIS, chained))
    base.commit()
    base.close()
    for command in (["verify"], ["list"]):
        done = run("ledger", *command, str(tmp_path / "odd.ledger"))
        assert done.returncode == 6
        assert "cannot be read" in done.stderr


# ---- a ledger is begun on purpose ------------------------------------------------------------------------------------


def steward(folder: Path, ledger: object = "hospital.ledger") -> Path:
    tree = policy(["a", "s"]).document.tree | {"ledger": ledger, "data": {"kind": "table", "source": "people.csv"}}
    lines = [",".join(TABLE), *(",".join(row) for row in zip(*TABLE.values(), strict=True))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "policy.yaml").write_text(json.dumps(tree))
    return folder / "policy.yaml"


def test_a_misspelt_name_is_an_error_that_names_the_near_file(tmp_path: Path) -> None:
    file = str(steward(tmp_path))
    refused = run("publish", file, "--out", str(tmp_path / "r0"))
    assert refused.returncode == 2
    assert "no such ledger: hospital.ledger" in refused.stderr
    assert "--new-ledger" in refused.stderr
    assert run("publish", file, "--out", str(tmp_path / "r1"), "--new-ledger").returncode == 0
    misspelt = run("publish", file, "--out", str(tmp_path / "r2"), "--ledger", str(tmp_path / "hopsital.ledger"))
    assert misspelt.returncode == 2
    assert "did you mean 'hospital.ledger'?" in misspelt.stderr
    assert sorted(path.name for path in tmp_path.glob("*.ledger")) == ["hospital.ledger"]
    assert not (tmp_path / "r2").exists()
    assert run("publish", file, "--out", str(tmp_path / "r2")).returncode == 0
    assert Ledger(tmp_path / "hospital.ledger").verify() == 2


def test_a_new_ledger_that_is_there_already_is_not_gone_on_with_silently(tmp_path: Path) -> None:
    file = str(steward(tmp_path))
    assert run("publish", file, "--out", str(tmp_path / "r1"), "--new-ledger").returncode == 0
    again = run("publish", file, "--out", str(tmp_path / "r2"), "--new-ledger")
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_the_policy_may_answer_the_question(tmp_path: Path) -> None:
    file = str(steward(tmp_path, {"file": "hospital.ledger", "new": True}))
    for number in (1, 2):
        assert run("publish", file, "--out", str(tmp_path / f"r{number}")).returncode == 0
    assert Ledger(tmp_path / "hospital.ledger").verify() == 2
    assert "ledger" not in (tmp_path / "r1" / "policy.yaml").read_text()
    other = run("publish", file, "--out", str(tmp_path / "r3"), "--ledger", str(tmp_path / "other.ledger"))
    assert other.returncode == 2  # the answer was about the ledger that the policy names


@pytest.mark.parametrize(
    "entry", [{"new": True}, {"file": ""}, {"file": "a", "nwe": True}, ["a"], {"file": "a", "new": "perhaps"}]
)
def test_an_answer_that_is_none_is_an_error(entry: object) -> None:
    with pytest.raises(PolicyError):
        Policy.parse(policy(["a", "s"]).document.tree | {"ledger": entry})


def test_looking_ahead_says_that_the_ledger_is_not_there_and_makes_none(tmp_path: Path) -> None:
    done = run("check", str(steward(tmp_path)))
    assert done.returncode == 0
    assert "hospital.ledger is not there" in done.stdout
    assert not (tmp_path / "hospital.ledger").exists()


@pytest.mark.parametrize("command", [["ledger", "list"], ["ledger", "verify"]])
def test_a_ledger_that_is_not_there_is_not_whole(tmp_path: Path, command: list[str]) -> None:
    assert run(*command, str(tmp_path / "no.ledger")).returncode == 6
    assert not (tmp_path / "no.ledger").exists()


def test_a_ledger_whose_schema_is_no_text(book: Path, tmp_path: Path) -> None:
    """Every byte of the schema in turn is one that no text has."""
    content = (book / "book.ledger").read_bytes()
    place = content.index(b"CREATE TABLE")
    for at in range(place, place + 60, 7):
        (tmp_path / "broken.ledger").write_bytes(content[:at] + b"\xd7" + content[at + 1 :])
        with pytest.raises(LedgerError):
            Ledger(tmp_path / "broken.ledger").verify()
