"""A large table published by version 0.1.0 and by this one: processor seconds, and whether both publish the same file.

    git archive 33aa795 | tar -x -C FOLDER          # the last commit of 0.1.0
    python -m benchmarks.first_version FOLDER/src

300,000 people, one column with 90,000 different values, the same seed; each version in a process of its own, twice in
turn, the smaller figure counts. The import is not counted, reading, judging and writing without reports is."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS, DIFFERENT, TIMES = 300_000, 90_000, 2
HERE = Path(__file__).resolve().parents[1] / "src"
POLICY = """version: 1
data: {kind: table, source: people.csv}
columns:
  name: identifier
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  zip: {role: quasi-identifier, hierarchy: {prefix: 5}}
  sex: quasi-identifier
  ill: sensitive
"""
METHODS = {"mondrian": "[k-anonymity: {k: 5}, l-diversity: {l: 2}]", "anatomy": "[l-diversity: {l: 2}]"}
RUN = """
import os, sys
import sfumato as sf
before = sum(os.times()[:2])
sf.publish(sys.argv[1], seed=12345678901234567890123456789012345678901234567).write(sys.argv[2], report=False)
print(sum(os.times()[:2]) - before)
"""


def people(folder: Path) -> None:
    rng = np.random.default_rng(1)
    codes = np.concatenate([np.arange(DIFFERENT), rng.integers(0, DIFFERENT, ROWS - DIFFERENT)])
    age, sex, ill = rng.integers(18, 90, ROWS), rng.choice(["f", "m"], ROWS), rng.choice(list("abcdefgh"), ROWS)
    lines = [f"p{i},{age[i]},{10_000 + codes[i]},{sex[i]},{ill[i]}" for i in range(ROWS)]
    (folder / "people.csv").write_text("\n".join(["name,age,zip,sex,ill", *lines, ""]), encoding="utf-8")
    for method, claims in METHODS.items():
        (folder / f"{method}.yaml").write_text(
            f"{POLICY}protect: {claims}\nmethod: {{{method}: {{}}}}\n", encoding="utf-8"
        )


def seconds(source: Path, folder: Path, method: str, out: str) -> float:
    command = [sys.executable, "-c", RUN, f"{method}.yaml", out]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    return float(
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    )


def main(first: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people(folder)
        for method in METHODS:
            taken = [
                [seconds(source, folder, method, f"{method}-{side}{turn}") for side, source in enumerate((first, HERE))]
                for turn in range(TIMES)
            ]
            old, new = (min(side) for side in zip(*taken, strict=True))
            files = {hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob(f"{method}-*/data.csv")}
            print(
                f"{method}: 0.1.0 {old:.2f} s, now {new:.2f} s, {new / old:.2f} of it; {len(files)} kind(s) of"
                " data.csv",
                flush=True,
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
