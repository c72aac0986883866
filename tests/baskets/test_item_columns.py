"""Item columns as sets: equal to splitting row by row, for the files people write and for published ones."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.errors import DataError
from sfumato.data import baskets
from sfumato.data.baskets import Baskets, split_item_columns
from sfumato.data.table import Table
from sfumato.kinds.baskets.published_baskets import PublishedBaskets, from_table, to_table

cells = st.lists(st.text(alphabet="ab1 ,\t", max_size=8), min_size=1, max_size=9)


def listed(sets: object, names: tuple[str, ...]) -> list[set[str]]:
    return [{names[item] for item in sets.row(index)} for index in range(len(sets))]  # type: ignore[attr-defined,arg-type]


@given(cells, st.sampled_from([" ", ",", "\t"]), st.booleans(), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_splitting_in_pieces_equals_splitting_rows(rows: list[str], separator: str, loose: bool, piece: int) -> None:
    before, baskets._ROWS = baskets._ROWS, piece
    try:
        (sets,), names = split_item_columns([pa.chunked_array([rows])], separator, loose=loose)
    finally:
        baskets._ROWS = before
    if loose and separator.isspace():
        want = [row.split() for row in rows]
    elif loose:
        want = [[word.strip() for word in row.split(separator) if word.strip()] for row in rows]
    else:
        want = [[word for word in row.split(separator) if word] for row in rows]
    assert listed(sets, names) == [set(row) for row in want]
    assert names == Baskets.of(want).names


def test_two_columns_share_one_universe() -> None:
    (first, second), names = split_item_columns(
        [pa.chunked_array([["b", "a b"]]), pa.chunked_array([["c a", ""]])], " "
    )
    assert names == ("b", "a", "c")
    assert listed(first, names) == [{"b"}, {"a", "b"}]
    assert listed(second, names) == [{"c", "a"}, set()]


def test_items_with_blanks_survive_a_release() -> None:
    worlds = PublishedBaskets.of([["olive oil", "tea"]], [["sea  salt"]], [1])
    again = from_table(Table(to_table(worlds, ",")), ",")
    assert set(again.possible(0)) == set(worlds.possible(0))


def test_numbers_are_items_too_and_lists_of_lists_are_not() -> None:
    (sets,), names = split_item_columns([pa.chunked_array([[7, 12, None]])], " ")
    assert listed(sets, names) == [{"7"}, {"12"}, set()]
    with pytest.raises(DataError, match="no text"):
        split_item_columns([pa.chunked_array([[{"a": 1}]])], " ")
