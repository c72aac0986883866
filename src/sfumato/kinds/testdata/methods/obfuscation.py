"""`obfuscation`: new data in which every rule is still true, for testing and teaching.

Guarantee
    Every rule under `keep` holds in the output. Parts made by a direct engine are blind to the values they replace, so
    their release tells nothing about any person beyond rules, domains and the number of records (zero knowledge); the
    certificate says for each part how it was made, whether uniformly, and whether the original was read.

Paper: [obfuscation §3-5]. The rule graph cuts the table into parts (Stage 1.1), each goes to the cheapest exact engine;
what none covers goes to a constraint solver in blocks (Algorithms 1 and 2: LM, LM*, IG).

Invariants
    I1  A part's randomness depends on the seed and its columns only: the number of jobs does not change the answer.
    I2  Published rows are in random order; the private provenance knows which original record stands behind each.

Departures
    The paper gives every part to a solver and assumes that all its solutions are equally likely, which no solver
    grants. Here the solver is the last resort. LM and LM* with blocks of one record would publish what rules bind
    unchanged; they are refused.


One table
---------
A single table with missing values or computed columns, made as a database of one table is made.

Missing values stay where they are, unless a column's domain says `nulls: drawn`; rules over them are neither kept nor
broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sfumato.core.errors import Infeasible, PolicyError
from sfumato.data.database import ColumnFacts, Database, Schema, TableFacts
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.testdata.form import Replaced, ReplacedPart
from sfumato.kinds.testdata.methods.computed_columns import Calculator, has_dates, value_formatter
from sfumato.kinds.testdata.methods.database_parts import (
    FreeColumns,
    Segment,
    Selected,
    draw_segments,
    forecast_solver_time,
)
from sfumato.kinds.testdata.methods.sampling.block_division import solver_budget
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Listed, Steps, levels
from sfumato.kinds.testdata.methods.sampling.problem import SampledTable, SamplingProblem, WholeTable
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Blocks, fallback, forecast_of
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import IntegrityRule, classify, columns_of
from sfumato.policy.constraint_language.column_equations import ColumnEquation, column_definitions, doubtful_definitions
from sfumato.policy.constraint_language.syntax_tree import Aggregate, ColumnValue, Localities, Node, References, Unique
from sfumato.policy.kept_constraints import integrity_rules, replacements_of, require_own_code
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.value_domains import Computed, Empty, replaces_missing
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.past_releases import History
from sfumato.release.release import Part, Provenance, Release

_ALONE = "publish without a ledger"


class Obfuscation(Method):
    """Draw new values for replaced columns under all constraints, by exact samplers or solver blocks."""

    name: ClassVar[str] = "obfuscation"
    form: ClassVar[type[Form]] = Replaced
    paper: ClassVar[str] = "obfuscation"
    keeps_rules: ClassVar[bool] = True
    remembers: ClassVar[bool] = True

    heuristic: Literal["LM", "LM*", "IG"] = Field(
        default="LM*", description="order of the solver blocks: LM, LM* or IG"
    )
    block: int = Field(default=200, ge=1, description="records per block for parts that need the solver")
    minutes: float = Field(default=30, gt=0, description="time limit of the solver per run; the next run continues")
    engine: Literal["direct", "blocks"] = Field(
        default="direct",
        description="direct: exact samplers where they exist; blocks: the paper's solver blocks everywhere",
    )

    variety: Literal["order", "cells", "hint"] = Field(
        default="order",
        description="randomization of solver blocks: random search order, hash cells (uniform, slow), or random hints",
    )

    def refusal(self, policy: Policy) -> str:
        if not policy.with_role("replaced"):
            return "no column has the role 'replaced'"
        require_own_code(policy)
        rules, _ = integrity_rules(policy), replacements_of(policy)
        for rule in rules:
            if isinstance(rule.body, Localities):
                return f'"{rule}" is kept by pattern-walk, not here'
            if isinstance(rule.body, References):
                return f'"{rule}" speaks about several tables'
        if self.block == 1 and self.heuristic != "IG":
            return (
                f"{self.heuristic} with blocks of one record leaves values that rules bind as they were; take at"
                " least 2"
            )
        hidden = [claim for claim in policy.claims if not self.enforces(claim, policy)]
        return f"it replaces values and cannot keep {hidden[0]}" if hidden else ""

    def rows_for(self, policy: Policy) -> str:
        from sfumato.kinds.testdata.methods.remote_shares import reason_records_are_tied

        return reason_records_are_tied(policy) if self.engine == "direct" else "blocks for a solver need rows"

    def unremembered(self, policy: Policy) -> str:
        """Blind draws tell nothing, however many there are; draws that look at the original are not judged together."""
        rules = [rule for rule in integrity_rules(policy) if any(column.original for column in columns_of(rule))]
        if rules:
            return f'the rule "{rules[0]}" looks at the original, and such releases are not judged together; {_ALONE}'
        learned = [
            name for name in replacements_of(policy) if value_domains.draws_by_frequency(policy.columns[name].domain)
        ]
        if learned:
            return (
                f"frequencies of '{learned[0]}' are learned from the original; such releases are not judged together;"
                f" {_ALONE}"
            )
        if self.engine == "blocks" and self.heuristic != "IG":
            return f"{self.heuristic} looks at the original, and such releases are not judged together; {_ALONE}"
        return super().unremembered(policy)

    def after(self, policy: Policy, history: History, data: Any = None) -> list[str]:
        if isinstance(data, Table):
            self._require_blind(policy, data)
        return ["new values are drawn without a look at the original: beside other releases they tell nothing"]

    def _require_blind(self, policy: Policy, data: Table) -> None:
        """Refuse with a ledger what looks at the original, or leaves a mark of it."""
        sparse = self.engine == "direct" and needs_table_problem(policy, data)
        gaps = [name for name in policy.with_role("replaced") if sparse and "" in data.text(name).labels]
        kept = [name for name in gaps if not value_domains.replaces_missing(policy.columns[name].domain)]
        if kept:
            what = (
                f"missing values of '{kept[0]}' stay where they were, and an adversary who joins "
                "releases recognizes people by them"
            )
            raise Infeasible(
                what, where=policy.document.where("columns", kept[0]), hint=f"say 'nulls: drawn', or {_ALONE}"
            )
        entries = (
            OneTable(policy, data, self.heuristic, self.block).entries()
            if sparse
            else tuple(describe_part(route) for route in self._routes(problem_of(policy, data)))
        )
        seen = [entry for entry in entries if entry.reads_original or entry.learned]
        if seen:
            what = (
                f"new values of {', '.join(seen[0].columns)} look at the original, and such releases are not judged"
                " together"
            )
            raise Infeasible(
                what,
                where=policy.document.where("keep"),
                hint=f"leave the rule out, take the heuristic IG, or {_ALONE}",
            )

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        """Claims that hide replaced columns; the audit computes what an adversary may still believe."""
        return bool(claim.hide) and set(claim.hide) <= set(policy.with_role("replaced"))

    def finds_out(self) -> bool:
        return True

    def preference(self, records: int | None) -> tuple[int, str]:
        return 5, "columns are to be replaced by new values that obey the rules"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        found = [f'rule "{rule}": {classify(rule)}' for rule in integrity_rules(policy)]
        constants = [rule for rule in integrity_rules(policy) if states_statistic(rule)]
        if constants:
            found.append("the constants in these rules become public: " + "; ".join(f'"{rule}"' for rule in constants))
        if data is None:
            return found
        if self.engine == "direct" and needs_table_problem(policy, data):
            made = OneTable(policy, data, self.heuristic, self.block)
            return [*found, *made.sentences(), *self.doubts(policy, data), *made.forecasts(self.minutes)]
        return [*found, *self._described(problem_of(policy, data))]

    def doubts(self, policy: Policy, data: Any) -> list[str]:
        return TableProblem(policy, data).doubts() if needs_table_problem(policy, data) else []

    def _described(self, problem: SamplingProblem) -> list[str]:
        found = [f"rule graph: {len(problem.parts)} independent part(s)"]
        made = self._routes(problem)
        return [*found, *(_sentence(route) for route in made), *forecast_of(made, self.minutes)]

    def _routes(self, problem: SamplingProblem) -> list[Route]:
        last = fallback(self.heuristic, self.block, self.variety)
        if self.engine == "blocks":
            return [Route(part, last(problem, part)) for part in problem.parts]
        return routes(problem, last)

    def run(self, task: Task) -> Release:
        if task.history is not None:
            self._require_blind(task.policy, task.data)
        if self.engine == "direct" and needs_table_problem(task.policy, task.data):
            return self._sparse(task)
        problem = problem_of(task.policy, task.data)
        found = self._routes(problem)
        patience = solver_budget(task, self.minutes)
        made = run(problem, found, task.randomness.child("parts"), task.jobs, task.progress, patience)  # I1
        new = {column.name: one.coded() for column, one in made.items()}
        return _published(task, new, tuple(describe_part(route) for route in found), _notes(problem, found))

    def _sparse(self, task: Task) -> Release:
        """Missing values stay missing, and computed columns come last."""
        made = OneTable(task.policy, task.data, self.heuristic, self.block)
        kept = "missing values stay where they were, and that they are missing is published"
        return _published(task, made.made(task, self.minutes), made.entries(), (*made.sentences(), kept))


def _published(task: Task, new: dict[str, Any], entries: tuple[ReplacedPart, ...], notes: tuple[str, ...]) -> Release:
    rows = task.randomness.child("row order").permutation(task.data.rows)  # I2
    shown = {name: new.get(name, task.data.coded(name)) for name in task.policy.published}
    table = pa.table(shown).take(pa.array(rows))
    return Release(Replaced(parts=entries), {"data": Part(table)}, trace=Provenance({"data": rows}), notes=notes)


def problem_of(policy: Policy, data: Table, whole: WholeTable | None = None) -> SamplingProblem:
    """The table, or a share of a whole one, as a problem: what is replaced, with which numbering, under which rules."""
    original = Originals(data, [name for name in data.names if name in policy.columns])
    replaced = {name: _levels(domain, data, name) for name, domain in replacements_of(policy).items()}
    learned = [name for name in replaced if value_domains.draws_by_frequency(policy.columns[name].domain)]
    weights = {name: _frequencies(replaced[name], data.text(name)) for name in learned}
    return SamplingProblem({None: SampledTable(data.rows, replaced, original, weights, whole)}, integrity_rules(policy))


def _frequencies(numbering: Levels, text: TextColumn) -> Any:
    """How often each code occurs in the original."""
    found = np.zeros(numbering.size)
    for label, count in zip(text.labels, text.counts(), strict=True):
        code = numbering.code(label) if isinstance(numbering, (Steps, Listed)) else None
        if code is not None:
            found[code] += count
    return found


def _levels(domain: value_domains.ValueDomain, data: Table, name: str) -> Levels:
    if isinstance(domain, value_domains.Like):
        found = tuple(sorted(label for label in data.text(domain.column).labels if label))
        if not found:
            raise Infeasible(f"column '{domain.column}' has no values to draw from", where=f"domain of '{name}'")
        domain = value_domains.Values(found)
    try:
        return levels(domain)
    except PolicyError as error:
        raise PolicyError(error.what, where=error.where or f"domain of '{name}'", hint=error.hint) from None


class Originals(Mapping[str, Any]):
    """The texts of columns of the original, each written out when a rule asks for it."""

    def __init__(self, data: Table, names: Sequence[str]) -> None:
        self._data, self._names = data, dict.fromkeys(names)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            text = self._data.text(name)
            self._made[name] = np.array(text.labels, dtype=np.str_)[text.codes]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


CONSTANTS = "constants of aggregate rules are statistics of the original that the policy publishes on purpose"


def states_statistic(rule: IntegrityRule) -> bool:
    """Whether a rule tells a statistic of all records."""
    return any(isinstance(node, Aggregate) for node in rule.body.walk())


def _sentence(route: Route) -> str:
    engine = route.engine
    how = "exactly uniform" if engine.uniform else "legal, but not uniform"
    seen = "reads the original" if route.reads_original else "blind to the original"
    return f"part {route.title}: {engine.name}, {how}, {seen}"


def describe_part(route: Route) -> ReplacedPart:
    """How a part was made, for the manifest."""
    engine = route.engine
    entry: dict[str, Any] = {
        "columns": tuple(column.name for column in route.part.columns),
        "engine": engine.name,
        "uniform": engine.uniform,
        "reads_original": route.reads_original,
    }
    if "learned" in engine.name:
        entry["learned"] = True
    if isinstance(engine, Blocks):
        entry |= {"engine": "blocks", "heuristic": engine.heuristic, "block": engine.size}
        entry["variety"] = dict(sorted(engine.made.items()))
    return ReplacedPart.model_validate(entry)


def describe_routes(found: list[Route]) -> tuple[str, ...]:
    """How parts were made, in sentences."""
    return tuple(_sentence(route) for route in found)


def _notes(problem: SamplingProblem, found: list[Route]) -> tuple[str, ...]:
    notes = [*describe_routes(found)]
    if not any(route.reads_original for route in found):
        notes.append(
            "no replaced value was read: the release depends on the rules, the domains and the number of records only"
        )
    notes += [_how(route.title, route.engine) for route in found if isinstance(route.engine, Blocks)]
    if any("learned" in route.engine.name for route in found):
        notes.append("frequencies of some columns were learned: the output depends on the original through them")
    if any(states_statistic(rule) for rule in problem.rules):
        notes.append(CONSTANTS)
    return tuple(notes)


_WAYS = {
    "order": "by a search in random order, not uniform",
    "hint": "from random guesses, far from uniform",
    "cells": "in small groups drawn uniformly by hash cells, given the rest",
    "kept": "not decided in time and left as they were",
}


def _how(title: str, engine: Blocks) -> str:
    """How the solver's blocks of a part came about."""
    told = "; ".join(f"{count} {_WAYS[how]}" for how, count in sorted(engine.made.items()))
    biased = set(engine.made) != {"cells"}
    return f"part {title}: solver blocks: {told}" + ("; estimates about it carry the solver's bias" if biased else "")


# One table
# ---------


_TABLE = "data"


class TableProblem:
    """What `FreeColumns` asks of a policy bound to a schema, for one table."""

    def __init__(self, policy: Policy, table: Table) -> None:
        self.policy, self.domains = policy, {_of(name): domain for name, domain in replacements_of(policy).items()}
        self.columns = {name: _of(name) for name in table.names}
        self.declared = {_of(name): policy.columns[name] for name in policy.columns}
        rules = [IntegrityRule(rule.text, _qualified(rule.body)) for rule in integrity_rules(policy)]
        self.definitions, left = column_definitions(
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
                raise PolicyError(
                    f"no rule says how '{column.name}' is computed", where=where, hint="add an equation under keep"
                )

    def doubts(self) -> list[str]:
        """Computed columns that may not come out unique."""
        plain = [IntegrityRule(rule.text, _qualified(rule.body)) for rule in integrity_rules(self.policy)]
        return [sentence.replace(f"'{_TABLE}.", "'") for sentence in doubtful_definitions(plain, self.definitions)]

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


def needs_table_problem(policy: Policy, table: Table) -> bool:
    """Whether a table has to be made this way: something replaced is missing, emptied or computed."""
    domains = replacements_of(policy)
    if any(isinstance(domain, (Computed, Empty)) for domain in domains.values()):
        return True
    defined, _ = column_definitions(integrity_rules(policy), lambda c: c.name in domains, lambda c: False)
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
        draw_segments(columns, self.free, task.randomness.child("parts"), task.progress, solver_budget(task, minutes))
        for column in self.problem.free:
            if not replaces_missing(self.problem.declared[column].domain):
                columns[column] = pc.if_else(
                    pc.is_valid(self.data.column(column)), columns[column], pa.scalar(None, pa.string())
                )
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
        spell = value_formatter("date" if dated else domain.kind, getattr(domain, "places", None))
        return pa.array(Calculator(texts, ()).column(definition, spell, domain), pa.string())

    def entries(self) -> tuple[ReplacedPart, ...]:
        """How every part was made."""
        found = [_entry(segment) for segment in self.free.segments]
        told = [
            ReplacedPart(
                columns=(one.column.name,), engine="computed from other columns", uniform=False, reads_original=False
            )
            for one in self.problem.definitions
        ]
        return (*{str(entry): entry for entry in found}.values(), *told)

    def forecasts(self, minutes: float) -> list[str]:
        """How long the solver will take for its parts."""
        return forecast_solver_time(self.free, minutes)

    def sentences(self) -> list[str]:
        """How every part is made, for people."""
        return [
            f"part {', '.join(entry.columns)}: {entry.engine}, "
            f"{'exactly uniform' if entry.uniform else 'legal, but not uniform'}, "
            f"{'reads the original' if entry.reads_original else 'blind to the original'}"
            for entry in self.entries()
        ]


def _looks_dated(values: list[str | None]) -> bool:
    from sfumato.data.text_values import parse_timestamp

    known = [value for value in values[:50] if value]
    return bool(known) and all(parse_timestamp(value) is not None and "-" in value[1:] for value in known)


def _blank_is_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _entry(segment: Segment) -> ReplacedPart:
    engine = segment.route.engine
    names = tuple(column.name for column in segment.part.columns)
    learned = "learned" in engine.name
    said: dict[str, Any] = {"columns": names, "engine": engine.name, "uniform": engine.uniform, "learned": learned}
    return ReplacedPart(**said, reads_original=segment.route.reads_original)
