"""COUNT queries in words: ``count where age in (37, 55) and race = white``.

Conditions are joined by ``and``. A condition is ``column = value``, ``column != value``, ``column in (value, …)``,
``column between low and high`` or a exhibit ``< <= > >=`` of numbers. Values and names with blanks stand in quotes.

>>> [condition.column for condition in parse("count where age between 30 and 39 and race in (white, 'not said')")]
['age', 'race']
>>> parse("where age >= 40")[0].accepts("39"), parse("age >= 40")[0].accepts("40.5")
(False, True)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.errors import PolicyError

_TOKEN = re.compile(r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|<>|[=<>(),])|(?P<word>[^\s=<>!(),'"]+))""")
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
    reader = _QueryReader(_tokens(text))
    reader.skip("count")
    if not reader.skip("where") and not reader.left:
        return []
    conditions = [reader.condition()]
    while reader.left:
        reader.expect("and")
        conditions.append(reader.condition())
    return conditions


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Words and signs; the flag says that a word was quoted."""
    found, place = [], 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            raise PolicyError("the query is not understood", where=f"at character {place + 1}", hint=_HINT)
        quoted = match["quoted"]
        found.append((quoted[1:-1], True) if quoted is not None else (match["sign"] or match["word"], False))
        place = match.end()
    return found


class _QueryReader:
    def __init__(self, tokens: list[tuple[str, bool]]) -> None:
        self.tokens, self.place = tokens, 0

    @property
    def left(self) -> bool:
        return self.place < len(self.tokens)

    def skip(self, word: str) -> bool:
        if self.left and self.tokens[self.place] != (word, True) and self.tokens[self.place][0].lower() == word:
            self.place += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.skip(word):
            raise PolicyError(f"expected '{word}' in the query", where=f"at word {self.place + 1}", hint=_HINT)

    def value(self) -> str:
        if not self.left:
            raise PolicyError("the query ends too early", hint=_HINT)
        token, quoted = self.tokens[self.place]
        if not quoted and token in {"=", "!=", "<>", "<", "<=", ">", ">=", "(", ")", ","}:
            raise PolicyError("expected a name or a value in the query", where=f"at word {self.place + 1}", hint=_HINT)
        self.place += 1
        return token

    def condition(self) -> CountCondition:
        column = self.value()
        if self.skip("in"):
            accepted = frozenset(self._listed())
            return CountCondition(column, lambda text: text in accepted, accepted)
        if self.skip("between"):
            low = self.value()
            self.expect("and")
            return CountCondition(column, _between(_number(low), _number(self.value())))
        for sign in ("=", "!=", "<>", "<", "<=", ">", ">="):
            if self.skip(sign):
                value = self.value()
                return CountCondition(column, _comparison(sign, value), frozenset({value} if sign == "=" else ()))
        raise PolicyError(f"expected =, !=, <, >, in or between after '{column}'", hint=_HINT)

    def _listed(self) -> list[str]:
        self.expect("(")
        values = [self.value()]
        while self.skip(","):
            values.append(self.value())
        self.expect(")")
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
    if not _is_number(text):
        raise PolicyError("an order exhibit needs a number", hint=_HINT)
    return float(text)
