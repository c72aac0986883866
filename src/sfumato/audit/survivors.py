r"""Original values of replaced columns that survive in columns published as they are: as a whole cell, or as words inside one.

Guarantee
    Every cell of every kept column is looked at. A value is found when its words stand in the cell one after the other: in text, in
    json (every text in it), in arrays, composites and text-search vectors, in bytes that are text, and behind the escapes of
    addresses and marked-up text. What is replaced in one column and stands in another is published all the same, and a release with
    such a cell is refused unless the policy accepts that pair of columns by name.

Notation
    words       runs of letters and digits, in lower case and without accents
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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.audit.pieces import FEW, in_pieces, slices
from sfumato.audit.plain_text import ESCAPED, folded, folded_all, read_bytes, unescaped
from sfumato.policy.rules.tree import ColumnValue

_WORDS = re.compile(r"[^\W_]+")
BETWEEN = r"[^\p{L}\p{N}]+"
_BETWEEN_PLAIN = r"[^a-z0-9]+"
"""The same in folded texts of nothing but ASCII; to compile the other takes longer than to split hundreds of texts."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?")
_NUMBER = re.compile(r"[+-]?[0-9]{1,6}|[+-]?[0-9]*\.[0-9]+")
_LEAST, _DIGITS, _SENTENCE = 5, 7, 2
_ESCAPES = re.compile(ESCAPED)
_SILENT = r"^([+-]?[0-9]{1,6}|[+-]?[0-9]*\.[0-9]+|[0-9]{4}-[0-9][0-9]-[0-9][0-9]([ T][0-9][0-9]:[0-9][0-9].*)?)$"
_COPIES, _COPIED = 3, 0.5
QUIET = ("integer", "decimal", "float", "date", "time", "timestamp", "boolean", "enum", "interval")
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
    surely: int = 0
    """Of the rows, where it is no coincidence: the value has digits or is an address, or it stands in a sentence."""

    def __str__(self) -> str:
        return f"surviving:{self.replaced}->{self.kept}"

    @property
    def sentence(self) -> str:
        return f"'{self.kept}' still holds {self.how} of the replaced column '{self.replaced}' in {self.cells} row(s)"


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(_WORDS.findall(folded(text)))


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
        self.values = {column: _worth(values) for column, values in originals.items()}
        self.begins = {column: _first_words(values) for column, values in self.values.items()}
        known = [pc.unique(words) for words in self.begins.values()]
        self.first = pc.unique(pa.chunked_array(known, pa.string()))
        self.has_numbers = bool(pc.any(pc.match_substring_regex(self.first, "^[0-9]+$")).as_py())

    def candidates(self, cells: pa.Array, kind: str) -> list[int]:
        """Numbers of the cells in which some value may begin."""
        if kind == "json":
            return list(range(len(cells)))
        if pc.any(pc.match_substring_regex(cells, ESCAPED)).as_py():
            cells = pa.array(map(unescaped, cells.to_pylist()), pa.string())
        long = pc.greater_equal(pc.utf8_length(cells), _DIGITS if kind == "integer" else _LEAST)
        places = pc.indices_nonzero(long)
        cells = cells.filter(long)
        split = split_words(folded_all(cells)) if kind != "integer" else None
        known = pc.is_in(pc.utf8_ltrim(cells, "-") if split is None else split.flatten(), value_set=self.first)
        found = pc.indices_nonzero(known) if split is None else pc.unique(pc.filter(pc.list_parent_indices(split), known))
        return [int(place) for place in places.take(found).to_pylist()]

    def phrases(self, cells: list[str], kind: str) -> Phrases:
        """The values that begin with a word of these cells."""
        wanted = {word for cell in cells for text in _texts(cell, kind) for word in words(text)}
        listed = pa.array(list(wanted), pa.string())
        found: Phrases = {}
        for column, values in self.values.items():
            for value in values.filter(pc.is_in(self.begins[column], value_set=listed)).to_pylist():
                own = words(value)
                if own and telling(value):
                    sure = "@" in value or not all(word.isalpha() for word in own)
                    found.setdefault(own[0], []).append((own, column, is_plain(value), sure))
        return found


Phrases = dict[str, list[tuple[tuple[str, ...], ColumnValue, bool, bool]]]
"""By the first word: all words, the column, whether it is a plain word, and whether nobody else has such a value."""


def _worth(values: pa.Array) -> pa.Array:
    """Without those that do not tell for sure; the others are looked at one by one when a cell begins like them."""
    values = pc.drop_null(values)
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    short = pc.less(pc.utf8_length(values), _LEAST)
    return values.filter(pc.invert(pc.or_(short, pc.match_substring_regex(values, _SILENT))))


def _first_words(values: pa.Array) -> pa.Array:
    """In lower case."""
    read = folded_all(values)
    begun = pc.replace_substring_regex(read, f"^{_between(read)}", "")
    return pc.list_element(split_words(begun, 1), 0)


def split_words(folded_texts: pa.Array, times: int | None = None) -> pa.Array:
    """The words of every text, the first few of them apart where so many cuts are enough."""
    return pc.split_pattern_regex(folded_texts, _between(folded_texts), max_splits=times)


def _between(folded_texts: pa.Array) -> str:
    """What lies between the words of these texts."""
    return _BETWEEN_PLAIN if pc.all(pc.string_is_ascii(folded_texts)).as_py() else BETWEEN


def _found(phrases: Phrases, cell: str, kind: str) -> dict[ColumnValue, tuple[bool, bool, bool]]:
    """The replaced columns a value of which stands in the cell: is it all of it, a plain word, and no coincidence."""
    found: dict[ColumnValue, tuple[bool, bool, bool]] = {}
    for text in _texts(cell, kind):
        own = words(text)
        for place, word in enumerate(own):
            for wanted, column, plain, sure in phrases.get(word, ()):
                whole = len(own) == len(wanted)
                if own[place : place + len(wanted)] == wanted and (whole or not plain):
                    surely = sure or (not plain and _is_sentence(text))
                    found[column] = (whole, plain, surely) if found.get(column, (False, True))[1] else found[column]
    return found


def _is_sentence(text: str) -> bool:
    """Whether it says something, other than a list of names.

    >>> _is_sentence("Phoned Carla Schmidt about order 12"), _is_sentence("Ann Boe/Carla Schmidt/Di Eck and Flo Gee")
    (True, False)
    """
    found: list[str] = _WORDS.findall(text)
    return sum(word.islower() for word in found) >= _SENTENCE


def _texts(cell: str, kind: str) -> Iterable[str]:
    """The cell, without what stands for other signs, and every text inside a json document that escapes its signs."""
    if _ESCAPES.search(cell):
        cell = unescaped(cell)
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
        if kind not in QUIET or (_long_numbers(kind) and index.has_numbers):
            found += _in_column(index, column, cells, kind)
    return found


def _long_numbers(kind: str) -> bool:
    """Card numbers and the like are looked for in whole numbers, too."""
    return kind in ("integer", "decimal")


def _in_column(index: _Index, column: ColumnValue, cells: pa.ChunkedArray, kind: str) -> list[Survivor]:
    totals: dict[ColumnValue, _Total] = {}
    different = 0
    for distinct, counts in _counted(_possible(index, cells, kind) if _long_numbers(kind) else cells):
        different += len(distinct)
        if kind == "binary":
            distinct = pa.array(map(read_bytes, distinct.to_pylist()), pa.string())
        places = index.candidates(distinct, kind) if len(distinct) else []
        texts = distinct.take(pa.array(places, pa.int64())).to_pylist()
        phrases = index.phrases(texts, kind) if places else {}
        for place, text in zip(places, texts, strict=True):
            for source, (whole, plain, surely) in _found(phrases, text, kind).items():
                totals.setdefault(source, _Total()).add(int(counts[place]), whole=whole, plain=plain, surely=surely)
    return [
        Survivor(source, column, *total.counted(different), surely=total.surely)
        for source, total in totals.items()
        if total.tells(different)
    ]


def _possible(index: _Index, cells: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """The numbers that may be a value that is looked for; of the others nothing is asked, not even how many there are."""
    some = (cells[rows].drop_null().combine_chunks() for rows in slices(len(cells)))
    return pa.chunked_array([one.take(pa.array(index.candidates(one, kind), pa.int64())) for one in some], pa.string())


def _counted(cells: pa.ChunkedArray) -> Iterator[tuple[pa.Array, NDArray[np.int64]]]:
    """Every different value once, with how often it occurs; when they are many, some of them at a time."""
    totals: Counter[str] = Counter()
    for rows in slices(len(cells)):
        counted = pc.value_counts(cells[rows].drop_null())
        if len(counted) + len(totals) > FEW:
            break
        totals.update(dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)))
    else:
        yield pa.array(list(totals), pa.string()), np.array(list(totals.values()), dtype=np.int64)
        return
    for ((piece,),) in in_pieces([cells.drop_null()]):
        counted = pc.value_counts(piece)
        yield counted.field("values"), counted.field("counts").to_numpy(zero_copy_only=False)


@dataclass(slots=True)
class _Total:
    """What was found of one replaced column in one kept column."""

    cells: int = 0
    whole: int = 0
    plain_cells: int = 0
    plain_values: int = 0
    surely: int = 0

    def add(self, cells: int, *, whole: bool, plain: bool, surely: bool) -> None:
        self.surely += cells * (surely and not plain)
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
