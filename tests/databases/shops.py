"""Shops in SQLite and PostgreSQL, and what applications ask them: a bookshop of our own; Sakila, Northwind and
Chinook."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from sfumato.io.sql import load, read_rows, read_schema

POLICIES = Path(__file__).parent / "policies"

QUERIES: dict[str, list[tuple[str, bool]]] = {
    "bookshop": [
        ("SELECT r.last_name, sum(s.total) AS spent FROM patron r JOIN sale s ON s.patron_id = r.patron_id "
         "GROUP BY r.patron_id, r.last_name ORDER BY spent DESC LIMIT 5", True),
        ("SELECT s.sale_id, s.total - sum(l.price) AS rest FROM sale s JOIN line l ON l.sale_id = s.sale_id "
         "GROUP BY s.sale_id, s.total", True),
        ("SELECT c.last_name, b.last_name AS boss FROM clerk c LEFT JOIN clerk b ON c.boss_id = b.clerk_id", True),
        ("SELECT b.title, count(*) AS sold FROM line l JOIN book b ON b.book_id = l.book_id "
         "GROUP BY b.book_id, b.title", True),
        ("SELECT count(*) FROM sale WHERE sent IS NULL", True),
        ("SELECT * FROM patron WHERE email LIKE '%@%'", True),
        ("SELECT * FROM sale WHERE sent < sold", True),
    ],
    "chinook": [
        ('SELECT "Country", count(*) AS n FROM "Customer" GROUP BY "Country" ORDER BY n DESC', True),
        ('SELECT c."LastName", sum(i."Total") AS spent FROM "Customer" c JOIN "Invoice" i '
         'ON i."CustomerId" = c."CustomerId" '
         'GROUP BY c."CustomerId", c."LastName" ORDER BY spent DESC LIMIT 5', True),
        ('SELECT i."InvoiceId", i."Total" - sum(l."UnitPrice") AS rest FROM "Invoice" i JOIN "InvoiceLine" l '
         'ON l."InvoiceId" = i."InvoiceId" GROUP BY i."InvoiceId", i."Total"', True),
        ('SELECT e."LastName", m."LastName" AS boss FROM "Employee" e '
         'LEFT JOIN "Employee" m ON e."ReportsTo" = m."EmployeeId"', True),
        ('SELECT g."Name", count(*) AS sold FROM "InvoiceLine" l JOIN "Track" t ON t."TrackId" = l."TrackId" '
         'JOIN "Genre" g ON g."GenreId" = t."GenreId" GROUP BY g."Name" ORDER BY sold DESC LIMIT 3', True),
        ('SELECT count(*) FROM "Invoice" i JOIN "Customer" c '
         'ON c."CustomerId" = i."CustomerId" AND c."Address" = i."BillingAddress"', True),
        ('SELECT * FROM "Customer" WHERE "Email" LIKE \'%@%\'', True),
        ('SELECT * FROM "Employee" WHERE "HireDate" < "BirthDate"', True),
    ],
    "northwind": [
        ('SELECT c."CompanyName", count(*) AS n FROM "Customers" c JOIN "Orders" o ON o."CustomerID" = c."CustomerID" '
         'GROUP BY c."CustomerID", c."CompanyName" ORDER BY n DESC', True),
        ('SELECT o."OrderID", sum(d."UnitPrice" * d."Quantity") AS worth FROM "Orders" o JOIN "Order Details" d '
         'ON d."OrderID" = o."OrderID" GROUP BY o."OrderID" ORDER BY worth DESC LIMIT 10', True),
        ('SELECT e."LastName", m."LastName" AS boss FROM "Employees" e '
         'LEFT JOIN "Employees" m ON e."ReportsTo" = m."EmployeeID"', True),
        ('SELECT t."TerritoryDescription", e."LastName" FROM "EmployeeTerritories" x JOIN "Employees" e '
         'ON e."EmployeeID" = x."EmployeeID" JOIN "Territories" t ON t."TerritoryID" = x."TerritoryID"', True),
        ('SELECT count(*) FROM "Orders" WHERE "ShippedDate" IS NULL', True),
        ('SELECT count(*) FROM "Orders" o JOIN "Customers" c '
         'ON c."CustomerID" = o."CustomerID" AND c."Address" = o."ShipAddress"', True),
        ('SELECT * FROM "Orders" WHERE "ShippedDate" < "OrderDate"', False),
        ('SELECT sum("Quantity") FROM "Order Details"', True),
    ],
    "sakila": [
        ("SELECT c.last_name, count(*) AS n FROM customer c JOIN rental r ON r.customer_id = c.customer_id "
         "GROUP BY c.customer_id, c.last_name ORDER BY n DESC LIMIT 10", True),
        ("SELECT f.title, count(*) AS n FROM rental r JOIN inventory i ON i.inventory_id = r.inventory_id "
         "JOIN film f ON f.film_id = i.film_id GROUP BY f.film_id, f.title", True),
        ("SELECT s.store_id, m.last_name FROM store s JOIN staff m ON m.staff_id = s.manager_staff_id", True),
        ("SELECT c.customer_id, sum(p.amount) AS paid FROM customer c JOIN payment p ON p.customer_id = c.customer_id "
         "GROUP BY c.customer_id ORDER BY paid DESC", True),
        ("SELECT count(*) FROM payment p JOIN rental r ON r.rental_id = p.rental_id AND r.customer_id = p.customer_id",
        True),
        ("SELECT a.city_id, count(*) FROM customer c JOIN address a ON a.address_id = c.address_id GROUP BY a.city_id",
        True),
        ("SELECT count(*) FROM rental WHERE return_date IS NULL", True),
        ("SELECT * FROM rental WHERE return_date < rental_date", True),
    ],
}  # fmt: skip
"""What applications ask, and whether the number of rows (and every count in them) must be the same."""


def copy(source: str, target: str) -> None:
    """A database as it is, into an empty one."""
    schema = read_schema(source)
    load(target, schema, read_rows(source, schema).tables, fingerprint="a plain copy")


@contextmanager
def session(url: str) -> Iterator[Any]:
    """A plain connection, not through Sfumato."""
    if url.startswith("sqlite"):
        connection: Any = sqlite3.connect(sa.make_url(url).database or "")
    else:
        connection = psycopg.connect(
            sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        )
    try:
        yield connection
    finally:
        connection.close()


def asked(url: str, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names of the columns, and the rows."""
    with session(url) as connection:
        cursor = connection.execute(query)
        return [entry[0] for entry in cursor.description], [tuple(row) for row in cursor.fetchall()]


def column(url: str, table: str, name: str) -> list[Any]:
    return [row[0] for row in asked(url, f'SELECT "{name}" FROM "{table}"')[1]]
