"""A database for testing: its tables and how they refer to each other, what was replaced and how, and what was checked."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from markupsafe import Markup

from sfumato.forms.database import DatabaseForm, bound_policy
from sfumato.forms.replaced import MadePart
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.replacements import Ordered, ValueDomain, Values
from sfumato.policy.rules.tree import ColumnValue
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.section import Section, bullets, paragraph, table
from sfumato.report.table_map import table_map


class DatabaseSection(Section):
    """Tables, links, replaced columns and constraints of a database."""

    name: ClassVar[str] = "database"
    title: ClassVar[str] = "The database"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(exhibit.of(DatabaseForm).declared)

    def render(self, exhibit: Exhibit) -> Markup:
        bound = exhibit.once(bound_policy)
        rows = {entry.table: entry.rows for entry in exhibit.of(DatabaseForm).tables.values()}
        changed = Counter(str(column.table) for column in bound.changed)
        words = (
            f"{len(rows)} tables with {sum(rows.values()):,} rows. {len(bound.changed)} columns have new values; all others, "
            "and which cells are empty, are published as they were. Lines are foreign keys; framed tables have new values."
        )
        pieces = [
            paragraph(words),
            table_map(bound.schema, rows, dict(changed)),
            Markup("<h3>New values</h3>"),
            _replaced(exhibit, bound),
        ]
        pieces += [Markup("<h3>Constraints and rules, checked on every row</h3>"), _constraints(bound)]
        if bound.keep:
            pieces.append(bullets(rule.text for rule in bound.keep))
        return Markup("").join(pieces)


def _replaced(exhibit: Exhibit, bound: BoundPolicy) -> Markup:
    made = {name: part for part in exhibit.of(DatabaseForm).parts for name in part.columns}
    rows = [_row(column, bound, made.get(str(column))) for column in bound.changed]
    return table(("column", "new values from", "made by", "original read"), rows)


def _row(column: ColumnValue, bound: BoundPolicy, part: MadePart | None) -> tuple[object, ...]:
    source = _domain(bound.domain(column))
    if column in bound.mapped:
        link = bound.mapped[column]
        how = "a function of a secret" if link.deterministic else "one map for all linked columns"
        return str(column), source if column == link.root else f"follows {link.root}", how, "equal values stay equal"
    if column in bound.emptied:
        return str(column), "nothing", "emptied", "no"
    if part is None:
        return str(column), source, "nothing: its table has no row", "no"
    return str(column), source, part.engine, "yes" if part.reads_original else "no"


def _domain(domain: ValueDomain) -> str:
    """A domain in a few words."""
    ((kind, value), *_) = domain.declared().items()
    if isinstance(domain, Ordered):
        return f"{kind} {value[0]} … {value[1]}"
    if isinstance(domain, Values):
        return f"a list of {len(domain.values)}"
    return f"{kind} {value}" if len(str(value)) < 60 else kind


def _constraints(bound: BoundPolicy) -> Markup:
    kinds = Counter(constraint.kind for constraint in bound.constraints)
    left = sum(constraint.kind == "check" and constraint.rule is None for constraint in bound.constraints)
    rows = [(kind, count, f"{left} left to the server" if kind == "check" and left else "") for kind, count in kinds.items()]
    return table(("declared by the schema", "how many", ""), rows)
