"""What the two servers declare is read completely."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path

from database_cases import WIDE, real
from postgres_server import session

from sfumato.data.table import Table
from sfumato.io.sql import load, read_rows, read_schema, server_findings

Fresh = Callable[[], str]


def test_postgresql_tells_everything(fresh: Fresh) -> None:
    url = fresh()
    with session(url) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
    schema = read_schema(url)
    wide = schema.table("wide")
    assert (schema.dialect, schema.namespace) == ("postgresql", "public")
    assert wide.primary_key == ("id",)
    assert set(wide.uniques) == {("token",), ("local", "hour")}
    kinds = {column.name: column.kind for column in wide.columns}
    named = ["id", "token", "docb", "numbers", "feeling", "price", "at", "hour", "bytes", "flag", "day", "few", "code"]
    assert (
        " ".join(kinds[name] for name in named)
        == "integer uuid json array enum decimal timestamp time binary boolean date integer text"
    )
    assert wide.column("price").places == 4
    assert (wide.column("short").length, wide.column("code").length, wide.column("padded").length) == (10, 5, 4)
    assert wide.column("feeling").choices == ("sad", "it's ok", "happy")
    assert (wide.column("id").sequence, wide.column("counted").identity, bool(wide.column("twice").computed)) == (
        "wide_id_seq",
        "ALWAYS",
        True,
    )
    assert {name for name in wide.names if wide.column(name).generated} == {"id", "counted", "twice"}
    assert {column.name for column in wide.columns if not column.nullable} == {"id", "flag", "few", "counted"}
    assert [check.name for check in wide.checks] == ["brief", "wide_price_check"]
    assert [one.name for one in schema.types] == ["mood", "positive", "postcode", "pair"]
    (key,) = wide.foreign_keys
    assert key.options == {"on delete": "CASCADE", "on update": "NO ACTION", "deferrable": "INITIALLY DEFERRED"}
    assert "twice" not in wide.written


def test_tables_of_another_schema_and_what_is_left_out(fresh: Fresh) -> None:
    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute("""
            CREATE SCHEMA "App"; CREATE TABLE country (id int PRIMARY KEY);
            CREATE TYPE "App".colour AS ENUM ('red', 'blue');
            CREATE TABLE "App".parts (day date, n int, PRIMARY KEY (day, n)) PARTITION BY RANGE (day);
            CREATE TABLE "App".parts_old PARTITION OF "App".parts FOR VALUES FROM ('1900-01-01') TO ('2000-01-01');
            CREATE TABLE "App".parts_new PARTITION OF "App".parts FOR VALUES FROM ('2000-01-01') TO ('2100-01-01');
            CREATE TABLE "App".people (id int PRIMARY KEY, country int REFERENCES country (id),
              shade "App".colour DEFAULT 'red');
            CREATE INDEX people_shade ON "App".people (shade);
            CREATE TABLE "App".heirs (title text) INHERITS ("App".people);
            INSERT INTO "App".heirs VALUES (2, NULL, 'red', 'king');
            CREATE VIEW "App".reds AS SELECT * FROM "App".people WHERE shade = 'red';
            CREATE FUNCTION "App".nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
            CREATE TRIGGER quiet BEFORE UPDATE ON "App".people FOR EACH ROW EXECUTE FUNCTION "App".nothing();
            INSERT INTO "App".parts VALUES ('1999-01-01', 1), ('2001-01-01', 2); INSERT INTO "App".people VALUES (1,
            NULL, 'blue')""")
    with session(target) as connection:
        connection.execute('CREATE SCHEMA "Copy"')
    schema = read_schema(source, "App")
    assert [table.name for table in schema.tables] == ["heirs", "parts", "people"]
    assert schema.foreign_keys == ()
    said = " ".join(schema.left_out)
    assert all(
        word in said
        for word in ("'reds' is a view", "partitioned", "triggers of table 'people'", "leaves the schema", "inherits")
    )
    assert schema.table("people").indexes
    data = read_rows(source, schema)
    load(target, schema, data.tables, fingerprint="f", namespace="Copy")
    copy = read_rows(target, read_schema(target, "Copy"))
    assert {name: table.frame for name, table in copy.tables.items()} == {
        name: table.frame for name, table in data.tables.items()
    }
    assert all(one.holds for one in server_findings(target, schema, namespace="Copy"))
    assert [table.name for table in read_schema(target).tables] == ["Copy.heirs", "Copy.parts", "Copy.people"]
    everything = read_schema(source)
    assert {table.name for table in everything.tables} == {"App.heirs", "App.parts", "App.people", "country"}
    assert [(key.table, key.parent) for key in everything.foreign_keys] == [("App.people", "country")]


def test_sqlite_tells_everything(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "all.db") as connection:
        connection.executescript("""
            CREATE TABLE Parent (Code TEXT, Part INTEGER, PRIMARY KEY (Code, Part)) WITHOUT ROWID;
            CREATE TABLE child (
              id INTEGER PRIMARY KEY AUTOINCREMENT, code VARCHAR(5) NOT NULL DEFAULT 'CHECK (', part INT,
              price DECIMAL(10,2) CHECK (price > 0),
              born DATETIME, twice INT GENERATED ALWAYS AS (part * 2) STORED, thrice INT AS (part * 3),
              CONSTRAINT "short one" CHECK (length(code) < 5 /* ) */ AND code <> ')'), UNIQUE (price, born),
              FOREIGN KEY (CODE, part) REFERENCES parent ON DELETE SET NULL);
            CREATE UNIQUE INDEX lone ON child (born);
            CREATE UNIQUE INDEX some ON child (part) WHERE price > 5;
            CREATE TABLE strict_one (a INTEGER, b ANY) STRICT;
            CREATE VIEW v AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON child BEGIN SELECT 1; END;
            INSERT INTO Parent VALUES ('a', 1); INSERT INTO child (code, part, price, born) VALUES ('a', 1, 2.50,
              '2020-01-01');
            INSERT INTO strict_one VALUES (1, '1'), (2, 1);""")
    source = f"sqlite:///{tmp_path}/all.db"
    schema = read_schema(source)
    child = schema.table("child")
    assert schema.table("Parent").primary_key == ("Code", "Part")
    assert child.uniques == (("born",), ("price", "born"))
    assert [(check.name, check.sql) for check in child.checks] == [
        ("", "price > 0"),
        ("short one", "length(code) < 5 /* ) */ AND code <> ')'"),
    ]
    (key,) = child.foreign_keys
    assert (key.columns, key.parent, key.parent_columns) == (("code", "part"), "Parent", ("Code", "Part"))
    assert key.options == {"on delete": "SET NULL", "on update": "NO ACTION"}
    assert (child.column("id").identity, child.column("code").length, child.column("price").places) == (
        "AUTOINCREMENT",
        5,
        2,
    )
    assert child.written == ("id", "code", "part", "price", "born")
    assert len(schema.left_out) == 2
    data = read_rows(source, schema)
    target = f"sqlite:///{tmp_path}/copy.db"
    load(target, schema, data.tables, fingerprint="f")
    assert read_schema(target).tables == schema.tables
    copy = read_rows(target, schema)
    assert {name: table.frame for name, table in copy.tables.items()} == {
        name: table.frame for name, table in data.tables.items()
    }
    assert copy.tables["strict_one"].frame.column("b").to_pylist() == ["\\t1", "1"]


def test_computed_columns_stay_computed(tmp_path: Path, fresh: Fresh) -> None:
    with sqlite3.connect(tmp_path / "sums.db") as connection:
        connection.executescript("""
            CREATE TABLE other (id INTEGER PRIMARY KEY);
            CREATE TABLE sums (a INTEGER REFERENCES other (id), [b c] INTEGER, total INTEGER AS (a + [B C]),
              full_name TEXT AS ('n' || ', '));
            INSERT INTO other VALUES (1); INSERT INTO sums (a, [b c]) VALUES (1, 2);""")
    first, third = f"sqlite:///{tmp_path}/sums.db", f"sqlite:///{tmp_path}/back.db"
    chain = [first, fresh(), third]
    for source, target in itertools.pairwise(chain):
        schema = read_schema(source)
        assert schema.table("sums").written == ("a", "b c")
        rows = read_rows(source, schema).tables
        load(
            target,
            schema,
            dict(rows) | {"sums": Table(rows["sums"].frame.drop_columns(["total", "full_name"]))},
            fingerprint="f",
        )
    alone = read_schema(first, tables=["sums"])
    load(f"sqlite:///{tmp_path}/alone.db", alone, read_rows(first, alone).tables, fingerprint="f")
    for url in (*chain, f"sqlite:///{tmp_path}/alone.db"):
        found = read_rows(url, read_schema(url, tables=["sums"])).tables["sums"].frame
        assert found.to_pylist() == [{"a": "1", "b c": "2", "total": "3", "full_name": "n, "}]
    with session(chain[1]) as connection:
        query = 'INSERT INTO sums (a, "b c") VALUES (1, 40) RETURNING total'
        assert connection.execute(query).fetchone() == (41,)


def test_conditions_and_defaults_cross_over(tmp_path: Path, fresh: Fresh) -> None:
    with sqlite3.connect(tmp_path / "rules.db") as connection:
        connection.executescript("""
            CREATE TABLE rules (Id INTEGER PRIMARY KEY, [Unit Price] NUMERIC DEFAULT 0, Name TEXT DEFAULT 'it''s',
            at TEXT DEFAULT CURRENT_TIMESTAMP,
              ok BOOLEAN DEFAULT 1, CHECK ([unit price] >= 0), CHECK (`name` <> 'x'), CHECK (Name GLOB '*'));
            INSERT INTO rules (Id, ok) VALUES (1, 0);""")
    source, target = f"sqlite:///{tmp_path}/rules.db", fresh()
    schema = read_schema(source)
    data = read_rows(source, schema)
    done = load(target, schema, data.tables, fingerprint="f")
    assert [sentence for sentence in done.left_out if "check" in sentence] == [
        "the target does not understand the check 'rules_check_3' of table 'rules'"
    ]
    with session(target) as connection:
        assert connection.execute(
            'INSERT INTO rules DEFAULT VALUES RETURNING "Id", "Unit Price", "Name", ok, length(at) > 15'
        ).fetchone() == (2, 0, "it's", True, True)
    absent = [one for one in server_findings(target, schema) if not one.holds]
    assert [(one.what, one.present) for one in absent] == [("check", False)]


def test_conditions_of_postgresql_in_sqlite(tmp_path: Path, fresh: Fresh) -> None:
    source, target = fresh(), f"sqlite:///{tmp_path}/rules.db"
    with session(source) as connection:
        connection.execute("""
            CREATE TYPE mood AS ENUM ('sad', 'ok');
            CREATE TABLE rules (id serial PRIMARY KEY, state varchar(4) DEFAULT 'new' CHECK (state IN ('new', 'old')),
            price numeric(8,2) DEFAULT 1.50 CHECK (price > 0),
              feeling mood DEFAULT 'ok', at timestamptz DEFAULT now(), ok boolean DEFAULT true,
              pattern text CHECK (pattern ~ '^a'));
            INSERT INTO rules DEFAULT VALUES""")
    schema = read_schema(source)
    done = load(target, schema, read_rows(source, schema).tables, fingerprint="f")
    assert list(done.left_out) == ["the target does not understand the check 'rules_pattern_check' of table 'rules'"]
    with sqlite3.connect(tmp_path / "rules.db") as connection:
        row = connection.execute(
            "INSERT INTO rules (pattern) VALUES ('b') RETURNING id, state, price, feeling, ok"
        ).fetchone()
        assert row == (2, "new", 1.5, "ok", 1)
        for wrong in ("state = 'x'", "price = 0", "feeling = 'glad'"):
            try:
                connection.execute(f"UPDATE rules SET {wrong}")
            except sqlite3.IntegrityError:
                continue
            raise AssertionError(f"{wrong} was accepted")


def test_findings_tell_what_is_broken(tmp_path: Path, fresh: Fresh) -> None:
    source = real("sakila", tmp_path)
    data = read_rows(source, read_schema(source))
    target = fresh()
    load(target, data.schema, data.tables, fingerprint="f")
    with session(target) as connection:
        names = connection.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = 'rental'::regclass AND contype = 'f'"
        ).fetchall()
        for (name,) in names:
            connection.execute(f"ALTER TABLE rental DROP CONSTRAINT {name}")  # type: ignore[call-overload]
        connection.execute("UPDATE rental SET staff_id = 99 WHERE rental_id < 6")
        connection.execute(
            "ALTER TABLE rental ADD FOREIGN KEY (customer_id) REFERENCES customer (customer_id) NOT VALID"
        )
        connection.execute(
            "ALTER TABLE actor ALTER first_name DROP NOT NULL; UPDATE actor SET first_name = NULL WHERE actor_id = 1"
        )
        connection.execute(
            "ALTER TABLE store DROP CONSTRAINT store_manager_staff_id_key; UPDATE store SET manager_staff_id = 1"
        )
        connection.execute("DROP TABLE film_text")
    broken = {(one.table, one.what, one.columns): one for one in server_findings(target, data.schema) if not one.holds}
    facts = {key: (one.present, one.validated, one.violations) for key, one in broken.items()}
    assert facts == {
        ("rental", "foreign key", ("staff_id",)): (False, False, 5),
        ("rental", "foreign key", ("customer_id",)): (True, False, 0),
        ("rental", "foreign key", ("inventory_id",)): (False, False, 0),
        ("actor", "not null", ("first_name",)): (False, True, 1),
        ("store", "unique", ("manager_staff_id",)): (False, True, 1),
        ("film_text", "integrity", ()): (False, False, 0),
    }
