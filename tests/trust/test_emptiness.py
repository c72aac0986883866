"""Nothing, or almost nothing: no rows, one row, rows that are all alike, cells that are all missing, everybody
suppressed.

For every form the whole way is gone: plan, publish, write, verify, and again with a ledger. Each step either works or
says in our own words why it cannot; the audit never refuses what a method made, and an honest release is never
violated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.release.form import Form
from sfumato.workflow.plan import plan
from tests.trust import every_form
from tests.trust.every_form import FORMS

Rows = dict[str, list[str]]


def shorter(data: Any, rows: int) -> Any:
    """The first rows of any kind of data."""
    if isinstance(data, nx.Graph):
        return data.subgraph(list(data)[:rows]).copy()
    if isinstance(data, Baskets):
        matrix = data.sets.matrix().toarray()[:rows]
        labels = {name: values[:rows] for name, values in data.labels.items()}
        return Baskets(Sets.of([row.nonzero()[0].tolist() for row in matrix], len(data.names)), data.names, labels)
    if "people" in data:
        return {name: shorter(part, rows) for name, part in data.items()}
    return {name: values[:rows] for name, values in data.items()}


def alike(data: Any, *, missing: bool) -> Any:
    """Everybody as the first one is, or with nothing in any cell."""
    if isinstance(data, nx.Graph):
        return nx.empty_graph(data.number_of_nodes()) if missing else nx.complete_graph(8)
    if isinstance(data, Baskets):
        first = [] if missing else data.sets.matrix().toarray()[0].nonzero()[0].tolist()
        labels = {name: values[:1].repeat(len(values)) for name, values in data.labels.items()}
        return Baskets(Sets.of([first] * len(data), len(data.names)), data.names, labels)
    if "people" in data:
        return {name: alike(part, missing=missing) for name, part in data.items()}
    kept = ("patient", "grade", "score")
    return {
        name: values if name in kept else ["" if missing else values[0]] * len(values) for name, values in data.items()
    }


CASES: dict[str, Callable[[Any], Any]] = {
    "no row": lambda data: shorter(data, 0),
    "one row": lambda data: shorter(data, 1),
    "two rows": lambda data: shorter(data, 2),
    "all alike": lambda data: alike(data, missing=False),
    "all missing": lambda data: alike(data, missing=True),
}


def went(policy: sf.Policy, data: Any, out: Path, **options: Any) -> Path | None:
    """The folder, or nothing where publishing is refused for a reason that is the data's or the policy's."""
    try:
        return sf.publish(policy, data=data, **options).write(out)
    except sf.AuditRefused:
        raise
    except sf.SfumatoError as error:
        assert error.what
        return None


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", [form for form in FORMS if form != "database"])
def test_the_whole_way(form: str, case: str, tmp_path: Path) -> None:
    policy, original = every_form._MAKERS[form]()
    plan(policy)
    data = CASES[case](original)
    folder = went(policy, data, tmp_path / "out")
    for given in (None, data) if folder is not None else ():
        assert not [finding for finding in sf.verify(folder, original=given).findings if not finding.holds], (
            form,
            case,
        )


REMEMBERED = [
    form for form in FORMS if catalogue("forms", Form)[form].remembered and form not in ("database", "related tables")
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", REMEMBERED)
def test_the_whole_way_with_a_ledger(form: str, case: str, tmp_path: Path) -> None:
    """An ordinary release first, then the case, and the other way round."""
    policy, original = every_form._MAKERS[form]()
    keyed, data = with_key(policy, original), CASES[case](original)
    for order in ((original, data), (data, original)):
        place = tmp_path / ("first" if order[0] is original else "second")
        place.mkdir()
        for number, table in enumerate(order):
            options = {"ledger": place / "book", "new_ledger": not (place / "book").exists()}
            folder = went(keyed, numbered(table), place / f"out{number}", **options)
            if folder is not None:
                found = sf.verify(folder, original=numbered(table), ledger=place / "book")
                assert not [finding for finding in found.findings if not finding.holds], (form, case, number)


def with_key(policy: sf.Policy, data: Any) -> sf.Policy:
    """The same policy with a key of its own, where people are told apart by one."""
    tree = dict(policy.document.tree)
    if isinstance(data, dict):
        tree |= {"key": "key", "columns": {**tree["columns"], "key": "identifier"}}
    return sf.Policy.parse(tree)


def numbered(data: Any) -> Any:
    rows = len(next(iter(data.values()))) if isinstance(data, dict) else 0
    return {**data, "key": [f"p{row}" for row in range(rows)]} if isinstance(data, dict) else data


SUPPRESSED = {
    "mondrian": [{"k-anonymity": {"k": 3}}],
    "anatomy": [{"l-diversity": {"l": 2}}],
    "local-suppression": [{"subset-anonymity": {"k": 3, "m": 2}}],
}


@pytest.mark.parametrize("method", SUPPRESSED)
def test_everybody_is_suppressed(method: str, tmp_path: Path) -> None:
    """Where the policy allows to leave out everybody and nobody can be shown, that is a release of nothing or a
    refusal."""
    columns = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5]}, "boundary": {"level": 0}},
        "illness": "sensitive",
    }
    if method != "mondrian":
        columns["age"] = "quasi-identifier"  # type: ignore[assignment]
    tree = {
        "version": 1,
        "columns": columns,
        "protect": SUPPRESSED[method],
        "method": method,
        "utility": {"suppress_at_most": "100%"},
    }
    data = {"age": ["20", "30", "40", "50"], "illness": ["flu"] * 4}
    folder = went(sf.Policy.parse(tree), data, tmp_path / "out")
    if folder is not None:
        assert not sf.verify(folder, original=data).violated
        assert not sf.verify(folder).violated
