"""From per-record rules to the space of legal records, or None when only a solver can find them.

The columns fall into groups that no rule joins; each group becomes the cheapest shape that is exact: intervals, a pattern with the
conditions folded into its automaton, an explicit table grown column by column, or a tree of ordered columns.

Paper: [obfuscation §5.1]. The paper hands every such sub-problem to a solver; counting is exact and uniform.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.methods.replacing.sampling.forms import IntegerForm, Numberings, integer_form
from sfumato.methods.replacing.sampling.levels import Levels, Spelled, Steps
from sfumato.methods.replacing.sampling.pattern_conditions import spelled
from sfumato.methods.replacing.sampling.spaces import Branch, Intervals, LegalSpace, Listing, Product, Tree
from sfumato.methods.replacing.sampling.vectors import Columns, Vector, holds
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import ColumnValue, Condition

_ROWS = 4_000_000
_WIDE = 20_000_000
_SPELLED = 100_000


@dataclass(frozen=True)
class Legal:
    """The space, and the numbering of every column in it (a pattern's numbering changes when conditions narrow it)."""

    space: Product
    levels: dict[ColumnValue, Levels]


def legal(levels: Numberings, conditions: list[Condition], given: Columns, root: ColumnValue | None = None) -> Legal | None:
    """All records that obey `conditions`; `given` are the values of columns that are not replaced (one row)."""
    factors: list[LegalSpace] = []
    numberings = dict(levels)
    for columns, own in components(list(levels), conditions):
        factor, narrowed = _factor({column: levels[column] for column in columns}, own, given, root)
        if factor is None:
            return None
        factors.append(factor)
        numberings.update(narrowed)
    return Legal(Product(tuple(factors)), numberings)


def components(columns: list[ColumnValue], conditions: list[Condition]) -> list[tuple[list[ColumnValue], list[Condition]]]:
    """Groups of columns joined by conditions, with the conditions of each."""
    label = {column: place for place, column in enumerate(columns)}
    for condition in conditions:
        joined = {label[column] for column in columns_of(condition) if column in label}
        label = {column: min(joined) if own in joined else own for column, own in label.items()}
    found: list[tuple[list[ColumnValue], list[Condition]]] = []
    for own in dict.fromkeys(label.values()):
        members = [column for column in columns if label[column] == own]
        found.append((members, [c for c in conditions if not set(columns_of(c)).isdisjoint(members)]))
    return found


def _factor(
    levels: dict[ColumnValue, Levels], conditions: list[Condition], given: Columns, root: ColumnValue | None
) -> tuple[LegalSpace | None, dict[ColumnValue, Levels]]:
    if len(levels) == 1:
        ((column, numbering),) = levels.items()
        if isinstance(numbering, Spelled):
            return spelled(column, numbering, conditions, given)
        return _single(column, numbering, conditions, given), {}
    found: LegalSpace | None = _table(levels, conditions, given)
    return found or _tree(levels, conditions, given, root), {}


# ---- one column --------------------------------------------------------------------------------------------------------


def _single(column: ColumnValue, numbering: Levels, conditions: list[Condition], given: Columns) -> LegalSpace | None:
    if not conditions:
        return Intervals(column, np.array([0]), np.array([numbering.size - 1]))
    if numbering.size <= _ROWS:
        return _runs(column, allowed(column, numbering, conditions, given))
    return _bounds(column, numbering, conditions, given)


def allowed(column: ColumnValue, numbering: Levels, conditions: list[Condition], given: Columns) -> NDArray[np.bool_]:
    """Which codes of a single column obey all conditions on it alone."""
    table = {**given, column: numbering.vector(np.arange(numbering.size))}
    mask = np.ones(numbering.size, dtype=bool)
    for condition in conditions:
        mask &= holds(condition, table)
    return mask


def _runs(column: ColumnValue, mask: NDArray[np.bool_]) -> LegalSpace:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return Intervals(column, edges[::2].astype(np.int64), edges[1::2].astype(np.int64) - 1)


def _bounds(column: ColumnValue, numbering: Levels, conditions: list[Condition], given: Columns) -> LegalSpace | None:
    """A wide column under comparisons with constants: one interval."""
    low, high = 0, numbering.size - 1
    for condition in conditions:
        form = integer_form(condition, {column: numbering}, given)
        if form is None:
            return None
        factor = form.factors[column]
        below, above = form.interval()
        if factor < 0:
            factor, below, above = -factor, _negated(above), _negated(below)
        low = low if below is None else max(low, -(-below // factor))
        high = high if above is None else min(high, above // factor)
    return Intervals(column, np.array([low]), np.array([max(high, low - 1)]))


def _negated(bound: int | None) -> int | None:
    return None if bound is None else -bound


# ---- an explicit table -------------------------------------------------------------------------------------------------


def _table(levels: dict[ColumnValue, Levels], conditions: list[Condition], given: Columns) -> Listing | None:
    """Legal combinations grown column by column; a column that an equation determines is computed, not tried."""
    options = _options(levels, conditions, given)
    if options is None:
        return None
    waiting = [c for c in conditions if len(_own(c, levels)) > 1]
    rows: dict[ColumnValue, IntArray] = {}
    while len(rows) < len(levels):
        rest = [column for column in levels if column not in rows]
        solved = next((found for column in rest if (found := _solved(column, rows, waiting, levels, given))), None)
        if solved is not None:
            rows = _computed(*solved, rows, options)
        else:
            column = min(rest, key=lambda c: (not _touches(c, rows, waiting), len(options[c])))
            size = len(next(iter(rows.values()))) if rows else 1
            if size * len(options[column]) > _ROWS:
                return None
            rows = _crossed(rows, column, options[column])
        ready = [c for c in waiting if _own(c, levels) <= set(rows)]
        waiting = [c for c in waiting if c not in ready]
        rows = _filtered(rows, ready, levels, given)
    return Listing(tuple(levels), np.stack([rows[column] for column in levels], axis=1))


def _own(condition: Condition, levels: Numberings) -> set[ColumnValue]:
    return {column for column in columns_of(condition) if column in levels}


def _options(levels: dict[ColumnValue, Levels], conditions: list[Condition], given: Columns) -> dict[ColumnValue, IntArray] | None:
    if any(n.size > (_SPELLED if isinstance(n, Spelled) else _ROWS) for n in levels.values()):
        return None
    found = {}
    for column, numbering in levels.items():
        own = [condition for condition in conditions if _own(condition, levels) == {column}]
        found[column] = np.flatnonzero(allowed(column, numbering, own, given)).astype(np.int64)
    return found


def _touches(column: ColumnValue, rows: Mapping[ColumnValue, IntArray], waiting: list[Condition]) -> bool:
    return not rows or any(column in columns_of(c) and not rows.keys().isdisjoint(columns_of(c)) for c in waiting)


def _crossed(rows: dict[ColumnValue, IntArray], column: ColumnValue, options: IntArray) -> dict[ColumnValue, IntArray]:
    size = len(next(iter(rows.values()))) if rows else 1
    crossed = {name: np.repeat(codes, len(options)) for name, codes in rows.items()}
    crossed[column] = np.tile(options, size)
    return crossed


def _filtered(
    rows: dict[ColumnValue, IntArray], conditions: Iterable[Condition], levels: Numberings, given: Columns
) -> dict[ColumnValue, IntArray]:
    for condition in conditions:
        table: dict[ColumnValue, Vector] = {**given, **{column: levels[column].vector(codes) for column, codes in rows.items()}}
        keep = np.broadcast_to(holds(condition, table), (len(next(iter(rows.values()))),))
        rows = {column: codes[keep] for column, codes in rows.items()}
    return rows


def _solved(
    column: ColumnValue, rows: Mapping[ColumnValue, IntArray], waiting: list[Condition], levels: Numberings, given: Columns
) -> tuple[ColumnValue, IntegerForm] | None:
    """An equation that gives `column` from columns already there."""
    if not isinstance(levels[column], Steps):
        return None
    for condition in waiting:
        if column in columns_of(condition) and _own(condition, levels) <= {*rows, column}:
            form = integer_form(condition, levels, given)
            if form is not None and form.operator == "=" and form.low == form.high and column in form.factors:
                return column, form
    return None


def _computed(
    column: ColumnValue, form: IntegerForm, rows: dict[ColumnValue, IntArray], options: dict[ColumnValue, IntArray]
) -> dict[ColumnValue, IntArray]:
    size = len(next(iter(rows.values()))) if rows else 1
    rest = np.full(size, form.low, dtype=np.int64)
    for other, factor in form.factors.items():
        if other != column:
            rest = rest - factor * rows[other]
    code, remainder = np.divmod(rest, form.factors[column])
    keep = (remainder == 0) & np.isin(code, options[column])
    return {**{name: codes[keep] for name, codes in rows.items()}, column: code[keep]}


# ---- a tree of ordered columns -------------------------------------------------------------------------------------------


def _tree(levels: dict[ColumnValue, Levels], conditions: list[Condition], given: Columns, root: ColumnValue | None) -> Tree | None:
    if any(not isinstance(numbering, Steps) or numbering.size > _WIDE for numbering in levels.values()):
        return None
    edges: dict[frozenset[ColumnValue], list[IntegerForm]] = {}
    single: list[Condition] = []
    for condition in conditions:
        own = _own(condition, levels)
        if len(own) == 1:
            single.append(condition)
            continue
        form = integer_form(condition, levels, given)
        if form is None or len(form.factors) != 2:
            return None
        edges.setdefault(frozenset(form.factors), []).append(form)
    if len(edges) != len(levels) - 1:
        return None
    return _grown(levels, edges, single, given, root if root in levels else next(iter(levels)))


def _grown(
    levels: dict[ColumnValue, Levels],
    edges: dict[frozenset[ColumnValue], list[IntegerForm]],
    single: list[Condition],
    given: Columns,
    root: ColumnValue | None,
) -> Tree:
    assert root is not None
    size = levels[root].size
    branches = [Branch(root, -1, np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))]
    place = {root: 0}
    while len(place) < len(levels):
        pair = next(pair for pair in edges if len(pair & place.keys()) == 1)
        parent, child = next(iter(pair & place.keys())), next(iter(pair - place.keys()))
        low, high = _child_interval(edges[pair], parent, child, levels[parent].size, levels[child].size)
        place[child] = len(branches)
        branches.append(Branch(child, place[parent], low, high))
    masks = []
    for branch in branches:
        own = [c for c in single if branch.column in columns_of(c)]
        masks.append(allowed(branch.column, levels[branch.column], own, given))
    return Tree(branches, masks)


def _child_interval(
    forms: list[IntegerForm], parent: ColumnValue, child: ColumnValue, size: int, most: int
) -> tuple[IntArray, IntArray]:
    """For each code of the parent, the child's codes that all comparisons allow."""
    codes = np.arange(size, dtype=np.int64)
    low, high = np.zeros(size, dtype=np.int64), np.full(size, most - 1, dtype=np.int64)
    for form in forms:
        moved = form.factors[parent] * codes
        factor = form.factors[child]
        below = None if form.low is None else form.low - moved
        above = None if form.high is None else form.high - moved
        if factor < 0:
            factor, below, above = -factor, None if above is None else -above, None if below is None else -below
        low = low if below is None else np.maximum(low, -(-below // factor))
        high = high if above is None else np.minimum(high, above // factor)
    return low, high
