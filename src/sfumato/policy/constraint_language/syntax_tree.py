"""The tree of a rule: what must stay true in the output, as frozen nodes that the audit evaluates and the methods post.

Three families: an *expression* has a value (in every record, or one for the whole table), a *condition* is true or
false, and a *statement* is a condition on a whole column or table. A `IntegrityRule` is a statement or a condition
together with its text.

Notation
    at       the character of the rule's text where the node begins, for error messages; two trees that differ only
             there are equal.
    Cell     `v[3]`, the value of column `v` in the record that stands third in the source.
    Column   `original=True` is the value before replacement; `table` is set for rules across the tables of a database.

>>> ColumnValue("age") == ColumnValue("age", at=7)
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import date
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything in a tree; `at` counts characters from 0."""

    at: int = field(default=0, compare=False, repr=False)

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in reading order."""
        for entry in fields(self):
            yield from _nodes(getattr(self, entry.name))

    def walk(self) -> Iterator[Node]:
        """This node and everything below it."""
        yield self
        for child in self.children():
            yield from child.walk()


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for entry in value:
            yield from _nodes(entry)


class Expression(Node):
    """Has a value: a number, a date or a text."""

    __slots__ = ()


class Condition(Node):
    """Is true or false, in one record or for the whole table."""

    __slots__ = ()


class Statement(Node):
    """Says something about whole columns; stands alone, never inside `and`, `or`, `not`."""

    __slots__ = ()


# ---- expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number(Expression):
    """An exact constant."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class TextConstant(Expression):
    """A quoted constant; compared with a date column it is read as a date."""

    value: str


@dataclass(frozen=True, slots=True)
class Date(Expression):
    """A constant day, written 2012-12-31."""

    value: date


@dataclass(frozen=True, slots=True)
class ColumnValue(Expression):
    """The value of a column in the record at hand."""

    name: str
    table: str | None = None
    original: bool = False

    def __str__(self) -> str:
        return ".".join(part for part in ("original" if self.original else "", self.table or "", self.name) if part)


@dataclass(frozen=True, slots=True)
class Cell(Expression):
    """The value of a column in one record of the source; `record` counts from 1."""

    column: ColumnValue
    record: int


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """`left operator right` with operator one of + - * /; a divisor is always a constant other than 0."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative(Expression):
    """`-value`."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """`function(argument where … by …)`: one value for the table, or one per group when `by` names columns."""

    function: str
    argument: Expression | None
    where: Condition | None = None
    by: tuple[ColumnValue, ...] = ()
    share: Fraction = Fraction(1, 2)
    """Of `quantile(argument, share)`."""


@dataclass(frozen=True, slots=True)
class Function(Expression):
    """`name(arguments)` in one record: `lower(name)`, `age(born, opened)`; `a + "." + b` of texts is `concat`."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Running(Expression):
    """`running(amount by account along number)`: the sum of the group's records up to this one, in the order of
    `along`."""

    argument: Expression
    by: tuple[ColumnValue, ...]
    along: ColumnValue


# ---- conditions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compare(Condition):
    """`left operator right` with operator one of = != < <= > >=; `=` may allow a difference of at most `tolerance`."""

    operator: str
    left: Expression
    right: Expression
    tolerance: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Membership(Condition):
    """`value in {…}`."""

    value: Expression
    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Match(Condition):
    """`match(column, "pattern")`: the whole value has the form of the regular expression."""

    value: Expression
    pattern: str


@dataclass(frozen=True, slots=True)
class IsNull(Condition):
    """`column is null`: the record has no value there."""

    value: ColumnValue


@dataclass(frozen=True, slots=True)
class Valid(Condition):
    """`valid(iban, column)`: a number of a public system with the right check digits."""

    system: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Own(Condition):
    """`own(name, a, b)`: what a function of the data holder's own code answers for the texts of a record."""

    name: str
    arguments: tuple[ColumnValue, ...]
    code: str = ""
    """The SHA-256 of the file, known once the policy is."""


@dataclass(frozen=True, slots=True)
class All(Condition):
    """`a and b and …`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any_(Condition):
    """`a or b or …`."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not(Condition):
    """`not a`."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Implies(Condition):
    """`if a then b`."""

    condition: Condition
    consequence: Condition


# ---- statements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unique(Statement):
    """`unique(a, b)`: no two records agree in all these columns."""

    columns: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class Determines(Statement):
    """`a determines b`: records that agree on the left agree on the right."""

    left: tuple[ColumnValue, ...]
    right: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class SameMultiset(Statement):
    """`same_multiset(a, b)`: the combinations occur exactly as often as in the original."""

    columns: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class Histogram(Statement):
    """`histogram(amount, 50 by branch)`: in every group every bin of this width has as many records as in the
    original."""

    column: ColumnValue
    width: Fraction
    by: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class AtLeast(Statement):
    """`at_least(k, a, b)`: every combination that occurs, occurs at least k times."""

    count: int
    columns: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class AtMost(Statement):
    """`at_most(n, a, b)`: no combination occurs more than n times."""

    count: int
    columns: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class Increasing(Statement):
    """`increasing(start by account along number)`: in every group the value never falls in the order of `along`."""

    column: ColumnValue
    by: tuple[ColumnValue, ...]
    along: ColumnValue


@dataclass(frozen=True, slots=True)
class NoOverlap(Statement):
    """`no_overlap(start, end by room)`: in every group an interval ends before, or when, the next one starts."""

    start: ColumnValue
    end: ColumnValue
    by: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class References(Statement):
    """`orders.customer_id references customers.id`: every combination on the left occurs on the right."""

    child: tuple[ColumnValue, ...]
    parent: tuple[ColumnValue, ...]


@dataclass(frozen=True, slots=True)
class Localities(Statement):
    """`localities(a, b) sample 0.08 partition 20 across 50 distances 30`: relative distances stay [multitype ch. 5].

    A share of those inside partitions of 20 records, and in every column 50 whose three values lie in three partitions.
    With `partition by class` the records of a class are a partition, with `partition near 20` at least 20 that are near
    each other in all the columns. `sample 0` keeps no relative distance, only which values of a partition are equal.
    `distances 30` keeps, in every column and for thirty choices of two pairs of values of a partition, which pair is
    farther apart."""

    columns: tuple[ColumnValue, ...]
    sample: Fraction = Fraction(1)
    partition: int | None = None
    across: int = 0
    by: tuple[ColumnValue, ...] = ()
    near: bool = False
    distances: int = 0


@dataclass(frozen=True, slots=True)
class IntegrityRule:
    """One entry of `keep:`: its text as written and its tree."""

    text: str
    body: Condition | Statement

    def __str__(self) -> str:
        return self.text
