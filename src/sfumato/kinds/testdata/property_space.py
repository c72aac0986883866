"""All tables that keep the properties of a release, as linear inequalities written anew for the audit.

Notation
    level      a value as a whole number in units of its domain
    variable   the cells of one column that must move together: those of a partition that share a value, else one cell
               each
    row        low ≤ Σ weight · level ≤ high

Invariants
    I1  The original keeps every row; bounds are how far it is from breaking them, by the audit's own evaluator.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.kinds.testdata.form import WalkProvenance
from sfumato.policy.constraint_language import Inequality, conjuncts, linear_comparison
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import Aggregate, Cell, ColumnValue, Compare, Localities
from sfumato.policy.kept_constraints import integrity_rules, replacements_of
from sfumato.policy.value_domains import Ordered
from sfumato.release.view import ReleaseView

Rows = tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]
"""Row number, variable and weight of every term; low and high of every row."""


_NEAR = 1e-6


def localities_of(exhibit: ReleaseView) -> Iterator[tuple[Localities, str]]:
    """Every `localities(…)` of the policy with each of its columns."""
    for rule in integrity_rules(exhibit.policy):
        if isinstance(rule.body, Localities):
            yield from ((rule.body, column.name) for column in rule.body.columns)


def partition_of(exhibit: ReleaseView, rule: Localities, name: str) -> IntArray:
    """The partition of every record; where they are records near each other, as the provenance says."""
    records = int(exhibit.original.rows)
    if rule.by:
        return np.asarray(
            equivalence_classes_of([exhibit.original.text(c.name).codes for c in rule.by], rows=records).of,
            dtype=np.int64,
        )
    if rule.near:
        said = exhibit.traced(WalkProvenance).partitions.get(name, np.empty(0, np.int64))
        return said if said.size == records else np.arange(records, dtype=np.int64)
    return np.arange(records, dtype=np.int64) // (rule.partition or max(1, records))


def values_before_and_after(exhibit: ReleaseView, name: str, domain: Ordered) -> tuple[IntArray, IntArray]:
    """A replaced column before and after, by original record; a value outside the domain's writing counts as its
    lowest."""
    assert exhibit.behind is not None
    found = []
    for table in (exhibit.original, exhibit.data):
        text = table.text(name)
        own = [domain.level(label) for label in text.labels]
        found.append(np.array([domain.low if level is None else level for level in own], dtype=np.int64)[text.codes])
    after = np.empty_like(found[1])
    after[exhibit.behind["data"]] = found[1]
    return found[0], after


class PropertySpace:
    """The variables, rows and parts around one release."""

    def __init__(self, exhibit: ReleaseView) -> None:
        self.exhibit = exhibit
        self.records = int(exhibit.original.rows)
        self.domains = {name: d for name, d in replacements_of(exhibit.policy).items() if isinstance(d, Ordered)}
        pairs = {name: values_before_and_after(exhibit, name, domain) for name, domain in self.domains.items()}
        self.before = {name: pair[0] for name, pair in pairs.items()}
        self.after = {name: pair[1] for name, pair in pairs.items()}
        self.of = self._variables()
        self.size = np.bincount(np.concatenate([np.empty(0, np.int64), *self.of.values()]))
        self.bounds = self._box()
        self._join(list(self._rows()))

    def _variables(self) -> dict[str, IntArray]:
        homes = {name: partition_of(self.exhibit, rule, name) for rule, name in localities_of(self.exhibit)}
        found, taken = {}, 0
        for name in self.domains:
            own = np.arange(self.records)
            if name in homes:
                own = np.unique(np.column_stack([homes[name], self.before[name]]), axis=0, return_inverse=True)[
                    1
                ].ravel()
            found[name] = own + taken
            taken += int(own.max(initial=-1)) + 1
        return found

    def _box(self) -> FloatArray:
        box = np.empty((self.size.size, 2))
        for name, domain in self.domains.items():
            box[self.of[name]] = (domain.low, domain.high)
        for rule, name in (
            localities_of(self.exhibit) if self.exhibit.traced(WalkProvenance).range == "partition" else ()
        ):
            home, values = partition_of(self.exhibit, rule, name), self.before[name]
            ends = np.full((int(home.max(initial=-1)) + 1, 2), (np.inf, -np.inf))
            np.minimum.at(ends[:, 0], home, values)
            np.maximum.at(ends[:, 1], home, values)
            box[self.of[name]] = ends[home]
        return box

    def _rows(self) -> Iterator[Rows]:
        for name, triples in self.exhibit.traced(WalkProvenance).localities.items():
            yield from _locality_rows(self.of[name], self.before[name], triples)
        for name, pairs in self.exhibit.traced(WalkProvenance).distances.items():
            yield from _distance_rows(self.of[name], pairs)
        original = {name: self.exhibit.original.text(name) for name in self.exhibit.original.names}
        judge = ConstraintEvaluator({None: original}, {None: original})
        for part in (part for rule in integrity_rules(self.exhibit.policy) for part in conjuncts(rule.body)):
            wanted = linear_comparison(part)
            if isinstance(part, Compare) and wanted is not None and wanted.terms:  # a rule like v <= v binds nothing
                yield self._rule_rows(part, wanted, judge)

    def _rule_rows(self, part: Compare, wanted: Inequality, judge: ConstraintEvaluator) -> Rows:
        left, right = judge.value(part.left, None), judge.value(part.right, None)
        ahead = left.parts / left.denominator - right.parts / right.denominator
        count = self.records if any(isinstance(atom, ColumnValue) for atom in wanted.terms) else 1
        row, variable, weight = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        for atom, factor in wanted.terms.items():
            own, cells = self._cells(atom, count)
            row.append(own)
            variable.append(cells)
            weight.append(np.full(own.size, float(factor) * self._scale(atom)))
        rows, variables, weights = np.concatenate(row), np.concatenate(variable), np.concatenate(weight)
        reached = np.bincount(rows, weights * self._level_of(variables), minlength=count).astype(np.float64)
        slack = float(wanted.tolerance) if wanted.operator == "=" else 0.0
        edge = np.asarray(reached - np.broadcast_to(ahead, (count,)), dtype=np.float64)  # I1
        low = edge - slack if wanted.operator in ("=", ">=", ">") else np.full(count, -np.inf)
        high = edge + slack if wanted.operator in ("=", "<=", "<") else np.full(count, np.inf)
        return rows, variables, weights, low, high

    def _cells(self, atom: Any, count: int) -> tuple[IntArray, IntArray]:
        """The row and the variable of every replaced cell an atom stands for."""
        column = _column(atom)
        none = np.empty(0, np.int64)
        if column.original or column.name not in self.domains:
            return none, none
        own = self.of[column.name]
        if isinstance(atom, Aggregate):
            return np.zeros(own.size, np.int64), own
        return np.arange(count), own[atom.record - 1 : atom.record].repeat(count) if isinstance(atom, Cell) else own

    def _scale(self, atom: Any) -> float:
        name = _column(atom).name
        unit = self.domains[name].unit if name in self.domains else 1
        return 1 / unit / (self.records if isinstance(atom, Aggregate) and atom.function == "mean" else 1)

    def _level_of(self, variables: IntArray) -> FloatArray:
        start = np.empty(self.size.size)
        for name, own in self.of.items():
            start[own] = self.before[name]
        return start[variables]

    def _join(self, found: list[Rows]) -> None:
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        offset, row = 0, []
        for own, _, _, low, _ in found:
            row.append(own + offset)
            offset += low.size
        empty = np.empty(0)
        variable, weight, self.low, self.high = (
            np.concatenate([empty, *(rows[i] for rows in found)]) for i in (1, 2, 3, 4)
        )
        rows = np.concatenate([empty, *row]).astype(np.int64)
        self.matrix = sparse.csr_matrix((weight, (rows, variable.astype(np.int64))), shape=(offset, self.size.size))
        blocks: Any = [[sparse.identity(self.size.size), self.matrix.T], [self.matrix, None]]
        whole = sparse.bmat(blocks) if offset else None
        part = np.arange(self.size.size) if whole is None else connected_components(whole, directed=False)[1]
        self.part, self.part_of_row = part[: self.size.size], part[self.size.size :]

    def unchanged(self) -> tuple[IntArray, IntArray]:
        """Variables whose published value is the original one, and their levels."""
        old, new = np.empty(self.size.size, np.int64), np.empty(self.size.size, np.int64)
        for name, own in self.of.items():
            old[own], new[own] = self.before[name], self.after[name]
        same = np.flatnonzero(old == new)
        return same, old[same]

    def is_pinned(self, variable: int, level: int) -> bool:
        """Whether no level but this one is left for the variable; two linear programs over its part at most."""
        if self._moves_alone(variable):
            return False
        return all(self._furthest(variable, sign) < sign * level + 1 - _NEAR for sign in (1, -1))

    def _moves_alone(self, variable: int) -> bool:
        """Whether the original stays legal when this variable goes one level up or down and nothing else moves: a
        witness."""
        start, reached, legal, columns = self._original
        own, weight = columns[:, [variable]].indices, columns[:, [variable]].data
        for step in (1, -1):
            moved, kept = start[variable] + step, reached[own] + step * weight
            inside = self.bounds[variable, 0] <= moved <= self.bounds[variable, 1]
            if inside and ((self.low[own] <= kept) & (kept <= self.high[own])).all():
                return bool(legal[self.part[variable]])
        return False

    @cached_property
    def _original(self) -> tuple[FloatArray, FloatArray, BoolArray, Any]:
        """The original level of every variable, what every row comes to, which parts are legal so, and the rows by
        variable."""
        start = self._level_of(np.arange(self.size.size))
        reached = np.asarray(self.matrix @ start, dtype=np.float64)
        legal = np.ones(int(self.part.max(initial=-1)) + 1, dtype=bool)
        legal[self.part[(start < self.bounds[:, 0]) | (start > self.bounds[:, 1])]] = False
        legal[self.part_of_row[(reached < self.low - _NEAR) | (reached > self.high + _NEAR)]] = False
        return start, reached, legal, self.matrix.tocsc()

    def _furthest(self, variable: int, sign: int) -> float:
        """The largest sign · level the variable can have."""
        from scipy import sparse
        from scipy.optimize import linprog

        cells, rows = (
            np.flatnonzero(self.part == self.part[variable]),
            np.flatnonzero(self.part_of_row == self.part[variable]),
        )
        own, low, high = self.matrix[rows][:, cells], self.low[rows], self.high[rows]
        upper, lower = np.isfinite(high), np.isfinite(low)
        limits = sparse.vstack([own[upper], -own[lower]]) if rows.size else None
        most = np.concatenate([high[upper], -low[lower]]) if rows.size else None
        box: Any = self.bounds[cells]
        solved = linprog(-sign * (cells == variable), A_ub=limits, b_ub=most, bounds=box, method="highs")
        return -float(solved.fun) if solved.fun is not None else float(np.inf)


def _column(atom: Any) -> ColumnValue:
    column = atom.column if isinstance(atom, Cell) else atom.argument if isinstance(atom, Aggregate) else atom
    assert isinstance(column, ColumnValue)
    return column


def _distance_rows(of: IntArray, pairs: IntArray) -> Iterator[Rows]:
    """For every two pairs: the second is at least as far apart as the first, and the first stays upwards."""
    count = len(pairs)
    none, free = np.zeros(count), np.full(count, np.inf)
    yield np.repeat(np.arange(count), 4), of[pairs].ravel(), np.tile([1.0, -1.0, -1.0, 1.0], count), none, free
    yield np.repeat(np.arange(count), 2), of[pairs[:, :2]].ravel(), np.tile([-1.0, 1.0], count), none, free


def _locality_rows(of: IntArray, before: IntArray, triples: IntArray) -> Iterator[Rows]:
    """Both gaps compared, and the order of the three, for every sampled triple."""
    a, b, c = triples[:, :3].T
    sign = np.where(2 * before[b] - before[a] - before[c] > 0, 1.0, -1.0)
    row, zero, free = np.arange(a.size), np.zeros(a.size), np.full(a.size, np.inf)
    yield np.tile(row, 3), of[np.concatenate([b, a, c])], np.concatenate([2 * sign, -sign, -sign]), zero, free
    for lower, upper in ((a, b), (b, c)):
        yield np.tile(row, 2), of[np.concatenate([upper, lower])], np.repeat([1.0, -1.0], a.size), zero, free
