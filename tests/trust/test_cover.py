"""Columns that are published as they are become one number a row: the same number exactly where all of them are the same."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from sfumato.audit import cover
from sfumato.data.classes import one_each
from sfumato.data.table import Table, in_one_piece
from tests.secret import secret


@pytest.mark.parametrize("word", [1 << 62, 40])
@pytest.mark.parametrize("columns", range(4))
def test_rows_are_numbered_alike_on_both_sides(monkeypatch: pytest.MonkeyPatch, columns: int, word: int) -> None:
    monkeypatch.setattr(cover, "_WORD", word)  # the smaller one is full after two columns
    draw = random.Random(secret(columns))
    names = [f"c{place}" for place in range(columns)]
    sides = [{name: draw.choices("abc" + extra, k=30) for name in ("q", *names)} for extra in ("xyz", "uv")]
    left, right = cover.sides(*(Table(pa.table(side)) for side in sides), ["q"], names)
    rows = [[tuple(side[name][i] for name in names) for i in range(30)] for side in sides]
    numbers = [*left.exact.tolist(), *right.exact.tolist()]
    texts = [*rows[0], *rows[1]]
    assert all((numbers[i] == numbers[j]) == (texts[i] == texts[j]) for i in range(60) for j in range(60))


def test_a_column_in_one_piece_is_not_copied() -> None:
    codes = pa.array(["a", "b", "a"]).dictionary_encode()
    whole, cut = pa.chunked_array([codes]), pa.chunked_array([codes, codes])
    assert in_one_piece(whole).indices.buffers()[1].address == codes.indices.buffers()[1].address
    assert in_one_piece(cut).to_pylist() == ["a", "b", "a"] * 2
    assert in_one_piece(codes) is codes


def test_one_record_each_takes_no_room() -> None:
    assert one_each(5).tolist() == [1] * 5
    assert one_each(10**9).strides == (0,)
