"""Mondrian: loss and time on Adult, under several claims, and how time grows from ten thousand to a million records.

    PYTHONPATH=src python benchmarks/mondrian.py [--most 1000000]

Writes ``results/mondrian.csv``. Seconds are CPU seconds of one thread, without reading the data; points are distinct
tuples."""

from __future__ import annotations

import argparse
import csv
import resource
import time
from pathlib import Path

from tables import adult, census_like

from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.models.t_closeness import TCloseness

RESULTS = Path(__file__).parent / "results"
FIELDS = ("table", "claims", "records", "points", "groups", "loss", "seconds", "peak_mb")
K = Requirement(KAnonymity(k=5))


def measure(table: str, claims: str, problem: RecodingProblem) -> dict:
    """One line of figures; grouping records into points is part of the time."""
    begin = time.process_time()
    grouping = mondrian(problem)
    seconds = time.process_time() - begin
    if not problem.satisfied(grouping).all() or int(grouping.count.sum()) + problem.suppressed != problem.records:
        raise SystemExit(f"{table}, {claims}: the grouping does not hold")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    loss = round(Costs.of(problem, "loss").mean(problem, grouping), 4)
    line = (table, claims, problem.records, len(problem.points), grouping.groups, loss, round(seconds, 2), peak)
    print(*line, sep="\t", flush=True)
    return dict(zip(FIELDS, line, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=1_000_000)
    most = parser.parse_args().most
    job, ill = ("occupation",), ("illness",)
    print(*FIELDS, sep="\t")
    lines = [
        measure("adult-arx", "k=5", adult(K)),
        measure("adult-arx", "k=5, 3-diverse", adult(K, Requirement(LDiversity(l=3), job))),
        measure("adult-arx", "k=5, entropy 3-diverse", adult(K, Requirement(LDiversity(l=3, kind="entropy"), job))),
        measure("adult-arx", "k=5, 0.3-close", adult(K, Requirement(TCloseness(t=0.3), job))),
    ]
    size = 10_000
    while size <= most:
        lines.append(measure("census-like", "k=5", census_like(size, K)))
        lines.append(measure("census-like", "k=5, p=3", census_like(size, K, Requirement(PSensitivity(p=3), ill))))
        size *= 10
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "mondrian.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
