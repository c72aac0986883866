"""Shops become test databases, in SQLite and in PostgreSQL; judged by the servers and by plain SQL."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
import sqlalchemy as sa
from known_databases import NAMES, file_of
from postgres_server import Server
from shops import POLICIES, QUERIES, asked, column, copy, session

import sfumato as sf
from sfumato.workflow.database_load import load_release
from tests.secret import secret
from tests.slow import SLOW

DECLARED = "FROM pg_constraint WHERE conrelid <> 0 AND connamespace = 'public'::regnamespace"
LEFT_OUT = {("sakila", "sqlite"), ("northwind", "postgresql")} if not SLOW else set()
"""Of the two large shops each is made on one kind of server, unless there is time for both."""
CASES = [case for case in product(NAMES, ("sqlite", "postgresql")) if case not in LEFT_OUT]


@dataclass
class Done:
    """A published shop."""

    shop: str
    kind: str
    source: str
    target: str
    folder: Path
    before: str
    """The state of the source before publishing."""


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    shop, kind = request.param
    folder = tmp_path_factory.mktemp(f"{shop}-{kind}")
    file = file_of(shop, folder)
    source, target, reader = f"sqlite:///{file}", f"sqlite:///{folder / 'target.db'}", ""
    if kind == "postgresql":
        server: Server = request.getfixturevalue("postgres")
        source, target = server.database(), server.database()
        copy(f"sqlite:///{file}", source)
        reader = only_reading(server, source)
    digest = state(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_SOURCE", reader or source)
        patch.setenv("SFUMATO_TARGET", target)
        policy = sf.Policy.read(POLICIES / f"{shop}.yaml")
        out = sf.publish(policy, seed=secret(9)).write(folder / "release", report=False)
        load_release(policy, out)
    yield Done(shop, kind, source, target, out, digest)


def only_reading(server: Server, source: str) -> str:
    """The source through a role that may SELECT and nothing else."""
    name = str(sa.make_url(source).database)
    role = f"reader_{name}"
    with server.admin(name) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'reader'")  # type: ignore[call-overload]
        connection.execute(f"GRANT USAGE ON SCHEMA public TO {role}")  # type: ignore[call-overload]
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")  # type: ignore[call-overload]
    return server.at(name, username=role, password="reader")


def state(url: str) -> str:
    """Every byte of a file, or every row of a server's tables."""
    if url.startswith("sqlite"):
        return hashlib.sha256(Path(str(sa.make_url(url).database)).read_bytes()).hexdigest()
    found = hashlib.sha256()
    tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    for (name,) in sorted(asked(url, tables)[1]):
        found.update(repr((name, sorted(asked(url, f'SELECT xmin::text, t::text FROM "{name}" t')[1]))).encode())
    return found.hexdigest()


def test_the_certificate_and_the_record_of_the_load_hold(done: Done) -> None:
    certificate = json.loads((done.folder / "certificate.json").read_text())
    target = json.loads((done.folder / "target.json").read_text())
    assert certificate["holds"] and target["holds"]
    names = {finding["model"] for finding in (*certificate["findings"], *target["findings"])}
    assert {"constraints", "rules of the policy", "unchanged values", "kept cells", "linked columns"} <= names
    assert {"target: server", "target: rows"} <= names
    assert sum(target["rows"].values()) == certificate["records"]["published"]


def test_the_server_finds_every_constraint_valid(done: Done) -> None:
    with session(done.target) as connection:
        if done.kind == "sqlite":
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return
        with session(done.source) as original:
            there = original.execute(f"SELECT contype, count(*) {DECLARED} GROUP BY contype").fetchall()
        ours = connection.execute(f"SELECT conrelid::regclass::text, conname, contype {DECLARED}").fetchall()
        assert Counter(row[2] for row in ours) == dict(there)
        for table, name, kind in ours:
            if kind in ("f", "c"):  # make the server look at every row again
                connection.execute("UPDATE pg_constraint SET convalidated = false WHERE conname = %s", (name,))
                connection.execute(f'ALTER TABLE {table} VALIDATE CONSTRAINT "{name}"')


def tables(done: Done) -> list[str]:
    manifest = json.loads((done.folder / "manifest.json").read_text())
    return [entry["table"] for entry in manifest["public"]["tables"].values()]


def test_the_source_is_as_it_was(done: Done) -> None:
    assert state(done.source) == done.before


def test_application_queries_run_unchanged_with_the_same_shapes(done: Done) -> None:
    for query, counted in QUERIES[done.shop]:
        names, before = asked(done.source, query)
        same, after = asked(done.target, query)
        assert names == same, query
        if counted:
            assert len(before) == len(after), query
        if before and after:
            for one, two in zip(zip(*before, strict=True), zip(*after, strict=True), strict=True):
                assert kinds(one) == kinds(two), query


def kinds(values: tuple[object, ...]) -> set[str]:
    """Types of a result column; whole and broken numbers are both numbers in SQLite."""
    return {
        "number" if isinstance(value, int | float) else type(value).__name__ for value in values if value is not None
    }


def test_counts_inside_the_answers_are_kept(done: Done) -> None:
    """Joins that count rows per key give the same counts: nobody got another's orders."""
    joined = {
        "bookshop": "SELECT count(*) FROM sale GROUP BY patron_id",
        "chinook": 'SELECT count(*) FROM "Invoice" GROUP BY "CustomerId"',
        "northwind": 'SELECT count(*) FROM "Orders" GROUP BY "CustomerID"',
        "sakila": "SELECT count(*) FROM rental GROUP BY customer_id",
    }
    assert Counter(asked(done.source, joined[done.shop])[1]) == Counter(asked(done.target, joined[done.shop])[1])


def test_rules_hold_in_plain_sql(done: Done) -> None:
    broken = {
        "bookshop": [
            "SELECT 1 FROM sale s JOIN line l ON l.sale_id = s.sale_id GROUP BY s.sale_id, s.total "
            "HAVING abs(s.total - sum(l.price)) > 0.001",
            "SELECT 1 FROM patron GROUP BY email HAVING count(*) > 1",
            "SELECT 1 FROM sale WHERE sent < sold",
            "SELECT 1 FROM clerk WHERE hired <= born",
        ],
        "chinook": [
            'SELECT 1 FROM "Invoice" i JOIN "InvoiceLine" l ON l."InvoiceId" = i."InvoiceId" '
            'GROUP BY i."InvoiceId", i."Total" HAVING abs(i."Total" - sum(l."UnitPrice")) > 0.001',
            'SELECT 1 FROM "Customer" GROUP BY "Email" HAVING count(*) > 1',
            'SELECT 1 FROM "Employee" WHERE "HireDate" <= "BirthDate"',
        ],
        "northwind": [
            'SELECT 1 FROM "Orders" WHERE "OrderDate" > "RequiredDate" OR "OrderDate" > "ShippedDate"',
            'SELECT 1 FROM "Customers" WHERE "Phone" IS NOT NULL GROUP BY "Phone" HAVING count(*) > 1',
            'SELECT 1 FROM "Order Details" WHERE "Quantity" <= 0',
        ],
        "sakila": [
            "SELECT 1 FROM rental WHERE rental_date > return_date",
            "SELECT 1 FROM customer GROUP BY email HAVING count(*) > 1",
        ],
    }
    for query in broken[done.shop]:
        assert asked(done.target, query)[1] == [], query
    totals = {
        "sakila": "SELECT round(sum(amount) * 100) FROM payment",
        "northwind": 'SELECT sum("Quantity") FROM "Order Details"',
    }
    if done.shop in totals:
        assert float(asked(done.source, totals[done.shop])[1][0][0]) == float(
            asked(done.target, totals[done.shop])[1][0][0]
        )


def test_few_old_values_of_wide_domains_survive(done: Done) -> None:
    """Of columns with large domains hardly any old value may be left, wherever it stands now."""
    wide = {
        "bookshop": [("patron", "email"), ("patron", "phone"), ("clerk", "email")],
        "chinook": [("Customer", "Email"), ("Customer", "Phone"), ("Employee", "Phone")],
        "northwind": [("Customers", "CustomerID"), ("Customers", "Phone"), ("Orders", "ShipAddress")],
        "sakila": [("customer", "email"), ("address", "phone"), ("staff", "password"), ("address", "address")],
    }
    for table, name in wide[done.shop]:
        old, new = set(column(done.source, table, name)), set(column(done.target, table, name))
        assert len((old & new) - {None, ""}) <= 1, (table, name)


def test_verify_judges_the_folder_the_original_and_the_target(done: Done) -> None:
    verdict = sf.verify(done.folder, original=done.source, target=done.target)
    assert not verdict.violated, [finding for finding in verdict.findings if not finding.holds]


def test_nothing_in_the_folder_tells_where_it_came_from(done: Done) -> None:
    for file in done.folder.glob("*.*"):
        if file.suffix in (".json", ".yaml"):
            text = file.read_text()
            assert "reader_" not in text and "sesame" not in text and "127.0.0.1" not in text
            assert str(sa.make_url(done.source).database) not in text
