"""A load that is killed leaves every table as before or complete, and a second run completes it."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from postgres_server import session

from sfumato.core.errors import DataError
from sfumato.data.database import Database
from sfumato.data.table import Table
from sfumato.io.sql import bulk_load, create_tables, load, read_rows, read_schema, server_findings
from sfumato.io.sql.load_journal import JOURNAL
from tests.slow import SLOW

SCHEMA = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT NOT NULL, mayor INTEGER NOT NULL REFERENCES person (id));
CREATE TABLE person (id INTEGER PRIMARY KEY, town INTEGER NOT NULL REFERENCES town (id),
  name TEXT NOT NULL CHECK (length(name) > 1));
CREATE INDEX person_name ON person (name);
"""
PEOPLE = 1_400


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Database:
    path = tmp_path_factory.mktemp("towns") / "towns.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
    number = [str(one) for one in range(1, PEOPLE + 1)]
    people = pa.table(
        {"id": number, "town": [str(one % 9 + 1) for one in range(PEOPLE)], "name": [f"p{one}" for one in number]}
    )
    places = pa.table({"id": number[:9], "name": [f"t{one}" for one in number[:9]], "mayor": number[20:29]})
    return Database(read_schema(f"sqlite:///{path}"), {"town": Table(places), "person": Table(people)})


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pieces for the people."""
    monkeypatch.setattr(bulk_load, "ROWS_AT_ONCE", 600)


@pytest.fixture(params=["postgresql", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield request.getfixturevalue("fresh")() if request.param == "postgresql" else f"sqlite:///{tmp_path}/target.db"


def in_child(work: Callable[[], object]) -> int:
    """Runs in a process of its own; the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the load failed in the child"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def killed_at(step: int, target: str, data: Database, **options: bool) -> bool:
    """Whether the load lived long enough to be killed when it told of its progress for the nth time."""
    steps = iter(range(1, 1000))

    def progress(_share: float, _sentence: str) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return (
        in_child(lambda: load(target, data.schema, data.tables, fingerprint="f", progress=progress, **options))
        == signal.SIGKILL
    )


def contents(target: str) -> dict[str, int]:
    """Rows per table, not counting our own journal; SQLite takes a crashed transaction back when a writer comes."""
    if target.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(target.removeprefix("sqlite:///"))) as writer:
            writer.execute("SELECT 1 FROM sqlite_master").fetchall()
    schema = read_schema(target)
    return {name: table.rows for name, table in read_rows(target, schema).tables.items()}


def has_journal(target: str) -> bool:
    if target.startswith("sqlite"):
        with sqlite3.connect(target.removeprefix("sqlite:///")) as connection:
            return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (JOURNAL,)).fetchone())
    with session(target) as connection:
        return connection.execute("SELECT to_regclass(%s)", (JOURNAL,)).fetchone() != (None,)


FULL = {"town": 9, "person": PEOPLE}


def assert_complete(target: str, data: Database) -> None:
    assert contents(target) == FULL
    assert not has_journal(target)
    assert [one for one in server_findings(target, data.schema) if not one.holds] == []


KINDS = ("postgresql", "sqlite")
STEPS = [(kind, step) for step in range(1, 12) for kind in KINDS if SLOW or step > 9 or KINDS[step % 2] == kind]
"""The last two on both kinds of server, every other one on one of them; with --slow all on both."""


@pytest.mark.parametrize(("target", "step"), STEPS, indirect=["target"])
def test_killed_anywhere_and_completed(step: int, target: str, towns: Database) -> None:
    survived = not killed_at(step, target, towns)
    assert survived == (step == 11), "there are ten steps to be killed at"
    if not survived and step < 10:
        left = contents(target) if has_journal(target) else {}
        assert all(rows == FULL[name] for name, rows in left.items())
        done = load(target, towns.schema, towns.tables, fingerprint="f")
        assert set(done.resumed) == set(left)
    assert_complete(target, towns)


def test_killed_at_any_moment(target: str, towns: Database) -> None:
    for pause in (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3):
        child = os.fork()
        if child == 0:
            load(target, towns.schema, towns.tables, fingerprint="f", replace=True)
            os._exit(0)
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert all(rows == FULL[name] for name, rows in contents(target).items())
    load(target, towns.schema, towns.tables, fingerprint="f", replace=True)
    assert_complete(target, towns)


@pytest.mark.parametrize(
    ("target", "step"),
    [(kind, step) for place, step in enumerate((1, 3, 4, 6, 8)) for kind in KINDS if SLOW or KINDS[place % 2] == kind],
    indirect=["target"],
)
def test_killed_while_replacing(step: int, target: str, towns: Database) -> None:
    first = {
        "town": Table(towns.tables["town"].frame.slice(0, 1)),
        "person": Table(towns.tables["person"].frame.slice(0, 30)),
    }
    one_town = pa.table(
        {"id": first["person"].column("id"), "town": ["1"] * 30, "name": first["person"].column("name")}
    )
    before = {"town": 1, "person": 30}
    load(target, towns.schema, first | {"person": Table(one_town)}, fingerprint="old")
    with pytest.raises(DataError, match="already"):
        load(target, towns.schema, towns.tables, fingerprint="f")
    assert contents(target) == before
    assert killed_at(step, target, towns, replace=True)
    assert all(rows in (before[name], FULL[name]) for name, rows in contents(target).items())
    assert set(contents(target)) == set(FULL)
    load(target, towns.schema, towns.tables, fingerprint="f")
    assert_complete(target, towns)


def test_another_release_does_not_go_on_with_it(target: str, towns: Database) -> None:
    assert killed_at(6, target, towns)
    before = contents(target)
    with pytest.raises(DataError, match="another release"):
        load(target, towns.schema, towns.tables, fingerprint="g")
    shuffled = dict(towns.tables) | {"person": Table(towns.tables["person"].frame.slice(1))}
    with pytest.raises(DataError, match="other rows"):
        load(target, towns.schema, shuffled, fingerprint="f")
    assert contents(target) == before
    load(target, towns.schema, towns.tables, fingerprint="g", replace=True)
    assert_complete(target, towns)


def test_a_broken_key_is_found_at_the_end_and_nothing_is_called_complete(target: str, towns: Database) -> None:
    frame = towns.tables["town"].frame
    wrong = frame.set_column(2, "mayor", pa.array(["999999"] * 9))
    with pytest.raises(DataError, match=r"foreign key|not there"):
        load(target, towns.schema, dict(towns.tables) | {"town": Table(wrong)}, fingerprint="f")
    assert has_journal(target)
    load(target, towns.schema, towns.tables, fingerprint="g", replace=True)
    assert_complete(target, towns)


@pytest.mark.parametrize("column", ["name", "id"])
def test_a_row_the_server_refuses_leaves_no_trace_of_its_value(column: str, target: str, towns: Database) -> None:
    frame = towns.tables["person"].frame
    values = frame.column(column).to_pylist()
    values[500] = "X" if column == "name" else values[499]
    wrong = frame.set_column(frame.column_names.index(column), column, pa.array(values))
    with pytest.raises(DataError) as caught:
        load(target, towns.schema, dict(towns.tables) | {"person": Table(wrong)}, fingerprint="f")
    assert "person" in str(caught.value)
    assert not {"X", "p501", "500", "499", "sesame"} & set(
        str(caught.value).replace("'", " ").replace(",", " ").split()
    )
    assert contents(target).get("person", 0) in ((0,) if column == "name" else (0, PEOPLE))


def test_a_file_whose_writer_was_cut_off_is_not_repaired_by_reading(tmp_path: Path, towns: Database) -> None:
    target = f"sqlite:///{tmp_path}/cut.db"
    load(target, towns.schema, towns.tables, fingerprint="f")

    def work() -> None:
        writer = sqlite3.connect(tmp_path / "cut.db")
        writer.execute("PRAGMA cache_size = 2")
        writer.execute("UPDATE person SET name = name || 'x'")
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(work) == signal.SIGKILL
    before = (tmp_path / "cut.db").read_bytes()
    with pytest.raises(DataError, match="cut off"):
        read_schema(target)
    assert (tmp_path / "cut.db").read_bytes() == before
    assert contents(target) == FULL


def test_progress_never_goes_back(target: str, towns: Database) -> None:
    told: list[tuple[float, str]] = []
    load(
        target,
        towns.schema,
        towns.tables,
        fingerprint="f",
        progress=lambda share, sentence: told.append((share, sentence)),
    )
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert Counter(sentence for _, sentence in told)["loading person"] == 4
    assert all(0 <= share <= 1 for share in shares)


def test_tables_without_rows(target: str, towns: Database) -> None:
    create_tables(target, towns.schema)
    assert contents(target) == {"town": 0, "person": 0}
    assert [one for one in server_findings(target, towns.schema) if not one.holds] == []
