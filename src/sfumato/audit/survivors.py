r"""Original values of replaced columns that survive in columns published as they are: as a whole cell, or as words inside one.

Guarantee
    Every cell of every kept column is looked at. A value is found when its words stand in the cell one after the other: in text, in
    json (every text in it), in arrays, composites and text-search vectors. What is replaced in one column and stands in another is
    published all the same, and a release with such a cell is refused unless the policy accepts that pair of columns by name.

Notation
    words       runs of letters and digits, in lower case
    telling     a value worth looking for everywhere: at least five signs, and no date, amount or running number
    plain word  a telling value of one word without digits (a first name, a town): anybody may have it, and `brown` is a colour.
                It counts together with another one of its own row (`Carla Schmidt` from two columns), and where at least half of
                the different values of a kept column are such words: then it is a copy.

Departures: what does not tell by itself (plain words, short values, days, amounts, names of places) is looked for in its own row
and in rows that refer to it (`audit/derived_columns.py`).

>>> import pyarrow as pa
>>> old = {ColumnValue("name", "person"): pa.array(["Carla Schmidt", "Bo Li"])}
>>> kept = {ColumnValue("doc", "log"): (pa.chunked_array([['{"by": "carla schmidt"}', "{}"]]), "json")}
>>> [(str(found), found.cells) for found in survivors(old, kept)]
[('surviving:person.name->log.doc', 1)]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.policy.rules.tree import ColumnValue

_WORDS = re.compile(r"[^\W_]+")
_BETWEEN = r"[^\p{L}\p{N}]+"
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")
_NUMBER = re.compile(r"[+-]?[0-9]{1,6}|[+-]?[0-9]*\.[0-9]+")
_LEAST = 5
_COPIES, _COPIED = 3, 0.5
QUIET = ("integer", "decimal", "float", "date", "time", "timestamp", "boolean", "enum", "binary", "interval")
"""Kinds of columns that hold no words."""

Originals = Mapping[ColumnValue, pa.Array]
KeptColumns = Mapping[ColumnValue, tuple[pa.ChunkedArray, str]]
"""Published columns with their kinds."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A pair of columns: the one that was replaced and the one in which its values still stand."""

    replaced: ColumnValue
    kept: ColumnValue
    cells: int
    """Rows in which a value was found."""
    whole: int
    """Of these, where it is the whole cell."""
    how: str = "the words of its values"

    def __str__(self) -> str:
        return f"surviving:{self.replaced}->{self.kept}"

    @property
    def sentence(self) -> str:
        return f"'{self.kept}' still holds {self.how} of the replaced column '{self.replaced}' in {self.cells} row(s)"


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(_WORDS.findall(text.lower()))


def telling(value: str) -> bool:
    """Whether a value is rare enough in itself to be looked for everywhere.

    >>> [telling(value) for value in ("Carla Schmidt", "Li", "1980-05-04", "4711", "DE89370400440532013000", "0171 1234567")]
    [True, False, False, False, True, True]
    """
    signs = sum(map(len, _WORDS.findall(value)))
    return signs >= _LEAST and not _DATE.fullmatch(value) and not _NUMBER.fullmatch(value)


def is_plain(value: str) -> bool:
    """One word without digits."""
    return value.isalpha()


class _Index:
    """The values looked for, by their first word: those that tell by themselves, and plain words, which must be whole cells."""

    def __init__(self, originals: Originals) -> None:
        self.phrases: dict[str, list[tuple[tuple[str, ...], ColumnValue, bool]]] = {}
        for column, values in originals.items():
            for value in values.to_pylist():
                if value is not None and telling(value):
                    found = words(value)
                    self.phrases.setdefault(found[0], []).append((found, column, is_plain(value)))
        self.first = pa.array(list(self.phrases), pa.string())

    def candidates(self, cells: pa.Array) -> pa.Array:
        """Numbers of the cells in which some value may begin."""
        split = pc.split_pattern_regex(pc.utf8_lower(cells), _BETWEEN)
        known = pc.is_in(split.flatten(), value_set=self.first)
        return pc.unique(pc.filter(pc.list_parent_indices(split), known))

    def found(self, cell: str, kind: str) -> dict[ColumnValue, tuple[bool, bool]]:
        """The replaced columns a value of which stands in the cell; whether it is all of it, and whether it is a plain word."""
        found: dict[ColumnValue, tuple[bool, bool]] = {}
        for text in _texts(cell, kind):
            own = words(text)
            for place, word in enumerate(own):
                for wanted, column, plain in self.phrases.get(word, ()):
                    whole = len(own) == len(wanted)
                    if own[place : place + len(wanted)] == wanted and (whole or not plain):
                        found[column] = (whole, plain) if found.get(column, (False, True))[1] else found[column]
        return found


def _texts(cell: str, kind: str) -> Iterable[str]:
    """The cell, and every text inside a json document that escapes its signs."""
    if kind != "json" or "\\" not in cell:
        return (cell,)
    try:
        return [cell, *_leaves(json.loads(cell))]
    except (ValueError, RecursionError):
        return (cell,)


def _leaves(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *_leaves(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)


def survivors(originals: Originals, kept: KeptColumns) -> list[Survivor]:
    """Every pair of a replaced and a kept column that share values."""
    index = _Index(originals)
    if not len(index.first):
        return []
    found: list[Survivor] = []
    for column, (cells, kind) in kept.items():
        if kind not in QUIET or _long_numbers(kind):
            found += _in_column(index, column, cells, kind)
    return found


def _long_numbers(kind: str) -> bool:
    """Card numbers and the like are looked for in whole numbers, too."""
    return kind in ("integer", "decimal")


def _in_column(index: _Index, column: ColumnValue, cells: pa.ChunkedArray, kind: str) -> list[Survivor]:
    counted = pc.value_counts(cells.drop_null().combine_chunks() if cells.num_chunks != 1 else cells.chunk(0).drop_null())
    if not len(counted):
        return []
    distinct, counts = counted.field("values"), counted.field("counts").to_numpy(zero_copy_only=False)
    totals: dict[ColumnValue, _Total] = {}
    places = range(len(distinct)) if kind == "json" else index.candidates(distinct).to_pylist()
    for place in places:
        for source, (whole, plain) in index.found(distinct[place].as_py(), kind).items():
            totals.setdefault(source, _Total()).add(int(counts[place]), whole=whole, plain=plain)
    return [
        Survivor(source, column, *total.counted(len(distinct))) for source, total in totals.items() if total.tells(len(distinct))
    ]


@dataclass(slots=True)
class _Total:
    """What was found of one replaced column in one kept column."""

    cells: int = 0
    whole: int = 0
    plain_cells: int = 0
    plain_values: int = 0

    def add(self, cells: int, *, whole: bool, plain: bool) -> None:
        if plain:
            self.plain_cells, self.plain_values = self.plain_cells + cells, self.plain_values + 1
        else:
            self.cells, self.whole = self.cells + cells, self.whole + cells * whole

    def copied(self, distinct: int) -> bool:
        return self.plain_values >= _COPIES and self.plain_values >= _COPIED * distinct

    def tells(self, distinct: int) -> bool:
        return self.cells > 0 or self.copied(distinct)

    def counted(self, distinct: int) -> tuple[int, int]:
        plain = self.plain_cells if self.copied(distinct) else 0
        return self.cells + plain, self.whole + plain
