"""Discovery on a sample: what is switched on is true of all rows, and the server's counts are those of the
definitions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from mariadb_server import fresh_mariadb, maria_session, mariadb  # noqa: F401
from postgres_server import fresh, postgres, session  # noqa: F401

from sfumato.io.sql import connect
from sfumato.io.sql.rows import RowCounter
from sfumato.policy.constraint_language import parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.release.method import no_progress
from sfumato.workflow.discover.databases import read_database, read_sampled
from sfumato.workflow.discover.discover import discover

ROWS, MOST = 6_000, 1_000


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Visits of patients: rules of which single rows, far apart, break some."""
    path = tmp_path_factory.mktemp("visits") / "visits.db"
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            CREATE TABLE patient (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE visit (id INTEGER PRIMARY KEY, patient INTEGER NOT NULL REFERENCES patient (id), came DATE,
              went DATE,
              net INTEGER, tax INTEGER, paid INTEGER, ward TEXT, code TEXT, mark TEXT);
        """)
        connection.executemany("INSERT INTO patient VALUES (?, ?)", [(n, f"Ann Boe{n}") for n in range(2_000)])
        rows = [
            (
                n, n % 2_000, f"2020-01-{n % 28 + 1:02d}", f"2020-02-{n % 28 + 1:02d}", n % 90, n % 7, n % 90 + n % 7,
                "abcd"[n % 4] if n != 3_001 else "zz", f"C{n if n != 4_000 else 17}", f"M{n}",
            )
            for n in range(ROWS)
        ]  # fmt: skip
        rows[2_500] = (*rows[2_500][:6], 999, *rows[2_500][7:])
        connection.executemany(f"INSERT INTO visit VALUES ({', '.join('?' * 10)})", rows)
    return f"sqlite:///{path}"


def test_what_sampled_rows_refer_to_and_the_largest_key_are_there(visits: str) -> None:
    data, sampled = read_sampled(visits, no_progress, "", MOST)
    assert set(sampled) == {"visit", "patient"}
    there = data.tables["patient"].column("id").to_pylist()
    assert len(there) == len(set(there)) < 2_000
    assert set(data.tables["visit"].column("patient").to_pylist()) < set(there), "and some to whom nobody refers"
    assert MOST * 0.7 < data.tables["visit"].rows < MOST * 1.3
    assert str(ROWS - 1) in data.tables["visit"].column("id").to_pylist()


def test_what_is_switched_on_is_true_of_all_rows(visits: str) -> None:
    found = discover(visits, most=MOST)
    whole = read_database(visits)
    tables = {name: {column: table.text(column) for column in table.names} for name, table in whole.tables.items()}
    active = [each.rule for each in found.proposals if each.active]
    assert [rule for rule in active if ConstraintEvaluator(tables).broken(parse(rule))] == []
    assert any("visit.came" in rule and "visit.went" in rule for rule in active), active
    assert not [rule for rule in active if "visit.ward in" in rule or rule == "unique(visit.code)"]
    assert any("confirmed the constraints" in reason for reason in found.reasons)


TABLES = """
CREATE TABLE up (id INTEGER PRIMARY KEY);
CREATE TABLE t (a INTEGER, b INTEGER, c VARCHAR(9), d VARCHAR(9));
INSERT INTO up VALUES (1), (2);
INSERT INTO t VALUES (1, 2, 'x', 'p'), (2, 2, 'x', 'q'), (3, 1, 'y', NULL), (NULL, 5, 'z', 'r'), (NULL, 6, '', 'r');
INSERT INTO t VALUES (9, NULL, 'y', 's');
"""


@pytest.fixture(params=["sqlite", "duckdb", "postgresql", "mariadb"])
def counted(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        with sqlite3.connect(tmp_path / "t.db") as connection:
            connection.executescript(TABLES)
        return f"sqlite:///{tmp_path}/t.db"
    if request.param == "duckdb":
        import duckdb

        with duckdb.connect(f"{tmp_path}/t.duckdb") as there:
            there.execute(TABLES)
        return f"duckdb:///{tmp_path}/t.duckdb"
    make: Callable[[], str] = request.getfixturevalue("fresh" if request.param == "postgresql" else "fresh_mariadb")
    url = make()
    if request.param == "mariadb":
        with maria_session(url, TABLES):
            return url
    with session(url) as there:
        there.execute(TABLES)
    return url


def test_the_server_counts_what_speaks_against_a_rule(counted: str) -> None:
    with connect(counted) as link:
        counter = RowCounter(link)
        assert counter.broken("t", '"a" <= "b"') == 1, "3 > 1; what is unknown breaks nothing"
        assert counter.repeated("t", ["a"]) == 1, "two missing values are the same one"
        assert counter.repeated("t", ["b", "c"]) == 1
        assert counter.undetermined("t", ["c"], "d") == 2, "x goes with p and q, y with a missing value and s"
        assert counter.outside("t", "c", ["x", "it's"]) == 3, "the empty text is missing"
        assert counter.dangling("t", {"a": "id"}, "up") == 2
