"""A finder: looks at a table and says what its policy might state. A new one is one file in this folder with one class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from sfumato.data.database import Database
from sfumato.data.table import Table
from sfumato.decomposition.dependencies import dependency, half_known
from sfumato.discover.basket_shapes import BasketShape, item_columns, of_file, of_table
from sfumato.discover.proposal import Proposal
from sfumato.errors import DataError
from sfumato.io.settings import Suggested, suggested
from sfumato.io.sql import is_url
from sfumato.methods.base import Progress, silent
from sfumato.policy.policy import Policy
from sfumato.registry import catalogue

WITHHELD = "${SFUMATO_SOURCE}"
"""Stands for the URL of a source that holds a login."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Keys for a policy, sentences that explain them, what an existing policy overlooks, and rules that hold."""

    policy: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    accepted: Mapping[str, str] = field(default_factory=dict)
    """Warnings of `check` that a policy for this data will meet, and what they mean."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Columns that look personal and that nothing could be proposed for, and why."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Why a column has its role, by its name."""


class Finder(ABC):
    """One thing that can be seen in data."""

    name: ClassVar[str]
    order: ClassVar[int] = 50
    """Finders run, and their keys stand in the proposal, in this order."""

    @abstractmethod
    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        """What the table suggests; `policy`, when given, is compared with it."""


def discover(
    source: Any,
    policy: Policy | None = None,
    *,
    table: str = "",
    schema: str = "",
    target: str = "",
    declared: bool = True,
    read: Mapping[str, Any] | None = None,
    most: int | None = None,
    progress: Progress = silent,
) -> Suggestion:
    """All suggestions for some data, put together into one proposal.

    The URL of a database without a `table` means all tables (of the PostgreSQL schema `schema`); without `declared` nothing but
    their rows is looked at. `read` holds
    settings of reading, as under ``data:``. `target` is written into the policy as the test database to load. Of a database's
    tables with more rows than `most` about as many are looked at; the server confirms what they suggest.
    """
    from sfumato.discover.databases import discover_database, read_sampled

    if isinstance(source, Database):
        return discover_database(source, policy, declared=declared, progress=progress)
    if isinstance(source, str) and is_url(source) and not table and (policy is None or policy.data.name == "database"):
        database, sampled = read_sampled(source, lambda done, what: progress(done / 2, what), schema, most)
        later = partial(_second_half, progress)
        where = {"source": source, "target": target, "schema": schema}
        return discover_database(database, policy, where=where, declared=declared, progress=later, sampled=sampled)
    shape = of_file(source) if policy is None else None
    return _of_baskets(shape, source, table) if shape else _of_table(source, policy, table, progress, read or {})


def _of_baskets(shape: BasketShape, source: Any, table: str) -> Suggestion:
    """A policy for sets of things."""
    settings = {name: value for name, value in shape.settings.items() if value not in ("", [])}
    tree = {"version": 1, "data": {"kind": "baskets"} | _named(source, table) | settings} | shape.tree()
    return Suggestion(tree, (shape.reason,))


def _second_half(progress: Progress, done: float, what: str) -> None:
    progress(0.5 + done / 2, what)


def _of_table(source: Any, policy: Policy | None, table: str, progress: Progress, read: Mapping[str, Any]) -> Suggestion:
    plain = {"kind": "table", **({"table": table} if table else {}), **read}
    reader = policy or Policy.parse({"version": 1, "data": plain})
    rows = reader.data.read(source)
    settings = Suggested()
    if policy is None and isinstance(rows, Table):
        settings = suggested(rows.frame)
        reader = Policy.parse({"version": 1, "data": plain | settings.keys()})
        rows = reader.data.read(source) if settings.keys() else rows
    if not isinstance(rows, Table):
        hint = "give a CSV or Parquet file, a table of a database, or the URL of a database"
        raise DataError("discovery looks at tables and databases", hint=hint)
    shape = of_table(rows) if policy is None else None
    if shape is not None:
        return _of_baskets(shape, source, table)
    finders = sorted(catalogue("discover", Finder).values(), key=lambda cls: cls.order)
    found = []
    for place, cls in enumerate(finders):
        progress(place / len(finders), cls.name)
        found.append(cls().find(rows, policy))
    tree: dict[str, Any] = {"version": 1, "data": {"kind": "table"} | _named(source, table) | dict(read) | settings.keys()}
    for each in found:
        tree |= each.policy
    left_out = tuple(_left_out(tree)) if policy is None else ()
    reasons = (*_told(settings), *_sets(rows), *(reason for each in found for reason in each.reasons), *left_out)
    warnings = (*settings.doubts, *(warning for each in found for warning in each.warnings))
    remarks = {name: remark for each in found for name, remark in each.remarks.items()}
    return Suggestion(tree, reasons, warnings, tuple(rule for each in found for rule in each.proposals), remarks=remarks)


def _left_out(tree: dict[str, Any]) -> Iterator[str]:
    """Take dependencies out of ``knows:`` that tie quasi-identifiers to other columns: no recoded table keeps claims beside it."""
    roles = {name: entry if isinstance(entry, str) else entry.get("role") for name, entry in tree.get("columns", {}).items()}
    known = [name for name, role in roles.items() if role in ("quasi-identifier", "identifier")]
    if "person" in tree:  # whose rows they are is not published, so nobody learns anything by it
        private = {name for name, role in roles.items() if role == "identifier"}
        tree["knows"] = [text for text in tree.get("knows", ()) if not dependency(text).columns & private]
    mixed = [text for text in tree.get("knows", ()) if known and half_known(known, roles, [dependency(text)])]
    for text in mixed:
        tree["knows"] = [other for other in tree["knows"] if other != text]
        yield f"{text} is not under 'knows:', which would ask for sub-tables; who knows it is told more by classes than is counted"
    if not tree.get("knows", True):
        del tree["knows"]


def _sets(rows: Table) -> Iterator[str]:
    for name, separator in item_columns(rows).items():
        yield f"'{name}' holds sets of items; alone they are read with kind: baskets, items: {name}, separator: {separator!r}"


def _told(settings: Suggested) -> Iterator[str]:
    if settings.missing:
        yield f"missing values are written as {', '.join(settings.missing)}"
    for name in settings.decimal_comma:
        yield f"numbers of '{name}' have a decimal comma"
    for name in settings.thousands:
        yield f"numbers of '{name}' have signs between thousands"
    for name, written in settings.date_format.items():
        yield f"days of '{name}' are written as {written}"


def _named(source: Any, table: str) -> dict[str, str]:
    """Where the data lies, unless it was given as an object or the address holds a login."""
    if not isinstance(source, str | Path):
        return {}
    text = str(source)
    if is_url(text):
        return {"source": WITHHELD if "@" in text else text, **({"table": table} if table else {})}
    return {"source": text}
