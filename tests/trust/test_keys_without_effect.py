"""A key of a policy that has no effect on the kind of data or the method is an error with its line, before anything is
read."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.io.source import Source
from sfumato.policy.policy import _KEYS, Column, Utility
from sfumato.release.method import Method
from sfumato.workflow.plan import plan, written_keys

GRAPH = """version: 1
data: {kind: graph, source: ties.csv}
columns:
  age: {role: quasi-identifier, hierarchy: {intervals: [5]}, boundary: {level: 1}}
protect:
  - k-degree-anonymity: {k: 3}
utility: {suppress_at_most: 5%}
"""


def test_columns_of_a_graph_are_refused_with_their_line():
    with pytest.raises(sf.PolicyError) as refused:
        plan(sf.Policy.parse(GRAPH))
    told = [str(error) for error in (refused.value, *refused.value.others)]
    assert told[0].startswith("'columns' has no effect: it is not about graph data — policy:4")
    assert [error.split("'")[1] for error in told] == [
        "columns",
        "columns.hierarchy",
        "columns.boundary",
        "utility.suppress_at_most",
    ]
    assert told[-1].split(" — ")[1] == "policy:7"


def test_a_claim_on_a_graph_gives_and_hides_no_columns():
    asked = {
        "version": 1,
        "data": {"kind": "graph", "source": "x"},
        "protect": [{"given": ["a"], "by": {"k-degree-anonymity": {"k": 2}}}],
    }
    with pytest.raises(sf.PolicyError, match=r"'protect\.given' has no effect"):
        plan(sf.Policy.parse(asked))


@pytest.mark.parametrize("written", [{"utility": {"minimize": "ntil"}}, {"keep": ["unique(s)"]}])
def test_baskets_read_neither_losses_of_cells_nor_rules(written):
    asked = {
        "version": 1, "data": {"kind": "baskets", "source": "x"}, "columns": {"s": "sensitive"},
        "protect": [{"l-diversity": {"l": 2}}], **written,
    }  # fmt: skip
    with pytest.raises(sf.PolicyError, match="has no effect"):
        plan(sf.Policy.parse(asked))


def test_a_loss_is_an_error_where_the_method_minimizes_none():
    asked = {
        "version": 1, "columns": {"q": "quasi-identifier", "s": "sensitive"}, "protect": [{"l-diversity": {"l": 2}}],
        "utility": {"minimize": "ntil"},
    }  # fmt: skip
    with pytest.raises(
        sf.PolicyError, match=r"anatomy cannot do this: 'utility\.minimize' \(utility\.minimize\) has no effect"
    ):
        plan(sf.Policy.parse(asked | {"method": "anatomy"}))
    assert "utility.minimize" in plan(sf.Policy.parse(asked)).method.reads
    inner = asked | {"columns": {"q": "other", "s": "other"}, "protect": ["q -> s : 2-diversity"]}
    with pytest.raises(sf.PolicyError, match="has no effect"):
        plan(sf.Policy.parse(inner | {"method": "utility-aware"}))
    assert plan(sf.Policy.parse(inner | {"method": {"utility-aware": {"inner": "mondrian"}}}))


def test_everything_that_is_declared_is_a_key_and_every_key_is_read_by_some_kind():
    columns, utility = set(Column.model_fields) - {"role"}, set(Utility.model_fields)
    keys = {
        *_KEYS,
        *(f"columns.{name}" for name in columns),
        *(f"utility.{name}" for name in utility),
        "protect.given",
        "protect.hide",
    }
    keys -= {"version", "utility"}
    kinds = catalogue("io", Source).values()
    assert frozenset().union(*(kind.reads for kind in kinds)) == keys
    methods = catalogue("methods", Method).values()
    assert all(method.reads <= frozenset().union(*(kind.reads for kind in kinds)) for method in methods)


def test_an_empty_entry_is_none():
    asked = {
        "version": 1,
        "data": {"kind": "graph", "source": "x"},
        "columns": {},
        "protect": [{"k-degree-anonymity": {"k": 2}}],
        "knows": [],
    }
    assert [key for key, _ in written_keys(sf.Policy.parse(asked))] == ["data", "protect"]
