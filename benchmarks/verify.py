"""How long an independent audit takes: a release folder of 300,000 records in 181,000 classes, k-anonymity and
l-diversity.

Run: python benchmarks/verify.py [records …]
Prints CPU seconds for reading and judging, and how they grow.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.policy.policy import write_public_policy
from sfumato.release.certificate import Certificate, Records
from sfumato.release.folder import write_json, write_manifest, write_part
from sfumato.release.release import Part

COLUMNS = {f"q{i}": "quasi-identifier" for i in range(5)} | {"s": "sensitive"}
POLICY = {"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"l": 2}}]}


def folder_of(records: int, target: Path) -> int:
    """A folder with about 0.6 classes per record; returns the number of classes."""
    rng = np.random.default_rng(1)
    tuples = rng.integers(0, [90, 2, 16, 7, 40], size=(int(records * 1.15), 5))
    rows = tuples[rng.integers(0, len(tuples), records)]
    columns = {f"q{i}": [f"value {v}" for v in rows[:, i]] for i in range(5)}
    columns["s"] = [f"s{v}" for v in rng.integers(0, 46, records)]
    target.mkdir()
    part = Part(pa.table(columns))
    write_part(part, target / "data.csv")
    write_public_policy(sf.Policy.parse(POLICY), {"mondrian": {}}, target)
    write_json(Certificate((), Records(records, records, 0)).to_json(), target / "certificate.json")
    write_manifest(target, "recoded table", {}, {"data.csv": records}, "benchmark")
    return len(np.unique(rows, axis=0))


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000, 300_000, 1_000_000]
    with tempfile.TemporaryDirectory() as base:
        for records in sizes:
            folder = Path(base) / str(records)
            classes = folder_of(records, folder)
            start = time.process_time()
            verdict = sf.verify(folder)
            seconds = time.process_time() - start
            levels = ", ".join(f"{f.model} {dict(f.achieved)}" for f in verdict.findings[:2])
            print(f"{records:>9,} records {classes:>8,} classes  {seconds:6.2f} s CPU  ({levels})")


if __name__ == "__main__":
    main()
