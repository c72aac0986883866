"""Killed at every step of a load, and at odd moments, on every server and in every mode; the same call completes it.

PostgreSQL and SQLite in the mode `create` are in `test_cut_off.py`; here are `fill`, `clone`, DuckDB and MariaDB. Each step gets a
fresh target: the child dies by SIGKILL when it tells of its progress for the nth time.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from database_cases import assert_same_rows, whole
from mariadb_server import maria_session
from postgres_server import session
from test_cut_off import in_child

from sfumato.data.database import Database
from sfumato.io.sql import load, server_findings
from sfumato.io.sql.journal import ASIDE, JOURNAL
from sfumato.io.sql.modes import Clone, Create, Fill

TABLES = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL);
CREATE TABLE person (id INTEGER PRIMARY KEY, town INTEGER NOT NULL REFERENCES town (id), name VARCHAR(20) NOT NULL UNIQUE);
"""
MORE = """
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := upper(NEW.name); RETURN NEW; END $$;
CREATE TRIGGER loud BEFORE INSERT ON town FOR EACH ROW EXECUTE FUNCTION shout();
CREATE MATERIALIZED VIEW crowd AS SELECT town, count(*) AS people FROM person GROUP BY town;
"""
ROWS = """
INSERT INTO town VALUES (1, 'Gent'), (2, 'Aarhus');
INSERT INTO person VALUES (1, 1, 'Ann'), (2, 2, 'Bo'), (3, 2, 'Cy');
"""


class Place:
    """A kind of target: how a fresh one is made, how it is loaded, and what must be true of it in the end."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self.kind, self.folder, self.count = request.param, folder, 0
        self.new: Callable[[], str] = lambda: f"duckdb:///{folder}/target{self.count}.duckdb"
        if self.kind == "mariadb":
            self.new = request.getfixturevalue("fresh_mariadb")
        elif self.kind != "duckdb":
            self.new = request.getfixturevalue("fresh")
        self.source = self._source()
        self.data: Database = whole(self.source)

    def _source(self) -> str:
        if self.kind == "duckdb":
            import duckdb

            with duckdb.connect(f"{self.folder}/source.duckdb") as connection:
                connection.execute(TABLES + ROWS)
            return f"duckdb:///{self.folder}/source.duckdb"
        url = self.new()
        if self.kind == "mariadb":
            with maria_session(url, TABLES + ROWS):
                return url
        with session(url) as connection:
            connection.execute(TABLES + MORE + ROWS.replace("INSERT", "ALTER TABLE town DISABLE TRIGGER loud; INSERT", 1))
            connection.execute("ALTER TABLE town ENABLE TRIGGER loud; REFRESH MATERIALIZED VIEW crowd")
        return url

    def target(self) -> str:
        self.count += 1
        url = self.new()
        if self.kind == "fill":
            with session(url) as connection:
                connection.execute(TABLES + MORE)
        return url

    def load(self, target: str, progress: Callable[[float, str], None] | None = None) -> None:
        mode: Create = Fill() if self.kind == "fill" else Clone(self.source) if self.kind == "clone" else Create()
        load(target, self.data.schema, self.data.tables, fingerprint="f", progress=progress, mode=mode, source=self.source)

    def assert_complete(self, target: str, *, judged: bool = True) -> None:
        found = whole(target)
        assert {JOURNAL, ASIDE}.isdisjoint(table.name for table in found.schema.tables)
        assert_same_rows(self.data, found, exactly=self.kind != "fill")
        assert not judged or [one for one in server_findings(target, self.data.schema) if not one.holds] == []
        if self.kind in ("fill", "clone"):
            with session(target) as connection:
                assert connection.execute("SELECT tgenabled FROM pg_trigger WHERE tgname = 'loud'").fetchall() == [("O",)]
                keys = connection.execute("SELECT convalidated FROM pg_constraint WHERE contype = 'f'").fetchall()
                crowd = connection.execute("SELECT * FROM crowd ORDER BY 1").fetchall() if self.kind == "clone" else []
            assert keys == [(True,)]
            assert crowd == ([(1, 1), (2, 2)] if self.kind == "clone" else [])


@pytest.fixture(params=["duckdb", "mariadb", "fill", "clone"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request, tmp_path)


def killed(place: Place, target: str, step: int) -> bool:
    steps = iter(range(1, 1000))

    def progress(_share: float, _sentence: str) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child(lambda: place.load(target, progress)) == signal.SIGKILL


def test_killed_at_every_step(place: Place) -> None:
    told: list[str] = []
    place.load(complete := place.target(), lambda _, sentence: told.append(sentence))
    place.assert_complete(complete)
    assert len(told) >= 6, told
    for step in range(1, len(told) + 1):
        target = place.target()
        assert killed(place, target, step)
        if has_journal(target):  # a target without one is finished
            place.load(target)
        else:
            assert step == 1 or step >= len(told) - 1, "only what has not begun, or is complete, has no journal"
            place.load(target) if step == 1 else None
        place.assert_complete(target, judged=step >= len(told) - 2)


def has_journal(target: str) -> bool:
    """Asked without a look at what the load says."""
    if target.startswith("duckdb"):
        import duckdb

        path = target.removeprefix("duckdb:///")
        if not Path(path).exists():
            return False
        with duckdb.connect(path, read_only=True) as connection:
            return bool(connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [JOURNAL]).fetchall())
    if target.startswith("mariadb"):
        with maria_session(target) as cursor:
            return bool(cursor.execute("SHOW TABLES LIKE %s", (JOURNAL,)))
    with session(target) as connection:
        return connection.execute("SELECT to_regclass(%s)", (JOURNAL,)).fetchone() != (None,)


def test_killed_at_odd_moments(place: Place) -> None:
    target = place.target()
    for pause in (0.005, 0.02, 0.05):
        child = os.fork()
        if child == 0:
            place.load(target)
            os._exit(0)
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
    else:
        place.load(target)
    place.assert_complete(target)
