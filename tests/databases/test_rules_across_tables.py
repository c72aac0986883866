"""Rules across tables, judged from their meaning on plain rows: child and parent, copies, totals over three levels,
extremes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.errors import PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.database import ColumnFacts, Database, ForeignKey, Schema, TableFacts
from sfumato.data.table import Table
from sfumato.kinds.testdata.methods.relational import Relational
from sfumato.policy.policy import Policy
from sfumato.release.method import Task

KINDS = {
    "id": "integer",
    "region_id": "integer",
    "invoice_id": "integer",
    "issued": "date",
    "due": "date",
    "shipped": "date",
}
SHAPE = {
    "region": ("id", "name", "total"),
    "invoice": ("id", "region_id", "issued", "due", "total", "last", "customer", "items"),
    "item": ("id", "invoice_id", "shipped", "price", "customer"),
}
DAYS = {"dates": ["2021-01-01", "2022-12-31"]}
MONEY = {"integers": [1, 500]}
COMPUTED = {"computed": True}
Tables = dict[str, list[dict[str, Any]]]


def database(invoices: int = 60) -> Database:
    rows: Tables = {
        "region": [{"id": str(n), "name": f"r{n}", "total": "0"} for n in range(5)],
        "invoice": [
            {
                "id": str(n),
                "region_id": str(n % 5),
                "issued": f"2021-0{n % 9 + 1}-10",
                "due": f"2022-0{n % 9 + 1}-10",
                "total": "0",
            }
            | {"last": "2021-01-01", "customer": f"c{n}", "items": "0"}
            for n in range(invoices)
        ],
        "item": [
            {
                "id": str(n),
                "invoice_id": str(n % invoices),
                "shipped": None if n % 11 == 0 else "2022-05-05",
                "price": str(n % 90 + 1),
            }
            | {"customer": f"c{n % invoices}"}
            for n in range(invoices * 4)
        ],
    }
    keys = {"invoice": (ForeignKey("invoice", ("region_id",), "region", ("id",)),)}
    keys["item"] = (ForeignKey("item", ("invoice_id",), "invoice", ("id",)),)
    tables = tuple(
        TableFacts(
            name, tuple(ColumnFacts(c, _kind(c), "x") for c in columns), ("id",), foreign_keys=keys.get(name, ())
        )
        for name, columns in SHAPE.items()
    )
    frames = {
        name: Table(pa.table({c: pa.array([row[c] for row in rows[name]], pa.string()) for c in SHAPE[name]}))
        for name in SHAPE
    }
    return Database(Schema(tables, "sqlite"), frames)


def _kind(column: str) -> str:
    return KINDS.get(column, "text" if column in ("name", "customer") else "date" if column == "last" else "integer")


def made(columns: dict[str, Any], *keep: str) -> tuple[Tables, Database]:
    replaced = {name: {"role": "replaced", "domain": domain} for name, domain in columns.items()}
    policy = Policy.parse({"version": 1, "data": {"kind": "database"}, "columns": replaced, "keep": list(keep)})
    data = database()
    Relational().describe(policy, data)
    release = Relational().run(Task(policy, data, Randomness()))
    return {name: part.table.to_pylist() for name, part in release.parts.items()}, data


def by(rows: list[dict[str, Any]], key: str) -> dict[str, list[dict[str, Any]]]:
    found = defaultdict(list)
    for row in rows:
        found[row[key]].append(row)
    return found


def parent(tables: Tables, row: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in tables["invoice"] if one["id"] == row["invoice_id"])


CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], Callable[[Tables], bool]]] = {
    "a child after its parent, both new": (
        {"item.shipped": DAYS, "invoice.issued": DAYS},
        ("item.shipped >= invoice.issued",),
        lambda t: all(row["shipped"] is None or row["shipped"] >= parent(t, row)["issued"] for row in t["item"]),
    ),
    "a new child after a kept parent": (
        {"item.shipped": DAYS},
        ("item.shipped >= invoice.issued",),
        lambda t: all(row["shipped"] is None or row["shipped"] >= parent(t, row)["issued"] for row in t["item"]),
    ),
    "a new parent before kept children": (
        {"invoice.issued": DAYS},
        ("invoice.issued <= item.shipped",),
        lambda t: all(row["shipped"] is None or row["shipped"] >= parent(t, row)["issued"] for row in t["item"]),
    ),
    "within two bounds of the parent": (
        {"item.shipped": DAYS, "invoice.issued": DAYS, "invoice.due": DAYS},
        ("invoice.issued <= invoice.due", "invoice.issued <= item.shipped", "item.shipped <= invoice.due"),
        lambda t: all(
            r["shipped"] is None or parent(t, r)["issued"] <= r["shipped"] <= parent(t, r)["due"] for r in t["item"]
        ),
    ),
    "a copied column": (
        {"invoice.customer": {"fakes": "name"}, "item.customer": COMPUTED},
        ("item.customer = invoice.customer",),
        lambda t: all(row["customer"] == parent(t, row)["customer"] for row in t["item"]),
    ),
    "totals over three levels": (
        {"item.price": MONEY, "invoice.total": COMPUTED, "region.total": COMPUTED},
        (
            "invoice.total = sum(item.price by item.invoice_id)",
            "region.total = sum(invoice.total by invoice.region_id)",
        ),
        lambda t: (
            all(
                Fraction(i["total"]) == sum(int(r["price"]) for r in by(t["item"], "invoice_id")[i["id"]])
                for i in t["invoice"]
            )
            and all(
                Fraction(g["total"]) == sum(Fraction(i["total"]) for i in by(t["invoice"], "region_id")[g["id"]])
                for g in t["region"]
            )
        ),
    ),
    "the latest of the children": (
        {"item.shipped": DAYS, "invoice.last": COMPUTED},
        ("invoice.last = max(item.shipped by item.invoice_id)",),
        lambda t: all(
            i["last"] == max((r["shipped"] for r in by(t["item"], "invoice_id")[i["id"]] if r["shipped"]), default=None)
            for i in t["invoice"]
        ),
    ),
    "the number of children": (
        {"invoice.items": COMPUTED},
        ("invoice.items = count(item.id by item.invoice_id)",),
        lambda t: all(int(i["items"]) == len(by(t["item"], "invoice_id")[i["id"]]) for i in t["invoice"]),
    ),
    "a total within its own bounds": (
        {"item.price": MONEY, "invoice.total": {"integers": [4, 2000]}},
        ("invoice.total = sum(item.price by item.invoice_id)",),
        lambda t: all(
            Fraction(i["total"]) == sum(int(r["price"]) for r in by(t["item"], "invoice_id")[i["id"]])
            for i in t["invoice"]
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_across_tables(name: str) -> None:
    columns, keep, judge = CASES[name]
    tables, _ = made(columns, *keep)
    assert judge(tables)


def test_tables_that_nothing_joins_are_refused() -> None:
    with pytest.raises(PolicyError, match="no reference joins"):
        made({"item.price": MONEY, "region.total": MONEY}, "item.price <= region.total")


def test_a_key_that_a_wider_key_contains_is_enough() -> None:
    tables, _ = made({"item.price": {"integers": [1, 9999]}}, "unique(item.id, item.price)", "unique(item.price)")
    assert len({row["price"] for row in tables["item"]}) == len(tables["item"])
