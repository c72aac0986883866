"""A column's possible values numbered from 0, for sampling and solving, and back to text for publishing.

Notation
    code     0 … size − 1
    level    what rules calculate with: the number times its unit, the day number, or (texts) nothing

>>> marks = levels(replacements.read({"integers": [80, 100]}))
>>> marks.size, marks.vector(np.array([0, 20])).levels.tolist(), marks.texts(np.array([0, 20])).tolist()
(21, [80, 100], ['80', '100'])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.moments import moment
from sfumato.data.numbers import EXACT, number
from sfumato.errors import DataError, Infeasible
from sfumato.methods.replacing.sampling.vectors import Vector, texts
from sfumato.methods.replacing.sampling.words import Words, automaton
from sfumato.policy import replacements
from sfumato.policy.own_texts import OwnTexts


class Levels(Protocol):
    """What every numbering offers."""

    kind: str
    size: int

    def vector(self, codes: IntArray) -> Vector: ...
    def texts(self, codes: IntArray) -> NDArray[Any]: ...


class Steps:
    """Equally spaced numbers or days."""

    def __init__(self, domain: replacements.Ordered) -> None:
        self.domain = domain
        self.kind = domain.kind
        self.size = domain.size
        self.low = domain.low
        self.unit = domain.unit

    def vector(self, codes: IntArray) -> Vector:
        return Vector(codes + self.low, self.unit)

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return self.domain.texts(codes + self.low)

    def code(self, text: str) -> int | None:
        level = self.domain.level(text)
        return None if level is None or not self.domain.holds(text) else level - self.low


class Listed:
    """A list of texts; they count as numbers when all of them are."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = np.array(list(values), dtype=np.str_)
        self.size = len(self.values)
        self._numbers = _numbers(values)
        self.kind = "text" if self._numbers is None else "number"
        self._codes = {text: code for code, text in enumerate(values)}

    def vector(self, codes: IntArray) -> Vector:
        if self._numbers is None:
            return texts(self.values[codes])
        return Vector(self._numbers.levels[codes], self._numbers.unit, self.values[codes])

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return self.values[codes]

    def code(self, text: str) -> int | None:
        return self._codes.get(text)


class Spelled:
    """The texts of a pattern, or of it together with conditions on the same column."""

    kind = "text"

    def __init__(self, words: Words, pattern: str) -> None:
        self.words = words
        self.pattern = pattern
        self.size = words.size

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return self.words.bytes(codes)


class Composed:
    """Combinations of listed pieces, joined by a function: realistic fakes."""

    kind = "text"

    def __init__(self, pieces: list[list[str]], join: Callable[..., str]) -> None:
        self.pieces = pieces
        self.join = join
        self.size = int(np.prod([len(piece) for piece in pieces], dtype=object))

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        parts = []
        rest = codes
        for piece in reversed(self.pieces):
            rest, place = np.divmod(rest, len(piece))
            parts.append([piece[at] for at in place])
        return np.array([self.join(*row) for row in zip(*reversed(parts), strict=True)], dtype=np.str_)


def levels(domain: replacements.ValueDomain) -> Levels:
    """The numbering of a domain; the values of a column must already be in place of `like`."""
    if isinstance(domain, replacements.Ordered):
        return Steps(domain)
    if isinstance(domain, replacements.Values):
        return Listed(domain.values)
    if isinstance(domain, replacements.PatternDomain):
        words = Words(automaton([domain.pattern]), domain.longest)
        if words.size == 0:
            raise Infeasible("no text has the form of the pattern", where=f"pattern {domain.pattern}")
        return Spelled(words, domain.pattern)
    if isinstance(domain, replacements.Fakes):
        from sfumato.methods.replacing.sampling.fakes import pieces

        return Composed(*pieces(domain))
    if isinstance(domain, replacements.CheckedNumbers):
        from sfumato.methods.replacing.sampling.checked import Checked

        return Checked(domain.system, domain.country)
    if isinstance(domain, OwnTexts):
        from sfumato.methods.replacing.sampling.checked import OwnNumbering

        return OwnNumbering(domain)
    raise TypeError(f"no numbering for {type(domain).__name__}")


def facts(values: Sequence[str]) -> Vector:
    """Given texts as what they are: numbers when all are numbers, days when all are days, else texts."""
    distinct, inverse = np.unique(np.asarray(values, dtype=np.str_), return_inverse=True)
    found = _numbers(distinct.tolist()) or _days(distinct.tolist())
    return texts(distinct[inverse]) if found is None else Vector(found.levels[inverse], found.unit, distinct[inverse])


def _days(values: Sequence[str]) -> Vector | None:
    found = [moment(value) for value in values]
    if any(days is None for days in found):
        return None
    unit = math.lcm(1, *(days.denominator for days in found if days is not None))
    return Vector(np.array([int(days * unit) for days in found if days is not None], dtype=np.int64), unit)


def _numbers(values: Sequence[str]) -> Vector | None:
    found = [value for value in map(number, values) if value is not None]
    if len(found) < len(values):
        return None
    places = max(max(-int(value.as_tuple().exponent), 0) for value in found)
    levels = [int(value.scaleb(places, context=EXACT)) for value in found]
    if max(map(abs, levels)) >= 1 << 62:
        hint = "shorten the numbers, or leave the column out of the rule"
        raise DataError("a rule is about a column whose numbers have too many digits", hint=hint)
    return Vector(np.array(levels, dtype=np.int64), 10**places)
