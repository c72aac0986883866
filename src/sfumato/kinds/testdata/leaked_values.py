r"""Find original values that a policy would publish: in unchanged columns, and in the rows of a replaced value.


Survivors
---------
Original values of replaced columns that survive in columns published as they are: as a whole cell, or as words inside
one.

Guarantee
    Every cell of every kept column is looked at. A value is found if its words occur in the cell one after the other:
    in text, in json (every text in it), in arrays, composites and text-search vectors, in bytes that are text, and
    behind the escapes of addresses and marked-up text. A replaced value that occurs in another column is published all
    the same. A release with such a cell is refused unless the policy accepts that pair of columns by name.

Notation
    words       runs of letters and digits, in lower case and without accents
    telling     a value worth looking for everywhere: at least five signs, and no date, amount or running number
    plain word  a telling value of one word without digits (a first name, a town): any person may have it, and `brown`
    is a colour.
                It counts together with another one of its own row (`Carla Schmidt` from two columns), and where at
                least half of the different values of a kept column are such words: then it is a copy.

Departures: what does not tell by itself (plain words, short values, days, amounts, names of places) is looked for in
its own row and in rows that refer to it (`kinds/testdata/leaked_values.py`).

>>> import pyarrow as pa
>>> old = {ColumnValue("name", "person"): pa.array(["Carla Schmidt", "Bo Li"])}
>>> kept = {ColumnValue("doc", "log"): (pa.chunked_array([['{"by": "carla schmidt"}', "{}"]]), "json")}
>>> [(str(found), found.cells) for found in match_original_values(old, kept)]
[('surviving:person.name->log.doc', 1)]


Derived columns
---------------
Columns that were derived from a replaced one and are published as they are: the old value can be read off its own row.

Guarantee
    In a sample of rows, the old value of a replaced column is compared with every kept cell of its row: the same, in
    lower or upper case, without accents, backwards, its initials, its beginning, its slug, its digits alone, a digest
    of it, the year, month or day of a day, or all its words in any order, as a text-search vector holds them; bytes are
    read as text, too. What agrees with the own row far more often than with another row is derived.

Notation
    own      rows in which the kept cell agrees with the old value of that row
    other    rows in which it agrees with the old value of another row, drawn at random
    derived  own exceeds other by five standard deviations, in at least one row in a hundred (for numbers, days and
             beginnings: every second row);
             in tables of a few rows: in all rows and never in another

>>> import pyarrow as pa
>>> names = [f"Ann{chr(97 + i % 26)} Boe{chr(97 + i // 26)}" for i in range(60)]
>>> rows = pa.table({"name": names, "short": [f"{name[0]}{name.split()[1][0]}".lower() for name in names],
...     "n": ["1"] * 60})
>>> [(found.kept.name, found.how) for found in derived_columns("t", rows, ["name"], {"short": "text", "n": "integer"})]
[]
>>> slugs = rows.append_column("slug", pa.array([name.lower().replace(" ", "-") for name in names]))
>>> [(found.kept.name, found.how) for found in derived_columns("t", slugs, ["name"], {"slug": "text", "n": "integer"})]
[('slug', 'the slug')]


Plain text
----------
Texts as a person would read them: without case and accents, out of bytes, out of addresses and marked-up text.

A name that is replaced in one column must be found in another whatever that column does to it: `Zoë Öztürk` is `zoe
ozturk` in a login, `Zo%C3%AB` in an address, `Zo&euml;` in a page, and bytes in a file.

>>> fold_text("Łucja Ångström"), unescape_text("Zo%C3%AB&nbsp;&Ouml;zt"), decode_bytes("\\x5a6fc3ab")
('lucja angstrom', 'Zoë\xa0Özt', 'Zoë')
"""

from __future__ import annotations

import hashlib
import html
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.database import Database, ForeignKey
from sfumato.data.memory_map import map_column
from sfumato.data.table import Table
from sfumato.kinds.testdata.database_view import FEW, iterate_in_pieces, slices
from sfumato.kinds.testdata.document_values import inner_values, remainders
from sfumato.policy.constraint_language.syntax_tree import ColumnValue
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.value_domains import Fakes, Like, Values

_PUBLIC = ("city", "country", "job", "company")
_NAMES = 4


def find_leaked_values(bound: BoundPolicy, database: Database) -> list[LeakedColumn]:
    """Every pair of a replaced and a kept column of the source that share values; looked for once, before and after the
    work."""
    return list(database.once((find_leaked_values, *_asked(bound)), lambda: _surviving(bound, database)))


def _asked(bound: BoundPolicy) -> Iterator[Hashable]:
    """All that is looked at besides the rows: a policy and a schema out of files ask the same as those they were
    written from."""
    for column in bound.changed:
        yield column, bound.domain(column)
    for table in bound.linked_schema.tables:
        yield table.name
        yield from ((column.name, column.kind, column.computed) for column in table.columns)
        yield from ((key.table, key.columns, key.parent, key.parent_columns) for key in table.foreign_keys)


def _surviving(bound: BoundPolicy, database: Database) -> tuple[LeakedColumn, ...]:
    frames = {name: table.frame for name, table in database.tables.items()}
    found = {(one.replaced, one.kept): one for one in _derived(bound, database)}
    for one in match_original_values(original_values(bound, database), unchanged_columns(bound, frames)):
        found.setdefault((one.replaced, one.kept), one)
    return tuple(found.values())


def _derived(bound: BoundPolicy, database: Database) -> Iterator[LeakedColumn]:
    new = set(bound.changed)
    for name, table in database.tables.items():
        facts = bound.schema.table(name)
        replaced = [c.name for c in facts.columns if ColumnValue(c.name, name) in new]
        kept = {c.name: c.kind for c in facts.columns if ColumnValue(c.name, name) not in new and not c.computed}
        if not kept or not table.rows:
            continue
        if replaced:
            yield from derived_columns(name, table.frame, replaced, kept)
            yield from _from_two(bound, table, name, replaced, kept)
        for key in bound.linked_schema.table(name).foreign_keys:
            if key.parent in database.tables and key.parent != name:
                yield from _from_parent(bound, database, key, kept)


def _from_two(
    bound: BoundPolicy, table: Table, name: str, replaced: Sequence[str], kept: Mapping[str, str]
) -> Iterator[LeakedColumn]:
    """Initials, logins and search texts made of two columns, as of first and last name."""
    sample = table.frame.take(pa.array(evenly_spaced_rows(table.rows)))
    plain = [c for c in replaced if _mostly_plain(pc.drop_null(pc.unique(sample.column(c))))][:_NAMES]
    for place, one in enumerate(plain):
        for two in plain[place + 1 :]:
            both = pc.binary_join_element_wise(sample.column(one), sample.column(two), " ").to_pylist()
            yield from columns_that_reveal(name, {ColumnValue(one, name): both}, sample, kept, table.rows)


def _from_parent(
    bound: BoundPolicy, database: Database, key: ForeignKey, kept: Mapping[str, str]
) -> Iterator[LeakedColumn]:
    """Values of the row that a row refers to."""
    keys, child, parent = set(key.parent_columns), database.tables[key.table], database.tables[key.parent]
    wanted = [c for c in bound.changed if c.table == key.parent and c.name not in keys]
    if not wanted or len(key.columns) != 1:
        return
    sample = child.frame.take(pa.array(evenly_spaced_rows(child.rows)))
    place = _rows_of(sample.column(key.columns[0]), parent.column(key.parent_columns[0]))
    old = {column: parent.column(column.name).take(place).to_pylist() for column in wanted}
    others = {name: kind for name, kind in kept.items() if name not in key.columns}
    yield from columns_that_reveal(key.table, old, sample, others, child.rows)


def _rows_of(sought: pa.ChunkedArray, keys: pa.ChunkedArray) -> pa.Array:
    """The row of every key that is sought, null where there is none; the keys are looked through some at a time."""
    different = pc.drop_null(pc.unique(sought))
    rows = np.full(len(different), -1, dtype=np.int64)
    for cut in slices(len(keys)):
        met = pc.index_in(keys[cut], value_set=different)
        here = np.flatnonzero(np.asarray(pc.is_valid(met)))
        rows[np.asarray(met.drop_null())] = cut.start + here
    found = pa.array(rows, mask=rows < 0).take(pc.index_in(sought, value_set=different).combine_chunks())
    return found


def original_values(bound: BoundPolicy, database: Database) -> Originals:
    """The old values of every replaced column, without those that the policy itself lists; looked for once."""
    return database.once((original_values, *_asked(bound)), lambda: OriginalValues(_originals(bound, database)))


def _originals(bound: BoundPolicy, database: Database) -> dict[ColumnValue, pa.Array]:
    found: dict[ColumnValue, pa.Array] = {}
    for column in bound.changed:
        if str(column.table) not in database.tables or bound.facts(column).kind in (
            "integer",
            "boolean",
            "enum",
            "date",
            "timestamp",
        ):
            continue
        if column in bound.rewritten:
            found[column] = inner_values(
                database.tables[str(column.table)].column(column.name), bound.rewritten[column], str(column)
            )
            continue
        domain = bound.domain(_copied_from(bound, column))
        if isinstance(domain, Like) or (isinstance(domain, Fakes) and domain.fake in _PUBLIC):
            continue  # the list of values is published by the policy's own wish; places are on every map
        values = _different(database.tables[str(column.table)].column(column.name).drop_null())
        if isinstance(domain, Values):
            values = values.filter(pc.invert(pc.is_in(values, value_set=pa.array(list(domain.values), pa.string()))))
        found[column] = values
    return found | dict(_full_names(bound, database, found))


_TRIED = 5_000


def _different(column: pa.ChunkedArray) -> pa.Array:
    """The values without repetition; of a large column in which hardly any repeats as they are."""
    first = column[:_TRIED]
    if len(column) > _TRIED and len(pc.unique(first)) > 0.9 * len(first):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return pc.unique(column)


def _copied_from(bound: BoundPolicy, column: ColumnValue) -> ColumnValue:
    """The column that a computed one is a copy of; any other column itself."""
    copies = {one.column: one.expression for one in bound.definitions if isinstance(one.expression, ColumnValue)}
    while isinstance(source := copies.get(column), ColumnValue) and source in bound.changed:
        column = ColumnValue(source.name, source.table)
    return column


def _full_names(bound: BoundPolicy, database: Database, found: Originals) -> Iterator[tuple[ColumnValue, pa.Array]]:
    """Two plain words of one row together: first and last name from two columns."""
    for name, table in database.tables.items():
        plain = [c for c in found if c.table == name and _mostly_plain(found[c])][:_NAMES]
        for place, one in enumerate(plain):
            first, pairs = table.column(one.name), []
            for two in plain[place + 1 :]:
                second = table.column(two.name)
                pairs += [pc.binary_join_element_wise(*both, " ") for both in ((first, second), (second, first))]
            if pairs:
                both_ways = pa.chunked_array([chunk for pair in pairs for chunk in pair.chunks], pa.string())
                yield one, pc.unique(pa.chunked_array([*both_ways.drop_null().chunks, found[one]], pa.string()))


def _mostly_plain(values: pa.Array) -> bool:
    sample = values[:200].to_pylist()
    return bool(sample) and sum(value.isalpha() for value in sample) >= len(sample) / 2


def unchanged_columns(bound: BoundPolicy, frames: Mapping[str, pa.Table]) -> KeptColumns:
    """The columns that are published as they are, with their kinds."""
    new = set(bound.changed)
    plain = {
        column: (frames[str(column.table)].column(column.name), bound.facts(column).kind)
        for column in bound.columns.values()
        if (column not in new or column in bound.rewritten)
        and column.table in frames
        and column.name in frames[str(column.table)].column_names
        and not bound.facts(column).computed
    }
    return plain | {
        column: (remainders(plain[column][0], domain), plain[column][1])
        for column, domain in bound.rewritten.items()
        if column in plain
    }


# Derived columns
# ---------------


_SAMPLE, _SCREEN, _REVERSED = 2_000, 300, 3
_FEWEST = 3
_SIGMAS = 5.0
_SHARE_OF_TEXT, _SHARE_OF_NUMBERS, _SHARE_OF_COPIES = 0.01, 0.5, 0.95
_FEW_NUMBERS = 20
"""Fewer different numbers than this agree often by their nature (amounts and line numbers); only a copy of them
tells."""
_VECTOR = re.compile(r"'((?:[^']|'')*)'")
_BUT_LETTERS, _BUT_SIGNS, _BUT_DIGITS = re.compile(r"[^a-z]+"), re.compile(r"[^a-z0-9]+"), re.compile(r"[^0-9]+")
_LONG = 6
"""Digits that tell who it is."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def derived_columns(
    table: str, rows: pa.Table, replaced: Sequence[str], kept: Mapping[str, str]
) -> Iterator[LeakedColumn]:
    """Kept columns (with their kinds) from which old values of replaced columns of the same rows can be read."""
    sample = rows.take(pa.array(evenly_spaced_rows(rows.num_rows)))
    old = {ColumnValue(name, table): sample.column(name).to_pylist() for name in replaced}
    yield from columns_that_reveal(table, old, sample, kept, rows.num_rows)


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
        return fold_text(self.text)

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
        return words_of_text(self.text)

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
        return frozenset(
            hashlib.new(kind, text, usedforsecurity=False).hexdigest() for kind in _DIGESTS for text in texts
        )


class _Texts(dict[str, _Text]):
    """Texts that were met."""

    def __missing__(self, text: str) -> _Text:
        self[text] = met = _Text(text)
        return met

    def of(self, values: list[str | None]) -> list[_Text | None]:
        return [self[value] if value else None for value in values]


def columns_that_reveal(
    table: str, old: Mapping[ColumnValue, list[str | None]], sample: pa.Table, kept: Mapping[str, str], rows: int
) -> Iterator[LeakedColumn]:
    """The same for old values of any table that go with the sampled rows; `rows` is how many rows the sample stands
    for."""
    met = _Texts()
    sources = {source: met.of(values) for source, values in old.items()}
    for name, kind in kept.items():
        held = sample.column(name).to_pylist()
        cells, read = met.of(held), met.of([cell and decode_bytes(cell) for cell in held]) if kind == "binary" else None
        for source, values in sources.items():
            found = _derivation(values, cells, kind) or (
                _derivation(values, read, "text") if read is not None else None
            )
            if found is not None:
                how, share = found
                count = max(1, round(share * rows))
                yield LeakedColumn(source, ColumnValue(name, table), count, count if how == "the values" else 0, how)


def evenly_spaced_rows(count: int) -> np.ndarray:
    """Evenly spaced row numbers, at most as many as are looked at."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, _SAMPLE)).astype(np.int64))


def _derivation(old: list[_Text | None], cells: list[_Text | None], kind: str) -> tuple[str, float] | None:
    """How the cells come from the old values, and in which share of all rows, those without a value too."""
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
        if kind in QUIET and how == "the values" and len(set(values)) < _FEW_NUMBERS:
            least = _SHARE_OF_COPIES
        own = sum(map(made, values, held))
        if own < max(_FEWEST, least * len(pairs)):
            continue
        other = sum(map(made, shifted, held))
        if own == len(pairs) and not other:
            return how, own / len(old)
        spread = math.sqrt(max(other, 1.0) * max(1 - other / len(pairs), 1 / len(pairs)))
        if own - other > _SIGMAS * spread:
            return how, own / len(old)
    return None


def _running(values: list[str]) -> bool:
    """Whole numbers that count something through; that another column counts along tells nothing."""
    if not all(len(value) < 10 and value.isdigit() for value in values):
        return False
    numbers = [int(value) for value in values]
    return len(set(numbers)) == len(numbers) and max(numbers) - min(numbers) < 100 * len(numbers)


def _slug(value: _Text, cell: _Text) -> bool:
    return len(value.signs) > 2 and value.signs == cell.slug


def _initials(value: _Text, cell: _Text) -> bool:
    return len(value.words) > 1 and value.initials == cell.joined


def _part_of_day(value: _Text, cell: _Text) -> bool:
    day = value.text
    return bool(_DAY.match(day)) and (
        cell.text in (day[:4], day[:7], day[:10].replace("-", "")) or cell.text[:10] == day[:10]
    )


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


# Plain text
# ----------


_WRITTEN_APART = {
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ı": "i",
    "ħ": "h",
}
_APART = str.maketrans(_WRITTEN_APART)
ESCAPED = r"%[0-9A-Fa-f]{2}|&#?[0-9A-Za-z]{2,8};"
"""What stands for another sign in addresses and in marked-up text."""


def fold_text(text: str) -> str:
    """In lower case and without accents."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.lower())
    return "".join(sign for sign in apart if not unicodedata.combining(sign)).translate(_APART)


def fold_texts(texts: pa.Array) -> pa.Array:
    """The same of many texts."""
    texts = pc.utf8_lower(texts)
    if not pc.any(pc.invert(pc.string_is_ascii(texts))).as_py():
        return texts
    texts = pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKD"), r"\p{Mn}", "")
    for sign, written in _WRITTEN_APART.items():
        texts = pc.replace_substring(texts, sign, written)
    return texts


def unescape_text(text: str) -> str:
    """Signs instead of what stands for them in an address or in marked-up text."""
    return html.unescape(unquote(text, errors="replace"))


def decode_bytes(cell: str) -> str:
    """The text in bytes that a server writes as hexadecimal digits; what is no text gives signs that are no words."""
    try:
        held = bytes.fromhex(cell.removeprefix("\\x"))
    except ValueError:
        return cell
    if held[:2] in (b"\xff\xfe", b"\xfe\xff") or held[1::2].count(0) * 4 > len(held):
        return held.decode("utf-16" if held[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-16-le", errors="replace")
    try:
        return held.decode()
    except UnicodeDecodeError:
        return held.decode("latin-1")


# Survivors
# ---------


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
class LeakedColumn:
    """A pair of columns: the one that was replaced and the one in which its values still stand."""

    replaced: ColumnValue
    kept: ColumnValue
    cells: int
    """Rows in which a value was found."""
    whole: int
    """Of these, where it is the whole cell."""
    how: str = "the words of its values"
    surely: int = 0
    """Rows in which it is no coincidence: the value has digits or is an address, or it occurs in a sentence."""

    def __str__(self) -> str:
        return f"surviving:{self.replaced}->{self.kept}"

    @property
    def sentence(self) -> str:
        return f"'{self.kept}' still holds {self.how} of the replaced column '{self.replaced}' in {self.cells} row(s)"


def words_of_text(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(_WORDS.findall(fold_text(text)))


def telling(value: str) -> bool:
    """Whether a value is rare enough in itself to be looked for everywhere.

    >>> [telling(value) for value in ("Carla Schmidt", "Li", "1980-05-04", "4711", "DE89370400440532013000",
    ...     "0171 1234567")]
    [True, False, False, False, True, True]
    """
    signs = sum(map(len, _WORDS.findall(value)))
    return signs >= _LEAST and not _DATE.fullmatch(value) and not _NUMBER.fullmatch(value)


def is_plain(value: str) -> bool:
    """One word without digits."""
    return value.isalpha()


class _Index:
    """The values looked for, by their first word: those that tell by themselves, and plain words, which must be whole
    cells."""

    def __init__(self, values: Originals, begins: Originals) -> None:
        self.values, self.begins = values, begins
        known = [pc.unique(words) for words in self.begins.values()]
        self.first = pc.unique(pa.chunked_array(known, pa.string()))

    @classmethod
    def of(cls, originals: Originals) -> _Index:
        values = {column: map_column(_worth(values)) for column, values in originals.items()}
        return cls(values, {column: map_column(first_words(values)) for column, values in values.items()})

    @cached_property
    def numbers(self) -> _Index:
        """Return the same for values without letters: a column of numbers holds no others."""
        silent = {column: pa.array(~has_letters(values)) for column, values in self.values.items()}
        kept = [{one: held[one].filter(silent[one]) for one in silent} for held in (self.values, self.begins)]
        return _Index(*kept)

    def candidates(self, cells: pa.Array, kind: str) -> list[int]:
        """Numbers of the cells in which some value may begin."""
        if kind == "json":
            return list(range(len(cells)))
        if kind != "integer" and pc.any(pc.match_substring_regex(cells, ESCAPED)).as_py():
            cells = pa.array(map(unescape_text, cells.to_pylist()), pa.string())
        long = pc.greater_equal(pc.utf8_length(cells), _DIGITS if kind == "integer" else _LEAST)
        places = pc.indices_nonzero(long)
        cells = cells.filter(long)
        if not len(cells):
            return []
        split = split_words(fold_texts(cells)) if kind != "integer" else None
        known = pc.is_in(pc.utf8_ltrim(cells, "-") if split is None else split.flatten(), value_set=self.first)
        found = (
            pc.indices_nonzero(known) if split is None else pc.unique(pc.filter(pc.list_parent_indices(split), known))
        )
        return [int(place) for place in places.take(found).to_pylist()]

    def phrases(self, cells: list[str], kind: str) -> Phrases:
        """The values that begin with a word of these cells."""
        wanted = {word for cell in cells for text in _texts(cell, kind) for word in words_of_text(text)}
        listed = pa.array(list(wanted), pa.string())
        found: Phrases = {}
        for column, values in self.values.items():
            for value in values.filter(pc.is_in(self.begins[column], value_set=listed)).to_pylist():
                own = words_of_text(value)
                if own and telling(value):
                    sure = "@" in value or not all(word.isalpha() for word in own)
                    alike = found.setdefault(own[0], {}).setdefault(len(own), {})
                    alike.setdefault(own, []).append((column, is_plain(value), sure))
        return found


class OriginalValues(dict[ColumnValue, pa.Array]):
    """Old values, and their index, which is made once."""

    @cached_property
    def index(self) -> _Index:
        return _Index.of(self)


Phrases = dict[str, dict[int, dict[tuple[str, ...], list[tuple[ColumnValue, bool, bool]]]]]
"""By the first word, the number of words and all words: the column, whether it is a plain word, whether the value is
unique."""


def _worth(values: pa.Array) -> pa.Array:
    """Without those that do not tell for sure; the others are looked at one by one when a cell begins like them."""
    values = pc.drop_null(values)
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    values = values.filter(pc.greater_equal(pc.utf8_length(values), _LEAST))
    doubtful = pc.is_in(pc.binary_slice(values.cast(pa.binary()), 0, 1), value_set=_BEGINS_NUMBER)
    silent = np.zeros(len(values), dtype=bool)
    silent[np.asarray(doubtful)] = np.asarray(pc.match_substring_regex(values.filter(doubtful), _SILENT))
    return values.filter(pa.array(~silent))


_BEGINS_NUMBER = pa.array([sign.encode() for sign in "+-.0123456789"], pa.binary())
_AT_ONCE = 1 << 16
_IS_LETTER, _IS_WORD = (
    np.array([chr(code).isascii() and kept(chr(code)) for code in range(256)]) for kept in (str.isalpha, str.isalnum)
)


def has_letters(values: pa.Array) -> NDArray[np.bool_]:
    """Return which values have a letter.

    >>> has_letters(pa.array(["0171 12", "", "7b", "ß"])).tolist()
    [False, False, True, True]
    """
    found = np.zeros(len(values), dtype=bool)
    for start in range(0, len(values), _AT_ONCE):
        some = values.slice(start, _AT_ONCE)
        data, ends = _bytes_of(some)
        letters = np.flatnonzero(_IS_LETTER[data])
        found[start : start + len(some)] = _next(letters, ends[:-1]) < ends[1:]
    other = np.flatnonzero(np.asarray(pc.invert(pc.string_is_ascii(values))))
    found[other] = np.asarray(pc.match_substring_regex(values.take(pa.array(other)), r"\pL"))
    return found


def first_words(values: pa.Array) -> pa.Array:
    """Return the first word of every value, in lower case and without accents.

    >>> first_words(pa.array(["Ann Boe", "+49 171", "--", "Émile Z."])).to_pylist()
    ['ann', '49', '', 'emile']
    """
    plain = pc.string_is_ascii(values)
    if not pc.all(plain, min_count=0).as_py():
        order = np.argsort(~np.asarray(plain), kind="stable")
        parts = [first_words(values.filter(plain)), _first_words_of_any(values.filter(pc.invert(plain)))]
        return pa.concat_arrays(parts).take(pa.array(np.argsort(order)))
    return pa.concat_arrays(
        [pa.array([], pa.string())]
        + [_first_words(values.slice(start, _AT_ONCE)) for start in range(0, len(values), _AT_ONCE)]
    )


def _first_words(values: pa.Array) -> pa.Array:
    """Of values in ASCII: from the first letter or digit to the next sign that is neither."""
    data, ends = _bytes_of(values)
    word = _IS_WORD[data]
    begins = np.minimum(_next(np.flatnonzero(word), ends[:-1]), ends[1:])
    lengths = np.minimum(_next(np.flatnonzero(~word), begins), ends[1:]) - begins
    places = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(lengths, out=places[1:])
    signs = data[np.repeat(begins - places[:-1], lengths) + np.arange(places[-1])]
    cut = [None, pa.py_buffer(places.astype(np.int32)), pa.py_buffer(signs)]
    return pc.ascii_lower(pa.Array.from_buffers(pa.string(), len(values), cut))


def _first_words_of_any(values: pa.Array) -> pa.Array:
    read = fold_texts(values)
    begun = pc.replace_substring_regex(read, f"^{_between(read)}", "")
    return pc.list_element(split_words(begun, 1), 0)


def _bytes_of(values: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of texts that are not null, and where each text begins and ends."""
    _, places, signs = values.buffers()
    ends = np.frombuffer(places, dtype=np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    data = np.frombuffer(signs, dtype=np.uint8) if signs is not None else np.zeros(0, dtype=np.uint8)
    return data[ends[0] : ends[-1]], ends - ends[0]


def _next(places: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first of the ascending places that is not before each of these; a large number where there is none."""
    return np.append(places, np.iinfo(np.int64).max)[np.searchsorted(places, after)]


def split_words(folded_texts: pa.Array, times: int | None = None) -> pa.Array:
    """The words of every text, the first few of them apart where so many cuts are enough."""
    return pc.split_pattern_regex(folded_texts, _between(folded_texts), max_splits=times)


def _between(folded_texts: pa.Array) -> str:
    """What lies between the words of these texts."""
    return _BETWEEN_PLAIN if pc.all(pc.string_is_ascii(folded_texts)).as_py() else BETWEEN


def _found(phrases: Phrases, cell: str, kind: str) -> dict[ColumnValue, tuple[bool, bool, bool]]:
    """Return the replaced columns with a value in the cell: is it the whole cell, a plain word, no coincidence."""
    found: dict[ColumnValue, tuple[bool, bool, bool]] = {}
    for text in _texts(cell, kind):
        own = words_of_text(text)
        for place, word in enumerate(own):
            for count, alike in phrases.get(word, {}).items():
                whole = len(own) == count
                for column, plain, sure in alike.get(own[place : place + count], ()):
                    if whole or not plain:
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
        cell = unescape_text(cell)
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


def match_original_values(originals: Originals, kept: KeptColumns) -> list[LeakedColumn]:
    """Every pair of a replaced and a kept column that share values."""
    index = originals.index if isinstance(originals, OriginalValues) else _Index.of(originals)
    if not len(index.first):
        return []
    found: list[LeakedColumn] = []
    for column, (cells, kind) in kept.items():
        own = index.numbers if _long_numbers(kind) else index
        if kind not in QUIET or (_long_numbers(kind) and len(own.first)):
            found += _in_column(own, column, cells, kind)
    return found


def _long_numbers(kind: str) -> bool:
    """Card numbers and the like are looked for in whole numbers, too."""
    return kind in ("integer", "decimal")


def _in_column(index: _Index, column: ColumnValue, cells: pa.ChunkedArray, kind: str) -> list[LeakedColumn]:
    totals: dict[ColumnValue, _Total] = {}
    different = 0
    for distinct, counts in _counted(_possible(index, cells, kind) if _long_numbers(kind) else cells):
        different += len(distinct)
        if kind == "binary":
            distinct = pa.array(map(decode_bytes, distinct.to_pylist()), pa.string())
        places = index.candidates(distinct, kind) if len(distinct) else []
        texts = distinct.take(pa.array(places, pa.int64())).to_pylist()
        phrases = index.phrases(texts, kind) if places else {}
        for place, text in zip(places, texts, strict=True):
            for source, (whole, plain, surely) in _found(phrases, text, kind).items():
                totals.setdefault(source, _Total()).add(int(counts[place]), whole=whole, plain=plain, surely=surely)
    return [
        LeakedColumn(source, column, *total.counted(different), surely=total.surely)
        for source, total in totals.items()
        if total.tells(different)
    ]


def _possible(index: _Index, cells: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """The numbers that may be a value that is looked for; of the others nothing is asked, not even how many there
    are."""
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
    for ((piece,),) in iterate_in_pieces([cells.drop_null()]):
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
