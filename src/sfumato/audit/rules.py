"""Whether rules hold, judged on the texts of a table alone: the audit's own evaluator, exact and without a line of the methods.

Guarantee
    A rule is counted as kept only when no record (group, combination) breaks it; arithmetic is in whole numbers over a common
    denominator, never in floats.

Notation
    missing     an empty cell. A condition that needs it is neither kept nor broken, as in a database's check constraints;
                aggregates leave it out, and a rule about the mean or extreme of nothing is broken.
    verdict     two masks, `true` and `false`; where both are unset the value is missing
    frame       the table whose rows a condition is about; columns of other tables are reached through `references`

>>> from sfumato.policy.rules import parse
>>> table = {"a": ["1", "2", "3"], "b": ["2", "2", "4"]}
>>> [Judge({None: table}).broken(parse(text)) for text in ("a < b", "unique(b)", "mean(a) = 2", "a determines b")]
[1, 1, 0, 0]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray
from sfumato.data.moments import moment
from sfumato.data.numbers import number
from sfumato.data.regular import matches
from sfumato.data.table import TextColumn
from sfumato.errors import DataError
from sfumato.policy.rules import IntegrityRule, columns_of, conjuncts
from sfumato.policy.rules.tree import (
    Aggregate,
    All,
    Any_,
    Arithmetic,
    AtLeast,
    Cell,
    ColumnValue,
    Compare,
    Condition,
    Date,
    Determines,
    Expression,
    Implies,
    Localities,
    Match,
    Membership,
    Negative,
    Not,
    Number,
    References,
    SameMultiset,
    Statement,
    Unique,
)
from sfumato.policy.rules.tree import TextConstant as Quoted

Cells = Sequence[str] | TextColumn
"""A column: its texts, or codes into its distinct texts."""
Tables = Mapping[str | None, Mapping[str, Cells]]


@dataclass(frozen=True)
class Value:
    """Whole numbers over one denominator (0 marks texts), and where they are missing."""

    parts: NDArray[Any]
    denominator: int
    missing: BoolArray


@dataclass(frozen=True)
class RuleVerdict:
    """Where a condition is true and where it is false."""

    true: BoolArray
    false: BoolArray


class Judge:
    """Counts how often rules are broken in `tables`; `originals` are needed only by rules that mention the original."""

    def __init__(self, tables: Tables, originals: Tables | None = None, references: Sequence[References] = ()) -> None:
        self.tables = tables
        self.originals = originals or {}
        self.references = list(references)
        self._read: dict[ColumnValue, Value] = {}

    def broken(self, rule: IntegrityRule) -> int:
        """The number of records (or groups, or combinations) that break the rule; 0 when it holds."""
        return sum(self._clause(part) for part in conjuncts(rule.body))

    def _clause(self, part: Condition | Statement) -> int:
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
        return len(coded(next(iter(tables[frame].values()), ())).codes)

    def _frame(self, part: Condition) -> str | None:
        """The child among the tables of a condition: the one that does not serve others as a parent here."""
        tables = {column.table for column in columns_of(part)} or {next(iter(self.tables))}
        parents = {r.parent[0].table for r in self.references if r.child[0].table in tables - {r.parent[0].table}}
        return next(iter(sorted(tables - parents, key=str)), next(iter(tables)))

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
            hit = matches(node.pattern, value.parts)
            return RuleVerdict(hit & ~value.missing, ~hit & ~value.missing)
        assert isinstance(node, Compare)
        return self._compare(node, frame)

    def _joined(self, node: All | Any_, frame: str | None) -> RuleVerdict:
        found = [self.verdict(part, frame) for part in node.parts]
        true, false = [f.true for f in found], [f.false for f in found]
        if isinstance(node, All):
            return RuleVerdict(_fold(np.logical_and, true), _fold(np.logical_or, false))
        return RuleVerdict(_fold(np.logical_or, true), _fold(np.logical_and, false))

    def _compare(self, node: Compare, frame: str | None) -> RuleVerdict:
        if isinstance(node.left, Quoted) or isinstance(node.right, Quoted):  # quoted constants are compared as texts
            left, right = self._text(node.left, frame), self._text(node.right, frame)
        else:
            left, right = _alike(self.value(node.left, frame), self.value(node.right, frame))
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
            text = coded(self._cells(node))
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
            return _scalar(node.value)
        if isinstance(node, Date):
            return _scalar(Fraction(node.value.toordinal()))
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
            return self._aggregate(node, frame)
        if isinstance(node, Negative):
            inner = self.value(node.value, frame)
            return Value(-inner.parts, inner.denominator, inner.missing)
        assert isinstance(node, Arithmetic)
        return _calculated(node.operator, self.value(node.left, frame), self.value(node.right, frame))

    def column(self, column: ColumnValue) -> Value:
        """A whole column of its own table."""
        if column not in self._read:
            self._read[column] = read(self._cells(column))
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
        found = [coded(self._cells(column)) for column in columns]
        return list(zip(*(np.array(text.labels, dtype=object)[text.codes].tolist() for text in found), strict=True))

    def _labels(self, columns: tuple[ColumnValue, ...]) -> NDArray[np.int64]:
        """The number of the record's combination; equal numbers, equal combinations."""
        label: NDArray[np.int64] | None = None
        for column in columns:
            text = coded(self._cells(column))
            joined = text.codes if label is None else label * len(text.labels) + text.codes
            label = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        assert label is not None
        return label

    def _aggregate(self, node: Aggregate, frame: str | None) -> Value:
        own = self._own_frame(node, frame)
        rows = self._rows(own, any(column.original for column in columns_of(node)))
        value = Value(np.ones(rows, dtype=np.int64), 1, np.zeros(rows, dtype=bool))
        if node.argument is not None:
            value = _spread(self.value(node.argument, own), rows)
        used = ~value.missing
        if node.where is not None:
            used = used & np.broadcast_to(self.verdict(node.where, own).true, (rows,))
        if not node.by:
            return _reduced(node.function, value, [np.flatnonzero(used)])
        back = any(column.original for column in columns_of(node))
        keys = tuple(ColumnValue(k.name, k.table, original=back) for k in node.by)
        labels = self._labels(keys)
        found = _reduced(node.function, value, _split(labels, used))
        if back:  # groups of the original, met by their names
            place = dict(zip(self._keys(keys), labels.tolist(), strict=True))
            labels = np.array([place.get(k, -1) for k in self._keys(tuple(ColumnValue(k.name, k.table) for k in node.by))])
        return Value(found.parts[labels], found.denominator, found.missing[labels] | (labels < 0))

    def _own_frame(self, node: Aggregate, frame: str | None) -> str | None:
        tables = {column.table for column in columns_of(node)}
        return frame if not tables or frame in tables else next(iter(tables))

    # ---- statements --------------------------------------------------------------------------------------------------

    def _unique(self, node: Unique) -> int:
        labels = self._labels(node.columns)
        return len(labels) - len(np.unique(labels))

    def _determines(self, node: Determines) -> int:
        left, right = self._labels(node.left), self._labels(node.right)
        _, first = np.unique(left, return_index=True)
        return int((right[first][left] != right).sum())

    def _same_multiset(self, node: SameMultiset) -> int:
        now = Counter(self._keys(node.columns))
        before = Counter(self._keys(tuple(ColumnValue(c.name, c.table, True) for c in node.columns)))
        return sum((now - before).values()) + sum((before - now).values())

    def _at_least(self, node: AtLeast) -> int:
        counts = np.bincount(self._labels(node.columns))
        return int(counts[counts < node.count].sum())

    def _references(self, node: References) -> int:
        known = set(self._keys(node.parent))
        return sum(key not in known and any(key) for key in self._keys(node.child))

    def _localities(self, node: Localities) -> int:
        raise DataError("localities are judged with the pattern they were taken from", where=str(node.columns[0]))


_STATEMENTS: dict[type[Statement], Any] = {
    Unique: Judge._unique,
    Determines: Judge._determines,
    SameMultiset: Judge._same_multiset,
    AtLeast: Judge._at_least,
    References: Judge._references,
    Localities: Judge._localities,
}
_OPERATORS: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def coded(cells: Cells) -> TextColumn:
    """A column as codes into its distinct texts; a missing cell is the empty text."""
    if isinstance(cells, TextColumn):
        return cells
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault("" if cell is None else str(cell), len(numbers)) for cell in cells]
    return TextColumn(np.array(codes, dtype=np.int32), tuple(numbers))


def read(cells: Cells) -> Value:
    """A column as numbers when all its values are numbers, as day numbers when all are days, else as texts."""
    text = coded(cells)
    present = [label for label in text.labels if label]
    missing = np.array([not label for label in text.labels], dtype=bool)[text.codes]
    if not present:
        return Value(np.zeros(len(text.codes), dtype=np.int64), 1, missing)
    for parser in (_numbers, _days):
        found = parser(present)
        if found is not None:
            table, denominator = found
            parts = np.array([table.get(label, 0) for label in text.labels], dtype=object)
            return Value(_small(parts)[text.codes], denominator, missing)
    return Value(np.array(text.labels, dtype=object)[text.codes], 0, missing)


def _numbers(texts: list[str]) -> tuple[dict[str, int], int] | None:
    values = {text: number(text) for text in texts}
    fractions = {text: Fraction(value) for text, value in values.items() if value is not None}
    if len(fractions) < len(values):
        return None
    denominator = math.lcm(1, *(value.denominator for value in fractions.values()))
    return {text: int(value * denominator) for text, value in fractions.items()}, denominator


def _days(texts: list[str]) -> tuple[dict[str, int], int] | None:
    """Days and moments, both in days."""
    found = {text: moment(text) for text in texts}
    days = {text: value for text, value in found.items() if value is not None}
    if len(days) < len(found):
        return None
    denominator = math.lcm(1, *(value.denominator for value in days.values()))
    return {text: int(value * denominator) for text, value in days.items()}, denominator


def _small(parts: NDArray[Any]) -> NDArray[Any]:
    """64-bit integers while the numbers are far from overflowing (a factor of 2³¹ to spare)."""
    if len(parts) and max(abs(int(parts.min())), abs(int(parts.max()))) >= 1 << 31:
        return parts
    return parts.astype(np.int64)


def _scalar(value: Fraction) -> Value:
    return Value(_small(np.array([value.numerator], dtype=object)), value.denominator, np.zeros(1, dtype=bool))


def _spread(value: Value, rows: int) -> Value:
    return Value(np.broadcast_to(value.parts, (rows,)), value.denominator, np.broadcast_to(value.missing, (rows,)))


def _fold(operation: Any, masks: list[BoolArray]) -> BoolArray:
    found = masks[0]
    for mask in masks[1:]:
        found = operation(found, mask)
    return found


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    if (left.denominator == 0) != (right.denominator == 0):
        if any(side.denominator and side.missing.all() for side in (left, right)):  # a column of nothing is of either kind
            return _blank(left), _blank(right)
        raise DataError("a rule compares a text with a number or a day", hint="check the column's values")
    if left.denominator == 0:
        return left, right
    common = math.lcm(left.denominator, right.denominator)
    return _over(left, common), _over(right, common)


def _blank(value: Value) -> Value:
    return value if value.denominator == 0 else Value(np.full(value.parts.shape, "", dtype=object), 0, value.missing)


def _over(value: Value, denominator: int) -> Value:
    return Value(_times(value.parts, denominator // value.denominator), denominator, value.missing)


def _times(parts: NDArray[Any], factor: int) -> NDArray[Any]:
    return parts if factor == 1 else _small(parts.astype(object) * factor)


def _calculated(operator: str, left: Value, right: Value) -> Value:
    if 0 in (left.denominator, right.denominator):
        raise DataError("a rule calculates with a text", hint="check the column's values")
    missing = left.missing | right.missing
    if operator in "+-":
        one, two = _alike(left, right)
        total = one.parts.astype(object) + (1 if operator == "+" else -1) * two.parts.astype(object)
        return Value(_small(total), one.denominator, missing)
    if operator == "*":
        product = left.parts.astype(object) * right.parts.astype(object)
        return Value(_small(product), left.denominator * right.denominator, missing)
    divisor = Fraction(int(right.parts[0]), right.denominator)
    factor = divisor.denominator if divisor > 0 else -divisor.denominator
    return Value(_times(left.parts, factor), left.denominator * abs(divisor.numerator), missing)


def _split(labels: NDArray[np.int64], used: BoolArray) -> list[NDArray[np.int64]]:
    groups: list[list[int]] = [[] for _ in range(int(labels.max()) + 1 if len(labels) else 0)]
    for row in np.flatnonzero(used).tolist():
        groups[labels[row]].append(row)
    return [np.array(group, dtype=np.int64) for group in groups]


def _reduced(function: str, value: Value, groups: list[NDArray[np.int64]]) -> Value:
    """One exact number per group; mean, min and max of nothing are missing."""
    found: list[Fraction | None] = []
    for rows in groups:
        if function == "count":
            found.append(Fraction(len(rows)))
        elif function == "sum" or not len(rows):
            found.append(Fraction(int(value.parts[rows].sum()), value.denominator) if function == "sum" else None)
        elif function == "mean":
            found.append(Fraction(int(value.parts[rows].sum()), value.denominator * len(rows)))
        else:
            extreme = value.parts[rows].min() if function == "min" else value.parts[rows].max()
            found.append(Fraction(int(extreme), value.denominator))
    denominator = math.lcm(1, *(number.denominator for number in found if number is not None))
    parts = np.array([0 if number is None else int(number * denominator) for number in found], dtype=object)
    return Value(_small(parts), denominator, np.array([number is None for number in found], dtype=bool))
