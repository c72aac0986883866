"""A small shop in a SQLite file, a policy for it, and the command line."""

from __future__ import annotations

import contextlib
import io
import sqlite3
import subprocess
from pathlib import Path

SHOP = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, joined DATE NOT NULL,
  country TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id),
  ordered DATE NOT NULL,
  shipped DATE, total INTEGER NOT NULL CHECK (total >= 0), CHECK (ordered <= shipped));
CREATE TABLE newsletter (email TEXT PRIMARY KEY, since DATE);
"""
ACCEPTED = '  accept: ["surviving:customer.email->newsletter.email"]\n'
"""The newsletter keeps the addresses of customers: known, and wanted here."""
POLICY = (
    """
version: 1
data:
  kind: database
  source: {source}
  target: {target}
"""
    + ACCEPTED
    + """columns:
  customer.id:     {{role: replaced, domain: {{integers: [1, 99999]}}}}
  customer.name:   {{role: replaced, domain: {{fakes: name}}}}
  customer.email:  {{role: replaced, domain: {{fakes: email}}}}
  orders.ordered:  {{role: replaced, domain: {{dates: [2020-01-01, 2023-12-31]}}}}
  orders.shipped:  {{role: replaced, domain: {{dates: [2020-01-01, 2023-12-31]}}}}
  orders.total:    {{role: replaced, domain: {{integers: [0, 500]}}}}
keep:
  - "mean(orders.total) = mean(original.orders.total)"
"""
)


def make_shop(path: Path, customers: int = 60) -> str:
    """The URL of a new shop."""
    with sqlite3.connect(path) as connection:
        connection.executescript(SHOP)
        people = [
            (n, f"Person {n}", f"p{n}@home.test" if n % 5 else None, "2019-01-01", "NL" if n % 3 else "DE")
            for n in range(1, customers + 1)
        ]
        connection.executemany("INSERT INTO customer VALUES (?, ?, ?, ?, ?)", people)
        orders = [
            (n, n % customers + 1, f"2021-03-{n % 28 + 1:02d}", "2021-04-05" if n % 4 else None, n % 97)
            for n in range(1, 4 * customers)
        ]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", orders)
        connection.executemany(
            "INSERT INTO newsletter VALUES (?, ?)", [(f"p{n}@home.test", "2020-01-01") for n in range(1, customers, 7)]
        )
    return f"sqlite:///{path}"


def write_policy(folder: Path, source: str, target: str, text: str = POLICY, name: str = "shop.yaml") -> Path:
    policy = folder / name
    policy.write_text(text.format(source=source, target=target), encoding="utf-8")
    return policy


def sfumato(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as a user runs it, without the price of a new process."""
    from sfumato.ui.cli import main

    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(list(arguments), int(str(code or 0)), out.getvalue(), err.getvalue())
