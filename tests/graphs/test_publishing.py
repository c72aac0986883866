"""Publishing a graph under a policy: promise, certificate, audit, and what the audit refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.core.errors import Infeasible, PolicyError, ReleaseError
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.form import Edges
from sfumato.kinds.graphs.methods.edge_perturbation import predicted
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from sfumato.workflow.forecast import forecast_publish
from sfumato.workflow.plan import plan
from tests.secret import secret

CLUB = nx.powerlaw_cluster_graph(600, 5, 0.4, seed=2)
GRAPH = Graph.from_networkx(CLUB)


def policy(method=None, protect=None):
    tree = {"version": 1, "data": {"kind": "graph"}}
    if protect is not None:
        tree["protect"] = protect
    if method is not None:
        tree["method"] = {"edge-perturbation": method}
    return Policy.parse(tree)


ATTACK = [{"structural-attack": {"planted": 12, "success_at_most": 0.2}}]


@pytest.fixture(scope="module")
def publication():
    return sf.publish(policy({}, ATTACK), data=CLUB, seed=secret(5))


def evidence(publication, **changes):
    release = publication.release
    return replace(ReleaseView(release.form, release.parts, publication.policy), **changes)


def test_the_certificate_states_what_was_withstood_and_what_it_took(publication):
    finding = publication.certificate.findings[0]
    assert finding.holds
    assert finding.required == {"planted": 12, "success_at_most": 0.2, "against": "any"}
    assert max(finding.achieved["by_paths"], finding.achieved["by_ties"]) == finding.achieved["success_at_most"] <= 0.2
    assert finding.grade.startswith("bound")
    public = publication.release.form.to_public()
    assert public["mu"] == public["delete"] > 1 - 0.2 ** (1 / 11)
    assert public["edge_epsilon"] == pytest.approx(EdgeChannel.symmetric(public["mu"]).epsilon, abs=1e-3)
    said = " ".join(publication.certificate.assumptions)
    assert "path" in said
    assert "ties among" in said
    assert "not covered" in said


def test_figures_come_back_within_their_errors(publication):
    true = sf.recover(CLUB, 0.0, distribution=False)
    recovered = publication.certificate.utility["recovered"]
    for name in ("density", "degrees", "triangles", "transitivity"):
        off = recovered[name]["estimate"] - true[name].estimate
        assert abs(off) < 4 * recovered[name]["standard_error"]
    assert {"density", "transitivity", "modularity", "degrees"} <= recovered.keys()


def test_the_folder_verifies_and_holds_nothing_of_the_original(publication, tmp_path):
    out = publication.write(tmp_path / "out")
    assert sf.verify(out).holds
    assert sf.verify(out, original=CLUB).holds
    assert set(sf.measure(out, original=CLUB)) == {"recovered"}
    manifest = json.loads((out / "manifest.json").read_text())
    assert set(manifest["public"]) == {"nodes", "mu", "delete", "add", "edge_epsilon"}
    header = (out / "edges.csv").read_text().splitlines()[0]
    assert header.replace('"', "") == "source,target"
    other = nx.gnp_random_graph(600, 0.3, seed=1)
    assert not sf.verify(out, original=other).holds


def test_mu_depends_on_the_number_of_people_alone():
    sparse, dense = (
        sf.publish(policy({}, ATTACK), data=g, seed=secret(1))
        for g in (nx.path_graph(200), nx.gnp_random_graph(200, 0.4))
    )
    assert sparse.release.form.to_public() == dense.release.form.to_public()


def test_an_unflipped_graph_under_a_declared_flip_is_refused(publication):
    bare = Part(GRAPH.to_columns())
    findings = {finding.model: finding for finding in certify(evidence(publication, parts={"edges": bare}))}
    assert findings["structural-attack"].holds
    assert not findings["perturbation"].holds


def test_a_smaller_flip_than_declared_is_refused_by_the_data_holder(publication):
    less = sf.publish(policy({"mu": 0.05}), data=CLUB, seed=secret(3))
    lied = evidence(publication, parts=less.release.parts, original=GRAPH, trace=less.release.trace)
    assert not {finding.model: finding for finding in certify(lied)}["perturbation"].holds


def test_a_flip_that_is_too_small_for_the_claim_is_refused(publication):
    declared = publication.release.form.with_public(mu=0.01, delete=0.01, add=0.01)
    finding = certify(evidence(publication, form=declared))[0]
    assert not finding.holds
    assert "at least" in finding.reason


def test_a_manifest_without_the_flip_is_a_violation_not_a_crash(publication):
    silent = evidence(publication, form=Form.read("graph", {"nodes": 600}))
    assert not all(finding.holds for finding in certify(silent))


@pytest.mark.parametrize(
    "public", [{}, {"nodes": "x", "delete": 0.1, "add": 0.1}, {"nodes": 600, "delete": 0.1}, {"nodes": 6, "k": 1}]
)
def test_a_manifest_that_no_form_declares_is_refused(public):
    with pytest.raises(ReleaseError):
        Form.read("graph", public)


def test_edges_that_were_tampered_with_are_noticed(publication):
    edges = {name: np.asarray(publication.release.parts["edges"].table[name]) for name in ("source", "target")}
    doubled = Part({name: np.concatenate([column, column[:1]]) for name, column in edges.items()})
    found = {finding.model: finding for finding in certify(evidence(publication, parts={"edges": doubled}))}
    assert not found["perturbation"].holds


def test_k_degree_anonymity_is_read_from_degrees():
    ring = Policy.parse({"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": 10}}]})
    for graph, holds, level in ((nx.cycle_graph(12), True, 12), (nx.star_graph(11), False, 1)):
        parts = {"edges": Part(Graph.from_networkx(graph).to_columns())}
        finding = certify(ReleaseView(Edges(nodes=12), parts, ring))[0]
        assert (finding.holds, finding.achieved) == (holds, {"k": level})


def test_perturbation_does_not_promise_degrees():
    with pytest.raises(PolicyError, match="degrees"):
        plan(policy({"mu": 0.1}, [{"k-degree-anonymity": {"k": 3}}]))


def test_what_cannot_be_withstood_is_infeasible():
    with pytest.raises(Infeasible, match="one half"):
        sf.publish(policy({}, [{"structural-attack": {"planted": 4, "success_at_most": 0.01}}]), data=CLUB)
    with pytest.raises(Infeasible, match="mu of at least"):
        sf.publish(policy({"mu": 0.01}, ATTACK), data=CLUB)
    with pytest.raises(Infeasible, match="edges would be published"):
        sf.publish(policy({"mu": 0.1, "at_most": 1000}), data=CLUB)


def test_keeping_edges_keeps_edges_and_says_what_it_cannot_do():
    with pytest.raises(PolicyError, match="against: paths"):
        plan(policy({"keep_edges": True}, ATTACK))
    paths = [{"structural-attack": {"planted": 12, "success_at_most": 0.2, "against": "paths"}}]
    made = sf.publish(policy({"keep_edges": True}, paths), data=CLUB, seed=secret(2))
    assert len(made.release.parts["edges"]) == pytest.approx(GRAPH.size, rel=0.1)
    assert not {"mu", "edge_epsilon"} & set(made.release.form.to_public())  # `add` tells the number of ties
    assert any(note.startswith("no epsilon is stated for one tie") for note in made.certificate.assumptions)
    assert not any("protected by randomized response" in note for note in made.certificate.assumptions)
    recovered = made.certificate.utility["recovered"]["edges"]
    assert abs(recovered["estimate"] - GRAPH.size) < 4 * recovered["standard_error"]


def test_neither_mu_nor_a_claim_is_refused():
    with pytest.raises(PolicyError, match="'mu'"):
        plan(policy({}))


def test_predictions_are_what_happens():
    flip = EdgeChannel.symmetric(0.02)
    runs = [
        sf.publish(policy({"mu": 0.02}), data=CLUB, seed=secret(s)).certificate.utility["recovered"]
        for s in range(100, 125)
    ]
    for name in ("edges", "triangles", "transitivity"):
        spread = np.std([run[name]["estimate"] for run in runs], ddof=1)
        assert predicted(GRAPH, flip)[name].standard_error == pytest.approx(spread, rel=0.5)


def test_check_predicts_and_warns(tmp_path):
    source = tmp_path / "club.tsv"
    nx.write_edgelist(CLUB, source, data=False, delimiter="\t")
    (tmp_path / "p.yaml").write_text(
        "version: 1\ndata: {kind: graph, source: club.tsv}\nprotect:\n"
        "  - structural-attack: {planted: 12, success_at_most: 0.2}\nmethod: {edge-perturbation: {}}\n"
    )
    said = "\n".join(forecast_publish(Policy.read(tmp_path / "p.yaml")).sentences())
    for word in ("output: about", "warning: the output explodes", "transitivity ±", "edge-level epsilon", "loops"):
        assert word in said


def test_the_default_method_for_a_graph_is_perturbation():
    assert plan(policy(None, ATTACK)).method.name == "edge-perturbation"
