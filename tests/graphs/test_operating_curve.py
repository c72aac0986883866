"""The operating curve: what it says of every flip is compared with draws; recover and models beside it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.edge_flips import flip_edges_keeping_names
from sfumato.kinds.graphs.methods.edge_perturbation import (
    curve_lines,
    hub_chance,
    operating_curve,
    picture,
    recommend_point,
)
from sfumato.kinds.graphs.planted_account_attacks import plant_and_publish, structural_attack
from sfumato.models.degree_attack import DegreeAttack
from tests.command_line import run
from tests.secret import secret


def village(seed: int = 3) -> Graph:
    return Graph.from_networkx(nx.powerlaw_cluster_graph(300, 4, 0.4, seed=seed))


@pytest.mark.parametrize("mu", [0.01, 0.05, 0.2])
def test_the_chance_of_finding_hubs_is_what_draws_give(mu: float) -> None:
    graph, flip, hits = village(), EdgeChannel.symmetric(mu), 0
    hubs = np.argsort(-graph.degrees, kind="stable")[:10]
    draws = 120
    for number in range(draws):
        published = flip_edges_keeping_names(graph, flip, Randomness(secret(number))).degrees
        for hub in hubs:
            wanted = flip.add * (graph.nodes - 1) + flip.slope * graph.degrees[hub]
            apart = np.abs(published - wanted)
            nearest = np.flatnonzero(apart == apart.min())
            hits += (hub in nearest) / len(nearest)
    rate = hits / draws / 10
    assert hub_chance(graph.degrees, flip) == pytest.approx(rate, abs=0.06)


def test_the_curve_trades_protection_for_errors() -> None:
    graph = village()
    curve = operating_curve(graph)
    assert [point.mu for point in curve] == sorted(point.mu for point in curve)
    assert all(a.hubs_found >= b.hubs_found - 1e-9 for a, b in pairwise(curve))
    assert all(a.epsilon > b.epsilon and a.edges < b.edges for a, b in pairwise(curve))
    assert len(list(curve_lines(curve))) == len(curve) + 2
    assert all(1 >= a.told_apart >= b.told_apart >= 0.5 for a, b in pairwise(curve))
    worst = DegreeAttack(apart=10, success_at_most=0.9).success(EdgeChannel.symmetric(curve[-1].mu), graph.nodes)
    assert curve[-1].told_apart == worst == curve[-1].to_json()["told_apart"]
    drawn = ElementTree.fromstring(picture(curve, curve[3]))
    assert len(drawn.findall(".//{http://www.w3.org/2000/svg}polyline")) == 6


def test_a_point_is_recommended_only_where_it_hides_and_tells() -> None:
    curve = operating_curve(village())
    best, why = recommend_point(curve, 50_000_000)
    assert why
    if best is not None:
        assert max(best.planted_bound, best.hubs_found) <= 0.5
        assert best.worst <= 0.2
    assert recommend_point(curve, 1)[0] is None


def test_check_shows_the_curve_and_writes_the_picture(tmp_path: Path) -> None:
    lines = "\n".join(f"{u}\t{v}" for u, v in nx.powerlaw_cluster_graph(200, 4, 0.4, seed=2).edges())
    (tmp_path / "ties.tsv").write_text(lines + "\n")
    (tmp_path / "policy.yaml").write_text(
        "version: 1\ndata: {kind: graph, source: ties.tsv}\n"
        "protect:\n  - edge-privacy: {epsilon: 3}\nmethod: {edge-perturbation: {}}\n"
    )
    shown = run("check", str(tmp_path / "policy.yaml"), "--picture", str(tmp_path / "curve.svg"))
    assert shown.returncode == 0
    assert "hubs found by degree" in shown.stdout
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    publication = sf.publish(tmp_path / "policy.yaml", seed=secret(1))
    assert publication.findings[0].achieved["epsilon"] <= 3
    folder = publication.write(tmp_path / "out", report=False)
    found = json.loads(run("recover", str(folder), "--json").stdout)
    truth = nx.powerlaw_cluster_graph(200, 4, 0.4, seed=2).number_of_edges()
    edges = found["figures"]["edges"]
    assert edges["low"] <= edges["estimate"] <= edges["high"]
    assert abs(edges["estimate"] - truth) < 6 * (edges["high"] - edges["low"])
    assert any("path lengths" in note for note in found["notes"])
    assert run("recover", str(tmp_path)).returncode != 0


def test_the_structural_attack_ends_at_every_flip() -> None:
    graph = village()
    for mu in (0.001, 0.2, 0.45):
        world = plant_and_publish(
            graph, EdgeChannel.symmetric(mu), Randomness(secret(1)), accounts=12, victims=20, rho1=3, rho2=1
        )
        found = structural_attack(world, beam=20_000, budget=200_000)
        assert found.steps <= 200_000
    easy = plant_and_publish(
        graph, EdgeChannel.symmetric(0.001), Randomness(secret(2)), accounts=12, victims=20, rho1=3, rho2=1
    )
    assert structural_attack(easy, beam=20_000).accounts
