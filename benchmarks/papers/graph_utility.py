"""Figures 4.6 to 4.9 of [multitype]: density, transitivity, degree distribution and classification, original,
published, recovered.

PYTHONPATH=src python benchmarks/papers/graph_utility.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from curves import panels_of, write_csv, write_svg

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.edge_flips import flip_edges, flip_edges_keeping_names
from sfumato.kinds.graphs.recovery import DegreeLaw
from sfumato.kinds.graphs.subgraph_counts import nearest_patterns

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "graphs"
FLIPS = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3)


def figures(name: str) -> list[list[object]]:
    graph = read_graph(DATA / f"{name}.tsv.gz")
    true = sf.recover(graph, 0.0, distribution=False)
    rows: list[list[object]] = []
    for mu in FLIPS:
        published = flip_edges(graph, EdgeChannel.symmetric(mu), Randomness(7))
        raw, found = sf.recover(published, 0.0, distribution=False), sf.recover(published, mu, distribution=False)
        rows += [
            [
                name,
                mu,
                figure,
                true[figure].estimate,
                raw[figure].estimate,
                found[figure].estimate,
                found[figure].standard_error,
            ]
            for figure in ("density", "transitivity", "triangles")
        ]
    return rows


def degree_distances(name: str) -> list[list[object]]:
    graph = read_graph(DATA / f"{name}.tsv.gz")
    rows: list[list[object]] = []
    for mu in (1e-4, 1e-3):
        published = flip_edges(graph, EdgeChannel.symmetric(mu), Randomness(7))
        estimates = np.clip(np.rint((published.degrees - (graph.nodes - 1) * mu) / (1 - 2 * mu)), 0, None).astype(
            np.int64
        )
        laws = {
            "published": DegreeLaw(np.bincount(published.degrees) / graph.nodes, np.zeros(1)),
            "rounded node by node": DegreeLaw(np.bincount(estimates) / graph.nodes, np.zeros(1)),
            "fitted": DegreeLaw.fit(published.degrees, EdgeChannel.symmetric(mu), replicates=0),
        }
        rows += [[name, mu, way, law.distance(graph.degrees)] for way, law in laws.items()]
    return rows


def classification() -> list[list[object]]:
    graph = read_graph(DATA / "wiki_vote.tsv.gz")
    hubs = np.argsort(-graph.degrees)[:10]
    ties = np.array([graph.has_edges(np.full(10, person), hubs).sum() for person in range(graph.nodes)])
    people = np.setdiff1d(np.flatnonzero(ties >= 4), hubs)[:200]
    targets = [[0] * 10, [0, 1] * 5, [1] * 10, [1, 0] * 5]
    true = nearest_patterns(graph, EdgeChannel.symmetric(0.0), hubs=hubs, people=people, targets=targets)
    rows: list[list[object]] = []
    for mu in (1e-3, 1e-2, 0.05, 0.1, 0.2):
        flip = EdgeChannel.symmetric(mu)
        published = flip_edges_keeping_names(graph, flip, Randomness(3))
        for way, used in (("as published", EdgeChannel.symmetric(0.0)), ("flip undone", flip)):
            found = nearest_patterns(published, used, hubs=hubs, people=people, targets=targets)
            rows.append([mu, way, float((found == true).mean())])
    return rows


def main() -> None:
    names = ("ca_condmat", "email_enron")
    rows = [row for name in names for row in figures(name)]
    write_csv("graph_utility", ["graph", "mu", "figure", "original", "published", "recovered", "standard_error"], rows)
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        lines = panels.setdefault(f"{row[2]}, {row[0]}", {})
        for place, way in ((3, "original"), (4, "published"), (5, "recovered")):
            lines.setdefault(way, []).append((float(row[1]), float(row[place])))
    write_svg("graph_utility", panels, "mu")
    distances = [row for name in names for row in degree_distances(name)]
    write_csv("graph_degree_laws", ["graph", "mu", "way", "kolmogorov_smirnov"], distances)
    classes = classification()
    write_csv("graph_classification", ["mu", "way", "share_classified_as_original"], classes)
    write_svg("graph_classification", panels_of([["wiki_vote", *map(str, row)] for row in classes], 1, 2, 3), "mu")


if __name__ == "__main__":
    main()
