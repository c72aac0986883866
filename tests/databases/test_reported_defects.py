"""Defects that were reported: chance among small numbers, pictures without a telling name, messages."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from sfumato.data.personal_columns import DatabaseColumn, decide
from tests.command_line import run

PICTURES = {
    "png": b"\x89PNG\r\n\x1a\n" + b"\0" * 30, "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0" + b"\0" * 30,
    "gif": b"GIF89a" + b"\0" * 30, "webp": b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 30,
    "bmp": b"BM\x46\0\0\0\0\0\0\0" + b"\0" * 30, "tiff": b"II*\0\x08\0\0\0" + b"\0" * 30,
    "heic": b"\0\0\0\x18ftypheic" + b"\0" * 30, "pdf": b"%PDF-1.7\n" + b"\0" * 30,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_amounts_beside_line_numbers_do_not_refuse_an_order(tmp_path: Path, seed: int) -> None:
    """Amounts from 0 to 4 rise with line numbers from 1 to 3, and the totals of the orders are kept."""
    chance = random.Random(seed)
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE orders (id integer PRIMARY KEY, total integer)")
        connection.execute(
            "CREATE TABLE lines"
            " (id integer PRIMARY KEY, o_id integer NOT NULL REFERENCES orders (id), line integer, x integer)"
        )
        for order in range(400):
            amounts = sorted(chance.choice([(1, 2, 3), (1, 2, 3), (0, 2, 4), (1, 1, 4)]))
            connection.execute("INSERT INTO orders VALUES (?, ?)", (order, sum(amounts)))
            for line, amount in enumerate(amounts):
                connection.execute("INSERT INTO lines VALUES (?, ?, ?, ?)", (3 * order + line, order, line + 1, amount))
    policy = {
        "version": 1,
        "data": {"kind": "database", "source": f"sqlite:///{tmp_path}/a.db", "target": f"sqlite:///{tmp_path}/b.db"},
        "columns": {"lines.x": {"role": "replaced", "domain": {"integers": [0, 4]}}},
        "keep": ["orders.total = sum(lines.x by lines.o_id)"],
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(policy))
    done = run("publish", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "b.db") as connection:
        wrong = "SELECT count(*) FROM orders WHERE total <> (SELECT sum(x) FROM lines WHERE o_id = orders.id)"
        assert connection.execute(wrong).fetchone() == (0,)


@pytest.mark.parametrize("form", PICTURES)
def test_pictures_of_people_are_known_by_their_first_bytes(form: str) -> None:
    values = [f"\\x{(PICTURES[form] + bytes([n])).hex()}" for n in range(12)]
    column = DatabaseColumn("blob1", "staff", "binary", values, 12, 12, 1)
    found = decide(column, True)
    assert found.action == "replace", found
    assert "pictures" in found.reason


def test_a_photo_is_in_the_draft_and_check_warns_where_it_is_left_out(tmp_path: Path) -> None:
    """The column is called like nothing; only the bytes tell."""
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE staff (id integer PRIMARY KEY, email text, zq blob)")
        connection.executemany(
            "INSERT INTO staff VALUES (?, ?, ?)",
            [(n, f"s{n}@home.test", PICTURES["jpeg"] + bytes([n])) for n in range(40)],
        )
    url = f"sqlite:///{tmp_path}/a.db"
    draft = yaml.safe_load(run("discover", url).stdout)
    assert draft["columns"]["staff.zq"] == {"role": "replaced", "domain": {"empty": True}}
    tree = {
        "version": 1,
        "data": {"kind": "database", "source": url},
        "columns": {"staff.email": draft["columns"]["staff.email"]},
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(tree))
    told = run("check", str(tmp_path / "p.yaml"), "--strict")
    assert told.returncode == 2
    assert "plain-column:staff.zq" in told.stdout


def test_check_has_its_warnings_first_and_one_line_per_table(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        for n in range(30):
            connection.execute(f"CREATE TABLE t{n} (id integer PRIMARY KEY, email text, a integer, b integer, c text)")
            connection.executemany(
                f"INSERT INTO t{n} VALUES (?, ?, ?, ?, ?)",
                [(k, f"u{k}@home.test", k, k * n, f"c{k % 3}") for k in range(40)],
            )
    url = f"sqlite:///{tmp_path}/a.db"
    columns = {f"t{n}.email": {"role": "replaced", "domain": {"fakes": "email"}} for n in range(29)}
    (tmp_path / "p.yaml").write_text(
        yaml.safe_dump({"version": 1, "data": {"kind": "database", "source": url}, "columns": columns})
    )
    lines = run("check", str(tmp_path / "p.yaml")).stdout.splitlines()
    warned = next(place for place, line in enumerate(lines) if "plain-column:t29.email" in line)
    tables = [
        place for place, line in enumerate(lines) if re.match(r"\W*'?t\d+'?\b", line) and "plain-column" not in line
    ]
    assert warned < 10
    assert all(warned < place for place in tables)
    assert len(lines) < 90


def test_the_path_of_a_database_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = run("discover", f"sqlite:///{tmp_path}/nothing.db")
    assert done.returncode == 3
    assert f"{tmp_path}/nothing.db" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_missing_function_is_named_with_what_brings_it(tmp_path: Path, fresh: Callable[[], str]) -> None:
    from tests.databases.postgres_server import session

    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute("CREATE EXTENSION pgcrypto")
        connection.execute("CREATE TABLE users (id int PRIMARY KEY, email text, seed text DEFAULT gen_salt('md5'))")
        connection.execute("INSERT INTO users SELECT n, 'u' || n || '@home.test' FROM generate_series(1, 30) n")
    policy = {
        "version": 1,
        "data": {"kind": "database", "source": source, "target": {"url": target, "mode": "create"}},
        "columns": {"users.email": {"role": "replaced", "domain": {"fakes": "email"}}, "users.seed": "other"},
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(policy))
    done = run("publish", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 3
    assert "gen_salt" in done.stderr
    assert "extension" in done.stderr


def test_rules_that_are_switched_off_are_in_a_file_of_their_own(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (id integer PRIMARY KEY, first text, last text, email text)")
        for n in range(60):
            first, last = f"Fa{chr(97 + n % 26)}n{chr(97 + n // 26)}", f"La{chr(97 + n // 26)}m{chr(97 + n % 26)}"
            connection.execute(
                "INSERT INTO t VALUES (?, ?, ?, ?)", (n, first, last, f"{first}.{last}@corp.internal".lower())
            )
    draft = tmp_path / "draft.yaml"
    done = run("discover", f"sqlite:///{tmp_path}/a.db", "--out", str(draft))
    assert done.returncode == 0, done.stderr
    apart = tmp_path / "draft.left-out.yaml"
    assert apart.stat().st_mode & 0o077 == 0
    assert "off:" in apart.read_text()
    assert "off:" not in draft.read_text()
    assert "are in draft.left-out.yaml" in draft.read_text()
    roles = [entry["role"] for entry in yaml.safe_load(draft.read_text())["columns"].values()]
    assert roles == sorted(roles, key=("review", "replaced", "other").index)
    assert "@example.org" in draft.read_text()
    assert "@corp.internal" not in draft.read_text()
    assert run("check", str(draft), "--strict").returncode == 0
