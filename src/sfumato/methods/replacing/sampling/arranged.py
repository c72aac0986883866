"""Rules about whole columns that an arrangement of draws keeps: capacities, orders in groups, intervals apart, variety.

Every engine draws legal records first and then arranges them, so the result obeys the rule by construction. None is uniform among
all legal tables, and each says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling import keyed
from sfumato.methods.replacing.sampling.binned import binned
from sfumato.methods.replacing.sampling.engines import Engine, NewColumn, Spaces, _without_repetition
from sfumato.methods.replacing.sampling.levels import Steps
from sfumato.methods.replacing.sampling.problem import Clause, RulePart, SamplingProblem
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.parse import constant_value
from sfumato.policy.rules.tree import Aggregate, AtMost, ColumnValue, Compare, Condition, Histogram, Increasing, NoOverlap, Number
from sfumato.randomness import Randomness


class _Arranged:
    uniform = False
    reads_original = False


class Capped(_Arranged):
    """`at_most(n, …)`: every combination has n places, and records take different places."""

    name = "places with a capacity"

    def __init__(self, spaces: Spaces, clause: Clause, most: int) -> None:
        assert spaces.single is not None
        self.spaces, self.most = spaces, most
        self.count = len(spaces.contexts[0].records)
        self.size = spaces.single.space.size
        if self.size * most < self.count:
            what = f"{self.size} combinations of at most {most} records each do not hold {self.count} records"
            raise Infeasible(what, where=f'rule "{clause.rule}"', hint="widen a domain or raise the number")

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.spaces.single is not None
        key, numbers, places = random.bytes(16), np.arange(self.count, dtype=np.int64), self.size * self.most
        small = places <= keyed.LARGEST
        taken = keyed.Permutation(key, places)(numbers) if small else _without_repetition(key, places, numbers)
        return self.spaces.merged([self.spaces.single.space.codes(taken // self.most)])


class Reordered(_Arranged):
    """`increasing(…)`: records are drawn without a look at the order and then dealt to their group in that order."""

    name = "draws in order"

    def __init__(self, problem: SamplingProblem, inner: Engine, body: Increasing) -> None:
        self.problem, self.inner, self.body = problem, inner, body
        self.reads_original = inner.reads_original

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        made = self.inner.run(random)
        values = made[self.body.column].vector().levels
        along = self.problem.given(self.body.along).levels
        label = labels(self.problem, self.body.by, len(values))
        target = np.lexsort((along, label))
        source = np.lexsort((values, label))
        found = {}
        for column, one in made.items():
            codes = one.codes.copy()
            codes[target] = one.codes[source]
            found[column] = NewColumn(one.levels, codes)
        return found


class Apart(_Arranged):
    """`no_overlap(start, end by …)`: twice as many points as records in every group, paired in order."""

    name = "points in pairs"

    def __init__(self, problem: SamplingProblem, body: NoOverlap, low: int, high: int, rules: str) -> None:
        self.problem, self.body, self.low, self.size = problem, body, low, high - low + 1
        self.label = labels(problem, body.by, problem.source(body.start).count)
        most = int(np.bincount(self.label).max(initial=0))
        if 2 * most > self.size:
            what = f"{most} intervals of one group do not fit into {self.size} values"
            raise Infeasible(what, where=f'rule "{rules}"', hint="widen the domains")

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        start, end = (self.problem.levels(column) for column in (self.body.start, self.body.end))
        assert isinstance(start, Steps)
        assert isinstance(end, Steps)
        starts, ends = np.zeros(len(self.label), dtype=np.int64), np.zeros(len(self.label), dtype=np.int64)
        order = np.argsort(self.label, kind="stable")
        for group, rows in enumerate(np.split(order, np.flatnonzero(np.diff(self.label[order])) + 1)):
            if not len(rows):
                continue
            own = keyed.Permutation(random.child(group).bytes(16), self.size)(np.arange(2 * len(rows), dtype=np.int64))
            points = np.sort(own).reshape(-1, 2) + self.low
            shuffled = rows[random.child(f"order {group}").permutation(len(rows))]
            starts[shuffled], ends[shuffled] = points[:, 0] - start.low, points[:, 1] - end.low
        return {self.body.start: NewColumn(start, starts), self.body.end: NewColumn(end, ends)}


class Several(_Arranged):
    """`distinct(x) = k`: k values are chosen, each gets a record, the rest is spread over them."""

    name = "a number of values"

    def __init__(self, spaces: Spaces, clause: Clause, wanted: int) -> None:
        assert spaces.single is not None
        self.spaces, self.wanted = spaces, wanted
        self.count, size = len(spaces.contexts[0].records), spaces.single.space.size
        if not (1 <= wanted <= min(self.count, size)):
            what = f"{self.count} records and {size} possible values do not make {wanted} different ones"
            raise Infeasible(what, where=f'rule "{clause.rule}"', hint="change the number or the domain")

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.spaces.single is not None
        space = self.spaces.single.space
        chosen = keyed.Permutation(random.bytes(16), min(space.size, keyed.LARGEST))(np.arange(self.wanted, dtype=np.int64))
        place = np.concatenate([np.arange(self.wanted), random.integers(self.wanted, self.count - self.wanted)])
        return self.spaces.merged([space.codes(chosen[place[random.permutation(self.count)]])])


class Correlated(_Arranged):
    """`correlation(a, b)` near a number: both are drawn, then one is put into an order between chance and the other's."""

    name = "draws in a common order"

    def __init__(self, inner: Engine, one: ColumnValue, two: ColumnValue, aim: float, tolerance: float, rule: str) -> None:
        self.inner, self.one, self.two, self.aim, self.tolerance, self.rule = inner, one, two, aim, tolerance, rule
        self.reads_original = inner.reads_original

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        made = self.inner.run(random)
        left = made[self.one].vector().levels.astype(float)
        right = made[self.two]
        chance = np.argsort(random.permutation(len(left))).astype(float) / max(len(left), 1) - 0.5
        own = np.argsort(np.argsort(left, kind="stable"), kind="stable") / max(len(left), 1) - 0.5
        ordered = right.codes[np.argsort(right.vector().levels, kind="stable")]
        low, high = -1.0, 1.0
        for _ in range(60):
            share = (low + high) / 2
            mixed = share * own + (1 - abs(share)) * chance
            codes = ordered[np.argsort(np.argsort(mixed, kind="stable"), kind="stable")]
            found = float(np.corrcoef(left, right.levels.vector(codes).levels.astype(float))[0, 1])
            if abs(found - self.aim) <= self.tolerance * 0.9:
                return {**made, self.two: NewColumn(right.levels, codes)}
            low, high = (share, high) if found < self.aim else (low, share)
        what = f"no order reaches a correlation within {self.tolerance:g} of {self.aim:g}"
        raise Infeasible(what, where=f'rule "{self.rule}"', hint="allow a larger difference, or other domains")


def labels(problem: SamplingProblem, by: tuple[ColumnValue, ...], count: int) -> NDArray[np.int64]:
    """The number of every record's group."""
    label = np.zeros(count, dtype=np.int64)
    for column in by:
        distinct, inverse = np.unique(problem.given(column).as_text(), return_inverse=True)
        _, label = np.unique(label * len(distinct) + inverse, return_inverse=True)
    return label


def arranged(problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], rest: Any) -> Engine | None:
    """The engine for one such rule beside conditions on records, or None; `rest` makes the engine without the rule."""
    body = clause.body
    if isinstance(body, Increasing):
        fixed = not any(problem.is_new(column) for column in (*body.by, body.along))
        alike = all(problem.is_new(column) for condition in conditions for column in columns_of(condition))
        inner = rest(RulePart(part.columns, tuple(c for c in part.clauses if c is not clause))) if fixed and alike else None
        return Reordered(problem, inner, body) if inner is not None else None
    if isinstance(body, Histogram):
        return binned(problem, part, clause, conditions, labels(problem, body.by, problem.source(body.column).count))
    if isinstance(body, NoOverlap):
        return _apart(problem, part, clause, body, conditions)
    if isinstance(body, AtMost) and set(body.columns) == set(part.columns):
        spaces = Spaces(problem, part, conditions)
        return Capped(spaces, clause, body.count) if spaces.single is not None else None
    return _statistic(problem, part, clause, conditions, rest) if isinstance(body, Compare) else None


def _apart(problem: SamplingProblem, part: RulePart, clause: Clause, body: NoOverlap, conditions: list[Condition]) -> Engine | None:
    start, end = (problem.levels(column) if problem.is_new(column) else None for column in (body.start, body.end))
    plain = all(
        isinstance(c, Compare) and (c.left, c.operator, c.right) in _ordered_pair(body) and not c.tolerance for c in conditions
    )
    if set(part.columns) != {body.start, body.end} or not isinstance(start, Steps) or not isinstance(end, Steps) or not plain:
        return None
    if start.unit != end.unit or any(problem.is_new(column) for column in body.by):
        return None
    low, high = max(start.low, end.low), min(start.low + start.size, end.low + end.size) - 1
    return Apart(problem, body, low, high, str(clause.rule))


def _ordered_pair(body: NoOverlap) -> set[tuple[ColumnValue, str, ColumnValue]]:
    forwards = {(body.start, sign, body.end) for sign in ("<", "<=")}
    return forwards | {(body.end, sign, body.start) for sign in (">", ">=")}


def _statistic(problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], rest: Any) -> Engine | None:
    body = clause.body
    assert isinstance(body, Compare)
    atom, aim = (body.left, body.right) if isinstance(body.left, Aggregate) else (body.right, body.left)
    if not isinstance(atom, Aggregate) or body.operator != "=" or atom.by or atom.where:
        return None
    if atom.function == "correlation":
        return _correlated(problem, part, clause, conditions, rest)
    if not isinstance(aim, Number):
        return None
    spaces = Spaces(problem, part, conditions)
    if spaces.single is None or part.columns != columns_of(atom):
        return None
    whole = aim.value.denominator == 1 and not body.tolerance
    return Several(spaces, clause, int(aim.value)) if atom.function == "distinct" and whole else None


def _correlated(problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], rest: Any) -> Engine | None:
    """Two new columns whose correlation is near a number, or near that of two columns that are given."""
    body = clause.body
    assert isinstance(body, Compare)
    sides = [side for side in (body.left, body.right) if any(problem.is_new(column) for column in columns_of(side))]
    if len(sides) != 1 or not all(problem.is_new(column) for column in columns_of(sides[0])):
        return None
    one, two = columns_of(sides[0])
    other = body.right if sides[0] is body.left else body.left
    aim = _given_correlation(problem, other) if isinstance(other, Aggregate) else constant_value(other)
    inner = rest(RulePart(part.columns, tuple(c for c in part.clauses if c is not clause)))
    alone = not any(two in columns_of(condition) and len(columns_of(condition)) > 1 for condition in conditions)
    if inner is None or aim is None or not alone:
        return None
    return Correlated(inner, one, two, float(aim), float(body.tolerance), str(clause.rule))


def _given_correlation(problem: SamplingProblem, node: Aggregate) -> float | None:
    """The correlation of two columns as they are."""
    if node.function != "correlation" or len(columns_of(node)) != 2:
        return None
    one, two = (problem.given(column) for column in columns_of(node))
    if one.is_text or two.is_text or min(np.ptp(one.levels), np.ptp(two.levels)) == 0:
        return None
    return float(np.corrcoef(one.levels.astype(float), two.levels.astype(float))[0, 1])
