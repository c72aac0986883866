"""One table through a URL: the two servers we bring drivers for, and any other that SQLAlchemy knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from postgres_server import session

from sfumato.core.errors import DataError
from sfumato.io.sql import read_sql

ROWS = [{"a": 1, "B c": "x"}, {"a": None, "B c": "y"}]


def test_sqlite_with_and_without_its_driver(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "one.db") as connection:
        connection.executescript("""CREATE TABLE t (a INTEGER, "B c" TEXT); INSERT INTO t VALUES (1, 'x'), (NULL, 'y');
                                    CREATE TABLE "none" (a INTEGER)""")
    for scheme in ("sqlite", "sqlite+pysqlite"):
        assert read_sql(f"{scheme}:///{tmp_path}/one.db", "t").to_pylist() == ROWS
    for table, said in (("u", "no table 'u'"), ("", "needs the name of a table"), ("none", "has no rows")):
        with pytest.raises(DataError, match=said):
            read_sql(f"sqlite:///{tmp_path}/one.db", table)
    with pytest.raises(DataError, match="does not exist"):
        read_sql(f"sqlite:///{tmp_path}/absent.db", "t")
    assert not (tmp_path / "absent.db").exists()


def test_postgresql_however_its_driver_is_called(fresh: Callable[[], str]) -> None:
    url = fresh()
    with session(url) as connection:
        connection.execute("""CREATE TABLE t (a integer, "B c" text); INSERT INTO t VALUES (1, 'x'), (NULL, 'y')""")
    rest = url.partition("://")[2]
    for scheme in ("postgresql", "postgresql+psycopg", "postgresql+psycopg2"):
        assert read_sql(f"{scheme}://{rest}", "t").to_pylist() == ROWS


@pytest.mark.parametrize(
    "url", ["mysql+pymysql://me:geheim@127.0.0.1:1/x", "strange://me:geheim@host/x", "postgresql://me:geheim@[::1"]
)
def test_what_cannot_be_reached_is_said_without_the_url(url: str) -> None:
    with pytest.raises(DataError) as caught:
        read_sql(url, "t")
    assert "geheim" not in str(caught.value)
    assert any(words in str(caught.value) for words in ("check the URL", "check host and port", "cannot be understood"))


def test_other_dialects_go_through_sqlalchemy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sqlalchemy as sa

    with sqlite3.connect(tmp_path / "one.db") as connection:
        connection.executescript(
            """CREATE TABLE t (a INTEGER, "B c" TEXT); INSERT INTO t VALUES (1, 'x'), (NULL, 'y')"""
        )
    asked: list[str] = []
    made = sa.create_engine

    def elsewhere(address: sa.URL, **options: object) -> sa.Engine:
        asked.append(address.drivername)
        return made(f"sqlite:///{tmp_path}/one.db", **options)

    monkeypatch.setattr(sa, "create_engine", elsewhere)
    assert read_sql("mssql+pyodbc://host/x", "t").to_pylist() == ROWS
    assert asked == ["mssql+pyodbc"]
