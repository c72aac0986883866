"""Figures 4.3 to 4.5 of [multitype]: how often planted accounts are found, by attack, width and flip, and what the
search costs.

The co-author graph ca-CondMat stands in for DBLP, ca-GrQc (5,241 people) for the small Enron graph. Widths 3 and 5 are
the paper's; "exact" takes each interval from the exact law of the published degree. The last rows are the flips our
planner derives.

    PYTHONPATH=src python benchmarks/papers/graph_attacks.py [trials]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from curves import panels_of, write_csv, write_svg

from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.planted_account_attacks import interval_walk_attack, plant_and_publish, walk_attack
from sfumato.models.structural_attack import needed_flip, path_bound, success_bound

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "graphs"
FLIPS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3)
LIMIT = 60_000_000
ATTACKS = {
    "walk": lambda world: walk_attack(world, limit=LIMIT),
    "interval w=3": lambda world: interval_walk_attack(world, width=3, limit=LIMIT),
    "interval w=5": lambda world: interval_walk_attack(world, width=5, limit=LIMIT),
    "interval exact": lambda world: interval_walk_attack(world, limit=LIMIT),
    "interval exact m=1": lambda world: interval_walk_attack(world, errors=1, limit=LIMIT),
}


def played(graph, mu: float, accounts: int, victims: int, trials: int) -> list[list[object]]:
    hits, seconds, gave_up, seen = (dict.fromkeys(ATTACKS, 0.0) for _ in range(4))
    for trial in range(trials):
        world = plant_and_publish(
            graph, EdgeChannel.symmetric(mu), Randomness(trial).child("bench"), accounts=accounts, victims=victims
        )
        for name, attack in ATTACKS.items():
            begun = time.process_time()
            found = attack(world)
            seconds[name] += time.process_time() - begun
            hits[name] += found.accounts
            gave_up[name] += found.gave_up
            seen[name] += found.victims if found.accounts else 0.0
    return [
        [
            mu,
            accounts,
            name,
            trials,
            hits[name] / trials,
            seen[name] / max(hits[name], 1),
            seconds[name] / trials,
            gave_up[name],
        ]
        for name in ATTACKS
    ]


def main(trials: int) -> None:
    played(read_graph(DATA / "ca_grqc.tsv.gz"), 1e-4, 10, 10, 1)  # compile before anything is timed
    header = [
        "graph",
        "mu",
        "accounts",
        "attack",
        "trials",
        "success",
        "victims_found_when_successful",
        "cpu_seconds",
        "gave_up",
    ]
    rows: list[list[object]] = []
    for name in ("ca_condmat", "ca_grqc"):
        graph = read_graph(DATA / f"{name}.tsv.gz")
        for accounts, victims in ((20, 100), (30, 225)):
            for mu in FLIPS if accounts == 20 else (1e-6, 1e-4, 1e-3):
                rows += [[name, *row] for row in played(graph, mu, accounts, victims, trials)]
                print(*rows[-5:], sep="\n", flush=True)
        write_csv("graph_attacks", header, rows)
    twenty = [[str(cell) for cell in row] for row in rows if row[2] == 20]
    write_svg("graph_attacks", panels_of(twenty, 1, 3, 5), "mu")
    bounds()


def bounds() -> None:
    """What the planner asks for, what it costs in edges, and what the bounds say at smaller flips."""
    derived = [
        [n, k, e, needed_flip(k, e, n, against="paths"), needed_flip(k, e, n), needed_flip(k, e, n) * n * (n - 1) / 2]
        for n in (5_000, 23_000, 300_000)
        for k in (10, 20, 30)
        for e in (0.05, 0.2)
    ]
    write_csv(
        "graph_derived_flips", ["people", "planted", "success_at_most", "mu_paths", "mu_any", "new_edges"], derived
    )
    flips = [EdgeChannel.symmetric(mu) for mu in (1e-3, 1e-2, 0.05, 0.1, 0.15, 0.2)]
    at = [[flip.delete, path_bound(flip, 20), success_bound(flip, 20, 23_000)] for flip in flips]
    write_csv("graph_bounds", ["mu", "bound_for_paths", "bound_for_ties"], at)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
