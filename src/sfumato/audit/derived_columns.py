r"""Columns that were derived from a replaced one and are published as they are: the old value can be read off its own row.

Guarantee
    In a sample of rows, the old value of a replaced column is compared with every kept cell of its row: the same, in lower or upper
    case, without accents, backwards, its initials, its beginning, its slug, its digits alone, a digest of it, the year, month or
    day of a day, or all its words in any order, as a text-search vector holds them; bytes are read as text, too. What agrees with
    the own row far more often than with another row is derived.

Notation
    own      rows in which the kept cell agrees with the old value of that row
    other    rows in which it agrees with the old value of another row, drawn at random
    derived  own exceeds other by five standard deviations, in at least one row in a hundred (for numbers, days and
             beginnings: every second row);
             in tables of a few rows: in all rows and never in another

>>> import pyarrow as pa
>>> names = [f"Ann{chr(97 + i % 26)} Boe{chr(97 + i // 26)}" for i in range(60)]
>>> rows = pa.table({"name": names, "short": [f"{name[0]}{name.split()[1][0]}".lower() for name in names], "n": ["1"] * 60})
>>> [(found.kept.name, found.how) for found in derived_columns("t", rows, ["name"], {"short": "text", "n": "integer"})]
[]
>>> slugs = rows.append_column("slug", pa.array([name.lower().replace(" ", "-") for name in names]))
>>> [(found.kept.name, found.how) for found in derived_columns("t", slugs, ["name"], {"slug": "text", "n": "integer"})]
[('slug', 'the slug')]
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.audit.plain_text import folded, read_bytes
from sfumato.audit.survivors import QUIET, Survivor, words
from sfumato.policy.rules.tree import ColumnValue

_SAMPLE, _SCREEN, _REVERSED = 2_000, 300, 3
_FEWEST = 3
_SIGMAS = 5.0
_SHARE_OF_TEXT, _SHARE_OF_NUMBERS = 0.01, 0.5
_VECTOR = re.compile(r"'((?:[^']|'')*)'")
_BUT_LETTERS, _BUT_SIGNS, _BUT_DIGITS = re.compile(r"[^a-z]+"), re.compile(r"[^a-z0-9]+"), re.compile(r"[^0-9]+")
_LONG = 6
"""Digits that tell who it is."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def derived_columns(table: str, rows: pa.Table, replaced: Sequence[str], kept: Mapping[str, str]) -> Iterator[Survivor]:
    """Kept columns (with their kinds) from which old values of replaced columns of the same rows can be read."""
    sample = rows.take(pa.array(spread(rows.num_rows)))
    old = {ColumnValue(name, table): sample.column(name).to_pylist() for name in replaced}
    yield from read_off(table, old, sample, kept, rows.num_rows)


class _Text:
    """One value or cell, and what is compared of it; each is made once, however often the text is met."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lower(self) -> str:
        return self.text.lower()

    @cached_property
    def plain(self) -> str:
        """In lower case and without accents."""
        return folded(self.text)

    @cached_property
    def letters(self) -> str:
        return _BUT_LETTERS.sub("", self.plain)

    @cached_property
    def signs(self) -> str:
        return _BUT_SIGNS.sub("", self.plain)

    @cached_property
    def digits(self) -> str:
        """Without those that a number does not begin with."""
        return _BUT_DIGITS.sub("", self.text).lstrip("0")

    @cached_property
    def slug(self) -> str:
        """What is left of a cell that is a slug already."""
        return _BUT_SIGNS.sub("", self.lower)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words(self.text)

    @cached_property
    def joined(self) -> str:
        return "".join(self.words)

    @cached_property
    def initials(self) -> str:
        return "".join(word[0] for word in self.words)

    @cached_property
    def long_words(self) -> frozenset[str]:
        return frozenset(word for word in self.words if len(word) > 2)

    @cached_property
    def lexemes(self) -> frozenset[str]:
        """Of a text-search vector."""
        return frozenset(lexeme.replace("''", "'").lower() for lexeme in _VECTOR.findall(self.text))

    @cached_property
    def digests(self) -> frozenset[str]:
        texts = (self.text.encode(), self.lower.strip().encode())
        return frozenset(hashlib.new(kind, text, usedforsecurity=False).hexdigest() for kind in _DIGESTS for text in texts)


class _Texts(dict[str, _Text]):
    """Texts that were met."""

    def __missing__(self, text: str) -> _Text:
        self[text] = met = _Text(text)
        return met

    def of(self, values: list[str | None]) -> list[_Text | None]:
        return [self[value] if value else None for value in values]


def read_off(
    table: str, old: Mapping[ColumnValue, list[str | None]], sample: pa.Table, kept: Mapping[str, str], rows: int
) -> Iterator[Survivor]:
    """The same for old values of any table that go with the sampled rows; `rows` is how many rows the sample stands for."""
    met = _Texts()
    sources = {source: met.of(values) for source, values in old.items()}
    for name, kind in kept.items():
        held = sample.column(name).to_pylist()
        cells, read = met.of(held), met.of([cell and read_bytes(cell) for cell in held]) if kind == "binary" else None
        for source, values in sources.items():
            found = _derivation(values, cells, kind) or (_derivation(values, read, "text") if read is not None else None)
            if found is not None:
                how, share = found
                count = max(1, round(share * rows))
                yield Survivor(source, ColumnValue(name, table), count, count if how == "the values" else 0, how)


def spread(count: int) -> np.ndarray:
    """Evenly spaced row numbers, at most as many as are looked at."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, _SAMPLE)).astype(np.int64))


def _derivation(old: list[_Text | None], cells: list[_Text | None], kind: str) -> tuple[str, float] | None:
    """How the cells come from the old values, and in which share of the rows."""
    pairs = [(value, cell) for value, cell in zip(old, cells, strict=True) if value and cell]
    values, held = [value for value, _ in pairs], [cell for _, cell in pairs]
    if len(pairs) < _FEWEST or len(set(values)) < 2 or _running([value.text for value in values]):
        return None
    step = len(pairs) // _SCREEN if len(pairs) > 2 * _SCREEN else 0
    shifted = values[len(values) // 2 + 1 :] + values[: len(values) // 2 + 1]
    for how, made in _WAYS.items():
        if kind in QUIET and how not in _OF_NUMBERS:
            continue
        if step and not any(map(made, values[::step], held[::step])):
            continue
        least = _SHARE_OF_NUMBERS if kind in QUIET or how == _WEAK else _SHARE_OF_TEXT
        own = sum(map(made, values, held))
        if own < max(_FEWEST, least * len(pairs)):
            continue
        other = sum(map(made, shifted, held))
        if own == len(pairs) and not other:
            return how, 1.0
        spread = math.sqrt(max(other, 1.0) * max(1 - other / len(pairs), 1 / len(pairs)))
        if own - other > _SIGMAS * spread:
            return how, own / len(pairs)
    return None


def _running(values: list[str]) -> bool:
    """Whole numbers that count something through; that another column counts along tells nothing."""
    if not all(len(value) < 10 and value.isdigit() for value in values):
        return False
    numbers = [int(value) for value in values]
    return len(set(numbers)) == len(numbers) and max(numbers) - min(numbers) < 100 * len(numbers)


def _slug(value: _Text, cell: _Text) -> bool:
    return len(value.text) > 2 and value.signs == cell.slug


def _initials(value: _Text, cell: _Text) -> bool:
    return len(value.words) > 1 and value.initials == cell.joined


def _part_of_day(value: _Text, cell: _Text) -> bool:
    day = value.text
    return bool(_DAY.match(day)) and (cell.text in (day[:4], day[:7], day[:10].replace("-", "")) or cell.text[:10] == day[:10])


def _digits(value: _Text, cell: _Text) -> bool:
    """A telephone number without its signs, with or without what stands before it."""
    return len(cell.digits) >= _LONG and value.digits.endswith(cell.digits) and not _DAY.match(value.text)


def _digest(value: _Text, cell: _Text) -> bool:
    return len(cell.text) in (32, 40, 64, 66) and cell.text.removeprefix("\\x").lower() in value.digests


_DIGESTS = ("md5", "sha1", "sha256")


def _in_vector(value: _Text, cell: _Text) -> bool:
    """All words of the value among the lexemes of a text-search vector, whose endings may be cut off."""
    return bool(cell.lexemes and value.long_words) and all(_stemmed(word, cell.lexemes) for word in value.long_words)


def _stemmed(word: str, lexemes: frozenset[str]) -> bool:
    return any(word[:length] in lexemes for length in range(max(3, len(word) - 3), len(word) + 1))


def _all_words(value: _Text, cell: _Text) -> bool:
    return bool(value.long_words) and value.long_words.issubset(cell.words)


def _within(value: _Text, cell: _Text) -> bool:
    """The value inside a longer word: a login made of a name."""
    return len(value.signs) > 3 and value.signs in cell.signs


def _begins(value: _Text, cell: _Text) -> bool:
    """A key made of the beginning of a name."""
    own = value.letters
    signs = 3 if len(cell.text) < 8 else min(5, len(own))
    return len(own) > 2 and cell.plain[:signs] == own[:signs]


_WAYS: dict[str, Callable[[_Text, _Text], bool]] = {
    "the values": lambda value, cell: value.text == cell.text,
    "the values in another case": lambda value, cell: len(value.text) > 1 and value.lower == cell.lower,
    "the slug": _slug,
    "the initials": _initials,
    "a part of the date": _part_of_day,
    "a digest": _digest,
    "the digits": _digits,
    "the values backwards": lambda value, cell: len(value.text) > _REVERSED and value.lower[::-1] == cell.lower,
    "the lexemes": _in_vector,
    "the words": _all_words,
    "the text": _within,
    "the beginning": _begins,
}
_WEAK = "the beginning"
_OF_NUMBERS = ("the values", "a part of the date", "the digits")
