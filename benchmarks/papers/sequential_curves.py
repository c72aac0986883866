"""The experiments of [sequential §7] that are curves: levels, sizes, measures, Adult, and tables that grow.

    python benchmarks/papers/sequential_curves.py [adult] [levels] [sizes] [measures] [dynamic]

adult      ADULT-1 and ADULT-2 (32,561 people), 5-linkability                         Set 1, Figure 8, Table 7
levels     CENSUS-1, k = 5 … 25 linkability (Figure 9, Table 8), 4 … 10 diversity     Set 2, Figure 10, Table 9
sizes      CENSUS-1, 100,000 … 500,000 people, 5-linkability and 5-diversity          Set 3, Figures 11 and 12, Tables
           10 and 11
measures   CENSUS-1 guided by LM and by the entropy measure                           Set 4, Figure 13, Table 12
dynamic    tables that grow, unifying and separative: two and three releases          Figure 16

For each: the information loss (sum of LM over cells) of the best cut and of single cells in the last release, the level
that the cut really has (test a), and the true level of a release that was tuned to the match join (test b). CENSUS is
generated (`census_like`): the extract of the paper cannot be had, so figures compare in shape. The dynamic tables begin
with 20,000 people instead of 100,000, so that everything finishes in about one CPU minute."""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from curves import write_csv, write_svg
from sequential_releases import Run, S

sys.path.insert(0, str(Path(__file__).parents[1]))
from census_like import LEVELS, SIZES, people

import sfumato as sf
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.history.judge.full_match_join import decide_cliques, kernel_join
from sfumato.history.judge.sequence import linkage_of
from sfumato.history.release_sequence import Attribute, ReleaseSequence
from sfumato.kinds.tables.methods.sequential_search import specialize
from sfumato.kinds.tables.methods.sequential_state import Goal, Measure, Taxonomy
from sfumato.models.k_diversity import KDiversity
from sfumato.models.k_linkability import KLinkability

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult" / "adult_48842.csv.gz"
HEAD = [
    "what",
    "records",
    "k",
    "goal",
    "measure",
    "cut loss",
    "cell loss",
    "cut level",
    "cell level",
    "match level",
    "CPU seconds",
]
GROUPS = {"age": (5, 20), "education": (4,), "marital-status": (3,), "native-country": (10,)}
TWO = {
    "ADULT-1": [("age", "education"), ("age", S)],
    "ADULT-2": [("sex", "race", "native-country", "education"), ("sex", "race", "marital-status", S)],
}
Line = list[Any]


class AdultRun(Run):
    """The 32,561 people of the training part of Adult, values in the order of their names."""

    def __init__(self, name: str) -> None:
        self.name, self.releases = name, TWO[name]
        with gzip.open(ADULT, "rt", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["split"] == "train"]
        names = sorted({c for columns in self.releases for c in columns} - {S})
        self.names = [*names, S]
        codes, sizes = {}, {}
        for column in self.names:
            values = sorted({row[column] for row in rows}, key=lambda v: int(v) if column == "age" else v)
            place = {value: code for code, value in enumerate(values)}
            codes[column], sizes[column] = np.array([place[row[column]] for row in rows], dtype=np.int64), len(values)
        self.values = sizes[S] + 1
        self.attributes = [
            Attribute(n, sizes[n] + (n == S), "sensitive" if n == S else "quasi-identifier") for n in self.names
        ]
        self.leaves = np.stack([codes[n] for n in self.names], axis=1)
        self.trees = {m: Taxonomy.of_intervals(nodes_of(n, sizes[n])) for m, n in enumerate(names)}


def nodes_of(name: str, size: int) -> list[tuple[int, int]]:
    groups = [(lo, min(lo + width, size)) for width in GROUPS.get(name, ()) for lo in range(0, size, width)]
    return [*((x, x + 1) for x in range(size)), *groups, (0, size)]


def line_of(run: Run, goal: Goal, measure: Measure = "loss") -> Line:
    """All releases of a run, the last one also tuned to the match join."""
    started = time.process_time()
    published: list[tuple[np.ndarray, np.ndarray]] = []
    for columns in run.releases:
        made = specialize(run._task(published, columns), goal, Randomness(1), measure=measure)
        published.append((made.lo, made.hi))
    seconds = time.process_time() - started
    loose = specialize(
        run._task(published[:-1], run.releases[-1]),
        Goal(goal.k, goal.goal, join="match"),
        Randomness(1),
        measure=measure,
    )
    levels = [level_of(run, some, goal) for some in (published, [*published[:-1], (loose.lo, loose.hi)])]
    line = [run.name, len(run.leaves), goal.k, goal.goal, measure, round(made.cut_loss, 3), round(made.loss, 3)]
    line += [round(float(made.cut_level), 2), *levels, round(seconds, 2)]
    print(*line, sep=", ", flush=True)
    return line


def level_of(run: Run, published: list[tuple[np.ndarray, np.ndarray]], goal: Goal) -> float:
    """The level over all releases by the full match join, which for two releases is the kernel join."""
    sequence = ReleaseSequence.of_records(run.attributes, published, (run.leaves, run.leaves + 1))
    cliques = kernel_join(sequence)
    if sequence.count > 2:
        cliques = cliques[~decide_cliques(sequence, cliques).excluded]
    seen = linkage_of(sequence, cliques, tuple(map(str, range(run.values))))
    model = KLinkability(k=1) if goal.goal == "linkability" else KDiversity(k=1)
    return round(float(model.achieved(seen)["k"]), 2)


def adult() -> list[Line]:
    return [line_of(AdultRun(name), Goal(5)) for name in TWO]


def levels() -> list[Line]:
    run = Run("CENSUS-1", 100_000)
    goals = [*(Goal(k) for k in (5, 10, 15, 20, 25)), *(Goal(k, "diversity") for k in (4, 6, 8, 10))]
    return [line_of(run, goal) for goal in goals]


def sizes() -> list[Line]:
    runs = [Run("CENSUS-1", count) for count in (100_000, 200_000, 300_000, 400_000, 500_000)]
    return [line_of(run, goal) for goal in (Goal(5), Goal(5, "diversity")) for run in runs]


def measures() -> list[Line]:
    run = Run("CENSUS-1", 100_000)
    return [line_of(run, Goal(5), measure) for measure in ("loss", "entropy")]


def tree_of(name: str) -> Any:
    """A column of the generated people with its groups, written as a policy writes it."""
    width = LEVELS[name][0] if LEVELS[name] else 0
    leaves = [f"{name}{code:02}" for code in range(SIZES[name])]
    if not width:
        return {"*": leaves}
    return {"*": {f"{leaves[lo]}+": leaves[lo : lo + width] for lo in range(0, len(leaves), width)}}


def dynamic() -> list[Line]:
    """Tables that grow: T1 (age, education), T2 (age, occupation); and three releases (age, gender), (gender, occ),
    (age, occ)."""
    found: list[Line] = []
    start = 20_000
    table = people(2 * start)
    names = ("age", "education", "gender", S)
    everybody = pl.DataFrame(
        {n: [f"{n}{c:02}" for c in table[n].tolist()] for n in names} | {"who": [f"p{i}" for i in range(2 * start)]}
    )
    everybody = everybody.sample(fraction=1.0, shuffle=True, seed=1)
    two = [(("age", "education"), False), (("age",), True)]
    three = [(("age", "gender"), False), (("gender",), True), (("age",), True)]
    for growth in ("unifying", "separative"):
        for more in (1.05, 1.1, 1.25, 1.5, 2.0):
            found.append(grown(everybody, two, [start, round(start * more)], growth))
        found.append(grown(everybody, three, [start, round(start * 1.1), round(start * 1.2)], growth))
    return found


def grown(
    everybody: pl.DataFrame, releases: list[tuple[tuple[str, ...], bool]], counts: list[int], growth: str
) -> Line:
    started, folder, loss = time.process_time(), Path(tempfile.mkdtemp()), float("nan")
    name = f"dynamic R={len(releases)} {growth}"
    for number, ((columns, shows), count) in enumerate(zip(releases, counts, strict=True)):
        roles: dict[str, Any] = {n: {"role": "quasi-identifier", "hierarchy": tree_of(n)} for n in columns}
        roles |= {"who": "identifier", S: {"role": "sensitive", "publish": shows}}
        method = {"sequential": {"by": "join", "growth": growth, "cohorts": "unknown", "budget": 30}}
        tree = {
            "version": 1,
            "columns": roles,
            "protect": [{"k-linkability": {"k": 5}}],
            "key": "who",
            "method": method,
        }
        frame = everybody[:count].select([*columns, S, "who"])
        try:
            made = sf.publish(sf.Policy.parse(tree), frame, ledger=folder / "book", new_ledger=not number)
        except Infeasible as error:
            print(name, counts, error.what)
            return [
                name,
                counts[-1],
                5,
                "linkability",
                "loss",
                "",
                "infeasible",
                "",
                "",
                "",
                round(time.process_time() - started, 2),
            ]
        made.write(folder / f"r{number}", report=False)
        loss = made.utility["loss"] * count * len(columns)
    line = [
        name,
        counts[-1],
        5,
        "linkability",
        "loss",
        "",
        round(loss, 3),
        "",
        "",
        "",
        round(time.process_time() - started, 2),
    ]
    print(*line, sep=", ", flush=True)
    return line


PARTS: dict[str, Callable[[], list[Line]]] = {
    "adult": adult, "levels": levels, "sizes": sizes, "measures": measures, "dynamic": dynamic,
}  # fmt: skip


def drawn(part: str, lines: list[Line]) -> None:
    """Loss against what the experiment varies; cut and cells have scales of their own."""
    x = {"levels": 2, "sizes": 1, "dynamic": 1}.get(part)
    if x is None:
        return
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for line in lines:
        if isinstance(line[6], float):
            title = line[0] if part == "dynamic" else f"{line[3]}"
            kinds = {"cells": 6} if part == "dynamic" else {"cut": 5, "cells": 6}
            for kind, place in kinds.items():
                where, label = ("loss in the last release", title) if part == "dynamic" else (f"{title}: {kind}", kind)
                panels.setdefault(where, {}).setdefault(label, []).append(
                    (float(line[x]) / (1 if x == 2 else 1000), float(line[place]))
                )
    panels = {
        where: {label: points for label, points in some.items() if len(points) > 1} for where, some in panels.items()
    }
    write_svg(
        f"sequential-curves-{part}",
        panels,
        {"levels": "k", "sizes": "thousand records", "dynamic": "thousand records in the last release"}[part],
    )


def main() -> None:
    chosen = sys.argv[1:] or list(PARTS)
    for part in chosen:
        if part == "adult" and not ADULT.exists():
            print("skipped: Adult is not in ../shared/data/adult")
            continue
        lines = PARTS[part]()
        write_csv(f"sequential-curves-{part}", HEAD, lines)
        drawn(part, lines)


if __name__ == "__main__":
    main()
