"""Refined: loss against time on Adult, under several claims, and how it fares from ten thousand to a million records.

    PYTHONPATH=src python benchmarks/refined.py [--most 1000000] [--seconds 0 1 2 5 10 20]

Writes ``results/refined.csv``. Seconds are CPU seconds of one thread, starts included, without reading the data and
without compiling; 0 seconds of search are the lattice sweep and mondrian alone."""

from __future__ import annotations

import argparse
import csv
import resource
import time
from pathlib import Path

from tables import adult, census_like

from sfumato.kinds.tables.methods.local_search import refine
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement
from sfumato.kinds.tables.methods.refined import lattice_sweep
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.models.t_closeness import TCloseness

RESULTS = Path(__file__).parent / "results"
FIELDS = ("table", "claims", "records", "points", "start_loss", "loss", "seconds", "peak_mb")
K = Requirement(KAnonymity(k=5))


def measure(table: str, claims: str, problem: RecodingProblem, seconds: float) -> dict:
    """One line of figures: the better start, and what the search makes of it."""
    begin = time.process_time()
    costs = Costs.of(problem, "loss")
    starts = [mondrian(problem), lattice_sweep(problem)]
    grouping = (
        refine(problem, starts, seconds=seconds)
        if seconds
        else min(starts, key=lambda start: costs.mean(problem, start))
    )
    spent = time.process_time() - begin
    if not problem.satisfied(grouping).all() or int(grouping.count.sum()) + problem.suppressed != problem.records:
        raise SystemExit(f"{table}, {claims}: the grouping does not hold")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    before = round(min(costs.mean(problem, start) for start in starts), 5)
    after = round(costs.mean(problem, grouping), 5)
    line = (table, claims, problem.records, len(problem.points), before, after, round(spent, 2), peak)
    print(*line, sep="\t", flush=True)
    return dict(zip(FIELDS, line, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, nargs="*", default=[0, 1, 2, 5, 10, 20])
    chosen = parser.parse_args()
    job = ("occupation",)
    measure("compiling", "p=2", census_like(300, K, Requirement(PSensitivity(p=2), ("illness",))), 0.1)
    measure("compiling", "k=5", census_like(300, K), 0.1)
    print(*FIELDS, sep="\t")
    lines = [measure("adult-arx", "k=5", adult(K), seconds) for seconds in chosen.seconds]
    lines += [
        measure("adult-arx", "k=5, 3-diverse", adult(K, Requirement(LDiversity(l=3), job)), 10),
        measure("adult-arx", "k=5, entropy 3-diverse", adult(K, Requirement(LDiversity(l=3, kind="entropy"), job)), 10),
        measure("adult-arx", "k=5, 0.3-close", adult(K, Requirement(TCloseness(t=0.3), job)), 10),
    ]
    size = 10_000
    while size <= chosen.most:
        lines.append(measure("census-like", "k=5", census_like(size, K), 20))
        size *= 10
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "refined.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
