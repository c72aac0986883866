"""A table (or several) to be made anew, the rules it must obey, and the independent parts they fall into.

Paper
    [obfuscation §3.1, Definitions 5.1 and 5.2, Stage 1.1]: the *rule graph* has a vertex for every replaced column and joins the
    columns of a rule; its components are independent problems.

Notation
    clause    one conjunct of a rule; per-record, or about the whole table
    given     columns that are published as they are and the original's values: constants for the solver and the samplers
    context   records that agree on the given columns a part's rules mention; they share one space of legal records

Departures
    Columns that are not replaced are no vertices: a rule about two parts of which one is constant does not join them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.errors import PolicyError
from sfumato.methods.replacing.sampling.levels import Levels, facts
from sfumato.methods.replacing.sampling.vectors import Vector
from sfumato.policy.rules import IntegrityRule, columns_of, conjuncts
from sfumato.policy.rules.tree import Aggregate, Cell, ColumnValue, Condition, References, Running, Statement


@dataclass(frozen=True)
class WholeTable:
    """What is known of a table of which only a share is at hand."""

    records: int
    constants: Mapping[Aggregate, Fraction] = field(default_factory=dict)
    """Aggregates over columns that are not replaced."""


@dataclass(frozen=True)
class SampledTable:
    """One table: how many records, what is replaced, and the texts of the original."""

    count: int
    replaced: Mapping[str, Levels]
    original: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """How often each code is to be drawn, for columns whose frequencies are learned; all others are uniform."""
    whole: WholeTable | None = None
    """Of a share of a larger table: what is known of all of it."""

    @property
    def everybody(self) -> int:
        """The records of the whole table."""
        return self.count if self.whole is None else self.whole.records


@dataclass(frozen=True)
class Clause:
    """One conjunct of a rule."""

    rule: IntegrityRule
    body: Condition | Statement

    @property
    def is_whole(self) -> bool:
        """Whether it is about more than one record at a time."""
        return any(isinstance(node, (Statement, Aggregate, Cell, Running)) for node in self.body.walk())


@dataclass(frozen=True)
class RulePart:
    """Columns joined by rules, with those rules."""

    columns: tuple[ColumnValue, ...]
    clauses: tuple[Clause, ...]

    @property
    def per_record(self) -> list[Condition]:
        return [c.body for c in self.clauses if not c.is_whole and not isinstance(c.body, Statement)]

    @property
    def whole(self) -> list[Clause]:
        return [clause for clause in self.clauses if clause.is_whole]

    @property
    def rules(self) -> list[IntegrityRule]:
        return list(dict.fromkeys(clause.rule for clause in self.clauses))


class SamplingProblem:
    """Tables by name (None for a single table) and rules between their columns."""

    def __init__(self, sources: Mapping[str | None, SampledTable], rules: Sequence[IntegrityRule]) -> None:
        self.sources = sources
        self.rules = list(rules)
        self._facts: dict[ColumnValue, Vector] = {}

    def is_new(self, column: ColumnValue) -> bool:
        return not column.original and column.name in self.source(column).replaced

    def source(self, column: ColumnValue) -> SampledTable:
        try:
            return self.sources[column.table]
        except KeyError:
            raise PolicyError(f"there is no table for column '{column}'") from None

    def levels(self, column: ColumnValue) -> Levels:
        return self.source(column).replaced[column.name]

    def weights(self, column: ColumnValue) -> NDArray[np.float64] | None:
        return self.source(column).weights.get(column.name)

    def given(self, column: ColumnValue) -> Vector:
        """The values of a column that is not made anew, or of the original."""
        key = ColumnValue(column.name, column.table)
        if key not in self._facts:
            original = self.source(column).original
            if column.name not in original:
                raise PolicyError(f"rules cannot mention column '{column.name}' here", hint="it is not in the source")
            self._facts[key] = facts(original[column.name])
        return self._facts[key]

    @cached_property
    def clauses(self) -> list[Clause]:
        return [Clause(rule, body) for rule in self.rules for body in conjuncts(rule.body)]

    @cached_property
    def columns(self) -> list[ColumnValue]:
        return [ColumnValue(name, table) for table, source in self.sources.items() for name in source.replaced]

    @cached_property
    def references(self) -> list[References]:
        return [clause.body for clause in self.clauses if isinstance(clause.body, References)]

    @cached_property
    def parts(self) -> list[RulePart]:
        """The components of the rule graph, in the order of the columns (Stage 1.1)."""
        label = {column: place for place, column in enumerate(self.columns)}
        binding = [clause for clause in self.clauses if not isinstance(clause.body, References)]
        for clause in binding:
            joined = {label[column] for column in columns_of(clause.body) if column in label}
            if joined:
                label = {column: min(joined) if own in joined else own for column, own in label.items()}
        found = []
        for own in dict.fromkeys(label.values()):
            members = tuple(column for column in self.columns if label[column] == own)
            clauses = tuple(c for c in binding if not set(columns_of(c.body)).isdisjoint(members))
            found.append(RulePart(members, clauses))
        return found

    def edges(self) -> list[tuple[ColumnValue, ColumnValue]]:
        """The edges of the rule graph."""
        found: dict[tuple[ColumnValue, ColumnValue], None] = {}
        for rule in self.rules:
            own = [column for column in columns_of(rule) if self.is_new(column)]
            found.update({(one, two): None for place, one in enumerate(own) for two in own[place + 1 :]})
        return list(found)


@dataclass(frozen=True)
class Context:
    """Records with the same given values: those values (one row) and the record numbers."""

    given: dict[ColumnValue, Vector]
    records: IntArray


def contexts(problem: SamplingProblem, part: RulePart, conditions: Sequence[Condition]) -> list[Context]:
    """The records of the part's table, grouped by the given values that the conditions mention."""
    count = problem.source(part.columns[0]).count
    mentioned = dict.fromkeys(column for c in conditions for column in columns_of(c) if not problem.is_new(column))
    if not mentioned:
        return [Context({}, np.arange(count, dtype=np.int64))]
    values = {column: problem.given(column) for column in mentioned}
    label = np.zeros(count, dtype=np.int64)
    for vector in values.values():
        distinct, inverse = np.unique(vector.as_text(), return_inverse=True)
        _, label = np.unique(label * len(distinct) + inverse, return_inverse=True)
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [Context({column: vector.at(rows[:1]) for column, vector in values.items()}, rows.astype(np.int64)) for rows in groups]
