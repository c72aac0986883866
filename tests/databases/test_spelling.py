"""Any value that SQLite can hold, in any kind of column, survives being written as text; any text survives PostgreSQL's
CSV."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import session

from sfumato.data.table import Table
from sfumato.io.sql import load, read_rows, read_schema
from sfumato.io.sql.sqlite_storage import decode, encode, stored_column, text_column
from tests.slow import SLOW

DECLARED = ("", "BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL")
KINDS = ("BLOB", "BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL")
TRICKY = st.sampled_from(
    [
        "",
        "\\",
        "\\x",
        "\\x0",
        "\\x00",
        "\\i5",
        "\\r",
        "\\t",
        "5",
        "5.0",
        " 5",
        "+5",
        "5e3",
        ".5",
        "1_0",
        "inf",
        "nan",
        "0x1",
    ]
)
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text("0123456789+-.eE \\xirt", max_size=8),
    st.binary(max_size=6),
    TRICKY,
)
COLUMNS = ", ".join(f"c{number} {name}" for number, name in enumerate(DECLARED))
ASKED = ", ".join(f"typeof(c{number}), c{number}" for number in range(len(DECLARED)))


def stored(values: list[object]) -> list[object]:
    """What SQLite makes of a value in each kind of column, with the storage class."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE t ({COLUMNS})")
        connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", values)
        return list(connection.execute(f"SELECT {ASKED} FROM t").fetchone())


@settings(max_examples=400, deadline=None)
@given(VALUES)
def test_a_stored_value_survives_as_text(value: object) -> None:
    first = stored([value] * len(KINDS))
    texts = [encode(held, kind) for held, kind in zip(first[1::2], KINDS, strict=True)]
    assert all(text is None or isinstance(text, str) for text in texts)
    again = stored([decode(text, kind) for text, kind in zip(texts, KINDS, strict=True)])
    assert list(map(repr, again)) == list(map(repr, first))


@settings(max_examples=150, deadline=None)
@given(st.lists(VALUES, max_size=5), st.sampled_from(KINDS))
def test_whole_columns_are_spelt_as_single_values_are(values: list[object], kind: str) -> None:
    held = [stored([value] * len(KINDS))[2 * KINDS.index(kind) + 1] for value in values]
    column = text_column(held, kind)
    assert column.to_pylist() == [encode(value, kind) for value in held]
    assert list(map(repr, stored_column(column, kind))) == [repr(decode(text, kind)) for text in column.to_pylist()]


@settings(
    max_examples=12 if SLOW else 6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), TRICKY),
        max_size=60,
    )
)
def test_any_text_survives_postgresql(fresh: Callable[[], str], texts: list[str | None]) -> None:
    source, target = fresh(), fresh()
    with session(source) as connection:
        connection.execute("CREATE TABLE t (a text, b text)")
    table = Table(pa.table({"a": pa.array(texts, pa.string()), "b": pa.array(texts[::-1], pa.string())}))
    load(target, read_schema(source), {"t": table}, fingerprint="f")
    assert read_rows(target, read_schema(target)).tables["t"].frame.to_pylist() == table.frame.to_pylist()
