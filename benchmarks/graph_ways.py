"""Every way to publish a graph: what an adversary gets beside what is promised, and noisy figures beside their exact
errors.

    python benchmarks/graph_ways.py [graph …]          # what results/graph-ways.csv has is not made again

Flips at several μ against people who know numbers of ties (`degrees`) or ties to ten known people (`neighbourhood`);
k-degree anonymity against those who know numbers of ties, of the person alone or of all friends; noisy figures at three
ε against whoever knows everything but one tie, or (node-level) everything but the ties of the best connected person,
who also plays against the figures that protect single ties. Planted accounts are in `papers/graph_attacks.py`. Errors
of figures: mean over draws, and the exact mean of the law. Two generated graphs have over a million edges
(`graph_curve.py` makes them); flips that would publish more than 20 million are left out."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
sys.path.insert(0, str(Path(__file__).parent))
from curves import RESULTS, write_csv
from graph_curve import MADE, made

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.methods.private_figures import (
    counted_degrees,
    cumulative_degrees,
    epsilon_shares,
    ladder_error,
    ladder_mechanism,
    laplace_error,
    laplace_mechanism,
    node_epsilon_shares,
    project_to_degree_sequence,
    sensitivity,
    spread_of,
)
from sfumato.kinds.graphs.methods.private_figures import noisy_figures as noisy_people
from sfumato.kinds.graphs.noise_attacks import (
    DegreeGuesses,
    DegreeSignatures,
    NeighbourhoodAttack,
    OnePerson,
    OneTie,
    TrueFigures,
)

DATA = Path(__file__).parents[2] / "shared" / "data" / "graphs"
GRAPHS = ("email_eu_core", "ca_grqc", "ego_facebook", "wiki_vote", "ca_hepth", *MADE)
HEADER = ("graph", "way", "attack", "measured", "promised", "exact")
FLIPS, EPSILONS, CROWDS = (1e-5, 0.001, 0.03, 0.2), (0.5, 1.0, 2.0), (5, 25)
LIMITS, LARGEST = (8, 32), 20_000_000
Row = list[object]


def flips(name: str, file: str) -> Iterator[Row]:
    people = read_graph(file).nodes
    for mu in FLIPS:
        if not 100_000 < mu * people**2 / 2 < LARGEST and (people > 100_000 or mu == FLIPS[0]):
            continue
        got = DegreeGuesses(target=file, mu=mu, trials=4, seed=1).run()
        yield [name, f"flip {mu:g}", "ten hubs by ties", got["hubs_found"], "", ""]
        yield [name, f"flip {mu:g}", "ten ties apart", got.get("pairs_told_apart", ""), got.get("promised", ""), ""]
        got = NeighbourhoodAttack(target=file, mu=mu, known=10, trials=4, seed=1).run()
        yield [name, f"flip {mu:g}", "ties to ten hubs", got["told_apart"], got["promised"], got["expected"]]


def crowds(name: str, file: str) -> Iterator[Row]:
    for k in CROWDS:
        tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": k}}]}
        with tempfile.TemporaryDirectory() as place:
            made = sf.publish(sf.Policy.parse(tree), data=file)
            got = DegreeSignatures(target=str(made.write(Path(place) / "out", report=False))).run()
        yield [name, f"k-degree {k}", "number of ties", got["found_by_ties"], round(1 / k, 4), ""]
        yield [name, f"k-degree {k}", "ties of friends", got["found_by_friends"], "", ""]


def noisy(name: str, file: str, draws: int = 2_000) -> Iterator[Row]:
    graph = read_graph(file)
    truth, most = TrueFigures.of(graph), max(graph.nodes - 2, 1)
    for epsilon in EPSILONS:
        way, share, chance = (
            f"figures {epsilon:g}",
            epsilon_shares(epsilon, triangles=True),
            Randomness(1).child(name).child(epsilon),
        )
        got = OneTie(target=file, epsilon=epsilon, trials=draws, seed=1).run()
        yield [name, way, "one tie", got["right"], got["promised"], ""]
        edges = np.abs(np.array(laplace_mechanism([truth.edges] * draws, 1, share["edges"])) - truth.edges).mean()
        yield [name, way, "error: edges", round(float(edges), 2), "", round(laplace_error(1, share["edges"]), 2)]
        told = [
            ladder_mechanism(truth.triangles, truth.first, most, share["triangles"], chance.child(n))
            for n in range(draws)
        ]
        away = np.abs(np.array(told) - truth.triangles).mean()
        exact = ladder_error(truth.first, most, share["triangles"])
        yield [name, way, "error: triangles", round(float(away), 1), "", round(exact, 1)]
        raw = np.array(laplace_mechanism(truth.degrees.tolist(), 2, share["degrees"]))
        yield [name, way, "error: one degree", round(float(np.abs(raw - truth.degrees).mean()), 2), "",
               round(laplace_error(2, share["degrees"]), 2)]  # fmt: skip
        after = np.abs(project_to_degree_sequence(raw.astype(np.float64), graph.nodes) - truth.degrees).mean()
        yield [name, way, "error: one degree, repaired", round(float(after), 2), "", ""]


def people(name: str, file: str, draws: int = 2_000) -> Iterator[Row]:
    graph = read_graph(file)
    for epsilon in EPSILONS:
        got = OnePerson(target=file, epsilon=epsilon, trials=200, seed=1).run()
        yield [name, f"people {epsilon:g}, figures of ties", "ties of the hub", got["right"], got["promised"], ""]
        for limit in LIMITS:
            way, share, degrees = (
                f"people {epsilon:g}, limit {limit}",
                node_epsilon_shares(epsilon),
                counted_degrees(graph, limit),
            )
            got = OnePerson(target=file, epsilon=epsilon, limit=limit, trials=draws, seed=1).run()
            yield [name, way, "ties of the hub", got["right"], got["promised"], ""]
            told = [noisy_people(degrees, graph.nodes, limit, share) for _ in range(200)]
            counts, below = int(degrees.sum()) // 2, cumulative_degrees(degrees, graph.nodes, limit)
            away = np.mean([abs(edges - counts) for edges, _ in told])
            exact = laplace_error(sensitivity("edges", limit), share["edges"])
            yield [name, way, "error: ties that count", round(float(away), 1), "", round(exact, 1)]
            away = np.mean([np.abs(noise - below).mean() for _, noise in told])
            exact = laplace_error(sensitivity("degrees", limit), share["degrees"])
            yield [name, way, "error: people with at most so many ties", round(float(away), 1), "", round(exact, 1)]
            after = [np.abs(np.cumsum(spread_of(noise, graph.nodes))[:-1] - below).mean() for _, noise in told]
            yield [name, way, "error: the same, repaired", round(float(np.mean(after)), 1), "", ""]
            yield [name, way, "ties beyond the limit", round(1 - counts / graph.size, 4), "", ""]


WAYS = {"flip": flips, "k-degree": crowds, "figures": noisy, "people": people}


def main(names: list[str]) -> None:
    file = RESULTS / "graph-ways.csv"
    rows: list[Row] = (
        [list(row) for row in csv.reader(file.read_text(encoding="utf-8").splitlines())][1:] if file.is_file() else []
    )
    with tempfile.TemporaryDirectory() as place:
        for name, (word, way) in product(names, WAYS.items()):
            if any(row[0] == name and str(row[1]).split()[0] == word for row in rows):
                continue
            for row in way(name, file_of(name, Path(place))):
                rows.append(row)
                print(*row, sep="\t", flush=True)
            rows.sort(key=lambda row: (GRAPHS.index(str(row[0])), [*WAYS].index(str(row[1]).split()[0])))
            write_csv("graph-ways", HEADER, rows)


def file_of(name: str, folder: Path) -> str:
    """Where a graph lies; generated ones are written first."""
    if name not in MADE:
        return str(DATA / f"{name}.tsv.gz")
    path = folder / f"{name}.tsv"
    if not path.exists():
        low, high = made(*MADE[name]).edges()
        np.savetxt(path, np.column_stack([low, high]), fmt="%d", delimiter="\t")
    return str(path)


if __name__ == "__main__":
    main(sys.argv[1:] or list(GRAPHS))
