"""How a column was made of others of its row, as an equation: lower case, initials, a slug, a search vector, texts put together.

Guarantee
    An equation is proposed only when it gives every cell of the column exactly, and nothing where the cell is missing. Constants
    in it stand in every row, at least `OFTEN` times, so that no single person's value is spelled out.

Notation
    piece      a column of the row, or a function of one, as a rule writes it, with its texts
    witness    a few rows in which the cell is read from left to right as pieces and signs that all of them share

>>> rows = {"first": ["Ann", "Bo", "Cy", "Di", "Ed"], "last": ["Lee", "Ray", "Fox", "Orr", "Kim"]}
>>> mails = [f"{one.lower()}.{two.lower()}@a.test" for one, two in zip(rows["first"], rows["last"])]
>>> equation("t", "mail", mails, rows, "text")
't.mail = lower(t.first) + "." + lower(t.last) + "@a.test"'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.data.moments import moment
from sfumato.discover.proposal import OFTEN, quoted, sayable
from sfumato.policy.rules.functions import call

Texts = Sequence[str | None]
_WITNESSES, _SCREEN, _TERMS, _STEPS, _LONGEST = 5, 300, 8, 5_000, 120


@dataclass(frozen=True)
class Piece:
    """A text of every row, as a rule writes it."""

    rule: str
    made: Callable[[int], str | None]


def equation(table: str, column: str, cells: Texts, sources: Mapping[str, Texts], kind: str) -> str:
    """The rule that gives every cell of the column from the sources of its row, or nothing."""
    known = [row for row, cell in enumerate(cells) if cell]
    if len(known) < OFTEN or not all(map(sayable, (column, *table.split("."), *sources))):
        return ""
    name = _named(table, column)
    pieces = [Piece(_named(table, source), texts.__getitem__) for source, texts in sources.items()]
    for one in _of_one(pieces, kind):
        if _gives(one, cells, known):
            return f"{name} = {one.rule}"
    found = _put_together(_parts(pieces), cells, known) if kind == "text" else None
    return f"{name} = {found.rule}" if found is not None and _gives(found, cells, known) else ""


def _named(table: str, column: str) -> str:
    return ".".join(quoted(part) for part in (table, column))


def _gives(piece: Piece, cells: Texts, known: Sequence[int]) -> bool:
    """Whether a piece is the cell in every row, first in some of them."""
    few = known[:: max(1, len(known) // _SCREEN)]
    if any(piece.made(row) != cells[row] for row in few):
        return False
    return all((piece.made(row) or None) == (cell or None) for row, cell in enumerate(cells))


def _applied(name: str, piece: Piece, *more: Fraction) -> Piece:
    """A function of a piece; a function of something missing is missing."""

    def made(row: int) -> str | None:
        text = piece.made(row)
        return str(call(name, [text, *more])) if text else None

    return Piece(f"{name}({', '.join([piece.rule, *map(str, more)])})", made)


def _dated(name: str, piece: Piece) -> Piece:
    def made(row: int) -> str | None:
        day = moment(piece.made(row) or "")
        return None if day is None else str(call(name, [day]))

    return Piece(f"{name}({piece.rule})", made)


def _joined(one: Piece, two: Piece) -> Piece:
    """Two names with a space between them."""

    def made(row: int) -> str | None:
        texts = (one.made(row), two.made(row))
        return f"{texts[0]} {texts[1]}" if all(texts) else None

    return Piece(f'{one.rule} + " " + {two.rule}', made)


def _of_one(pieces: Sequence[Piece], kind: str) -> Iterator[Piece]:
    """A function of a column, or of two with a space between them."""
    both = [_joined(one, two) for one in pieces for two in pieces if one is not two]
    if kind == "text":
        yield from both
        yield from (_applied(name, one) for one in (*pieces, *both) for name in ("lower", "upper", "initials", "slug", "lexemes"))
        yield from (_applied(name, _applied("initials", one)) for one in (*pieces, *both) for name in ("lower", "upper"))
        yield from (_applied("left", one, Fraction(signs)) for one in pieces for signs in range(1, 5))
    elif kind == "tsvector":
        yield from (_applied("lexemes", one) for one in (*pieces, *both))
    elif kind == "integer":
        yield from (_dated(name, one) for one in pieces for name in ("year", "month", "day"))


def _parts(pieces: Sequence[Piece]) -> list[Piece]:
    """What texts are put together of; longer ones are tried first."""
    found = []
    for one in pieces:
        first = _applied("left", one, Fraction(1))
        found += [one, _applied("lower", one), _applied("upper", one), _applied("slug", one), first, _applied("lower", first)]
    return found


def _put_together(pieces: Sequence[Piece], cells: Texts, known: Sequence[int]) -> Piece | None:
    """The cell read from left to right in a few rows at once, as pieces and signs that all of them share."""
    step = max(1, len(known) // _WITNESSES)
    rows = sorted(known[::step][:_WITNESSES], key=lambda row: -len(cells[row] or ""))
    texts = [cells[row] or "" for row in rows]
    if len(texts[0]) > _LONGEST:
        return None
    parts = [(piece, own) for piece in pieces if all(own := [piece.made(row) or "" for row in rows])]
    reader = _CellReader(texts, sorted(parts, key=lambda part: -sum(map(len, part[1]))))
    found = reader.read((0,) * len(rows), _TERMS)
    return None if found is None else _sum(found)


class _CellReader:
    """Reads several cells at once; `steps` bounds the search."""

    def __init__(self, texts: list[str], parts: list[tuple[Piece, list[str]]]) -> None:
        self.texts, self.parts, self.steps = texts, parts, _STEPS

    def read(self, at: tuple[int, ...], terms: int) -> list[Piece | str] | None:
        self.steps -= 1
        if all(place == len(text) for place, text in zip(at, self.texts, strict=True)):
            return []
        if not terms or self.steps < 0:
            return None
        for piece, own in self.parts:
            if all(text.startswith(part, place) for text, part, place in zip(self.texts, own, at, strict=True)):
                rest = self.read(tuple(place + len(part) for place, part in zip(at, own, strict=True)), terms - 1)
                if rest is not None:
                    return [piece, *rest]
        signs = {text[place : place + 1] for text, place in zip(self.texts, at, strict=True)}
        sign = next(iter(signs))
        if len(signs) > 1 or not sign or sign in '"\\' or not sign.isprintable():
            return None
        rest = self.read(tuple(place + 1 for place in at), terms)
        if rest is None:
            return None
        return [sign + rest[0], *rest[1:]] if rest and isinstance(rest[0], str) else [sign, *rest]


def _sum(terms: list[Piece | str]) -> Piece | None:
    """The terms as one piece; at least one is a column, and the first two are not both plain columns, which would be added up."""
    plain = [isinstance(term, Piece) and "(" not in term.rule for term in terms[:2]]
    if all(isinstance(term, str) for term in terms) or len(terms) < 2 or all(plain):
        return None

    def made(row: int) -> str | None:
        texts = [term if isinstance(term, str) else term.made(row) for term in terms]
        return "".join(text for text in texts if text) if all(texts) else None

    return Piece(" + ".join(f'"{term}"' if isinstance(term, str) else term.rule for term in terms), made)
