"""Columns that are published as they are become one number a row: the same number exactly where all of them are the
same."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from sfumato.data.equivalence_classes import unit_weights
from sfumato.data.table import Table, combined_chunks
from sfumato.kinds.tables import truthfulness
from tests.secret import secret


@pytest.mark.parametrize("word", [1 << 62, 40])
@pytest.mark.parametrize("columns", range(4))
def test_rows_are_numbered_alike_on_both_sides(monkeypatch: pytest.MonkeyPatch, columns: int, word: int) -> None:
    monkeypatch.setattr(truthfulness, "_WORD", word)  # the smaller one is full after two columns
    draw = random.Random(secret(columns))
    names = [f"c{place}" for place in range(columns)]
    sides = [{name: draw.choices("abc" + extra, k=30) for name in ("q", *names)} for extra in ("xyz", "uv")]
    left, right = truthfulness.matching_sides(*(Table(pa.table(side)) for side in sides), ["q"], names)
    rows = [[tuple(side[name][i] for name in names) for i in range(30)] for side in sides]
    numbers = [*left.exact.tolist(), *right.exact.tolist()]
    texts = [*rows[0], *rows[1]]
    assert all((numbers[i] == numbers[j]) == (texts[i] == texts[j]) for i in range(60) for j in range(60))


def test_a_column_in_one_piece_is_not_copied() -> None:
    codes = pa.array(["a", "b", "a"]).dictionary_encode()
    whole, cut = pa.chunked_array([codes]), pa.chunked_array([codes, codes])
    assert combined_chunks(whole).indices.buffers()[1].address == codes.indices.buffers()[1].address
    assert combined_chunks(cut).to_pylist() == ["a", "b", "a"] * 2
    assert combined_chunks(codes) is codes


def test_one_record_each_takes_no_room() -> None:
    assert unit_weights(5).tolist() == [1] * 5
    assert unit_weights(10**9).strides == (0,)
