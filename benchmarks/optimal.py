"""Optimal: how far the recoding methods are from what no release can lose less than, on Adult with two to eight columns.

    PYTHONPATH=src python benchmarks/optimal.py [--seconds 60] [--only adult-arx]

Writes ``results/optimal.csv``. Every line is one policy: the loss of `mondrian`, `clustering`, `refined` and `optimal`, the bound,
and the gap of each, (loss − bound) / loss. All four publish in the same space: nodes of the hierarchies within the boundaries,
records with equal values may be published differently. Seconds are CPU seconds of one thread without compiling.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import replace
from pathlib import Path

from tables import ADULT, adult

from sfumato.data.hierarchy import Hierarchy
from sfumato.methods.recoding.bound.proof import optimize
from sfumato.methods.recoding.bound.space import RecodingSpace
from sfumato.methods.recoding.greedy_clustering import cluster
from sfumato.methods.recoding.lattice import lattice_sweep
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.problem import RecodingProblem, Requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity

RESULTS = Path(__file__).parent / "results"
METHODS = ("mondrian", "clustering", "refined", "optimal")
GAPS = tuple(f"{name}_gap" for name in METHODS)
FIELDS = ("policy", "records", "points", "regions", "claims", *METHODS, "bound", *GAPS, "proof", "seconds")
K = Requirement(KAnonymity(k=5))
DIVERSE = Requirement(LDiversity(l=2, kind="frequency"), ("occupation",))


def measure(name: str, claims: str, problem: RecodingProblem, seconds: float) -> dict[str, object]:
    """One line of figures."""
    begin = time.process_time()
    starts = [mondrian(problem), lattice_sweep(problem), cluster(problem, price="width")]
    refined = refine(problem, starts, seconds=0.2 * seconds)
    space = RecodingSpace(problem, "loss")
    outcome = optimize(space, refined, seconds=0.8 * seconds)
    spent = time.process_time() - begin
    grouping = outcome.now.grouping()
    if not problem.satisfied(grouping).all() or int(grouping.count.sum()) + problem.suppressed != problem.records:
        raise SystemExit(f"{name}, {claims}: the grouping does not hold")
    losses = [space.figure(space.total(one), problem.suppressed) for one in (starts[0], starts[2], refined, grouping)]
    bound = space.figure(outcome.bound, problem.suppressed)
    gaps = [round(1 - bound / loss, 5) if loss > 0 else 0.0 for loss in losses]
    proof = "solver" if outcome.solved else "prices"
    shown = (f"{figure:.6g}" for figure in (*losses, bound))
    line = (name, problem.records, len(problem.points), len(problem.regions), claims, *shown, *gaps, proof, round(spent, 1))
    print(*line, sep="\t", flush=True)
    return dict(zip(FIELDS, line, strict=True))


def bounded(problem: RecodingProblem) -> RecodingProblem:
    """The same problem with boundaries: nobody's age or education, nor marital status, is generalized to the top."""
    domains = [
        domain.bounded_at(max(len(domain.ancestors) - 2, 1)) if isinstance(domain, Hierarchy) and domain.size > 5 else domain
        for domain in problem.domains
    ]
    return replace(problem, domains=tuple(domains))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", nargs="*", default=[])
    chosen = parser.parse_args()
    warm = adult(K, columns=("age", "sex"))
    measure("compiling", "k=5", warm, 1)
    print(*FIELDS, sep="\t")
    three, four = ("age", "sex", "education"), ("age", "sex", "race", "education")
    jobs = [
        ("adult-arx", "k=5", adult(K, columns=ADULT)),
        ("two columns", "k=5", adult(K, columns=("age", "sex"))),
        ("three columns", "k=5", adult(K, columns=three)),
        ("three columns, boundaries", "k=5", bounded(adult(K, columns=three))),
        ("three columns, boundaries", "k=5, frequency 2-diverse", bounded(adult(K, DIVERSE, columns=three))),
        ("four columns", "k=5", adult(K, columns=four)),
        ("four columns, boundaries", "k=5", bounded(adult(K, columns=four))),
        ("four columns, boundaries", "k=5, frequency 2-diverse", bounded(adult(K, DIVERSE, columns=four))),
        ("adult-arx, boundaries", "k=5", bounded(adult(K, columns=ADULT))),
    ]
    with (RESULTS / "optimal.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for job in jobs:
            if not chosen.only or job[0] in chosen.only:
                writer.writerow(measure(*job, chosen.seconds))
                stream.flush()


if __name__ == "__main__":
    main()
