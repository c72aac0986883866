"""Side by side: the same tables and hierarchies for another tool and for us, both judged by one metric, CPU of both in
one run.

    PYTHONPATH=src python benchmarks/compared.py tables FOLDER
    PYTHONPATH=src python benchmarks/compared.py judge FOLDER TABLE OUTPUT.csv k=5[,t=0.2|,l=3|,e=3]
    PYTHONPATH=src python benchmarks/compared.py run FOLDER [--only adult …] [--claims k=5 …]
                                                 [--other 'COMMAND {data} {hierarchies} {out} {claims}']

``tables`` writes for every table ``TABLE/data.csv`` and ``TABLE/hierarchies/COLUMN.csv`` (semicolons, leaf first, root
last: the form that ARX reads) and a policy for each claim. ``judge`` reads any output with the same columns: its loss
(the metric *loss*: a cell that stands for s of m leaves costs (s − 1)/(m − 1)), its smallest class, and how many rows
break a claim when the file is read as it is. ``run`` publishes every table with the default method, starts the other
tool's command if one is given (with ``k=5`` or ``k=5,t=0.2:COLUMN`` as claims), judges both and adds a line for each to
``results/compared.csv``. CPU seconds are those of the whole process, start, reading and writing included. Claims are k,
and beside it t (equal distances), l (different values) or e (entropy of at least log e).

Tables: Adult, working people of a census, hospital stays (`tables.py`), and tax filers of the census file. Numbers have
intervals here, because a range from any number to any other is nothing that other tools know."""

from __future__ import annotations

import argparse
import csv
import math
import resource
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import tables

from sfumato.data.hierarchy import Hierarchy

RESULTS = Path(__file__).parent / "results" / "compared.csv"
FIELDS = ("date", "table", "rows", "claims", "tool", "loss", "cpu", "wall", "smallest", "below_k", "broken")
CLAIMS = ("k=2", "k=5", "k=10", "k=20", "k=50", "k=100", "k=200", "k=5,t=0.2", "k=5,l=3", "k=5,e=3")
MODELS = {
    "k": "k-anonymity: {k: %d}",
    "t": "t-closeness: {t: %g}",
    "l": "l-diversity: {l: %d, kind: distinct}",
    "e": "l-diversity: {l: %g, kind: entropy}",
}
YEARS = (5, 10, 20, 40)
Paths = dict[str, list[list[str]]]


def adult() -> tuple[dict[str, list[str]], Paths, str]:
    rows = tables.columns_of("adult/adult_30162")
    return rows, {name: tables.adult_paths(name) for name in tables.ADULT}, "occupation"


def census() -> tuple[dict[str, list[str]], Paths, str]:
    rows = tables.columns_of("census_income_kdd/occ_like_148318")
    steps: dict[str, Any] = {**tables.CENSUS, "age": YEARS}
    return rows, _paths(rows, steps), "occupation_group"


def diabetes() -> tuple[dict[str, list[str]], Paths, str]:
    rows = tables.columns_of("diabetes_130_hospitals/diabetic_data_101766")
    steps: dict[str, Any] = {**tables.DIABETES, "time_in_hospital": (2, 4, 8), "num_medications": YEARS}
    return rows, _paths(rows, steps), "insulin"


def tax() -> tuple[dict[str, list[str]], Paths, str]:
    """186,823 people who file taxes, alone or together."""
    rows = tables.columns_of("census_income_kdd/census_income_299285")
    filing = [place for place, status in enumerate(rows["tax_filer_stat"]) if status != "Nonfiler"]
    kept = {name: [values[place] for place in filing] for name, values in rows.items()}
    steps: dict[str, Any] = {"age": YEARS, "sex": 2, "marital_stat": 3, "tax_filer_stat": 2, "class_of_worker": 3}
    steps |= {
        "detailed_household_summary_in_household": 3,
        "weeks_worked_in_year": (4, 12, 24),
        "capital_gains": (1000, 5000, 20000),
    }
    return kept, _paths(kept, steps), "major_industry_code"


TABLES: dict[str, Callable[[], tuple[dict[str, list[str]], Paths, str]]] = {
    "adult": adult,
    "census": census,
    "diabetes": diabetes,
    "tax-like": tax,
}


def _paths(rows: dict[str, list[str]], steps: dict[str, Any]) -> Paths:
    """Hierarchies: runs of so many values of the alphabet, or intervals of numbers of the given widths."""
    return {
        name: _intervals(rows[name], step) if isinstance(step, tuple) else tables.runs(sorted(set(rows[name])), step)
        for name, step in steps.items()
    }


def _intervals(values: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    found = []
    for value in sorted(set(values), key=int):
        steps = [f"{int(value) // width * width}-{int(value) // width * width + width - 1}" for width in widths]
        found.append([value, *steps, "*"])
    return found


def write(folder: Path) -> None:
    """Data and hierarchies of every table, and a policy for every claim."""
    for name, make in TABLES.items():
        rows, paths, hidden = make()
        place = folder / name
        (place / "hierarchies").mkdir(parents=True, exist_ok=True)
        columns = [*paths, hidden]
        with (place / "data.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, delimiter=";", lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(rows[column] for column in columns), strict=True))
        for column, lines in paths.items():
            text = "\n".join(";".join(line) for line in lines)
            (place / "hierarchies" / f"{column}.csv").write_text(text + "\n", encoding="utf-8")
        (place / "hidden").write_text(hidden)
        for claims in CLAIMS:
            (place / f"{claims}.yaml").write_text(_policy(list(paths), hidden, claims))


def _policy(quasi: list[str], hidden: str, claims: str) -> str:
    protect = [f"  - {MODELS[word] % level}" for word, level in _asked(claims).items()]
    columns = [f"  {name}: {{role: quasi-identifier, hierarchy: hierarchies/{name}.csv}}" for name in quasi]
    head = ["version: 1", "data: {kind: table, source: data.csv}", "columns:"]
    return "\n".join([*head, *columns, f"  {hidden}: sensitive", "protect:", *protect]) + "\n"


def _asked(claims: str) -> dict[str, float]:
    return {word.partition("=")[0]: float(word.partition("=")[2]) for word in claims.split(",")}


def judge(place: Path, output: Path, claims: str) -> dict[str, Any]:
    """Loss of a file, its smallest class, and the rows in classes that break a claim."""
    asked, hidden = _asked(claims), (place / "hidden").read_text()
    rows = _rows(output)
    cells = {file.stem: Counter(rows[file.stem]) for file in (place / "hierarchies").iterdir()}
    losses = [_loss(place / "hierarchies" / f"{name}.csv", counts) for name, counts in cells.items()]
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for *cell, value in zip(*(rows[name] for name in cells), rows[hidden], strict=True):
        classes.setdefault(tuple(cell), Counter())[value] += 1
    sizes = [found.total() for found in classes.values()]
    whole = Counter(rows[hidden])
    broken = [found.total() for found in classes.values() if not _holds(found, whole, asked)]
    return {
        "rows": sum(sizes),
        "loss": round(sum(losses) / len(losses), 5),
        "smallest": min(sizes),
        "below_k": sum(size for size in sizes if size < asked["k"]),
        "broken": sum(broken),
    }


def _rows(file: Path) -> dict[str, list[str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        delimiter = ";" if ";" in stream.readline() else ","
        stream.seek(0)
        head, *lines = csv.reader(stream, delimiter=delimiter)
    return dict(zip(head, map(list, zip(*lines, strict=True)), strict=True))


def _loss(file: Path, counts: Counter[str]) -> float:
    with file.open(newline="", encoding="utf-8") as stream:
        domain = Hierarchy.from_paths(list(csv.reader(stream, delimiter=";")), name=file.stem)
    total = 0.0
    for label, times in counts.items():
        ends = domain.interval(label)
        if ends is None:
            raise SystemExit(f"{file.stem}: a label stands in no hierarchy")
        total += times * (ends[1] - ends[0] - 1) / max(domain.size - 1, 1)
    return total / counts.total()


def _holds(found: Counter[str], whole: Counter[str], asked: dict[str, float]) -> bool:
    """Whether a class keeps what is claimed of its hidden values."""
    entropy = -sum(times / found.total() * math.log(times / found.total()) for times in found.values())
    near = _distance(found, whole) <= asked.get("t", 1) + 1e-9
    return near and len(found) >= asked.get("l", 1) and entropy >= math.log(asked.get("e", 1)) - 1e-9


def _distance(found: Counter[str], whole: Counter[str]) -> float:
    """Half the sum of differences of shares (equal distances)."""
    return sum(abs(found[value] / found.total() - times / whole.total()) for value, times in whole.items()) / 2


def clocked(command: list[str], folder: Path) -> dict[str, float]:
    """CPU and wall seconds of a command with its children."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": round(cpu, 2), "wall": round(time.perf_counter() - begin, 2)}


def compare(place: Path, claims: str, other: str) -> list[dict[str, Any]]:
    """A line for us and, when its command is given, a line for the other tool."""
    hidden, out = (place / "hidden").read_text(), place / "other.csv"
    release = place / f"out-{claims}-{time.time_ns()}"
    ours = clocked([sys.executable, "-m", "sfumato", "publish", f"{claims}.yaml", "--out", release.name], place)
    lines = [{"tool": "sfumato", **ours, **judge(place, release / "data.csv", claims)}]
    if other:
        told = ",".join(word if word[0] == "k" else f"{word}:{hidden}" for word in claims.split(","))
        given = {"data": "data.csv", "hierarchies": "hierarchies", "out": out.name, "claims": told}
        spent = clocked([word.format(**given) for word in shlex.split(other)], place)
        lines.append({"tool": "other", **spent, **judge(place, out, claims)})
    return [{"date": date.today().isoformat(), "table": place.name, "claims": claims, **line} for line in lines]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("task", choices=["tables", "judge", "run"])
    options.add_argument("folder", type=Path)
    options.add_argument("words", nargs="*", help="of judge: TABLE OUTPUT.csv CLAIMS")
    options.add_argument("--only", nargs="*", default=list(TABLES))
    options.add_argument("--claims", nargs="*", default=list(CLAIMS))
    options.add_argument("--other", default="")
    chosen = options.parse_args()
    if chosen.task == "tables":
        return write(chosen.folder)
    if chosen.task == "judge":
        table, output, claims = chosen.words
        return print(judge(chosen.folder / table, Path(output), claims))
    for table in chosen.only:
        for claims in chosen.claims:
            lines = compare(chosen.folder / table, claims, chosen.other)
            for line in lines:
                print(*(line[name] for name in FIELDS[1:]), sep="\t", flush=True)
            _keep(lines)


def _keep(lines: list[dict[str, Any]]) -> None:
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
