"""Graphs from databases; direction, weights and two kinds of nodes are refused, with a way out."""

import sqlite3

import igraph
import networkx as nx
import numpy as np
import polars as pl
import pytest

from sfumato.core.errors import DataError
from sfumato.data.graph import Graph
from sfumato.io.graph_source import bipartite_halves
from sfumato.policy.policy import Policy

TIES = [(f"p{i}", f"p{(i * i + 3) % 40}") for i in range(40)]


def source(**data):
    return Policy.parse(
        {"version": 1, "data": {"kind": "graph"} | data, "method": {"edge-perturbation": {"mu": 0.1}}}
    ).data


@pytest.fixture
def database(tmp_path):
    with sqlite3.connect(tmp_path / "friends.db") as link:
        link.execute("CREATE TABLE friends (id INTEGER, since TEXT, one TEXT, other TEXT)")
        link.executemany("INSERT INTO friends VALUES (?, '2020', ?, ?)", [(i, *tie) for i, tie in enumerate(TIES)])
    link.close()
    return f"sqlite:///{tmp_path / 'friends.db'}"


def test_edges_of_a_table_are_those_of_the_list(database):
    graph = source(source=database, table="friends", ends=["one", "other"]).read()
    wanted = nx.Graph([tie for tie in TIES if tie[0] != tie[1]])
    found = {
        frozenset((graph.labels[a], graph.labels[b])) for a, b in zip(*(e.tolist() for e in graph.edges()), strict=True)
    }
    assert found == {frozenset(tie) for tie in wanted.edges}


def test_a_column_that_is_not_there_is_named(database):
    with pytest.raises(DataError, match="no column 'two'"):
        source(source=database, table="friends", ends=["one", "two"]).read()


def test_a_table_that_is_not_named_is_asked_for(database):
    with pytest.raises(DataError, match="needs the name of a table"):
        source(source=database).read()


def directed(kind, tmp_path):
    graph = nx.DiGraph(TIES)
    if kind == "igraph":
        return igraph.Graph.TupleList(TIES, directed=True)
    if kind == "graphml":
        nx.write_graphml(graph, tmp_path / "votes.graphml")
        return tmp_path / "votes.graphml"
    return graph


@pytest.mark.parametrize("kind", ["networkx", "igraph", "graphml"])
def test_directed_graphs_are_refused_unless_direction_may_go(kind, tmp_path):
    with pytest.raises(DataError, match="direction"):
        source().read(directed(kind, tmp_path))
    graph = source(direction="dropped").read(directed(kind, tmp_path))
    assert graph.size == nx.Graph([tie for tie in TIES if tie[0] != tie[1]]).number_of_edges()


def test_undirected_graphs_are_read(tmp_path):
    nx.write_graphml(nx.Graph(TIES), tmp_path / "friends.graphml")
    assert source().read(tmp_path / "friends.graphml").nodes == source().read(nx.Graph(TIES)).nodes


def test_people_and_things_are_two_kinds_of_nodes(tmp_path):
    rng = np.random.default_rng(1)
    lines = [f"person{rng.integers(20)},film{rng.integers(20)}" for _ in range(80)]
    (tmp_path / "seen.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="two kinds") as caught:
        source().read(tmp_path / "seen.csv")
    assert "baskets" in str(caught.value)
    (tmp_path / "friends.csv").write_text("\n".join([*lines, "person1,person2", "film3,film4"]) + "\n")
    assert source().read(tmp_path / "friends.csv").nodes > 20


def weighted(kind, tmp_path, weights):
    ties = [(a, b, weight) for (a, b), weight in zip(TIES, weights, strict=True) if a != b]
    graph = nx.Graph()
    graph.add_weighted_edges_from(ties)
    if kind == "igraph":
        return igraph.Graph.TupleList(ties, weights=True)
    if kind == "frame":
        return pl.DataFrame(ties, schema=["one", "other", "calls"], orient="row")
    if kind in {"csv", "header"}:
        lines = ["source,target,calls"] * (kind == "header") + [f"{a},{b},{weight}" for a, b, weight in ties]
        (tmp_path / "calls.csv").write_text("\n".join(lines) + "\n")
        return tmp_path / "calls.csv"
    if kind == "graphml":
        nx.write_graphml(graph, tmp_path / "calls.graphml")
        return tmp_path / "calls.graphml"
    return graph


KINDS = ["networkx", "igraph", "graphml", "csv", "header", "frame"]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_refused_unless_they_may_go(kind, tmp_path):
    given = weighted(kind, tmp_path, [1 + place % 3 for place in range(len(TIES))])
    with pytest.raises(DataError, match=r"carry '(weight|calls|column 3)'") as caught:
        source().read(given)
    assert "values: dropped" in str(caught.value)
    assert (
        source(values="dropped").read(given).size
        == nx.Graph([tie for tie in TIES if tie[0] != tie[1]]).number_of_edges()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_all_one_are_none(kind, tmp_path):
    assert source().read(weighted(kind, tmp_path, [1] * len(TIES))).size > 20


def test_a_graph_of_ours_holds_ties_only():
    assert source().read(Graph.from_networkx(nx.karate_club_graph())).size == 78
    with pytest.raises(DataError, match="carry 'weight'"):
        source().read(nx.karate_club_graph())


def test_columns_of_a_database_that_nobody_chose_are_not_dropped(database):
    with pytest.raises(DataError, match="carry 'one', 'other'"):
        source(source=database, table="friends").read()


def of_two_kinds(kind, tmp_path, people, things, ties):
    graph = nx.Graph()
    graph.add_nodes_from(range(people), bipartite=0)
    graph.add_nodes_from(range(people, people + things), bipartite=1)
    graph.add_edges_from(ties)
    if kind == "igraph":
        return igraph.Graph.Bipartite([node >= people for node in graph], list(graph.edges))
    if kind == "graphml":
        nx.write_graphml(graph, tmp_path / "seen.graphml")
        return tmp_path / "seen.graphml"
    if kind == "unmarked":
        return nx.Graph(list(graph.edges))
    return graph


@pytest.mark.parametrize("kind", ["networkx", "igraph", "graphml", "unmarked"])
def test_two_kinds_of_nodes_are_found_wherever_they_come_from(kind, tmp_path):
    rng = np.random.default_rng(2)
    ties = list({(int(rng.integers(15)), 15 + int(rng.integers(10))) for _ in range(90)})
    with pytest.raises(DataError, match="two kinds"):
        source().read(of_two_kinds(kind, tmp_path, 15, 10, ties))
    assert source(kinds="one").read(of_two_kinds(kind, tmp_path, 15, 10, ties)).size == len(ties)


@pytest.mark.parametrize("kind", ["networkx", "igraph", "graphml"])
def test_marked_kinds_need_no_cycles(kind, tmp_path):
    with pytest.raises(DataError, match="two kinds"):
        source().read(of_two_kinds(kind, tmp_path, 3, 2, [(0, 3), (1, 4)]))


@pytest.mark.parametrize("seed", range(6))
def test_halves_are_those_of_networkx(seed):
    ties = nx.gnm_random_graph(30, 25 + 10 * seed, seed=seed)
    two = nx.algorithms.bipartite.gnmk_random_graph(15, 15, 60, seed=seed)
    for graph in (ties, two):
        cycles = graph.number_of_edges() - len(graph) + nx.number_connected_components(graph)
        assert bipartite_halves(Graph.from_networkx(graph)) == (nx.is_bipartite(graph) and cycles >= 20)


def test_trees_and_rings_are_people():
    for graph in (nx.balanced_tree(2, 6), nx.cycle_graph(200), nx.star_graph(60)):
        assert source().read(graph).size == graph.number_of_edges()
