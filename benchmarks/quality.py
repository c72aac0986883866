"""Quality: the loss of `refined` against CPU seconds under many claims, on real tables.

    PYTHONPATH=src python benchmarks/quality.py [--tables adult] [--claims k=5 k=50 t=0.2 …] [--seconds 10 30]

Writes ``results/quality.csv``, adding to what stands there. Seconds asked for are those of the method (work, counted). CPU seconds
are measured over the starts and the search together, in this process, without reading and without compiling. Every line is
checked: all records published, every group judged by the models.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

from tables import adult, census_like

from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.greedy_clustering import cluster
from sfumato.methods.recoding.lattice import lattice_sweep
from sfumato.methods.recoding.local_search import refine
from sfumato.methods.recoding.partitioning import mondrian
from sfumato.methods.recoding.problem import RecodingProblem, Requirement
from sfumato.methods.recoding.refined import CLUSTERED
from sfumato.models.alpha_k import AlphaK
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.models.t_closeness import TCloseness

RESULTS = Path(__file__).parent / "results" / "quality.csv"
FIELDS = ("table", "claims", "records", "points", "seconds", "mondrian", "lattice", "clustering", "refined", "cpu")
HIDDEN = {"adult": ("occupation",), "census-like": ("illness",)}


def requirements(claims: str, hidden: tuple[str, ...]) -> tuple[Requirement, ...]:
    """``k=5``, ``p=3``, ``l=3`` (frequency), ``entropy=3``, ``t=0.2`` or ``alpha=0.3``; all but the first with k = 5."""
    word, _, level = claims.partition("=")
    if word == "k":
        return (Requirement(KAnonymity(k=int(level))),)
    model = {
        "p": lambda: PSensitivity(p=int(level)),
        "l": lambda: LDiversity(l=float(level), kind="frequency"),
        "entropy": lambda: LDiversity(l=float(level), kind="entropy"),
        "t": lambda: TCloseness(t=float(level)),
        "alpha": lambda: AlphaK(alpha=float(level), k=5),
    }[word]()
    return Requirement(KAnonymity(k=5)), Requirement(model, hidden)


def table(name: str, claims: str, records: int) -> RecodingProblem:
    asked = requirements(claims, HIDDEN[name])
    return adult(*asked) if name == "adult" else census_like(records, *asked)


def measure(name: str, claims: str, seconds: float, records: int) -> dict:
    """One line of figures."""
    problem = table(name, claims, records)
    costs = Costs.of(problem, "loss")
    begin = time.process_time()
    starts = [mondrian(problem), lattice_sweep(problem)]
    if len(problem.points) <= CLUSTERED:
        starts.append(cluster(problem))
    found = refine(problem, starts, seconds=seconds)
    spent = time.process_time() - begin
    if not problem.satisfied(found).all() or int(found.count.sum()) + problem.suppressed != problem.records:
        raise SystemExit(f"{name}, {claims}: the grouping does not hold")
    losses = [round(costs.mean(problem, each), 5) for each in (*starts, found)]
    losses = losses if len(starts) == 3 else [*losses[:2], "", losses[2]]
    line = (name, claims, problem.records, len(problem.points), seconds, *losses, round(spent, 1))
    print(*line, sep="\t", flush=True)
    return dict(zip(FIELDS, line, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", default=["adult", "census-like"])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, nargs="*", default=[10, 30])
    usual = ["k=2", "k=5", "k=10", "k=20", "k=50", "k=100", "k=200", "p=3", "l=3", "entropy=3", "t=0.2", "alpha=0.3"]
    parser.add_argument("--claims", nargs="*", default=usual)
    chosen = parser.parse_args()
    for claims in {claim.partition("=")[0]: claim for claim in chosen.claims}.values():
        small = census_like(300, *requirements(claims, HIDDEN["census-like"]))  # compiling
        refine(small, [mondrian(small), cluster(small)], seconds=0.2)
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if new:
            writer.writeheader()
        for name in chosen.tables:
            for claims in chosen.claims:
                for seconds in chosen.seconds:
                    writer.writerow(measure(name, claims, seconds, chosen.records))
                    stream.flush()


if __name__ == "__main__":
    main()
