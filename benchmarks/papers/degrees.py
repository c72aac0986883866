"""Graphs of equal degrees ([obfuscation §3.4]): added edges and CPU seconds against k, size, and the proven optimum.

The paper models the problem and reports no figures for it ("very hard to solve"); these are the curves its other
sections draw for tables: against the level of privacy, against the size of the data, and against the optimum.

    PYTHONPATH=src python benchmarks/papers/degrees.py [graphs] [growth] [optimum] [partners]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
from curves import write_csv, write_svg
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.graph import Graph
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.methods.degree_anonymity import Additions, DegreeRealisation, add_edges, anonymous_degrees

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "graphs"
LEVELS = (2, 5, 10, 25, 50)
EDGES = (10_000, 30_000, 100_000, 300_000, 1_000_000)

Panels = dict[str, dict[str, list[tuple[float, float]]]]


def timed(graph: Graph, k: int, exact_up_to: int = 0, seed: int = 1) -> tuple[Additions, float]:
    begun = time.process_time()
    found = add_edges(graph, k, Randomness(seed), exact_up_to=exact_up_to, effort=5)
    return found, time.process_time() - begun


def policy(k: int) -> sf.Policy:
    return sf.Policy.parse({"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": k}}]})


def scale_free(edges: int, seed: int = 1) -> Graph:
    """About `edges` ties among a third as many people; how sociable people are has a heavy tail."""
    rng = np.random.default_rng(seed)
    people = edges // 3
    weight = np.cumsum((1 + np.arange(people)) ** -0.6)
    ends = np.searchsorted(weight, rng.random((2, edges)) * weight[-1])
    return Graph.from_pairs(ends[0], ends[1], people)


def graphs() -> None:
    """Real graphs, method alone and the whole way from reading to the certificate."""
    rows: list[list[object]] = []
    panels: Panels = {"added per edge": {}, "proven necessary": {}, "CPU seconds, published and audited": {}}
    sf.publish(policy(2), data=nx.path_graph(30))  # imports and compiled code
    for name in ("wiki_vote", "email_enron", "ca_grqc", "ego_facebook"):
        graph = read_graph(DATA / f"{name}.tsv.gz")
        for k in LEVELS:
            found, alone = timed(graph, k)
            begun = time.process_time()
            made = sf.publish(policy(k), data=DATA / f"{name}.tsv.gz", seed=1)
            whole = time.process_time() - begun
            utility = made.utility
            assert made.certificate.holds
            row = [
                name,
                k,
                graph.nodes,
                graph.size,
                utility["added_edges"],
                found.least,
                round(utility["optimality_gap"], 4),
            ]
            rows.append([*row, *utility["graph_change"].values(), round(alone, 2), round(whole, 2)])
            print(rows[-1], flush=True)
            panels["added per edge"].setdefault(name, []).append((k, utility["added_edges"] / graph.size))
            panels["proven necessary"].setdefault(name, []).append((k, 1 - utility["optimality_gap"]))
            panels["CPU seconds, published and audited"].setdefault(name, []).append((k, whole))
    header = ["graph", "k", "people", "edges", "added", "least", "gap", "added_share", "degrees", "transitivity"]
    write_csv("degrees-graphs", [*header, "method_s", "whole_s"], rows)
    write_svg("degrees-graphs", panels, "k")


def growth() -> None:
    rows: list[list[object]] = []
    panels: Panels = {"CPU seconds": {}, "added per edge": {}}
    for edges in EDGES:
        graph = scale_free(edges)
        for k in (5, 25, 50):
            found, seconds = timed(graph, k)
            gap = (found.size - found.least) / max(found.size, 1)
            rows.append([graph.nodes, graph.size, k, found.size, found.least, round(gap, 4), round(seconds, 2)])
            print(rows[-1], flush=True)
            panels["CPU seconds"].setdefault(f"k = {k}", []).append((edges, seconds))
            panels["added per edge"].setdefault(f"k = {k}", []).append((edges, found.size / graph.size))
    write_csv("degrees-growth", ["people", "edges", "k", "added", "least", "gap", "cpu_s"], rows)
    write_svg("degrees-growth", panels, "edges")


def optimum() -> None:
    """Small graphs: the degree-sequence method and the bound against what the solver proves."""
    rows: list[list[object]] = []
    panels: Panels = {"degree sequence / best": {}, "bound / best": {}, "solver, CPU seconds": {}}
    for k in (2, 3, 5):
        for nodes in (10, 20, 30, 40, 60):
            sums = np.zeros(6)
            for seed in range(4):
                hubs, flat = (
                    nx.barabasi_albert_graph(nodes, 2, seed=seed),
                    nx.gnp_random_graph(nodes, 4 / nodes, seed=seed),
                )
                graph = Graph.from_networkx(hubs if seed % 2 else flat)
                (plain, fast), (best, slow) = timed(graph, k, seed=seed), timed(graph, k, nodes, seed)
                sums += [plain.size, best.size, plain.least, best.size == best.least, fast, slow]
            rows.append(
                [k, nodes, *(int(value) for value in sums[:4]), *(round(float(value) / 4, 2) for value in sums[4:])]
            )
            print(rows[-1], flush=True)
            panels["degree sequence / best"].setdefault(f"k = {k}", []).append((nodes, sums[0] / max(sums[1], 1)))
            panels["bound / best"].setdefault(f"k = {k}", []).append((nodes, sums[2] / max(sums[1], 1)))
            panels["solver, CPU seconds"].setdefault(f"k = {k}", []).append((nodes, sums[5] / 4))
    header = [
        "k",
        "people",
        "sequence_added",
        "best_added",
        "bound_by_counting",
        "proven_of_4",
        "sequence_s",
        "solver_s",
    ]
    write_csv("degrees-optimum", header, rows)
    write_svg("degrees-optimum", panels, "people")


def partners() -> None:
    """Could other partners have saved edges? The linear relaxation of matching the people that the cheapest sequence
    raises."""
    rows: list[list[object]] = []
    for name, k in (("wiki_vote", 5), ("email_enron", 5), ("ca_grqc", 5), ("ca_grqc", 25)):
        graph = read_graph(DATA / f"{name}.tsv.gz")
        order = np.lexsort([Randomness(1).uniform(graph.nodes), -graph.degrees])
        plan = np.empty(graph.nodes, dtype=np.int64)
        plan[order] = anonymous_degrees(graph.degrees[order], k)
        rise = plan - graph.degrees
        grown = DegreeRealisation(graph, k, plan, Randomness(1)).finish()
        rows.append([name, k, int(rise.sum()), round(int(rise.sum()) - most_matched(graph, rise), 1), grown.size])
        print(rows[-1], flush=True)
    write_csv("degrees-partners", ["graph", "k", "rise", "fewest_for_this_sequence", "added"], rows)


def most_matched(graph: Graph, rise: np.ndarray) -> float:
    """At most so many edges can be added between two raised people; each further tie needs somebody else and its own
    edge."""
    people = np.flatnonzero(rise)
    i, j = np.triu_indices(len(people), 1)
    free = ~graph.has_edges(people[i], people[j])
    i, j, pairs = i[free], j[free], np.arange(int(free.sum()))
    ends = coo_matrix((np.ones(2 * len(pairs)), (np.concatenate([i, j]), np.concatenate([pairs, pairs]))))
    return -float(linprog(-np.ones(len(pairs)), A_ub=ends.tocsr(), b_ub=rise[people], bounds=(0, 1)).fun)


if __name__ == "__main__":
    parts = (graphs, growth, optimum, partners)
    wanted = sys.argv[1:] or [part.__name__ for part in parts]
    for part in parts:
        if part.__name__ in wanted:
            part()
