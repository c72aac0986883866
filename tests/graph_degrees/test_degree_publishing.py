"""Publishing a graph of equal degrees: the plan, the certificate, what the audit refuses, and what the report says."""

from __future__ import annotations

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from degree_cases import anonymous, random_graph

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.core.errors import AuditRefused, Infeasible, PolicyError, ReleaseError
from sfumato.data.graph import Graph
from sfumato.kinds.graphs.methods import degree_anonymity
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView
from sfumato.workflow.forecast import forecast_publish
from sfumato.workflow.plan import plan
from tests.command_line import run
from tests.secret import secret
from tests.slow import SLOW

CLUB = nx.powerlaw_cluster_graph(300, 4, 0.4, seed=2)
GRAPH = Graph.from_networkx(CLUB)


def policy(k=5, **method):
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": k}}]}
    return Policy.parse(tree | ({"method": {"degree-anonymity": method}} if method else {}))


@pytest.fixture(scope="module")
def publication():
    return sf.publish(policy(), data=CLUB, seed=secret(3))


def evidence(publication, **changes):
    release = publication.release
    whole = ReleaseView(release.form, release.parts, publication.policy, original=GRAPH, trace=release.trace)
    return replace(whole, **changes)


def kept(found):
    return next(finding for finding in certify(found) if finding.model == "kept-edges")


def columns(publication):
    table = publication.release.parts["edges"].table
    return np.asarray(table["source"]), np.asarray(table["target"])


def test_the_planner_chooses_it_and_says_why():
    chosen = plan(policy())
    assert chosen.method.name == "degree-anonymity"
    assert "keeps every edge" in chosen.reasons[0]


def test_the_data_holder_learns_what_was_added_and_what_is_needed(publication):
    assert publication.certificate.holds
    utility, trace = publication.utility, publication.release.trace
    assert utility["added_edges"] == len(publication.release.parts["edges"]) - GRAPH.size
    gap = (utility["added_edges"] - trace.fewest_added_edges) / utility["added_edges"]
    assert utility["optimality_gap"] == pytest.approx(gap, abs=1e-6)
    assert publication.certificate.utility == {}
    assert 0 <= utility["optimality_gap"] < 0.5
    assert "recovered" not in utility
    assert any("friends of a person" in said for said in publication.certificate.assumptions)
    assert any("not marked" in said for said in publication.certificate.assumptions)


def test_small_graphs_get_the_proven_optimum():
    made = sf.publish(policy(4), data=nx.barabasi_albert_graph(18, 2, seed=5), seed=1)
    assert made.utility["optimality_gap"] == 0
    assert made.utility["added_edges"] == made.release.trace.fewest_added_edges > 0


@pytest.mark.parametrize("seed", range(6))
def test_every_release_is_an_anonymous_supergraph_under_new_names(seed):
    graph = random_graph(45, 0.05 + 0.1 * seed, seed)
    made = sf.publish(policy(3 + seed, exact_up_to=0), data=graph, seed=seed)
    published = Graph.from_table(made.release.parts["edges"].table, graph.nodes)
    names = made.release.trace.names
    assert anonymous(published.degrees.tolist(), 3 + seed)
    assert published.has_edges(*(names[ends] for ends in graph.edges())).all()
    assert (names != np.arange(45)).any()


def test_the_folder_verifies_and_keeps_the_key_outside(publication, tmp_path):
    out = publication.write(tmp_path / "out")
    alone = sf.verify(out)
    assert not alone.violated
    assert [finding.model for finding in alone.open] == ["kept-edges"]  # no original edge was compared
    assert sf.verify(out, original=CLUB).holds
    assert not sf.verify(out, original=nx.gnp_random_graph(300, 0.05, seed=1)).holds
    manifest = json.loads((out / "manifest.json").read_text())
    assert set(manifest["public"]) == {"nodes", "only_added"}
    assert not any("trace" in path.name for path in out.iterdir())
    assert (tmp_path / "out.private.trace").stat().st_mode & 0o777 == 0o600
    measured = sf.measure(out, original=CLUB)
    assert set(measured) == {"added_edges", "optimality_gap", "graph_change"}
    assert measured["graph_change"]["added_share"] == pytest.approx(measured["added_edges"] / GRAPH.size, rel=0.05)


def test_an_original_in_another_order_is_compared_in_numbers_and_that_is_said(tmp_path):
    lines = [f"p{a} p{b}" for a, b in CLUB.edges()]
    for name, order in (("as-published.txt", lines), ("turned.txt", lines[::-1])):
        (tmp_path / name).write_text("\n".join(order))
    out = sf.publish(policy(), data=tmp_path / "as-published.txt").write(tmp_path / "out")
    for name, reason in (("as-published.txt", ""), ("turned.txt", "another order")):
        found = next(one for one in sf.verify(out, original=tmp_path / name).findings if one.model == "kept-edges")
        assert found.holds
        assert reason in found.reason
        assert bool(reason) == bool(found.reason)


def test_reports_say_what_no_graph_of_this_kind_can_do(publication, tmp_path):
    out = publication.write(tmp_path / "out")
    public, private = (out / "report.html").read_text(), (tmp_path / "out.private.html").read_text()
    least = f"No graph of this kind can add fewer than {publication.release.trace.fewest_added_edges:,} edges"
    assert least in private
    assert "can add fewer" not in public
    for page in (public, private):
        assert "there is nothing to undo" in page
        assert "recovered" not in page
    assert "original and published" in private
    assert "original and published" not in public


def test_a_lost_edge_is_noticed_by_whoever_has_the_names(publication):
    source, target = columns(publication)
    names = publication.release.trace.names
    ends = GRAPH.relabelled(names).edges()
    lost = np.flatnonzero((source == ends[0][0]) & (target == ends[1][0]))
    fewer = {"edges": Part({"source": np.delete(source, lost), "target": np.delete(target, lost)})}
    assert kept(evidence(publication)).holds
    assert "1 original edges are not published" in kept(evidence(publication, parts=fewer)).reason


def test_an_edge_moved_elsewhere_is_noticed_only_with_the_names(publication):
    """Same number of edges and the same degrees: two original edges exchange their ends."""
    source, target = columns(publication)
    published, names = Graph.from_pairs(source, target, 300), publication.release.trace.names
    low, high = GRAPH.relabelled(names).edges()
    for one in range(1, len(low)):
        a, b, c, d = low[0], high[0], low[one], high[one]
        if len({a, b, c, d}) == 4 and not published.has_edges([a, c], [d, b]).any():
            break
    codes = np.setdiff1d(published.codes, [a * 300 + b, c * 300 + d])
    fresh = [min(a, d) * 300 + max(a, d), min(c, b) * 300 + max(c, b)]
    moved = {"edges": Part(Graph.from_codes(np.sort(np.append(codes, fresh)), 300).to_columns())}
    assert "2 original edges" in kept(evidence(publication, parts=moved)).reason
    assert kept(evidence(publication, parts=moved, trace=Provenance())).holds


@pytest.mark.parametrize(
    ("name", "step"), [("added_edges", 1), ("added_edges", -1), ("fewest_added_edges", 1), ("fewest_added_edges", -999)]
)
def test_false_figures_in_an_old_manifest_are_noticed(publication, name, step):
    """Earlier versions disclosed how many edges were added and needed."""
    said = {
        "added_edges": publication.utility["added_edges"],
        "fewest_added_edges": publication.release.trace.fewest_added_edges,
    }
    old = Form.read("graph", {"nodes": 300, **said, "proof": "counting"})
    assert kept(evidence(publication, form=old, trace=Provenance())).holds
    lied = old.model_copy(update={name: said[name] + step})
    assert not kept(evidence(publication, form=lied, trace=Provenance())).holds


def test_a_false_bound_in_the_trace_is_noticed(publication):
    trace = publication.release.trace
    assert not kept(evidence(publication, trace=replace(trace, fewest_added_edges=trace.fewest_added_edges + 1))).holds


@pytest.mark.parametrize(
    "public", [{"nodes": 300, "added_edges": 5}, {"nodes": 300, "added_edges": "x", "fewest_added_edges": 1}]
)
def test_a_manifest_without_figures_is_refused(public):
    with pytest.raises(ReleaseError):
        Form.read("graph", public)


def test_a_claimed_flip_beside_kept_edges_is_a_contradiction(publication):
    assert not kept(evidence(publication, form=publication.release.form.with_public(delete=0.1, add=0.1))).holds


def test_unsorted_edges_are_refused(publication):
    source, target = columns(publication)
    turned = {"edges": Part({"source": source[::-1].copy(), "target": target[::-1].copy()})}
    assert not kept(evidence(publication, parts=turned)).holds


def test_a_sequence_for_one_person_less_is_refused_by_the_audit(monkeypatch):
    """The method broken on purpose: groups of k − 1 people."""
    lax = degree_anonymity.anonymous_degrees
    monkeypatch.setattr(degree_anonymity, "anonymous_degrees", lambda degrees, k: lax(degrees, k - 1))
    with pytest.raises(AuditRefused, match="k-degree-anonymity"):
        sf.publish(policy(), data=CLUB, seed=secret(3))


def test_a_bound_that_promises_too_much_is_refused_by_the_audit(monkeypatch):
    honest = degree_anonymity.fewest_edges
    monkeypatch.setattr(degree_anonymity, "fewest_edges", lambda graph, k: honest(graph, k) + 1)
    with pytest.raises(AuditRefused, match="counting proves"):
        sf.publish(policy(), data=CLUB, seed=secret(3))


def test_fewer_people_than_k_are_infeasible_with_a_suggestion(tmp_path):
    with pytest.raises(Infeasible, match="at most 4"):
        sf.publish(policy(5), data=nx.path_graph(4))
    (tmp_path / "pairs.txt").write_text("a b\nb c\n")
    (tmp_path / "p.yaml").write_text(
        "version: 1\ndata: {kind: graph, source: pairs.txt}\nprotect:\n  - k-degree-anonymity: {k: 5}\n"
    )
    assert "publishing will be refused" in run("check", "p.yaml", cwd=tmp_path).stdout
    refused = run("publish", "p.yaml", "--out", "o", cwd=tmp_path)
    assert refused.returncode == 4
    assert "ask for k of at most 3" in refused.stderr
    assert not (tmp_path / "o").exists()


def test_check_says_how_many_edges_are_needed(tmp_path):
    nx.write_edgelist(CLUB, tmp_path / "club.txt", data=False)
    (tmp_path / "p.yaml").write_text(
        "version: 1\ndata: {kind: graph, source: club.txt}\nprotect:\n  - k-degree-anonymity: {k: 5}\n"
    )
    said = "\n".join(forecast_publish(Policy.read(tmp_path / "p.yaml")).sentences())
    assert "no graph of this kind adds fewer than" in said
    assert "300 people" in said


def test_other_promises_are_refused():
    attack = {"structural-attack": {"planted": 12, "success_at_most": 0.2}}
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [attack], "method": {"degree-anonymity": {}}}
    with pytest.raises(PolicyError, match="nothing but k-degree-anonymity"):
        plan(Policy.parse(tree))
    with pytest.raises(PolicyError, match="needs a k-degree-anonymity"):
        plan(Policy.parse({key: tree[key] for key in ("version", "data", "method")}))


def test_of_two_claims_the_larger_k_counts():
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"k-degree-anonymity": {"k": k}} for k in (3, 8)]}
    made = sf.publish(Policy.parse(tree), data=CLUB, seed=1)
    assert [finding.holds for finding in made.certificate.findings] == [True] * 6
    assert made.certificate.findings[1].achieved["k"] >= 8


REAL = [("wiki_vote", 5, 0.04), ("email_enron", 25, 0.05), ("ca_grqc", 50, 0.2)]
if SLOW:
    REAL.append(("wiki_vote", 50, 0.02))


@pytest.mark.parametrize(("name", "k", "gap"), REAL)
def test_real_graphs_keep_every_edge_and_stay_near_the_bound(name, k, gap, shared, is_public):
    made = sf.publish(policy(k), data=shared / "data" / "graphs" / f"{name}.tsv.gz")
    assert made.certificate.holds
    assert 0 <= made.utility["optimality_gap"] < (gap if is_public else 1)
