"""Small databases of SQLite, DuckDB and MariaDB with views and triggers, and what must be true when they were filled or
cloned."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mariadb_server import maria_session

PLAIN = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL);
CREATE TABLE person (id INTEGER PRIMARY KEY, town INTEGER NOT NULL, name VARCHAR(20) NOT NULL UNIQUE, CHECK (id > 0),
  FOREIGN KEY (town) REFERENCES town (id));
CREATE VIEW crowd AS SELECT town, count(*) AS people FROM person GROUP BY town;
CREATE VIEW busy AS SELECT town FROM crowd WHERE people > 1;
"""
TRIGGER = {
    "sqlite": (
        "CREATE TRIGGER loud AFTER INSERT ON town BEGIN UPDATE town SET name = upper(name) WHERE id = NEW.id; END;"
    ),
    "mariadb": "CREATE TRIGGER loud BEFORE INSERT ON town FOR EACH ROW SET NEW.name = upper(NEW.name);",
    "duckdb": "",
}
ROWS = """
INSERT INTO town VALUES (1, 'Gent'), (2, 'Aarhus');
INSERT INTO person VALUES (1, 1, 'Ann'), (2, 2, 'Bo'), (3, 2, 'Cy');
"""


def run(url: str, script: str) -> None:
    """Statements, one after the other, not through Sfumato."""
    with cursor_of(url) as ask:
        for statement in _statements(script):
            ask(statement)


def _statements(script: str) -> list[str]:
    found, held = [], ""
    for line in script.split(";"):
        held += line
        if "BEGIN" in held and "END" not in held:
            held += ";"
            continue
        if held.strip():
            found.append(held.strip())
        held = ""
    return found


@contextlib.contextmanager
def cursor_of(url: str) -> Any:
    """Asks a server directly."""
    if url.startswith("mariadb"):
        with maria_session(url) as cursor:

            def ask(sql: str) -> list[tuple[Any, ...]]:
                cursor.execute(sql)
                return list(cursor.fetchall())

            yield ask
        return
    path = url.partition(":///")[2]
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield lambda sql: connection.execute(sql).fetchall()
        return
    import duckdb

    with duckdb.connect(path) as connection:
        yield lambda sql: connection.execute(sql).fetchall()


def source_of(kind: str, new: Callable[[], str]) -> str:
    """Rows came before the trigger."""
    url = new()
    run(url, PLAIN + ROWS + TRIGGER[kind])
    return url


def migrated(kind: str, new: Callable[[], str], more: str = "") -> str:
    """What migrations have made: the same tables, one of them with a column more."""
    url = new()
    run(url, PLAIN.replace("name VARCHAR(20) NOT NULL);", "name VARCHAR(20) NOT NULL, seen INTEGER DEFAULT 7);", 1))
    run(url, TRIGGER[kind] + more)
    return url


def maker(kind: str, folder: Path, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes new empty databases."""
    if kind == "mariadb":
        made: Callable[[], str] = request.getfixturevalue("fresh_mariadb")
        return made
    names = iter(range(1_000))
    return lambda: f"{kind}:///{folder}/{kind}{next(names)}.db"


def assert_alive(kind: str, url: str, *, cloned: bool) -> None:
    """Views answer, keys refuse, the trigger is awake and did not touch what was loaded."""
    with cursor_of(url) as ask:
        assert sorted(ask("SELECT name FROM town")) == [("Aarhus",), ("Gent",)]
        assert sorted((int(town), int(people)) for town, people in ask("SELECT town, people FROM crowd")) == [
            (1, 1),
            (2, 2),
        ]
        assert [int(town) for (town,) in ask("SELECT town FROM busy")] == [2]
        ask("INSERT INTO town (id, name) VALUES (3, 'Ghent')")
        expected = "Ghent" if kind == "duckdb" else "GHENT"
        assert ask("SELECT name FROM town WHERE id = 3") == [(expected,)]
        if not cloned:
            assert {int(seen) for (seen,) in ask("SELECT seen FROM town")} == {7}
        if kind == "sqlite":
            ask("PRAGMA foreign_keys = ON")
        with pytest.raises(Exception, match=r"(?i)foreign key"):
            ask("INSERT INTO person VALUES (9, 77, 'Lost')")
