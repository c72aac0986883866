"""Good releases are not refused: people without a tie, joint claims on every kind of hierarchy, odd characters; and no
crash."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import sfumato as sf
from tests.command_line import run
from tests.secret import secret
from tests.slow import SLOW
from tests.trust.every_form import columns, copy_of, read, redo, violations, write

HIERARCHIES: dict[str, Any] = {
    "flat": None,
    "prefix": {"prefix": 2},
    "ranges": "ranges",
    "intervals": {"intervals": [10, 20]},
    "tree": {"any": {f"{d}-{d + 19}": [str(age) for age in range(d, d + 20)] for d in (20, 40)}},
}


@pytest.mark.parametrize("method", [{"degree-anonymity": {}}, {"edge-perturbation": {"mu": 0.1}}])
@pytest.mark.parametrize("isolated", [0, 1, 7])
def test_people_without_a_tie(method: dict[str, Any], isolated: int, tmp_path: Path) -> None:
    edges = tmp_path / "club.tsv"
    edges.write_text("".join(f"{a}\t{b}\n" for a, b in nx.powerlaw_cluster_graph(80, 3, 0.4, seed=2).edges()))
    tree: dict[str, Any] = {
        "version": 1,
        "data": {"kind": "graph", "source": str(edges), "isolated": isolated},
        "method": method,
    }
    tree |= {"protect": [{"k-degree-anonymity": {"k": 3}}]} if "degree-anonymity" in method else {}
    folder = sf.publish(sf.Policy.parse(tree)).write(tmp_path / "out")
    assert violations(folder) == set()
    assert violations(folder, str(edges)) == set()
    (tmp_path / "out.private.trace").unlink(missing_ok=True)
    assert violations(folder, str(edges)) == set()


def test_fewer_people_than_the_original_names_are_still_found(tmp_path: Path) -> None:
    folder, _ = copy_of("graph", tmp_path)
    assert "kept-edges" in violations(folder, nx.powerlaw_cluster_graph(90, 3, 0.4, seed=2))


SHORTLY = {"seconds": 0.01}
"""How long is searched for better groups: what is judged here are alarms."""
JOINT = [("k-linkability", 2), ("k-linkability", 4), ("k-diversity", 2)]


@pytest.mark.parametrize(("hierarchy", "claim"), list(product(HIERARCHIES, JOINT)))
def test_joint_claims_on_every_kind_of_hierarchy(hierarchy: str, claim: tuple[str, int], tmp_path: Path) -> None:
    """At k = 4 of four illnesses everything is generalized to the root, so no published label is a value any more."""
    data, (model, k) = columns(60), claim
    age = {"role": "quasi-identifier"} | (
        {} if HIERARCHIES[hierarchy] is None else {"hierarchy": HIERARCHIES[hierarchy]}
    )
    roles = {"age": age, "sex": "quasi-identifier", "ward": "other", "illness": "sensitive"}
    tree = {"version": 1, "columns": roles, "protect": [{model: {"k": k}}], "method": {"sequential": SHORTLY}}
    folder = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(3)).write(tmp_path / "out", report=k == 4)
    assert violations(folder) == set()
    assert violations(folder, data) == set()


ODD = list(
    product(
        ["\u0085", "\u2028", "\u2029", "\x1c", "\x0b", "\u00a0", "\ufeff", "😀"], ["mondrian", "anatomy", "sequential"]
    )
)[:: 1 if SLOW else 2]
"""Every character with one or two of the methods, in `make slow` with all."""


@pytest.mark.parametrize(("odd", "method"), ODD)
def test_characters_that_some_take_for_line_breaks(odd: str, method: str, tmp_path: Path) -> None:
    data = columns(60)
    data["illness"] = [f"{name}{odd}s" if place % 2 else name for place, name in enumerate(data["illness"])]
    data["sex"] = [f"{name}{odd}x" for name in data["sex"]]
    sexes = {"role": "quasi-identifier", "hierarchy": {f"any{odd}one": [f"F{odd}x", f"M{odd}x"]}}
    roles = {
        "age": {"role": "quasi-identifier", "hierarchy": {"prefix": 2}},
        "sex": sexes,
        "ward": "other",
        "illness": "sensitive",
    }
    protect = (
        [{"k-linkability": {"k": 2}}] if method == "sequential" else [{"l-diversity": {"l": 2, "kind": "frequency"}}]
    )
    how = {method: SHORTLY if method == "sequential" else {}}
    policy = sf.Policy.parse({"version": 1, "columns": roles, "protect": protect, "method": how})
    try:
        publication = sf.publish(policy, data=data, seed=secret(3))
    except (sf.DataError, sf.PolicyError):
        return  # refused before anything was published is no false alarm
    folder = publication.write(tmp_path / "out")
    assert violations(folder) == set()
    assert violations(folder, data) == set()


def test_a_forged_text_under_a_sum(tmp_path: Path) -> None:
    folder, original = copy_of("replaced table", tmp_path)
    rows = read(folder / "data.csv")
    rows[0]["grade"] = "a text"
    write(folder / "data.csv", rows)
    redo(folder)
    shown = run("verify", str(folder))
    assert shown.returncode == 1
    assert "Traceback" not in shown.stdout + shown.stderr
    assert {"rules", "domains"} <= violations(folder)
    assert {"rules", "domains"} <= violations(folder, original)


@pytest.mark.parametrize("claim", JOINT)
@pytest.mark.parametrize("method", ["mondrian", "clustering"])
def test_people_who_were_left_out_are_no_people_with_few_links(
    method: str, claim: tuple[str, int], tmp_path: Path
) -> None:
    """Whoever lives alone behind a boundary is suppressed; with the original at hand that is no violation of a joint
    claim."""
    data, (model, k) = columns(60), claim
    tree = {"any": {"young": [str(age) for age in range(20, 60)], "old": ["80", "90"]}}
    data["age"] = ["80", "90", *data["age"][2:]]
    roles = {
        "age": {"role": "quasi-identifier", "hierarchy": tree, "boundary": ["young", "old"]},
        "sex": "quasi-identifier",
    }
    roles |= {"ward": "other", "illness": "sensitive"}
    policy = sf.Policy.parse({"version": 1, "columns": roles, "protect": [{model: {"k": k}}], "method": {method: {}}})
    data["illness"] = ["flu", "flu", *data["illness"][2:]]
    publication = sf.publish(policy, data=data, seed=secret(3))
    assert publication.certificate.records.suppressed == 2
    folder = publication.write(tmp_path / "out", report=k == 4)
    assert sf.verify(folder, original=data).holds


@pytest.mark.parametrize("method", [{"degree-anonymity": {}}, {"edge-perturbation": {"mu": 0.001}}])
def test_a_graph_without_any_tie(method: dict[str, Any], tmp_path: Path) -> None:
    people = nx.Graph()
    people.add_nodes_from(range(5))
    tree: dict[str, Any] = {"version": 1, "data": {"kind": "graph"}, "method": method}
    tree |= {"protect": [{"k-degree-anonymity": {"k": 3}}]} if "degree-anonymity" in method else {}
    publication = sf.publish(sf.Policy.parse(tree), data=people, seed=secret(1))
    assert len(publication.release.parts["edges"]) == 0
    folder = publication.write(tmp_path / "out")
    assert sf.verify(folder, original=people).holds


def test_edges_that_nobody_compared_are_not_said_to_be_there(tmp_path: Path) -> None:
    """Without the private provenance only numbers and degrees are compared, and a swap of ties keeps both."""
    folder, original = copy_of("graph", tmp_path)
    alone = sf.verify(folder, original=original)
    assert not alone.violated
    assert [finding.model for finding in alone.open] == ["kept-edges"]


@pytest.mark.parametrize("people", [1, 2, 3, 4, 70])
@pytest.mark.parametrize("edges", [[], [(0, 1)]])
def test_a_page_about_a_graph_of_few_people(people: int, edges: list[tuple[int, int]], tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(range(people))
    graph.add_edges_from(edge for edge in edges if people > 1)
    for number, mu in enumerate((0.001, 0.2)):
        tree = {"version": 1, "data": {"kind": "graph"}, "method": {"edge-perturbation": {"mu": mu}}}
        folder = sf.publish(sf.Policy.parse(tree), data=graph, seed=secret(number)).write(tmp_path / str(number))
        assert sf.verify(folder, original=graph).holds
        sf.measure(folder, original=graph)


def test_a_page_about_a_database_with_an_empty_table(tmp_path: Path) -> None:
    """Where there is no row nothing is made, and the report says so."""
    import sqlite3

    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, amount INTEGER)")
        base.execute("CREATE TABLE guest (id INTEGER PRIMARY KEY, points INTEGER NOT NULL)")
        base.executemany("INSERT INTO guest VALUES (?, ?)", [(n, n % 3) for n in range(1, 9)])
    columns = {name: {"role": "replaced", "domain": {"integers": [0, 9]}} for name in ("visit.amount", "guest.points")}
    tree = {
        "version": 1,
        "data": {"kind": "database", "source": f"sqlite:///{tmp_path / 'shop.db'}"},
        "columns": columns,
    }
    folder = sf.publish(sf.Policy.parse(tree), seed=secret(2)).write(tmp_path / "out")
    assert "its table has no row" in (folder / "report.html").read_text()
