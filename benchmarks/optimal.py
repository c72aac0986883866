"""Optimal: how far the recoding methods are from what no release can lose less than, on Adult with three to eight
columns.

    PYTHONPATH=src python benchmarks/optimal.py [--seconds 60] [--only adult-arx] [--claims k=5]

Writes ``results/optimal.csv``; lines of policies that were not asked for stay. Every line is one policy: the loss of
`mondrian`, `clustering`, `refined` and `optimal`, the bound, and the gap of each, (loss − bound) / loss. All four
publish in the same space: nodes of the hierarchies within the boundaries, records with equal values may be published
differently. Seconds are CPU seconds of one thread without compiling."""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import replace
from pathlib import Path

from tables import ADULT, adult

from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.local_search import refine
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.optimal import optimize, time_to_search
from sfumato.kinds.tables.methods.price_bound import RecodingSpace
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement
from sfumato.kinds.tables.methods.refined import lattice_sweep
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity

RESULTS = Path(__file__).parent / "results"
METHODS = ("mondrian", "clustering", "refined", "optimal")
GAPS = tuple(f"{name}_gap" for name in METHODS)
FIELDS = ("policy", "records", "points", "regions", "claims", *METHODS, "bound", *GAPS, "proof", "seconds")
COLUMNS = {
    "three columns": ("age", "sex", "education"),
    "four columns": ("age", "sex", "race", "education"),
    "adult-arx": ADULT,
}


def sizes(k: int) -> Requirement:
    return Requirement(KAnonymity(k=k))


def diverse(l: int) -> Requirement:
    return Requirement(LDiversity(l=l, kind="frequency"), ("occupation",))


CLAIMS = {
    "k=5": (sizes(5),),
    "k=10": (sizes(10),),
    "k=50": (sizes(50),),
    "k=5, frequency 2-diverse": (sizes(5), diverse(2)),
    "k=5, frequency 3-diverse": (sizes(5), diverse(3)),
    "(0.4, 5)-anonymous": (Requirement(AlphaK(alpha=0.4, k=5), ("occupation",)),),
}
WITH_BOUNDARIES = ("k=5", "k=5, frequency 2-diverse")


def measure(name: str, claims: str, problem: RecodingProblem, seconds: float) -> dict[str, object]:
    """One line of figures."""
    begin = time.process_time()
    starts = [mondrian(problem), lattice_sweep(problem), cluster(problem, price="width")]
    space = RecodingSpace(problem, "loss")
    search = time_to_search(space)
    refined = refine(problem, starts, seconds=search * seconds)
    outcome = optimize(space, refined, seconds=(1 - search) * seconds)
    spent = time.process_time() - begin
    grouping = outcome.now.grouping()
    if not problem.satisfied(grouping).all() or int(grouping.count.sum()) + problem.suppressed != problem.records:
        raise SystemExit(f"{name}, {claims}: the grouping does not hold")
    losses = [space.figure(space.total(one), problem.suppressed) for one in (starts[0], starts[2], refined, grouping)]
    bound = space.figure(outcome.bound, problem.suppressed)
    gaps = [round(1 - bound / loss, 5) if loss > 0 else 0.0 for loss in losses]
    proof = "solver" if outcome.solved else "prices"
    shown = (f"{figure:.6g}" for figure in (*losses, bound))
    line = (
        name,
        problem.records,
        len(problem.points),
        len(problem.regions),
        claims,
        *shown,
        *gaps,
        proof,
        round(spent, 1),
    )
    print(*line, sep="\t", flush=True)
    return dict(zip(FIELDS, line, strict=True))


def bounded(problem: RecodingProblem) -> RecodingProblem:
    """The same problem with boundaries: nobody's age or education, nor marital status, is generalized to the top."""
    domains = [
        domain.bounded_at(max(len(domain.ancestors) - 2, 1))
        if isinstance(domain, Hierarchy) and domain.size > 5
        else domain
        for domain in problem.domains
    ]
    return replace(problem, domains=tuple(domains))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--claims", nargs="*", default=[])
    chosen = parser.parse_args()
    measure("compiling", "k=5", adult(sizes(5), columns=("age", "sex")), 1)
    print(*FIELDS, sep="\t")
    jobs = [
        (name, claims, adult(*CLAIMS[claims], columns=columns))
        for name, columns in COLUMNS.items()
        for claims in CLAIMS
    ]
    jobs += [
        (f"{name}, boundaries", claims, bounded(adult(*CLAIMS[claims], columns=columns)))
        for name, columns in COLUMNS.items()
        for claims in WITH_BOUNDARIES
    ]
    for job in jobs:
        if job[0] in (chosen.only or [job[0]]) and job[1] in (chosen.claims or [job[1]]):
            keep(measure(*job, chosen.seconds), [job[:2] for job in jobs])


def keep(line: dict[str, object], order: list[tuple[str, str]]) -> None:
    """Put a line in the place of the one for the same policy and claims."""
    known = {
        (old["policy"], old["claims"]): old
        for old in csv.DictReader((RESULTS / "optimal.csv").read_text(encoding="utf-8").splitlines())
    }
    known[str(line["policy"]), str(line["claims"])] = line
    with (RESULTS / "optimal.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(known[one] for one in order if one in known)


if __name__ == "__main__":
    main()
