"""References of every kind stay references: declared on partitions, across schemas, beside inheritance, under
`keep`."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from postgres_server import session
from small_shop import sfumato

from sfumato.io.sql import read_schema

SHOP = """
CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE payment (id int, customer_id int NOT NULL, paid date NOT NULL) PARTITION BY RANGE (paid);
CREATE TABLE payment_2022 PARTITION OF payment FOR VALUES FROM ('2022-01-01') TO ('2023-01-01') PARTITION BY LIST (id);
CREATE TABLE payment_2022_few PARTITION OF payment_2022 FOR VALUES IN (1, 2, 3);
CREATE TABLE payment_2022_rest PARTITION OF payment_2022 DEFAULT;
CREATE TABLE payment_2023 PARTITION OF payment FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
INSERT INTO customer SELECT i, 'Person ' || i FROM generate_series(1, 100) i;
INSERT INTO payment SELECT i, i % 100 + 1, date '2022-01-01' + i FROM generate_series(1, 500) i;
"""
EVERYWHERE = """
ALTER TABLE payment_2022 ADD FOREIGN KEY (customer_id) REFERENCES customer (id);
ALTER TABLE payment_2023 ADD CONSTRAINT payer FOREIGN KEY (customer_id) REFERENCES customer (id);
"""
SOMEWHERE = "ALTER TABLE payment_2022_rest ADD FOREIGN KEY (customer_id) REFERENCES customer (id);"
JOINED = "SELECT count(*) FROM payment p JOIN customer c ON c.id = p.customer_id"


def filled(url: str, *statements: str) -> str:
    with session(url) as connection:
        for one in statements:
            connection.execute(one)
    return url


def asked(url: str, query: str) -> object:
    with session(url) as connection:
        return connection.execute(query).fetchone()[0]


def published(folder: Path, source: str, target: str, mode: str, columns: str, more: str = "", *options: str):
    policy = folder / "policy.yaml"
    policy.write_text(
        f"version: 1\ndata:\n  kind: database\n  source: {source}\n  target: {{url: {target}, mode: {mode}}}\n"
        f"{more}columns:\n{columns}"
    )
    return sfumato("publish", str(policy), "--out", str(folder / "release"), "--no-report", *options)


KEYS = "  customer.id: {role: replaced, domain: {integers: [1000, 999999]}}\n"


@pytest.mark.parametrize("mode", ["create", "clone"])
@pytest.mark.parametrize("keys", [EVERYWHERE, SOMEWHERE])
def test_foreign_keys_of_partitions_are_followed(
    tmp_path: Path, fresh: Callable[[], str], mode: str, keys: str
) -> None:
    source, target = filled(fresh(), SHOP, keys), fresh()
    done = published(tmp_path, source, target, mode, KEYS)
    assert done.returncode == 0, done.stderr + done.stdout
    assert asked(target, JOINED) == 500
    assert asked(target, "SELECT min(id) FROM customer") >= 1000
    joins = json.loads((tmp_path / "release" / "target.json").read_text())["joins"]
    assert joins == [{"reference": "payment.customer_id references customer.id", "before": 500, "after": 500}]


def test_a_key_of_all_partitions_is_declared_and_one_of_some_is_not(fresh: Callable[[], str]) -> None:
    full = read_schema(filled(fresh(), SHOP, EVERYWHERE)).table("payment")
    assert [(key.columns, key.parent) for key in full.foreign_keys] == [(("customer_id",), "customer")]
    assert not full.partial_keys
    some = read_schema(filled(fresh(), SHOP, SOMEWHERE)).table("payment")
    assert not some.foreign_keys
    assert [(key.columns, key.parent, key.parent_columns) for key in some.partial_keys] == [
        (("customer_id",), "customer", ("id",))
    ]


def test_rows_of_other_partitions_may_refer_to_nothing(tmp_path: Path, fresh: Callable[[], str]) -> None:
    lost = "UPDATE payment_2023 SET customer_id = 7000 WHERE id % 10 = 0"
    source, target = filled(fresh(), SHOP, SOMEWHERE, lost), fresh()
    done = published(tmp_path, source, target, "clone", KEYS)
    assert done.returncode == 0, done.stderr + done.stdout
    assert asked(target, JOINED) == asked(source, JOINED) < 500


def test_a_key_to_one_partition_is_followed(tmp_path: Path, fresh: Callable[[], str]) -> None:
    receipt = """
        ALTER TABLE payment_2023 ADD PRIMARY KEY (id);
        CREATE TABLE receipt (id int PRIMARY KEY, payment_id int REFERENCES payment_2023 (id));
        INSERT INTO receipt SELECT row_number() OVER (), id FROM payment_2023;"""
    source, target = filled(fresh(), SHOP, EVERYWHERE, receipt), fresh()
    done = published(
        tmp_path, source, target, "create", "  payment.id: {role: replaced, domain: {integers: [5000, 999999]}}\n"
    )
    assert done.returncode == 0, done.stderr + done.stdout
    joined = "SELECT count(*) FROM receipt r JOIN payment p ON p.id = r.payment_id"
    assert asked(target, joined) == asked(source, joined) > 0


def test_keys_across_schemas_and_partitions_elsewhere(tmp_path: Path, fresh: Callable[[], str]) -> None:
    moved = (
        "CREATE SCHEMA archive; ALTER TABLE payment_2022 SET SCHEMA archive; ALTER TABLE payment_2022_few SET SCHEMA"
        " archive"
    )
    people = "CREATE SCHEMA people; ALTER TABLE customer SET SCHEMA people"
    source, target = filled(fresh(), SHOP, EVERYWHERE, moved, people), fresh()
    done = published(tmp_path, source, target, "clone", KEYS.replace("customer.id", "people.customer.id"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert asked(target, JOINED.replace("JOIN customer", "JOIN people.customer")) == 500


HEIRS = """
CREATE TABLE person (id int PRIMARY KEY, name text);
CREATE TABLE student (school text, PRIMARY KEY (id)) INHERITS (person);
CREATE TABLE card (id int PRIMARY KEY, person_id int REFERENCES person (id));
CREATE TABLE mark (id int PRIMARY KEY, student_id int REFERENCES student (id));
INSERT INTO person SELECT i, 'Grown ' || i FROM generate_series(1, 50) i;
INSERT INTO student SELECT i, 'Young ' || i, 'S' FROM generate_series(1, 50) i;
INSERT INTO card SELECT i, i FROM generate_series(1, 50) i;
INSERT INTO mark SELECT i, i % 50 + 1 FROM generate_series(1, 200) i;
"""


@pytest.mark.parametrize("mode", ["create", "clone"])
def test_inherited_tables_keep_their_own_keys(tmp_path: Path, fresh: Callable[[], str], mode: str) -> None:
    source, target = filled(fresh(), HEIRS), fresh()
    columns = "".join(
        f"  {one}.id: {{role: replaced, domain: {{integers: [1000, 99999]}}}}\n" for one in ("person", "student")
    )
    done = published(tmp_path, source, target, mode, columns)
    assert done.returncode == 0, done.stderr + done.stdout
    for child, parent in (("card", "person"), ("mark", "student")):
        joined = f"SELECT count(*) FROM {child} c JOIN ONLY {parent} p ON p.id = c.{parent}_id"
        assert asked(target, joined) == asked(source, joined) > 0
    assert asked(target, "SELECT count(*) FROM ONLY person") == 50


def test_a_load_that_fails_says_why_itself(tmp_path: Path, fresh: Callable[[], str]) -> None:
    """What the server refuses at the end is told, and not that keys are missing because of it."""
    key = "ALTER TABLE payment_2023 ADD UNIQUE (id)"
    source, target = filled(fresh(), SHOP, EVERYWHERE, key), fresh()
    done = published(tmp_path, source, target, "clone", "  payment.id: {role: replaced, domain: {integers: [1, 40]}}\n")
    assert done.returncode == 3, done.stderr + done.stdout
    assert "primary key of" not in done.stderr
    assert "unique" in done.stderr


def test_a_subset_follows_references_under_keep(tmp_path: Path, fresh: Callable[[], str]) -> None:
    source, target = filled(fresh(), SHOP), fresh()
    more = "  subset: {customer: 10%}\nkeep:\n  - payment.customer_id references customer.id\n"
    done = published(tmp_path, source, target, "clone", KEYS, more)
    assert done.returncode == 0, done.stderr + done.stdout
    assert asked(target, "SELECT count(*) FROM customer") == 10
    assert asked(target, JOINED) == asked(target, "SELECT count(*) FROM payment") == 50


def test_a_target_whose_rows_no_longer_join_is_refused(tmp_path: Path, fresh: Callable[[], str]) -> None:
    source, target = filled(fresh(), SHOP, SOMEWHERE), fresh()
    assert published(tmp_path, source, target, "clone", KEYS).returncode == 0
    filled(target, "UPDATE payment_2023 SET customer_id = 1")
    done = sfumato("verify", str(tmp_path / "release"), "--target", target, "--json")
    assert done.returncode != 0
    (found,) = [one for one in json.loads(done.stdout)["findings"] if one["model"] == "target: join sizes"]
    assert found["holds"] is False
    assert "rows no longer find their row" in found["reason"]


FAMILIES = """
CREATE TABLE country (code text PRIMARY KEY);
CREATE TABLE customer (id integer PRIMARY KEY, name text, country text REFERENCES country (code));
CREATE TABLE product (id integer PRIMARY KEY, title text);
CREATE TABLE photo (id integer PRIMARY KEY, product_id integer REFERENCES product (id));
CREATE TABLE supplier (id integer PRIMARY KEY, title text);
CREATE TABLE supplies (supplier_id integer REFERENCES supplier (id), product_id integer REFERENCES product (id));
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customer (id));
CREATE TABLE line (id integer PRIMARY KEY, order_id integer REFERENCES orders (id), product_id integer, n integer);
CREATE TABLE machine (id integer PRIMARY KEY, above integer REFERENCES machine (id));
"""
_FILLED = (
    "INSERT INTO country VALUES ('de'), ('fr')",
    "INSERT INTO customer SELECT i, 'Person ' || i, CASE i % 2 WHEN 0 THEN 'de' ELSE 'fr' END FROM {200}",
    "INSERT INTO product SELECT i, 'thing ' || i FROM {300}",
    "INSERT INTO photo SELECT i, i % 300 + 1 FROM {600}",
    "INSERT INTO supplier SELECT i, 'maker ' || i FROM {30}",
    "INSERT INTO supplies SELECT i % 30 + 1, i FROM {300}",
    "INSERT INTO orders SELECT i, i % 200 + 1 FROM {1000}",
    "INSERT INTO line SELECT i, i % 1000 + 1, (i * 7) % 300 + 1, i % 9 FROM {3000}",
    "INSERT INTO machine SELECT i, CASE WHEN i > 1 THEN i / 2 END FROM {100}",
)
_SERIES = {
    "postgresql": "generate_series(1, {0}) AS s(i)",
    "sqlite": "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {0}) SELECT i FROM s)",
}


def families(dialect: str, tmp_path: Path, fresh: Callable[[], str]) -> tuple[str, str]:
    """A source with nine tables, and an empty target."""
    statements = [*filter(str.strip, FAMILIES.split(";"))]
    for one in _FILLED:
        count = re.search(r"\{(\d+)\}", one)
        statements.append(one if count is None else one.replace(count[0], _SERIES[dialect].format(count[1])))
    if dialect == "postgresql":
        return filled(fresh(), *statements), fresh()
    with contextlib.closing(sqlite3.connect(tmp_path / "families.db")) as link, link:
        for one in statements:
            link.execute(one)
    return f"sqlite:///{tmp_path}/families.db", f"sqlite:///{tmp_path}/target.db"


def count_in(url: str, query: str) -> int:
    if url.startswith("postgresql"):
        return int(asked(url, query))
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as link:
        return int(link.execute(query).fetchone()[0])


@pytest.mark.parametrize("dialect", ["postgresql", "sqlite"])
def test_a_share_of_the_whole_database_keeps_families_together(
    dialect: str, tmp_path: Path, fresh: Callable[[], str]
) -> None:
    source, target = families(dialect, tmp_path, fresh)
    more = "  subset: 10%\nkeep:\n  - line.product_id references product.id\n"
    done = published(
        tmp_path, source, target, "create", "  customer.name: {role: replaced, domain: {fakes: name}}\n", more
    )
    assert done.returncode == 0, done.stderr + done.stdout
    rows = {name: count_in(target, f"SELECT count(*) FROM {name}") for name in re.findall(r"TABLE (\w+)", FAMILIES)}
    assert (rows["customer"], rows["orders"], rows["line"]) == (20, 100, 300)  # with everything that belongs to them
    assert 10 <= rows["machine"] <= 60  # 10 of 100, and the machines above them
    assert rows["product"] == count_in(target, "SELECT count(DISTINCT product_id) FROM line")
    assert rows["photo"] == 2 * rows["product"]
    assert rows["supplies"] == rows["product"]
    assert rows["supplier"] == count_in(target, "SELECT count(DISTINCT supplier_id) FROM supplies")
    assert "customer: 20 of 200 rows" in done.stdout
    lost = "SELECT count(*) FROM line l LEFT JOIN product p ON p.id = l.product_id WHERE p.id IS NULL"
    assert count_in(target, lost) == 0


def test_a_table_that_is_named_decides_for_those_it_is_connected_with(tmp_path: Path) -> None:
    source, target = families("sqlite", tmp_path, str)
    more = "  subset: {'*': 10%, orders: id <= 7, machine: 100%}\n"
    done = published(
        tmp_path, source, target, "create", "  customer.name: {role: replaced, domain: {fakes: name}}\n", more
    )
    assert done.returncode == 0, done.stderr + done.stdout
    rows = {
        name: count_in(target, f"SELECT count(*) FROM {name}") for name in ("orders", "customer", "line", "machine")
    }
    assert rows == {"orders": 7, "customer": 7, "line": 21, "machine": 100}


def test_a_condition_is_no_share_of_a_whole_database(tmp_path: Path) -> None:
    source, target = families("sqlite", tmp_path, str)
    done = published(tmp_path, source, target, "create", KEYS, "  subset: id > 7\n")
    assert done.returncode == 2
    assert "a subset of the whole database is a share" in done.stderr
