"""What people hand over in Python: a table is a table whoever made it, and everything else is one clear sentence."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.io.frames import from_frame
from sfumato.io.table_source import TableSource

ILLNESS = ["flu", "gout", None, "flu"]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("illness", ILLNESS, dtype=pl.Categorical),
        pl.Series("illness", ILLNESS, dtype=pl.Enum(["gout", "flu", "never"])),
        pl.Series("illness", ILLNESS, dtype=pl.String),
    ],
    ids=["categorical", "enum", "string"],
)
def test_categories_of_polars_are_their_texts(column: pl.Series) -> None:
    table = from_frame(pl.DataFrame([column, pl.Series("age", [1, 2, 3, 4])]))
    assert table.schema.field("illness").type == pa.string()
    assert table["illness"].to_pylist() == ILLNESS


def test_categories_that_differ_between_chunks() -> None:
    column = pa.chunked_array(
        [pa.array(["a", "b", None]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    )
    assert from_frame(pa.table({"x": column}))["x"].to_pylist() == ["a", "b", None, "c", "a"]
    numbers = pa.table({"x": pa.array([5, 5, 7]).dictionary_encode()})
    assert from_frame(numbers)["x"].to_pylist() == [5, 5, 7]


def test_a_categorical_column_is_published() -> None:
    frame = pl.DataFrame({"age": ["1", "1", "2", "2"], "illness": ["a", "b", "a", "b"]}).cast(pl.Categorical)
    policy = {
        "version": 1,
        "columns": {"age": "quasi-identifier", "illness": "sensitive"},
        "protect": [{"k-anonymity": {"k": 2}}],
    }
    assert sf.publish(sf.Policy.parse(policy), data=frame).certificate.records.published == 4


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (pl.Series("age", ["1"]), "a Series is no table"),
        (pl.Series("age", [{"a": 1}]), "a Series is no table"),
        (pd.Series(["1"], name="age"), "a Series is no table"),
        (pd.Index(["1"]), "a Index is no table"),
        (pl.DataFrame({"a": ["x"]}).lazy(), "a LazyFrame is no table"),
        (pa.array(["1"]), "StringArray is no table"),
        ([1, 2], "a list is no table"),
        (np.zeros((2, 2)), "a ndarray is no table"),
        (42, "a int is no table"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "same name"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "same name"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "same name"),
        (pa.table({"": [1]}), "no name"),
        (pa.table({"a\nb": [1]}), "line break"),
        (pd.DataFrame({"a": [1, "Secret"]}), "cannot be read as a table"),
        (pd.DataFrame({"a": [1 + 2j]}), "cannot be read as a table"),
        ({"a": [1], "b": [1, 2]}, "cannot be read as a table"),
        ({"a": [1, "Secret"]}, "cannot be read as a table"),
        ({"a": 5}, "cannot be read as a table"),
        (pl.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame(), "no rows|no table"),
        (pa.table({}), "no rows"),
    ],
    ids=str,
)
def test_what_is_no_table_is_one_sentence(data: Any, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        TableSource().read(data)
    assert "Secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        pa.array([b"\xff\xfe", b"\x00"]),
        pa.array([b"12345678", b"12345678"], pa.binary(8)),
        pa.array([{"Secret name": 1}] * 2),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 2, pa.binary(16))),
        pa.RunEndEncodedArray.from_arrays([2], ["a"]),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_columns_without_single_values_are_refused_by_name(column: pa.Array) -> None:
    with pytest.raises(DataError, match="column 'odd' has the type") as caught:
        TableSource().read(pa.table({"age": [1, 2], "odd": column}))
    assert "Secret" not in str(caught.value)


def test_columns_that_are_not_published_may_hold_anything() -> None:
    policy = {
        "version": 1,
        "columns": {"age": "quasi-identifier", "illness": "sensitive"},
        "protect": [{"k-anonymity": {"k": 2}}],
    }
    data = pa.table({"age": ["1"] * 4, "illness": list("abab"), "visits": [[1], [2], [], [3]]})
    assert sf.publish(sf.Policy.parse(policy), data=data).certificate.records.published == 4


def test_memory_addresses_are_no_values() -> None:
    """Polars hands over Python objects as the places where they lie in memory."""
    with pytest.raises(DataError, match="column 'a' has the type"):
        TableSource().read(pl.DataFrame({"a": [object()]}))


def test_a_nul_character_is_refused() -> None:
    with pytest.raises(DataError, match="row 2 of column 'a' holds a NUL"):
        TableSource().read({"a": ["x", "Secret\0"]})


@pytest.mark.parametrize(
    "column",
    [
        [1, None, 3], [1.5, None, 3.0], [True, False, None],
        [datetime.date(2020, 1, 2)] * 3, [datetime.datetime(2020, 1, 2, 3)] * 3,
        [None, None, None], ["x", None, ""], [datetime.time(1, 2)] * 3,
    ],
    ids=str,
)  # fmt: skip
def test_single_values_of_every_kind_are_read(column: list) -> None:
    table = TableSource().read(pa.table({"a": column}))
    assert len(table.text("a").codes) == 3
    assert ("" in table.text("a").labels) == (None in column or "" in column)
