"""A bookshop of our own making as an SQLite file: patrons and clerks are people; every sale is the sum of its lines."""

from __future__ import annotations

import random
import sqlite3
from datetime import date, timedelta
from pathlib import Path

TABLES = """
CREATE TABLE clerk (clerk_id INTEGER PRIMARY KEY, last_name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
  born DATE NOT NULL,
  hired DATE NOT NULL, boss_id INTEGER REFERENCES clerk (clerk_id), CHECK (born < hired));
CREATE TABLE patron (patron_id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  phone TEXT NOT NULL, street TEXT NOT NULL, clerk_id INTEGER NOT NULL REFERENCES clerk (clerk_id));
CREATE TABLE book (book_id INTEGER PRIMARY KEY, title TEXT NOT NULL, price NUMERIC(10, 2) NOT NULL CHECK (price > 0));
CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, patron_id INTEGER NOT NULL REFERENCES patron (patron_id),
  sold DATE NOT NULL,
  sent DATE, total NUMERIC(10, 2) NOT NULL, CHECK (sold <= sent));
CREATE TABLE line (line_id INTEGER PRIMARY KEY, sale_id INTEGER NOT NULL REFERENCES sale (sale_id),
  book_id INTEGER NOT NULL REFERENCES book (book_id), price NUMERIC(10, 2) NOT NULL);
"""
_FIRST = ("Ada", "Bruno", "Clara", "Dario", "Elsa", "Fabio", "Greta", "Hugo", "Irma", "Jonas", "Karla", "Livio")
_LAST = (
    "Amsel",
    "Birke",
    "Clement",
    "Dorn",
    "Esche",
    "Falk",
    "Geier",
    "Hasel",
    "Iltis",
    "Jaspis",
    "Kranich",
    "Linde",
    "Moor",
)
_STREETS = ("Quarry Lane", "Mill Row", "Harbour Steps", "Chapel Rise", "Orchard Way")
_WORDS = (
    "river",
    "winter",
    "garden",
    "letter",
    "island",
    "clock",
    "mirror",
    "bridge",
    "orchard",
    "storm",
    "lantern",
    "shadow",
)


def make_bookshop(path: Path) -> Path:
    """The same shop every time."""
    draw = random.Random(20)
    with sqlite3.connect(path) as connection:
        connection.executescript(TABLES)
        for table, rows in _rows(draw).items():
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return path


def _rows(draw: random.Random) -> dict[str, list[tuple[object, ...]]]:
    clerks, patrons = [_clerk(draw, n) for n in range(1, 13)], [_patron(draw, n) for n in range(1, 161)]
    titles = [f"The {one} and the {two}" for one in _WORDS for two in _WORDS if one < two]
    books = [(n, title, draw.randint(300, 4_000) / 100) for n, title in enumerate(titles, 1)]
    sales, lines = [], []
    for sale in range(1, 421):
        bought = [draw.choice(books) for _ in range(draw.randint(1, 4))]
        sold = date(2022, 1, 1) + timedelta(draw.randrange(700))
        sent = sold + timedelta(draw.randrange(9)) if draw.random() < 0.85 else None
        total = sum(round(100 * book[2]) for book in bought) / 100
        sales.append((sale, draw.randint(1, 160), str(sold), None if sent is None else str(sent), total))
        lines += [(sale, book[0], book[2]) for book in bought]
    numbered = [(n, *line) for n, line in enumerate(lines, 1)]
    return {"clerk": clerks, "patron": patrons, "book": books, "sale": sales, "line": numbered}


def _clerk(draw: random.Random, n: int) -> tuple[object, ...]:
    boss = draw.randrange(1, n) if n > 1 else None
    return n, draw.choice(_LAST), f"clerk{n}@books.test", _day(draw, 1960, 30), _day(draw, 2005, 12), boss


def _patron(draw: random.Random, n: int) -> tuple[object, ...]:
    phone = f"+44 {draw.randint(200, 999)} {draw.randint(10**5, 10**6 - 1)}"
    street = f"{draw.randint(1, 400)} {draw.choice(_STREETS)}"
    return n, draw.choice(_FIRST), draw.choice(_LAST), f"patron{n * 7}@post.test", phone, street, draw.randint(1, 12)


def _day(draw: random.Random, first: int, years: int) -> str:
    return str(date(first, 1, 1) + timedelta(draw.randrange(365 * years)))
