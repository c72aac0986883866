"""`database`: a small shop's production database becomes a test database, with all its keys, rules and totals."""

from __future__ import annotations

import datetime as dt
import sqlite3
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.demos.base import Say, Scenario, describe, spoken
from sfumato.methods.base import Progress, silent
from sfumato.policy.policy import Policy
from sfumato.spine.load import load_release
from sfumato.spine.preview import preview
from sfumato.spine.publish import publish
from sfumato.spine.verify import verify

SCHEMA = """
CREATE TABLE customer (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, phone TEXT, referred_by INTEGER REFERENCES customer (id));
CREATE TABLE newsletter (email TEXT PRIMARY KEY, since DATE NOT NULL);
CREATE TABLE invoice (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), ordered DATE NOT NULL, paid DATE,
  total DECIMAL(10,2) NOT NULL CHECK (total >= 0), CHECK (ordered <= paid));
CREATE TABLE invoice_line (
  invoice_id INTEGER NOT NULL REFERENCES invoice (id), line INTEGER NOT NULL, article TEXT NOT NULL, price DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (invoice_id, line));
"""

POLICY = """\
# A production database for testers: same tables, keys, constraints and rules, none of the customers.
version: 1
data:
  kind: database
  source: sqlite:///production.db
  target: sqlite:///test.db
  consistent: [customer.email, newsletter.email]
columns:
  customer.id:        {role: replaced, domain: {integers: [1000, 99999]}}
  customer.name:      {role: replaced, domain: {fakes: name}}
  customer.email:     {role: replaced, domain: {fakes: email}}
  customer.phone:     {role: replaced, domain: {pattern: "06-[0-9]{8}"}}
  invoice.ordered:    {role: replaced, domain: {dates: [2022-01-01, 2024-12-31]}}
  invoice.paid:       {role: replaced, domain: {dates: [2022-01-01, 2024-12-31]}}
  invoice.total:      {role: replaced, domain: {decimals: [0, 2000], places: 2}}
  invoice_line.price: {role: replaced, domain: {decimals: [0.50, 99.99], places: 2}}
keep:
  - "invoice.total = sum(invoice_line.price by invoice_line.invoice_id)"
  - "invoice.paid - invoice.ordered <= 60"
method: {relational: {}}
"""

_NAMES = ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kai", "Lea", "Max", "Nora", "Otto", "Pia"]
_LAST = ["Abel", "Berg", "Conti", "Duval", "Evans", "Ferri", "Gallo", "Holm", "Ito", "Jansen", "Klein", "Lopez", "Nagy", "Olsen"]


class DatabaseDemo(Scenario):
    """A shop with four tables becomes a test database."""

    name: ClassVar[str] = "database"
    title: ClassVar[str] = "A shop gives its testers a database to work with"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        production, policy = folder / "production.db", folder / "policy.yaml"
        for old in (production, folder / "test.db"):
            old.unlink(missing_ok=True)
        fill(production, customers=400)
        policy.write_text(POLICY, encoding="utf-8")
        return policy, production

    def play(self, folder: Path, say: Say, progress: Progress = silent) -> Path:
        policy, production = self.make(folder)
        say(f"policy    {policy}")
        for sample in preview(policy, rows=1):
            for name, before, after in zip(sample.columns, sample.before[0], sample.after[0], strict=True):
                say(f"preview   {sample.table}.{name}: {before} → {after}")
        publication = publish(policy, progress=progress)
        release = publication.write(folder / "release")
        certificate = publication.certificate
        say(f"published {certificate.records.published:,} rows with {certificate.method}")
        loaded = load_release(Policy.read(policy), release, progress=progress)
        say(f"loaded    {len(loaded.rows)} tables into {folder / 'test.db'}")
        verdict = verify(
            release, original=f"sqlite:///{production.absolute()}", target=f"sqlite:///{(folder / 'test.db').absolute()}"
        )
        for finding in verdict.findings:
            say(describe(finding))
        say("verified  " + spoken(verdict))
        return release / "report.html"


def fill(path: Path, customers: int, seed: int = 9) -> None:
    """Invented customers and their invoices, each the sum of its lines."""
    rng = np.random.default_rng(seed)
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA)
        emails = []
        for number in range(1, customers + 1):
            name = f"{rng.choice(_NAMES)} {rng.choice(_LAST)}"
            emails.append(f"{name.lower().replace(' ', '.')}{number}@shop.test")
            phone = f"06-{rng.integers(10**7, 10**8)}" if rng.random() < 0.8 else None
            friend = int(rng.integers(1, number)) if number > 1 and rng.random() < 0.3 else None
            database.execute("INSERT INTO customer VALUES (?, ?, ?, ?, ?)", (number, name, emails[-1], phone, friend))
        for email in emails[::3]:
            database.execute("INSERT INTO newsletter VALUES (?, ?)", (email, "2021-05-01"))
        for number in range(1, 3 * customers + 1):
            _invoice(database, number, int(rng.integers(1, customers + 1)), rng)


def _invoice(database: sqlite3.Connection, number: int, customer: int, rng: np.random.Generator) -> None:
    ordered = dt.date(2022, 1, 1) + dt.timedelta(days=int(rng.integers(0, 1000)))
    paid = (ordered + dt.timedelta(days=int(rng.integers(0, 45)))).isoformat() if rng.random() < 0.9 else None
    prices = [int(cents) for cents in rng.integers(100, 5000, rng.integers(1, 6))]
    database.execute("INSERT INTO invoice VALUES (?, ?, ?, ?, ?)", (number, customer, ordered.isoformat(), paid, sum(prices) / 100))
    lines = [(number, line, f"article {int(rng.integers(1, 90))}", cents / 100) for line, cents in enumerate(prices, start=1)]
    database.executemany("INSERT INTO invoice_line VALUES (?, ?, ?, ?)", lines)
