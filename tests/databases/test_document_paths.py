"""Single values inside json and xml documents are replaced, and the rest of a document stays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.command_line import run
from tests.databases.postgres_server import session

XML = '<p:person xmlns:p="u" id="{n}"><name>Person{n} Öz</name><size>{n}</size><!-- as it is --></p:person>'


def _document(n: int) -> str:
    friends = [{"email": f"f{n}{k}@old.example", "since": 2000 + k} for k in range(n % 3)]
    return json.dumps({"theme": "dark", "retries": 1.50, "contact": {"email": f"u{n}@old.example"}, "friends": friends})


def _policy(folder: Path, source: str, target: object, **columns: object) -> Path:
    tree = {"version": 1, "data": {"kind": "database", "source": source, "target": target}, "columns": columns}
    path = folder / "p.yaml"
    path.write_text(yaml.safe_dump(tree))
    return path


@pytest.fixture
def users(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE users (id integer PRIMARY KEY, nick text, props json)")
        connection.executemany(
            "INSERT INTO users VALUES (?, ?, ?)",
            [(n, f"nick{n}", _document(n) if n % 7 else None if n % 2 else "{}") for n in range(60)],
        )
    return tmp_path


def test_values_at_paths_are_new_and_the_rest_is_kept(users: Path) -> None:
    policy = _policy(
        users, f"sqlite:///{users}/a.db", f"sqlite:///{users}/b.db",
        **{"users.props.$.contact.email": "replaced",
           "users.props.$.friends.email": {"role": "replaced", "domain": {"fakes": "email"}}},
    )  # fmt: skip
    done = run("publish", str(policy), "--out", str(users / "out"))
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(users / "a.db") as one, sqlite3.connect(users / "b.db") as two:
        before, after = (dict(side.execute("SELECT id, props FROM users")) for side in (one, two))
    assert "old.example" not in str(after)
    for key, text in before.items():
        if text is None or text == "{}":
            assert after[key] == text
            continue
        old, new = json.loads(text), json.loads(after[key])
        assert "@" in new["contact"]["email"]
        assert len(new["friends"]) == len(old["friends"])
        assert all(
            one["since"] == other["since"] and "@" in other["email"]
            for one, other in zip(old["friends"], new["friends"], strict=True)
        )
        assert (new["theme"], new["retries"]) == ("dark", 1.5)
    assert run("verify", str(users / "out"), "--original", f"sqlite:///{users}/a.db").returncode == 0


def test_a_value_of_another_column_inside_the_rest_of_a_document_is_refused(users: Path) -> None:
    with sqlite3.connect(users / "a.db") as connection:
        connection.execute(
            "UPDATE users SET props = json_set(props, '$.called', 'Carla' || id || ' Schmidt' || id),"
            " nick = 'Carla' || id || ' Schmidt' || id"
        )
    domain = {"role": "replaced", "domain": {"fakes": "name"}}
    policy = _policy(
        users, f"sqlite:///{users}/a.db", f"sqlite:///{users}/b.db",
        **{"users.props.$.contact.email": "replaced", "users.nick": domain},
    )  # fmt: skip
    told = run("check", str(policy), "--strict")
    assert told.returncode == 2
    assert "surviving:users.nick->users.props" in told.stdout
    done = run("publish", str(policy), "--out", str(users / "out"))
    assert done.returncode in (3, 5), done.stdout


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"users.props.$.contact..email": "replaced"}, "is no path"),
        ({"users.id.$.a": "replaced"}, "holds no documents"),
        ({"users.props.$.b": "replaced", "users.props.$.a": "other"}, "cannot have the role other"),
        ({"users.props": {"role": "replaced", "domain": {"empty": True}}, "users.props.$.a": "replaced"}, "by path"),
        ({"users.props.$.a": {"role": "replaced", "domain": {"like": "users.nick"}}}, "cannot be drawn so"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(users: Path, columns: dict[str, object], words: str) -> None:
    policy = _policy(users, f"sqlite:///{users}/a.db", f"sqlite:///{users}/b.db", **columns)
    done = run("check", str(policy))
    assert done.returncode == 2
    assert words in done.stderr


def test_a_text_that_is_no_document_is_a_data_error(users: Path) -> None:
    policy = _policy(users, f"sqlite:///{users}/a.db", f"sqlite:///{users}/b.db", **{"users.nick.$.a": "replaced"})
    done = run("publish", str(policy), "--out", str(users / "out"))
    assert done.returncode == 3
    assert "nick" in done.stderr


@pytest.mark.parametrize("mode", ["create", "clone"])
def test_jsonb_and_xml_of_postgresql(tmp_path: Path, fresh: Callable[[], str], mode: str) -> None:
    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute("CREATE TABLE users (id int PRIMARY KEY, props jsonb NOT NULL, own json, page xml)")
        for n in range(40):
            connection.execute(
                "INSERT INTO users VALUES (%s, %s, %s, %s)", (n, _document(n), _document(n), XML.format(n=n))
            )
    policy = _policy(
        tmp_path, source, {"url": target, "mode": mode},
        **{f"users.{name}": "replaced"
           for name in ("props.$.contact.email", "props.$.friends.email", "own.$.*.email",
                        "page.$.person.name", "page.$.person.@id")},
    )  # fmt: skip
    done = run("publish", str(policy), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    with session(target) as connection:
        rows = connection.execute("SELECT id, props, own, page::text FROM users ORDER BY id").fetchall()
    assert len(rows) == 40
    assert "old.example" not in str(rows)
    assert "Öz" not in str(rows)
    for n, props, own, page in rows:
        assert props["theme"] == own["theme"] == "dark"
        assert [one["since"] for one in props["friends"]] == [2000 + k for k in range(n % 3)]
        assert f"<size>{n}</size><!-- as it is --></p:person>" in page
    done = run("verify", str(tmp_path / "out"), "--original", source, "--target", target)
    assert done.returncode == 0, done.stdout
    with session(target) as connection:
        connection.execute("UPDATE users SET props = jsonb_set(props, '{theme}', '\"pink\"') WHERE id = 3")
    assert run("verify", str(tmp_path / "out"), "--original", source, "--target", target).returncode == 1


def test_a_draft_replaces_by_path_where_the_rest_is_understood_and_empties_else(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE users (id integer PRIMARY KEY, email text, props json, odd json)")
        connection.executemany(
            "INSERT INTO users VALUES (?, ?, ?, ?)",
            [
                (
                    n, f"u{n}@old.example",
                    json.dumps({"theme": ["dark", "light"][n % 2], "contact": {"email": f"v{n}@old.example"}}),
                    json.dumps({"zq": f"wum{n}", "email": f"w{n}@old.example"}),
                )
                for n in range(60)
            ],
        )  # fmt: skip
    columns = yaml.safe_load(run("discover", f"sqlite:///{tmp_path}/a.db").stdout)["columns"]
    assert columns["users.props"]["domain"] == {"paths": {"$.contact.email": {"fakes": "email"}}}
    assert columns["users.odd"]["domain"] == {"empty": True}
