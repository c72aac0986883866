"""`testdata`: a faculty's student records become test data in which every business rule is still true and nobody is in
it.


Patterns
--------
`patterns`: a gym's members keep their ranking and their clusters, and lose their numbers.


Database
--------
`database`: a small shop's production database becomes a test database, with all its keys, rules and totals.
"""

from __future__ import annotations

import csv
import datetime as dt
import sqlite3
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.policy.policy import Policy
from sfumato.release.method import Progress, no_progress
from sfumato.ui.demos.scenario import Say, Scenario, published_line, tell, verified_line
from sfumato.workflow.database_load import load_release
from sfumato.workflow.forecast import preview
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify

POLICY = """\
# Production data for application testing: same shape, same rules, none of the students.
version: 1
data: {kind: table, source: students.csv}
columns:
  name:              {role: replaced, domain: {fakes: name}}
  phone_number:      {role: replaced, domain: {pattern: "05[0247][0-9]{7}"}}
  department:        other
  registration_date: {role: replaced, domain: {dates: [1990-01-01, 2012-12-31]}}
  graduation_date:   {role: replaced, domain: {dates: [1990-01-01, 2012-12-31]}}
  courses_grade:     {role: replaced, domain: {integers: [80, 100]}}
  thesis_grade:      {role: replaced, domain: {integers: [80, 100]}}
  final_grade:       {role: replaced, domain: {integers: [80, 100]}}
  fee:               {role: replaced, domain: {integers: [1, 90]}}
keep:
  - "unique(name)"
  - "unique(phone_number)"
  - "graduation_date - registration_date >= 300"
  - "final_grade = (courses_grade + thesis_grade) / 2"
  - "mean(final_grade) = 90"
  - "sum(fee by department) = sum(original.fee by department)"
protect:
  - {given: [phone_number], hide: final_grade, by: {l-diversity: {l: 5, kind: frequency}}}
method: {obfuscation: {}}
"""

_FIRST = [
    "Ada",
    "Ben",
    "Cleo",
    "Dora",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "Jun",
    "Kai",
    "Lea",
    "Max",
    "Nora",
    "Otto",
    "Pia",
]
_LAST = [
    "Abel",
    "Berg",
    "Conti",
    "Duval",
    "Evans",
    "Ferri",
    "Gallo",
    "Holm",
    "Ito",
    "Jansen",
    "Klein",
    "Lopez",
    "Nagy",
    "Olsen",
]


class TestData(Scenario):
    """Two thousand student records become test data under six rules."""

    __test__: ClassVar[bool] = False  # the name begins like a test's
    name: ClassVar[str] = "testdata"
    title: ClassVar[str] = "A faculty gives its testers data to work with"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "students.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(
                ["name", "phone_number", "department", "registration_date", "graduation_date", "courses_grade",
                "thesis_grade",
                 "final_grade", "fee"]
            )  # fmt: skip
            writer.writerows(students(2000))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data


def students(count: int, seed: int = 1503) -> list[list[str]]:
    """Invented students whose final grades average 90 exactly."""
    import datetime as dt

    rng = np.random.default_rng(seed)
    final = rng.integers(82, 99, count)
    while (rest := int(final.sum()) - 90 * count) != 0:  # move single grades until the mean is right
        chosen = rng.integers(count)
        final[chosen] = np.clip(final[chosen] - np.sign(rest), 82, 98)
    phones = rng.choice(10_000_000, count, replace=False)
    rows = []
    for place in range(count):
        half = int(rng.integers(-2, 3))
        begin = dt.date(2000, 1, 1) + dt.timedelta(days=int(rng.integers(0, 3000)))
        end = begin + dt.timedelta(days=int(rng.integers(300, 1200)))
        name = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}-{place}"
        department = str(rng.choice(["history", "physics", "law", "music"], p=[0.4, 0.3, 0.2, 0.1]))
        grades = [str(int(final[place]) + half), str(int(final[place]) - half), str(int(final[place]))]
        phone = f"05{rng.choice(list('0247'))}{int(phones[place]):07d}"
        rows.append(
            [name, phone, department, begin.isoformat(), end.isoformat(), *grades, str(int(rng.integers(5, 60)))]
        )
    return rows


# Patterns
# --------


PATTERNS_POLICY = """\
# A gym shares members' measurements for clustering: who is closer to whom must survive, the numbers must not.
version: 1
data: {kind: table, source: members.csv}
columns:
  member:     identifier
  age:        {role: replaced, domain: {integers: [16, 90]}}
  weight:     {role: replaced, domain: {decimals: [40, 160], places: 1}}
  resting:    {role: replaced, domain: {integers: [35, 110]}}
  peak:       {role: replaced, domain: {integers: [90, 220]}}
  condition:  sensitive
keep:
  - "localities(age, weight, resting, peak) sample 0.3 partition 20"
  - "resting <= peak - 20"
  - "age within 15 of original.age"
method: {pattern-walk: {}}
"""

_CONDITIONS = ["none", "asthma", "back pain", "diabetes", "hypertension", "knee injury"]


class PatternsDemo(Scenario):
    """A thousand gym members with new numbers in the old pattern."""

    name: ClassVar[str] = "patterns"
    title: ClassVar[str] = "A gym shares measurements without the numbers"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "members.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["member", "age", "weight", "resting", "peak", "condition"])
            writer.writerows(members(1000))
        policy.write_text(PATTERNS_POLICY, encoding="utf-8")
        return policy, data


def members(count: int, seed: int = 1503) -> list[list[str]]:
    """Invented members: hearts beat slower at the peak with age, and conditions come with weight and years."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        age = int(np.clip(rng.normal(41, 14), 16, 90))
        weight = round(float(np.clip(rng.normal(74 + age / 8, 13), 40, 160)), 1)
        resting = int(np.clip(rng.normal(58 + weight / 10, 8), 35, 110))
        peak = int(np.clip(rng.normal(212 - 0.75 * age, 9), resting + 20, 220))
        weights = np.array([6, 1, 1 + age / 40, age / 60, age / 50 + weight / 90, 1.0])
        condition = str(rng.choice(_CONDITIONS, p=weights / weights.sum()))
        rows.append([f"M{number:05d}", str(age), str(weight), str(resting), str(peak), condition])
    return rows


# Database
# --------


SCHEMA = """
CREATE TABLE customer (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, phone TEXT,
    referred_by INTEGER REFERENCES customer (id));
CREATE TABLE newsletter (email TEXT PRIMARY KEY, since DATE NOT NULL);
CREATE TABLE invoice (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), ordered DATE NOT NULL, paid DATE,
  total DECIMAL(10,2) NOT NULL CHECK (total >= 0), CHECK (ordered <= paid));
CREATE TABLE invoice_line (
  invoice_id INTEGER NOT NULL REFERENCES invoice (id), line INTEGER NOT NULL, article TEXT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (invoice_id, line));
"""

DATABASE_POLICY = """\
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

_NAMES = [
    "Ada",
    "Ben",
    "Cleo",
    "Dora",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "Jun",
    "Kai",
    "Lea",
    "Max",
    "Nora",
    "Otto",
    "Pia",
]


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
        policy.write_text(DATABASE_POLICY, encoding="utf-8")
        return policy, production

    def play(self, folder: Path, say: Say, progress: Progress = no_progress) -> Path:
        policy, production = self.make(folder)
        say(f"Policy: {policy}")
        for sample in preview(policy, rows=1):
            for name, before, after in zip(sample.columns, sample.before[0], sample.after[0], strict=True):
                say(f"Preview: {sample.table}.{name}: {before} → {after}")
        publication = publish(policy, progress=progress)
        release = publication.write(folder / "release")
        say(published_line(publication))
        loaded = load_release(Policy.read(policy), release, progress=progress)
        say(f"Loaded {len(loaded.rows)} tables into {folder / 'test.db'}.")
        tell(publication, say, release)
        verdict = verify(
            release,
            original=f"sqlite:///{production.absolute()}",
            target=f"sqlite:///{(folder / 'test.db').absolute()}",
        )
        say(verified_line(verdict, "with the original and the loaded database"))
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
    database.execute(
        "INSERT INTO invoice VALUES (?, ?, ?, ?, ?)", (number, customer, ordered.isoformat(), paid, sum(prices) / 100)
    )
    lines = [
        (number, line, f"article {int(rng.integers(1, 90))}", cents / 100) for line, cents in enumerate(prices, start=1)
    ]
    database.executemany("INSERT INTO invoice_line VALUES (?, ?, ?, ?)", lines)
