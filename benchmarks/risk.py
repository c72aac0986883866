"""`sf.risk` on a million rows like Adult's: CPU seconds of the whole report, reading apart.

python benchmarks/risk.py        # prints one line; needs the shared data
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.io.table_source import TableSource

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult" / "adult_45222.csv.gz"
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "income"]


def resampled(rows: int, seed: int = 1) -> pa.Table:
    """Rows drawn with replacement, a tenth of all values redrawn from their column."""
    source, rng = TableSource().read(ADULT), np.random.default_rng(seed)
    drawn, other = rng.integers(0, source.rows, rows), rng.integers(0, source.rows, rows)
    columns = {name: np.where(rng.random(rows) < 0.1, other, drawn) for name in source.names}
    return pa.table({name: source.column(name).combine_chunks().take(pa.array(at)) for name, at in columns.items()})


if __name__ == "__main__":
    table = resampled(1_000_000)
    started = time.process_time()
    found = sf.risk(table, QUASI, sensitive=["occupation"], fraction=0.01)
    print(
        f"{time.process_time() - started:.1f} CPU s",
        found,
        f"{len(found.combinations.found)} combinations",
        found.combinations.left_out,
    )
