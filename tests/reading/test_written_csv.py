"""What is written as CSV is what any reader reads back, and what another writer writes."""

from __future__ import annotations

import csv
import io

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.io import csv_format
from sfumato.io.csv_format import write_csv

TEXT = st.text(st.sampled_from("ab\",\r\n;é '-"), max_size=6)


def written(table: pa.Table) -> str:
    target = io.BytesIO()
    write_csv(table, target)
    return target.getvalue().decode()


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(TEXT, st.none() | TEXT, st.none() | st.integers(-5, 5)), min_size=1, max_size=12))
def test_read_back_by_the_plain_reader(rows: list[tuple[str, str | None, int | None]]) -> None:
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {"a": pa.array(columns[0]), 'b,"': pa.array(columns[1], pa.string()), "n": pa.array(columns[2], pa.int64())}
    )
    read = list(csv.reader(io.StringIO(written(table), newline="")))
    assert read == [["a", 'b,"', "n"]] + [[a, b or "", "" if n is None else str(n)] for a, b, n in rows]
    assert written(table) == pl.DataFrame(pl.from_arrow(table)).write_csv(quote_style="necessary", line_terminator="\n")


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_codes_are_written_as_their_labels_in_pieces_of_any_size(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_format, "ROWS", piece)
    values = ["x", None, 'q"', "", "x", "a,b", "x"]
    plain = pa.table({"a": pa.array(values), "n": pa.array(range(7))})
    coded = plain.set_column(0, "a", plain.column("a").dictionary_encode())
    assert written(coded.slice(1, 5)) == written(plain.slice(1, 5))
    assert written(plain).count("\n") == 8
