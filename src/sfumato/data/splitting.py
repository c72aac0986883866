"""Columns of text that list items, as sets over one universe; piece by piece, so that memory follows the items and not the text.

>>> import pyarrow as pa
>>> (rows,), names = split_columns([pa.chunked_array([["10 9", "", "9 9 11"]])], " ")
>>> names, [rows.row(index).tolist() for index in range(3)]
(('9', '10', '11'), [[0, 1], [], [0, 2]])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.baskets import universe
from sfumato.data.sets import Sets
from sfumato.errors import DataError

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


def split_columns(columns: Sequence[pa.ChunkedArray], separator: str, *, loose: bool = False) -> tuple[list[Sets], tuple[str, ...]]:
    """Each column as sets, and the names of the items.

    `loose`, for files that people wrote: a blank separator stands for any white space, and blanks around items do not count.
    """
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
        raise DataError(f"a column of items has the type {column.type}, which is no text", hint="write items as text") from None
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
