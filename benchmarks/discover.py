"""Discovery: what is found and what is accidental, on the paper's students, on Adult and on three databases; and how
time grows.

    PYTHONPATH=src python benchmarks/discover.py [--most 300000]

Writes ``results/discover.csv`` (growth and counts) and ``results/discover-databases.csv`` (precision and recall against
what the schemas declare, from the rows alone). Seconds are CPU seconds of one thread, without reading the data."""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.data.table import Table
from sfumato.io.table_files import read_file
from sfumato.ui.demos.testdata import students
from sfumato.workflow.discover.column_profiles import DataView
from sfumato.workflow.discover.constraints import proposals, proposals_of_schema, rules_of_database
from sfumato.workflow.discover.databases import read_database

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
STUDENTS = ("name", "phone", "department", "registered", "graduated", "courses", "thesis", "final", "fee")
PAPER = {
    "unique(phone)",
    'match(phone, "05[0247][0-9]{7}")',
    "registered < graduated",
    "final = (courses + thesis) / 2",
    "mean(final) = 90",
}
TRUE_OF_ADULT = {"education determines education-num", "education-num determines education"}
FIELDS = ("table", "rows", "columns", "planted", "found", "on", "off", "accidental", "seconds")


def wide(rows: int, seed: int = 0) -> dict[str, list[str]]:
    """Fifteen columns: the paper's rules, a dependency, a list, two codes, and noise."""
    rng = np.random.default_rng(seed)
    begin = np.datetime64("2000-01-01") + rng.integers(0, 7000, rows)
    courses = rng.integers(60, 101, rows)
    thesis = courses + 2 * rng.integers(-5, 6, rows)
    area = rng.integers(0, 900, rows)
    columns = {
        "id": np.arange(1, rows + 1),
        "phone": [
            f"05{'0247'[p]}{n:07d}"
            for p, n in zip(rng.integers(0, 4, rows), rng.choice(10**7, rows, False), strict=True)
        ],
        "registered": begin,
        "graduated": begin + rng.integers(200, 2000, rows),
        "courses": courses,
        "thesis": thesis,
        "final": (courses + thesis) // 2,
        "fee": rng.integers(5, 6000, rows),
        "area": [f"Z{z:03}" for z in area],
        "town": [f"town {z // 7}" for z in area],
        "sex": rng.choice(["f", "m"], rows),
        "state": rng.choice(["new", "open", "closed"], rows, p=[0.1, 0.3, 0.6]),
        "amount": np.char.mod("%.2f", rng.gamma(2, 100, rows)),
        "weight": np.char.mod("%.1f", rng.normal(70, 10, rows)),
        "hours": rng.integers(1, 99, rows),
    }
    return {name: [str(value) for value in values] for name, values in columns.items()}


WIDE = {
    "unique(id)",
    "unique(phone)",
    'match(phone, "05[0247][0-9]{7}")',
    "registered < graduated",
    "final = (courses + thesis) / 2",
    "area determines town",
    'match(area, "Z[0-9]{3}")',
    'sex in {"f", "m"}',
    'state in {"closed", "new", "open"}',
}


def measure(name: str, table: Table, planted: set[str], sensible: set[str]) -> dict:
    """One line of figures; an accident is a rule between columns that is on and was not planted."""
    for column in table.names:
        table.text(column)
    begin = time.process_time()
    found = list(proposals(DataView.of({None: table})))
    seconds = time.process_time() - begin
    on = {each.rule.replace("`", "") for each in found if each.active}
    single = {each.rule.replace("`", "") for each in found if each.template in ("value lists", "patterns")}
    known = {each.rule.replace("`", "") for each in found}
    missing, accidents = planted - known, on - planted - sensible - single
    print(
        name,
        table.rows,
        "missing:",
        missing or "none",
        "accidental:",
        accidents or "none",
        f"{seconds:.2f} s",
        flush=True,
    )
    counts = (len(planted), len(planted & known), len(on), len(known - on), len(accidents))
    return dict(zip(FIELDS, (name, table.rows, len(table.names), *counts, round(seconds, 2)), strict=True))


def databases() -> list[dict]:
    """Keys and foreign keys that are switched on, against those declared; what has no row is counted apart."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("chinook", "northwind", "sakila"):
            path = Path(folder) / f"{name}.db"
            path.write_bytes(gzip.decompress((SHARED / "relational" / f"{name}.sqlite.gz").read_bytes()))
            database = read_database(f"sqlite:///{path}")
            begin = time.process_time()
            found = rules_of_database(database, declared=False)
            seconds = time.process_time() - begin
            for template in ("keys", "foreign keys"):
                on = {each.rule for each in found if each.template == template and each.active}
                declared = {each.rule for each in proposals_of_schema(database.schema, {}) if each.template == template}
                silent = {rule for rule in declared - on if _without_rows(rule, database)}
                figures = {
                    "database": name,
                    "template": template,
                    "declared": len(declared),
                    "without rows": len(silent),
                    "found": len(declared & on),
                    "recall": round(len(declared & on) / len(declared - silent), 3),
                    "on": len(on),
                    "precision": round(len(declared & on) / len(on), 3),
                    "not declared": "; ".join(sorted(on - declared)),
                    "seconds, all templates": round(seconds, 2),
                }
                print(figures, flush=True)
                lines.append(figures)
    return lines


def _without_rows(rule: str, database) -> bool:
    """Whether the columns on the left hold no value at all."""
    left = rule.partition(" references ")[0].removeprefix("unique(").removesuffix(")")
    names = [part.replace("`", "").split(".") for part in left.split(", ")]
    return all(set(database.tables[table].text(column).labels) <= {""} for table, column in names)


def write(name: str, lines: list[dict]) -> None:
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=300_000)
    most = parser.parse_args().most
    lines = []
    for rows in (1_000, 10_000, 100_000):
        people = students(rows)
        table = Table(pa.table({name: [row[place] for row in people] for place, name in enumerate(STUDENTS)}))
        lines.append(measure("students", table, PAPER, set()))
    if (SHARED / "adult").is_dir():
        adult = read_file(SHARED / "adult" / "adult_48842.csv.gz").drop_columns(["split"])
        lines.append(measure("adult", Table(adult), TRUE_OF_ADULT, set()))
    for rows in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        if rows <= most:
            lines.append(measure("wide", Table(pa.table(wide(rows))), WIDE, set()))
    write("discover.csv", lines)
    if (SHARED / "relational").is_dir():
        write("discover-databases.csv", databases())


if __name__ == "__main__":
    main()
