"""Scale: what publishing and verifying a table costs from ten thousand to twenty million rows, beside the physical
limit.

    PYTHONPATH=src python benchmarks/scale.py [--rows 10000 100000 …] [--method mondrian] [--k 5]

The limit is what polars needs, in the same run and on the same file, to read the table, encode and group its
quasi-identifiers and write it again. Every line is a process of its own: CPU seconds (user and system, start-up
included), wall seconds with the cores there are, peak memory. Stages are CPU seconds measured inside the publishing
process, each without the stages it contains. Modules are compiled to bytecode first, as an installer does it. Writes
``results/scale.csv``, adding to what stands there; lines of the same task are told apart by their date."""

from __future__ import annotations

import argparse
import compileall
import contextlib
import csv
import io
import json
import os
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
from census_like import LEVELS, SIZES, people

RESULTS = Path(__file__).parent / "results" / "scale.csv"
FIELDS = ("date", "task", "rows", "cpu", "wall", "peak_mb", "times_floor", "stages")
QUASI = tuple(name for name in SIZES if name != "occupation")
CHUNK = 1_000_000
STAGES = {
    "read": "sfumato.io.table_source:TableSource.read",
    "sound": "sfumato.kinds.tables.source_audit:TableAudit.require_sound",
    "problem": "sfumato.kinds.tables.methods.recoding:continued_problem",
    "method": "sfumato.kinds.tables.methods.recoding:RecodingMethod.release",
    "recoded": "sfumato.kinds.tables.methods.recoding:recoded",
    "draft": "sfumato.workflow.write:DraftFolder.of",
    "read back": "sfumato.workflow.write:DraftFolder.read",
    "certify": "sfumato.audit.certify:certify",
    "floor audit": "sfumato.kinds.subtables.checks:Agreement.examine",
    "truthfulness": "sfumato.kinds.tables.truthfulness:Truthfulness.examine",
    "utility": "sfumato.release.metric:figures",
    "reports": "sfumato.workflow.report:render",
    "write": "sfumato.workflow.write:write_out",
}


def table(rows: int, folder: Path) -> None:
    """``people.csv``, made in chunks, and a hierarchy file for every column but age."""
    words = {name: pa.array([f"{name} {value}" for value in range(size)]) for name, size in SIZES.items()}
    words["age"] = pa.array([str(17 + value) for value in range(SIZES["age"])])
    with (folder / "people.csv").open("wb") as target:
        for start in range(0, rows, CHUNK):
            made = people(min(CHUNK, rows - start), seed=start + 1)
            chunk = pa.table({name: words[name].take(pa.array(codes)) for name, codes in made.items()})
            pcsv.write_csv(chunk, target, pcsv.WriteOptions(include_header=start == 0, quoting_style="none"))
    for name in QUASI[1:]:
        lines = [_path(name, value, words[name][value].as_py()) for value in range(SIZES[name])]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def _path(name: str, value: int, word: str) -> str:
    steps = [f"{name} {value // width * width} to {value // width * width + width - 1}" for width in LEVELS[name]]
    return ";".join([word, *steps, "*"])


def policy(folder: Path, method: str, k: int) -> Path:
    """k-anonymity over seven quasi-identifiers, ages as ranges."""
    columns = "\n".join(f"  {name}: {{role: quasi-identifier, hierarchy: {name}.csv}}" for name in QUASI[1:])
    text = f"""version: 1
data: {{kind: table, source: people.csv}}
columns:
  age: {{role: quasi-identifier, hierarchy: ranges}}
{columns}
  occupation: sensitive
protect: [k-anonymity: {{k: {k}}}]
method: {{{method}: {{}}}}
"""
    (folder / "policy.yaml").write_text(text)
    return folder / "policy.yaml"


def floor(folder: Path) -> None:
    """Read, encode, group, write: nobody can publish this table for less."""
    import polars as pl

    frame = pl.read_csv(folder / "people.csv", infer_schema=False)
    coded = frame.with_columns(pl.col(QUASI).cast(pl.Categorical))
    print(coded.group_by(QUASI).len().height)
    frame.write_csv(folder / "floor.csv")


def publish(folder: Path) -> dict[str, float]:
    """The whole of `sfumato publish`, its stages timed."""
    clock = Stages()
    clock.watch()
    _command("publish", str(folder / "policy.yaml"), "--out", str(folder / "out"))
    return {name: round(seconds, 2) for name, seconds in sorted(clock.spent.items(), key=lambda item: -item[1])}


def verify(folder: Path) -> dict[str, float]:
    """The whole of `sfumato verify` without the original."""
    _command("verify", str(folder / "out"))
    return {}


def _command(*words: str) -> None:
    from sfumato.ui.cli import main as sfumato

    with contextlib.redirect_stdout(io.StringIO()):
        try:
            sfumato(words)
        except SystemExit as left:
            if left.code:
                raise


class Stages:
    """CPU seconds of named functions, each without those it calls."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._open: list[float] = []

    def watch(self) -> None:
        for stage, place in STAGES.items():
            module, _, path = place.partition(":")
            owner: Any = __import__(module, fromlist=["_"])
            *inner, name = path.split(".")
            for step in inner:
                owner = getattr(owner, step)
            self._replace(owner, name, stage)

    def _replace(self, owner: Any, name: str, stage: str) -> None:
        plain = owner.__dict__[name]
        original = plain.__func__ if isinstance(plain, classmethod | staticmethod) else plain
        timed = self._timed(original, stage)
        setattr(owner, name, type(plain)(timed) if original is not plain else timed)
        if not isinstance(owner, type):  # a function that others have imported by name
            for module in list(sys.modules.values()):
                if getattr(module, name, None) is original:
                    setattr(module, name, timed)

    def _timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            begin = time.process_time()
            self._open.append(0.0)
            try:
                return function(*given, **named)
            finally:
                whole = time.process_time() - begin
                self.spent[stage] = self.spent.get(stage, 0.0) + whole - self._open.pop()
                if self._open:
                    self._open[-1] += whole

        timed.__name__, timed.__qualname__ = function.__name__, function.__qualname__
        return timed


def alone(task: str, folder: Path) -> dict[str, Any]:
    """One task in a process of its own."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, str(Path(__file__).resolve()), "--inside", task, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    told = json.loads(done.stdout.splitlines()[-1])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"task": task, "cpu": round(cpu, 2), "wall": round(wall, 2), **told}


def inside(task: str, folder: Path) -> None:
    """What `alone` starts."""
    stages = {"floor": floor, "publish": publish, "verify": verify}[task](folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"peak_mb": peak, "stages": json.dumps(stages or {})}))


def measure(rows: int, method: str, k: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="scale-") as place:
        folder = Path(place)
        table(rows, folder)
        policy(folder, method, k)
        lines = [alone(task, folder) for task in ("floor", "publish", "verify")]
    for line in lines:
        line |= {"date": date.today().isoformat(), "rows": rows, "times_floor": round(line["cpu"] / lines[0]["cpu"], 2)}
        if line["task"] == "publish":
            line["task"] = f"publish {method} k={k}"
        print(*(f"{line[name]}" for name in FIELDS[1:]), sep="\t", flush=True)
    return lines


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000, 5_000_000, 20_000_000])
    options.add_argument("--method", default="mondrian")
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside:
        return inside(chosen.inside[0], Path(chosen.inside[1]))
    compileall.compile_dir(Path(__file__).parents[1] / "src" / "sfumato", quiet=2)
    print(f"{os.cpu_count()} cores, numpy {np.__version__}, pyarrow {pa.__version__}")
    for rows in chosen.rows:
        lines = measure(rows, chosen.method, chosen.k)
        new = not RESULTS.exists()
        with RESULTS.open("a", newline="") as stream:
            writer = csv.DictWriter(stream, FIELDS)
            if new:
                writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
