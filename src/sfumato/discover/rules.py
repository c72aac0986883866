"""Rules that hold in the data, from a narrow set of templates, ranked; what a schema declares comes first.

Guarantee
    Every proposal holds in every record: the audit's own evaluator has judged it on the full data before it is made.

Departures
    Aggregates against a constant are proposed switched off, always: a statistic that is kept is a statistic that is published.

Cost: pairs and triples of columns of one unit, most of which die on 2,000 rows; the rest is near-linear in the rows.

>>> from sfumato.data.table import Table
>>> import pyarrow as pa
>>> table = Table(pa.table({"a": [str(i) for i in range(40)], "b": [str(i % 7 + i + i % 2) for i in range(40)]}))
>>> [found.rule for found in rules_that_hold(table)]
['unique(a)', 'a <= b']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from sfumato.data.database import Database
from sfumato.data.table import Table
from sfumato.discover.base import Finder, Suggestion
from sfumato.discover.declared import declared_by
from sfumato.discover.proposal import Proposal, ranked
from sfumato.discover.templates.base import Template
from sfumato.discover.view import DataView
from sfumato.methods.base import Progress, silent
from sfumato.policy.policy import Policy
from sfumato.registry import catalogue


class RuleFinder(Finder):
    """Rules that hold in every record and hardly by chance."""

    name: ClassVar[str] = "rules"
    order: ClassVar[int] = 40

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        return Suggestion(proposals=tuple(ranked(proposals(DataView.of({None: table})))))


def rules_that_hold(table: Table) -> list[Proposal]:
    """Proposals for one table that are switched on, in the order of the templates."""
    return [each for each in proposals(DataView.of({None: table})) if each.active]


def rules_of_database(
    database: Database, *, declared: bool = True, progress: Progress = silent, view: DataView | None = None
) -> list[Proposal]:
    """Ranked proposals for all tables; with `declared` also what the schema says, first and marked."""
    view = view or view_of(database)
    found = list(proposals(view, progress))
    if declared:
        found = _merged(database, view, found)
    return ranked(found)


def view_of(database: Database) -> DataView:
    """All tables under their names."""
    return DataView.of({str(name): table for name, table in database.tables.items()})


def proposals(view: DataView, progress: Progress = silent) -> Iterator[Proposal]:
    """Everything that fits a template, is worth a line and holds."""
    templates = sorted(catalogue("discover.templates", Template).values(), key=lambda cls: cls.order)
    for place, cls in enumerate(templates):
        progress(place / len(templates), cls.name)
        yield from (each for each in cls().propose(view) if each.listed and view.holds(each.rule))


def _merged(database: Database, view: DataView, found: list[Proposal]) -> list[Proposal]:
    """Declared rules with the evidence found for them; one that the data breaks stays a line, switched off."""
    known = {each.rule: each for each in found}
    said: list[Proposal] = []
    for each in declared_by(database.schema, {str(name): table.rows for name, table in database.tables.items()}):
        if each.rule in known:
            each = replace(known[each.rule], declared=True, off="")
        said.append(each if view.holds(each.rule) else replace(each, off="declared, but a missing value counts as a value here"))
    return [*said, *(each for each in found if each.rule not in {one.rule for one in said})]
