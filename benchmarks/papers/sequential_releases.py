"""Sequential releases on census-like people: the configurations of [sequential Table 6], with its tests (a) and (b).

    python benchmarks/papers/sequential_releases.py [--real] [CONFIGURATION:RECORDS:K …]

With `--real` the people are drawn at random from the working adults of the census data in ``../shared/data`` instead.

Writes ``benchmarks/results/sequential_releases.csv`` and an SVG of the losses. Times are CPU seconds of one thread
after the records are grouped into classes, kernels compiled; *exact* is the audit's proof that every link counted lies
on a perfect matching.
    cut level    test (a): the level that the best cut really has, against the k asked for
    match level  test (b): the true level of a release that was tuned to the match join
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from census_like import LEVELS, SIZES, intervals, people

from sfumato.core.randomness import Randomness
from sfumato.history.judge.full_match_join import decide_cliques, kernel_join
from sfumato.history.judge.sequence import cliques_below_level, linkability, linkage_of
from sfumato.history.release_sequence import Attribute, ReleaseSequence
from sfumato.kinds.tables.methods.sequential_search import specialize
from sfumato.kinds.tables.methods.sequential_state import Goal, SequelProblem, Taxonomy

RESULTS = Path(__file__).parents[1] / "results"
REAL = Path(__file__).parents[3] / "shared" / "data" / "census_income_kdd" / "occ_like_148318.csv.gz"
S = "occupation"
CONFIGURATIONS = {
    "CENSUS-1": [("age", "education"), ("age", S)],
    "CENSUS-2": [("gender", "race", "country", "education"), ("gender", "race", "marital", S)],
    "R=3": [("age", "gender"), ("gender", S), ("age", S)],
    "R=4": [("age", "gender"), ("age", S), ("age", "gender", "marital"), ("gender", S)],
    "wide": [("gender", "race", "education", "marital"), ("gender", "race", "education", "marital", S)],
}
FIELDS = ["configuration", "records", "k", "releases", "grouping", "cut_loss", "cell_loss", "cut_level", "cell_level",
"match_loss",
          "match_level", "checks", "seconds", "exact_cliques", "exact_seconds", "proven_level"]  # fmt: skip


def census(records: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Random rows of the real table as codes in the order of their values, and how many values each column has."""
    with gzip.open(REAL, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = np.random.default_rng(seed).permutation(len(rows))[:records]
    table, sizes = {}, {}
    for name in SIZES.keys() - {"work"}:
        cells = [rows[i][name] for i in chosen]
        order = sorted(set(cells), key=int if name in ("age", S) else str)
        place = {value: code for code, value in enumerate(order)}
        table[name], sizes[name] = np.array([place[cell] for cell in cells], dtype=np.int64), len(order)
    return table, sizes


def nodes(name: str, size: int) -> list[tuple[int, int]]:
    """Leaves, groups as wide as those of the generated people, root."""
    groups = [(lo, min(lo + width, size)) for width in LEVELS[name] for lo in range(0, size, width)]
    return [*((x, x + 1) for x in range(size)), *groups, (0, size)]


class Run:
    """One table and one configuration."""

    def __init__(self, name: str, records: int, real: bool = False, seed: int = 1) -> None:
        self.name, self.releases = name, CONFIGURATIONS[name]
        table, sizes = census(records, seed) if real else (people(records, seed), SIZES)
        self.values = sizes[S] + 1
        names = sorted({c for columns in self.releases for c in columns} - {S})
        self.names = [*names, S]
        self.attributes = [
            Attribute(n, sizes[n] + (n == S), "sensitive" if n == S else "quasi-identifier") for n in self.names
        ]
        self.leaves = np.stack([table[n] for n in self.names], axis=1)
        self.trees = {
            m: Taxonomy.of_intervals(nodes(n, sizes[n]) if real else intervals(n)) for m, n in enumerate(names)
        }

    def publish(self, k: float, seed: int = 1) -> dict[str, object]:
        row: dict[str, object] = {
            "configuration": self.name,
            "records": len(self.leaves),
            "k": k,
            "releases": len(self.releases),
        }
        published: list[tuple[np.ndarray, np.ndarray]] = []
        seconds = grouping = 0.0
        for columns in self.releases:
            started = time.process_time()
            task = self._task(published, columns)
            _ = task.bases
            grouped = time.process_time()
            made = specialize(task, Goal(k), Randomness(seed))
            seconds += time.process_time() - grouped
            grouping += grouped - started
            if made.checks and made.cut_loss >= float(row.get("cut_loss", 0.0)):  # type: ignore[arg-type]
                row |= {
                    "cut_loss": round(made.cut_loss, 2),
                    "cell_loss": round(made.loss, 3),
                    "cut_level": made.cut_level,
                }
            row["checks"] = int(row.get("checks", 0)) + made.checks  # type: ignore[call-overload]
            published.append((made.lo, made.hi))
        row |= {"seconds": round(seconds, 2), "grouping": round(grouping, 2)}
        row |= self._proof(published, k)
        loose = specialize(self._task(published[:-1], self.releases[-1]), Goal(k, join="match"), Randomness(seed))
        row |= {
            "match_loss": round(loose.loss, 3),
            "match_level": self._proof([*published[:-1], (loose.lo, loose.hi)], k)["proven_level"],
        }
        return row

    def _task(self, published: list[tuple[np.ndarray, np.ndarray]], columns: tuple[str, ...]) -> SequelProblem:
        return SequelProblem.of_records(
            self.attributes, published, self.leaves, [self.names.index(c) for c in columns], self.trees
        )

    def _proof(self, published: list[tuple[np.ndarray, np.ndarray]], k: float) -> dict[str, object]:
        sequence = ReleaseSequence.of_records(self.attributes, published, (self.leaves, self.leaves + 1))
        started = time.process_time()
        cliques = kernel_join(sequence)
        verdict = decide_cliques(sequence, cliques, wanted=cliques_below_level(sequence, cliques, k))
        seconds = time.process_time() - started
        labels = tuple(map(str, range(self.values)))
        level = linkability(linkage_of(sequence, cliques[verdict.admitted], labels))
        seen = linkability(linkage_of(sequence, cliques, labels))
        return {
            "exact_cliques": len(cliques),
            "exact_seconds": round(seconds, 2),
            "proven_level": level,
            "cell_level": seen,
        }


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Loss of the cut and of the cells per configuration, on a logarithmic scale."""
    height = 34 * len(rows) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" font-family="sans-serif" font-size="12">'
    ]
    parts.append(
        '<text x="10" y="16">information loss of the tightest release: cut (light), single cells (dark), log'
        " scale</text>"
    )
    for i, row in enumerate(rows):
        y = 30 + 34 * i
        parts.append(
            f'<text x="10" y="{y + 14}">{row["configuration"]} N={int(str(row["records"])):,} k={row["k"]}</text>'
        )
        for j, (key, fill) in enumerate((("cut_loss", "#9fb0bf"), ("cell_loss", "#3f4b57"))):
            value = float(row.get(key) or 0.0)  # type: ignore[arg-type]
            width = max(0.0, 75 * (np.log10(value + 0.01) + 2))
            parts.append(f'<rect x="220" y="{y + 12 * j}" width="{width:.1f}" height="10" fill="{fill}"/>')
            parts.append(f'<text x="{226 + width:.0f}" y="{y + 12 * j + 9}" font-size="10">{value:,.2f}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


PLANS = ["CENSUS-1:100000:5", "CENSUS-2:100000:5", "R=3:100000:5", "R=4:100000:5", "wide:100000:5",
"CENSUS-1:100000:25",
         "CENSUS-1:500000:5", "R=4:500000:5"]  # fmt: skip

REAL_PLANS = ["CENSUS-1:100000:5", "CENSUS-2:100000:5", "R=3:100000:5"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "plans", nargs="*", default=PLANS, help="configuration:records:k; their lines replace older ones in the results"
    )
    parser.add_argument("--real", action="store_true", help="real people; results go to files of their own")
    given = parser.parse_args()
    if given.real and not REAL.exists():
        print(f"skipped: the real table {REAL.name} is not in ../shared/data/census_income_kdd")
        return
    plans = [plan.split(":") for plan in (REAL_PLANS if given.real and given.plans is PLANS else given.plans)]
    RESULTS.mkdir(exist_ok=True)
    table = RESULTS / ("sequential_releases_real.csv" if given.real else "sequential_releases.csv")
    rows: dict[tuple[str, str, str], dict[str, object]] = {}
    if table.exists():
        with table.open(newline="") as file:
            rows = {(row["configuration"], row["records"], row["k"]): dict(row) for row in csv.DictReader(file)}
    for name, records, k in plans:
        Run(name, 2000).publish(3)  # compile
        rows[name, records, k] = Run(name, int(records), given.real).publish(int(k))
        print(rows[name, records, k], flush=True)
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows.values())
        draw(list(rows.values()), table.with_suffix(".svg"))


if __name__ == "__main__":
    main()
