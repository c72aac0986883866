"""Publish and audit of a growing table on Spark: CPU per stage and per row, memory of the driver, and planted
violations.

    python benchmarks/spark_growth.py --rows 1000000 [--master local[2]] [--local] [--plant] [--regions N] [--keep
    FOLDER]

Rows are drawn with replacement from the 299,285 of the census and a fiftieth of all values is redrawn from its column,
so that classes grow with the table. CPU is of this process and everything that it started (the Java machine, Python
workers), memory the most that the Python driver and the largest Java process held during a stage (another process grows
the table). Every stage is added to ``results/spark-growth.csv`` when it ends, so that a run that dies leaves what it
measured."""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import multiprocessing
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.engines.spark.engine import SparkEngine
from sfumato.engines.spark.session import start
from sfumato.engines.spark.workflow import publish

ROOT = Path(__file__).resolve().parents[1]
CENSUS = ROOT.parent / "shared/data/census_income_kdd/census_income_299285.csv.gz"
RESULTS = Path(__file__).with_name("results") / "spark-growth.csv"
KNOWN = [
    "age",
    "sex",
    "race",
    "marital_stat",
    "education",
    "class_of_worker",
    "major_industry_code",
    "country_of_birth_self",
]
HIDDEN = ["major_occupation_code", "income"]
REDRAWN, CHUNK = 0.02, 1_000_000
HEAD = [
    "rows",
    "engine",
    "master",
    "method",
    "stage",
    "cpu_s",
    "wall_s",
    "us_per_row",
    "python_mb",
    "java_mb",
    "classes",
    "loss",
]


def policy(k: int, p: int, method: str) -> sf.Policy:
    hidden = HIDDEN[:1] if method == "anatomy" else HIDDEN
    columns = {name: {"role": "quasi-identifier"} for name in KNOWN} | {name: {"role": "sensitive"} for name in hidden}
    if method == "anatomy":
        asked = [{"given": KNOWN, "hide": hidden[0], "by": {"p-sensitivity": {"p": p}}}]
        return sf.Policy.parse({"version": 1, "columns": columns, "protect": asked, "method": {method: {}}})
    columns["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    asked = [{"k-anonymity": {"k": k}}, {"p-sensitivity": {"p": p}}]
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": asked, "method": {method: {}}})


def grow(rows: int, folder: Path, seed: int = 1) -> Path:
    """A folder of Parquet files with so many rows."""
    census = pa.csv.read_csv(CENSUS, convert_options=pa.csv.ConvertOptions(column_types={"age": pa.string()}))
    coded = {
        name: census.column(name).cast(pa.string()).combine_chunks().dictionary_encode() for name in (*KNOWN, *HIDDEN)
    }
    coded = {name: each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for name, each in coded.items()}
    draw = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for place, begin in enumerate(range(0, rows, CHUNK)):
        many = min(CHUNK, rows - begin)
        whose = draw.integers(0, census.num_rows, many)
        columns = {}
        for name, each in coded.items():
            others, redrawn = whose.copy(), draw.integers(0, many, draw.binomial(many, REDRAWN))
            others[redrawn] = draw.integers(0, census.num_rows, len(redrawn))
            columns[name] = pa.DictionaryArray.from_arrays(each.indices.take(pa.array(others)), each.dictionary)
        pq.write_table(pa.table(columns), folder / f"{place:04d}.parquet", store_schema=False)
    return folder


class Meter:
    """CPU seconds and memory of this process and everything below it, kept stage by stage."""

    def __init__(self, run: list[object]) -> None:
        self.me, self.seen, self.run = psutil.Process(), {}, run
        self.most = {"python": 0.0, "java": 0.0}

    def cpu(self) -> float:
        for process in [self.me, *self.me.children(recursive=True)]:
            try:
                times = process.cpu_times()
                self.seen[process.pid] = times.user + times.system
            except psutil.Error:
                continue
        return sum(self.seen.values())

    def peaks(self) -> dict[str, float]:
        """The most that the driver and the largest Java process held since somebody asked last, in MB."""
        found = {"python": 0.0, "java": 0.0}
        for process in [self.me, *self.me.children(recursive=True)]:
            try:
                kind = "java" if "java" in process.name() else "python" if process.pid == self.me.pid else ""
                if kind:
                    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
                    peak = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
                    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
                    found[kind] = max(found[kind], peak)
            except (psutil.Error, OSError):
                continue
        self.most = {kind: max(self.most[kind], peak) for kind, peak in found.items()}
        return found

    @contextmanager
    def stage(self, name: str):
        """One stage; what is put under `told` is kept with it."""
        before, began, told = self.cpu(), time.monotonic(), {}
        print("before", name, self.peaks(), flush=True)
        yield told
        peaks = self.peaks()
        cpu, wall = round(self.cpu() - before, 1), round(time.monotonic() - began, 1)
        self.keep(name, cpu, wall, told, [round(peaks["python"]), round(peaks["java"])])

    def keep(self, name: str, cpu: float, wall: float, told: dict[str, object], peaks: list[int]) -> None:
        per_row = round(1e6 * cpu / int(str(self.run[0])), 2)
        line = [*self.run, name, cpu, wall, per_row, *peaks, told.get("classes", ""), told.get("loss", "")]
        print(dict(zip(HEAD, line, strict=True)), flush=True)
        fresh = not RESULTS.exists()
        with RESULTS.open("a", newline="") as file:
            csv.writer(file).writerows([HEAD, line] if fresh else [line])


@dataclass(frozen=True)
class Metered(SparkEngine):
    """The engine with a meter at every verb."""

    meter: Meter = field(default=None, repr=False)

    def classes(self, rows, names):
        with self.meter.stage("count classes, collect") as told:
            found = super().classes(rows, names)
            told["classes"] = found.table.rows if hasattr(found, "table") else found.many()
        return found

    def histogram(self, *given):
        with self.meter.stage("regions: histogram"):
            return super().histogram(*given)

    def placed(self, shares):
        with self.meter.stage("regions: solve"):
            return super().placed(shares)

    def wrong(self, *given):
        with self.meter.stage("audit: shares beside classes"):
            return super().wrong(*given)

    def differing(self, *given):
        with self.meter.stage("audit: rows beside shares"):
            return super().differing(*given)

    def write(self, frame, records, folder):
        with self.meter.stage("place, shuffle, sort, write"):
            return super().write(frame, records, folder)

    def dealt(self, *given):
        with self.meter.stage("number the records"):
            return super().dealt(*given)

    def kinds(self, dealt):
        with self.meter.stage("deal, count kinds of buckets"):
            return super().kinds(dealt)

    def with_buckets(self, *given):
        with self.meter.stage("audit: count by group and kind of bucket"):
            return super().with_buckets(*given)

    def misdealt(self, *given):
        with self.meter.stage("audit: compare with the source"):
            return super().misdealt(*given)

    def count(self, files, names):
        with self.meter.stage("audit: count by group"):
            return super().count(files, names)

    def over_files(self, ask, files):
        with self.meter.stage(f"over files: {getattr(ask, '__name__', 'floor')}"):
            return super().over_files(ask, files)


def planted(folder: Path) -> Path:
    """A copy in which twenty rows of one file say something else, with every checksum redone."""
    copy = folder.with_name(folder.name + "-planted")
    shutil.copytree(folder, copy, copy_function=os.link)
    file = sorted((copy / "data").iterdir())[-1]
    table = pq.read_table(file)
    for changed in (file, copy / "manifest.json"):
        shutil.copy2(changed, changed.with_name("own"))
        changed.with_name("own").replace(changed)
    age = table.column("age").to_pylist()
    age[:20] = ["17"] * 10 + ["88"] * 10
    pq.write_table(table.set_column(table.column_names.index("age"), "age", pa.array(age)), file)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"][f"data/{file.name}"]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return copy


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--method", default="mondrian")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--p", type=int, default=2)
    parser.add_argument("--local", action="store_true", help="the local engine instead")
    parser.add_argument("--regions", type=int, help="force regions of at most so many classes")
    parser.add_argument("--plant", action="store_true", help="also verify a copy with planted violations")
    parser.add_argument("--keep", type=Path, help="where the grown table lies, or is put")
    parser.add_argument("--room", type=Path, help="where everything else is put, and deleted")
    given = parser.parse_args()
    room = Path(tempfile.mkdtemp(prefix="spark-growth-", dir=given.room))
    source = given.keep or room / "census.parquet"
    engine = (
        ["local", ""]
        if given.local
        else ["spark", given.master + (f" regions {given.regions}" if given.regions else "")]
    )
    meter = Meter([given.rows, *engine, given.method])
    try:
        if not source.exists():
            grown = multiprocessing.get_context("spawn").Process(target=grow, args=(given.rows, source))
            grown.start()
            grown.join()
            assert grown.exitcode == 0
        run(given, meter, source, room)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def told_regions(cut):
    """The same cutting of regions, which says how many there are."""

    def cutting(*given):
        found = cut(*given)
        loads = np.zeros(len(set(found.bins.values())))
        for region, place in found.bins.items():
            loads[place] += found.sizes[region]
        print(
            f"{len(found.sizes)} regions in {len(loads)} bins, the largest {loads.max() / loads.mean():.2f} times the"
            " mean",
            flush=True,
        )
        return found

    return cutting


def run(given, meter: Meter, source: Path, room: Path) -> None:
    asked = policy(given.k, given.p, given.method)
    if given.local:
        with meter.stage("publish and audit, all of it") as told:
            found = sf.publish(asked, data=pq.read_table(source))
            told["loss"] = found.utility["loss"]
        return
    with meter.stage("session"):
        settings = {
            "spark.driver.memory": given.memory,
            "spark.sql.shuffle.partitions": str(max(8, given.rows // 500_000)),
        }
        session = start(given.master, **settings, **{"spark.local.dir": str(room)})
        session.range(10).count()
    publish.cut_regions = told_regions(publish.cut_regions)
    forced = {"most_classes": 1, "region_classes": given.regions} if given.regions else {}
    engine = Metered(session, room, meter=meter, **forced)
    with meter.stage("publish and audit, all of it") as told:
        found = sf.publish(asked, data=str(source), engine=engine)
        told["loss"] = found.utility.get("loss", "")
    meter.keep("driver, most of all stages", 0.0, 0.0, {}, [round(meter.most["python"]), round(meter.most["java"])])
    print(found, found.utility, flush=True)
    out = found.write(room / "out", report=False)
    with meter.stage("verify the folder"):
        assert sf.verify(out, engine=engine).holds
    if given.plant:
        with meter.stage("verify with planted violations"):
            wrong = sf.verify(planted(out), engine=engine)
        assert not wrong.holds
        print("found:", [(each.model, each.reason) for each in wrong.findings if not each.holds], flush=True)


if __name__ == "__main__":
    main()
