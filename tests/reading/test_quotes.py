"""One stray quote must never make one value of several people: lines are counted against records, whatever stands in
the file."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.io.csv_format import count_lines, require_quotes
from sfumato.io.graph_source import parse_edges
from sfumato.io.table_files import read_csv, read_exact
from tests.slow import SLOW

POLICY = {
    "version": 1,
    "columns": {"name": "identifier", "age": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 3}}],
    "method": {"mondrian": {}},
}
UNCLOSED = 'name,age,illness\nAnn,30,flu\nBob,30,flu\nEve,30,"flu\nDan,40,gout\nIda,40,gout\nKim,40,gout\n'
TWO_STRAY = 'name,age,illness\nAnn,30,flu\nBob,30,flu\nEve,30,"flu\nDan,40,gout\nIda,40,gout\nKim,40,"\n'


def policy(**data: object) -> sf.Policy:
    return sf.Policy.parse({**POLICY, "data": {"kind": "table", **data}})


def refused(tmp_path: Path, text: str | bytes, **options: object) -> DataError:
    file = tmp_path / "people.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError) as caught:
        read_csv(file, **options)  # type: ignore[arg-type]
    for secret in ("Ann", "Bob", "Dan", "gout"):
        assert secret not in str(caught.value)
    return caught.value


def test_an_unclosed_quote_publishes_nobody(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(UNCLOSED)
    with pytest.raises(DataError, match="never closed") as caught:
        sf.publish(policy(), data=tmp_path / "people.csv")
    assert str(caught.value).count(":4") == 1
    assert caught.value.exit_code == 3


def test_an_unclosed_quote_is_one_line_and_exit_3(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(UNCLOSED)
    (tmp_path / "policy.yaml").write_text(
        "version: 1\ndata: people.csv\ncolumns: {name: identifier, age: quasi-identifier, illness: sensitive}\n"
        "protect: [{k-anonymity: {k: 3}}]\n"
    )
    arguments = [sys.executable, "-m", "sfumato", "publish", "policy.yaml", "--out", "out"]
    run = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert run.returncode == 3
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("error: a quote is never closed")
    assert not (tmp_path / "out").exists()


def test_two_stray_quotes_are_a_line_break_inside_a_value(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(TWO_STRAY)
    with pytest.raises(DataError, match="line break") as caught:
        sf.publish(policy(), data=tmp_path / "people.csv")
    assert ":4" in str(caught.value)
    assert "line_breaks: allowed" in str(caught.value)


def test_allowed_line_breaks_are_published_and_verified(tmp_path: Path) -> None:
    rows = [("Ann", "30", "flu\nand cough"), ("Bob", "30", "flu\r\nagain"), ("Eve", "30", 'a "cold"\rtwice')] * 2
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "age", "illness"), *rows])
    publication = sf.publish(policy(line_breaks="allowed"), data=tmp_path / "people.csv")
    assert publication.certificate.records.published == 6
    publication.write(tmp_path / "out")
    assert "line_breaks: allowed" in (tmp_path / "out" / "policy.yaml").read_text()
    assert sf.verify(tmp_path / "out", original=tmp_path / "people.csv").holds
    published = read_csv(tmp_path / "out" / "data.csv")["illness"].to_pylist()
    assert sorted(published) == sorted(row[2] for row in rows)


@pytest.mark.parametrize("data", ["frame", "parquet"])
def test_line_breaks_are_refused_wherever_they_come_from(tmp_path: Path, data: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = pa.table({"name": ["A\nB"] * 6, "age": ["30"] * 6, "illness": ["flu"] * 4 + ["gout\nDan,40,gout", "flu"]})
    source: object = frame
    if data == "parquet":
        pq.write_table(frame, tmp_path / "people.parquet")
        source = tmp_path / "people.parquet"
    with pytest.raises(DataError, match="row 5 of column 'illness' holds a line break") as caught:
        sf.publish(policy(), data=source)
    assert "Dan" not in str(caught.value)
    assert sf.publish(policy(line_breaks="allowed"), data=source).certificate.records.published == 6


def test_line_breaks_in_columns_that_are_not_published_do_no_harm() -> None:
    data = {"name": ["A\nB"] * 6, "age": ["30"] * 6, "illness": ["flu"] * 6}
    assert sf.publish(policy(), data=data).certificate.records.published == 6


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('a,b\n1,x"y\n', 2, "inside a value"),
        ('a,b\n1,x"y"\n', 2, "inside a value"),
        ('a,b\n1, "y"\n', 2, "inside a value"),
        ('a,b\n1,"x"y\n', 2, "behind its closing quote"),
        ('a,b\n1,"x" \n', 2, "behind its closing quote"),
        ('a,b\n1,2\n3,"x', 3, "never closed"),
        ('a,b\n1,2\n3,"\n', 3, "never closed"),
        ('a,b\n1,"x""\n2,y\n', 2, "never closed"),
        ('a,b\n1,"x\n2,"y"\n', 3, "behind its closing quote"),
        ('a;b\n1;"x"y\n', 2, "behind its closing quote"),
        ('a\tb\r\n1\t5"10\r\n', 2, "inside a value"),
        ('"a,b\n1,2"\n', 1, "header"),
        ('a"b,c\n1,2\n', 1, "header"),
        ('a\n"x\ny"\n', 2, "line break"),
        ('a,b\r1,"x\ry"\r', 2, "line break"),
    ],
)
def test_every_stray_quote_is_refused_with_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    error = refused(tmp_path, text, line_breaks=False)
    assert what in error.what
    assert error.where.endswith(f":{line}")
    assert error.hint


def test_a_quote_across_the_blocks_of_the_scan(tmp_path: Path) -> None:
    for size in range(32760, 32776):
        good = b'a,b\n"' + b"x" * size + b'",1\n"y","2"\n'
        require_quotes(good, ",", "f")
        for bad in (good + b'1,"', good + b'1,x"y"\n', b'a,b\n"' + b"x" * size + b'"z,1\n'):
            with pytest.raises(DataError):
                require_quotes(bad, ",", "f")


def test_an_edge_list_with_a_stray_quote_is_refused() -> None:
    assert parse_edges(b'a,b\n"c",d\n', "ties.csv", header=False).size == 2
    for text in (b'a,b\n"c,d\ne,f\n', b'a,b\nc,d"\n', b'a,b\nc,"d\ne,f\ng,h"\n'):
        with pytest.raises(DataError):
            parse_edges(text, "ties.csv")


cells = st.text(st.sampled_from('ab,;"\n\r \t|é\u2028\x85\x0b'), max_size=6)


@settings(max_examples=300 if SLOW else 120, deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_what_was_written_is_what_is_read(one_folder: Path, rows: list, end: str, quote_all: bool) -> None:
    """A well written file gives exactly its records; without leave, only when no value has a line break."""
    file = one_folder / "people.csv"
    buffer = io.StringIO()
    csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator=end).writerows([("first", "second"), *rows])
    text = buffer.getvalue() if quote_all else _minimal(rows, end)
    file.write_bytes(text.encode())
    assert [tuple(row.values()) for row in read_csv(file).to_pylist()] == rows
    if any(sign in cell for row in rows for cell in row for sign in "\r\n"):
        with pytest.raises(DataError):
            read_csv(file, line_breaks=False)
    else:
        assert read_csv(file, line_breaks=False).num_rows == len(rows)


def _minimal(rows: list, end: str) -> str:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text

    return "".join(",".join(map(cell, row)) + end for row in [("first", "second"), *rows])


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from('ab,"\n'), max_size=24))
def test_any_text_is_read_as_its_lines_or_refused(one_folder: Path, text: str) -> None:
    """The class of the mistake: no text at all may give fewer records than lines, or values that hold several lines."""
    file = one_folder / "people.csv"
    file.write_text("a,b\n" + text)
    try:
        table = read_csv(file, line_breaks=False)
    except DataError:
        return
    lines = [line for line in text.split("\n") if line]
    assert table.num_rows == len(lines)
    assert not any("\n" in value for row in table.to_pylist() for value in row.values())
    reference = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert [list(row.values()) for row in table.to_pylist()] == [row for row in reference if row]


@given(st.binary(max_size=40))
def test_lines_are_counted_as_python_counts_them(content: bytes) -> None:
    assert count_lines(content) == len(content.splitlines())


def test_parts_of_a_database_are_read_as_strictly(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b\n1,""\n2,\n"3\n4",x\n')
    assert read_exact(tmp_path / "t.csv")["b"].to_pylist() == ["", None, "x"]
    (tmp_path / "t.csv").write_text('a,b\n1,"x\n2,y\n')
    with pytest.raises(DataError, match="never closed"):
        read_exact(tmp_path / "t.csv")
