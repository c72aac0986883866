"""The free columns of all tables as independent parts, each with the rows it is about, and an engine for each.

Invariants
    I1  Three-valued logic is monotone: a record that obeys a condition still does not break it when some of its values become null.
        So values are drawn for every record and nulls put back afterwards; uniqueness only loses members that way.
    I2  A total leaves nulls out. Parts with totals are made on the rows that count in them; the others obey the part's other rules.
    I3  Records in which a kept column is null obey what the rules say about the rest (`kleene`).

Whatever cannot be split like this is refused before anything is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.errors import Infeasible, PolicyError
from sfumato.methods.replacing.databases.kleene import may_hold
from sfumato.methods.replacing.databases.numbering import numbering
from sfumato.methods.replacing.databases.rows import Selected, TextsOf
from sfumato.methods.replacing.databases.subset import null_patterns
from sfumato.methods.replacing.sampling.blocks import fallback
from sfumato.methods.replacing.sampling.levels import Levels, Listed, Steps
from sfumato.methods.replacing.sampling.problem import Clause, RulePart, SampledTable, SamplingProblem
from sfumato.methods.replacing.sampling.router import Route, chosen_engine
from sfumato.policy import replacements
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.replacements import Like, Values
from sfumato.policy.rules import IntegrityRule, columns_of, conjuncts
from sfumato.policy.rules.tree import Aggregate, ColumnValue, Condition, IsNull, References, Unique


@dataclass(frozen=True)
class Segment:
    """A part on some rows of its tables."""

    part: RulePart
    rows: dict[str, IntArray]
    route: Route

    @property
    def title(self) -> str:
        return self.route.title


class FreeColumns:
    """All free columns of a database, cut into parts and segments with an engine each."""

    def __init__(self, bound: BoundPolicy, data: Selected, heuristic: str = "LM*", block: int = 200) -> None:
        self.bound, self.data = bound, data
        self.heuristic, self.block = heuristic, block
        self.rules = [rule for rule in bound.drawn_rules if self._concerns(rule)]
        self.crossing = [clause for rule in self.rules for clause in crossing_clauses(rule)]
        apart = {id(clause.rule) for clause in self.crossing}
        self.rules = [rule for rule in self.rules if id(rule) not in apart]
        self.levels = {column: self._numbering(column) for column in bound.free}
        whole = SamplingProblem(self._sources(None, [*bound.free], originals=False), self.rules)
        self.parts = whole.parts
        self.segments = [segment for part in self.parts for segment in self._segments(part)]

    def _concerns(self, rule: IntegrityRule) -> bool:
        new = set(self.bound.free)
        return isinstance(rule.body, References) or any(column in new for column in columns_of(rule) if not column.original)

    def _numbering(self, column: ColumnValue) -> Levels:
        domain = self.bound.free[column]
        if isinstance(domain, Like):
            values = pc.drop_null(pc.unique(self.data.column(self.bound.columns[domain.column]))).to_pylist()
            if not values and self.data.count(str(column.table)):
                raise Infeasible(f"column '{domain.column}' has no values to draw from", where=f"domain of '{column}'")
            domain = Values(tuple(sorted(values)) or ("",))
        return numbering(domain, self.bound.facts(column), str(column))

    # ---- problems --------------------------------------------------------------------------------------------------------

    def _sources(
        self, rows: dict[str, IntArray] | None, columns: list[ColumnValue], *, originals: bool = True
    ) -> dict[str | None, SampledTable]:
        """The tables as the samplers see them, with the columns that the rules mention."""
        mentioned = {ColumnValue(c.name, c.table) for rule in self.rules for c in columns_of(rule)} if originals else set()
        found: dict[str | None, SampledTable] = {}
        for table in self.data.tables:
            own = None if rows is None else rows.get(table)
            count = self.data.count(table) if own is None else len(own)
            replaced = {c.name: self.levels[c] for c in columns if c.table == table}
            texts = TextsOf(self.data, {c.name: c for c in mentioned if c.table == table}, own)
            weights = {c.name: self._weights(c, own) for c in columns if c.table == table and self._learns(c)} if originals else {}
            found[table] = SampledTable(count, replaced, texts, weights)
        return found

    def _learns(self, column: ColumnValue) -> bool:
        return replacements.learns(self.bound.declared[column].domain)

    def _weights(self, column: ColumnValue, rows: IntArray | None) -> FloatArray:
        levels = self.levels[column]
        found = np.zeros(levels.size)
        texts, counts = np.unique(self.data.texts(column, rows), return_counts=True)
        for text, count in zip(texts.tolist(), counts.tolist(), strict=True):
            code = levels.code(text) if isinstance(levels, (Steps, Listed)) else None
            if code is not None:
                found[code] += count
        return found

    # ---- segments --------------------------------------------------------------------------------------------------------

    def _segments(self, part: RulePart) -> Iterator[Segment]:
        tables = list(dict.fromkeys(str(column.table) for column in part.columns))
        part = self._without_empty(part)
        everything = {table: np.arange(self.data.count(table), dtype=np.int64) for table in tables}  # I1
        counted = [clause for clause in part.whole if not isinstance(clause.body, Unique)]
        if not part.whole:
            for table in tables:
                own = RulePart(tuple(c for c in part.columns if c.table == table), part.clauses)
                yield from self._per_record(own, table, everything[table])
        elif not counted:
            self._refuse_nulls(part)
            yield self._segment(part, everything)
        else:
            yield from self._counted(part, counted, everything)

    def redrawn(self, part: RulePart, table: str, rows: IntArray) -> Iterator[Segment]:
        """Segments that draw some records of a part once more; only parts without rules about whole columns."""
        yield from self._per_record(part, table, rows)

    def _without_empty(self, part: RulePart) -> RulePart:
        """Rules about several tables say nothing while one of them is empty."""
        empty = {table for table in self.data.tables if not self.data.count(table)}
        kept = [c for c in part.clauses if not {column.table for column in columns_of(c.body)} & empty]
        return RulePart(part.columns, tuple(kept))

    def _per_record(self, part: RulePart, table: str, rows: IntArray) -> Iterator[Segment]:
        """I3: records apart by which kept columns of the rules are null."""
        kept = [c for clause in part.clauses for c in columns_of(clause.body) if c.original or c not in self.bound.free]
        names = list(dict.fromkeys([*(ColumnValue(c.name, c.table) for c in kept), *_tested_for_null(part)]))
        chosen = set(rows.tolist()) if len(rows) < self.data.count(table) else None
        for missing, own in null_patterns(self.data, names, table):
            inside = own if chosen is None else np.array([row for row in own.tolist() if row in chosen], dtype=np.int64)
            if len(inside):
                yield self._segment(RulePart(part.columns, tuple(_simplified(part.clauses, missing))), {table: inside})

    def _refuse_nulls(self, part: RulePart) -> None:
        for clause in part.clauses:
            if clause.is_whole:
                continue
            for column in columns_of(clause.body):
                kept = column.original or column not in self.bound.free
                if kept and self.data.has_nulls(column):
                    what = f"the rule \"{clause.rule}\" mentions '{column}', which has nulls, beside a rule about whole columns"
                    raise PolicyError(what, where="keep", hint="state one of the two rules only")

    def _counted(self, part: RulePart, counted: list[Clause], everything: dict[str, IntArray]) -> Iterator[Segment]:
        """I2: the rows that count in the part's totals, then the rest without them."""
        self._refuse_nulls(part)
        rows, rest = dict(everything), {}
        for table in everything:
            missing = self._not_counted(part, counted, table)
            if missing is not None:
                rows[table], rest[table] = np.flatnonzero(~missing), np.flatnonzero(missing)
        if all(len(own) for own in rows.values()):
            yield self._segment(part, rows)
        else:
            rest = everything
        free = tuple(clause for clause in part.clauses if clause not in counted)
        for table, own in rest.items():
            columns = tuple(column for column in part.columns if column.table == table)
            if not len(own) or not columns:
                continue
            if any(clause.is_whole for clause in free) and len(own) < len(everything[table]):
                what = f"'{columns[0]}' must be unique, has nulls, and is part of a total"
                raise PolicyError(what, where="keep", hint="state one of these rules only")
            yield from self._per_record(RulePart(columns, free), table, own)

    def _not_counted(self, part: RulePart, counted: list[Clause], table: str) -> NDArray[np.bool_] | None:
        """The rows of a table that no total counts, or None when all do; refused when totals disagree about a row."""
        found: list[NDArray[np.bool_]] = []
        for clause in counted:
            groups = [_counting(node) for node in clause.body.walk() if isinstance(node, Aggregate)]
            for columns in groups or [list(columns_of(clause.body))]:
                own = [c for c in columns if c.table == table]
                if own:
                    found.append(np.logical_or.reduce([self.data.missing(column) for column in own]))
        if not found or not any(mask.any() for mask in found):
            return None
        if any((mask != found[0]).any() for mask in found):
            named = '", "'.join(dict.fromkeys(str(clause.rule) for clause in counted))
            what = f"totals over columns of '{table}' whose nulls differ cannot be kept together: \"{named}\""
            raise PolicyError(what, where="keep", hint="keep a total per column, or publish one of the columns as it is")
        return found[0]

    # ---- engines -----------------------------------------------------------------------------------------------------------

    def _segment(self, part: RulePart, rows: dict[str, IntArray]) -> Segment:
        problem = SamplingProblem(self._sources(rows, list(part.columns)), self.rules)
        erased = any(self.data.has_nulls(column) for column in part.columns)
        last = fallback("IG" if erased else self.heuristic, self.block)  # type: ignore[arg-type]
        return Segment(part, rows, Route(part, chosen_engine(problem, part, last)))


def _simplified(clauses: tuple[Clause, ...], missing: frozenset[ColumnValue]) -> Iterator[Clause]:
    for clause in clauses:
        assert isinstance(clause.body, Condition)
        gone = {column for column in columns_of(clause.body) if ColumnValue(column.name, column.table) in missing}
        simple = may_hold(clause.body, gone)
        if simple is False:
            raise Infeasible("a record breaks the rule whatever its new values are", where=f'rule "{clause.rule}"')
        if not isinstance(simple, bool):
            yield replace(clause, body=simple)


def crossing_clauses(rule: IntegrityRule) -> list[Clause]:
    """The rule's conditions when they are about a record and one of another table; they are settled after the draws."""
    clauses = [Clause(rule, body) for body in conjuncts(rule.body)]
    single = [clause for clause in clauses if not clause.is_whole]
    return single if any(len({column.table for column in columns_of(clause.body)}) > 1 for clause in single) else []


def _tested_for_null(part: RulePart) -> list[ColumnValue]:
    """Columns, new ones too, of which a rule asks whether they are null; nulls stay where they are, so that is known."""
    nodes = [node for clause in part.clauses for node in clause.body.walk()]
    return [ColumnValue(node.value.name, node.value.table) for node in nodes if isinstance(node, IsNull)]


def _counting(node: Aggregate) -> list[ColumnValue]:
    """The columns that must not be null for a record to count: argument and condition, and the group's key."""
    parts = [part for part in (node.argument, node.where) if part is not None]
    return [column for part in parts for column in columns_of(part)] + list(node.by)
