"""Values that testers can use: what was made of other columns is made of the new ones, and forms stay."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from small_shop import sfumato

from sfumato.core.errors import PolicyError
from sfumato.data.table import Table
from sfumato.kinds.testdata.leaked_values import derived_columns
from sfumato.kinds.testdata.methods.sampling.column_values import levels
from sfumato.policy.value_domains import read
from sfumato.workflow.discover.column_profiles import DataView
from sfumato.workflow.discover.constraints import proposals

FIRST = (
    "MARY",
    "PATRICIA",
    "LINDA",
    "BARBARA",
    "ELIZABETH",
    "JENNIFER",
    "MARIA",
    "SUSAN",
    "MARGARET",
    "DOROTHY",
    "LISA",
    "NANCY",
)
LAST = ("SMITH", "JOHNSON", "WILLIAMS", "JONES", "BROWN", "DAVIS", "MILLER", "WILSON", "MOORE", "TAYLOR")
FIRMS, TRADES = (
    ("Advanced", "Allen", "American", "Australia", "Bicycle", "Blue", "Custom"),
    ("Bike", "Cycle", "Sports", "Supply"),
)


def store(path: Path) -> str:
    """Names in upper case, addresses made of them, invoices that repeat an address, vendors whose number begins like
    their name."""
    chance = random.Random(5)
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            CREATE TABLE customer (customer_id integer PRIMARY KEY, first_name varchar(45), last_name varchar(45),
              email varchar(50), address text, address2 text);
            CREATE TABLE invoice (invoice_id integer PRIMARY KEY, customer_id integer REFERENCES customer (customer_id),
              billing_address text, subtotal numeric, tax numeric, freight numeric, total numeric);
            CREATE TABLE vendor (vendor_id integer PRIMARY KEY, account_number text, name text);""")
        for n in range(120):
            first, last = FIRST[n % 12], LAST[n // 12]
            told = (
                n,
                first,
                last,
                f"{first}.{last}@store-of-ours.com",
                f"{n + 3} Elm Street",
                "" if n % 9 else f"Apt {n}",
            )
            connection.execute("INSERT INTO customer VALUES (?, ?, ?, ?, ?, ?)", told)
        for n in range(400):
            whose, (net, tax, freight) = chance.randrange(120), (chance.randint(100, 99_999) for _ in range(3))
            sums = [round(cents / 100, 2) for cents in (net, tax, freight, net + tax + freight)]
            connection.execute(
                "INSERT INTO invoice VALUES (?, ?, ?, ?, ?, ?, ?)", (n, whose, f"{whose + 3} Elm Street", *sums)
            )
        for n in range(104):
            name = f"{chance.choice(FIRMS)} {chance.choice(TRADES)} {chr(65 + n % 26)}"
            connection.execute("INSERT INTO vendor VALUES (?, ?, ?)", (n, f"{name[:7].strip().upper()}{n:04d}", name))
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A target published under the draft as it stands, and the draft."""
    folder = tmp_path_factory.mktemp("store")
    source, target, policy = folder / "store.db", folder / "target.db", folder / "policy.yaml"
    policy.write_text(sfumato("discover", store(source), "--target", f"sqlite:///{target}").stdout)
    checked = sfumato("check", str(policy), "--strict", "--accept-roles")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = sfumato("publish", str(policy), "--out", str(folder / "release"), "--no-report", "--accept-roles")
    assert done.returncode == 0, done.stdout + done.stderr
    return target, yaml.safe_load(policy.read_text())


def asked(path: Path, query: str) -> list[tuple]:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchall()


def test_addresses_are_made_of_the_new_names(tried: tuple[Path, dict]) -> None:
    people = asked(tried[0], "SELECT first_name, last_name, email FROM customer")
    assert all(email == f"{first}.{last}@example.org" for first, last, email in people)
    assert not {(first, last) for first, last, _ in people} <= {(first, last) for first in FIRST for last in LAST}


def test_upper_case_stays(tried: tuple[Path, dict]) -> None:
    assert all(
        first.isupper() and last.isupper()
        for first, last in asked(tried[0], "SELECT first_name, last_name FROM customer")
    )


def test_copies_across_a_reference_stay_copies(tried: tuple[Path, dict]) -> None:
    same = "SELECT count(*) FROM invoice i JOIN customer c USING (customer_id) WHERE i.billing_address = c.address"
    assert asked(tried[0], same) == [(400,)]
    assert not any("Elm" in address for (address,) in asked(tried[0], "SELECT address FROM customer"))


def test_empty_texts_stay_empty(tried: tuple[Path, dict]) -> None:
    assert asked(tried[0], "SELECT count(*) FROM customer WHERE address2 = ''") == [(106,)]


def test_names_are_invented_before_they_are_emptied(tried: tuple[Path, dict]) -> None:
    target, draft = tried
    assert not any("empty" in entry.get("domain", {}) for entry in draft["columns"].values())
    assert asked(target, "SELECT count(DISTINCT name) > 90 FROM vendor") == [(1,)]


def test_totals_of_several_addends_are_found(tried: tuple[Path, dict]) -> None:
    assert "invoice.total = invoice.subtotal + invoice.tax + invoice.freight" in tried[1]["keep"]


@pytest.mark.parametrize("addends", [3, 4, 5])
@pytest.mark.parametrize("taken", [0, 1])
@pytest.mark.parametrize("place", ["first", "last"])
def test_long_sums(addends: int, taken: int, place: str) -> None:
    chance = random.Random(addends)
    parts = {f"p{n}": [chance.randint(1, 9_999) for _ in range(200)] for n in range(addends)}
    signs = [-1 if n < taken else 1 for n in range(addends)]
    total = [sum(s * one for s, one in zip(signs, row, strict=True)) for row in zip(*parts.values(), strict=True)]
    columns = {"total": total, **parts} if place == "first" else {**parts, "total": total}
    columns["other"] = [chance.randint(1, 9_999) for _ in range(200)]
    view = DataView.of(
        {None: Table(pa.table({name: [str(one) for one in values] for name, values in columns.items()}))}
    )
    found = [each.rule for each in proposals(view) if each.active and each.template == "linear"]
    assert len(found) == 1
    assert all(name in found[0] for name in ("total", *parts))
    assert view.holds(found[0])


def test_case_of_fakes() -> None:
    assert all(text.isupper() for text in levels(read({"fakes": "last_name", "case": "upper"})).texts(range(50)))
    assert read({"fakes": "name", "case": "lower"}).declared() == {"fakes": "name", "locale": "en_US", "case": "lower"}
    with pytest.raises(PolicyError, match="unknown case"):
        read({"fakes": "name", "case": "Title"})


def test_small_numbers_that_agree_often_are_no_survivors_and_a_copy_is() -> None:
    """Amounts from 0 to 4 beside line numbers from 1 to 3."""
    chance = random.Random(1)
    orders = [sorted(chance.choice([(1, 2, 3), (1, 2, 3), (0, 2, 4), (1, 1, 4)])) for _ in range(500)]
    amounts = [str(amount) for order in orders for amount in order]
    lines = [str(line) for _ in orders for line in (1, 2, 3)]
    rows = pa.table({"amount": amounts, "line": lines, "copy": amounts})
    assert [
        one.kept.name for one in derived_columns("l", rows, ["amount"], {"line": "integer", "copy": "integer"})
    ] == ["copy"]


def test_counts_of_survivors_are_counts_of_rows() -> None:
    names = [f"Person{n} Long{n}" for n in range(230)]
    rows = pa.table({"name": names, "shown": [name.lower() if n < 30 else "" for n, name in enumerate(names)]})
    (found,) = derived_columns("t", rows, ["name"], {"shown": "text"})
    assert found.cells == 30


def test_a_pattern_that_is_longer_than_its_column_does_not_fit() -> None:
    from sfumato.data.database import ColumnFacts
    from sfumato.policy.database_policy import reason_not_fitting

    token = ColumnFacts("token", "text", "character varying(26)", length=26)
    assert "longer than character varying(26)" in reason_not_fitting(read({"pattern": "[0-9a-f]{32}"}), token)
    assert not reason_not_fitting(read({"pattern": "[0-9a-f]{20,32}"}), token)
