"""Rules that hold in the data, from a narrow set of templates, ranked; what a schema declares comes first.

Guarantee
    Every proposal holds in every record: the audit's own evaluator has judged it on the full data before it is made.

Departures
    Aggregates against a constant are proposed switched off, always: a statistic that is kept is a statistic that is
    published.

Cost: pairs and triples of columns of one unit, most of which die on 2,000 rows; the rest is near-linear in the rows.

>>> from sfumato.data.table import Table
>>> import pyarrow as pa
>>> table = Table(pa.table({"a": [str(i) for i in range(40)], "b": [str(i % 7 + i + i % 2) for i in range(40)]}))
>>> [found.rule for found in rules_that_hold(table)]
['unique(a)', 'a <= b']


Declared
--------
What a schema declares, as proposals: keys, unique columns, foreign keys and enumerated types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from sfumato.core.errors import PolicyError, SfumatoError
from sfumato.core.registry import catalogue
from sfumato.data.database import Database, Schema, TableFacts
from sfumato.data.table import Table
from sfumato.policy.policy import Policy
from sfumato.release.method import Progress, no_progress
from sfumato.workflow.discover.column_profiles import DataView
from sfumato.workflow.discover.discover import Finder, Suggestion
from sfumato.workflow.discover.proposal import Proposal, can_be_named, quoted, rank_proposals
from sfumato.workflow.discover.templates import Template


class RuleFinder(Finder):
    """Finds constraints that hold in every record and hardly by accident."""

    name: ClassVar[str] = "rules"
    order: ClassVar[int] = 40

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        failed = Counter[str]()
        found = rank_proposals(proposals(DataView.of({None: table}), failed=failed))
        return Suggestion(proposals=tuple(found), reasons=tuple(failure_remarks(failed)))


def rules_that_hold(table: Table) -> list[Proposal]:
    """Proposals for one table that are switched on, in the order of the templates."""
    return [each for each in proposals(DataView.of({None: table})) if each.active]


def rules_of_database(
    database: Database,
    *,
    declared: bool = True,
    progress: Progress = no_progress,
    view: DataView | None = None,
    failed: Counter[str] | None = None,
) -> list[Proposal]:
    """Ranked proposals for all tables; with `declared` also what the schema says, first and marked."""
    view = view or view_of(database)
    found = list(proposals(view, progress, failed))
    if declared:
        found = _merged(database, view, found)
    return rank_proposals(found)


def view_of(database: Database) -> DataView:
    """All tables under their names."""
    return DataView.of({str(name): table for name, table in database.tables.items()})


def proposals(
    view: DataView, progress: Progress = no_progress, failed: Counter[str] | None = None
) -> Iterator[Proposal]:
    """Everything that fits a template, is worth a line and holds.

    A template that fails on these values is left out, as is a rule that cannot be read; `failed` counts them by
    template."""
    failed = Counter() if failed is None else failed
    templates = sorted(catalogue("templates", Template).values(), key=lambda cls: cls.order)
    for place, cls in enumerate(templates):
        progress(place / len(templates), cls.name)
        try:
            for each in cls().propose(view):
                try:
                    if each.listed and view.holds(each.rule):
                        yield each
                except PolicyError:
                    failed[cls.name] += 1
        except (ArithmeticError, LookupError, ValueError, TypeError, SfumatoError):
            failed[cls.name] += 1


def failure_remarks(failed: Mapping[str, int]) -> Iterator[str]:
    """Sentences about templates that could not cope with the data."""
    for name, count in failed.items():
        yield f"{count} search(es) for {name} failed on these values and are left out; please report it"


def _merged(database: Database, view: DataView, found: list[Proposal]) -> list[Proposal]:
    """Declared rules with the evidence found for them; one that the data breaks stays a line, switched off."""
    known = {each.rule: each for each in found}
    said: list[Proposal] = []
    for each in proposals_of_schema(
        database.schema, {str(name): table.rows for name, table in database.tables.items()}
    ):
        if each.rule in known:
            each = replace(known[each.rule], declared=True, off="")
        said.append(
            each if view.holds(each.rule) else replace(each, off="declared, but a missing value counts as a value here")
        )
    known_rules = {one.rule for one in said}
    back = {_reversed(one.rule) for one in said if one.template == "foreign keys"}
    return [*said, *(each for each in found if each.rule not in known_rules | back)]


def _reversed(rule: str) -> str:
    child, word, parent = rule.partition(" references ")
    return parent + word + child


# Declared
# --------


def proposals_of_schema(schema: Schema, rows: dict[str, int]) -> Iterator[Proposal]:
    """Every declared constraint that rules can say; `rows` counts the rows of each table."""
    for table in schema.tables:
        for template, rule in _rules(table):
            yield Proposal(rule, template, rows.get(table.name, 0), 0.0, declared=True)


def _rules(table: TableFacts) -> Iterator[tuple[str, str]]:
    for key in dict.fromkeys(key for key in (table.primary_key, *table.uniques) if key):
        if all(map(can_be_named, (table.name, *key))):
            yield "keys", f"unique({_names(table.name, key)})"
    for link in (*table.foreign_keys, *table.partial_keys):
        if all(map(can_be_named, (table.name, *link.columns, link.parent, *link.parent_columns))):
            yield (
                "foreign keys",
                f"{_names(table.name, link.columns)} references {_names(link.parent, link.parent_columns)}",
            )
    for column in table.columns:
        plain = (
            can_be_named(table.name)
            and can_be_named(column.name)
            and not any("\\" in choice for choice in column.choices)
        )
        if column.choices and plain:
            listed = ", ".join('"' + choice.replace('"', '\\"') + '"' for choice in column.choices)
            yield "value lists", f"{_names(table.name, (column.name,))} in {{{listed}}}"


def _names(table: str, columns: tuple[str, ...]) -> str:
    return ", ".join(f"{quoted(table)}.{quoted(name)}" for name in columns)
