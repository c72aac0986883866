"""A single table with missing values or computed columns, made as a database of one table is made.

Missing values stay where they are, unless a column's domain says `nulls: drawn`; rules over them are neither kept nor broken.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.database import ColumnFacts, Database, Schema, TableFacts
from sfumato.data.table import Table
from sfumato.errors import PolicyError
from sfumato.forms.replaced import MadePart
from sfumato.methods.base import Task
from sfumato.methods.replacing.computed import Calculator, has_dates, speller
from sfumato.methods.replacing.databases.parts import FreeColumns, Segment
from sfumato.methods.replacing.databases.placing import draw_segments, forecasts
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.methods.replacing.sampling.patience import patience_of
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Computed, Empty, fills
from sfumato.policy.rules import IntegrityRule
from sfumato.policy.rules.definitions import ColumnEquation, defined_by, doubtful
from sfumato.policy.rules.tree import ColumnValue, Node, Unique

_TABLE = "data"


class TableProblem:
    """What `FreeColumns` asks of a policy bound to a schema, for one table."""

    def __init__(self, policy: Policy, table: Table) -> None:
        self.policy, self.domains = policy, {_of(name): domain for name, domain in replacements_of(policy).items()}
        self.columns = {name: _of(name) for name in table.names}
        self.declared = {_of(name): policy.columns[name] for name in policy.columns}
        rules = [IntegrityRule(rule.text, _qualified(rule.body)) for rule in integrity_rules(policy)]
        self.definitions, left = defined_by(
            rules, lambda column: column in self.domains, lambda column: isinstance(self.domains.get(column), Computed)
        )
        self.drawn_rules = _leaner(left)
        self._require_equations()
        known = {one.column for one in self.definitions}
        self.emptied = {column for column, domain in self.domains.items() if isinstance(domain, Empty)}
        self.free = {c: domain for c, domain in self.domains.items() if c not in known and c not in self.emptied}

    def _require_equations(self) -> None:
        known = {one.column for one in self.definitions}
        for column, domain in self.domains.items():
            if isinstance(domain, Computed) and column not in known:
                where = self.policy.document.where("columns", column.name)
                raise PolicyError(f"no rule says how '{column.name}' is computed", where=where, hint="add an equation under keep")

    def doubts(self) -> list[str]:
        """Computed columns that may not come out unique."""
        plain = [IntegrityRule(rule.text, _qualified(rule.body)) for rule in integrity_rules(self.policy)]
        return [sentence.replace(f"'{_TABLE}.", "'") for sentence in doubtful(plain, self.definitions)]

    def facts(self, column: ColumnValue) -> ColumnFacts:
        return ColumnFacts(column.name, "text", "TEXT")


def _of(name: str) -> ColumnValue:
    return ColumnValue(name, _TABLE)


def _qualified(node: Any) -> Any:
    if isinstance(node, ColumnValue):
        return replace(node, table=_TABLE)
    changes: dict[str, Any] = {}
    for entry in fields(node):
        value = getattr(node, entry.name)
        if isinstance(value, Node):
            changes[entry.name] = _qualified(value)
        elif isinstance(value, tuple):
            changes[entry.name] = tuple(_qualified(part) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes)


def _leaner(rules: list[IntegrityRule]) -> list[IntegrityRule]:
    """Without `unique` over columns that contain another key."""
    keys = [set(rule.body.columns) for rule in rules if isinstance(rule.body, Unique)]
    return [r for r in rules if not isinstance(r.body, Unique) or not any(key < set(r.body.columns) for key in keys)]


def concerns(policy: Policy, table: Table) -> bool:
    """Whether a table has to be made this way: something replaced is missing, emptied or computed."""
    domains = replacements_of(policy)
    if any(isinstance(domain, (Computed, Empty)) for domain in domains.values()):
        return True
    defined, _ = defined_by(integrity_rules(policy), lambda c: c.name in domains, lambda c: False)
    return bool(defined) or any("" in table.text(name).labels for name in domains)


class OneTable:
    """The new columns of a table, and how they were made."""

    def __init__(self, policy: Policy, table: Table, heuristic: str, block: int) -> None:
        self.problem = TableProblem(policy, table)
        frame = pa.table({name: _blank_is_null(table.column(name)) for name in table.names})
        facts = TableFacts(_TABLE, tuple(ColumnFacts(name, "text", "TEXT") for name in table.names))
        self.data = Selected(Database(Schema((facts,)), {_TABLE: Table(frame)}))
        self.free = FreeColumns(self.problem, self.data, heuristic, block)  # type: ignore[arg-type]

    def made(self, task: Task, minutes: float) -> dict[str, pa.Array]:
        """All new columns in the order of the original rows."""
        columns: dict[ColumnValue, pa.Array] = {}
        draw_segments(columns, self.free, task.randomness.child("parts"), task.progress, patience_of(task, minutes))
        for column in self.problem.free:
            if not fills(self.problem.declared[column].domain):
                columns[column] = pc.if_else(pc.is_valid(self.data.column(column)), columns[column], pa.scalar(None, pa.string()))
        for column in self.problem.emptied:
            columns[column] = pa.nulls(self.data.count(_TABLE), pa.string())
        for definition in self.problem.definitions:
            columns[definition.column] = self._computed(columns, definition)
        return {column.name: pc.fill_null(values, "") for column, values in columns.items()}

    def _computed(self, columns: dict[ColumnValue, pa.Array], definition: ColumnEquation) -> pa.Array:
        def texts(column: ColumnValue) -> list[str | None]:
            own = _of(column.name)
            found: list[str | None] = (
                self.data.column(own) if column.original else columns.get(own, self.data.column(own))
            ).to_pylist()
            return found

        dated = has_dates(definition.expression, lambda column: _looks_dated(texts(column)))
        domain = self.problem.domains[definition.column]
        spell = speller("date" if dated else domain.kind, getattr(domain, "places", None))
        return pa.array(Calculator(texts, ()).column(definition, spell, domain), pa.string())

    def entries(self) -> tuple[MadePart, ...]:
        """How every part was made."""
        found = [_entry(segment) for segment in self.free.segments]
        told = [
            MadePart(columns=(one.column.name,), engine="computed from other columns", uniform=False, reads_original=False)
            for one in self.problem.definitions
        ]
        return (*{str(entry): entry for entry in found}.values(), *told)

    def forecasts(self, minutes: float) -> list[str]:
        """How long the solver will take for its parts."""
        return forecasts(self.free, minutes)

    def sentences(self) -> list[str]:
        """How every part is made, for people."""
        return [
            f"part {', '.join(entry.columns)}: {entry.engine}, "
            f"{'exactly uniform' if entry.uniform else 'legal, but not uniform'}, "
            f"{'reads the original' if entry.reads_original else 'blind to the original'}"
            for entry in self.entries()
        ]


def _looks_dated(values: list[str | None]) -> bool:
    from sfumato.data.moments import moment

    known = [value for value in values[:50] if value]
    return bool(known) and all(moment(value) is not None and "-" in value[1:] for value in known)


def _blank_is_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _entry(segment: Segment) -> MadePart:
    engine = segment.route.engine
    names = tuple(column.name for column in segment.part.columns)
    learned = "learned" in engine.name
    said: dict[str, Any] = {"columns": names, "engine": engine.name, "uniform": engine.uniform, "learned": learned}
    return MadePart(**said, reads_original=segment.route.reads_original)
