"""The rest of the house: what tasks beside recoding cost, next to what polars needs to read and write the same file.

    PYTHONPATH=src python benchmarks/rest.py [replaced] [wide] [preview] [recover] [walk] [--size 1.0]

Every line is a process of its own: CPU seconds (start-up included), peak memory, how many times the floor. `--size`
shrinks the tasks to that share of their rows; the tasks at full size are

    replaced   publish of 1,000,000 records: a key, a claim, a sensitive and six replaced columns (schema of
               `obfuscation_speed.py`)
    wide       publish of 3,000 rows with one mean over numbers from 0 to 500,000; preview: five rows of it
    recover    figures and patterns of four people behind 300,000 people and about 990,000 ties, flipped
    walk       pattern-walk on 1,000,000 values in parts of 20, 40,000 steps each (`patterns_speed.py`); give a small
               --size

Writes ``results/rest.csv``, adding to what stands there.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

RESULTS = Path(__file__).parent / "results" / "rest.csv"
FIELDS = ("date", "task", "rows", "cpu", "wall", "peak_mb", "floor", "times_floor")
REPLACED = """version: 1
data: {kind: table, source: people.csv}
columns:
  id: identifier
  city: quasi-identifier
  illness: sensitive
  phone_number: {role: replaced, domain: {pattern: "05[0247][0-9]{7}"}}
  registration_date: {role: replaced, domain: {dates: [1990-01-01, 2012-12-31]}}
  graduation_date: {role: replaced, domain: {dates: [1990-01-01, 2012-12-31]}}
  courses_grade: {role: replaced, domain: {integers: [80, 100]}}
  thesis_grade: {role: replaced, domain: {integers: [80, 100]}}
  final_grade: {role: replaced, domain: {integers: [80, 100]}}
keep:
  - unique(phone_number)
  - registration_date < graduation_date
  - final_grade = (courses_grade + thesis_grade) / 2
  - mean(final_grade) = 90
protect: [{given: [phone_number], hide: final_grade, by: {l-diversity: {l: 2, kind: frequency}}}]
method: {obfuscation: {}}
"""
WIDE = """version: 1
data: {kind: table, source: people.csv}
columns: {pay: {role: replaced, domain: {integers: [0, 500000]}}}
keep: [mean(pay) = 61234]
method: {obfuscation: {}}
"""
FLIPPED = """version: 1
data: {kind: graph, source: people.csv}
method: {edge-perturbation: {mu: 0.000001}}
"""


def replaced(rows: int, folder: Path) -> list[str]:
    """A table of texts, one key for every record."""
    rng = np.random.default_rng(1)
    day = np.datetime64("1990-01-01")
    first = rng.integers(0, 4000, rows)
    grades = rng.integers(40, 51, (2, rows)) * 2
    columns = {
        "id": [f"p{number}" for number in range(rows)],
        "city": [f"city {number}" for number in rng.integers(0, 200, rows)],
        "illness": [f"illness {number}" for number in rng.integers(0, 40, rows)],
        "phone_number": [f"050{number:07d}" for number in rng.permutation(10**7)[:rows]],
        "registration_date": (day + first).astype(str),
        "graduation_date": (day + first + rng.integers(1, 4000, rows)).astype(str),
        "courses_grade": grades[0],
        "thesis_grade": grades[1],
        "final_grade": grades.sum(axis=0) // 2,
    }
    pcsv.write_csv(pa.table(columns), folder / "people.csv", pcsv.WriteOptions(quoting_style="none"))
    return _policy(folder, REPLACED)


def wide(rows: int, folder: Path) -> list[str]:
    rng = np.random.default_rng(1)
    (folder / "people.csv").write_text("pay\n" + "\n".join(map(str, rng.integers(0, 500_001, rows))) + "\n")
    return _policy(folder, WIDE)


def preview(rows: int, folder: Path) -> list[str]:
    wide(rows, folder)
    return ["preview", str(folder / "policy.yaml")]


def recover(people: int, folder: Path) -> list[str]:
    """A generated graph, published with flipped ties; what is measured is the recipient's command."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, people, (2, int(people * 3.3)))
    ties = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    pcsv.write_csv(pa.table({"source": ties[0], "target": ties[1]}), folder / "people.csv")
    _command(*_policy(folder, FLIPPED), "--no-report")
    return ["recover", str(folder / "out"), "--pattern", "square"]


def walk(values: int, folder: Path) -> list[str]:
    rng = np.random.default_rng(1)
    (folder / "people.csv").write_text("v\n" + "\n".join(map(str, rng.integers(0, 79, values))) + "\n")
    return []


TASKS: dict[str, tuple[Callable[[int, Path], list[str]], int]] = {
    "replaced": (replaced, 1_000_000),
    "wide": (wide, 3_000),
    "preview": (preview, 3_000),
    "recover": (recover, 300_000),
    "walk": (walk, 1_000_000),
}


def _policy(folder: Path, text: str) -> list[str]:
    (folder / "policy.yaml").write_text(text)
    return ["publish", str(folder / "policy.yaml"), "--out", str(folder / "out")]


def _command(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "sfumato", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])


def clocked(work: Callable[[], Any]) -> dict[str, float]:
    """CPU and wall seconds of the processes that `work` starts."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": round(cpu, 2), "wall": round(time.perf_counter() - begin, 2)}


def _floor(file: Path) -> None:
    code = f"import polars as pl; pl.read_csv({str(file)!r}, infer_schema=False).write_csv({str(file) + '.floor'!r})"
    subprocess.run([sys.executable, "-c", code], check=True)


def inside(words: list[str]) -> None:
    """What `measured` starts: a command, or the walk alone, and its peak memory on the last line."""
    if words[0] == "walk":
        from patterns_speed import run

        run(np.array(Path(words[1]).read_text().split()[1:], dtype=np.int64), 78, 0.08, 40_000, 1)
    else:
        from sfumato.ui.cli import main as sfumato

        try:
            sfumato(words)
        except SystemExit as left:
            if left.code:
                raise
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def measured(task: str, size: float) -> dict[str, Any]:
    make, full = TASKS[task]
    rows, told = round(full * size), [""]
    with tempfile.TemporaryDirectory(prefix="rest-") as place:
        words = make(rows, Path(place)) or ["walk", str(Path(place) / "people.csv")]
        floor = clocked(lambda: _floor(Path(place) / "people.csv"))["cpu"]

        def work() -> None:
            command = [sys.executable, str(Path(__file__).resolve()), "--inside", json.dumps(words)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr[-3000:])
            told[0] = done.stdout.splitlines()[-1]

        spent = clocked(work)
    times = round(spent["cpu"] / floor, 1)
    line = {"date": date.today().isoformat(), "task": task, "rows": rows, **spent}
    return line | {"peak_mb": int(told[0]), "floor": floor, "times_floor": times}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("tasks", nargs="*", choices=[*TASKS, []], default=[])
    options.add_argument("--size", type=float, default=1.0)
    options.add_argument("--inside", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside:
        return inside(json.loads(chosen.inside))
    for task in chosen.tasks or TASKS:
        line = measured(task, chosen.size)
        print(*(f"{line[name]}" for name in FIELDS[1:]), sep="\t", flush=True)
        new = not RESULTS.exists()
        with RESULTS.open("a", newline="") as stream:
            writer = csv.DictWriter(stream, FIELDS)
            if new:
                writer.writeheader()
            writer.writerow(line)


if __name__ == "__main__":
    main()
