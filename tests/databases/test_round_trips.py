"""Real databases and wide types go out and come back as they were, and the server finds every constraint standing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from database_cases import REAL, WIDE, assert_same_rows, chinook_script, real, whole
from postgres_server import Server, session

from sfumato.io.sql import load, read_back, read_rows, read_schema, server_findings

Fresh = Callable[[], str]


def keys_of(url: str) -> set[tuple[object, ...]]:
    schema = read_schema(url)
    found: set[tuple[object, ...]] = {("key", table.name, table.primary_key) for table in schema.tables}
    found |= {("unique", table.name, columns) for table in schema.tables for columns in table.uniques}
    return found | {
        ("foreign", k.table, k.columns, k.parent, k.parent_columns, tuple(sorted((k.options or {}).items())))
        for k in schema.foreign_keys
    }


@pytest.mark.parametrize("name", REAL)
def test_a_real_database_into_postgresql_and_back_into_sqlite(name: str, tmp_path: Path, fresh: Fresh) -> None:
    source = real(name, tmp_path)
    original, target, returned = whole(source), fresh(), f"sqlite:///{tmp_path}/back.db"
    done = load(target, original.schema, original.tables, fingerprint="a")
    assert done.rows == {table: rows.rows for table, rows in original.tables.items()}
    assert not any("check" in sentence for sentence in done.left_out)
    there = whole(target)
    assert_same_rows(original, there, exactly=False)
    assert keys_of(source) == keys_of(target)
    findings = server_findings(target, original.schema)
    assert len(findings) > (15 if name == "bookshop" else 60)
    assert [one for one in findings if not one.holds] == []
    load(returned, there.schema, there.tables, fingerprint="b")
    assert_same_rows(original, whole(returned), exactly=False)
    assert keys_of(source) == keys_of(returned)


@pytest.mark.parametrize("name", REAL)
def test_a_real_database_into_sqlite_keeps_every_storage_class(name: str, tmp_path: Path) -> None:
    source, target = real(name, tmp_path), f"sqlite:///{tmp_path}/copy.db"
    original = whole(source)
    load(target, original.schema, original.tables, fingerprint="a")
    assert_same_rows(original, whole(target), exactly=True)
    assert keys_of(source) == keys_of(target)
    assert [one for one in server_findings(target, original.schema) if not one.holds] == []
    with sqlite3.connect(tmp_path / "copy.db") as copy, sqlite3.connect(tmp_path / f"{name}.sqlite") as first:
        for table in original.schema.tables:
            kinds = ", ".join(f'typeof("{column}"), "{column}"' for column in table.names)
            query = f'SELECT {kinds} FROM "{table.name}"'
            assert sorted(map(repr, copy.execute(query))) == sorted(map(repr, first.execute(query))), table.name
        statement = (
            "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL ORDER BY name"
        )
        assert copy.execute(statement).fetchall() == first.execute(statement).fetchall()


def test_chinook_from_postgresql_to_both(tmp_path: Path, fresh: Fresh) -> None:
    source, target, file = fresh(), fresh(), f"sqlite:///{tmp_path}/chinook.db"
    with session(source) as connection:
        connection.execute(chinook_script())  # type: ignore[arg-type]
    original = whole(source)
    load(target, original.schema, original.tables, fingerprint="a")
    assert_same_rows(original, whole(target), exactly=True)
    assert read_schema(target) == original.schema
    load(file, original.schema, original.tables, fingerprint="a")
    assert_same_rows(original, whole(file), exactly=False)
    for url in (target, file):
        assert [one for one in server_findings(url, original.schema) if not one.holds] == []


def test_wide_types_come_back_exactly(fresh: Fresh) -> None:
    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
    original = whole(source)
    load(target, original.schema, original.tables, fingerprint="a")
    assert read_schema(target) == original.schema
    assert_same_rows(original, read_back(target, read_schema(target)), exactly=True)
    assert [one for one in server_findings(target, original.schema) if not one.holds] == []
    everything = "SELECT row_to_json(w)::text, w.*::text FROM {} w ORDER BY 1, 2"
    with session(source) as one, session(target) as other:
        for table in ("wide", "lone"):
            assert (
                one.execute(everything.format(table)).fetchall() == other.execute(everything.format(table)).fetchall()
            )  # type: ignore[call-overload]


def test_wide_types_survive_sqlite(tmp_path: Path, fresh: Fresh) -> None:
    source, file = fresh(), f"sqlite:///{tmp_path}/wide.db"
    with session(source) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
    original = whole(source)
    done = load(file, original.schema, original.tables, fingerprint="a")
    assert any("default" in sentence for sentence in done.left_out) is False
    assert_same_rows(original, read_rows(file, read_schema(file)), exactly=False)


def test_null_is_not_the_empty_text(fresh: Fresh) -> None:
    source = fresh()
    with session(source) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
    values = whole(source).tables["lone"].frame.column("alone").to_pylist()
    assert values.count(None) == 2
    assert values.count("") == 1
    assert values.count("NULL") == 1


def test_storage_classes_of_sqlite_survive(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "loose.db") as loose:
        loose.execute("CREATE TABLE loose (bare, n NUMERIC, i INTEGER, r REAL, t TEXT, b BLOB, d DATETIME)")
        values = [
            5,
            5.0,
            "5",
            "five",
            b"\x05",
            b"",
            None,
            "",
            2**63 - 1,
            -(2**63),
            1e300,
            0.1,
            1 / 3,
            float("inf"),
            "\\x41",
            "\\t",
            "\\i5",
            " 7 ",
            "1e5",
            "0x10",
            "٣",
        ]
        loose.executemany("INSERT INTO loose VALUES (?, ?, ?, ?, ?, ?, ?)", [(value,) * 7 for value in values])
    source, target = f"sqlite:///{tmp_path}/loose.db", f"sqlite:///{tmp_path}/copy.db"
    original = whole(source)
    load(target, original.schema, original.tables, fingerprint="a")
    kinds = (
        "SELECT rowid, "
        + ", ".join(f"typeof({c}), {c}" for c in ("bare", "n", "i", "r", "t", "b", "d"))
        + " FROM loose ORDER BY rowid"
    )
    with sqlite3.connect(tmp_path / "loose.db") as one, sqlite3.connect(tmp_path / "copy.db") as other:
        assert one.execute(kinds).fetchall() == other.execute(kinds).fetchall()
    assert_same_rows(original, whole(target), exactly=True)


def test_a_row_longer_than_a_piece(fresh: Fresh) -> None:
    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute("CREATE TABLE long (id int PRIMARY KEY, body text, raw bytea)")
        connection.execute(
            "INSERT INTO long VALUES (1, repeat('ä\"', 6000000), NULL), (3, NULL, ''), "
            "(2, '', decode(repeat('00', 5000000), 'hex'))"
        )
    original = whole(source)
    load(target, original.schema, original.tables, fingerprint="a")
    assert_same_rows(original, whole(target), exactly=True)
    assert len(original.tables["long"].frame.column("body")[0].as_py()) == 12_000_000


def test_tables_that_point_at_each_other_load(tmp_path: Path, postgres: Server) -> None:
    source = postgres.database()
    with session(source) as connection:
        connection.execute("""
            CREATE TABLE staff (id serial PRIMARY KEY, boss int REFERENCES staff(id), store int NOT NULL);
            CREATE TABLE store (id serial PRIMARY KEY,
            manager int NOT NULL UNIQUE REFERENCES staff(id) DEFERRABLE INITIALLY DEFERRED);
            ALTER TABLE staff ADD FOREIGN KEY (store) REFERENCES store(id) DEFERRABLE INITIALLY DEFERRED;
            BEGIN;
            INSERT INTO staff (boss, store) VALUES (NULL, 2), (1, 1), (1, 2);
            INSERT INTO store (manager) VALUES (2), (1);
            COMMIT;""")
    original = whole(source)
    assert original.schema.generations() == [("staff", "store")]
    for target in (postgres.database(), f"sqlite:///{tmp_path}/cycle.db"):
        load(target, original.schema, original.tables, fingerprint="a")
        assert_same_rows(original, whole(target), exactly=True)
        assert [one for one in server_findings(target, original.schema) if not one.holds] == []


def test_counters_go_on_after_the_highest_number(fresh: Fresh, tmp_path: Path) -> None:
    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute("""
            CREATE SEQUENCE shared_numbers START 100;
            CREATE TABLE a (id serial PRIMARY KEY, n int GENERATED ALWAYS AS IDENTITY,
              s bigint DEFAULT nextval('shared_numbers'));
            CREATE TABLE b (id bigint GENERATED BY DEFAULT AS IDENTITY (START 7 INCREMENT 5),
            s bigint DEFAULT nextval('shared_numbers'));
            CREATE TABLE "Empty One" ("Id" serial PRIMARY KEY);
            INSERT INTO a DEFAULT VALUES; INSERT INTO a DEFAULT VALUES; INSERT INTO a (id) VALUES (50);
            INSERT INTO b DEFAULT VALUES; INSERT INTO b DEFAULT VALUES;""")
    original = whole(source)
    load(target, original.schema, original.tables, fingerprint="a")
    with session(target) as connection:
        assert connection.execute("INSERT INTO a DEFAULT VALUES RETURNING id, n, s").fetchone() == (51, 4, 105)
        assert connection.execute("INSERT INTO b DEFAULT VALUES RETURNING id, s").fetchone() == (17, 106)
        assert connection.execute('INSERT INTO "Empty One" DEFAULT VALUES RETURNING "Id"').fetchone() == (1,)
        connection.execute("DROP TABLE a")
        assert connection.execute("SELECT to_regclass('a_id_seq')").fetchone() == (None,)
    file = f"sqlite:///{tmp_path}/numbers.db"
    load(file, original.schema, original.tables, fingerprint="a")
    with sqlite3.connect(tmp_path / "numbers.db") as connection:
        assert connection.execute("INSERT INTO a (n) VALUES (9) RETURNING id").fetchone() == (51,)


def test_some_tables_only(tmp_path: Path, fresh: Fresh) -> None:
    source = real("northwind", tmp_path)
    schema = read_schema(source, tables=["Orders", "Customers"])
    assert [key.parent for key in schema.foreign_keys] == ["Customers"]
    assert any("'Employees' leaves the selection" in sentence for sentence in schema.left_out)
    some = read_rows(source, schema)
    for target in (fresh(), f"sqlite:///{tmp_path}/some.db"):
        load(target, schema, some.tables, fingerprint="a")
        assert_same_rows(some, whole(target), exactly=False)
        assert [one for one in server_findings(target, schema) if not one.holds] == []
