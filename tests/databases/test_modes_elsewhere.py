"""`fill` and `clone` of SQLite, DuckDB and MariaDB: complete, killed anywhere and completed, refused by name where not
exact."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from database_cases import whole
from modes_elsewhere import PLAIN, assert_alive, cursor_of, maker, migrated, run, source_of
from test_cut_off import in_child

from sfumato.core.errors import DataError, PolicyError
from sfumato.data.table import Table
from sfumato.io.database_source import DatabaseSource
from sfumato.io.sql import load
from sfumato.io.sql.load_journal import ASIDE, JOURNAL
from tests.slow import SLOW

"""Killed at every step, not only at the beginning of one kind, in the middle and at the end."""
KINDS = ["sqlite", "duckdb", "mariadb"]
Telling = Callable[[float, str], None]


class Way:
    """One server in one mode."""

    def __init__(self, kind: str, mode: str, folder: Path, request: pytest.FixtureRequest) -> None:
        self.kind, self.mode, self.new = kind, mode, maker(kind, folder, request)
        self.source = source_of(kind, self.new)
        self.data = whole(self.source)

    def target(self) -> str:
        return migrated(self.kind, self.new) if self.mode == "fill" else self.new()

    def load(self, target: str, progress: Telling | None = None, *, replace: bool = False) -> None:
        declared = DatabaseSource.model_validate({"source": self.source, "target": {"url": target, "mode": self.mode}})
        told = {"progress": progress, "replace": replace, "mode": declared.loading(), "source": self.source}
        load(target, self.data.schema, self.data.tables, fingerprint="f", **told)  # type: ignore[arg-type]

    def assert_complete(self, target: str) -> None:
        with cursor_of(target) as ask:
            assert sorted(map(str, ask("SELECT id, town, name FROM person"))) == [
                "(1, 1, 'Ann')",
                "(2, 2, 'Bo')",
                "(3, 2, 'Cy')",
            ]
            for gone in (JOURNAL, ASIDE):
                with pytest.raises(Exception, match=r"(?i)exist|no such table"):
                    ask(f"SELECT * FROM {gone}")
        assert_alive(self.kind, target, cloned=self.mode == "clone")


def has_journal(target: str) -> bool:
    with cursor_of(target) as ask:
        try:
            return bool(ask(f"SELECT * FROM {JOURNAL}"))
        except Exception:
            return False


@pytest.fixture(params=[(kind, mode) for kind in KINDS for mode in ("fill", "clone")], ids="-".join)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Way:
    return Way(*request.param, tmp_path, request)


def test_killed_and_completed(way: Way) -> None:
    told: list[str] = []
    way.load(complete := way.target(), lambda _, sentence: told.append(sentence))
    way.assert_complete(complete)
    assert len(told) >= 6
    few = {1 if way.kind == "sqlite" else len(told), len(told) // 2, len(told) - (way.mode == "clone")}
    for step in range(1, len(told) + 1) if SLOW else sorted(few):
        target, steps = way.target(), iter(range(1, 1_000))

        def progress(_share: float, _sentence: str, steps=steps, step=step) -> None:  # type: ignore[no-untyped-def]
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(lambda target=target, progress=progress: way.load(target, progress)) == signal.SIGKILL
        if has_journal(target):  # a target without one is finished
            way.load(target)
        else:
            assert step >= len(told) - 1
        way.assert_complete(target)


def test_rows_that_are_there_are_kept_or_replaced(way: Way) -> None:
    if way.mode == "clone":
        run(target := way.target(), PLAIN)
        with pytest.raises(DataError, match=r"needs an empty database|already"):
            way.load(target)
        return
    target = migrated(way.kind, way.new, "INSERT INTO town (id, name) VALUES (9, 'Old');")
    with pytest.raises(DataError, match="has rows already"):
        way.load(target)
    if way.kind == "duckdb":
        with pytest.raises(DataError, match="cannot sleep"):
            way.load(target, replace=True)
    else:
        way.load(target, replace=True)
        way.assert_complete(target)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_that_slept_are_asked_in_the_end(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Rows that name nothing: refused, and the load stays unfinished."""
    way = Way(kind, "fill", tmp_path, request)
    people = pa.table({"id": ["1"], "town": ["7"], "name": ["Ann"]})
    way.data = replace(way.data, tables={**way.data.tables, "person": Table(people)})
    with pytest.raises(DataError, match=r"names? a row that is not there"):
        way.load(target := way.target())
    assert has_journal(target)


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_that_does_not_fit_is_refused_before_anything_changes(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    way = Way(kind, "fill", tmp_path, request)
    target = way.new()
    run(target, "CREATE TABLE town (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, mayor VARCHAR(20) NOT NULL)")
    with pytest.raises(DataError, match=r"has no table 'person'|needs a value for 'town.mayor'"):
        way.load(target)
    run(target, PLAIN.partition(";")[2])
    with pytest.raises(DataError, match=r"needs a value for 'town.mayor'"):
        way.load(target)


def test_what_cannot_be_cloned_exactly_is_refused_by_name(tmp_path: Path) -> None:
    for kind, statement, named in (
        ("duckdb", "CREATE MACRO twice(a) AS 2 * a", "the macro 'twice'"),
        ("duckdb", "CREATE TYPE mood AS ENUM ('good', 'bad')", "the type 'mood'"),
        ("sqlite", "CREATE VIRTUAL TABLE words USING fts5(body)", "the virtual table 'words"),
    ):
        url = f"{kind}:///{tmp_path}/{len(list(tmp_path.iterdir()))}.db"
        run(url, statement)
        declared = DatabaseSource.model_validate(
            {"source": url, "target": {"url": f"{kind}:///{tmp_path}/t", "mode": "clone"}}
        )
        with pytest.raises(PolicyError, match=named):
            declared.loading()


def test_both_sides_must_be_of_one_kind(tmp_path: Path) -> None:
    run(f"sqlite:///{tmp_path}/s", "CREATE TABLE t (a INTEGER)")
    where = {"source": f"sqlite:///{tmp_path}/s", "target": {"url": f"duckdb:///{tmp_path}/t", "mode": "fill"}}
    with pytest.raises(PolicyError, match="the same kind of server"):
        DatabaseSource.model_validate(where).loading()
