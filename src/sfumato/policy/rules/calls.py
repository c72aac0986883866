"""Words of the rule language that look like calls: functions of one record, numbering systems, orders inside groups."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.data.token_reader import Token
from sfumato.policy.rules.functions import FUNCTIONS, NUMBERS
from sfumato.policy.rules.tree import (
    Aggregate,
    ColumnValue,
    Condition,
    Function,
    Histogram,
    Increasing,
    IsNull,
    Match,
    Node,
    NoOverlap,
    Not,
    Own,
    Running,
    Valid,
)

if TYPE_CHECKING:
    from sfumato.policy.rules.parse import RuleReader

_TEXTS = {"starts_with": "{0}.*", "ends_with": ".*{0}", "contains": ".*{0}.*"}


def increasing(reader: RuleReader, at: int) -> Increasing:
    """A value that never falls, in an order, inside groups."""
    column, (by, along) = reader.column(), order(reader)
    return Increasing(column, by, along, at=at)


def order(reader: RuleReader) -> tuple[tuple[ColumnValue, ...], ColumnValue]:
    """Groups, and the column that says in which order their records stand."""
    by = reader.names() if reader.accept("by") else ()
    reader.expect("along", "before the column that orders the records")
    return by, reader.column()


def no_overlap(reader: RuleReader, at: int) -> NoOverlap:
    """Intervals of a group one after the other."""
    start = reader.column()
    reader.expect(",", "between start and end")
    end = reader.column()
    return NoOverlap(start, end, reader.names() if reader.accept("by") else (), at=at)


def histogram(reader: RuleReader, at: int) -> Histogram:
    """Bins of one width, in groups."""
    column = reader.column()
    reader.expect(",", "before the width of the bins")
    place, width = reader.token.at, reader.number("the width of the bins")
    if width <= 0:
        raise reader.wrong("a bin has a width above 0", place)
    return Histogram(column, width, reader.names() if reader.accept("by") else (), at=at)


def null_test(reader: RuleReader, column: ColumnValue) -> Condition:
    """`is null` and `is not null`."""
    reader.expect("is", "before null")
    negated = reader.accept("not")
    reader.expect("null", "after 'is'")
    found = IsNull(column, at=column.at)
    return found if negated is None else Not(found, at=negated.at)


def function(reader: RuleReader, token: Token) -> Function:
    """A function of one record."""
    found = [reader.expression_only(reader.sum())]
    while reader.accept(","):
        found.append(reader.expression_only(reader.sum()))
    reader.expect(")", f"to close '{token.text}('")
    if len(found) != len(FUNCTIONS[token.text].arguments):
        raise reader.wrong(f"'{token.text}' takes {len(FUNCTIONS[token.text].arguments)} value(s)", token.at)
    return Function(token.text, tuple(found), at=token.at)


def running(reader: RuleReader, token: Token) -> Running:
    """A sum up to each record."""
    argument, (by, along) = reader.expression_only(reader.sum()), order(reader)
    reader.expect(")", "to close 'running('")
    return Running(argument, by, along, at=token.at)


def valid(reader: RuleReader, token: Token) -> Valid:
    """A number with check digits."""
    system = reader.name("a numbering system")
    if system not in NUMBERS:
        raise reader.wrong(f"there is no numbering system '{system}'", token.at, hint="known: " + ", ".join(NUMBERS))
    reader.expect(",", "before the column")
    column = reader.column()
    reader.expect(")", "to close 'valid('")
    return Valid(system, column, at=token.at)


def own(reader: RuleReader, token: Token) -> Own:
    """A function of the data holder's own code."""
    name = reader.name("the name of a function")
    reader.expect(",", "before the columns")
    found = Own(name, reader.names(), at=token.at)
    reader.expect(")", "to close 'own('")
    return found


def correlation(reader: RuleReader, token: Token) -> Aggregate:
    """Of two columns."""
    one = reader.column()
    reader.expect(",", "between the columns")
    found = Function("pair", (one, reader.column()), at=token.at)
    reader.expect(")", "to close 'correlation('")
    return Aggregate("correlation", found, at=token.at)


def text_form(reader: RuleReader, token: Token) -> Match:
    """How a text begins or ends, or what it contains."""
    column = reader.column()
    reader.expect(",", "before the text")
    text = reader.token
    if text.kind != "text":
        raise reader.wrong("expected a text between quotes")
    reader.take()
    reader.expect(")", f"to close '{token.text}('")
    return Match(column, _TEXTS[token.text].format(re.escape(text.text)), at=token.at)


CALLS: dict[str, Callable[[RuleReader, Token], Node]] = {
    "running": running,
    "valid": valid,
    "own": own,
    "correlation": correlation,
    **dict.fromkeys(_TEXTS, text_form),
    **dict.fromkeys(FUNCTIONS, function),
}
"""What may be called inside a condition, besides aggregates and `match`."""
