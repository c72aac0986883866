"""A small file that unpacks to far more than it should ends soon, with little memory and a clear error."""

from __future__ import annotations

import gzip
import json
import resource
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.core.limits import UnpacksTooFar, memory_limit, unpacked_limit
from sfumato.io.table_files import read_parquet

LONG = "x" * 1_000_000


def _written(path: Path, table: pa.Table, times: int, **options: object) -> None:
    with pq.ParquetWriter(path, table.schema, **options) as writer:
        for _ in range(times):
            writer.write_table(table)


def _dictionary(path: Path) -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(24_000, np.int32)), pa.array([LONG]))
    _written(path, pa.table({"a": codes}), 1, compression="none")


def _plain_dictionary(path: Path) -> None:
    _written(path, pa.table({"a": pa.array([LONG] * 400)}), 20, compression="none")


def _zeros(path: Path) -> None:
    _written(path, pa.table({"a": pa.array(np.zeros(10_000_000, np.int64))}), 10, compression="zstd")


def _differences(path: Path) -> None:
    table = pa.table({"a": pa.array([f"{LONG}{n}" for n in range(300)])})
    _written(path, table, 10, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"}, compression="zstd")


def _compressed(path: Path) -> None:
    _written(path, pa.table({"a": pa.array([LONG] * 400)}), 20, use_dictionary=False, compression="zstd")


def _lists(path: Path) -> None:
    _written(path, pa.table({"a": pa.array([[0] * 1_000_000] * 10)}), 30, compression="zstd")


def _gzip(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n")
        for _ in range(800):
            file.write(b"1,2\n" * 250_000)


def _long_line(path: Path) -> None:
    path.write_bytes(b"a,b\n" + b"x" * 120_000_000 + b",1\n")


def _wide(path: Path) -> None:
    path.write_bytes(b",".join(b"c%d" % n for n in range(200_000)) + b"\n" + b",".join([b"1"] * 200_000) + b"\n")


def _workbook(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("xl/worksheets/sheet1.xml", "w") as file,
    ):
        for _ in range(1500):
            file.write(b"<row>" + b"<c><v>1</v></c>" * 16_000 + b"</row>")


def _aliases(path: Path) -> None:
    lines = ["version: 1", "a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join(['*' + old] * 9)}]" for old, new in zip("abcdefghi", "bcdefghij", strict=True)
    ]
    path.write_text("\n".join([*lines, "data: x.csv", ""]))


def _deep(path: Path) -> None:
    path.write_text("version: 1\ndata: " + "[" * 100_000 + "\n")


def _many_entries(path: Path) -> None:
    path.write_text("version: 1\ncolumns:\n" + "".join(f"  c{n}: other\n" for n in range(400_000)))


BOMBS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "one text in a dictionary": ("a.parquet", _dictionary),
    "one text that repeats": ("a.parquet", _plain_dictionary),
    "zeros": ("a.parquet", _zeros),
    "texts as differences": ("a.parquet", _differences),
    "compressed texts": ("a.parquet", _compressed),
    "lists": ("a.parquet", _lists),
    "gzip": ("a.csv.gz", _gzip),
    "a long line": ("a.csv", _long_line),
    "many columns": ("a.csv", _wide),
    "workbook": ("a.xlsx", _workbook),
    "yaml aliases": ("a.yaml", _aliases),
    "yaml depth": ("a.yaml", _deep),
    "yaml entries": ("a.yaml", _many_entries),
}


def _cli(*words: str) -> tuple[int, str, float, int]:
    """Run a command; return exit code, errors, CPU seconds and megabytes."""
    ask = "import resource, subprocess, sys, json; p = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
    ask += "u = resource.getrusage(resource.RUSAGE_CHILDREN); "
    ask += "print(json.dumps([p.returncode, p.stderr, u.ru_utime + u.ru_stime, u.ru_maxrss >> 10]))"
    command = [sys.executable, "-c", ask, sys.executable, "-m", "sfumato", *words]
    code, said, seconds, megabytes = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return code, said, seconds, megabytes


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unpacks_to_very_much_is_refused_within_bounds(name: str, tmp_path: Path) -> None:
    file, make = BOMBS[name]
    make(tmp_path / file)
    code, said, seconds, megabytes = _cli("check" if file.endswith("yaml") else "risk", str(tmp_path / file))
    assert code in (2, 3), said
    assert said.startswith("error: ")
    assert "Traceback" not in said
    assert "unexpected" not in said
    assert seconds < 5
    assert megabytes < 600


def test_values_that_a_database_file_computes_are_bounded(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1_000)])
        base.execute("ALTER TABLE t ADD COLUMN b TEXT GENERATED ALWAYS AS (printf('%.*c', 60000000, 'x')) VIRTUAL")
        base.execute("CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c")
    for table in ("t", "v"):
        (tmp_path / "p.yaml").write_text(
            f"version: 1\ndata: {{source: 'sqlite:///{tmp_path}/a.db', table: {table}}}\n"
            "columns: {id: other, b: other, x: other}\nprotect: []\nmethod: swapping\n"
        )
        code, said, seconds, megabytes = _cli("publish", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "out"))
        assert code in (2, 3), said
        assert "Traceback" not in said
        assert seconds < 5
        assert megabytes < 600


def test_an_honest_parquet_file_is_read_as_it_is(tmp_path: Path) -> None:
    table = pa.table({
        "text": pa.array(["x", "y", None] * 1_000),
        "number": pa.array(range(3_000)),
        "large": pa.array(["u"] * 3_000, pa.large_string()),
        "list": pa.array([[1, 2]] * 3_000),
        "bytes": pa.array([b"1"] * 3_000, pa.binary()),
        "codes": pa.array(["q"] * 3_000).dictionary_encode(),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    pq.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    assert read_parquet(tmp_path / "a.parquet").equals(table)
    assert read_parquet(tmp_path / "a.parquet", ["number", "text"]).equals(table.select(["number", "text"]))
    assert read_parquet(tmp_path / "empty.parquet").num_rows == 0


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is limited on Linux alone")
def test_the_memory_of_a_block_is_limited_and_the_limit_taken_back() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(UnpacksTooFar), memory_limit(1_000):
        bytearray(32 * unpacked_limit(1_000))
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
