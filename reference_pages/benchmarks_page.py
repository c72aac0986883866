"""Generate ``docs/reference/benchmarks.md``: tables and plots from ``benchmarks/results``, with the command for
each."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from reference_pages.papers_pages import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PLOTS = ("quality-adult", "optimal-adult-k-loss", "optimal-adult-k-seconds", "effort")
"""Pictures of the page."""
OPENING = """# Benchmarks

Figures of real runs. CPU seconds are of whole processes, start-up included. Ratios of one run are more reliable than
seconds, because the machine (two cores) was shared. `benchmarks/README.md` says how to run everything.
"""


def benchmarks_page() -> str:
    """Return the whole page."""
    parts = [OPENING, *_peers(), *_effort(), *_growth(), *_loss(), *_spark(), *_database(), *_discovery(), *_fuzz()]
    return "\n".join(parts).rstrip() + "\n"


def _rows(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _peers() -> Iterator[str]:
    rows = _rows("compared")
    newest = {(row["table"], row["claims"], row["tool"] == "sfumato"): row for row in rows}
    yield "## Loss compared with ARX"
    yield ""
    yield f"Information loss on the same tables and hierarchies, measured {rows[-1]['date']} with ARX 3.9.2."
    yield "The ratio is below 1 where Sfumato loses less."
    yield "*Violations* counts rows of ARX that break the requirement when the file is read as it is."
    yield ""
    yield (
        "| table | records | requirement | Sfumato loss | ARX loss | ratio | Sfumato CPU s | ARX CPU s | violations of"
        " ARX |"
    )
    yield "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for (table, claims, ours), row in sorted(newest.items(), key=lambda entry: (entry[0][0], _numbers(entry[0][1]))):
        other = newest.get((table, claims, False))
        if ours and other and row["loss"] and other["loss"]:
            ratio = float(row["loss"]) / float(other["loss"])
            broken = int(other["below_k"] or 0) + int(other["broken"] or 0)
            yield (
                f"| {table} | {int(row['rows']):,} | {claims} | {float(row['loss']):.4f} | {float(other['loss']):.4f} |"
                f" {ratio:.3f} | {float(row['cpu']):.0f} | {float(other['cpu']):.0f} | {broken:,} |"
            )
    yield from ("", "`python benchmarks/compared.py run FOLDER --other 'COMMAND'`", "")


def _numbers(claims: str) -> list[tuple[str, float]]:
    """The levels of a requirement like ``k=5,t=0.2``, to sort by."""
    return [(name, float(value)) for name, _, value in (part.partition("=") for part in claims.split(","))]


def _effort() -> Iterator[str]:
    rows = _rows("effort")
    yield from ("## Effort", "")
    yield "Loss by the certificate and CPU seconds of `sfumato publish` under each effort (method `refined`, one core)."
    yield "*Above thorough* is the further loss compared with a thorough search."
    yield "*Of ARX* is the share of the CPU time of ARX 3.9.2 (local recoding, fast), *against ARX* the loss compared"
    yield "with its loss. *Forecast* is the loss that `sfumato check` expects."
    yield "Other work slowed the machine: seconds are divided by the *slowdown*, measured before and after each table."
    yield "Lines without a slowdown are read off the course of a thorough search on an idle machine."
    yield from ("", "| table | effort | CPU s | loss | above thorough | of ARX | against ARX | forecast | slowdown |")
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        yield "| " + " | ".join("–" if value in ("", "0.00") else value for value in row.values()) + " |"
    yield from ("", "![Loss over CPU seconds of the search on eight tables](curves/effort.svg)", "")
    yield from ("`PYDATASET=FOLDER python -m benchmarks effort`", "")


def _growth() -> Iterator[str]:
    rows = _rows("scale")
    newest = {(row["task"], int(row["rows"])): row for row in rows}
    sizes = sorted({size for _, size in newest})
    yield "## Growth with the number of rows"
    yield ""
    yield (
        "Census-like people, seven quasi-identifiers, k = 5, method mondrian, both reports, measured"
        f" {rows[-1]['date']}."
    )
    yield "The baseline is polars: read, encode, group and write the same file."
    yield ""
    yield "| rows | baseline CPU s | publish CPU s | peak memory | verify CPU s |"
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for size in sizes:
        base, made, checked = (newest.get((task, size)) for task in ("floor", "publish mondrian k=5", "verify"))
        if base and made and checked:
            yield f"| {size:,} | {base['cpu']} | {made['cpu']} | {int(made['peak_mb']):,} MB | {checked['cpu']} |"
    yield from ("", "`python benchmarks/scale.py --rows 10000 100000 1000000`", "")


def _loss() -> Iterator[str]:
    best: dict[tuple[str, str], float] = {}
    for row in _rows("quality"):
        if row["table"] == "adult" and row["claims"].startswith("k=") and row["loss"]:
            key = row["claims"], row["method"]
            best[key] = min(best.get(key, 9.0), float(row["loss"]))
    methods = ["global", "mondrian", "clustering", "refined", "optimal"]
    shown = [method for method in methods if any(name == method for _, name in best)]
    yield "## Loss against k"
    yield ""
    yield "Smallest information loss of each method on Adult (30,162 records), over all measured search times."
    yield ""
    yield "| requirement | " + " | ".join(shown) + " |"
    yield "| --- | " + " | ".join("---:" for _ in shown) + " |"
    for claims in sorted(
        {claims for claims, _ in best}, key=lambda text: (len(text.split(",")), float(text[2:].split(",")[0]))
    ):
        cells = (f"{best[claims, method]:.4f}" if (claims, method) in best else "–" for method in shown)
        yield f"| {claims} | " + " | ".join(cells) + " |"
    yield from ("", "![Loss against CPU seconds of the search on Adult](curves/quality-adult.svg)", "")
    yield from ("`python benchmarks/quality.py --only adult --draw`", "")
    yield from ("Small tables have a proven optimum:", "")
    yield from ("![Loss of the optimum and of heuristics](curves/optimal-adult-k-loss.svg)", "")
    yield from ("![Seconds of the optimum and of heuristics](curves/optimal-adult-k-seconds.svg)", "")
    yield from ("`python benchmarks/papers/optimal.py`", "")


def _spark() -> Iterator[str]:
    yield from ("## Spark", "", "CPU microseconds per row by stage, on one machine with a local master.", "")
    rows = [row for row in _rows("spark-growth") if row["engine"] == "spark" and row["us_per_row"]]
    sizes = sorted({int(row["rows"]) for row in rows})
    stages = list(dict.fromkeys(row["stage"] for row in rows))
    cost = {(int(row["rows"]), row["stage"]): row["us_per_row"] for row in rows}
    yield "| stage | " + " | ".join(f"{size:,} rows" for size in sizes) + " |"
    yield "| --- | " + " | ".join("---:" for _ in sizes) + " |"
    yield from (f"| {stage} | " + " | ".join(cost.get((size, stage), "–") for size in sizes) + " |" for stage in stages)
    yield from ("", "`python benchmarks/spark_growth.py`", "")


def _database() -> Iterator[str]:
    yield from ("## Databases", "", "Loading PostgreSQL, compared with a plain `COPY` of the same rows.", "")
    yield "| rows | MB | load s | load / COPY | read s | read / COPY |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in _rows("database-load"):
        cells = (
            f"{int(row['rows']):,}",
            row["megabytes"],
            row["load"],
            row["load/COPY"],
            row["read"],
            row["read/COPY"],
        )
        yield "| " + " | ".join(cells) + " |"
    yield from (
        "",
        "`python benchmarks/database_load.py`",
        "",
        "Twenty million rows in three tables, with a memory limit of 1 GB:",
        "",
    )
    yield "| command | CPU s | wall s |"
    yield "| --- | ---: | ---: |"
    for line in (RESULTS / "large_database_20m.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if len(words) > 6 and words[1] == "exit":
            yield f"| {words[0]} | {words[3]} | {words[6]} |"
    yield from ("", "`python benchmarks/foreign_databases.py`", "")


def _discovery() -> Iterator[str]:
    yield from (
        "## Rules found by `discover`",
        "",
        "Declared keys of public databases that were found again without the schema.",
        "",
    )
    yield "| database | kind of rule | declared | found | recall | precision |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for row in _rows("discover-databases"):
        cells = (row[key] for key in ("database", "template", "declared", "found", "recall", "precision"))
        yield "| " + " | ".join(cells) + " |"
    yield from ("", "`python benchmarks/discover.py`", "")


def _fuzz() -> Iterator[str]:
    yield from (
        "## Fuzzing",
        "",
        "Random policies, data and edits, judged outside the product. Runs in the order of their seeds.",
        "",
    )
    found = [(path.stem.removeprefix("fuzz-"), json.loads(path.read_text(encoding="utf-8"))) for path in _fuzz_files()]
    yield "| seed | " + " | ".join(_FUZZ.values()) + " |"
    yield "| --- | " + " | ".join("---:" for _ in _FUZZ) + " |"
    for seed, tree in found:
        yield f"| {seed} | " + " | ".join(f"{tree[key]:,}" if key in tree else "–" for key in _FUZZ) + " |"
    yield from ("", "`make fuzz MINUTES=60`", "")


_FUZZ = {
    "CPU minutes": "CPU minutes",
    "releases judged": "releases judged",
    "violations": "violations",
    "false alarms": "false alarms",
    "false refusals": "false refusals",
    "spoilings planted": "edits planted",
    "spoilings found": "edits found",
    "hostile inputs": "hostile inputs",
    "crashes": "crashes",
}
"""Key of a result file → heading."""


def _fuzz_files() -> list[Path]:
    return sorted(RESULTS.glob("fuzz-*.json"))
