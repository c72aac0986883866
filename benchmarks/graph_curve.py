"""The operating curve of flips on five graphs, two of them generated with over a million edges; publish and recover at
3.6 million.

    python benchmarks/graph_curve.py

Generated graphs: people in groups of about 20 who know each other with chance 0.3, and ties between groups by skewed
weights."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from curves import RESULTS, write_csv

from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.edge_flips import flip_edges_keeping_names
from sfumato.kinds.graphs.methods.edge_perturbation import operating_curve, picture, recommend_point
from sfumato.kinds.graphs.recovery import recover

DATA = Path(__file__).parents[2] / "shared" / "data" / "graphs"
REAL, MADE = (
    ("ca_grqc", "ego_facebook", "email_enron"),
    {"made-1m": (150_000, 1_040_000), "made-3.6m": (500_000, 3_600_000)},
)


def made(nodes: int, edges: int, seed: int = 7) -> Graph:
    """Groups and skewed ties between them."""
    rng = np.random.default_rng(seed)
    inside = nodes * 20 * 3 // 20
    group = rng.integers(0, nodes // 20, inside)
    first, second = group * 20 + rng.integers(0, 20, inside), group * 20 + rng.integers(0, 20, inside)
    weight = np.arange(1, nodes + 1) ** -0.6
    outside = rng.choice(nodes, size=(max(edges - int(inside * 0.87), 0), 2), p=weight / weight.sum())
    return Graph.from_pairs(np.concatenate([first, outside[:, 0]]), np.concatenate([second, outside[:, 1]]))


def main() -> None:
    graphs = {name: read_graph(DATA / f"{name}.tsv.gz") for name in REAL} | {
        name: made(*size) for name, size in MADE.items()
    }
    rows = []
    for name, graph in graphs.items():
        began = time.process_time()
        curve = operating_curve(graph)
        best, why = recommend_point(curve, 50_000_000)
        seconds = time.process_time() - began
        print(name, graph.nodes, graph.size, f"{seconds:.1f} s", why, flush=True)
        (RESULTS / f"graph-curve-{name}.svg").write_text(picture(curve, best))
        for point in curve:
            rows.append([name, graph.nodes, graph.size, *(f"{value:.4g}" for value in point.to_json().values())])
        header = ("graph", "nodes", "edges_before", *curve[0].to_json())
        write_csv("graph-curve", header, rows)
    graph = graphs["made-3.6m"]
    began = time.process_time()
    published = flip_edges_keeping_names(graph, EdgeChannel.symmetric(1e-5), Randomness())
    middle = time.process_time()
    found = recover(published, EdgeChannel.symmetric(1e-5), distribution=False)
    done = time.process_time()
    figures = ", ".join(f"{name} {figure.estimate:.6g} ± {figure.standard_error:.2g}" for name, figure in found.items())
    print(f"3.6 million edges: flipped in {middle - began:.1f} s, recovered in {done - middle:.1f} s CPU: {figures}")


if __name__ == "__main__":
    main()
