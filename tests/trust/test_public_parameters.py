"""What stands in a manifest and depends on the data: listed here, by form, with why it may.

A parameter that is computed from the data and published beside a promise is in the account of that promise, or no
promise about the single record or tie that it depends on stands beside it."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.release.form import Form
from tests.secret import secret
from tests.trust import every_form
from tests.trust.every_form import FORMS

ROWS = {"counterfeits": "rows that are published and stand for nobody; the rows themselves are there to be counted"}
OF_DATA: dict[str, dict[str, str]] = {
    "anatomy": {},
    "basket blocks": {},
    "baskets": {},
    "database": {
        "tables": "how many rows each published table has",
        "declared": "the schema of the source, which is published on purpose",
        "links": "which columns change together, from the schema",
        "parts": "which columns were drawn together; what was learned of the source is said there",
        "dialect": "the kind of server",
        "namespace": "the schema it came from",
    },
    "graph": {
        "nodes": "who is in the graph is taken for known",
        "add": "with keep_edges computed from the number of ties: then no epsilon is stated for one tie",
    },
    "graph figures": {"nodes": "who is in the graph is taken for known"},
    "linked table": ROWS,
    "locally suppressed table": ROWS
    | {"marks": "what stands for a suppressed cell: a text that is no value of the column"},
    "microaggregated table": {"numbers": "which quasi-identifiers are numbers, as the published column shows"},
    "perturbed table": {
        "covariance": "of the noise, from the columns' variances; such a form promises nothing",
        "shares": "what categories were drawn from; such a form promises nothing",
        "keep": "by column; such a form promises nothing",
    },
    "recoded table": ROWS,
    "related tables": ROWS,
    "replaced table": {"parts": "which columns were drawn together; what was learned of the source is said there"},
    "sampled table": ROWS
    | {"levels": "chosen from the data at the price `search`, which is in the account of epsilon"},
    "sub-tables": {},
}
OF_POLICY: dict[str, set[str]] = {
    "basket blocks": {"degree", "separator", "insiders", "shows", "hides", "correlated"},
    "baskets": {"degree", "separator"},
    "database": {"subset", "accepted"},
    "graph": {"mu", "delete", "edge_epsilon", "only_added"},
    "graph figures": {"epsilon_edges", "epsilon_degrees", "epsilon_triangles", "limit", "drawn"},
    "microaggregated table": {"centre"},
    "perturbed table": {"how", "columns", "window"},
    "replaced table": {"walked", "told", "ordered", "linked_at_most"},
    "sampled table": {"fraction", "threshold", "search"},
}
EARLIER = {"optimality", "added_edges", "fewest_added_edges", "proof", "walk"}
"""Written by earlier versions, read and no longer written."""


@pytest.mark.parametrize("form", FORMS)
def test_every_public_parameter_is_listed(form: str) -> None:
    fields = set(catalogue("forms", Form)[form].model_fields) - EARLIER - {"mark"}
    assert fields == set(OF_DATA[form]) | OF_POLICY.get(form, set())
    assert not set(OF_DATA[form]) & OF_POLICY.get(form, set())


def changed(original: Any, rng: random.Random) -> Any:
    """The same data with one record, or one tie, changed."""
    if isinstance(original, nx.Graph):
        other = original.copy()
        other.add_edge(*rng.choice(sorted(nx.non_edges(original))))
        return other
    if isinstance(original, Baskets):
        rows = [[int(item) for item in row.nonzero()[0]] for row in original.sets.matrix().toarray()]
        rows[0] = [0, 1, 2] if rows[0] != [0, 1, 2] else [3]
        return Baskets(Sets.of(rows, len(original.names)), original.names, original.labels)
    if "rows" in original and isinstance(original["rows"], dict):
        return {**original, "rows": changed(original["rows"], rng)}
    name = rng.choice([name for name in original if len(set(original[name])) > 2 and name != "patient"])
    at = rng.randrange(len(original[name]))
    value = rng.choice([value for value in original[name] if value != original[name][at]])
    return {**original, name: [*original[name][:at], value, *original[name][at + 1 :]]}


def public(policy: sf.Policy, data: Any) -> dict[str, Any]:
    return sf.publish(policy, data=data, seed=secret(5)).release.form.to_public()


@pytest.mark.parametrize("form", [form for form in FORMS if form != "database"])
def test_only_listed_parameters_change_with_one_record(form: str) -> None:
    policy, original = every_form._MAKERS[form]()
    mine, rng = public(policy, original), random.Random(6)
    for _ in range(3):
        try:
            theirs = public(policy, changed(original, rng))
        except sf.Infeasible:
            continue
        differ = {key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)}
        assert differ <= set(OF_DATA[form]), differ


def test_keep_edges_states_no_epsilon_for_one_tie() -> None:
    """a-b, b-c, c-d, d-e: `add` was 0.2, and 0.29 with a-c besides, while both certificates promised an epsilon for one
    tie."""
    tree = {"version": 1, "data": {"kind": "graph"}, "method": {"edge-perturbation": {"mu": 0.3, "keep_edges": True}}}
    policy, path = sf.Policy.parse(tree), [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    told = []
    for ties in (path, [*path, ("a", "c")]):
        made = sf.publish(policy, data=nx.Graph(ties))
        told.append(made.release.form.to_public()["add"])
        assert "edge_epsilon" not in made.release.form.to_public()
        assert not any("epsilon" in note and "no epsilon" not in note for note in made.certificate.assumptions)
    assert told[0] != told[1]
    symmetric = sf.Policy.parse(tree | {"method": {"edge-perturbation": {"mu": 0.3}}})
    manifests = [public(symmetric, nx.Graph(ties)) for ties in (path, [*path, ("a", "c")])]
    assert manifests[0] == manifests[1]
    assert "edge_epsilon" in manifests[0]


def test_the_choice_of_levels_is_in_the_account() -> None:
    policy, data = every_form._sampled()
    assert "search" not in public(policy, data)  # levels stand in the policy
    tree = dict(policy.document.tree) | {"method": {"sampled": {}}}
    chosen = public(sf.Policy.parse(tree), data)
    assert chosen["search"] > 0
