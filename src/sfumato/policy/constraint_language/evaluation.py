"""Whether rules hold, judged on the texts of a table alone: the audit's own evaluator, exact and without a line of the
methods.

Guarantee
    A rule is counted as kept only when no record (group, combination) breaks it; arithmetic is in whole numbers over a
    common denominator, never in floats.

Notation
    missing     an empty cell. A condition that needs it is neither kept nor broken, as in a database's check
                constraints; aggregates leave it out, and a rule about the mean or extreme of nothing is broken.
    verdict     two masks, `true` and `false`; where both are unset the value is missing
    frame       the table whose rows a condition is about; columns of other tables are reached through `references`

>>> from sfumato.policy.constraint_language import parse
>>> table = {"a": ["1", "2", "3"], "b": ["2", "2", "4"]}
>>> [ConstraintEvaluator({None: table}).broken(parse(text)) for text in ("a < b", "unique(b)", "mean(a) = 2",
...     "a determines b")]
[1, 1, 0, 0]


Order rules
-----------
Rules about the order of records inside groups, judged on the texts of a table, from the definitions, record by record.

Sums up to each record, values that never fall, intervals that do not overlap; and the correlation of two columns.


Partial aggregates
------------------
Aggregates over records that lie in several files: what each file adds, put together exactly.

>>> from sfumato.policy.constraint_language.evaluated_values import parse_column as read
>>> one, two = (Partial.of(value, np.arange(2)) for value in (read(["1", "2"]), read(["0.5", "7"])))
>>> value = one.plus(two).value("mean")
>>> value.parts.tolist(), value.denominator
([21], 8)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray
from sfumato.core.errors import DataError
from sfumato.data.check_digits import is_valid
from sfumato.data.regular_expressions import matches_pattern
from sfumato.policy.constraint_language import IntegrityRule, columns_of, conjuncts
from sfumato.policy.constraint_language.evaluated_values import (
    Cells,
    Value,
    aggregate_groups,
    align_values,
    calculate,
    combine_masks,
    encode_column,
    parse_column,
    repeat_in_rows,
    rows_by_group,
    scalar,
    shrink_integers,
    value_of_scalars,
)
from sfumato.policy.constraint_language.functions import FUNCTIONS, Scalar, call
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Any_,
    Arithmetic,
    AtLeast,
    AtMost,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Determines,
    Expression,
    Function,
    Histogram,
    Implies,
    Increasing,
    IsNull,
    Localities,
    Match,
    Membership,
    Negative,
    NoOverlap,
    Not,
    Number,
    Own,
    References,
    Running,
    SameMultiset,
    Statement,
    Unique,
    Valid,
)
from sfumato.policy.constraint_language.syntax_tree import TextConstant as Quoted
from sfumato.policy.custom_code import custom_rule_holds as own_code

Tables = Mapping[str | None, Mapping[str, Cells]]


@dataclass(frozen=True)
class RuleVerdict:
    """Where a condition is true and where it is false."""

    true: BoolArray
    false: BoolArray


class ConstraintEvaluator:
    """Counts how often rules are broken in `tables`; `originals` are needed only by rules that mention the original."""

    def __init__(
        self,
        tables: Tables,
        originals: Tables | None = None,
        references: Sequence[References] = (),
        known: Mapping[Aggregate, Value] | None = None,
    ) -> None:
        self.tables = tables
        self.known = known or {}
        """Aggregates over more records than are at hand."""
        self.originals = originals or {}
        self.references = list(references)
        self._read: dict[ColumnValue, Value] = {}

    def broken(self, rule: IntegrityRule) -> int:
        """The number of records (or groups, or combinations) that break the rule; 0 when it holds."""
        return sum(self.broken_by(part) for part in conjuncts(rule.body))

    def broken_by(self, part: Condition | Statement) -> int:
        """The same for one clause of a rule."""
        if isinstance(part, Statement):
            return int(_STATEMENTS[type(part)](self, part))
        frame = self._frame(part)
        verdict = self.verdict(part, frame)
        aggregates = [node for node in part.walk() if isinstance(node, Aggregate)]
        false = ~verdict.true if aggregates else verdict.false  # the mean of nothing keeps no promise
        if any(node.by for node in aggregates):
            return self._groups(part, np.broadcast_to(false, (self._rows(frame),)), frame)
        return int(false.sum())

    def _groups(self, part: Condition, false: BoolArray, frame: str | None) -> int:
        keys = next(node.by for node in part.walk() if isinstance(node, Aggregate) and node.by)
        labels = self._labels(tuple(ColumnValue(k.name, k.table) for k in keys))
        return len(np.unique(labels[false]))

    def _rows(self, frame: str | None, original: bool = False) -> int:
        tables = self.originals if original else self.tables
        return len(encode_column(next(iter(tables[frame].values()), ())).codes)

    def _frame(self, part: Condition) -> str | None:
        """The table whose rows a condition is about: the one that is grouped, else the child among its tables.

        A child does not serve the others as a parent here; of tables that refer to each other it is that of the first
        reference."""
        tables = {column.table for column in columns_of(part)} or {next(iter(self.tables))}
        grouped = {key.table for node in part.walk() if isinstance(node, Aggregate) for key in node.by}
        if len(grouped) == 1:
            return next(iter(grouped))
        pairs = [(r.child[0].table, r.parent[0].table) for r in self.references]
        inner = [(child, parent) for child, parent in pairs if child in tables and parent in tables and child != parent]
        children = sorted(tables - {parent for _, parent in inner}, key=str) or [child for child, _ in inner]
        return children[0]

    # ---- conditions --------------------------------------------------------------------------------------------------

    def verdict(self, node: Condition, frame: str | None) -> RuleVerdict:
        if isinstance(node, (All, Any_)):
            return self._joined(node, frame)
        if isinstance(node, Not):
            inner = self.verdict(node.part, frame)
            return RuleVerdict(inner.false, inner.true)
        if isinstance(node, Implies):
            return self._joined(Any_((Not(node.condition), node.consequence)), frame)
        if isinstance(node, Membership):
            return self._joined(Any_(tuple(Compare("=", node.value, option) for option in node.options)), frame)
        if isinstance(node, Match):
            value = self._text(node.value, frame)
            hit = matches_pattern(node.pattern, value.parts)
            return RuleVerdict(hit & ~value.missing, ~hit & ~value.missing)
        if isinstance(node, IsNull):
            missing = self._text(node.value, frame).missing
            return RuleVerdict(missing, ~missing)
        if isinstance(node, Own):
            return self._own(node, frame)
        if isinstance(node, Valid):
            value = self._text(node.value, frame)
            hit = np.array([is_valid(node.system, cell) for cell in value.parts.tolist()], dtype=bool)
            return RuleVerdict(hit & ~value.missing, ~hit & ~value.missing)
        assert isinstance(node, Compare)
        return self._compare(node, frame)

    def _own(self, node: Own, frame: str | None) -> RuleVerdict:
        """What the data holder's code answers; a record with something missing neither keeps nor breaks it."""
        values = [self._text(column, frame) for column in node.arguments]
        known = ~combine_masks(np.logical_or, [value.missing for value in values])
        rows = list(zip(*(value.parts.tolist() for value in values), strict=True))
        answers = {row: own_code(node, row) for row in {row for row, there in zip(rows, known, strict=True) if there}}
        hit = np.array([answers.get(row, False) for row in rows], dtype=bool)
        return RuleVerdict(hit & known, ~hit & known)

    def _joined(self, node: All | Any_, frame: str | None) -> RuleVerdict:
        found = [self.verdict(part, frame) for part in node.parts]
        true, false = [f.true for f in found], [f.false for f in found]
        if isinstance(node, All):
            return RuleVerdict(combine_masks(np.logical_and, true), combine_masks(np.logical_or, false))
        return RuleVerdict(combine_masks(np.logical_or, true), combine_masks(np.logical_and, false))

    def _compare(self, node: Compare, frame: str | None) -> RuleVerdict:
        if _is_text(node.left) or _is_text(
            node.right
        ):  # what is a text is compared with texts, whatever they look like
            left, right = self._text(node.left, frame), self._text(node.right, frame)
        else:
            left, right = align_values(self.value(node.left, frame), self.value(node.right, frame))
        known = ~(left.missing | right.missing)
        if node.tolerance:
            difference = abs(left.parts - right.parts) * node.tolerance.denominator
            hit = difference <= node.tolerance.numerator * left.denominator
        else:
            hit = _OPERATORS[node.operator](left.parts, right.parts)
        hit = np.asarray(hit, dtype=bool)
        return RuleVerdict(hit & known, ~hit & known)

    # ---- values ------------------------------------------------------------------------------------------------------

    def _text(self, node: Expression, frame: str | None) -> Value:
        """A column or a quoted constant as texts, whatever they look like."""
        if isinstance(node, ColumnValue):
            text = encode_column(self._cells(node))
            cells = np.array(text.labels, dtype=object)[text.codes]
            if node.table != frame:
                cells = cells[self._parent_rows(frame, node.table)]
            return Value(cells, 0, cells == "")
        found = self.value(node, frame)
        if found.denominator:
            raise DataError("a rule compares a text with a number or a day", hint="check the column's values")
        return found

    def value(self, node: Expression, frame: str | None) -> Value:
        if isinstance(node, Number):
            return scalar(node.value)
        if isinstance(node, Date):
            return scalar(Fraction(node.value.toordinal()))
        if isinstance(node, Quoted):
            return Value(np.array([node.value], dtype=object), 0, np.zeros(1, dtype=bool))
        if isinstance(node, ColumnValue):
            return self._column(node, frame)
        if isinstance(node, Cell):
            whole = self.column(node.column)
            if node.record > len(whole.parts):
                raise DataError(f"there is no record {node.record}", hint="records count from 1")
            place = slice(node.record - 1, node.record)
            return Value(whole.parts[place], whole.denominator, whole.missing[place])
        if isinstance(node, Aggregate):
            return self.known[node] if node in self.known else self._aggregate(node, frame)
        if isinstance(node, Negative):
            inner = self.value(node.value, frame)
            return Value(-inner.parts, inner.denominator, inner.missing)
        if isinstance(node, Function):
            return self._function(node, frame)
        if isinstance(node, Running):
            return self._running(node)
        assert isinstance(node, Arithmetic)
        return calculate(node.operator, self.value(node.left, frame), self.value(node.right, frame))

    def _function(self, node: Function, frame: str | None) -> Value:
        kinds = FUNCTIONS[node.name].arguments
        found = [self._argument(one, kind, frame) for one, kind in zip(node.arguments, kinds, strict=True)]
        rows = max(len(scalars) for scalars in found)
        spread = [scalars * rows if len(scalars) == 1 else scalars for scalars in found]
        known = {row: call(node.name, row) for row in set(zip(*spread, strict=True)) if None not in row}
        return value_of_scalars([known.get(row) for row in zip(*spread, strict=True)], FUNCTIONS[node.name].result)

    def _argument(self, node: Expression, kind: str, frame: str | None) -> list[Scalar | None]:
        written = kind == "text" or isinstance(node, Quoted) or (kind == "any" and isinstance(node, ColumnValue))
        value = self._text(node, frame) if written else self.value(node, frame)
        if value.denominator == 0:
            return [None if gone else str(part) for part, gone in zip(value.parts.tolist(), value.missing, strict=True)]
        made = [
            None if gone else Fraction(int(part), value.denominator)
            for part, gone in zip(value.parts, value.missing, strict=True)
        ]
        return list(made)

    def _running(self, node: Running) -> Value:
        along, value = self.column(node.along), self.value(node.argument, node.along.table)
        groups = self._labels(node.by).tolist() if node.by else [0] * len(along.parts)
        found = running_sums(groups, along.parts, along.missing, value.parts, value.missing)
        return Value(shrink_integers(found), value.denominator, along.missing)

    def column(self, column: ColumnValue) -> Value:
        """A whole column of its own table."""
        if column not in self._read:
            self._read[column] = parse_column(self._cells(column))
        return self._read[column]

    def _column(self, column: ColumnValue, frame: str | None) -> Value:
        found = self.column(column)
        if column.table == frame:
            return found
        rows = self._parent_rows(frame, column.table)
        return Value(found.parts[rows], found.denominator, found.missing[rows] | (rows < 0))

    def _parent_rows(self, child: str | None, parent: str | None) -> NDArray[np.int64]:
        for reference in self.references:
            if reference.child[0].table == child and reference.parent[0].table == parent:
                place = {key: row for row, key in enumerate(self._keys(reference.parent))}
                return np.array([place.get(key, -1) for key in self._keys(reference.child)], dtype=np.int64)
        raise DataError(f"no rule says how table {child} refers to table {parent}", hint="add a 'references' rule")

    def _cells(self, column: ColumnValue) -> Cells:
        tables = self.originals if column.original else self.tables
        try:
            return tables[column.table][column.name]
        except KeyError:
            where = "the original" if column.original else "the table"
            raise DataError(f"column '{column.name}' is not in {where}") from None

    def _keys(self, columns: tuple[ColumnValue, ...]) -> list[tuple[str, ...]]:
        """The combination of texts in every record."""
        found = [encode_column(self._cells(column)) for column in columns]
        return list(zip(*(np.array(text.labels, dtype=object)[text.codes].tolist() for text in found), strict=True))

    def _labels(self, columns: tuple[ColumnValue, ...]) -> NDArray[np.int64]:
        """The number of the record's combination; equal numbers, equal combinations."""
        label: NDArray[np.int64] | None = None
        for column in columns:
            text = encode_column(self._cells(column))
            joined = text.codes if label is None else label * len(text.labels) + text.codes
            label = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        assert label is not None
        return label

    def _aggregate(self, node: Aggregate, frame: str | None) -> Value:
        if node.function == "correlation":
            return self._correlation(node)
        own = self._own_frame(node, frame)
        value, used = self._used(node, own, self._rows(own, any(column.original for column in columns_of(node))))
        if not node.by:
            return aggregate_groups(node.function, value, [np.flatnonzero(used)], node.share)
        back = any(column.original for column in columns_of(node))
        keys = tuple(ColumnValue(k.name, k.table, original=back) for k in node.by)
        labels = self._labels(keys)
        found = aggregate_groups(node.function, value, rows_by_group(labels, used), node.share)
        if back:  # groups of the original, met by their names
            place = dict(zip(self._keys(keys), labels.tolist(), strict=True))
            mine = self._keys(tuple(ColumnValue(k.name, k.table) for k in node.by))
            labels = np.array([place.get(key, -1) for key in mine], dtype=np.int64)
        return Value(found.parts[labels], found.denominator, found.missing[labels] | (labels < 0))

    def adds(self, node: Aggregate) -> Partial:
        """What the records at hand add to an aggregate without groups."""
        own = self._own_frame(node, None)
        value, used = self._used(node, own, self._rows(own))
        return Partial.of(value, np.flatnonzero(used))

    def _used(self, node: Aggregate, frame: str | None, rows: int) -> tuple[Value, BoolArray]:
        """The values that an aggregate is about, and which of them count."""
        value = Value(np.ones(rows, dtype=np.int64), 1, np.zeros(rows, dtype=bool))
        if node.argument is not None:
            value = repeat_in_rows(self.value(node.argument, frame), rows)
        used = ~value.missing
        if node.where is not None:
            used = used & np.broadcast_to(self.verdict(node.where, frame).true, (rows,))
        return value, used

    def _correlation(self, node: Aggregate) -> Value:
        assert isinstance(node.argument, Function)
        one, two = (self.value(column, columns_of(column)[0].table) for column in node.argument.arguments)
        both = ~(one.missing | two.missing)
        found = (
            correlation([int(v) for v in one.parts[both]], [int(v) for v in two.parts[both]]) if both.any() else None
        )
        missing = Value(np.zeros(1, dtype=np.int64), 1, np.ones(1, dtype=bool))
        return missing if found is None else scalar(found)

    def _own_frame(self, node: Aggregate, frame: str | None) -> str | None:
        tables = {column.table for column in columns_of(node)}
        return frame if not tables or frame in tables else next(iter(tables))

    # ---- statements --------------------------------------------------------------------------------------------------

    def _unique(self, node: Unique) -> int:
        labels = self._labels(node.columns)
        return len(labels) - (int(labels.max(initial=-1)) + 1)  # they are numbered without gaps

    def _determines(self, node: Determines) -> int:
        left, right = self._labels(node.left), self._labels(node.right)
        _, first = np.unique(left, return_index=True)
        return int((right[first][left] != right).sum())

    def _same_multiset(self, node: SameMultiset) -> int:
        now = Counter(self._keys(node.columns))
        before = Counter(self._keys(tuple(ColumnValue(c.name, c.table, True) for c in node.columns)))
        return sum((now - before).values()) + sum((before - now).values())

    def _histogram(self, node: Histogram) -> int:
        """Return the records in bins whose group has more records there than the original."""
        counts = []
        for original in (False, True):
            value = self.column(ColumnValue(node.column.name, node.column.table, original))
            if value.denominator == 0:
                raise DataError("a histogram of texts has no bins", hint="use same_multiset")
            groups = (
                self._keys(tuple(ColumnValue(c.name, c.table, original) for c in node.by))
                if node.by
                else [()] * len(value.parts)
            )
            scale, width = node.width.denominator, value.denominator * node.width.numerator
            bins = [
                None if gone else int(part) * scale // width
                for part, gone in zip(value.parts, value.missing, strict=True)
            ]
            counts.append(Counter(zip(groups, bins, strict=True)))
        return (counts[0] - counts[1]).total() + (counts[1] - counts[0]).total()

    def _at_least(self, node: AtLeast) -> int:
        counts = np.bincount(self._labels(node.columns))
        return int(counts[counts < node.count].sum())

    def _at_most(self, node: AtMost) -> int:
        counts = np.bincount(self._labels(node.columns))
        return int((counts[counts > node.count] - node.count).sum())

    def _increasing(self, node: Increasing) -> int:
        along, value = self.column(node.along), self.column(node.column)
        groups = self._labels(node.by).tolist() if node.by else [0] * len(along.parts)
        return count_decreases(groups, along.parts, along.missing, value.parts, value.missing)

    def _no_overlap(self, node: NoOverlap) -> int:
        start, end = align_values(self.column(node.start), self.column(node.end))
        groups = self._labels(node.by).tolist() if node.by else [0] * len(start.parts)
        return count_overlapping_intervals(groups, start.parts, end.parts, start.missing | end.missing)

    def _references(self, node: References) -> int:
        known = set(self._keys(node.parent))
        return sum(key not in known and any(key) for key in self._keys(node.child))

    def _localities(self, node: Localities) -> int:
        raise DataError("localities are judged with the pattern they were taken from", where=str(node.columns[0]))


def _is_text(node: Expression) -> bool:
    return isinstance(node, Quoted) or (isinstance(node, Function) and FUNCTIONS[node.name].result == "text")


_STATEMENTS: dict[type[Statement], Any] = {
    Unique: ConstraintEvaluator._unique,
    Determines: ConstraintEvaluator._determines,
    SameMultiset: ConstraintEvaluator._same_multiset,
    Histogram: ConstraintEvaluator._histogram,
    AtLeast: ConstraintEvaluator._at_least,
    AtMost: ConstraintEvaluator._at_most,
    Increasing: ConstraintEvaluator._increasing,
    NoOverlap: ConstraintEvaluator._no_overlap,
    References: ConstraintEvaluator._references,
    Localities: ConstraintEvaluator._localities,
}
_OPERATORS: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


# Order rules
# -----------


def in_order(groups: Sequence[Any], along: NDArray[Any], missing: BoolArray) -> Iterator[list[int]]:
    """The records of every group in the order of `along`; records without a place in the order are left out."""
    found: dict[Any, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        if not missing[row]:
            found[group].append(row)
    for rows in found.values():
        yield sorted(rows, key=lambda row: along[row])


def running_sums(
    groups: Sequence[Any], along: NDArray[Any], missing: BoolArray, values: NDArray[Any], unknown: BoolArray
) -> NDArray[Any]:
    """The sum of a group's values up to each record; what is missing adds nothing."""
    found = np.zeros(len(values), dtype=object)
    for rows in in_order(groups, along, missing):
        total = 0
        for row in rows:
            total += 0 if unknown[row] else int(values[row])
            found[row] = total
    return found


def count_decreases(
    groups: Sequence[Any], along: NDArray[Any], missing: BoolArray, values: NDArray[Any], unknown: BoolArray
) -> int:
    """How often a value is below the one before it in its group."""
    count = 0
    for rows in in_order(groups, along, missing):
        known = [values[row] for row in rows if not unknown[row]]
        count += sum(later < earlier for earlier, later in pairwise(known))
    return count


def count_overlapping_intervals(
    groups: Sequence[Any], starts: NDArray[Any], ends: NDArray[Any], unknown: BoolArray
) -> int:
    """How many intervals begin before an earlier one of their group has ended."""
    count = 0
    for rows in in_order(groups, starts, unknown):
        latest = None
        for row in rows:
            count += latest is not None and starts[row] < latest
            latest = ends[row] if latest is None else max(latest, ends[row])
    return count


def correlation(one: Sequence[int], two: Sequence[int]) -> Fraction | None:
    """Pearson's coefficient, to nine places; none when a column does not vary."""
    count = len(one)
    left, right = [count * value - sum(one) for value in one], [count * value - sum(two) for value in two]
    spread = sum(value * value for value in left) * sum(value * value for value in right)
    if not spread:
        return None
    return Fraction(sum(a * b for a, b in zip(left, right, strict=True)) / float(spread) ** 0.5).limit_denominator(
        10**9
    )


# Partial aggregates
# ------------------


@dataclass(frozen=True)
class Partial:
    """How many values there are, and of numbers their sum, the smallest and the largest."""

    count: int = 0
    total: Fraction = Fraction(0)
    least: Fraction | None = None
    most: Fraction | None = None
    texts: bool = False

    @classmethod
    def of(cls, value: Value, rows: NDArray[np.int64]) -> Partial:
        """What some rows add."""
        if value.denominator == 0 or not len(rows):
            return cls(len(rows), texts=value.denominator == 0)
        found, over = value.parts[rows].astype(object), value.denominator
        return cls(
            len(rows),
            Fraction(int(found.sum()), over),
            Fraction(int(found.min()), over),
            Fraction(int(found.max()), over),
        )

    def plus(self, other: Partial) -> Partial:
        """Both together."""
        least = min((one for one in (self.least, other.least) if one is not None), default=None)
        most = max((one for one in (self.most, other.most) if one is not None), default=None)
        return Partial(self.count + other.count, self.total + other.total, least, most, self.texts or other.texts)

    def value(self, function: str) -> Value:
        """The aggregate; mean, min and max of nothing are missing."""
        if function == "count":
            return scalar(Fraction(self.count))
        if self.texts:
            raise DataError("a rule calculates with a text", hint="check the column's values")
        mean = self.total / self.count if self.count else None
        found = {"sum": self.total, "mean": mean, "min": self.least, "max": self.most}[function]
        return Value(np.zeros(1, dtype=np.int64), 1, np.ones(1, dtype=bool)) if found is None else scalar(found)
