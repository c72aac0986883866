"""How perturbing, recovering and attacking grow with the graph; CPU seconds of one thread.

PYTHONPATH=src python benchmarks/graphs.py
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import flip_edges
from sfumato.kinds.graphs.planted_account_attacks import interval_walk_attack, plant_and_publish
from sfumato.kinds.graphs.subgraph_patterns import SubgraphPattern

RESULTS = Path(__file__).parent / "results"
ALL = SubgraphPattern.names()
SIZES = (
    (20_000, 80_000, 1e-3),
    (75_000, 250_000, 1e-5),
    (150_000, 500_000, 1e-5),
    (300_000, 1_000_000, 1e-5),
    (300_000, 1_000_000, 1e-4),
)


def circles(people: int, edges: int, seed: int = 1) -> Graph:
    """Overlapping circles of friends with a heavy tail: about `edges` ties and many triangles."""
    rng = np.random.default_rng(seed)
    source, target, made = [], [], 0
    while made < edges:
        size = np.minimum(2 + rng.zipf(2.2, size=10_000), 30)
        for members in np.split(rng.integers(0, people, size.sum()), np.cumsum(size)[:-1]):
            i, j = np.triu_indices(len(members), 1)
            source.append(members[i])
            target.append(members[j])
            made += len(i)
            if made >= edges:
                break
    return Graph.from_pairs(np.concatenate(source), np.concatenate(target), people)


def timed(work):
    begun = time.process_time()
    result = work()
    return result, time.process_time() - begun


def main() -> None:
    sf.recover(circles(500, 1000), 1e-3, patterns=ALL)
    rows = []
    for people, edges, mu in SIZES:
        graph = circles(people, edges)
        published, perturbing = timed(
            lambda graph=graph, mu=mu: flip_edges(graph, EdgeChannel.symmetric(mu), Randomness())
        )
        found, recovering = timed(lambda published=published, mu=mu: sf.recover(published, mu))
        wanted = ALL if published.size < 2_000_000 else ()
        _, everything = timed(lambda g=published, mu=mu, w=wanted: sf.recover(g, mu, patterns=w, distribution=False))
        true = sf.recover(graph, 0.0, distribution=False)
        off = (found["triangles"].estimate - true["triangles"].estimate) / found["triangles"].standard_error
        seconds = [round(cpu, 2) for cpu in (perturbing, recovering, everything)]
        rows.append([people, graph.size, mu, published.size, *seconds, round(off, 2)])
        print(rows[-1], flush=True)
    write(
        "graphs",
        ["people", "edges", "mu", "published", "perturb_s", "recover_s", "patterns_s", "triangles_off_sigma"],
        rows,
    )
    graph, attacked = circles(20_000, 80_000), []
    for mu in (1e-4, 1e-3):
        world = plant_and_publish(graph, EdgeChannel.symmetric(mu), Randomness(1), accounts=20, victims=100)
        found, cpu = timed(lambda world=world: interval_walk_attack(world))
        attacked.append([20_000, graph.size, mu, world.published.size, found.accounts, round(cpu, 2), found.steps])
        print(attacked[-1], flush=True)
    write(
        "graphs_interval_walk", ["people", "edges", "mu", "published", "found_all_accounts", "cpu_s", "steps"], attacked
    )


def write(name: str, header: list[str], rows: list[list[object]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
