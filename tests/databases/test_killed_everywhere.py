"""Killed at every step of a load, and at odd moments, on every server and in every mode; the same call completes it.

PostgreSQL and SQLite in the mode `create` are in `test_cut_off.py`; here are `fill`, `clone`, DuckDB and MariaDB. Each
step gets a fresh target: the child dies by SIGKILL when it tells of its progress for the nth time."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from database_cases import assert_same_rows, whole
from mariadb_server import maria_session
from postgres_server import session
from test_cut_off import in_child

from sfumato.data.database import Database
from sfumato.io.sql import Loaded, bulk_load, connect, load, server_findings
from sfumato.io.sql.load_journal import ASIDE, JOURNAL, record
from sfumato.io.sql.target_modes import Clone, Create, Fill
from sfumato.io.sql.target_preparation import join_parallel_load
from tests.slow import SLOW

TABLES = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL);
CREATE TABLE person (id INTEGER PRIMARY KEY, town INTEGER NOT NULL REFERENCES town (id),
  name VARCHAR(20) NOT NULL UNIQUE);
"""
MORE = """
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := upper(NEW.name); RETURN NEW; END $$;
CREATE TRIGGER loud BEFORE INSERT ON town FOR EACH ROW EXECUTE FUNCTION shout();
CREATE MATERIALIZED VIEW crowd AS SELECT town, count(*) AS people FROM person GROUP BY town;
CREATE MATERIALIZED VIEW crowds AS SELECT min(people) AS least, max(people) AS most FROM crowd;
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
            connection.execute(
                TABLES + MORE + ROWS.replace("INSERT", "ALTER TABLE town DISABLE TRIGGER loud; INSERT", 1)
            )
            connection.execute(
                "ALTER TABLE town ENABLE TRIGGER loud; REFRESH MATERIALIZED VIEW crowd; REFRESH MATERIALIZED VIEW"
                " crowds"
            )
        return url

    def target(self) -> str:
        self.count += 1
        url = self.new()
        if self.kind == "fill":
            with session(url) as connection:
                connection.execute(TABLES + MORE)
        return url

    def load(self, target: str, progress: Callable[[float, str], None] | None = None, jobs: int = 1) -> Loaded:
        mode: Create = Fill() if self.kind == "fill" else Clone(self.source) if self.kind == "clone" else Create()
        how = {"progress": progress, "mode": mode, "source": self.source, "jobs": jobs}
        return load(target, self.data.schema, self.data.tables, fingerprint="f", **how)

    def assert_complete(self, target: str, *, judged: bool = True) -> None:
        found = whole(target)
        assert {JOURNAL, ASIDE}.isdisjoint(table.name for table in found.schema.tables)
        assert_same_rows(self.data, found, exactly=self.kind not in ("fill", "create"))
        assert not judged or [one for one in server_findings(target, self.data.schema) if not one.holds] == []
        if self.kind in ("fill", "clone"):
            with session(target) as connection:
                assert connection.execute("SELECT tgenabled FROM pg_trigger WHERE tgname = 'loud'").fetchall() == [
                    ("O",)
                ]
                keys = connection.execute("SELECT convalidated FROM pg_constraint WHERE contype = 'f'").fetchall()
                crowd = connection.execute("SELECT * FROM crowds ORDER BY 1").fetchall()
            assert keys == [(True,)]
            assert crowd == [(1, 2)], "each view is made anew after the one it is made of"


KINDS = ["duckdb", "mariadb", "fill", "clone"]


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request, tmp_path)


def killed(place: Place, target: str, step: int, jobs: int = 1) -> bool:
    steps = iter(range(1, 1000))

    def progress(_share: float, _sentence: str) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child(lambda: place.load(target, progress, jobs)) == signal.SIGKILL


def test_killed_at_every_step(place: Place) -> None:
    told: list[str] = []
    place.load(complete := place.target(), lambda _, sentence: told.append(sentence))
    place.assert_complete(complete)
    assert len(told) >= 6, told
    for step in _steps(place.kind, len(told)):
        target = place.target()
        assert killed(place, target, step)
        if has_journal(target):  # a target without one is finished
            place.load(target)
        else:
            assert step == 1 or step >= len(told) - 1, "only what has not begun, or is complete, has no journal"
            place.load(target) if step == 1 else None
        place.assert_complete(target, judged=step >= len(told) - 2)


def _steps(kind: str, count: int) -> list[int]:
    """The first, the last two, and every third one between, not the same ones for every kind; with --slow all."""
    between = range(2 + KINDS.index(kind) % 3, count - 1, 3)
    return list(range(1, count + 1)) if SLOW else [1, *between, count - 1, count]


@pytest.mark.parametrize("place", ["create", "fill", "clone"], indirect=True)
def test_killed_while_several_tables_are_loaded_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_load, "ROWS_AT_ONCE", 1)
    told: list[str] = []
    place.load(complete := place.target(), lambda _, sentence: told.append(sentence), 2)
    place.assert_complete(complete)
    assert told.count("loading town") == 3 and told.count("loading person") == 4
    first = place.target()
    assert in_child(lambda: _dies_when_both_are_loading(place, first)) == signal.SIGKILL
    assert place.load(first, jobs=2).resumed == ()
    place.assert_complete(first)
    second = place.target()
    assert killed(place, second, 7, 2)  # one of them may be complete, the other is not
    place.load(second, jobs=2)
    place.assert_complete(second, judged=False)


def _dies_when_both_are_loading(place: Place, target: str) -> None:
    """Two tables wait for each other inside of their transactions, each with a row on its way; then the process
    dies."""
    both, sent, plainly = threading.Barrier(2), threading.local(), bulk_load.csv_piece

    def piece(batch: pa.RecordBatch) -> memoryview:
        sent.rows = getattr(sent, "rows", 0) + 1
        if sent.rows == 2:
            both.wait(30)
            os.kill(os.getpid(), signal.SIGKILL)
        return plainly(batch)

    bulk_load.csv_piece = piece
    place.load(target, jobs=2)


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


def test_a_session_that_a_killed_run_left_behind_is_waited_for(fresh: Callable[[], str]) -> None:
    """It may still complete its table; were the table loaded once more, a target without a key would have its rows
    twice."""
    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute("CREATE TABLE a (n integer); INSERT INTO a VALUES (1), (2); CREATE TABLE b (n integer)")
    data = whole(source)
    with session(target) as connection:
        connection.execute("CREATE TABLE a (n integer); CREATE TABLE b (n integer)")

    def run() -> Loaded:
        return load(target, data.schema, data.tables, fingerprint="f", mode=Fill(), jobs=2)

    def dies(_share: float, sentence: str) -> None:
        if sentence.startswith("loading"):
            os.kill(os.getpid(), signal.SIGKILL)

    cut_off = in_child(lambda: load(target, data.schema, data.tables, fingerprint="f", mode=Fill(), progress=dies))
    assert cut_off == signal.SIGKILL
    with connect(target, write=True) as left, ThreadPoolExecutor(1) as crew:
        join_parallel_load(left)
        left.run("BEGIN")
        left.run("INSERT INTO a VALUES (1), (2)")
        digest = hashlib.sha256(bulk_load.csv_piece(data.tables["a"].frame.to_batches()[0])).hexdigest()
        record(left, "f", "a", 2, digest)
        waiting = crew.submit(run)
        while not left.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            assert not waiting.done(), waiting.result()
        left.run("COMMIT")
        left.raw.close()
        assert waiting.result().resumed == ("a",)
    assert whole(target).tables["a"].rows == 2
