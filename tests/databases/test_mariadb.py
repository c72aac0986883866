"""MariaDB as source and as target: a real server, through every verb of the flow."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
from database_cases import WIDE, assert_same_rows, real, whole
from mariadb_server import maria_session
from postgres_server import session

from sfumato.core.errors import DataError
from sfumato.data.database import Database
from sfumato.io.sql import load, read_schema, same_database, server_findings
from tests.command_line import run

Fresh = Callable[[], str]
SHOP = r"""
CREATE TABLE person (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, boss INT UNSIGNED, name VARCHAR(60) NOT NULL DEFAULT 'it''s',
  email VARCHAR(80), mood ENUM('sad', 'it''s ok', 'happy'), tags SET('q', 'r'), active TINYINT(1) DEFAULT 1,
  paid DECIMAL(10, 2) CHECK (paid > 0), loud VARCHAR(60) AS (upper(name)) STORED,
  twice INT GENERATED ALWAYS AS (since * 2) VIRTUAL,
  raw BLOB, fixed BINARY(3), bits BIT(5), seen TIMESTAMP(3) NULL, made DATETIME DEFAULT CURRENT_TIMESTAMP,
    wakes TIME(2),
  born DATE, since YEAR, doc JSON, ratio DOUBLE, single FLOAT, spot POINT, token UUID, note LONGTEXT,
  UNIQUE KEY by_email (email), KEY (born),
    CONSTRAINT boss_is FOREIGN KEY (boss) REFERENCES person (id) ON DELETE SET NULL,
  CONSTRAINT nice CHECK (char_length(name) < 50)) COMMENT = 'people';
CREATE TABLE `order line` (
  no BIGINT PRIMARY KEY, person INT UNSIGNED NOT NULL, `from` DATE NOT NULL, `to` DATE NOT NULL, `50% off` INT,
  CONSTRAINT ordered CHECK (`from` <= `to`), FOREIGN KEY (person) REFERENCES person (id) ON DELETE CASCADE);
CREATE VIEW names AS SELECT name FROM person;
CREATE TRIGGER stamp BEFORE INSERT ON person FOR EACH ROW SET NEW.note = COALESCE(NEW.note, 'stamped');
INSERT INTO person (boss, name, email, mood, tags, active, paid, raw, fixed, bits, seen, made, wakes, born, since, doc,
  ratio,
  single, spot, token, note)
SELECT NULL, CONCAT('Person ', seq), CONCAT('p', seq, '@example.org'), 'it''s ok', 'q,r', seq % 2, seq + 0.5,
  x'00ff5c27',
  x'010203', b'10101', '2020-01-01 10:00:00.120', '2020-01-02 03:04:05', '-30:10:00.5',
  DATE_ADD('1960-01-01', INTERVAL seq * 37 DAY), 2020,
  '{"n": 1}', seq / 3, 0.1, POINT(1, 2), uuid(), CASE WHEN seq % 2 = 0 THEN '' ELSE '\\t "x" \'' END FROM seq_1_to_40;
INSERT INTO person (id, boss, name, note) VALUES (1000, 1001, 'Chain', 'a'), (1001, 1000, 'Chained', 'b'), (0, 0,
  'Self', 'c');
INSERT INTO `order line` SELECT seq, seq % 40 + 1, '2020-01-01', DATE_ADD('2020-01-01', INTERVAL seq DAY), NULL
  FROM seq_1_to_200;
"""


@pytest.fixture
def shop(fresh_mariadb: Fresh) -> str:
    url = fresh_mariadb()
    with maria_session(
        url, f"SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,STRICT_ALL_TABLES'; SET foreign_key_checks = 0; {SHOP}"
    ):
        return url


def asked(url: str, query: str) -> tuple[tuple[object, ...], ...]:
    with maria_session(url) as cursor:
        cursor.execute(query)
        return tuple(cursor.fetchall())


def test_a_database_comes_back_exactly(shop: str, fresh_mariadb: Fresh) -> None:
    target, original = fresh_mariadb(), whole(shop)
    facts = original.schema.table("person")
    named = {name: facts.column(name).kind for name in ("id", "mood", "active", "raw", "bits", "doc", "seen", "paid")}
    assert named == {
        "id": "integer", "mood": "enum", "active": "boolean", "raw": "binary", "bits": "bit", "doc": "json",
        "seen": "timestamp",
        "paid": "decimal",
    }  # fmt: skip
    assert facts.column("mood").choices == ("sad", "it's ok", "happy")
    assert {"'names' is a view and is not copied", "the triggers of table 'person' are not copied"} <= set(
        original.schema.left_out
    )
    load(target, original.schema, original.tables, fingerprint="a")
    assert_same_rows(original, whole(target), exactly=True)
    everything = "SELECT * FROM person ORDER BY id"
    assert asked(shop, everything) == asked(target, everything)
    assert read_schema(target).tables == original.schema.tables
    found = server_findings(target, original.schema)
    assert len(found) > 10
    assert [one for one in found if not one.holds] == []
    with maria_session(target) as cursor:
        cursor.execute("INSERT INTO person (name) VALUES ('new')")
        assert cursor.lastrowid == 1002
        with pytest.raises(pymysql.IntegrityError):
            cursor.execute("INSERT INTO `order line` VALUES (999, 77777, '2020-01-01', '2020-01-02', NULL)")


def test_a_source_is_only_read(shop: str) -> None:
    from sfumato.io.sql import connect

    with connect(shop) as link, pytest.raises(pymysql.Error, match=r"(?i)read.only"):
        link.run("DELETE FROM person")


def written(base: Database) -> Database:
    """Without computed columns and bytes of a type that other servers do not have."""
    tables = tuple(
        replace(t, columns=tuple(c for c in t.columns if c.name not in ("loud", "twice", "spot")))
        for t in base.schema.tables
    )
    return Database(replace(base.schema, tables=tables), base.tables)


def test_to_sqlite_duckdb_and_postgresql(shop: str, tmp_path: Path, fresh: Fresh) -> None:
    original = whole(shop)
    for target in (f"sqlite:///{tmp_path}/shop.db", f"duckdb:///{tmp_path}/shop.duckdb", fresh()):
        load(target, original.schema, original.tables, fingerprint="a")
        there = whole(target)
        assert_same_rows(written(original), written(there), exactly=False)


def test_a_real_database_and_wide_types_arrive(tmp_path: Path, fresh: Fresh, fresh_mariadb: Fresh) -> None:
    sakila = whole(real("sakila", tmp_path))
    target = fresh_mariadb()
    load(target, sakila.schema, sakila.tables, fingerprint="a")
    assert_same_rows(sakila, whole(target), exactly=False)
    assert [one for one in server_findings(target, sakila.schema) if not one.holds and one.what != "check"] == []
    source, target = fresh(), fresh_mariadb()
    with session(source) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
    wide = whole(source)
    load(target, wide.schema, wide.tables, fingerprint="a")
    assert_same_rows(wide, whole(target), exactly=False)


def succeeds(*arguments: str) -> str:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_three_commands(shop: str, tmp_path: Path, fresh_mariadb: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    target = fresh_mariadb()
    monkeypatch.setenv("SFUMATO_SOURCE", shop)
    monkeypatch.setenv("SFUMATO_TARGET", target)
    policy = tmp_path / "shop.yaml"
    policy.write_text(succeeds("discover", shop, "--target", target))
    succeeds("check", str(policy), "--strict", "--accept-roles")
    succeeds("publish", str(policy), "--out", str(tmp_path / "out"), "--accept-roles")
    assert json.loads((tmp_path / "out" / "target.json").read_text())["holds"]
    for column in ("name", "email"):
        query = f"SELECT {column} FROM person WHERE {column} IS NOT NULL"
        assert set(asked(target, query)) & set(asked(shop, query)) == set()
    assert asked(target, "SELECT count(*) FROM `order line` WHERE `from` > `to`") == ((0,),)
    succeeds("verify", str(tmp_path / "out"), "--target", target, "--original", shop)
    with maria_session(target) as cursor:
        cursor.execute("UPDATE person SET paid = paid + 1")
    assert run("verify", str(tmp_path / "out"), "--target", target).returncode != 0


def test_refusals(shop: str, fresh_mariadb: Fresh) -> None:
    original, other = whole(shop), fresh_mariadb()
    assert same_database(shop, shop.replace("mariadb://", "mysql+pymysql://"))
    assert not same_database(shop, other)
    with pytest.raises(DataError, match="is the source"):
        load(shop, original.schema, original.tables, fingerprint="a", source=shop)
    load(other, original.schema, original.tables, fingerprint="a")
    with pytest.raises(DataError, match="already"):
        load(other, original.schema, original.tables, fingerprint="b")
    load(other, original.schema, original.tables, fingerprint="b", replace=True)
    assert_same_rows(original, whole(other), exactly=True)
    for url, what in (
        (shop.replace("sesame", "wrong"), "password"),
        (shop.rpartition("/")[0] + "/absent", "no such database"),
    ):
        with pytest.raises(DataError, match=what) as refused:
            read_schema(url)
        assert "sesame" not in str(refused.value) and "wrong" not in str(refused.value)
