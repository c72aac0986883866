"""The free columns of all tables as independent parts, each with the rows it is about, and an engine for each.

Invariants
    I1  Three-valued logic is monotone: a record that obeys a condition still does not break it when some of its values
        become null. So values are drawn for every record and nulls put back afterwards; uniqueness only loses members
        that way.
    I2  A total leaves nulls out. Parts with totals are made on the rows that count in them; the others obey the part's
        other rules.
    I3  Records in which a kept column is null obey what the rules say about the rest (`kleene`).

Whatever cannot be split like this is refused before anything is drawn.


Placing
-------
Segments drawn one after the other, and their values at their rows.


Rows
----
The rows that will be made anew: per table the original columns as arrow, as texts for rules, and where they are null.


Subset
------
A part of a database that is still whole: every reference of a kept row is kept.

Notation
    named    tables for which the policy gives a condition or a share; with `*` also roots, which get its share
    root     of tables that references connect, and of which the policy names none, the one with the most rows below it
    below    tables that refer to a named one, directly or through others
    above    tables that those refer to

Rules
    1. From a named table the rows of the condition, or that share of rows at random, are chosen.
    2. Of a table below, the rows all of whose references into named and below tables are chosen.
    3. What chosen rows refer to comes along, whatever conditions say, until nothing is missing.
    4. Of all other tables, every row whose references are kept.
    5. With `*`, a table that refers to a table above keeps the rows whose references are kept, and what these refer to
       comes along, before rule 4.

Invariants: rules 3 and 4 end at a fixpoint, so no kept row refers to a row that is not (unless the source already did).


Kleene
------
Conditions over records in which some columns are null, as plain conditions over the others.

In three-valued logic a comparison with a null is unknown. `may_hold` is the condition under which the whole is not
false (a check constraint is satisfied), `must_hold` the one under which it is true (a WHERE clause takes the record).

>>> from sfumato.policy.constraint_language import parse
>>> rule = parse("a > 1 and b > 2").body
>>> may_hold(rule, [ColumnValue("a")]) == rule.parts[1], must_hold(rule, [ColumnValue("a")])
(True, False)


Numbering
---------
The values a database column may get, numbered: the domain, cut to what the column can hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.database import ColumnFacts, Database, ForeignKey
from sfumato.data.memory_map import map_column
from sfumato.kinds.testdata.methods.sampling.block_division import SolverBudget
from sfumato.kinds.testdata.methods.sampling.column_values import Composed, Levels, Listed, Steps, facts, levels
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Vector, holds
from sfumato.kinds.testdata.methods.sampling.problem import Clause, RulePart, SampledTable, SamplingProblem
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, chosen_engine
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Divided, SolverProcesses, fallback, forecast_of
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import IntegrityRule, bind, columns_of, conjuncts, parse
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Any_,
    Cell,
    ColumnValue,
    Condition,
    Implies,
    IsNull,
    Not,
    References,
    Unique,
)
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.value_domains import Like, ValueDomain, Values
from sfumato.release.method import Progress


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
        return isinstance(rule.body, References) or any(
            column in new for column in columns_of(rule) if not column.original
        )

    def _numbering(self, column: ColumnValue) -> Levels:
        domain = self.bound.free[column]
        if isinstance(domain, Like):
            values = pc.drop_null(pc.unique(self.data.column(self.bound.columns[domain.column]))).to_pylist()
            if not values and self.data.count(str(column.table)):
                raise Infeasible(f"column '{domain.column}' has no values to draw from", where=f"domain of '{column}'")
            domain = Values(tuple(sorted(values)) or ("",))
        return numbering(domain, self.bound.facts(column), str(column))

    # ---- problems ----------------------------------------------------------------------------------------------------

    def _sources(
        self, rows: dict[str, IntArray] | None, columns: list[ColumnValue], *, originals: bool = True
    ) -> dict[str | None, SampledTable]:
        """The tables as the samplers see them, with the columns that the rules mention."""
        mentioned = (
            {ColumnValue(c.name, c.table) for rule in self.rules for c in columns_of(rule)} if originals else set()
        )
        found: dict[str | None, SampledTable] = {}
        for table in self.data.tables:
            own = None if rows is None else rows.get(table)
            count = self.data.count(table) if own is None else len(own)
            replaced = {c.name: self.levels[c] for c in columns if c.table == table}
            texts = TextsOf(self.data, {c.name: c for c in mentioned if c.table == table}, own)
            weights = (
                {c.name: self._weights(c, own) for c in columns if c.table == table and self._learns(c)}
                if originals
                else {}
            )
            found[table] = SampledTable(count, replaced, texts, weights)
        return found

    def _learns(self, column: ColumnValue) -> bool:
        return value_domains.draws_by_frequency(self.bound.declared[column].domain)

    def _weights(self, column: ColumnValue, rows: IntArray | None) -> FloatArray:
        levels = self.levels[column]
        found = np.zeros(levels.size)
        texts, counts = np.unique(self.data.texts(column, rows), return_counts=True)
        for text, count in zip(texts.tolist(), counts.tolist(), strict=True):
            code = levels.code(text) if isinstance(levels, (Steps, Listed)) else None
            if code is not None:
                found[code] += count
        return found

    # ---- segments ----------------------------------------------------------------------------------------------------

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
                if kept and self.data.has_missing(column):
                    what = (
                        f"the rule \"{clause.rule}\" mentions '{column}', which has nulls, beside a rule about whole"
                        " columns"
                    )
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
            raise PolicyError(
                what, where="keep", hint="keep a total per column, or publish one of the columns as it is"
            )
        return found[0]

    # ---- engines -----------------------------------------------------------------------------------------------------

    def _segment(self, part: RulePart, rows: dict[str, IntArray]) -> Segment:
        problem = SamplingProblem(self._sources(rows, list(part.columns)), self.rules)
        erased = any(self.data.has_missing(column) for column in part.columns)
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
    """Columns, new ones too, of which a rule asks whether they are null; nulls stay where they are, so that is
    known."""
    nodes = [node for clause in part.clauses for node in clause.body.walk()]
    return [ColumnValue(node.value.name, node.value.table) for node in nodes if isinstance(node, IsNull)]


def _counting(node: Aggregate) -> list[ColumnValue]:
    """The columns that must not be null for a record to count: argument and condition, and the group's key."""
    parts = [part for part in (node.argument, node.where) if part is not None]
    return [column for part in parts for column in columns_of(part)] + list(node.by)


# Placing
# -------


def place_values(columns: dict[ColumnValue, pa.Array], segment: Segment, drawn: Any, data: Selected) -> None:
    """A segment's values at its rows; the first segment of a column that covers all rows needs no copying."""
    for column in segment.part.columns:
        rows, count = segment.rows[str(column.table)], data.count(str(column.table))
        fresh = drawn[column].arrow()
        if len(rows) == count:
            columns[column] = map_column(fresh)
            continue
        before = columns.get(column)
        spots = np.full(count, -1, dtype=np.int64)
        spots[rows] = np.arange(len(rows))
        taken = fresh.take(pa.array(spots, mask=spots < 0))
        columns[column] = taken if before is None else pc.coalesce(taken, before)


def draw_segments(
    columns: dict[ColumnValue, pa.Array],
    free: FreeColumns,
    random: Randomness,
    progress: Progress,
    patience: SolverBudget | None,
) -> None:
    """All free columns, one segment after the other; solver blocks tell how far they are."""
    count = len(free.segments)
    for number, segment in enumerate(free.segments):
        engine, chance, done = segment.route.engine, random.child(segment.title).child(number), [0]

        def tick(one: Divided, segment: Segment = segment, number: int = number, done: list[int] = done) -> None:
            done[0] += 1
            progress((number + min(1.0, done[0] / one.tasks)) / count, segment.title)

        if isinstance(engine, Divided):
            with SolverProcesses(1, [engine], tick, patience) as crew:
                drawn = engine.run(chance, crew)
        else:
            drawn = engine.run(chance)
        place_values(columns, segment, drawn, free.data)
        progress((number + 1) / count, segment.title)


def forecast_solver_time(free: FreeColumns, minutes: float) -> list[str]:
    """How long the solver will take for its segments."""
    return forecast_of([segment.route for segment in free.segments], minutes)


# Rows
# ----


class Selected:
    """Some rows of every table of a database, in their original order."""

    def __init__(
        self,
        database: Database,
        rows: dict[str, IntArray] | None = None,
        emptied: Mapping[ColumnValue, str | None] | None = None,
    ) -> None:
        self.database, self.emptied = database, emptied or {}
        self.chosen = rows
        """The rows of every table, where only some are published."""
        self.tables = list(rows or database.tables)
        self._taken: dict[ColumnValue, pa.Array] = {}

    def count(self, table: str) -> int:
        return self.database.tables[table].rows if self.chosen is None else len(self.chosen[table])

    def behind(self, table: str, order: IntArray) -> IntArray:
        """The original rows behind the published ones, in their order."""
        return order if self.chosen is None else self.chosen[table][order]

    def column(self, column: ColumnValue) -> pa.Array:
        """The original values, nulls included; of an emptied column what stands there instead."""
        key = ColumnValue(column.name, column.table)
        if key in self.emptied and key not in self._taken:
            self._taken[key] = map_column(
                pa.repeat(pa.scalar(self.emptied[key], pa.string()), self.count(str(column.table)))
            )
        if key not in self._taken:
            table = self.database.tables[str(column.table)]
            cells = table.column(column.name)
            whole = cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
            self._taken[key] = whole if self.chosen is None else whole.take(pa.array(self.chosen[str(column.table)]))
        return self._taken[key]

    def missing(self, column: ColumnValue) -> BoolArray:
        """Rows without a value: null, or an empty text, which is the same to rules."""
        found: BoolArray = np.asarray(
            pc.fill_null(self._empty(column), True).to_numpy(zero_copy_only=False), dtype=bool
        )
        return found

    def has_missing(self, column: ColumnValue) -> bool:
        return bool(self.column(column).null_count) or bool(pc.any(self._empty(column)).as_py())

    def _empty(self, column: ColumnValue) -> pa.Array:
        return pc.equal(pc.binary_length(self.column(column)), 0)

    def texts(self, column: ColumnValue, rows: IntArray | None = None) -> NDArray[Any]:
        """Texts for rules; a null is the empty text."""
        values = self.column(column) if rows is None else self.column(column).take(pa.array(rows))
        encoded = pc.fill_null(values, "").dictionary_encode()
        labels = np.array(encoded.dictionary.to_pylist() or [""], dtype=np.str_)
        found: NDArray[Any] = labels[encoded.indices.to_numpy(zero_copy_only=False)]
        return found

    def vector(self, column: ColumnValue, rows: IntArray) -> Vector:
        """The values as numbers, days or texts, in rows without nulls."""
        found: Any = self.texts(column, rows)
        return facts(found)


class TextsOf(Mapping[str, Any]):
    """Columns of a table as texts, made when a rule asks for one."""

    def __init__(self, data: Selected, columns: Mapping[str, ColumnValue], rows: IntArray | None) -> None:
        self.data, self.columns, self.rows = data, columns, rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.data.texts(self.columns[name], self.rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


# Subset
# ------


_CHOSEN = 10
"""Rows that a share of a root has at least, where a table is large enough."""
WHOLE = "*"
"""Stands for all tables that a subset does not name."""
_SHARE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


def subset(
    database: Database, wanted: dict[str, str], kinds: dict[str, str | None], random: Randomness
) -> dict[str, IntArray]:
    """The rows of every table that are kept."""
    drawing = _Subset(database, wanted, kinds, random)
    return {name: np.flatnonzero(mask).astype(np.int64) for name, mask in drawing.kept().items()}


class _Subset:
    def __init__(
        self, database: Database, wanted: dict[str, str], kinds: dict[str, str | None], random: Randomness
    ) -> None:
        self.database, self.kinds, self.random = database, kinds, random
        self.wanted = {name: text for name, text in wanted.items() if name != WHOLE}
        self.keys = [_Reference(database, key) for key in database.schema.foreign_keys]
        for name in self.wanted:
            if name not in database.tables:
                raise PolicyError(f"the subset names an unknown table '{name}'", where=f"data.subset.{name}")
        self.whole = WHOLE in wanted
        if self.whole:
            if not _SHARE.fullmatch(wanted[WHOLE]):
                hint = "write 'subset: 10%', or a condition per table"
                raise PolicyError("a subset of the whole database is a share", where="data.subset", hint=hint)
            share = float(_SHARE.fullmatch(wanted[WHOLE])[1]) / 100  # type: ignore[index]
            self.wanted |= dict.fromkeys(self._roots(_CHOSEN / max(share, 1e-9)), wanted[WHOLE])

    def _roots(self, least: float) -> Iterator[str]:
        """Of tables that references connect, and of which none is named: the one with the most rows below it. It has so
        many rows itself that a share of them is close to the share that was asked for; else it is the largest one."""
        tables = self.database.tables
        under = {name: self._reached({name}, down=True) for name in tables}
        left = set(tables) - self._connected(set(self.wanted))
        while left:
            own = self._connected({min(left)})
            most = min(least, max(tables[name].rows for name in own))
            large = sorted(
                (name for name in own if tables[name].rows >= most), key=lambda name: (tables[name].rows, name)
            )
            yield max(large, key=lambda name: sum(tables[one].rows for one in under[name]))
            left -= own

    def _connected(self, start: set[str]) -> set[str]:
        """The tables that references connect with these, in either direction."""
        found = set(start)
        while (more := self._reached(found, down=True) | self._reached(found, down=False)) != found:
            found = more
        return found

    def kept(self) -> dict[str, BoolArray]:
        below = self._reached(set(self.wanted), down=True)
        above = self._reached(below, down=False) - below
        keep = {name: np.full(table.rows, name not in above) for name, table in self.database.tables.items()}
        self._choose(keep, below)
        self._bring(keep, below | above)
        if self.whole:
            self._follow(keep, below | above)
        others = set(keep) - self._connected(below) if self.whole else set(keep) - below - above
        changed = True
        while changed:  # rule 4
            changed = bool(sum(self._filter(keep, key) for key in self.keys if key.child in others))
        return keep

    def _follow(self, keep: dict[str, BoolArray], done: set[str]) -> None:
        """Rule 5."""
        while beside := {key.child for key in self.keys if key.parent in done} - done:
            more = self._reached(beside, down=True) - done
            for name in self._parents_first(more):
                for key in self.keys:
                    if key.child == name and key.parent in done:
                        self._filter(keep, key)
                done = done | {name}
            up = self._reached(more, down=False) - done
            keep.update((name, np.zeros_like(keep[name])) for name in up)
            done = done | up
            self._bring(keep, done)

    def _parents_first(self, tables: set[str]) -> list[str]:
        place = {name: number for number, names in enumerate(self.database.schema.generations()) for name in names}
        return sorted(tables, key=lambda name: (place[name], name))

    def _reached(self, start: set[str], *, down: bool) -> set[str]:
        found = set(start)
        while True:
            more = {k.child if down else k.parent for k in self.keys if (k.parent if down else k.child) in found}
            if more <= found:
                return found
            found |= more

    def _choose(self, keep: dict[str, BoolArray], below: set[str]) -> None:
        """Rules 1 and 2, parents first; inside a cycle only the named tables choose."""
        generation = {name: place for place, names in enumerate(self.database.schema.generations()) for name in names}
        for name in self._parents_first(below):
            for key in self.keys:
                if key.child == name and key.parent in below and generation[key.parent] < generation[name]:
                    self._filter(keep, key)
            if name in self.wanted:
                keep[name] &= self._chosen(name, keep[name])

    def _filter(self, keep: dict[str, BoolArray], key: _Reference) -> bool:
        """Keep rows whose reference is kept, or null; says whether any row went."""
        stays = keep[key.child] & (key.dangling | keep[key.parent][key.rows])
        changed = bool((stays != keep[key.child]).any())
        keep[key.child] = stays
        return changed

    def _bring(self, keep: dict[str, BoolArray], tables: set[str]) -> None:
        """Rule 3."""
        changed = True
        while changed:
            changed = False
            for key in self.keys:
                if key.child not in tables:
                    continue
                needed = key.rows[keep[key.child] & ~key.dangling]
                changed |= not keep[key.parent][needed].all()
                keep[key.parent][needed] = True

    def _chosen(self, table: str, candidates: BoolArray) -> BoolArray:
        share = _SHARE.fullmatch(self.wanted[table])
        if share is None:
            found = self._where(table)
            if not found.any():
                raise Infeasible(
                    f"no row of '{table}' is in the subset", where=f"data.subset.{table}", hint="widen the condition"
                )
            return found
        rows = np.flatnonzero(candidates)
        take = math.ceil(len(rows) * min(float(share[1]), 100.0) / 100)
        found = np.zeros(len(candidates), dtype=bool)
        found[rows[self.random.child(table).permutation(len(rows))[:take]]] = True
        return found

    def _where(self, table: str) -> BoolArray:
        own = {c.name: self.kinds.get(f"{table}.{c.name}") for c in self.database.schema.table(table).columns}
        condition = bind(parse(self.wanted[table], own), own).body
        if not isinstance(condition, Condition) or any(
            isinstance(node, (Aggregate, Cell)) for node in condition.walk()
        ):
            raise PolicyError(
                "a subset is a condition on single rows, or a share", where=f"data.subset.{table}", hint="like 5%"
            )
        data = Selected(self.database)
        names = {column: ColumnValue(column.name, table) for column in columns_of(condition)}
        found = np.zeros(data.count(table), dtype=bool)
        for missing, rows in null_patterns(data, list(names.values()), table):
            gone = [column for column, name in names.items() if name in missing]
            simple = must_hold(condition, gone)
            if isinstance(simple, bool):
                found[rows] = simple
            else:
                vectors = {column: data.vector(name, rows) for column, name in names.items() if column not in gone}
                found[rows] = holds(simple, vectors)
        return found


class _Reference:
    """For every child row the row it refers to."""

    def __init__(self, database: Database, key: ForeignKey) -> None:
        self.child, self.parent = key.table, key.parent
        child, parent = database.tables[key.table], database.tables[key.parent]
        place = parent_rows(
            [child.column(name) for name in key.columns], [parent.column(name) for name in key.parent_columns]
        )
        self.dangling: BoolArray = place < 0
        self.rows: IntArray = np.where(place < 0, 0, place)


def parent_rows(child: list[pa.ChunkedArray], parent: list[pa.ChunkedArray]) -> IntArray:
    """The parent's row number behind every child row, −1 when a part of the key is null or nothing is found."""
    label, other = np.zeros(len(child[0]), dtype=np.int64), np.zeros(len(parent[0]), dtype=np.int64)
    unknown, absent = np.zeros(len(label), dtype=bool), np.zeros(len(other), dtype=bool)
    for one, two in zip(child, parent, strict=True):
        values = pc.unique(two)
        here = np.asarray(pc.fill_null(pc.index_in(one, values), -1).to_numpy(), dtype=np.int64)
        there = np.asarray(pc.fill_null(pc.index_in(two, values), -1).to_numpy(), dtype=np.int64)
        unknown |= (here < 0) | np.asarray(pc.is_null(one).to_numpy(), dtype=bool)
        absent |= np.asarray(pc.is_null(two).to_numpy(), dtype=bool)
        whole = np.concatenate([label, other]) * (len(values) + 1) + np.concatenate([here, there]) + 1
        joined = np.unique(whole, return_inverse=True)[1].astype(np.int64)
        label, other = joined[: len(label)], joined[len(label) :]
    place = np.full(max(int(label.max(initial=0)), int(other.max(initial=0))) + 1, -1, dtype=np.int64)
    place[other[~absent]] = np.flatnonzero(~absent)
    return np.where(unknown, -1, place[label])


def null_patterns(
    data: Selected, columns: list[ColumnValue], table: str
) -> list[tuple[frozenset[ColumnValue], IntArray]]:
    """The rows of a table by which of the columns are null."""
    nullable = [column for column in columns if data.has_missing(column)]
    if not nullable:
        return [(frozenset(), np.arange(data.count(table), dtype=np.int64))]
    masks = np.stack([data.missing(column) for column in nullable], axis=1)
    patterns, label = np.unique(masks, axis=0, return_inverse=True)
    return [
        (
            frozenset(c for c, gone in zip(nullable, pattern, strict=True) if gone),
            np.flatnonzero(label.ravel() == place),
        )
        for place, pattern in enumerate(patterns.tolist())
    ]


# Kleene
# ------


Simple = Condition | bool


def may_hold(node: Condition, missing: Collection[ColumnValue]) -> Simple:
    """When the condition is not false, given that these columns are null."""
    return _simple(node, missing, unknown=True)


def must_hold(node: Condition, missing: Collection[ColumnValue]) -> Simple:
    """When the condition is true, given that these columns are null."""
    return _simple(node, missing, unknown=False)


def _simple(node: Condition, missing: Collection[ColumnValue], *, unknown: bool) -> Simple:
    if isinstance(node, Implies):
        return _simple(Any_((Not(node.condition), node.consequence)), missing, unknown=unknown)
    if isinstance(node, Not):
        inner = _simple(node.part, missing, unknown=not unknown)
        return not inner if isinstance(inner, bool) else Not(inner)
    if isinstance(node, All):
        return _joined([_simple(part, missing, unknown=unknown) for part in node.parts], All, settles=False)
    if isinstance(node, Any_):
        return _joined([_simple(part, missing, unknown=unknown) for part in node.parts], Any_, settles=True)
    if isinstance(node, IsNull):
        return ColumnValue(node.value.name, node.value.table) in {ColumnValue(c.name, c.table) for c in missing}
    return unknown if any(column in missing for column in columns_of(node)) else node


def _joined(parts: list[Simple], kind: Callable[[tuple[Condition, ...]], Condition], *, settles: bool) -> Simple:
    if any(part is settles for part in parts):
        return settles
    left = tuple(part for part in parts if not isinstance(part, bool))
    if not left:
        return not settles
    return left[0] if len(left) == 1 else kind(left)


# Numbering
# ---------


def numbering(domain: ValueDomain, column: ColumnFacts, where: str) -> Levels:
    """The numbering of a domain for a column of this type."""
    try:
        found = levels(domain)
    except PolicyError as error:
        raise PolicyError(error.what, where=error.where or f"domain of '{where}'", hint=error.hint) from None
    except Infeasible as error:
        raise Infeasible(error.what, where=f"domain of '{where}'", hint=error.hint) from None
    if isinstance(found, Composed) and column.length is not None:
        return _shortened(found, column.length, where)
    return found


def _shortened(found: Composed, length: int, where: str) -> Composed:
    """Only pieces so short that every combination fits."""
    joints = len(found.join(*("" for _ in found.pieces)))
    limits = [max(map(len, piece)) for piece in found.pieces]
    while sum(limits) + joints > length:
        widest = limits.index(max(limits))
        limits[widest] -= 1
        if limits[widest] < 1:
            raise PolicyError(
                f"no fake value fits into {length} characters", where=f"domain of '{where}'", hint="use a pattern"
            )
    pieces = [[text for text in piece if len(text) <= limit] for piece, limit in zip(found.pieces, limits, strict=True)]
    if not all(pieces):
        raise PolicyError(
            f"no fake value fits into {length} characters", where=f"domain of '{where}'", hint="use a pattern"
        )
    return Composed(pieces, found.join)
