"""A published database is whole: the tables and rows that belong to it, every constraint of its schema, every rule of its policy.

All of this is judged on the published rows alone; with the original also that the schema is the original's and nothing is lost.
"""

from __future__ import annotations

from typing import ClassVar

import pyarrow.compute as pc

from sfumato.audit.base import Check
from sfumato.audit.databases import DatabaseExhibit, looks_back
from sfumato.forms.database import DatabaseForm, says_schema
from sfumato.policy.declared_rules import Constraint
from sfumato.policy.rules import IntegrityRule
from sfumato.policy.rules.tree import ColumnValue
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class TablesPresent(Check):
    """Every table of the schema is there with its columns and its rows."""

    name: ClassVar[str] = "tables and row counts"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        wrong = [*_shape(seen), *_counts(exhibit), *_against_original(seen)]
        rows = sum(table.rows for table in seen.tables.values())
        achieved = {"misfits": len(wrong), "tables": len(seen.tables), "rows": rows}
        return Finding(self.name, not wrong, {"misfits": 0}, achieved, reason="; ".join(wrong))


def _shape(seen: DatabaseExhibit) -> list[str]:
    wrong = [f"table '{table.name}' is missing" for table in seen.schema.tables if table.name not in seen.tables]
    known = {table.name: list(table.written) for table in seen.schema.tables}
    for name, table in seen.tables.items():
        if name not in known:
            wrong.append(f"table '{name}' is not in the schema")
        elif table.names != known[name]:
            wrong.append(f"table '{name}' has other columns than the schema")
    return wrong


def _counts(exhibit: Exhibit) -> list[str]:
    said = {part: entry.rows for part, entry in exhibit.of(DatabaseForm).tables.items()}
    found = {part: len(table) for part, table in exhibit.parts.items()}
    return [f"table '{part}' has {found.get(part, 0)} rows, not {rows}" for part, rows in said.items() if found.get(part) != rows]


def _against_original(seen: DatabaseExhibit) -> list[str]:
    original = seen.exhibit.original
    if not seen.exhibit.private:
        return []
    wrong = [] if says_schema(seen.form, original.schema) else ["the schema is not the original's"]
    partly = seen.form.subset
    for name, table in seen.tables.items():
        there = original.tables[name].rows if name in original.tables else 0
        if table.rows > there or (table.rows < there and not partly):
            wrong.append(f"table '{name}' has {table.rows} rows, the original {there}")
    return wrong


class Constraints(Check):
    """Keys, references, not-null, value lists and checks of the schema hold in the published rows."""

    name: ClassVar[str] = "constraints"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        judged = [constraint for constraint in seen.bound.constraints if constraint.kind != "check" or constraint.rule is not None]
        broken = {constraint.identifier: breaks(seen, constraint) for constraint in judged}
        wrong = [f"{identifier} is broken {count} time(s)" for identifier, count in broken.items() if count]
        achieved = {"constraints": len(judged), "broken": len(wrong)}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


class ConstraintsLeft(Check):
    """Checks of the schema in words that only its server understands: counted here, judged in the target."""

    name: ClassVar[str] = "constraints left to the server"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(_foreign(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        return Finding(self.name, True, {}, {"checks": _foreign(exhibit)}, grade=MEASURED)


def _foreign(exhibit: Exhibit) -> int:
    constraints = exhibit.once(DatabaseExhibit).bound.constraints
    return sum(constraint.kind == "check" and constraint.rule is None for constraint in constraints)


def breaks(seen: DatabaseExhibit, constraint: Constraint) -> int:
    """How often a constraint is broken."""
    columns = [seen.column(ColumnValue(name, constraint.table)) for name in constraint.columns]
    if constraint.kind == "not null":
        return int(columns[0].null_count) if constraint.columns[0] in seen.tables[constraint.table].names else 0
    if constraint.kind == "value list":
        choices = {None, *seen.schema.table(constraint.table).column(constraint.columns[0]).choices}
        return sum(entry["counts"] for entry in pc.value_counts(columns[0]).to_pylist() if entry["values"] not in choices)
    assert constraint.rule is not None
    return seen.judge(constraint.rule)


class PolicyRules(Check):
    """Every rule under `keep` holds in the published tables; rules that mention the original need it and the private trace."""

    name: ClassVar[str] = "rules of the policy"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(exhibit.policy.keep)

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        rules = _in_sight(seen)
        broken = {rule.text: seen.judge(rule) for rule in rules}
        wrong = [f'"{text}" is broken {count} time(s)' for text, count in broken.items() if count]
        achieved = {"rules": len(rules), "broken": len(wrong)}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


class PolicyRulesLeft(Check):
    """Rules under `keep` that compare with the original, record by record: without the private trace nobody can judge them."""

    name: ClassVar[str] = "rules of the policy left open"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        seen = exhibit.once(DatabaseExhibit)
        return len(_in_sight(seen)) < len(seen.bound.keep)

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        count = len(seen.bound.keep) - len(_in_sight(seen))
        reason = f"{count} rule(s) need the private trace"
        return Finding(self.name, True, {}, {"rules": count}, grade=NOT_JUDGED, reason=reason)


def _in_sight(seen: DatabaseExhibit) -> list[IntegrityRule]:
    return [rule for rule in seen.bound.keep if seen.aligned or not looks_back(rule)]
