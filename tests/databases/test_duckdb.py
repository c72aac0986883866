"""DuckDB as source and as target: real files, through every verb of the flow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from database_cases import REAL, WIDE, assert_same_rows, real, whole
from postgres_server import session

from sfumato.core.errors import DataError
from sfumato.io.sql import load, read_schema, same_database, server_findings
from tests.command_line import run
from tests.slow import SLOW

SHOP = """
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
CREATE SEQUENCE person_numbers START 5;
CREATE SEQUENCE "odd name" START 1 INCREMENT BY 3;
CREATE TABLE person (
  id INTEGER PRIMARY KEY DEFAULT nextval('person_numbers'), boss INTEGER REFERENCES person (id), name VARCHAR NOT NULL,
  email VARCHAR UNIQUE, feeling mood, paid DECIMAL(10, 2) CHECK (paid > 0),
    loud VARCHAR GENERATED ALWAYS AS (upper(name)),
  token UUID, raw BLOB, seen TIMESTAMP, met TIMESTAMPTZ, born DATE, wakes TIME, ratio DOUBLE, marks INTEGER[], words VARCHAR[],
  pair STRUCT(a INTEGER, b VARCHAR), doc JSON, huge HUGEINT, span INTERVAL, ok BOOLEAN, tiny UTINYINT, UNIQUE (born,
    wakes));
CREATE TABLE "Order Line" (
  "No" BIGINT DEFAULT nextval('"odd name"') PRIMARY KEY, person INTEGER NOT NULL REFERENCES person (id), "from" DATE,
    "to" DATE,
  CHECK ("from" <= "to"));
CREATE INDEX by_person ON "Order Line" (person);
CREATE VIEW names AS SELECT name FROM person;
INSERT INTO person SELECT nextval('person_numbers'), NULL, 'Person ' || i, 'p' || i || '@example.org', 'sad', i + 0.5,
  uuid(),
  CASE WHEN i % 3 = 0 THEN '\\x00\\xFF'::BLOB END, TIMESTAMP '2020-01-01 10:00:00.25' + to_minutes(i::INTEGER),
  TIMESTAMPTZ '2020-01-01 10:00:00+05:30', DATE '1960-01-01' + (i * 37)::INTEGER, TIME '10:00:00', i / 3.0, [i, NULL],
  ['a,b', 'q"''', '', 'NULL', ' x '], {'a': i, 'b': 'x, ''y'}, '{"n": 1}', 170141183460469231731687303715884105727,
  INTERVAL 1 DAY, i % 2 = 0, i FROM range(40) r(i);
INSERT INTO person (id, boss, name) VALUES (1000, 6, 'Chain');
INSERT INTO person (id, boss, name) VALUES (1001, 1000, 'Chained'); INSERT INTO person (id, boss, name) VALUES (1002,
  1001, '');
INSERT INTO "Order Line" SELECT nextval('"odd name"'), 5 + i % 40, DATE '2020-01-01' + i::INTEGER,
  DATE '2020-02-01' + i::INTEGER
  FROM range(200) r(i);
"""


def shop(folder: Path, name: str = "shop") -> str:
    path = folder / f"{name}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(SHOP)
    return f"duckdb:///{path}"


def asked(url: str, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(url.removeprefix("duckdb:///"), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_a_file_comes_back_exactly(tmp_path: Path) -> None:
    source, target = shop(tmp_path), f"duckdb:///{tmp_path}/copy.duckdb"
    original = whole(source)
    facts = original.schema.table("person")
    assert [facts.column(name).kind for name in ("id", "feeling", "paid", "raw", "met", "marks", "doc", "tiny")] == [
        "integer", "enum", "decimal", "binary", "timestamp", "list", "json", "integer",
    ]  # fmt: skip
    assert facts.column("feeling").choices == ("sad", "it's ok", "happy")
    assert facts.column("loud").computed and facts.column("id").sequence == "person_numbers"
    assert any("view" in sentence for sentence in original.schema.left_out)
    load(target, original.schema, original.tables, fingerprint="a")
    assert_same_rows(original, whole(target), exactly=True)
    everything = "SELECT COLUMNS(*)::VARCHAR, typeof(person.pair) FROM person ORDER BY id"
    assert asked(source, everything) == asked(target, everything)
    found = server_findings(target, original.schema)
    assert len(found) > 10
    assert [one for one in found if not one.holds] == []
    strip = [
        (t.name, t.columns, t.primary_key, set(t.uniques), t.foreign_keys, t.checks) for t in read_schema(target).tables
    ]
    assert strip == [
        (t.name, t.columns, t.primary_key, set(t.uniques), t.foreign_keys, t.checks) for t in original.schema.tables
    ]
    with duckdb.connect(target.removeprefix("duckdb:///")) as there:
        assert there.execute("INSERT INTO person (name) VALUES ('new') RETURNING id").fetchall() == [(1003,)]
        with pytest.raises(duckdb.ConstraintException):
            there.execute('INSERT INTO "Order Line" (person) VALUES (77777)')


@pytest.mark.parametrize("name", [name for name in REAL if name != "sakila" or SLOW])
def test_a_real_database_into_duckdb_and_back(name: str, tmp_path: Path) -> None:
    source = real(name, tmp_path)
    original, there = whole(source), f"duckdb:///{tmp_path}/there.duckdb"
    load(there, original.schema, original.tables, fingerprint="a")
    middle = whole(there)
    assert_same_rows(original, middle, exactly=False)
    wrong = [one for one in server_findings(there, original.schema) if not one.holds]
    assert all(one.what == "foreign key" and not one.violations for one in wrong), wrong
    back = f"sqlite:///{tmp_path}/back.db"
    load(back, middle.schema, middle.tables, fingerprint="b")
    assert_same_rows(original, whole(back), exactly=False)


def test_wide_types_of_postgresql_survive(tmp_path: Path, fresh: Callable[[], str]) -> None:
    source, file, back = fresh(), f"duckdb:///{tmp_path}/wide.duckdb", fresh()
    with session(source) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
    original = whole(source)
    load(file, original.schema, original.tables, fingerprint="a")
    middle = whole(file)
    assert_same_rows(original, middle, exactly=False)
    load(back, middle.schema, middle.tables, fingerprint="b")
    assert_same_rows(original, whole(back), exactly=False)


def test_keys_in_a_circle_are_left_out_and_named(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "circle.db") as made:
        made.executescript("""
            CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER REFERENCES b (id), self INTEGER REFERENCES a (id));
            CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id));
            INSERT INTO a VALUES (1, 1, 2), (2, 1, 1); INSERT INTO b VALUES (1, 2);""")
    original = whole(f"sqlite:///{tmp_path}/circle.db")
    target = f"duckdb:///{tmp_path}/circle.duckdb"
    done = load(target, original.schema, original.tables, fingerprint="a")
    assert sum("in a circle" in sentence for sentence in done.left_out) == 2
    assert_same_rows(original, whole(target), exactly=False)


def succeeds(*arguments: str) -> str:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_three_commands_on_a_file(tmp_path: Path) -> None:
    source = shop(tmp_path)
    policy = tmp_path / "shop.yaml"
    policy.write_text(succeeds("discover", source, "--target", f"duckdb:///{tmp_path}/test.duckdb"))
    succeeds("check", str(policy), "--strict", "--accept-roles")
    succeeds("publish", str(policy), "--out", str(tmp_path / "out"), "--no-report", "--accept-roles")
    assert json.loads((tmp_path / "out" / "target.json").read_text())["holds"]
    target = f"duckdb:///{tmp_path}/test.duckdb"
    assert asked(target, "SELECT count(*), count(DISTINCT email) FROM person") == [(43, 40)]
    emails = "SELECT email FROM person WHERE email IS NOT NULL"
    assert set(asked(target, emails)) & set(asked(source, emails)) == set()
    assert asked(target, 'SELECT count(*) FROM "Order Line" WHERE "from" > "to"') == [(0,)]
    succeeds("verify", str(tmp_path / "out"), "--target", target, "--original", source)
    with duckdb.connect(target.removeprefix("duckdb:///")) as there:
        there.execute("UPDATE person SET paid = paid + 1")
    assert run("verify", str(tmp_path / "out"), "--target", target).returncode != 0


def test_what_stands_in_the_target_is_replaced_only_when_asked(tmp_path: Path) -> None:
    source, target = shop(tmp_path), shop(tmp_path, "other")
    original = whole(source)
    with pytest.raises(DataError, match="already"):
        load(target, original.schema, original.tables, fingerprint="a")
    load(target, original.schema, original.tables, fingerprint="a", replace=True)
    assert_same_rows(original, whole(target), exactly=True)


def test_refusals_of_files(tmp_path: Path) -> None:
    source = shop(tmp_path)
    assert same_database(source, f"duckdb:///{tmp_path}/../{tmp_path.name}/shop.duckdb")
    (tmp_path / "text.duckdb").write_text("no database at all, whatever its name says")
    for url, what in (
        (f"duckdb:///{tmp_path}/absent.duckdb", "does not exist"),
        (f"duckdb:///{tmp_path}/text.duckdb", "no DuckDB database"),
        ("duckdb:///:memory:", "needs a file"),
    ):
        with pytest.raises(DataError, match=what):
            read_schema(url)
    original = whole(source)
    with pytest.raises(DataError, match="is the source"):
        load(source, original.schema, original.tables, fingerprint="a", source=source)
    assert not (tmp_path / "absent.duckdb").exists()


@pytest.mark.parametrize(("url", "name"), [("mssql+pyodbc://u:p@h/d", "SQL Server"), ("oracle://u:p@h/d", "Oracle")])
def test_servers_that_are_refused_by_name(url: str, name: str) -> None:
    with pytest.raises(DataError, match=f"{name} can be neither source nor target") as refused:
        read_schema(url)
    assert "u:p@h" not in str(refused.value)
