"""From per-record rules to the space of legal records, or None when only a solver can find them.

The columns fall into groups that no rule joins; each group becomes the cheapest shape that is exact: intervals, a
pattern with the conditions folded into its automaton, an explicit table grown column by column, or a tree of ordered
columns.

Paper: [obfuscation §5.1]. The paper hands every such sub-problem to a solver; counting is exact and uniform.


Spaces
------
The space of legal records, numbered: how many there are and which is number r, for many numbers at once.

Four shapes, from cheap to general: a few intervals of one ordered column; an explicit table of legal combinations; a
tree of ordered columns joined by comparisons (`a < b`, `b <= c + 30`), counted by prefix sums; and the product of
independent spaces.

Invariants
    I1  `codes` is a bijection from 0 … size − 1 onto the legal records, so uniform ranks give uniform legal records and
        distinct ranks give distinct records.
    I2  In a tree the number of completions below a column depends on its own value only, and legal child values form an
        interval, so prefix sums count them.

Paper: per-record parts of [obfuscation §5.1, Stage 1.2], without a solver.


Pattern conditions
------------------
Conditions on a pattern column become further automata that run beside it: the legal texts stay numbered and countable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.kinds.testdata.methods.sampling import keyed_randomness
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Spelled, Steps
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Columns, Vector, holds
from sfumato.kinds.testdata.methods.sampling.problem import IntegerForm, Numberings, integer_form
from sfumato.kinds.testdata.methods.sampling.text_patterns import Accept, NumberedTexts, Syntax, automaton, literal
from sfumato.policy.constraint_language import columns_of
from sfumato.policy.constraint_language.syntax_tree import (
    All,
    Any_,
    ColumnValue,
    Compare,
    Condition,
    Expression,
    Function,
    Implies,
    Match,
    Membership,
    Not,
    Number,
    TextConstant,
)

Records = dict[ColumnValue, IntArray]


class LegalSpace(Protocol):
    """Legal combinations of some columns."""

    @property
    def columns(self) -> tuple[ColumnValue, ...]: ...

    @property
    def size(self) -> int: ...

    def codes(self, ranks: IntArray) -> Records: ...


@dataclass(frozen=True)
class Intervals:
    """One column whose legal codes are the given runs low … high."""

    column: ColumnValue
    lows: IntArray
    highs: IntArray

    @property
    def columns(self) -> tuple[ColumnValue, ...]:
        return (self.column,)

    @property
    def size(self) -> int:
        return int((self.highs - self.lows + 1).sum())

    def codes(self, ranks: IntArray) -> Records:
        if len(self.lows) == 1:
            return {self.column: ranks + int(self.lows[0])}
        ends: IntArray = np.cumsum(self.highs - self.lows + 1)
        run = np.searchsorted(ends, ranks, side="right")
        return {self.column: self.highs[run] - (ends[run] - 1 - ranks)}


@dataclass(frozen=True)
class Listing:
    """An explicit table of legal combinations; one row each."""

    columns: tuple[ColumnValue, ...]
    rows: IntArray

    @property
    def size(self) -> int:
        return len(self.rows)

    def codes(self, ranks: IntArray) -> Records:
        return {column: self.rows[ranks, place] for place, column in enumerate(self.columns)}


@dataclass(frozen=True)
class Branch:
    """A column of a tree: for each code of its parent, the interval of its own codes that is legal."""

    column: ColumnValue
    parent: int
    low: IntArray
    high: IntArray


class Tree:
    """Ordered columns joined by interval constraints without a cycle; branch 0 is the root, parents come before
    children."""

    def __init__(self, branches: list[Branch], allowed: list[NDArray[np.bool_]]) -> None:
        self.branches = branches
        self._columns = tuple(branch.column for branch in branches)
        below = [allow.astype(object if _huge(allowed) else np.int64) for allow in allowed]
        self._prefix: list[NDArray[Any]] = [np.zeros(0)] * len(branches)
        for place in range(len(branches) - 1, -1, -1):
            self._prefix[place] = np.concatenate([[0], np.cumsum(below[place])])
            branch = branches[place]
            if place:
                below[branch.parent] = below[branch.parent] * self._between(place)  # I2
        self.weights = below[0]
        self._size = int(self._prefix[0][-1])

    @property
    def columns(self) -> tuple[ColumnValue, ...]:
        return self._columns

    @property
    def size(self) -> int:
        return self._size

    def _between(self, place: int) -> NDArray[Any]:
        branch = self.branches[place]
        prefix = self._prefix[place]
        low = np.clip(branch.low, 0, len(prefix) - 1)
        high = np.clip(branch.high + 1, low, len(prefix) - 1)
        return np.asarray(prefix[high] - prefix[low])

    def codes(self, ranks: IntArray) -> Records:
        prefix = self._prefix[0]
        root = np.searchsorted(prefix, ranks, side="right") - 1  # I1
        return self.given_root(root.astype(np.int64), (ranks - prefix[root]))

    def given_root(self, root: IntArray, rest: IntArray) -> Records:
        """The records whose first column is `root`, numbered by `rest` among those with the same root."""
        found = [root]
        left = [rest]
        for place, branch in enumerate(self.branches[1:], start=1):
            parent = branch.parent
            above = found[parent]
            prefix = self._prefix[place]
            low = np.clip(branch.low[above], 0, len(prefix) - 1)
            high = np.clip(branch.high[above] + 1, low, len(prefix) - 1)
            many = prefix[high] - prefix[low]
            own, rank = left[parent] // many, left[parent] % many
            left[parent] = own
            target = prefix[low] + rank
            code = np.searchsorted(prefix, target, side="right") - 1
            found.append(code.astype(np.int64))
            left.append(target - prefix[code])
        return dict(zip(self.columns, found, strict=True))


def _huge(allowed: list[NDArray[np.bool_]]) -> bool:
    return math.prod(len(allow) for allow in allowed) >= keyed_randomness.LARGEST


@dataclass(frozen=True)
class Product:
    """Independent spaces side by side."""

    factors: tuple[LegalSpace, ...]

    @property
    def columns(self) -> tuple[ColumnValue, ...]:
        return tuple(column for factor in self.factors for column in factor.columns)

    @property
    def size(self) -> int:
        return math.prod(factor.size for factor in self.factors)

    def codes(self, ranks: IntArray) -> Records:
        found: Records = {}
        for factor in reversed(self.factors):
            ranks, own = ranks // factor.size, ranks % factor.size  # I1
            found.update(factor.codes(own))
        return found


def draw(space: LegalSpace, key: bytes, records: IntArray) -> Records:
    """A uniform legal record for each record number; a function of key and number only."""
    if isinstance(space, Product):
        found: Records = {}
        for place, factor in enumerate(space.factors):
            found.update(draw(factor, derived(key, place), records))
        return found
    return space.codes(
        _wide(key, space.size, records)
        if space.size > keyed_randomness.LARGEST
        else keyed_randomness.ranks(key, space.size, records)
    )


def _wide(key: bytes, size: int, records: IntArray) -> IntArray:
    """Ranks beyond 62 bits, as Python's integers; 64 more bits than the size make the remainder's bias negligible."""
    lanes = size.bit_length() // 64 + 2
    total = np.zeros(len(records), dtype=object)
    cipher = keyed_randomness.Cipher(key)
    for lane in range(lanes):
        total = total * (1 << 64) + cipher.words(records, lane).astype(object)
    return total % size


def derived(key: bytes, name: int | str) -> bytes:
    """An independent key."""
    import hashlib

    return hashlib.sha256(key + b"\0" + str(name).encode()).digest()[:16]


# Legal
# -----


_ROWS = 4_000_000
_WIDE = 20_000_000
_SPELLED = 100_000


@dataclass(frozen=True)
class Legal:
    """The space, and the numbering of every column in it (a pattern's numbering changes when conditions narrow it)."""

    space: Product
    levels: dict[ColumnValue, Levels]


def legal_space(
    levels: Numberings, conditions: list[Condition], given: Columns, root: ColumnValue | None = None
) -> Legal | None:
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


def components(
    columns: list[ColumnValue], conditions: list[Condition]
) -> list[tuple[list[ColumnValue], list[Condition]]]:
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


# ---- one column ------------------------------------------------------------------------------------------------------


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


# ---- an explicit table -----------------------------------------------------------------------------------------------


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


def _options(
    levels: dict[ColumnValue, Levels], conditions: list[Condition], given: Columns
) -> dict[ColumnValue, IntArray] | None:
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
        table: dict[ColumnValue, Vector] = {
            **given,
            **{column: levels[column].vector(codes) for column, codes in rows.items()},
        }
        keep = np.broadcast_to(holds(condition, table), (len(next(iter(rows.values()))),))
        rows = {column: codes[keep] for column, codes in rows.items()}
    return rows


def _solved(
    column: ColumnValue,
    rows: Mapping[ColumnValue, IntArray],
    waiting: list[Condition],
    levels: Numberings,
    given: Columns,
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


# ---- a tree of ordered columns ---------------------------------------------------------------------------------------


def _tree(
    levels: dict[ColumnValue, Levels], conditions: list[Condition], given: Columns, root: ColumnValue | None
) -> Tree | None:
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


# Pattern conditions
# ------------------


def spelled(
    column: ColumnValue, numbering: Spelled, conditions: list[Condition], given: Columns
) -> tuple[LegalSpace | None, dict[ColumnValue, Levels]]:
    """The legal texts of a pattern column, and their numbering; None when a condition is of another kind."""
    atoms: list[str | Syntax] = [numbering.pattern]
    tests = []
    for condition in conditions:
        test = _test(condition, column, atoms, given)
        if test is None:
            return None, {}
        tests.append(test)
    words = (
        numbering.words
        if not tests
        else NumberedTexts(automaton(atoms, lambda m: all(t(m) for t in tests)), numbering.words.longest)
    )
    space = Intervals(
        column, np.array([0]), np.array([words.size - 1], dtype=object if words.size > 1 << 62 else np.int64)
    )
    return space, {column: Spelled(words, numbering.pattern)}


def _test(condition: Condition, column: ColumnValue, atoms: list[str | Syntax], given: Columns) -> Accept | None:
    """A predicate on the list of patterns that match, or None when the condition is of another kind."""
    if isinstance(condition, (All, Any_)):
        parts = [_test(part, column, atoms, given) for part in condition.parts]
        tests = [part for part in parts if part is not None]
        fold = all if isinstance(condition, All) else any
        return None if len(tests) < len(parts) else lambda m: fold(test(m) for test in tests)
    if isinstance(condition, Not):
        inner = _test(condition.part, column, atoms, given)
        return None if inner is None else lambda m: not inner(m)
    if isinstance(condition, Implies):
        return _test(Any_((Not(condition.condition), condition.consequence)), column, atoms, given)
    if isinstance(condition, Membership):
        equal = tuple(Compare("=", condition.value, option) for option in condition.options)
        return _test(Any_(equal), column, atoms, given)
    if isinstance(condition, Match) and condition.value == column:
        atoms.append(condition.pattern)
        place = len(atoms) - 1
        return lambda m: m[place]
    if isinstance(condition, Compare) and condition.right == Function("length", (column,)):
        condition = Compare(_TURNED[condition.operator], condition.right, condition.left, condition.tolerance)
    if isinstance(condition, Compare) and condition.left == Function("length", (column,)):
        return _long(condition, atoms)
    if isinstance(condition, Compare) and condition.operator in ("=", "!="):
        return _equals(condition, column, atoms, given)
    return None


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_LENGTHS = {"=": ".{%d}", "<=": ".{0,%d}", ">=": ".{%d}.*"}


def _long(condition: Compare, atoms: list[str | Syntax]) -> Accept | None:
    """`length(c)` against a whole number."""
    if not isinstance(condition.right, Number) or condition.right.value.denominator != 1 or condition.tolerance:
        return None
    sign, count = condition.operator, int(condition.right.value)
    sign, count = ("<=", count - 1) if sign == "<" else (">=", count + 1) if sign == ">" else (sign, count)
    if sign not in _LENGTHS or count < 0:
        return None
    atoms.append(_LENGTHS[sign] % count)
    place = len(atoms) - 1
    return lambda m: m[place]


def _equals(condition: Compare, column: ColumnValue, atoms: list[str | Syntax], given: Columns) -> Accept | None:
    sides = [side for side in (condition.left, condition.right) if side != column]
    text = _text(sides[0], given) if len(sides) == 1 else None
    if text is None:
        return None
    atoms.append(literal(text))
    place = len(atoms) - 1
    return lambda m: m[place] == (condition.operator == "=")


def _text(node: Expression, given: Columns) -> str | None:
    if isinstance(node, TextConstant):
        return node.value
    if isinstance(node, ColumnValue) and node in given and given[node].is_text:
        return str(given[node].levels[0])
    return None
