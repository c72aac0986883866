"""Graphs of a few people: degrees counted, and the original looked for inside the published graph by trying every
renaming."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import networkx as nx

from benchmarks.fuzz.story import Kind, Story, rows_of


class GraphKind(Kind):
    """Ties that were added, or flipped at random."""

    name: ClassVar[str] = "graphs"
    form: ClassVar[str] = "graph"
    weight: ClassVar[float] = 1.5

    def draw(self, rng: random.Random, place: Path) -> Story:
        people = rng.randint(2, 8)
        graph = nx.Graph()
        graph.add_nodes_from(range(people))
        density = rng.random()
        graph.add_edges_from((u, v) for u in range(people) for v in range(u) if rng.random() < density)
        tree: dict[str, Any] = {"version": 1, "data": {"kind": "graph"}}
        if rng.random() < 0.6:
            tree |= {"protect": [{"k-degree-anonymity": {"k": rng.randint(1, people + (rng.random() < 0.1))}}]}
            tree["method"] = {"degree-anonymity": {"exact_up_to": rng.choice([0, 60]), "effort": 1}}
        else:
            tree["method"] = {
                "edge-perturbation": {"mu": rng.choice([0.05, 0.2, 0.4]), "keep_edges": rng.random() < 0.3}
            }
            if rng.random() < 0.5:
                attack = {
                    "planted": rng.randint(2, 4),
                    "success_at_most": rng.choice([0.5, 0.9]),
                    "against": rng.choice(["any", "paths", "ties"]),
                }
                tree["protect"] = [{"structural-attack": attack}]
                if rng.random() < 0.5:
                    del tree["method"]["edge-perturbation"]["mu"]
        return Story(tree, graph, graph, graph, next(iter(tree["method"])))

    def judge(self, story: Story, folder: Path) -> list[str]:
        manifest = json.loads((folder / "manifest.json").read_text())["public"]
        pairs = [(int(row["source"]), int(row["target"])) for row in rows_of(folder / "edges.csv")]
        people = len(story.records)
        wrong = []
        if len({frozenset(pair) for pair in pairs}) != len(pairs) or any(u == v for u, v in pairs):
            wrong.append("no simple graph")
        if manifest["nodes"] != people or any(not 0 <= end < people for pair in pairs for end in pair):
            return [*wrong, "other people"]
        if story.method == "degree-anonymity":
            return wrong + self._added(story, nx.Graph([*pairs]), people)
        asked = story.tree["method"]["edge-perturbation"].get("mu")
        if asked is not None and manifest["delete"] != asked:
            wrong.append("another flip")
        return wrong + [
            word for claim in story.tree.get("protect", []) for word in _withstood(claim["structural-attack"], manifest)
        ]

    def _added(self, story: Story, published: nx.Graph, people: int) -> list[str]:
        published.add_nodes_from(range(people))
        degrees = [degree for _, degree in published.degree()]
        (claim,) = story.tree["protect"]
        wrong = [] if min(Counter(degrees).values()) >= claim["k-degree-anonymity"]["k"] else ["k-degree-anonymity"]
        inside = nx.isomorphism.GraphMatcher(published, story.records).subgraph_is_monomorphic()
        return wrong + ([] if inside else ["a tie is lost"])

    def refused_falsely(self, story: Story) -> str:
        """Everybody tied to everybody is a release when there are k people at all."""
        if story.method != "degree-anonymity":
            return ""
        return (
            "all can be tied to all"
            if len(story.records) >= story.tree["protect"][0]["k-degree-anonymity"]["k"]
            else ""
        )


class FiguresKind(Kind):
    """Noisy figures, and a graph drawn from them; the noise is not repeated by a seed."""

    name: ClassVar[str] = "figures"
    form: ClassVar[str] = "graph figures"
    weight: ClassVar[float] = 0.5

    def draw(self, rng: random.Random, place: Path) -> Story:
        graph = nx.gnp_random_graph(rng.randint(2, 40), rng.random(), seed=rng.getrandbits(32))
        claim = {"edge-privacy": {"epsilon": rng.choice([0.1, 0.5, 1.0, 3.0])}}
        method = {"private-figures": {"triangles": rng.random() < 0.7, "graph": rng.random() < 0.6}}
        tree = {"version": 1, "data": {"kind": "graph"}, "protect": [claim], "method": method}
        return Story(tree, graph, graph, graph, "private-figures")

    def judge(self, story: Story, folder: Path) -> list[str]:
        public = json.loads((folder / "manifest.json").read_text())["public"]
        spent = sum(value for name, value in public.items() if name.startswith("epsilon_") and value is not None)
        asked = story.tree["method"]["private-figures"]
        wrong = [] if spent <= story.tree["protect"][0]["edge-privacy"]["epsilon"] * (1 + 1e-9) else ["edge-privacy"]
        figures = sorted(row["figure"] for row in rows_of(folder / "figures.csv"))
        wrong += [] if figures == ["edges", *["triangles"] * asked["triangles"]] else ["other figures"]
        degrees = [int(row["degree"]) for row in rows_of(folder / "degrees.csv") for _ in range(int(row["people"]))]
        people = len(story.records)
        if len(degrees) != people or any(not 0 <= degree < people for degree in degrees):
            return [*wrong, "no degrees of so many people"]
        if asked["graph"]:
            pairs = [(int(row["source"]), int(row["target"])) for row in rows_of(folder / "edges.csv")]
            ties = Counter(end for pair in pairs for end in pair)
            drawn = sorted(ties[person] for person in range(people))
            simple = len({frozenset(pair) for pair in pairs}) == len(pairs) and all(u != v for u, v in pairs)
            inside = all(0 <= end < people for pair in pairs for end in pair)
            fits = all(one <= other for one, other in zip(drawn, sorted(degrees), strict=True))
            wrong += [] if simple and inside and fits else ["no graph of these degrees"]
        return wrong


def _withstood(attack: dict[str, Any], public: dict[str, Any]) -> list[str]:
    """Along a path of planted accounts every tie must have stayed: (1 − q)^(k − 1)."""
    kept = (1 - public["delete"]) ** (attack["planted"] - 1)
    wrong = attack["against"] in ("any", "paths") and kept > attack["success_at_most"] + 1e-9
    return ["structural-attack"] if wrong else []
