"""Node-private figures: what one person changes, by listing all small graphs, and the release in the house."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.certify import judge_claims
from sfumato.core.errors import Infeasible, PolicyError
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.checks import FiguresNear
from sfumato.kinds.graphs.methods.private_figures import (
    counted,
    counted_degrees,
    cumulative_degrees,
    laplace_error,
    node_epsilon_shares,
    noisy_figures,
    sensitivity,
    spread_of,
)
from sfumato.kinds.graphs.noise_attacks import OnePerson
from sfumato.release.release import Part
from tests.secret import secret

pytest.importorskip("opendp", reason="noise needs OpenDP (extra 'privacy')")
PEOPLE = 5
PAIRS = list(combinations(range(PEOPLE), 2))


def policy(*, model: str = "node-privacy", epsilon: float = 2.0, **method: object) -> sf.Policy:
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{model: {"epsilon": epsilon}}]}
    return sf.Policy.parse(tree | {"method": {"node-private-figures": method}})


def one_by_one(ties: list[tuple[str, str]], limit: int) -> dict[str, int]:
    """Ties that count, by asking for each of them in the order of names, from the definition."""
    count = dict.fromkeys({name for tie in ties for name in tie}, 0)
    for one, other in sorted(tuple(sorted(tie)) for tie in ties):
        if count[one] < limit and count[other] < limit:
            count[one] += 1
            count[other] += 1
    return count


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_one_person_changes_no_more_than_the_proof_says(limit: int) -> None:
    """All graphs of five people, and everybody's ties changed in all ways: the bounds hold, and are reached."""
    ties, spread = [], []
    for there in product((0, 1), repeat=len(PAIRS)):
        edges = np.array([pair for pair, tied in zip(PAIRS, there, strict=True) if tied], dtype=np.int64).reshape(-1, 2)
        degrees = counted_degrees(Graph.from_pairs(edges[:, 0], edges[:, 1], PEOPLE), limit)
        ties.append(degrees.sum() // 2)
        spread.append(cumulative_degrees(degrees, PEOPLE, limit))
    number, below, codes = np.array(ties), np.array(spread), np.arange(1 << len(PAIRS))
    most_ties = most_spread = 0
    for person in range(PEOPLE):
        mine = sum(1 << (len(PAIRS) - 1 - at) for at, pair in enumerate(PAIRS) if person in pair)
        for change in (code for code in range(1, 1 << len(PAIRS)) if code & mine == code):
            other = codes ^ change
            most_ties = max(most_ties, int(np.abs(number - number[other]).max()))
            most_spread = max(most_spread, int(np.abs(below - below[other]).sum(axis=1).max()))
    assert most_ties == sensitivity("edges", limit)
    assert most_spread == sensitivity("degrees", limit)


def test_the_noise_is_that_of_the_sensitivities() -> None:
    """Numbers of ties from many draws, numbers of people from one draw with many of them; the mean of |noise| is
    exact."""
    shares, none = node_epsilon_shares(2.0), np.zeros(9, dtype=np.int64)
    ties = np.array([abs(noisy_figures(none, 9, 5, shares)[0]) for _ in range(300)])
    below = np.abs(noisy_figures(none, 9, 2000, shares)[1] - 9)
    for drawn, scale, share in ((ties, 5, shares["edges"]), (below, 4000, shares["degrees"])):
        assert abs(drawn.mean() - laplace_error(scale, share)) < 4.5 * drawn.std() / np.sqrt(len(drawn))
    assert sum(shares.values()) == pytest.approx(2.0)


@pytest.mark.parametrize("limit", [1, 3, 6])
def test_names_decide_which_ties_count_and_not_the_file(limit: int) -> None:
    town = nx.gnp_random_graph(30, 0.3, seed=limit)
    named = nx.relabel_nodes(town, {node: f"p{(node * 7) % 30:02}" for node in town})
    wanted = one_by_one(list(named.edges()), limit)
    rng = np.random.default_rng(3)
    for _ in range(3):
        listed = [tie if rng.random() < 0.5 else tie[::-1] for tie in rng.permutation(list(named.edges())).tolist()]
        read = Graph.from_networkx(nx.Graph(listed))
        assert dict(zip(read.labels or (), counted_degrees(read, limit).tolist(), strict=True)) == wanted
    assert counted(read, limit).sum() < read.size


def test_people_who_are_not_named_have_no_ties() -> None:
    assert cumulative_degrees(np.array([0, 2, 1]), 10, 2).tolist() == [8, 9]
    assert spread_of(np.array([8, 9]), 10).tolist() == [8, 1, 1]
    noisy = np.random.default_rng(1).integers(-50, 150, 40)
    spread = spread_of(noisy, 100)
    assert spread.sum() == 100 and (spread >= 0).all()


def test_a_release_holds_and_is_verified(tmp_path: Path) -> None:
    town = nx.powerlaw_cluster_graph(400, 4, 0.5, seed=1)
    made = sf.publish(policy(limit=10, people=420, graph=True), data=town, seed=secret(1))
    assert made.certificate.holds and made.findings[0].achieved["epsilon"] == pytest.approx(2.0)
    assert sf.verify(made.write(tmp_path / "out", report=False), original=town).holds
    degrees = made.release.parts["degrees"]
    assert sum(degrees["people"].to_pylist()) == 420 and max(degrees["degree"].to_pylist()) <= 10
    spent = replace(made.exhibit, form=made.release.form.with_public(epsilon_edges=1.9))
    assert not judge_claims(spent)[0].holds
    single = replace(made.exhibit, form=made.release.form.with_public(limit=None))
    assert judge_claims(single)[0].achieved["epsilon"] == pytest.approx(
        2.0 * 419
    )  # one tie each: all of somebody's cost more


@pytest.mark.parametrize("part", ["figures", "degrees"])
def test_figures_that_no_noise_made_are_found(part: str) -> None:
    town = nx.powerlaw_cluster_graph(2000, 4, 0.3, seed=1)
    made = sf.publish(policy(limit=4, epsilon=20.0), data=town, seed=secret(1))
    assert FiguresNear().examine(made.exhibit).holds
    tables = {"figures": {"figure": ["edges"], "value": [9000]}, "degrees": {"degree": [0], "people": [2000]}}
    forged = replace(made.exhibit, parts=dict(made.exhibit.parts) | {part: Part(tables[part])})
    assert "farther off" in FiguresNear().examine(forged).reason


def test_edge_privacy_follows_and_nothing_else() -> None:
    town = nx.path_graph(30)
    assert sf.publish(policy(model="edge-privacy"), data=town, seed=secret(1)).certificate.holds
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"node-privacy": {"epsilon": 1.0}}]}
    assert (
        sf.publish(sf.Policy.parse(tree), data=town, seed=secret(1)).release.form.limit == 32
    )  # the only one that can
    with pytest.raises(PolicyError, match="node-private-figures"):
        sf.publish(sf.Policy.parse(tree | {"method": {"private-figures": {}}}), data=town)
    with pytest.raises(Infeasible, match="more than 10"):
        sf.publish(policy(people=10), data=town)


def test_a_person_is_hidden_and_told_by_figures_that_protect_one_tie(tmp_path: Path) -> None:
    nx.write_edgelist(nx.barabasi_albert_graph(300, 3, seed=1), tmp_path / "town.tsv", data=False, delimiter="\t")
    played = {"target": str(tmp_path / "town.tsv"), "epsilon": 1.0, "seed": secret(1)}
    hidden, told = OnePerson(limit=8, trials=100, **played).run(), OnePerson(trials=40, **played).run()
    assert hidden["beyond"] < 4  # 0.73 is promised
    assert told["right"] > 0.95
