"""Private figures: noise by its law, the ladder by its definition on neighbouring graphs, and the release in the
house."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.certify import judge_claims
from sfumato.core.errors import PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.methods.private_figures import (
    common_neighbours,
    ladder_mechanism,
    laplace_mechanism,
    project_to_degree_sequence,
    random_graph_of_degrees,
)
from tests.secret import secret

pytest.importorskip("opendp", reason="noise needs OpenDP (extra 'privacy')")


def policy(epsilon: float, **method: object) -> sf.Policy:
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"edge-privacy": {"epsilon": epsilon}}]}
    return sf.Policy.parse(tree | {"method": {"private-figures": method}})


def test_one_tie_changes_the_ladder_by_one_rung() -> None:
    """On all neighbours of small graphs: the bound changes by at most one and covers what one tie changes in the
    triangles."""
    for seed in range(4):
        before = nx.gnp_random_graph(9, 0.4, seed=seed)
        for u, v in combinations(range(9), 2):
            after = before.copy()
            after.remove_edge(u, v) if after.has_edge(u, v) else after.add_edge(u, v)
            bounds = [common_neighbours(Graph.from_networkx(graph)) for graph in (before, after)]
            changed = abs(sum(nx.triangles(before).values()) - sum(nx.triangles(after).values())) // 3
            assert abs(bounds[0] - bounds[1]) <= 1
            assert changed <= min(bounds)


def rung(value: int, count: int, first: int, most: int) -> int:
    """On which rung a value lies, by adding up the rungs one after the other."""
    reach, steps = 0, 0
    while abs(value - count) > reach:
        reach += min(first + steps, most)
        steps += 1
    return steps


@pytest.mark.parametrize(("count", "first", "other", "beside"), [(20, 3, 23, 4), (20, 3, 18, 2), (7, 1, 8, 2)])
def test_rungs_of_neighbours_differ_by_one(count: int, first: int, other: int, beside: int) -> None:
    for value in range(-200, 240):
        assert abs(rung(value, count, first, 7) - rung(value, other, beside, 7)) <= 1


def test_the_ladder_draws_rungs_by_their_weights() -> None:
    epsilon, draws, source = 1.0, 6000, Randomness(secret(1))
    values = np.array([ladder_mechanism(50, 2, 4, epsilon, source) for _ in range(draws)])
    rungs = np.array([rung(int(value), 50, 2, 4) for value in values])
    widths = [1, *(2 * min(2 + step, 4) for step in range(200))]
    weight = np.array([width * np.exp(-epsilon * step / 2) for step, width in enumerate(widths)])
    expected = draws * weight / weight.sum()
    seen = np.bincount(rungs, minlength=len(weight))[: len(weight)]
    few = expected >= 8
    assert ((seen[few] - expected[few]) ** 2 / expected[few]).sum() < few.sum() + 6 * np.sqrt(2 * few.sum())
    assert abs((values > 50).mean() - (values < 50).mean()) < 0.06


def test_laplace_has_the_error_that_is_told() -> None:
    drawn = np.array(laplace_mechanism([0] * 4000, 2, 0.5))
    assert abs(np.abs(drawn).mean() - 4.0) < 0.5  # scale 2 / 0.5, mean of |noise| about the scale
    assert abs(drawn.mean()) < 0.5


def test_repair_is_the_nearest_ascending_sequence() -> None:
    rng = np.random.default_rng(1)
    truth = np.sort(rng.poisson(6, 400))
    noisy = truth + rng.laplace(0, 4, 400)
    assert (np.diff(project_to_degree_sequence(noisy, 400)) >= 0).all()
    assert np.abs(project_to_degree_sequence(noisy, 400) - truth).mean() < 0.5 * np.abs(noisy - truth).mean()


def test_a_release_holds_and_says_what_it_spent(tmp_path: Path) -> None:
    town = nx.powerlaw_cluster_graph(300, 4, 0.5, seed=1)
    publication = sf.publish(policy(2.0, graph=True), data=town, seed=secret(1))
    assert publication.certificate.holds
    assert publication.findings[0].achieved["epsilon"] == pytest.approx(2.0)
    folder = publication.write(tmp_path / "out", report=False)
    assert sf.verify(folder, original=town).holds
    degrees = publication.release.parts["degrees"]
    assert sum(degrees["people"].to_pylist()) == 300
    true = {(min(u, v), max(u, v)) for u, v in town.edges()}
    drawn = publication.release.parts["edges"]
    ties = list(zip(drawn["source"].to_pylist(), drawn["target"].to_pylist(), strict=True))
    assert len(set(ties) & true) < 0.2 * len(ties)  # as many as chance gives; names are ranks of degrees
    spent = publication.release.form.with_public(epsilon_edges=1.9)
    forged = replace(publication.exhibit, form=spent)
    assert not judge_claims(forged)[0].holds


def test_other_claims_are_refused() -> None:
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": 3}}]}
    with pytest.raises(PolicyError, match="edge-privacy"):
        sf.publish(sf.Policy.parse(tree | {"method": {"private-figures": {}}}), data=nx.path_graph(5))


def test_a_drawn_graph_has_about_the_degrees() -> None:
    wanted = np.sort(np.random.default_rng(2).poisson(5, 500))
    ties = random_graph_of_degrees(wanted, Randomness(secret(2)))
    found = np.bincount(np.concatenate([ties["source"], ties["target"]]), minlength=500)
    assert np.abs(found - wanted).mean() < 0.3
    assert (found <= wanted).all()
