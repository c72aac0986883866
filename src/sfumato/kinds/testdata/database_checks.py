"""A published database is whole: the tables and rows that belong to it, every constraint of its schema, every rule of
its policy.

All of this is judged on the published rows alone; with the original also that the schema is the original's and nothing
is lost.


Database survivors
------------------
No original value of a replaced column stands anywhere else in what is published, unless the policy accepts that by
name.


Database values
---------------
Values of a published database: new ones lie in their domains and echo nothing, kept ones are as they were, linked ones
agree.

Notation
    n     rows (for linked columns: distinct values) in which a replaced column is not null
    E     Σ_v old(v) · new(v) / n: how many of them would keep their value if old and new were independent
    tail  P(X ≥ found) for X binomial with n trials and mean E; judged at 10⁻⁶ divided by the number of columns
          (Bonferroni)


Target
------
The test database itself, after the load: what stands there is what was certified, and the server agrees.

Guarantee: everything is judged on rows read back from the target, by the checks that judged the release, without the
original. With the source at hand, no old value of a replaced column is found in a column of the target that was not
replaced, computed ones included."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import SfumatoError
from sfumato.core.wording import Wording
from sfumato.data.database import ColumnFacts, Database
from sfumato.data.document_paths import values_in_document
from sfumato.data.memory_map import MappedTableBuilder
from sfumato.data.table import Table
from sfumato.data.text_values import parse_timestamp
from sfumato.kinds.testdata.constraint_checks import domain_finding
from sfumato.kinds.testdata.database_view import (
    DatabaseView,
    count_differing_rows,
    count_distinct,
    counts_by_combination,
    dangling,
    empty_as_null,
    iterate_in_pieces,
    label_combinations,
    mentions_original,
    slices,
)
from sfumato.kinds.testdata.document_values import remainders
from sfumato.kinds.testdata.form import DatabaseForm, describes_schema
from sfumato.kinds.testdata.leaked_values import (
    LeakedColumn,
    Originals,
    find_leaked_values,
    match_original_values,
    original_values,
    unchanged_columns,
)
from sfumato.policy.constraint_language import IntegrityRule, columns_of
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    AtLeast,
    ColumnValue,
    Condition,
    Determines,
    References,
    Unique,
)
from sfumato.policy.custom_code import OwnTexts, is_at_hand
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.declared_constraints import Constraint
from sfumato.policy.value_domains import Empty, Like, ValueDomain, Values, replaces_missing
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding
from sfumato.release.evidence import Check
from sfumato.release.form import Form
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView, of_parts


class TablesPresent(Check):
    """Every table of the schema is there with its columns and its rows."""

    name: ClassVar[str] = "tables and row counts"
    words: ClassVar[Wording] = Wording(
        title="Tables",
        code="database-tables",
        group="integrity",
        holds=("Complete: {found.tables table/tables} with {found.rows row/rows}.", "All tables are complete."),
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        wrong = [*_shape(seen), *_counts(exhibit), *_against_original(seen)]
        rows = sum(table.rows for table in seen.tables.values())
        achieved = {"misfits": len(wrong), "tables": len(seen.tables), "rows": rows}
        return Finding(self.name, not wrong, {"misfits": 0}, achieved, reason="; ".join(wrong))


def _shape(seen: DatabaseView) -> list[str]:
    wrong = [f"table '{table.name}' is missing" for table in seen.schema.tables if table.name not in seen.tables]
    known = {table.name: list(table.written) for table in seen.schema.tables}
    for name, table in seen.tables.items():
        if name not in known:
            wrong.append(f"table '{name}' is not in the schema")
        elif table.names != known[name]:
            wrong.append(f"table '{name}' has other columns than the schema")
    return wrong


def _counts(exhibit: ReleaseView) -> list[str]:
    said = {part: entry.rows for part, entry in exhibit.of(DatabaseForm).tables.items()}
    found = {part: len(table) for part, table in exhibit.parts.items()}
    return [
        f"table '{part}' has {found.get(part, 0)} rows, not {rows}"
        for part, rows in said.items()
        if found.get(part) != rows
    ]


def _against_original(seen: DatabaseView) -> list[str]:
    original = seen.exhibit.original
    if not seen.exhibit.private:
        return []
    wrong = [] if describes_schema(seen.form, original.schema) else ["the schema is not the original's"]
    partly = seen.form.subset
    for name, table in seen.tables.items():
        there = original.tables[name].rows if name in original.tables else 0
        if table.rows > there or (table.rows < there and not partly):
            wrong.append(f"table '{name}' has {table.rows} rows, the original {there}")
    return wrong


class Constraints(Check):
    """Keys, references, not-null, value lists and checks of the schema hold in the published rows."""

    name: ClassVar[str] = "constraints"
    words: ClassVar[Wording] = Wording(
        title="Constraints",
        code="database-constraints",
        group="integrity",
        holds=(
            "None of {found.constraints constraint/constraints} of the schema is violated.",
            "All constraints of the schema hold.",
        ),
        violated="{found.broken} of {found.constraints constraint/constraints} are violated: {reason}",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        judged = [constraint for constraint in seen.bound.constraints if constraint.judged]
        broken = {constraint.identifier: count_violations(seen, constraint) for constraint in judged}
        wrong = [f"{identifier} is broken {count} time(s)" for identifier, count in broken.items() if count]
        achieved = {"constraints": len(judged), "broken": len(wrong)}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


class JoinSizes(Check):
    """As many rows find the row that they refer to as in the original, by every reference that is declared or under
    `keep`."""

    name: ClassVar[str] = "join sizes"
    words: ClassVar[Wording] = Wording(
        title="Join sizes",
        code="join-sizes",
        holds=(
            (
                "As many rows as in the original find the row they refer to ({found.references reference/references}"
                " compared)."
            ),
            "As many rows as in the original find the row they refer to.",
        ),
        violated="{found.lost row/rows} no longer find the row they refer to: {reason}",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and bool(exhibit.once(DatabaseView).bound.references)

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        return finding_of_joins(self.name, [_beside_original(seen, one) for one in join_sizes(seen)])


@dataclass(frozen=True, slots=True)
class JoinSize:
    """How many rows of a reference find the row that they refer to."""

    reference: References
    after: int
    before: int = 0
    lost: int = 0
    """Rows that found one before and find none now; in a subset at least so many."""

    def __str__(self) -> str:
        sides = (", ".join(map(str, side)) for side in (self.reference.child, self.reference.parent))
        return " references ".join(sides)

    def to_json(self) -> dict[str, Any]:
        return {"reference": str(self), "before": self.before, "after": self.after}


def join_sizes(seen: DatabaseView) -> list[JoinSize]:
    """The join size of every reference among the published rows."""
    return [
        JoinSize(one, _complete(seen.column, one) - seen.judge(IntegrityRule("", one))) for one in seen.bound.references
    ]


def _complete(column: Callable[[ColumnValue], pa.ChunkedArray], reference: References) -> int:
    """Rows that refer to something."""
    return len(column(reference.child[0])) - _count_incomplete([empty_as_null(column(one)) for one in reference.child])


def _count_incomplete(columns: Sequence[pa.ChunkedArray]) -> int:
    """Rows in which some of the columns are null."""
    if len(columns) == 1:
        return int(columns[0].null_count)
    gone = pc.is_null(columns[0])
    for column in columns[1:]:
        gone = pc.or_(gone, pc.is_null(column))
    return int(pc.sum(gone).as_py() or 0)


def _beside_original(seen: DatabaseView, size: JoinSize) -> JoinSize:
    """The join size with that of the original, which is counted only where rows could have been lost."""
    tables = seen.exhibit.original.tables

    def original(column: ColumnValue) -> pa.ChunkedArray:
        found: pa.ChunkedArray = tables[str(column.table)].column(column.name)
        return found

    table = str(size.reference.child[0].table)
    before, single = _complete(original, size.reference), seen.tables[table].rows - size.after
    if single > tables[table].rows - before:
        before -= dangling([original(c) for c in size.reference.child], [original(c) for c in size.reference.parent])
    return replace(size, before=before, lost=max(0, single - (tables[table].rows - before)))


def finding_of_joins(name: str, sizes: Sequence[JoinSize]) -> Finding:
    """Holds when no row lost the row that it refers to."""
    wrong = [
        f"{one}: {one.lost:,} rows no longer find their row ({one.after:,} do, {one.before:,} did)"
        for one in sizes
        if one.lost
    ]
    achieved = {
        "references": len(sizes),
        "rows that join": sum(one.after for one in sizes),
        "lost": sum(one.lost for one in sizes),
    }
    return Finding(name, not wrong, {"lost": 0}, achieved, reason="; ".join(wrong))


class ConstraintsLeft(Check):
    """Checks of the schema in words that only its server understands: counted here, judged in the target."""

    name: ClassVar[str] = "constraints left to the server"
    words: ClassVar[Wording] = Wording(
        title="Server-only constraints",
        code="server-only-constraints",
        group="measured",
        measured="{found.checks check constraint/check constraints} can only be checked by the database server.",
        warns=lambda found: bool(found["checks"]),
        advice="Load a target database and run `verify --target URL`.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(_foreign(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        return Finding(self.name, True, {}, {"checks": _foreign(exhibit)}, grade=MEASURED)


def _foreign(exhibit: ReleaseView) -> int:
    constraints = exhibit.once(DatabaseView).bound.constraints
    return sum(constraint.kind == "check" and constraint.rule is None for constraint in constraints)


def count_violations(seen: DatabaseView, constraint: Constraint) -> int:
    """How often a constraint is broken."""
    columns = [seen.column(ColumnValue(name, constraint.table)) for name in constraint.columns]
    if constraint.kind == "not null":
        return int(columns[0].null_count) if constraint.columns[0] in seen.tables[constraint.table].names else 0
    if constraint.kind == "value list":
        choices = {None, *seen.schema.table(constraint.table).column(constraint.columns[0]).choices}
        return sum(
            entry["counts"] for entry in pc.value_counts(columns[0]).to_pylist() if entry["values"] not in choices
        )
    assert constraint.rule is not None
    return seen.judge(constraint.rule)


class PolicyRules(Check):
    """Every rule under `keep` holds in the published tables; rules that mention the original need it and the private
    trace."""

    name: ClassVar[str] = "rules of the policy"
    words: ClassVar[Wording] = Wording(
        title="Rules",
        code="rules-database",
        holds=("None of {found.rules rule/rules} of the policy is violated.", "All rules of the policy hold."),
        violated="{found.broken} of {found.rules rule/rules} are violated: {reason}",
    )
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(exhibit.policy.keep)

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        rules = _in_sight(seen)
        broken = {rule.text: seen.judge(rule) for rule in rules}
        wrong = [f'"{text}" is broken {count} time(s)' for text, count in broken.items() if count]
        achieved = {"rules": len(rules), "broken": len(wrong)}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


class PolicyRulesLeft(Check):
    """Rules under `keep` that compare with the original, record by record: without the private provenance nobody can
    judge them."""

    name: ClassVar[str] = "rules of the policy left open"
    words: ClassVar[Wording] = Wording(
        title="Rules",
        code="rules-database-not-assessed",
        open="{found.rules rule/rules} need the provenance file.",
    )
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        seen = exhibit.once(DatabaseView)
        return len(_in_sight(seen)) < len(seen.bound.keep)

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        count = len(seen.bound.keep) - len(_in_sight(seen))
        reason = f"{count} rule(s) need the private provenance"
        return Finding(self.name, True, {}, {"rules": count}, grade=NOT_JUDGED, reason=reason)


def _in_sight(seen: DatabaseView) -> list[IntegrityRule]:
    return [rule for rule in seen.bound.keep if seen.aligned or not mentions_original(rule)]


# Database survivors
# ------------------


class SurvivingValues(Check):
    """No original value of a replaced column occurs in a column that is published unchanged."""

    name: ClassVar[str] = "surviving values"
    words: ClassVar[Wording] = Wording(
        title="Leaked originals",
        code="leaked-originals",
        group="privacy",
        holds="No replaced value occurs in any other published column.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        published = {name: table.frame for name, table in seen.tables.items()}
        found = {str(one): one for one in find_leaked_values(seen.bound, exhibit.original)}
        found |= {
            str(one): one
            for one in match_original_values(
                original_values(seen.bound, exhibit.original), unchanged_columns(seen.bound, published)
            )
        }
        return finding_of(self.name, list(found.values()), seen.form.accepted)


def finding_of(name: str, found: list[LeakedColumn], accepted: tuple[str, ...]) -> Finding:
    """Holds when every pair that was found is accepted."""
    open_ = [one for one in found if str(one) not in accepted]
    told = "; ".join(f"{one.sentence} [{one}]" for one in sorted(open_, key=lambda one: -one.cells)[:8])
    more = f"; and {len(open_) - 8} more pair(s) of columns" if len(open_) > 8 else ""
    way = "; replace the column, empty it, make it consistent, or accept the pair" if open_ else ""
    achieved = {"columns": len({one.kept for one in open_})}
    accepted_pairs = len(found) - len(open_)
    kept = (
        f"{accepted_pairs} pair(s) of columns in which old values stand are accepted by the policy"
        if accepted_pairs
        else ""
    )
    reason = told + more + way if open_ else kept
    return Finding(name, not open_, {"columns": 0}, achieved, reason=reason, details={"accepted": accepted_pairs})


# Database values
# ---------------


_ALPHA = 1e-6


class DatabaseDomains(Check):
    """Replaced values lie in their domains."""

    name: ClassVar[str] = "domains of the database"
    words: ClassVar[Wording] = Wording(
        title="Value domains",
        code="value-domains-database",
        holds=(
            "All new values in {found.columns column/columns} lie in their declared domains.",
            "All new values lie in their declared domains.",
        ),
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        domains = {column: _domain_at_hand(seen, seen.bound.domain(column)) for column in seen.bound.changed}
        compared = {column: domain for column, domain in domains.items() if domain is not None and domain.limits}
        counts = exhibit.once(_counts_outside)
        for column, domain in compared.items():
            if (column, domain) not in counts:
                counts[column, domain] = _outside(seen, column, domain)
        outside = {str(column): counts[column, domain] for column, domain in compared.items()}
        needed = sum(domain is None for domain in domains.values())
        return domain_finding(
            self.name, outside, needed, len(domains) - len(compared) - needed, {"columns": len(domains)}
        )


@of_parts
def _counts_outside(_: ReleaseView) -> dict[tuple[ColumnValue, ValueDomain], int]:
    """How many cells lie outside a domain, as far as somebody has asked."""
    return {}


def _domain_at_hand(seen: DatabaseView, domain: ValueDomain) -> ValueDomain | None:
    """The domain as far as it is known here; values of a source column that was replaced itself need the original."""
    if isinstance(domain, OwnTexts) and not is_at_hand(domain.code):
        return None
    if not isinstance(domain, Like):
        return domain
    source = seen.bound.columns[domain.column]
    if source in seen.bound.mapped or source not in seen.bound.changed:
        return Values(tuple(seen.column(source).unique().drop_null().to_pylist()))
    if not seen.exhibit.private:
        return None
    before = seen.exhibit.original.tables[source.table].column(source.name)
    return Values(tuple(before.unique().drop_null().to_pylist()))


def _outside(seen: DatabaseView, column: ColumnValue, domain: ValueDomain) -> int:
    cells, outside = seen.column(column), 0
    for rows in slices(len(cells)):
        filled = _filled(cells[rows])
        if domain.by_column:
            outside += int(np.count_nonzero(~domain.contains(filled.combine_chunks())))
            continue
        found = pc.value_counts(filled)
        texts, counts = found.field("values").to_pylist(), found.field("counts").to_numpy(zero_copy_only=False)
        outside += int(counts[~domain.contains(texts)].sum()) if texts else 0
    return outside


def _filled(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without nulls and empty texts, which stay as they are."""
    return pc.filter(cells, pc.greater(pc.binary_length(cells), 0), null_selection_behavior="drop")


class KeptCells(Check):
    """Columns that are not replaced are published as they were, and nulls stay where they were."""

    name: ClassVar[str] = "kept cells"
    words: ClassVar[Wording] = Wording(
        title="Unchanged columns",
        code="kept-cells",
        holds=(
            "All columns that are not replaced equal the original, and nulls are where they were ({details.compared"
            " row/rows} compared one by one).",
            "The columns that are not replaced, and nulls, occur in the same combinations as in the original.",
        ),
        violated=(
            "In {details.wrong_cells cell/cells} the value differs from the original: {reason}",
            "In {found.changed row/rows} the combination of values differs from the original: {reason}",
        ),
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        changed = _changed_cells(seen) if seen.aligned else _changed_rows(seen)
        what = "cells" if seen.aligned else "rows"
        wrong = [f"{count} kept {what} of '{table}' differ" for table, count in changed.items() if count]
        details = (
            {"wrong_cells": sum(changed.values())} if wrong else {"compared": sum(t.rows for t in seen.tables.values())}
        )
        return Finding(
            self.name,
            not wrong,
            {"changed": 0},
            {"changed": sum(changed.values())},
            reason="; ".join(wrong),
            details=details if seen.aligned else {},
        )


def _changed_cells(seen: DatabaseView) -> dict[str, int]:
    found = dict.fromkeys(seen.tables, 0)
    new = set(seen.bound.changed)
    for name, table in seen.tables.items():
        behind = next(rows for part, rows in (seen.exhibit.behind or {}).items() if seen.names[part] == name)
        met = np.zeros(int(behind.max(initial=-1)) + 1, dtype=bool)
        met[behind] = True
        found[name] += len(behind) - int(met.sum())
        for column in (ColumnValue(c, name) for c in table.names):
            if column in new and column in seen.bound.declared and replaces_missing(seen.bound.declared[column].domain):
                continue
            if column in seen.bound.emptied or column in {one.column for one in seen.bound.definitions}:
                continue
            for now, before in seen.beside(column):
                moved = pc.sum(pc.xor(pc.is_null(now), pc.is_null(before))).as_py() or 0
                if column in seen.bound.rewritten:
                    paths = seen.bound.rewritten[column]
                    rest = pc.not_equal(*(remainders(pa.chunked_array([side]), paths) for side in (now, before)))
                    moved += pc.sum(rest).as_py() or 0
                found[name] += int(moved if column in new else moved + (pc.sum(pc.not_equal(now, before)).as_py() or 0))
    return found


def _changed_rows(seen: DatabaseView) -> dict[str, int]:
    """Without the provenance: kept columns, and nulls among new values, occur in the same combinations (in a subset: in
    no new ones)."""
    found = {}
    for name, table in seen.tables.items():
        before = seen.exhibit.original.tables[name]
        now, then = ([_kept_of(seen, each, name, column) for column in table.names] for each in (table, before))
        extra, lost = count_differing_rows([c for c in now if c is not None], [c for c in then if c is not None])
        found[name] = extra if seen.form.subset else max(extra, lost)
    return found


def _kept_of(seen: DatabaseView, table: Table, name: str, column: str) -> pa.ChunkedArray | None:
    """What stays of a column: all of it, of new values whether there are any, of one that a subset empties nothing."""
    place = ColumnValue(column, name)
    if place in seen.bound.emptied:
        return None
    cells = table.column(column)
    if place in seen.bound.rewritten:
        return remainders(cells, seen.bound.rewritten[place])
    return pc.cast(pc.is_null(cells), pa.string()) if place in set(seen.bound.changed) else cells


class LinkedAlike(Check):
    """Linked columns follow one map: equal values got equal new values in every table."""

    name: ClassVar[str] = "linked columns"
    words: ClassVar[Wording] = Wording(
        title="Consistent values",
        code="consistent-replacement",
        holds=(
            "Equal values were replaced equally in {found.links group/groups} of linked columns.",
            "Equal values were replaced equally in all linked columns.",
        ),
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.once(DatabaseView).aligned and bool(exhibit.once(DatabaseView).bound.links)

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        wrong = []
        for link in seen.bound.links:
            old, new = _pairs(seen, link.columns)
            pairs = count_distinct([old, new])
            split, merged = pairs - count_distinct([old]), pairs - count_distinct([new])
            if split or (merged and not link.deterministic):
                wrong.append(f"'{link.root}' and its companions: {split} values were split, {merged} merged")
        achieved = {"links": len(seen.bound.links), "broken": len(wrong)}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


def _pairs(seen: DatabaseView, columns: tuple[ColumnValue, ...]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Old and new values of some columns side by side, where neither is null."""
    pairs = MappedTableBuilder(["old", "new"])
    for column in columns:
        for new, old in seen.beside(column):
            both = pc.fill_null(pc.and_(pc.greater(pc.binary_length(old), 0), pc.is_valid(new)), False)
            pairs.put(pa.table([pc.filter(old, both), pc.filter(new, both)], names=pairs.names))
    found = pairs.table()
    return found.column("old"), found.column("new")


class Unchanged(Check):
    """Replaced values equal the original ones no more often than chance."""

    name: ClassVar[str] = "unchanged values"
    words: ClassVar[Wording] = Wording(
        title="Replaced values",
        code="fresh-values-database",
        group="privacy",
        holds=(
            (
                "New values match the original ones no more often than by coincidence ({found.columns column/columns}"
                " tested)."
            ),
            "New values match the original ones no more often than by coincidence.",
        ),
    )
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.once(DatabaseView).aligned

    def examine(self, exhibit: ReleaseView) -> Finding:
        seen = exhibit.once(DatabaseView)
        figures = {title: _agreement(old, new) for title, old, new in _trials(seen)}
        loud, level = [], _ALPHA / max(len(figures), 1)
        for title, (same, expected, trials) in figures.items():
            if _tail(same, expected, trials) < level:
                loud.append(f"'{title}' keeps {same} of {trials} values where chance gives {expected:.1f}")
        bound = [str(column) for column in seen.bound.free if column in columns_with_original_constraints(seen.bound)]
        achieved = {
            "columns": len(figures),
            "above chance": len(loud),
        }  # the counts themselves are statistics of the original
        told = f"bound to original or kept values by rules, not judged: {', '.join(bound)}" if bound else ""
        details = {"above_chance": len(loud), "not_tested": len(bound)}
        return Finding(
            self.name, not loud, {"above chance": 0}, achieved, reason="; ".join(loud) or told, details=details
        )


def _tail(same: int, expected: float, trials: int) -> float:
    """P(X ≥ same) for X binomial, as an incomplete beta function."""
    from scipy.special import betainc

    return float(betainc(same, trials - same + 1, min(expected / trials, 1.0))) if same else 1.0


def _trials(seen: DatabaseView) -> Iterator[tuple[str, pa.ChunkedArray, pa.ChunkedArray]]:
    """Old and new values: rows of free columns, distinct values of linked ones (rows with one value are one draw)."""
    skipped = columns_with_original_constraints(seen.bound)
    for column in seen.bound.free:
        if column not in skipped:
            old, new = _pairs(seen, (column,))
            yield str(column), old, new
    for column, domain in seen.bound.rewritten.items():
        old, new = _pairs(seen, (column,))
        for path, inside in domain.paths:
            if not isinstance(inside, Empty):
                yield f"{column}.{path}", *(_values_at(side, path) for side in (old, new))
    for link in seen.bound.links:
        old, new = _pairs(seen, link.columns)
        if len(old):
            firsts = [
                pa.table([*_firsts(*piece)], names=["old", "new"]) for (piece,) in iterate_in_pieces([old, new], by=1)
            ]
            once = pa.concat_tables(firsts)
            yield str(link.root), once.column("old"), once.column("new")


def _values_at(cells: pa.ChunkedArray, path: str) -> pa.ChunkedArray:
    """The values at a path, of all documents one after the other."""
    found = [value for text in cells.to_pylist() for value in values_in_document(text, path)]
    return pa.chunked_array([pa.array(found, pa.string())])


def _firsts(old: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Every old value once, with the new one beside it."""
    rows = pa.array(np.unique(label_combinations([old])[0][0], return_index=True)[1])
    return old.take(rows), new.take(rows)


def _agreement(old: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[int, float, int]:
    """How many values are the same, how many chance would give, and among how many."""
    if not len(old):
        return 0, 0.0, 0
    expected = sum(float(before.astype(float) @ after) for before, after in counts_by_combination([old], [new])) / len(
        old
    )
    return int(pc.sum(pc.equal(old, new)).as_py() or 0), expected, len(old)


def columns_with_original_constraints(bound: BoundPolicy) -> set[ColumnValue]:
    """Free columns whose rules mention the original or kept values; there agreement may be what the policy asks for."""
    group = {column: {column} for column in (*bound.free, *(one.column for one in bound.definitions))}
    tied: set[ColumnValue] = set()
    for rule in bound.rules:
        own = [column for column in columns_of(rule) if column in group and not column.original]
        joined = set().union(*(group[column] for column in own)) if own else set()
        for column in joined:
            group[column] = joined
        if isinstance(rule.body, Condition) and any(c.original or c not in group for c in _values(rule.body)):
            tied |= set(own)
        elif own and not isinstance(rule.body, (Condition, Unique, References, Determines, AtLeast)):
            tied |= set(own)  # the values of the original, in another order
    return {column for column, members in group.items() if members & tied and column in bound.free}


def _values(node: Condition) -> list[ColumnValue]:
    grouping = {id(c) for found in node.walk() if isinstance(found, Aggregate) for c in found.by}
    return [found for found in node.walk() if isinstance(found, ColumnValue) and id(found) not in grouping]


# Target
# ------


_CHECKS: tuple[type[Check], ...] = (TablesPresent, Constraints, PolicyRules, DatabaseDomains)


def judge_target(
    exhibit: ReleaseView,
    there: Database,
    server: Sequence[str],
    originals: Originals | None = None,
    told: Callable[[float, str], None] = lambda *_: None,
    joins: Sequence[JoinSize] = (),
) -> tuple[Finding, ...]:
    """Judge a target: `there` was read back from it, `server` are its own complaints, `joins` what it counts for every
    reference.

    `originals` are old values, if at hand.
    """
    seen = exhibit.once(DatabaseView)
    parts = {part: Part(_written(seen, table, there)) for part, table in seen.names.items() if table in there.tables}
    target = replace(exhibit.as_published(), parts=parts, damage=None)
    told(0.0, "comparing rows")
    rows = _rows(seen, there)
    if rows.achieved.get("as written") == len(seen.tables):
        target = exhibit.as_published()  # the same rows: what was judged of them need not be judged again
    findings = [rows, _server(server)]
    findings += [finding_of_joins("target: join sizes", joins)] if joins else []
    for place, check in enumerate(cls() for cls in _CHECKS):
        told((place + 1) / (len(_CHECKS) + 2), check.name)
        if check.applies(target):
            findings.append(_judged(check, target))
    if originals is not None:
        told((len(_CHECKS) + 1) / (len(_CHECKS) + 2), "looking for old values")
        findings.append(_survivors(seen, there, originals))
    return tuple(findings)


def _survivors(seen: DatabaseView, there: Database, originals: Originals) -> Finding:
    """Old values in columns that nobody replaced, those included that the target computes by itself."""
    new = set(seen.bound.changed)
    kept = {
        column: (table.frame.column(facts.name), facts.kind)
        for name, table in there.tables.items()
        for facts in there.schema.table(name).columns
        if (column := ColumnValue(facts.name, name)) not in new
    }
    for column, paths in seen.bound.rewritten.items():
        facts = there.schema.table(str(column.table)).column(column.name)
        kept[column] = remainders(there.tables[str(column.table)].frame.column(column.name), paths), facts.kind
    computed = {column: cells for column, cells in kept.items() if _is_computed(there, column)}
    found = match_original_values(originals, {column: kept[column] for column in kept.keys() - computed.keys()})
    if computed:  # what was computed from new values may hold these
        gone = {
            column: values.filter(pc.invert(pc.is_in(values, value_set=_distinct(seen.column(column)))))
            for column, values in originals.items()
        }
        found += match_original_values(gone, computed)
    return finding_of("target: surviving values", found, seen.form.accepted)


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    return pc.drop_null(pc.unique(column))


def _is_computed(there: Database, column: ColumnValue) -> bool:
    return bool(there.schema.table(str(column.table)).column(column.name).computed)


def _written(seen: DatabaseView, table: str, there: Database) -> pa.Table:
    """The columns that a person wrote; in the spelling of the release where the target spells the same value
    differently."""
    names = [name for name in seen.schema.table(table).written if name in there.tables[table].names]
    return there.tables[table].frame.select(names)


def _judged(check: Check, target: ReleaseView) -> Finding:
    try:
        found = check.examine(target)
    except (SfumatoError, KeyError) as error:
        found = Finding(
            check.name, False, reason=error.what if isinstance(error, SfumatoError) else f"{error} is missing"
        )
    return replace(found, model=f"target: {found.model}")


def _server(complaints: Sequence[str]) -> Finding:
    reason = "; ".join(complaints[:5])
    return Finding("target: server", not complaints, {"complaints": 0}, {"complaints": len(complaints)}, reason=reason)


def _rows(seen: DatabaseView, there: Database) -> Finding:
    """The rows of the target are the rows of the release, in whatever order and spelling."""
    wrong, written = [], 0
    for name, table in seen.tables.items():
        if name not in there.tables:
            wrong.append(f"table '{name}' is missing")
            continue
        lacking = [column for column in table.names if column not in there.tables[name].names]
        if lacking:
            wrong.append(f"table '{name}' has no column '{lacking[0]}'")
            continue
        extra, lost = count_differing_rows(there.tables[name].frame.select(table.names).columns, table.frame.columns)
        written += not (extra or lost)
        if extra or lost:
            facts = [seen.schema.table(name).column(column) for column in table.names]
            here, other = _pair(table.frame, there.tables[name].frame, facts)
            extra, lost = count_differing_rows(other, here)
        if extra or lost:
            wrong.append(f"table '{name}' has {extra} other rows and lacks {lost}")
    achieved = {"tables": len(seen.tables), "different": len(wrong), "as written": written}
    return Finding("target: rows", not wrong, {"different": 0}, achieved, reason="; ".join(wrong))


def _pair(
    one: pa.Table, other: pa.Table, facts: list[ColumnFacts]
) -> tuple[list[pa.ChunkedArray], list[pa.ChunkedArray]]:
    left, right = [], []
    for column in facts:
        here, there = one.column(column.name), other.column(column.name)
        if count_differing_rows([here], [there]) != (0, 0):
            here, there = canonical(here, column.kind), canonical(there, column.kind)
        left.append(here)
        right.append(there)
    return left, right


def canonical(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """One spelling for equal values: 1.50 and 1.5, a moment with and without its zone, true and 1.

    >>> canonical(pa.chunked_array([["1.50", "2"]]), "decimal").to_pylist()
    ['1.5', '2']
    """
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    spelt = pa.array([_spelt(text, kind) for text in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([spelt.take(coded.indices)])


def _spelt(text: str, kind: str) -> str:
    days = parse_timestamp(text) if len(text) >= 10 else None
    if days is not None:
        return f"moment {days}"
    if kind == "boolean":
        return {"t": "true", "1": "true", "f": "false", "0": "false"}.get(text, text)
    if kind == "json":
        try:
            return json.dumps(json.loads(text), sort_keys=True)
        except ValueError:
            return text
    try:
        number = Decimal(repr(float(text))) if kind == "float" else Decimal(text)
        return format(number.normalize(), "f") if number.is_finite() else text
    except (InvalidOperation, ValueError):
        return text
