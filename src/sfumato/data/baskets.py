"""Set-valued records: what each person bought, was prescribed or looked for, and labels that must not be tied to them.

Items are public knowledge about a record (an adversary may know the whole set); labels are the sensitive columns that
travel beside it. The universe keeps the order in which the source shows its items, ascending when all are whole
numbers, because the Gray order depends on the order of the columns.

Paper
    [multitype 3.1, 3.4]: a record is a characteristic vector over a universe of items with an optional sensitive label.

>>> sports = Baskets.of([["jogging", "swimming"], ["swimming", "tennis"]], {"religion": ["a", "b"]})
>>> sports.names, len(sports), sorted(sports.set_of(1))
(('jogging', 'swimming', 'tennis'), 2, ['swimming', 'tennis'])


Splitting
---------
Columns of text that list items, as sets over one universe; piece by piece, so that memory follows the items and not the
text.

>>> import pyarrow as pa
>>> (rows,), names = split_item_columns([pa.chunked_array([["10 9", "", "9 9 11"]])], " ")
>>> names, [rows.row(index).tolist() for index in range(3)]
(('9', '10', '11'), [[0, 1], [], [0, 2]])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.errors import DataError
from sfumato.data.item_sets import Sets
from sfumato.data.table import TextColumn


@dataclass(frozen=True, slots=True, eq=False)
class Baskets:
    """Set-valued records: item sets over named items, with one array of text per label column.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.Baskets.of([["tea", "milk"], ["tea"]], labels={"illness": ["flu", "gout"]}).names
    ('tea', 'milk')
    """

    sets: Sets
    names: tuple[str, ...]
    labels: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.names) != self.sets.width:
            raise DataError("the universe names more or fewer items than the sets use", where="baskets")
        for name, column in self.labels.items():
            if len(column) != len(self.sets):
                raise DataError(
                    f"column '{name}' has {len(column)} values for {len(self.sets)} records", where="baskets"
                )

    @classmethod
    def of(
        cls, rows: Iterable[Sequence[str]], labels: Mapping[str, Sequence[str]] | None = None, names: Sequence[str] = ()
    ) -> Baskets:
        """From rows of item names; `names` fixes the universe and its order, otherwise `universe` decides."""
        listed = [list(row) for row in rows]
        known = tuple(names) or universe(item for row in listed for item in row)
        code = {name: index for index, name in enumerate(known)}
        if len(code) != len(known):
            raise DataError("an item is named twice in the universe", where="items")
        try:
            sets = Sets.of(([code[item] for item in row] for row in listed), len(known))
        except KeyError:
            raise DataError("a record holds an item that the universe does not name", where="items") from None
        columns = {name: np.array(list(column), dtype=object) for name, column in (labels or {}).items()}
        return cls(sets, known, columns)

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def rows(self) -> int:
        return len(self.sets)

    @property
    def records(self) -> int:
        return self.rows

    def content(self) -> Iterator[bytes]:
        """Everything that is said about records, for a digest."""
        yield repr((self.rows, self.names)).encode() + self.sets.sizes.tobytes() + self.sets.items.tobytes()
        yield from (repr((name, labels.tolist())).encode() for name, labels in self.labels.items())

    def set_of(self, record: int) -> frozenset[str]:
        return frozenset(self.names[item] for item in self.sets.row(record))

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Baskets:
        chosen = np.asarray(rows, dtype=np.int64)
        return Baskets(
            self.sets.take(chosen), self.names, {name: column[chosen] for name, column in self.labels.items()}
        )

    def text(self, name: str) -> TextColumn:
        """A label column as a column of text."""
        if name not in self.labels:
            raise DataError(f"the records have no column '{name}'", hint="known: " + ", ".join(self.labels))
        codes, values = self.label_codes(name)
        return TextColumn(codes.astype(np.int32), values)

    def label_codes(self, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """A label column as codes, with the values the codes stand for in alphabetical order."""
        values, codes = np.unique(self.labels[name].astype(str), return_inverse=True)
        return codes.astype(np.int64), tuple(values.tolist())

    def recoded(self, names: Sequence[str]) -> Baskets:
        """The same records over another universe that contains every item in use."""
        place = {name: index for index, name in enumerate(names)}
        if not all(self.names[item] in place for item in np.unique(self.sets.items)):
            raise DataError("a record holds an item that the other side does not know", where="items")
        moved = np.array([place.get(name, 0) for name in self.names], dtype=np.int64)
        sets = self.sets.renamed(moved, len(names))
        return Baskets(sets, tuple(names), self.labels)


def universe(items: Iterable[str]) -> tuple[str, ...]:
    """Distinct items: ascending when all are whole numbers, otherwise in order of first appearance.

    >>> universe(["10", "9", "10"]), universe(["tea", "9"])
    (('9', '10'), ('tea', '9'))
    """
    seen = tuple(dict.fromkeys(items))
    if all(item.isdigit() for item in seen):
        return tuple(sorted(seen, key=lambda item: (int(item), item)))
    return seen


def reading_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return the order in which a release lists items: by number or alphabet, not as in the source."""
    return universe(names) if all(name.isdigit() for name in names) else tuple(sorted(names))


# Splitting
# ---------


_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows: for every word its row (from 0) and its number."""

    rows: int
    owner: NDArray[np.int32]
    word: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Words:
    """Words numbered as they appear."""

    number: dict[str, int] = field(default_factory=dict)

    def of(self, seen: Sequence[str]) -> NDArray[np.int32]:
        return np.array([self.number.setdefault(word, len(self.number)) for word in seen], dtype=np.int32)


def split_item_columns(
    columns: Sequence[pa.ChunkedArray], separator: str, *, loose: bool = False
) -> tuple[list[Sets], tuple[str, ...]]:
    """Each column as sets, and the names of the items.

    `loose`, for files that people wrote: a blank separator stands for any white space, and blanks around items do not
    count."""
    words, pieces = _Words(), []
    for column in columns:
        cuts = range(0, len(column), _ROWS)
        pieces.append([_piece(_words_of(column.slice(first, _ROWS), separator, loose), words) for first in cuts])
    names = universe(words.number)
    rank = np.empty(len(names), dtype=np.int64)
    rank[[words.number[name] for name in names]] = np.arange(len(names))
    return [_joined(listed, rank) for listed in pieces], names


def _words_of(column: pa.ChunkedArray, separator: str, loose: bool) -> tuple[pa.Array, pa.Array]:
    """How many words each row has, and all words."""
    try:
        text = pc.fill_null(column if pa.types.is_string(column.type) else pc.cast(column, pa.string()), "")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"a column of items has the type {column.type}, which is no text", hint="write items as text"
        ) from None
    listed = pa.concat_arrays(text.chunks) if text.num_chunks else pa.array([], pa.string())
    blank = loose and separator.isspace()
    listed = pc.utf8_split_whitespace(listed) if blank else pc.split_pattern(listed, separator)
    flat = listed.flatten()
    return pc.list_value_length(listed), pc.utf8_trim_whitespace(flat) if loose else flat


def _piece(found: tuple[pa.Array, pa.Array], words: _Words) -> _Piece:
    sizes, coded = found[0], found[1].dictionary_encode()
    code, seen = coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()
    owner = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes.to_numpy(zero_copy_only=False))
    real = np.array([bool(word) for word in seen], dtype=bool)
    number = np.zeros(len(seen), dtype=np.int32)
    number[real] = words.of([word for word in seen if word])
    there = real[code]
    return _Piece(len(sizes), owner[there], number[code[there]])


def _joined(pieces: Sequence[_Piece], rank: NDArray[np.int64]) -> Sets:
    if not pieces:
        return Sets(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), len(rank))
    return Sets.stacked([Sets.from_flat(piece.owner, rank[piece.word], piece.rows, len(rank)) for piece in pieces])
