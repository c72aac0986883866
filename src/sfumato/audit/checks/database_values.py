"""Values of a published database: new ones lie in their domains and echo nothing, kept ones are as they were, linked ones agree.

Notation
    n     rows (for linked columns: distinct values) in which a replaced column is not null
    E     Σ_v old(v) · new(v) / n: how many of them would keep their value if old and new were independent
    tail  P(X ≥ found) for X binomial with n trials and mean E; judged at 10⁻⁶ divided by the number of columns (Bonferroni)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audit.base import Check
from sfumato.audit.databases import DatabaseExhibit, differing, distinct, labels
from sfumato.audit.pieces import in_pieces, slices
from sfumato.data.shelf import Shelf
from sfumato.data.table import Table
from sfumato.forms.database import DatabaseForm
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.replacements import Like, ValueDomain, Values, fills
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import Aggregate, AtLeast, ColumnValue, Condition, Determines, References, Unique
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_ALPHA = 1e-6


class DatabaseDomains(Check):
    """Replaced values lie in their domains."""

    name: ClassVar[str] = "domains of the database"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        outside = {str(column): _outside(seen, column, seen.bound.domain(column)) for column in seen.bound.changed}
        wrong = [f"{count} values of '{name}' are outside its domain" for name, count in outside.items() if count]
        achieved = {"columns": len(outside), "outside": sum(outside.values())}
        return Finding(self.name, not wrong, {"outside": 0}, achieved, reason="; ".join(wrong))


def _outside(seen: DatabaseExhibit, column: ColumnValue, domain: ValueDomain) -> int:
    if isinstance(domain, Like):
        source = seen.bound.columns[domain.column]
        if source in seen.bound.mapped or source not in seen.bound.changed:
            domain = Values(tuple(seen.column(source).unique().drop_null().to_pylist()))
        else:
            return 0
    cells, outside = seen.column(column), 0
    for rows in slices(len(cells)):
        found = pc.value_counts(cells[rows].drop_null())
        texts, counts = found.field("values").to_pylist(), found.field("counts").to_numpy(zero_copy_only=False)
        outside += int(counts[~domain.contains(texts)].sum()) if texts else 0
    return outside


class KeptCells(Check):
    """Columns that are not replaced are published as they were, and nulls stay where they were."""

    name: ClassVar[str] = "kept cells"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        changed = _changed_cells(seen) if seen.aligned else _changed_rows(seen)
        wrong = [f"{count} kept cells or rows of '{table}' differ" for table, count in changed.items() if count]
        return Finding(self.name, not wrong, {"changed": 0}, {"changed": sum(changed.values())}, reason="; ".join(wrong))


def _changed_cells(seen: DatabaseExhibit) -> dict[str, int]:
    found = dict.fromkeys(seen.tables, 0)
    new = set(seen.bound.changed)
    for name, table in seen.tables.items():
        behind = next(rows for part, rows in (seen.exhibit.behind or {}).items() if seen.names[part] == name)
        met = np.zeros(int(behind.max(initial=-1)) + 1, dtype=bool)
        met[behind] = True
        found[name] += len(behind) - int(met.sum())
        for column in (ColumnValue(c, name) for c in table.names):
            if column in new and column in seen.bound.declared and fills(seen.bound.declared[column].domain):
                continue
            if column in seen.bound.emptied or column in {one.column for one in seen.bound.definitions}:
                continue
            for now, before in seen.beside(column):
                moved = pc.sum(pc.xor(pc.is_null(now), pc.is_null(before))).as_py() or 0
                found[name] += int(moved if column in new else moved + (pc.sum(pc.not_equal(now, before)).as_py() or 0))
    return found


def _changed_rows(seen: DatabaseExhibit) -> dict[str, int]:
    """Without the trace: kept columns, and nulls among new values, occur in the same combinations (in a subset: in no new ones)."""
    found = {}
    for name, table in seen.tables.items():
        before = seen.exhibit.original.tables[name]
        now, then = ([_kept_of(seen, each, name, column) for column in table.names] for each in (table, before))
        extra, lost = differing([c for c in now if c is not None], [c for c in then if c is not None])
        found[name] = extra if seen.form.subset else max(extra, lost)
    return found


def _kept_of(seen: DatabaseExhibit, table: Table, name: str, column: str) -> pa.ChunkedArray | None:
    """What stays of a column: all of it, of new values whether there are any, of one that a subset empties nothing."""
    place = ColumnValue(column, name)
    if place in seen.bound.emptied:
        return None
    cells = table.column(column)
    return pc.cast(pc.is_null(cells), pa.string()) if place in set(seen.bound.changed) else cells


class LinkedAlike(Check):
    """Linked columns follow one map: equal values got equal new values in every table."""

    name: ClassVar[str] = "linked columns"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.once(DatabaseExhibit).aligned and bool(exhibit.once(DatabaseExhibit).bound.links)

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        wrong = []
        for link in seen.bound.links:
            old, new = _pairs(seen, link.columns)
            pairs = distinct([old, new])
            split, merged = pairs - distinct([old]), pairs - distinct([new])
            if split or (merged and not link.deterministic):
                wrong.append(f"'{link.root}' and its companions: {split} values were split, {merged} merged")
        achieved = {"links": len(seen.bound.links), "broken": len(wrong)}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason="; ".join(wrong))


def _pairs(seen: DatabaseExhibit, columns: tuple[ColumnValue, ...]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Old and new values of some columns side by side, where neither is null."""
    pairs = Shelf(["old", "new"])
    for column in columns:
        for new, old in seen.beside(column):
            both = pc.and_(pc.is_valid(old), pc.is_valid(new))
            pairs.put(pa.table([pc.filter(old, both), pc.filter(new, both)], names=pairs.names))
    found = pairs.table()
    return found.column("old"), found.column("new")


class Unchanged(Check):
    """Replaced values equal the original ones no more often than chance."""

    name: ClassVar[str] = "unchanged values"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.once(DatabaseExhibit).aligned

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        figures = {title: _agreement(old, new) for title, old, new in _trials(seen)}
        loud, level = [], _ALPHA / max(len(figures), 1)
        for title, (same, expected, trials) in figures.items():
            if _tail(same, expected, trials) < level:
                loud.append(f"'{title}' keeps {same} of {trials} values where chance gives {expected:.1f}")
        bound = [str(column) for column in seen.bound.free if column in bound_by_rules(seen.bound)]
        achieved = {"columns": len(figures), "above chance": len(loud)}  # the counts themselves are statistics of the original
        told = f"bound to original or kept values by rules, not judged: {', '.join(bound)}" if bound else ""
        return Finding(self.name, not loud, {"above chance": 0}, achieved, reason="; ".join(loud) or told)


def _tail(same: int, expected: float, trials: int) -> float:
    """P(X ≥ same) for X binomial, as an incomplete beta function."""
    from scipy.special import betainc

    return float(betainc(same, trials - same + 1, min(expected / trials, 1.0))) if same else 1.0


def _trials(seen: DatabaseExhibit) -> Iterator[tuple[str, pa.ChunkedArray, pa.ChunkedArray]]:
    """Old and new values: rows of free columns, distinct values of linked ones (rows with one value are one draw)."""
    skipped = bound_by_rules(seen.bound)
    for column in seen.bound.free:
        if column not in skipped:
            old, new = _pairs(seen, (column,))
            yield str(column), old, new
    for link in seen.bound.links:
        old, new = _pairs(seen, link.columns)
        if len(old):
            firsts = [pa.table([*_firsts(*piece)], names=["old", "new"]) for (piece,) in in_pieces([old, new], by=1)]
            once = pa.concat_tables(firsts)
            yield str(link.root), once.column("old"), once.column("new")


def _firsts(old: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Every old value once, with the new one beside it."""
    rows = pa.array(np.unique(labels([old])[0][0], return_index=True)[1])
    return old.take(rows), new.take(rows)


def _agreement(old: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[int, float, int]:
    """How many values are the same, how many chance would give, and among how many."""
    if not len(old):
        return 0, 0.0, 0
    expected = 0.0
    for one, other in in_pieces([old], [new]):
        ((before, after), _) = labels(one, other)
        size = int(max(before.max(initial=0), after.max(initial=0))) + 1
        expected += float(np.bincount(before, minlength=size).astype(float) @ np.bincount(after, minlength=size)) / len(old)
    return int(pc.sum(pc.equal(old, new)).as_py() or 0), expected, len(old)


def bound_by_rules(bound: BoundPolicy) -> set[ColumnValue]:
    """Free columns whose rules mention the original or kept values; there agreement may be what the policy asks for."""
    group = {column: {column} for column in bound.free}
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
    return {column for column, members in group.items() if members & tied}


def _values(node: Condition) -> list[ColumnValue]:
    grouping = {id(c) for found in node.walk() if isinstance(found, Aggregate) for c in found.by}
    return [found for found in node.walk() if isinstance(found, ColumnValue) and id(found) not in grouping]
