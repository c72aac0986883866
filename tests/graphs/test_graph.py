"""A graph from anything people keep graphs in."""

from __future__ import annotations

import gzip

import igraph
import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.errors import DataError
from sfumato.data.graph import Dropped, Graph
from sfumato.io.graph_source import parse_edges, parse_graphml, read_graph

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40)


@given(PAIRS)
@settings(max_examples=60, deadline=None)
def test_a_graph_is_what_networkx_makes_of_the_same_pairs(pairs):
    graph = Graph.from_pairs([a for a, _ in pairs], [b for _, b in pairs], 10)
    other = nx.Graph()
    other.add_nodes_from(range(10))
    other.add_edges_from((a, b) for a, b in pairs if a != b)
    assert graph.size == other.number_of_edges()
    assert graph.degrees.tolist() == [other.degree(v) for v in range(10)]
    assert all(
        sorted(graph.neighbours_of(v).tolist()) == graph.neighbours_of(v).tolist() == sorted(other[v])
        for v in range(10)
    )
    loops = sum(a == b for a, b in pairs)
    assert graph.dropped == Dropped(loops, len(pairs) - loops - graph.size)
    assert nx.utils.graphs_equal(graph.to_networkx(), other)


def test_relabelling_moves_every_edge():
    graph = Graph.from_pairs([0, 1, 2], [1, 2, 3], 5)
    order = np.array([4, 2, 0, 1, 3])
    moved = graph.relabelled(order)
    low, high = graph.edges()
    assert moved.has_edges(order[low], order[high]).all()
    assert moved.size == graph.size
    assert moved.labels is None


def test_networkx_and_igraph_objects_are_read():
    club = nx.karate_club_graph()
    assert read_graph(club).size == 78
    assert read_graph(igraph.Graph.from_networkx(club)).degrees.sum() == 156
    assert read_graph(pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})).size == 2


@pytest.mark.parametrize(
    "text",
    ["a\tb\nb\tc\n", "source,target\na,b\nb,c\n", "a b\nb c\n", "# said\n% more\na;b;3\nb;c;4\n", "a\tb\r\nb\tc\r\n"],
)
def test_edge_lists_in_many_dresses(text):
    graph = parse_edges(text.encode(), "list")
    assert (graph.nodes, graph.size, graph.labels) == (3, 2, ("a", "b", "c"))


def test_loops_and_repetitions_are_reported(tmp_path):
    path = tmp_path / "g.tsv.gz"
    path.write_bytes(gzip.compress(b"1\t2\n2\t1\n3\t3\n1\t3\n"))
    graph = read_graph(path)
    assert (graph.nodes, graph.size, graph.dropped) == (3, 2, Dropped(1, 1))


def test_graphml_comes_from_networkx_and_refuses_entities(tmp_path):
    path = tmp_path / "club.graphml"
    nx.write_graphml(nx.karate_club_graph(), path)
    assert read_graph(path).size == 78
    with pytest.raises(DataError, match="entities"):
        parse_graphml(b"<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>", "bad")


@pytest.mark.parametrize("content", [b"", b"alone\n", b"a,b\nc\n", b"a,\n", b"\x00\x01"])
def test_what_is_no_edge_list_is_refused_without_its_content(content):
    with pytest.raises(DataError) as refusal:
        parse_edges(content, "list")
    assert "alone" not in str(refusal.value)


def test_a_first_line_that_may_be_a_header_is_asked_about() -> None:
    content = b"person,friend\nann,bob\nbob,eve\neve,ann\n"
    with pytest.raises(DataError, match="may name the columns or be a tie") as caught:
        parse_edges(content, "ties.csv")
    assert "header: true" in caught.value.hint
    assert parse_edges(content, "ties.csv", header=True).nodes == 3
    assert parse_edges(content, "ties.csv", header=False).nodes == 5
    assert parse_edges(b"ann,bob\nbob,eve\n", "ties.csv").size == 2  # 'bob' is there again: a tie
    assert parse_edges(b"source,target\nann,bob\nbob,eve\n", "ties.csv").nodes == 3
