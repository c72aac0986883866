"""COUNT queries in words: ``count where age in (37, 55) and race = white``.

Conditions are joined by ``and``. A condition is ``column = value``, ``column != value``, ``column in (value, …)``,
``column between low and high`` or a comparison ``< <= > >=`` of numbers. Values and names with blanks stand in quotes.

>>> [condition.column for condition in parse("count where age between 30 and 39 and race in (white, 'not said')")]
['age', 'race']
>>> parse("where age >= 40")[0].accepts("39"), parse("age >= 40")[0].accepts("40.5")
(False, True)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.data.token_reader import TokenReader, tokens
from sfumato.errors import PolicyError

_WORD = re.compile(r"""(?P<blank>\s+)|(?P<quoted>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|<>|[=<>(),])|(?P<name>[^\s=<>!(),'"]+)""")
_HINT = 'write "count where age in (37, 55) and race = white"'
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


@dataclass(frozen=True, slots=True)
class CountCondition:
    """What a value of one column must satisfy."""

    column: str
    accepts: Callable[[str], bool]
    named: frozenset[str] = frozenset()
    """Values asked for by name, which may also be published labels like 30-39."""


def parse(text: str) -> list[CountCondition]:
    """The conditions of a query; without any, everybody is counted."""
    reader = _QueryReader(text, list(tokens(text, _WORD, _unknown)))
    reader.accept("count")
    if not reader.accept("where") and reader.token.kind == "end":
        return []
    conditions = [reader.condition()]
    while reader.token.kind != "end":
        reader.expect("and", "in the query")
        conditions.append(reader.condition())
    return conditions


def _unknown(at: int) -> PolicyError:
    return PolicyError("the query is not understood", where=f"at character {at + 1}", hint=_HINT)


class _QueryReader(TokenReader):
    any_case = True

    def wrong(self, what: str, at: int | None = None, *, hint: str = _HINT) -> PolicyError:
        return PolicyError(what, where=f"at word {self.next + 1}", hint=hint)

    def value(self) -> str:
        if self.token.kind == "end":
            raise PolicyError("the query ends too early", hint=_HINT)
        if self.token.kind == "sign":
            raise self.wrong("expected a name or a value in the query")
        token = self.take()
        return token.text[1:-1] if token.kind == "quoted" else token.text

    def condition(self) -> CountCondition:
        column = self.value()
        if self.accept("in"):
            accepted = frozenset(self._listed())
            return CountCondition(column, lambda text: text in accepted, accepted)
        if self.accept("between"):
            low = self.value()
            self.expect("and", "in the query")
            return CountCondition(column, _between(_number(low), _number(self.value())))
        sign = self.accept("=", "!=", "<>", "<", "<=", ">", ">=")
        if sign is None:
            raise PolicyError(f"expected =, !=, <, >, in or between after '{column}'", hint=_HINT)
        value = self.value()
        return CountCondition(column, _comparison(sign.text, value), frozenset({value} if sign.text == "=" else ()))

    def _listed(self) -> list[str]:
        self.expect("(", "in the query")
        values = [self.value()]
        while self.accept(","):
            values.append(self.value())
        self.expect(")", "in the query")
        return values


def _comparison(sign: str, value: str) -> Callable[[str], bool]:
    if sign == "=":
        return lambda text: text == value
    if sign in ("!=", "<>"):
        return lambda text: text != value
    limit, compare = _number(value), _ORDER[sign]
    return lambda text: _is_number(text) and compare(float(text), limit)


def _between(low: float, high: float) -> Callable[[str], bool]:
    return lambda text: _is_number(text) and low <= float(text) <= high


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float:
    if not _is_number(text) or not math.isfinite(float(text)):
        raise PolicyError("an order comparison needs a number", hint=_HINT)
    return float(text)
