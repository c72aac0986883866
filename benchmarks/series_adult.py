"""Adult, published twice, and within the boundaries of the paper.

    python -m benchmarks.series_adult

Two releases of 45,222 people under 5-anonymity and 3-diversity of the occupation, with two different hierarchies of
ages: each keeps its promise, and without a memory the two together make people certain. Then one release within the
boundaries of [boundaries] under 2-linkability: as many records are suppressed as 2-diversity needs."""

from __future__ import annotations

import csv
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.adult import ADULT, BOUNDARY, QUASI

RESULTS = Path(__file__).parent / "results" / "series-adult.csv"


def frame() -> pl.DataFrame:
    table = pl.read_csv(ADULT / "adult_45222.csv.gz", infer_schema_length=0)
    return table.with_columns(pl.Series("person", [f"p{i}" for i in range(len(table))]))


def certain(first: pl.DataFrame, second: pl.DataFrame, rows: list[np.ndarray]) -> int:
    """People of whom the intersection of their two classes leaves one occupation."""
    columns = [name for name in first.columns if name != "occupation"]
    seen = [{}, {}]
    for place, table in enumerate((first, second)):
        for row in table.rows(named=True):
            seen[place].setdefault(tuple(row[name] for name in columns), set()).add(row["occupation"])
    classes = [[tuple(row[name] for name in columns) for row in table.rows(named=True)] for table in (first, second)]
    mine = [dict(zip(who.tolist(), one, strict=True)) for who, one in zip(rows, classes, strict=True)]
    return sum(len(seen[0][mine[0][p]] & seen[1][mine[1][p]]) == 1 for p in mine[0].keys() & mine[1].keys())


def twice(method: str, remembers: bool) -> list[object]:
    people, folder, made = frame(), Path(tempfile.mkdtemp()), []
    started = time.process_time()
    for number, ages in enumerate(([5, 10, 20, 40], [4, 12, 36]), start=1):
        columns = {name: {"role": "quasi-identifier"} for name in ("sex", "race")}
        columns |= {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": ages}}}
        columns |= {"person": "identifier", "occupation": "sensitive"}
        claims = [{"k-anonymity": {"k": 5}}, {"l-diversity": {"l": 3}}]
        declared = {"version": 1, "columns": columns, "protect": claims, "key": "person", "method": method}
        data = people.select(["age", "sex", "race", "occupation", "person"])
        book = {"ledger": folder / "book", "new_ledger": number == 1} if remembers else {}
        publication = sf.publish(sf.Policy.parse(declared), data, **book)
        publication.write(folder / f"r{number}", report=False)
        made.append(publication)
    rows = [np.asarray(one.release.trace.rows["data"]) for one in made]
    found = certain(*(one.release.parts["data"].to_polars() for one in made), rows)
    loss = [round(one.utility["loss"], 5) for one in made]
    return [
        method,
        "with a ledger" if remembers else "without",
        *loss,
        found,
        made[-1].certificate.holds,
        round(time.process_time() - started, 1),
    ]


def bounded() -> list[list[object]]:
    lines = []
    for method, claim in (("mondrian", {"l-diversity": {"l": 2}}), ("sequential", {"k-linkability": {"k": 2}})):
        columns = {}
        for name in QUASI:
            columns[name] = {
                "role": "quasi-identifier",
                "hierarchy": str(ADULT / "hierarchies_boundaries" / f"{name}.csv"),
            }
            columns[name] |= {"boundary": list(BOUNDARY[name])} if name in BOUNDARY else {}
        columns |= {"occupation": "sensitive"}
        declared = sf.Policy.parse({"version": 1, "columns": columns, "protect": [claim], "method": method})
        started = time.process_time()
        made = sf.publish(declared, frame().select([*QUASI, "occupation"]))
        figures = [made.certificate.records.suppressed, round(made.utility["loss"], 5), made.certificate.holds]
        lines.append([method, "boundaries", *figures, "", round(time.process_time() - started, 1)])
    return lines


def main() -> None:
    lines = [
        twice(method, remembers) for method in ("mondrian", "sequential") for remembers in (False, True)
    ] + bounded()
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [
                "method",
                "how",
                "first loss or suppressed",
                "second loss or loss",
                "people certain or holds",
                "holds",
                "CPU seconds",
            ]
        )
        writer.writerows(lines)
    for line in lines:
        print(*line, sep=", ")


if __name__ == "__main__":
    main()
