"""Releases of a database that are broken on purpose: each kind of damage is found by the check that is there for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from small_shop import POLICY, make_shop, sfumato, write_policy

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView
from sfumato.workflow.database_load import load_release
from tests.secret import secret

Change = Callable[[list[Any]], list[Any]]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    folder = tmp_path_factory.mktemp("shop")
    text = POLICY.replace("columns:", "  consistent: [[customer.email, newsletter.email]]\ncolumns:")
    publication = sf.publish(write_policy(folder, make_shop(folder / "shop.db"), "''", text), seed=secret(3))
    return publication.exhibit


def changed(evidence: ReleaseView, table: str, column: str, change: Change) -> ReleaseView:
    frame = evidence.parts[table].table
    values = pa.array(change(frame.column(column).to_pylist()), pa.string())
    place = frame.column_names.index(column)
    return replace(evidence, parts={**evidence.parts, table: Part(frame.set_column(place, column, values))})


def found(evidence: ReleaseView) -> set[str]:
    return {finding.model for finding in certify(evidence) if not finding.holds}


def first(value: Any) -> Change:
    return lambda values: [value, *values[1:]]


def original(evidence: ReleaseView, table: str, column: str) -> Change:
    assert evidence.behind is not None
    frame, rows = evidence.original.tables[table].frame, evidence.behind[table]
    return lambda _: frame.column(column).take(pa.array(rows)).to_pylist()


def test_the_release_itself_holds(evidence: ReleaseView) -> None:
    assert found(evidence) == set()


@pytest.mark.parametrize(
    ("table", "column", "change", "check"),
    [
        ("orders", "customer_id", first("123456789"), "constraints"),
        ("customer", "email", lambda values: [values[1] or values[2], *values[1:]], "constraints"),
        ("customer", "name", first(None), "constraints"),
        ("orders", "total", first("-5"), "constraints"),
        ("orders", "total", first("501"), "domains of the database"),
        ("orders", "total", lambda values: [str((int(values[0]) + 1) % 500), *values[1:]], "rules of the policy"),
        ("orders", "shipped", lambda values: [value and "2019-01-01" for value in values], "domains of the database"),
        ("orders", "ordered", lambda values: ["2023-12-31"] * len(values), "constraints"),
        ("customer", "country", first("FR"), "kept cells"),
        ("customer", "email", lambda values: [None if value else "a.b1@example.org" for value in values], "kept cells"),
        ("newsletter", "email", lambda values: values[::-1], "linked columns"),
    ],
)
def test_a_changed_cell_is_found(evidence: ReleaseView, table: str, column: str, change: Change, check: str) -> None:
    assert check in found(changed(evidence, table, column, change))


@pytest.mark.parametrize(("table", "column"), [("customer", "name"), ("orders", "ordered"), ("customer", "id")])
def test_original_values_are_found(evidence: ReleaseView, table: str, column: str) -> None:
    assert "unchanged values" in found(changed(evidence, table, column, original(evidence, table, column)))


def test_a_few_original_values_among_many_are_found(evidence: ReleaseView) -> None:
    def some(values: list[Any]) -> list[Any]:
        old = original(evidence, "orders", "ordered")(values)
        return [o if place % 20 == 0 else new for place, (o, new) in enumerate(zip(old, values, strict=True))]

    assert "unchanged values" in found(changed(evidence, "orders", "ordered", some))


def test_a_lost_row_and_a_lost_table_are_found(evidence: ReleaseView) -> None:
    assert evidence.behind is not None
    shorter = Part(evidence.parts["orders"].table.slice(1))
    behind = {**evidence.behind, "orders": np.asarray(evidence.behind["orders"])[1:]}
    assert "tables and row counts" in found(
        replace(evidence, parts={**evidence.parts, "orders": shorter}, trace=Provenance(behind))
    )
    without = {name: part for name, part in evidence.parts.items() if name != "newsletter"}
    assert "tables and row counts" in found(replace(evidence.as_published(), parts=without))


def test_a_row_published_twice_is_found(evidence: ReleaseView) -> None:
    assert evidence.behind is not None
    rows = np.asarray(evidence.behind["orders"]).copy()
    rows[0] = rows[1]
    assert "kept cells" in found(replace(evidence, trace=Provenance({**evidence.behind, "orders": rows})))


def test_a_schema_without_its_constraints_is_found(evidence: ReleaseView) -> None:
    tree = [{key: value for key, value in table.items() if key != "foreign_keys"} for table in evidence.form.declared]
    assert "tables and row counts" in found(replace(evidence, form=evidence.form.with_public(schema=tree)))


def test_an_edited_target_is_found(tmp_path: Path) -> None:
    import sqlite3

    target = f"sqlite:///{tmp_path / 'target.db'}"
    policy = write_policy(tmp_path, make_shop(tmp_path / "shop.db"), target)
    out = sf.publish(policy, seed=secret(1)).write(tmp_path / "release", report=False)
    load_release(policy, out)
    for statement, check in (
        ("UPDATE orders SET total = total + 1 WHERE id = 5", "target: rows"),
        ("DELETE FROM newsletter", "target: tables and row counts"),
        ("DELETE FROM customer WHERE id IN (SELECT customer_id FROM orders LIMIT 1)", "target: server"),
        ("DROP TABLE newsletter", "target: rows"),
    ):
        with sqlite3.connect(tmp_path / "target.db") as connection:
            connection.execute(statement)
        broken = {finding.model for finding in sf.verify(out, target=target).findings if not finding.holds}
        assert check in broken, (statement, broken)
    assert sfumato("verify", str(out), "--target", target).returncode == 1
    assert sfumato("verify", str(out)).returncode == 0


def test_the_target_is_searched_for_old_values_with_the_original(tmp_path: Path) -> None:
    """F26: only `publish` searched; `verify --target --original` compared rows and did not look for what was
    replaced."""
    target = f"sqlite:///{tmp_path / 'target.db'}"
    source = make_shop(tmp_path / "shop.db")
    policy = write_policy(tmp_path, source, target)
    out = sf.publish(policy, seed=secret(1)).write(tmp_path / "release", report=False)
    load_release(policy, out)
    alone = {finding.model for finding in sf.verify(out, target=target).findings}
    known = {finding.model: finding for finding in sf.verify(out, original=source, target=target).findings}
    searched = {name for name in set(known) - alone if name.startswith("target: ")}
    assert searched
    assert all(known[name].holds for name in searched)
