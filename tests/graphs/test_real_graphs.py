"""Real graphs: what is recovered lies within what the standard error promises; the shared policy works as it stands."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.edge_channel import EdgeChannel
from sfumato.io.graph_source import read_graph
from sfumato.kinds.graphs.edge_flips import flip_edges
from sfumato.kinds.graphs.recovery import DegreeLaw
from sfumato.workflow.forecast import forecast_publish
from tests.slow import SLOW

GRAPHS = ["wiki_vote", "email_enron", "ca_grqc", "ca_hepth", "ca_hepph", "ca_condmat", "ca_astroph_lcc", "brightkite"]
FIGURES = ("edges", "wedges", "triangles", "open_triads", "transitivity")


@pytest.mark.parametrize("name", GRAPHS)
def test_recovered_figures_lie_within_their_errors(name, shared):
    graph = read_graph(shared / "data" / "graphs" / f"{name}.tsv.gz")
    halves = np.arange(graph.nodes) % 2  # a split that need not be looked for; found ones are judged in `test_recovery`
    true = sf.recover(graph, 0.0, partition=halves, distribution=False)
    off = []
    flips = list(enumerate((EdgeChannel.symmetric(1e-4), EdgeChannel.symmetric(5e-4), EdgeChannel(0.1, 1e-5))))
    for seed, flip in flips if SLOW else [flips[GRAPHS.index(name) % len(flips)]]:
        found = sf.recover(flip_edges(graph, flip, Randomness(seed=seed)), flip, partition=halves, distribution=False)
        off += [(found[figure].estimate - true[figure].estimate) / found[figure].standard_error for figure in FIGURES]
    assert np.abs(off).max() < 4.5


def test_the_degree_distribution_of_co_authors(shared, is_public):
    graph = read_graph(shared / "data" / "graphs" / "ca_condmat.tsv.gz")
    published = flip_edges(graph, EdgeChannel.symmetric(1e-3), Randomness(seed=3))
    fitted = DegreeLaw.fit(published.degrees, EdgeChannel.symmetric(1e-3), replicates=0).distance(graph.degrees)
    rounded = np.clip(np.rint((published.degrees - (graph.nodes - 1) * 1e-3) / 0.998), 0, None).astype(np.int64)
    naive = DegreeLaw(np.bincount(rounded) / graph.nodes, np.zeros(1)).distance(graph.degrees)
    assert fitted < 0.07 < 0.15 < naive if is_public else fitted < naive


def test_the_wiki_vote_policy_works_as_it_stands(shared, is_public):
    graph = read_graph(shared / "data" / "graphs" / "wiki_vote.tsv.gz")
    assert not is_public or (graph.nodes, graph.size) == (7_115, 100_762)
    policy = sf.Policy.read(shared / "policies" / "wiki-vote.yaml")
    said = "\n".join(forecast_publish(policy).sentences())
    assert f"{graph.nodes:,} people, {graph.size:,} edges" in said
    assert "explodes" in said or not is_public
    publication = sf.publish(policy)
    assert publication.certificate.holds
    assert publication.release.form.to_public()["mu"] >= (0.1459 if is_public else 0.01)
    recovered = publication.certificate.utility["recovered"]["edges"]
    assert abs(recovered["estimate"] - graph.size) < 5 * recovered["standard_error"]
