"""Figures 9 to 11 of [obfuscation §6.1] on the toy schema: time against q and N, parallel gain, estimated l against q.

    python benchmarks/papers/obfuscation.py [--figure 9|10|11] [--records N]

Figure 9   CPU seconds per 1,000 records of IG and LM against the block size q (solver blocks), and the direct engines
Figure 10  estimated l for IG, LM, LM* against q at N = 1,000, t = 510 worlds each; the original is sorted by final
grade Figure 11  seconds against N at q = 200, IG and LM* with one and two jobs: wall, CPU of all processes, the gain,
and the most that
           Amdahl's law allows two jobs. `whole parts` is that bound when the three parts are the smallest pieces,
           `blocks` when blocks are; both are computed from each part's own CPU seconds with one job and what is done
           before the blocks. For the gain nothing else may run on the two cores.

Writes ``benchmarks/results/obfuscation-figure-*.csv`` and one SVG each. The paper used another solver on another
machine: only shapes and ratios can be compared."""

from __future__ import annotations

import argparse
import csv
import resource
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from obfuscation_speed import RULES, toy
from versatile_chart import lines

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.evidence import link_frequencies, link_frequencies_random_blocks, worlds_needed
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import fallback
from sfumato.kinds.testdata.methods.sampling.total_samplers import group_totals
from sfumato.policy.constraint_language.syntax_tree import ColumnValue

RESULTS = Path(__file__).parents[1] / "results"
SHOWN = ("IG-1, wall", "IG-2, wall", "LM*-1, wall", "LM*-2, wall")
MARKS = np.arange(80, 101)
WEIGHTS = np.array(
    [2 * min(mark - 80, 100 - mark) + 1 for mark in MARKS], dtype=float
)  # (courses, thesis) pairs per final


def original(count: int) -> dict[str, list[str]]:
    """A legal table, sorted by final grade."""
    problem = toy(count)
    made = run(problem, routes(problem, None), Randomness(seed=1))
    order = np.argsort(made[ColumnValue("final_grade")].codes, kind="stable")
    return {column.name: [_text(t) for t in one.texts()[order]] for column, one in made.items()}


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@dataclass
class Run:
    """CPU and wall seconds of all parts by solver blocks; with one job also what came before and each part's own
    CPU."""

    cpu: float
    wall: float
    before: float
    parts: list[float]
    chain: float
    """The longest piece of work that cannot be split."""


def solved(count: int, data: dict, heuristic: str, size: int, jobs: int = 1) -> Run:
    problem = toy(count, RULES, data)
    start, wall = cpu(), time.perf_counter()
    found = [Route(part, fallback(heuristic, size)(problem, part)) for part in problem.parts]
    ready = cpu()
    ends: dict[str, float] = {}
    run(problem, found, Randomness(seed=2), jobs, lambda _, title: ends.__setitem__(title, cpu()))
    marks = [ready, *ends.values()]
    parts = [after - before for before, after in pairwise(marks)]
    chains = [own / (route.engine.tasks if route.engine.splits else 1) for own, route in zip(parts, found, strict=True)]
    return Run(cpu() - start, time.perf_counter() - wall, ready - start, parts, max(chains))


def figure_9(count: int) -> list[dict]:
    data, rows = original(count), []
    problem = toy(100_000)
    start = time.process_time()
    run(problem, routes(problem, None), Randomness())
    direct = round((time.process_time() - start) / 100, 5)
    for size in (10, 50, 100, 200, 333, 500, 1000):
        row = {"q": size}
        for heuristic in ("IG", "LM"):
            row[heuristic] = round(solved(count, data, heuristic, size).cpu / count * 1000, 3)
        rows.append(row | {"direct": direct})
        print(rows[-1], file=sys.stderr)
    return rows


def figure_10(count: int = 1000) -> list[dict]:
    """The forward heuristics with an exactly uniform solver (each block keeps its total), then their reverse
    engineering."""
    finals = np.sort(np.array([int(v) for v in original(count)["final_grade"]])) - 80
    t, rng, rows = worlds_needed(0.05, 0.05), np.random.default_rng(3), []
    free = Randomness(seed=4)
    whole = group_totals(MARKS, WEIGHTS, np.array([count]), np.array([int(finals.sum()) + 80 * count]), free)
    ig = link_frequencies(whole, MARKS, WEIGHTS, [np.arange(count)], t, rng)
    for size in (1, 5, 10, 50, 100, 200, 333, 500, 1000):
        row = {"q": size, "IG": round(float(t / ig.max()), 2)}
        for heuristic in ("LM", "LM*"):
            order = np.arange(count) if heuristic == "LM" else free.permutation(count)
            blocks = np.array_split(order, max(1, count // size))
            sizes = np.array([len(block) for block in blocks])
            totals = np.array([int((finals[block] + 80).sum()) for block in blocks])
            published = np.empty(count, dtype=np.int64)
            published[np.concatenate(blocks)] = group_totals(MARKS, WEIGHTS, sizes, totals, free)
            if heuristic == "LM":
                often = link_frequencies(published, MARKS, WEIGHTS, blocks, t, rng)
            else:
                often = link_frequencies_random_blocks(published, MARKS, WEIGHTS, size, t, rng)
            row[heuristic] = round(float(t / often.max()), 2)
        rows.append(row)
        print(row, file=sys.stderr)
    return rows


def figure_11(largest: int) -> list[dict]:
    rows = []
    for count in (largest // 4, largest // 2, 3 * largest // 4, largest):
        data, row = original(count), {"N": count}
        for heuristic in ("IG", "LM*"):
            row |= {f"{heuristic}{key}": round(value, 2) for key, value in parallel(count, data, heuristic).items()}
        rows.append(row)
        print(row, file=sys.stderr)
    return rows


def parallel(count: int, data: dict, heuristic: str, size: int = 200) -> dict[str, float]:
    """One point of Figure 11: one and two jobs, what was gained, and what could be."""
    one, two = (solved(count, data, heuristic, size, jobs) for jobs in (1, 2))
    work = sum(one.parts)
    return {
        "-1, CPU": one.cpu,
        "-2, CPU": two.cpu,
        "-1, wall": one.wall,
        "-2, wall": two.wall,
        ", gain": one.wall / two.wall,
        ", gain at most, whole parts": (one.before + work) / (one.before + max(work / 2, *one.parts)),
        ", gain at most, blocks": (one.before + work) / (one.before + max(work / 2, one.chain)),
    }


def save(name: str, rows: list[dict], title: str, shown: list[str]) -> None:
    with (RESULTS / f"obfuscation-{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    across = next(iter(rows[0]))
    curves = {key: {row[across]: row[key] for row in rows} for key in shown}
    (RESULTS / f"obfuscation-{name}.svg").write_text(lines(curves, title=title, across=across), encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--records", type=int, default=10_000, help="records of Figures 9 and 11")
    options.add_argument("--figure", type=int, choices=[9, 10, 11], help="one figure alone")
    asked = options.parse_args()
    if asked.figure in (None, 10):
        save("figure-10", figure_10(), "Estimated l, N = 1,000, t = 510", ["IG", "LM", "LM*"])
    if asked.figure in (None, 9):
        title = f"CPU seconds per 1,000 records, N = {asked.records:,}"
        save("figure-9", figure_9(asked.records), title, ["IG", "LM", "direct"])
    if asked.figure in (None, 11):
        save("figure-11", figure_11(asked.records), "Seconds, q = 200, one and two jobs", list(SHOWN))


if __name__ == "__main__":
    main()
