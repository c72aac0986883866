"""What a draft for a database decides: joined names are recognized, secrets are never accepted, and the rest is asked
about."""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from benchmarks.personal_columns import FOLDER, Score, score
from sfumato.data.personal_columns import DatabaseColumn, decide
from tests.command_line import run

JOINED = {
    "phonenumber": "129-555-01{0:02}", "passwordhash": "hash{0}", "passwordsalt": "s{0}",
    "nationalidnumber": "29584{0:03}",
    "addressline1": "{0} Elm Street", "postalcode": "9{0:04}", "emailaddress": "p{0}@home.test", "firstname": "Ann{0}",
    "lastname": "Lee{0}", "birthdate": "19{0:02}-01-01", "creditcardnumber": "40128888888{0:05}",
    "mobilephone": "0171{0:07}",
}  # fmt: skip


def filled(path: Path) -> str:
    """People with joined names, sessions with tokens of a fixed length, and columns of which nothing is known."""
    with sqlite3.connect(path) as connection:
        connection.execute(
            f"CREATE TABLE person (personid integer PRIMARY KEY, {', '.join(f'{name} text' for name in JOINED)})"
        )
        connection.execute(
            "CREATE TABLE sessions (id integer PRIMARY KEY, userid integer, token varchar(26) NOT NULL, born text)"
        )
        connection.execute(
            "CREATE TABLE users (id integer PRIMARY KEY, email text, flarb text, state text, prefs json, blurb text)"
        )
        for n in range(60):
            connection.execute(
                f"INSERT INTO person VALUES ({', '.join('?' * 13)})",
                (n + 1, *(form.format(n) for form in JOINED.values())),
            )
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?, NULL)", (n, n % 60 + 1, secrets.token_hex(13)))
            long = f"zug {n} wum pel {n * 7} fni ork {n * 3} und so weiter"
            row = (n + 1, f"u{n}@home.test", f"q{n}", ["open", "shut"][n % 2], '{"email": "a@b.test"}', long)
            connection.execute("INSERT INTO users VALUES (?, ?, ?, ?, ?, ?)", row)
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> str:
    done = run("discover", filled(tmp_path_factory.mktemp("drafts") / "a.db"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_joined_names_are_replaced(draft: str) -> None:
    columns = yaml.safe_load(draft)["columns"]
    assert {name for name in JOINED if columns.get(f"person.{name}", {}).get("role") != "replaced"} == set()


def test_a_secret_for_which_no_domain_fits_is_replaced_or_asked_about_and_never_accepted(draft: str) -> None:
    tree = yaml.safe_load(draft)
    assert tree["columns"]["sessions.token"]["role"] in ("replaced", "review")
    assert tree["columns"]["sessions.born"]["role"] in ("replaced", "review")
    assert not [
        name for name in tree["data"].get("accept", ()) if name.startswith(("plain-column", "undecided-column"))
    ]


def test_what_is_not_recognized_is_asked_about_and_codes_are_kept_with_figures(draft: str) -> None:
    columns = yaml.safe_load(draft)["columns"]
    assert columns["users.flarb"]["role"] == "review"
    assert columns["users.blurb"]["role"] in ("review", "replaced")
    assert columns["users.state"] == {"role": "other"}
    assert "users.state: {role: other}  # a code of the application: 2 values in 60 rows, the rarest in 30" in draft
    assert columns["users.prefs"]["domain"] == {"paths": {"$.email": {"fakes": "email"}}}


def test_check_names_what_nobody_decided(tmp_path: Path) -> None:
    url = filled(tmp_path / "a.db")
    policy = tmp_path / "p.yaml"
    domain = "{role: replaced, domain: {fakes: email}}"
    policy.write_text(f"version: 1\ndata: {{kind: database, source: '{url}'}}\ncolumns:\n  users.email: {domain}\n")
    told = run("check", str(policy), "--strict")
    assert told.returncode == 2
    for name in ("plain-column:person.phonenumber", "plain-column:sessions.token", "undecided-column:users.flarb"):
        assert name in told.stdout
    assert "undecided-column:users.state" not in told.stdout


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.csv")))
def test_public_schemas(name: str) -> None:
    """Recall of personal columns by names and types alone, labelled before the detector was run."""
    found = score(FOLDER / f"{name}.csv")
    assert found.recall >= 0.95, found.copied
    assert found.precision >= 0.85, found.needless


def test_all_public_schemas_together() -> None:
    scores = [score(path) for path in FOLDER.glob("*.csv")]
    total = Score("all", personal=sum(one.personal for one in scores), replaced=sum(one.replaced for one in scores))
    total.asked = sum(one.asked for one in scores)
    assert total.personal > 350
    assert total.recall >= 0.98


def test_a_text_that_is_only_called_like_a_reference_is_asked_about() -> None:
    """Its name points at a table, and no key of that table is known to hold its values."""
    called = DatabaseColumn("FEDERATED_USER_ID", "FEDERATED_IDENTITY", "text")
    assert decide(called, people=True).action == "ask"
    assert decide(replace(called, key=True), people=True).action == "keep"


@pytest.mark.parametrize("kind", ["binary", "json", "xml", "hstore", "array", "geometry", "composite", "tsvector"])
def test_open_types_in_a_table_about_people_are_never_kept_unseen(kind: str) -> None:
    assert decide(DatabaseColumn("zq", "patients", kind), people=True).action in ("ask", "replace")
