"""Engines for parts with totals: contributions first, so that the totals come out, then a record for each.

Invariants
    I1  The weight of a contribution is the number of legal records that make it; records with the same contribution are
        then equally likely. Together: every legal table is equally likely.

Paper: rule R5 of [obfuscation §5.6] and its like; what the paper gives to dependent blocks is drawn here in one piece.


Groups
------
Many small groups, each with its own total: items of orders, payments of contracts, blocks of a table.

Guarantee
    Inside every group the drawn sequence is uniform (with the given weights) over all that reach the group's total;
    groups are independent.

Notation
    W_r(s)   weight of all sequences of r items with total s; W_0(0) = 1, W_r(s) = Σ_v w(v)·W_{r−1}(s − v)
    C_r      prefix sums of W_r

Invariants
    I1  The next item is v with probability w(v)·W_{r−1}(s − v) / W_r(s): the law it has in the conditioned sequence.
    I2  While all counts fit into 62 bits they are exact integers; then an item of a run of equally weighted neighbours
        is found by one search in C_{r−1}. Larger counts are floats, tilted towards the group's mean so that nothing
        vanishes.

Cost: O(items · log) with I2's search, O(items · values) otherwise.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.constraint_solver import reachable
from sfumato.core.errors import DataError, Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Steps
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Columns, Vector, holds, value
from sfumato.kinds.testdata.methods.sampling.legal_records import Legal, Records, Tree, draw
from sfumato.kinds.testdata.methods.sampling.problem import Clause, SamplingProblem, Summand, Total
from sfumato.kinds.testdata.methods.sampling.record_samplers import NewColumn, Spaces, weigh
from sfumato.kinds.testdata.methods.sampling.sum_distribution import TotalSampler, tilt, tilted_weights
from sfumato.policy.constraint_language import columns_of, linear_comparison
from sfumato.policy.constraint_language.syntax_tree import Aggregate, ColumnValue

MOST_CLASSES = 400
_ROWS = 4_000_000
_MOST_COUNTED = 3_000
_SURE = 1e-10


@dataclass
class Contributions:
    """The distinct contributions of one context's legal records, their weights, and the records behind each."""

    values: IntArray
    weights: FloatArray
    legal: Legal
    rows: Records | None
    starts: IntArray
    roots: IntArray

    cumulative: FloatArray | None = None
    """With learned weights: their running sum over the rows."""

    def records(self, chosen: IntArray, random: Randomness) -> Records:
        """A legal record among those with the chosen contribution, uniform or by weight, for every entry."""
        if self.cumulative is not None and self.rows is not None:
            start = np.where(self.starts[chosen] > 0, self.cumulative[self.starts[chosen] - 1], 0.0)
            target = start + random.uniform(len(chosen)) * self.weights[chosen]
            found = np.clip(
                np.searchsorted(self.cumulative, target, side="right"), self.starts[chosen], self.ends[chosen]
            )
            return {column: codes[found] for column, codes in self.rows.items()}
        size = self.weights[chosen].astype(np.int64)
        if self.rows is not None:
            place = self.starts[chosen] + random.below(size)  # I1
            return {column: codes[place] for column, codes in self.rows.items()}
        (tree,) = self.legal.space.factors
        assert isinstance(tree, Tree)
        return tree.given_root(self.roots[chosen], random.below(size))

    @property
    def ends(self) -> IntArray:
        """The last row of each contribution."""
        assert self.rows is not None
        return np.append(self.starts[1:], len(next(iter(self.rows.values())))) - 1


def contributions(
    legal: Legal, totals: list[Total], given: Columns, units: list[int], learned: SamplingProblem | None = None
) -> Contributions | None:
    """The table of contributions in the given units, or None when there are too many legal records to list."""
    if legal.space.size <= _ROWS:
        rows = legal.space.codes(np.arange(legal.space.size, dtype=np.int64))
        if learned is not None:
            return _learned(legal, rows, totals, given, units, weigh(learned, rows))
        matrix = _matrix(legal, rows, totals, given, units)
        distinct, inverse, counts = np.unique(matrix, axis=0, return_inverse=True, return_counts=True)  # I1
        order = np.argsort(inverse.ravel(), kind="stable")
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        ordered = {column: codes[order] for column, codes in rows.items()}
        return Contributions(distinct, counts.astype(float), legal, ordered, starts, starts)
    if len(legal.space.factors) == 1 and isinstance(legal.space.factors[0], Tree):
        return _by_root(legal, legal.space.factors[0], totals, given, units)
    return None


def _learned(
    legal: Legal, rows: Records, totals: list[Total], given: Columns, units: list[int], weight: FloatArray
) -> Contributions:
    used = weight > 0
    rows = {column: codes[used] for column, codes in rows.items()}
    matrix = _matrix(legal, rows, totals, given, units)
    distinct, inverse, counts = np.unique(matrix, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    mass: FloatArray = np.bincount(inverse.ravel(), weights=weight[used]).astype(np.float64)
    ordered = {column: codes[order] for column, codes in rows.items()}
    return Contributions(distinct, mass, legal, ordered, starts, starts, np.cumsum(weight[used][order]))


def _matrix(legal: Legal, rows: Records, totals: list[Total], given: Columns, units: list[int]) -> IntArray:
    table = {**given, **{column: legal.levels[column].vector(codes) for column, codes in rows.items()}}
    size = len(next(iter(rows.values())))
    columns = []
    for total, unit in zip(totals, units, strict=True):
        found, own = total.contributions(table, size)
        columns.append(found * (unit // own))
    return np.stack(columns, axis=1)


def _by_root(legal: Legal, tree: Tree, totals: list[Total], given: Columns, units: list[int]) -> Contributions | None:
    root = tree.columns[0]
    mentioned = {
        c for total in totals for s in total.summands for n in (s.argument, s.where) if n for c in columns_of(n)
    }
    if mentioned - given.keys() != {root} or tree.weights.dtype == object:
        return None
    codes = np.flatnonzero(tree.weights).astype(np.int64)
    matrix = _matrix(Legal(legal.space, legal.levels), {root: codes}, totals, given, units)
    return Contributions(matrix, tree.weights[codes].astype(float), legal, None, np.zeros(0, dtype=np.int64), codes)


def unit_of(spaces: Spaces, total: Total) -> int:
    """The unit in which a total's contributions are whole numbers."""
    one = {c: spaces.levels[c].vector(np.zeros(1, dtype=np.int64)) for c in spaces.part.columns}
    return total.contributions({**spaces.contexts[0].given, **one}, 1)[1]


@dataclass(frozen=True)
class GroundOfTotals:
    """What totals of a part rest on: its legal records, the totals, and what the records of each context can add to
    them."""

    spaces: Spaces
    totals: list[Total]
    tables: list[Contributions]
    units: list[int]

    def sampler(self, counts: IntArray | None = None) -> TotalSampler:
        """Draws contributions of the records that are here, or of so many of each context that lie elsewhere."""
        classes = np.zeros(sum(len(context.records) for context in self.spaces.contexts), dtype=np.int64)
        for place, context in enumerate(self.spaces.contexts):
            classes[context.records] = place
        return TotalSampler(
            [table.values for table in self.tables], [table.weights for table in self.tables], classes, counts
        )

    def records(self, chosen: IntArray, random: Randomness) -> dict[ColumnValue, NewColumn]:
        """A legal record for every chosen contribution."""
        pairs = zip(self.tables, self.spaces.contexts, strict=True)
        return self.spaces.merged([table.records(chosen[context.records], random) for table, context in pairs])


class Balanced:
    """One to three totals over the whole table; with `counts`, over a table that lies elsewhere with so many records a
    context."""

    name = "fixed totals"
    uniform = True

    def __init__(self, ground: GroundOfTotals, counts: IntArray | None = None) -> None:
        self.ground, self.totals, self.tables = ground, ground.totals, ground.tables
        self.reads_original = any(column.original for context in ground.spaces.contexts for column in context.given)
        self.sampler = ground.sampler(counts)
        self.low, self.high = self._limits(ground.units)
        self._check()

    def _limits(self, units: list[int]) -> tuple[IntArray, IntArray]:
        counts = self.sampler.counts
        least = sum(n * table.values.min(axis=0) for n, table in zip(counts, self.tables, strict=True))
        most = sum(n * table.values.max(axis=0) for n, table in zip(counts, self.tables, strict=True))
        low, high = [], []
        for place, (total, unit) in enumerate(zip(self.totals, units, strict=True)):
            below, above = total.limits(unit)
            low.append(int(least[place]) if below is None else below)
            high.append(int(most[place]) if above is None else above)
            if low[-1] > high[-1] or low[-1] > most[place] or high[-1] < least[place]:
                raise Infeasible(
                    f"the total is out of reach: possible are {Fraction(int(least[place]), unit)} … "
                    f"{Fraction(int(most[place]), unit)}",
                    where=f'rule "{total.rule}"',
                    hint="change the constant or the domain",
                )
        return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)

    def _check(self) -> None:
        """Bounds and steps first; totals that might exclude each other, or ragged contributions, by a small integer
        program."""
        try:
            if (self.low == self.high).all():
                self.sampler.require_reachable(self.low)
        except Infeasible as error:
            raise Infeasible(error.what, where=self._named(), hint=error.hint) from None
        simple = len(self.totals) == 1 and all((np.diff(table.values[:, 0]) == 1).all() for table in self.tables)
        listed = sum(len(table.values) for table in self.tables)
        if not simple and listed <= _MOST_COUNTED and not self._likely():
            values = [table.values.tolist() for table in self.tables]
            if not reachable(values, self.sampler.counts.tolist(), self.low.tolist(), self.high.tolist()):
                raise Infeasible(
                    "no table has these totals", where=self._named(), hint="change one of the totals or the domain"
                )

    def _likely(self) -> bool:
        """Whether the law of the sum gives the totals a chance far above its error, which proves that tables have
        them."""
        return bool((self.low == self.high).all()) and self.sampler.chance(self.low) > _SURE

    def _named(self) -> str:
        return "rule " + " and ".join(dict.fromkeys(f'"{total.rule}"' for total in self.totals))

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        try:
            chosen = self.sampler.draw_between(self.low, self.high, random)
        except Infeasible as error:
            raise Infeasible(error.what, where=self._named(), hint=error.hint) from None
        return self.ground.records(chosen, random)


@dataclass(frozen=True)
class GroupRule:
    """`sum(x by g) = …`: the summand, the groups' labels and, in the contribution's unit, what each group must
    reach."""

    clause: Clause
    total: Total
    labels: IntArray
    targets: list[Fraction] | None
    parent: ColumnValue | None


class Grouped:
    """A total per group: items of an order, payments of a contract."""

    name = "totals per group"
    uniform = True
    reads_original = False

    def __init__(self, spaces: Spaces, rule: GroupRule) -> None:
        assert spaces.single is not None
        self.spaces, self.rule = spaces, rule
        self.unit = unit_of(spaces, rule.total)
        table = contributions(spaces.single, [rule.total], {}, [self.unit])
        assert table is not None
        self.table = table
        self.order = np.argsort(rule.labels, kind="stable")
        assert rule.targets is not None
        self.sizes = np.bincount(rule.labels, minlength=len(rule.targets)).astype(np.int64)
        goals = [
            target * self.unit if size else Fraction(0) for target, size in zip(rule.targets, self.sizes, strict=True)
        ]
        broken = sum(goal.denominator != 1 for goal in goals)
        if broken:
            raise Infeasible(
                f"{broken} groups have a total between two possible ones", where=f'rule "{rule.clause.rule}"'
            )
        self.goals = np.array([int(goal) for goal in goals], dtype=np.int64)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        try:
            chosen = group_totals(self.table.values[:, 0], self.table.weights, self.sizes, self.goals, random)
        except Infeasible as error:
            raise Infeasible(error.what, where=f'rule "{self.rule.clause.rule}"', hint=error.hint) from None
        placed = np.empty(len(chosen), dtype=np.int64)
        placed[self.order] = chosen
        return self.spaces.merged([self.table.records(placed, random)])


class Summed:
    """A replaced column of the parent is the total of the children: children are free, the parent's value follows.

    Groups whose total falls outside the parent's domain are drawn again, which leaves every legal combination equally
    likely."""

    name = "parents from children"
    uniform = True
    reads_original = False
    _TURNS = 2_000

    def __init__(self, problem: SamplingProblem, spaces: Spaces, rule: GroupRule) -> None:
        assert spaces.single is not None
        assert rule.parent is not None
        self.problem, self.spaces, self.rule = problem, spaces, rule
        self.parent = problem.levels(rule.parent)
        self.count = problem.source(rule.parent).count
        self.childless = np.bincount(rule.labels, minlength=self.count) == 0

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.spaces.single is not None
        assert self.rule.parent is not None
        assert isinstance(self.parent, Steps)
        space, levels = self.spaces.single.space, self.spaces.single.levels
        labels = self.rule.labels
        codes = draw(space, random.bytes(16), np.arange(len(labels), dtype=np.int64))
        for _ in range(self._TURNS):
            sums, unit = self._sums(codes, levels)
            parent = sums * self.parent.unit
            code = parent // unit - self.parent.low
            fits = (parent % unit == 0) & (code >= 0) & (code < self.parent.size)
            fits |= self.childless
            if fits.all():
                code[self.childless] = random.integers(self.parent.size, int(self.childless.sum()))
                return {**self.spaces.merged([codes]), self.rule.parent: NewColumn(self.parent, code)}
            again = np.flatnonzero(~fits[labels])
            if not len(again):
                break
            fresh = draw(space, random.bytes(16), again)
            for column in codes:
                codes[column][again] = fresh[column]
        raise Infeasible(
            f"{int((~fits).sum())} groups found no total inside the parent's domain",
            where=f'rule "{self.rule.clause.rule}"',
            hint="widen the domain of the total",
        )

    def _sums(self, codes: Records, levels: dict[ColumnValue, Levels]) -> tuple[IntArray, int]:
        table = {column: levels[column].vector(own) for column, own in codes.items()}
        found, unit = self.rule.total.contributions(table, len(self.rule.labels))
        sums = np.zeros(self.count, dtype=np.int64)
        np.add.at(sums, self.rule.labels, found)
        return sums, unit


def group_rule(problem: SamplingProblem, clause: Clause) -> GroupRule | None:
    """A clause that fixes a sum per group, with what each group must reach; None when it is of another kind."""
    form = linear_comparison(clause.body)
    if form is None or form.operator != "=" or form.tolerance:
        return None
    sums = [a for a in form.terms if isinstance(a, Aggregate) and any(problem.is_new(c) for c in columns_of(a))]
    if (
        len(sums) != 1
        or not sums[0].by
        or sums[0].function not in ("sum", "count")
        or any(map(problem.is_new, sums[0].by))
    ):
        return None
    (atom,) = sums
    rest = {other: factor / form.terms[atom] for other, factor in form.terms.items() if other != atom}
    total = _group_total(clause, atom)
    parents = [other for other in rest if isinstance(other, ColumnValue) and problem.is_new(other)]
    labels, count = _labels(problem, atom, list(rest))
    if parents:
        if len(rest) != 1 or rest[parents[0]] != -1 or form.bound:
            return None
        return GroupRule(clause, total, labels, None, parents[0])
    targets = [form.bound / form.terms[atom]] * count
    for other, factor in rest.items():
        if isinstance(other, Aggregate) and other.function == "mean":
            return None
        values = _per_group(problem, other, labels, count, atom)
        targets = [target - factor * own for target, own in zip(targets, values, strict=True)]
    return GroupRule(clause, total, labels, targets, None)


def _group_total(clause: Clause, atom: Aggregate) -> Total:
    argument = None if atom.function == "count" else atom.argument
    return Total(clause.rule, (Summand(Fraction(1), argument, atom.where),), "=", Fraction(0))


def _labels(problem: SamplingProblem, atom: Aggregate, rest: Collection[object]) -> tuple[IntArray, int]:
    """The group of every record; groups are the rows of the parent table when the rule names one, else the distinct
    keys."""
    keys = [np.asarray(problem.source(c).original[c.name], dtype=np.str_) for c in atom.by]
    parent = next((r for r in problem.references if r.child == atom.by), None)
    named = parent is not None and any(isinstance(o, ColumnValue) and o.table == parent.parent[0].table for o in rest)
    if parent is None or not named:
        joined = keys[0] if len(keys) == 1 else np.array(["\x1f".join(row) for row in zip(*keys, strict=True)])
        distinct, labels = np.unique(joined, return_inverse=True)
        return labels.astype(np.int64), len(distinct)
    rows = [np.asarray(problem.source(c).original[c.name], dtype=np.str_) for c in parent.parent]
    place = {row: number for number, row in enumerate(zip(*(r.tolist() for r in rows), strict=True))}
    found = [place.get(row, -1) for row in zip(*(k.tolist() for k in keys), strict=True)]
    if -1 in found:
        raise DataError(f"{found.count(-1)} records refer to no row of table {parent.parent[0].table}")
    return np.array(found, dtype=np.int64), len(place)


def _per_group(problem: SamplingProblem, node: object, labels: IntArray, count: int, atom: Aggregate) -> list[Fraction]:
    if isinstance(node, Aggregate):
        columns = {column: problem.given(column) for column in columns_of(node)}
        own = (
            Vector(np.ones(len(labels), dtype=np.int64), 1) if node.argument is None else value(node.argument, columns)
        )
        levels = np.broadcast_to(own.levels, labels.shape)
        if node.where is not None:
            levels = np.where(holds(node.where, columns), levels, 0)
        sums = np.zeros(count, dtype=np.int64)
        np.add.at(sums, labels, levels)
        return [Fraction(int(total), own.unit) for total in sums]
    assert isinstance(node, ColumnValue)
    vector = problem.given(node)
    if node.table == atom.by[0].table:
        first = np.full(count, -1, dtype=np.int64)
        first[labels[::-1]] = np.arange(len(labels))[::-1]
        if (vector.levels[first][labels] != vector.levels).any():
            raise DataError(
                f"column '{node.name}' differs inside a group", hint="compare groups with a constant of the group"
            )
        return [Fraction(int(level), vector.unit) for level in vector.levels[first]]
    return [Fraction(int(level), vector.unit) for level in vector.levels]


# Groups
# ------


_CELLS = 4_000_000
_TABLE = 3e8
_TILTS = 24


def group_totals(
    values: IntArray, weights: FloatArray, sizes: IntArray, totals: IntArray, random: Randomness
) -> IntArray:
    """For every item, group by group, the position of its contribution in `values`.

    `values` are increasing, `weights` whole counts; `sizes[g]` items of group g add up to `totals[g]`.
    """
    _require_bounds(values, sizes, totals)
    found = np.empty(int(sizes.sum()), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for chosen, theta in _batches(values, weights, sizes, totals):
        if theta is not None and _cost(values, int(sizes[chosen].max())) > _TABLE:
            _one_by_one(values, weights, sizes, totals, starts, chosen, found, random)
        else:
            _Tables(values, weights, int(sizes[chosen].max()), theta).draw(
                sizes[chosen], totals[chosen], starts[chosen], found, random
            )
    return found


def _require_bounds(values: IntArray, sizes: IntArray, totals: IntArray) -> None:
    wrong = int(((totals < sizes * values[0]) | (totals > sizes * values[-1])).sum())
    if wrong:
        raise Infeasible(
            f"{wrong} groups have a total that their items cannot reach", hint="change the totals or the domain"
        )


def _cost(values: IntArray, largest: int) -> float:
    return float(largest) ** 2 / 2 * float(values[-1] - values[0] + 1) * len(values)


def _batches(
    values: IntArray, weights: FloatArray, sizes: IntArray, totals: IntArray
) -> list[tuple[IntArray, float | None]]:
    """Groups that can share tables: those with exact counts, then the others by the tilt they want."""
    logarithm = np.log2(float(weights.sum()))
    exact = sizes * logarithm < 61
    batches: list[tuple[IntArray, float | None]] = []
    if exact.any():
        batches.append((np.flatnonzero(exact), None))
    rest = np.flatnonzero(~exact)
    if len(rest):
        wanted = np.array([_ideal(values, weights, mean) for mean in _levels(totals[rest] / sizes[rest])])
        nearest = np.abs((totals[rest] / sizes[rest])[:, None] - _levels(totals[rest] / sizes[rest])).argmin(axis=1)
        batches += [(rest[nearest == place], float(wanted[place])) for place in np.unique(nearest)]
    return batches


def _levels(means: FloatArray) -> FloatArray:
    return np.unique(np.quantile(means, np.linspace(0, 1, _TILTS)))


def _ideal(values: IntArray, weights: FloatArray, mean: float) -> float:
    aim = np.clip(mean, values[0] + 1e-3, values[-1] - 1e-3)
    return float(tilt([values[:, None]], [weights], np.array([1000]), np.array([round(aim * 1000)]))[0])


class _Tables:
    def __init__(self, values: IntArray, weights: FloatArray, largest: int, theta: float | None) -> None:
        self.values = values
        exact = theta is None
        self.weights = (
            np.rint(weights).astype(np.int64)
            if theta is None
            else tilted_weights([values[:, None]], [weights / weights.max()], np.array([theta]))[0]
        )
        # only a run of neighbours with equal weights lets the prefix sums find the item
        self.searchable = bool(exact and (np.diff(values) == 1).all() and (self.weights == self.weights[0]).all())
        self.sums: list[NDArray[np.generic]] = [np.ones(1, dtype=np.int64 if exact else np.float64)]
        for _ in range(largest):
            self.sums.append(self._grown(self.sums[-1], exact))
        self.prefix = [np.concatenate([[0], np.cumsum(table)]) for table in self.sums] if self.searchable else []

    def _grown(self, table: NDArray[np.generic], exact: bool) -> NDArray[np.generic]:
        span = int(self.values[-1] - self.values[0])
        grown = np.zeros(len(table) + span, dtype=table.dtype)
        if self.searchable:
            prefix = np.concatenate([[0], np.cumsum(table)])
            place = np.arange(len(grown))
            upper = np.minimum(place + 1, len(table))
            lower = np.clip(place - span, 0, len(table))
            return np.asarray((prefix[upper] - prefix[lower]) * self.weights[0])
        for offset, weight in zip(self.values - self.values[0], self.weights, strict=True):
            grown[offset : offset + len(table)] += weight * table
        return grown if exact else grown / grown.max()

    def draw(self, sizes: IntArray, totals: IntArray, starts: IntArray, found: IntArray, random: Randomness) -> None:
        left = totals - sizes * self.values[0]  # every item counted from the smallest value
        for size in range(int(sizes.max()), 0, -1):
            active = np.flatnonzero(sizes >= size)
            step = self._search if self.searchable else self._weigh
            offsets, rows = step(size, left[active], random)
            found[starts[active] + sizes[active] - size] = rows
            left[active] -= offsets
        assert not left.any()

    def _search(self, size: int, left: IntArray, random: Randomness) -> tuple[IntArray, IntArray]:
        """One search in the prefix sums per group (I2)."""
        prefix, span = self.prefix[size - 1], int(self.values[-1] - self.values[0])
        upper = np.minimum(left + 1, len(prefix) - 1)
        lower = np.clip(left - span, 0, len(prefix) - 1)
        weight = prefix[upper] - prefix[lower]
        _require_positive(weight)
        target = prefix[lower] + random.below(weight)
        rest = np.searchsorted(prefix, target, side="right") - 1
        offsets = left - rest
        return offsets, offsets

    def _weigh(self, size: int, left: IntArray, random: Randomness) -> tuple[IntArray, IntArray]:
        """All values weighed for every group (I1)."""
        table = self.sums[size - 1]
        offsets = self.values - self.values[0]
        rows = np.empty(len(left), dtype=np.int64)
        step = max(1, _CELLS // len(offsets))
        for start in range(0, len(left), step):
            rest = left[start : start + step, None] - offsets
            inside = (rest >= 0) & (rest < len(table))
            weight = np.where(inside, table[np.where(inside, rest, 0)], 0) * self.weights
            cumulative = np.cumsum(weight, axis=1)
            _require_positive(cumulative[:, -1])
            target = (
                random.below(cumulative[:, -1].astype(np.int64))
                if cumulative.dtype == np.int64
                else random.uniform(len(rest)) * cumulative[:, -1]
            )
            rows[start : start + step] = (cumulative <= target[:, None]).sum(axis=1)
        rows = np.minimum(rows, len(offsets) - 1)
        return offsets[rows], rows


def _require_positive(weight: NDArray[np.generic]) -> None:
    wrong = int((np.asarray(weight) <= 0).sum())
    if wrong:
        raise Infeasible(
            f"{wrong} groups have a total that their items cannot reach", hint="change the totals or the domain"
        )


def _one_by_one(
    values: IntArray,
    weights: FloatArray,
    sizes: IntArray,
    totals: IntArray,
    starts: IntArray,
    chosen: IntArray,
    found: IntArray,
    random: Randomness,
) -> None:
    """Large groups over wide domains: each is a table with one total of its own."""
    for group in chosen:
        sampler = TotalSampler([values[:, None]], [weights], np.zeros(int(sizes[group]), dtype=np.int64))
        found[starts[group] : starts[group] + sizes[group]] = sampler.draw(totals[group : group + 1], random)
