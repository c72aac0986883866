"""Small tables that both engines publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import sfumato as sf

AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
COLUMNS = {"name": "identifier", "age": AGE, "town": "quasi-identifier", "illness": "sensitive", "ward": "other"}


def people(rows: int = 1200, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"somebody {place}" for place in range(rows)],
            "age": [str(20 + int(age)) for age in draw.geometric(0.08, rows).clip(1, 60)],
            "town": draw.choice(["Ulm", "Bonn", "Köln, am Rhein", ""], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "illness": draw.choice(["flu", "gout", "cold"], rows),
            "ward": draw.choice(["north", "south", "east"], rows),
        }
    )


def policy(method: str = "mondrian", protect: Any = None, columns: Any = None, **parameters: Any) -> sf.Policy:
    asked = protect or [{"k-anonymity": {"k": 5}}, {"p-sensitivity": {"p": 2}}]
    return sf.Policy.parse(
        {"version": 1, "columns": columns or COLUMNS, "protect": asked, "method": {method: parameters}},
    )


def csv_folder(table: pa.Table, folder: Path, files: int = 3) -> Path:
    folder.mkdir()
    for place in range(files):
        part = table.slice(
            place * table.num_rows // files, (place + 1) * table.num_rows // files - place * table.num_rows // files
        )
        pa.csv.write_csv(part, folder / f"{place}.csv")
    return folder


def parquet_folder(table: pa.Table, folder: Path) -> Path:
    folder.mkdir()
    half = table.num_rows // 2
    pq.write_table(table.slice(0, half), folder / "a.parquet")
    pq.write_table(table.slice(half), folder / "b.parquet")
    return folder


def rows_of(folder: Path) -> pa.Table:
    """Everything that a release folder publishes."""
    return pa.concat_tables([pq.read_table(file) for file in sorted((folder / "data").iterdir())])
