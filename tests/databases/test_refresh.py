"""A refreshed target has the rows of the source of today, and unchanged rows keep their new values."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from postgres_server import session
from small_shop import sfumato

SCHEMA = (
    "CREATE TABLE customer (id integer PRIMARY KEY, name text NOT NULL, code varchar(3) UNIQUE, phone text,"
    " country text)",
    "CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customer (id),"
    " ordered date NOT NULL, shipped date, CHECK (ordered <= shipped))",
    "CREATE TABLE visit (customer_id integer, page text)",
)
CHANGES = (
    "INSERT INTO customer VALUES (901, 'New One', 'n01', '0171 901', 'NL'), (902, 'New Two', 'n02', NULL, 'DE')",
    "UPDATE customer SET country = 'FR' WHERE id = 7",
    "UPDATE customer SET name = 'Married Seven' WHERE id = 8",  # nobody sees it in the target
    "UPDATE customer SET phone = NULL WHERE id = 9",
    "DELETE FROM orders WHERE customer_id = 10",
    "DELETE FROM customer WHERE id = 10",
    "INSERT INTO orders VALUES (9001, 901, '2024-01-01', '2024-01-02')",
    "INSERT INTO visit VALUES (901, 'home')",
)
POLICY = """
version: 1
data:
  kind: database
  source: {source}
  target: {target}
{more}columns:
  customer.id:    {{role: replaced, domain: {{integers: [100000, 999999]}}}}
  customer.name:  {{role: replaced, domain: {{fakes: name}}}}
  customer.code:  {{role: replaced, domain: {{pattern: "[a-m][0-9]"}}}}
  customer.phone: {{role: replaced, domain: {{pattern: "0[0-9]{{9}}"}}}}
  orders.ordered: {{role: replaced, domain: {{dates: [2020-01-01, 2023-12-31]}}}}
  orders.shipped: {{role: replaced, domain: {{dates: [2020-01-01, 2023-12-31]}}}}
"""
FOLLOWS = "  deterministic: [customer.id]\n  consistent: [[customer.id, visit.customer_id]]\n  secret: ${SHOP_SECRET}\n"


@contextlib.contextmanager
def opened(url: str):
    if url.startswith("postgresql"):
        with session(url) as link:
            yield link
    else:
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as link:
            yield link


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    with opened(url) as link:
        return link.execute(query).fetchall()


def carried_out(url: str, *statements: str) -> None:
    with opened(url) as link:
        for one in statements:
            link.execute(one)


Place = tuple[Path, str, str]


@pytest.fixture(params=["postgresql", "sqlite"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, fresh: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> Place:
    """A source with 60 customers, released and loaded into a target."""
    monkeypatch.setenv("SHOP_SECRET", "a secret of more than sixteen characters")
    urls = [
        fresh() if request.param == "postgresql" else f"sqlite:///{tmp_path}/{name}.db" for name in ("source", "target")
    ]
    people = [
        f"({i}, 'Person {i}', 'c{i:02d}', {'NULL' if i % 5 == 0 else repr(f'0044 20 {i:04d}')}, 'NL')"
        for i in range(1, 61)
    ]
    orders = [f"({i}, {i % 60 + 1}, '2021-03-{i % 28 + 1:02d}', '2021-04-05')" for i in range(1, 240)]
    visits = [f"({i % 60 + 1}, 'page {i % 3}')" for i in range(90)]
    carried_out(
        urls[0],
        *SCHEMA,
        f"INSERT INTO customer VALUES {', '.join(people)}",
        f"INSERT INTO orders VALUES {', '.join(orders)}",
        f"INSERT INTO visit VALUES {', '.join(visits)}",
    )
    (tmp_path / "shop.yaml").write_text(POLICY.format(source=urls[0], target=urls[1], more=FOLLOWS))
    done = published(tmp_path, "first")
    assert done.returncode == 0, done.stderr + done.stdout
    return tmp_path, urls[0], urls[1]


def published(folder: Path, out: str, *options: str):
    return sfumato("publish", str(folder / "shop.yaml"), "--out", str(folder / out), "--no-report", *options)


CUSTOMERS = "SELECT id, name, code, phone, country FROM customer"
ORDERS = "SELECT id, customer_id, CAST(ordered AS text), CAST(shipped AS text) FROM orders"


def test_unchanged_rows_keep_their_values_and_only_changes_are_written(place: Place) -> None:
    folder, source, target = place
    before = {row[0]: row for row in rows(target, CUSTOMERS)}
    orders = {row[0]: row for row in rows(target, ORDERS)}
    carried_out(source, *CHANGES)
    done = published(folder, "second", "--refresh", str(folder / "first"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "customer: 2 added, 2 changed, 1 removed" in done.stdout
    assert "orders: 1 added, 0 changed, 4 removed" in done.stdout
    after = {row[0]: row for row in rows(target, CUSTOMERS)}
    assert len(after) == 61
    assert len(before.keys() - after.keys()) == 1
    assert sum(after[key] == before[key] for key in after.keys() & before.keys()) == 57  # but rows 7 and 9
    assert {row[4] for key, row in after.items() if before.get(key) != row} == {"NL", "FR", "DE"}
    now = {row[0]: row for row in rows(target, ORDERS)}
    assert all(now[key] == orders[key] for key in now.keys() & orders.keys())
    assert len({row[2] for row in after.values()}) == 61  # unique codes, old and new ones together
    joined = "SELECT count(*) FROM visit v JOIN customer c ON c.id = v.customer_id"
    assert rows(target, joined) == rows(source, joined)
    assert sfumato("verify", str(folder / "second"), "--target", target).returncode == 0
    record = json.loads((folder / "second" / "target.json").read_text())
    assert record["refreshed"]["customer"] == {"added": 2, "changed": 2, "removed": 1}


def test_a_key_that_clashes_with_one_that_is_kept_gives_way(place: Place) -> None:
    """Of 130 codes 120 are in use, so that drawn ones meet kept ones in every run."""
    folder, source, target = place
    carried_out(source, "INSERT INTO customer SELECT id + 100, name, 'd' || (id + 10), phone, country FROM customer")
    kept = {row[0]: row[2] for row in rows(target, CUSTOMERS)}
    done = published(folder, "second", "--refresh", str(folder / "first"))
    assert done.returncode == 0, done.stderr + done.stdout
    found = {row[0]: row[2] for row in rows(target, CUSTOMERS)}
    assert all(found[key] == code for key, code in kept.items())
    assert len(set(found.values())) == 120


def test_a_refresh_that_was_cut_off_goes_on(place: Place) -> None:
    folder, source, target = place
    carried_out(source, *CHANGES)
    assert published(folder, "second", "--refresh", str(folder / "first")).returncode == 0
    now = rows(target, CUSTOMERS)
    (folder / "second" / "target.json").unlink()  # as if it had ended before it could say so
    done = published(folder, "second", "--refresh", str(folder / "first"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert sorted(rows(target, CUSTOMERS)) == sorted(now)


def test_the_whole_target_is_audited(place: Place) -> None:
    folder, source, target = place
    carried_out(source, *CHANGES)
    carried_out(target, "UPDATE customer SET name = 'Mallory' WHERE id = (SELECT min(id) FROM customer)")
    done = published(folder, "second", "--refresh", str(folder / "first"))
    assert done.returncode == 5
    assert "customer" in done.stderr


def test_a_target_without_a_row_that_is_referred_to_stays_as_it_was(place: Place) -> None:
    """The server checks the keys over all rows, and the transaction is taken back."""
    folder, source, target = place
    carried_out(source, *CHANGES)
    aside = "ALTER TABLE orders DROP CONSTRAINT orders_customer_id_fkey" if "postgresql" in target else "SELECT 1"
    carried_out(target, aside, "INSERT INTO orders VALUES (77777, 5, '2021-01-01', '2021-01-02')")
    if "postgresql" in target:
        carried_out(target, "ALTER TABLE orders ADD FOREIGN KEY (customer_id) REFERENCES customer (id) NOT VALID")
    before = rows(target, CUSTOMERS)
    done = published(folder, "second", "--refresh", str(folder / "first"))
    assert done.returncode != 0
    if "sqlite" in target:
        assert sorted(rows(target, CUSTOMERS)) == sorted(before)


def test_another_policy_is_refused(place: Place) -> None:
    folder, _, _ = place
    text = (folder / "shop.yaml").read_text()
    (folder / "shop.yaml").write_text(text.replace("[a-m][0-9]", "[a-n][0-9]"))
    done = published(folder, "second", "--refresh", str(folder / "first"))
    assert done.returncode == 2
    assert "another policy" in done.stderr


def test_keys_that_change_in_every_release_are_refused(place: Place) -> None:
    folder, source, target = place
    (folder / "shop.yaml").write_text(POLICY.format(source=source, target=target, more=""))
    assert published(folder, "free", "--replace").returncode == 0
    done = published(folder, "again", "--refresh", str(folder / "free"))
    assert done.returncode == 2
    assert "'customer.id' gets other values in every release" in done.stderr
