"""Columns that an equation defines, calculated from the finished columns they depend on.

Texts come in and texts go out. Something missing makes the result missing; sums, counts and extremes leave it out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from statistics import median
from typing import Any

from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.data.text_values import format_timestamp as moment_written
from sfumato.data.text_values import parse_number, parse_timestamp
from sfumato.policy.constraint_language import columns_of
from sfumato.policy.constraint_language.column_equations import ColumnEquation
from sfumato.policy.constraint_language.functions import FUNCTIONS, Scalar, call, format_value
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    Arithmetic,
    ColumnValue,
    Date,
    Expression,
    Function,
    Negative,
    Number,
    References,
    Running,
    TextConstant,
)
from sfumato.policy.value_domains import ValueDomain

Texts = Callable[[ColumnValue], Sequence[str | None]]
Scalars = list[Scalar | None]
_FOLDS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "sum": lambda values: sum(values, Fraction(0)),
    "mean": lambda values: sum(values, Fraction(0)) / len(values),
    "min": min,
    "max": max,
    "count": lambda values: Fraction(len(values)),
    "distinct": lambda values: Fraction(len(set(values))),
    "median": lambda values: Fraction(median(values)),
}


class Calculator:
    """Evaluates expressions for all rows of one table."""

    def __init__(self, texts: Texts, references: Sequence[References]) -> None:
        self.texts, self.references = texts, references

    def column(
        self, definition: ColumnEquation, spell: Callable[[Scalar], str], domain: ValueDomain
    ) -> list[str | None]:
        """The texts of a defined column, which must all lie in its domain; a copied text stays as it is written."""
        found = self._texts(definition, spell)
        different = list({text for text in found if text is not None})
        if outside := int((~domain.contains(different)).sum()) if different else 0:
            what = (
                f"{outside} of the values that it gives '{definition.column.name}' lie outside of the column's domain"
            )
            raise Infeasible(what, where=f'rule "{definition.rule}"', hint="widen the domain, or leave the rule out")
        return found

    def _texts(self, definition: ColumnEquation, spell: Callable[[Scalar], str]) -> list[str | None]:
        table = definition.column.table
        if isinstance(definition.expression, ColumnValue):
            return self._aligned(definition.expression, table)
        found = self.value(definition.expression, table, "any")
        count = len(self.texts(next(iter(self._own(table, definition)))))
        found = found * count if len(found) == 1 else found
        return [None if one is None else spell(one) for one in found]

    def _own(self, table: str | None, definition: ColumnEquation) -> list[ColumnValue]:
        return [definition.column, *(column for column in columns_of(definition.expression) if column.table == table)]

    def value(self, node: Expression, table: str | None, kind: str) -> Scalars:
        """One value per row, or a single one for all."""
        if isinstance(node, Number):
            return [node.value]
        if isinstance(node, Date):
            return [Fraction(node.value.toordinal())]
        if isinstance(node, TextConstant):
            return [node.value]
        if isinstance(node, ColumnValue):
            return [_scalar(text, kind) for text in self._aligned(node, table)]
        if isinstance(node, Negative):
            return [None if one is None else -Fraction(one) for one in self.value(node.value, table, "number")]
        if isinstance(node, Function):
            kinds = FUNCTIONS[node.name].arguments
            return _mapped(
                lambda *row: call(node.name, row),
                [self.value(argument, table, own) for argument, own in zip(node.arguments, kinds, strict=True)],
            )
        if isinstance(node, Arithmetic):
            return _mapped(
                _OPERATIONS[node.operator], [self.value(side, table, "number") for side in (node.left, node.right)]
            )
        if isinstance(node, Running):
            return self._running(node, table)
        assert isinstance(node, Aggregate)
        return self._aggregate(node, table)

    def _aligned(self, column: ColumnValue, table: str | None) -> list[str | None]:
        """The texts of a column for the rows of a table that is its own or refers to it."""
        own = list(self.texts(column))
        if column.table == table:
            return own
        for reference in self.references:
            if reference.child[0].table == table and reference.parent[0].table == column.table:
                place = {key: row for row, key in enumerate(self._keys(reference.parent))}
                rows = [place.get(key) for key in self._keys(reference.child)]
                return [None if row is None else own[row] for row in rows]
        raise PolicyError(
            f"no rule says how table {table} refers to table {column.table}", hint="add a 'references' rule"
        )

    def _keys(self, columns: Sequence[ColumnValue]) -> list[tuple[str | None, ...]]:
        return list(zip(*(self.texts(column) for column in columns), strict=True))

    def _aggregate(self, node: Aggregate, table: str | None) -> Scalars:
        if node.function not in _FOLDS or node.where is not None:
            raise PolicyError(
                f"'{node.function}' cannot define a column here",
                where="keep",
                hint="use sum, mean, median, min, max or count",
            )
        inside = next(iter({column.table for column in columns_of(node)}), table)
        if not node.by:
            values = self.value(node.argument, inside, "number") if node.argument is not None else []
            known = [Fraction(one) for one in values if one is not None]
            return [_FOLDS[node.function](known) if known else None]
        keys = self._keys(node.by)
        values = self.value(node.argument, inside, "number") if node.argument is not None else [Fraction(1)] * len(keys)
        groups: dict[tuple[str | None, ...], list[Fraction]] = defaultdict(list)
        for key, one in zip(keys, values, strict=True):
            if one is not None:
                groups[key].append(Fraction(one))
        asked = keys if inside == table else self._parents(node.by, table)
        nothing = Fraction(0) if node.function in ("sum", "count", "distinct") else None
        return [_FOLDS[node.function](groups[key]) if groups.get(key) else nothing for key in asked]

    def _parents(self, by: tuple[ColumnValue, ...], table: str | None) -> list[tuple[str | None, ...]]:
        for reference in self.references:
            if reference.child == by and reference.parent[0].table == table:
                return self._keys(reference.parent)
        raise PolicyError(
            f"'{by[0]}' does not refer to table {table}", where="keep", hint="group by the columns of a foreign key"
        )

    def _running(self, node: Running, table: str | None) -> Scalars:
        values, along = self.value(node.argument, table, "number"), self.value(node.along, table, "number")
        keys = self._keys(node.by) if node.by else [()] * len(along)
        order = sorted(
            (row for row in range(len(along)) if along[row] is not None), key=lambda row: Fraction(along[row] or 0)
        )
        totals: dict[Any, Fraction] = defaultdict(Fraction)
        found: Scalars = [None] * len(along)
        for row in order:
            totals[keys[row]] += Fraction(values[row] or 0)
            found[row] = totals[keys[row]]
        return found


def _scalar(text: str | None, kind: str) -> Scalar | None:
    if text is None or text == "":
        return None
    if kind == "text":
        return text
    value = parse_number(text)
    if value is not None:
        return text if kind == "any" else Fraction(value)
    days = parse_timestamp(text)
    if days is None and kind in ("number", "date"):
        raise DataError(
            f"a rule calculates with values that are no {kind}s", hint="change the domain of the column, or the rule"
        )
    return text if days is None or kind == "any" else days


def _mapped(apply: Callable[..., Scalar], columns: list[Scalars]) -> Scalars:
    rows = max(len(column) for column in columns)
    spread = [column * rows if len(column) == 1 else column for column in columns]
    known: dict[tuple[Scalar | None, ...], Scalar | None] = {}
    for row in zip(*spread, strict=True):
        if row not in known:
            known[row] = None if None in row else apply(*row)
    return [known[row] for row in zip(*spread, strict=True)]


_OPERATIONS: dict[str, Callable[..., Scalar]] = {
    "+": lambda one, two: one + two,
    "-": lambda one, two: one - two,
    "*": lambda one, two: one * two,
    "/": lambda one, two: one / two,
}


def value_formatter(kind: str | None, places: int | None = None, *, moments: bool = False) -> Callable[[Scalar], str]:
    """How values are written: numbers with their decimal places, days as days."""

    def spell(value: Scalar) -> str:
        if isinstance(value, str):
            return value
        if kind == "date":
            return moment_written(value) if moments else date.fromordinal(int(value)).isoformat()
        if places is not None and kind == "number":
            scaled = round(value * 10**places)
            whole = f"{abs(scaled):0{places + 1}d}"
            return ("-" if scaled < 0 else "") + (f"{whole[:-places]}.{whole[-places:]}" if places else whole)
        return format_value(value)

    return spell


def has_dates(node: Expression, dates: Callable[[ColumnValue], bool]) -> bool:
    """Whether an expression gives days: a date column, moved or copied, or a function that gives one."""
    if isinstance(node, ColumnValue):
        return dates(node)
    if isinstance(node, Function):
        return FUNCTIONS[node.name].result == "date"
    if isinstance(node, Aggregate):
        return node.function in ("min", "max") and node.argument is not None and has_dates(node.argument, dates)
    if isinstance(node, Arithmetic):
        return has_dates(node.left, dates) != has_dates(node.right, dates) if node.operator in "+-" else False
    return isinstance(node, Date)
