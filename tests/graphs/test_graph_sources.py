"""Graphs from databases; directed graphs and graphs of two kinds of nodes are refused, with a way out."""

import sqlite3

import igraph
import networkx as nx
import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.policy.policy import Policy

TIES = [(f"p{i}", f"p{(i * i + 3) % 40}") for i in range(40)]


def source(**data):
    return Policy.parse({"version": 1, "data": {"kind": "graph"} | data, "method": {"edge-perturbation": {"mu": 0.1}}}).data


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
    found = {frozenset((graph.labels[a], graph.labels[b])) for a, b in zip(*(e.tolist() for e in graph.edges()), strict=True)}
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
    (tmp_path / "friends.csv").write_text("\n".join([*lines, "film1,person1"]) + "\n")
    assert source().read(tmp_path / "friends.csv").nodes > 20
