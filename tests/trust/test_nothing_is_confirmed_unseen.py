"""What was not compared does not hold: findings say so where the evidence at hand cannot decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.release.form import Form
from tests.secret import secret
from tests.trust.every_form import FORMS, copy_of, read, redo, release_of, write

COUNTED = {"recoded table", "anatomy", "sub-tables", "linked table", "related tables", "microaggregated table"}
COUNTED |= {"locally suppressed table", "graph"}
"""Forms whose claims in `every_form` are about groups that lie in the files; of all others nothing can be counted
twice."""


def finding(folder: Path, model: str, original: Any = None) -> sf.Finding:
    return next(one for one in sf.verify(folder, original=original).findings if one.model == model)


@pytest.mark.parametrize("form", FORMS)
def test_a_recount_that_counted_nothing_does_not_hold(form: str) -> None:
    """F1: baskets, replaced columns, graph noise, sampling, databases."""
    folder, original = release_of(form)
    stated = json.loads((folder / "certificate.json").read_text())["findings"]
    said = next(one for one in stated if one["model"] == "floor")
    for found in (finding(folder, "floor"), finding(folder, "floor", original)):
        assert found.verdict is (True if form in COUNTED else None), found
        assert found.judged or found.achieved["counted"] == 0
        assert found.judged or "nothing was confirmed" in found.reason
    assert said["holds"] is (True if form in COUNTED else None)
    assert json.loads((folder / "certificate.json").read_text())["holds"] is True


def test_every_form_is_either_counted_again_or_not() -> None:
    assert COUNTED < set(FORMS) == set(catalogue("forms", Form))


def test_kept_edges_need_the_original(tmp_path: Path) -> None:
    """F2: with the files alone no original edge is compared; an edge that is moved is found by nobody."""
    folder, original = copy_of("graph", tmp_path)
    assert finding(folder, "kept-edges").open
    stated = json.loads((folder / "certificate.json").read_text())
    assert (
        next(one for one in stated["findings"] if one["model"] == "kept-edges")["holds"] is True
    )  # the publisher compared them
    edges = read(folder / "edges.csv")
    write(folder / "edges.csv", edges[::-1])
    redo(folder)
    assert finding(folder, "kept-edges").verdict is False  # what the files alone refute stays refuted
    other = nx.gnp_random_graph(original.number_of_nodes(), 0.5, seed=1)
    assert finding(folder, "kept-edges", other).verdict is False


DOMAINS = {
    "colour": ["red", "blue"] * 20,
    "grade": [str(place % 5) for place in range(40)],
    "word": [f"w{n}" for n in range(40)],
}


def replaced(tmp_path: Path, **domains: Any) -> Path:
    columns = {name: {"role": "replaced", "domain": domain} for name, domain in domains.items()}
    tree = {
        "version": 1,
        "columns": {**dict.fromkeys(DOMAINS, "other"), **columns},
        "keep": [],
        "method": {"obfuscation": {}},
    }
    return sf.publish(sf.Policy.parse(tree), data=DOMAINS, seed=secret(3)).write(tmp_path / "out", report=False)


def spoilt(folder: Path, column: str) -> Path:
    rows = read(folder / "data.csv")
    rows[0][column] = "never seen"
    write(folder / "data.csv", rows)
    redo(folder)
    return folder


def test_values_of_a_source_column_need_the_original(tmp_path: Path) -> None:
    """F3: a domain ``like`` a column is known with the original only."""
    folder = replaced(tmp_path, colour={"like": "colour"}, grade={"integers": [0, 9]})
    assert finding(folder, "domains").open
    assert finding(folder, "domains", DOMAINS).verdict is True
    assert finding(spoilt(folder, "colour"), "domains").open
    assert finding(folder, "domains", DOMAINS).verdict is False
    assert finding(spoilt(folder, "grade"), "domains").verdict is False  # what is known is judged


def test_domains_that_take_every_text_are_counted_apart(tmp_path: Path) -> None:
    """F3: fakes are any text."""
    folder = replaced(tmp_path, word={"fakes": "name"}, grade={"integers": [0, 9]})
    found = finding(folder, "domains", DOMAINS)
    assert found.verdict is True
    assert found.reason.startswith("1 column(s) may hold any text")
    alone = replaced(tmp_path / "alone", word={"fakes": "name"})
    assert finding(alone, "domains", DOMAINS).verdict is None
    assert finding(alone, "domains").verdict is None
    assert sf.verify(alone, original=DOMAINS).holds  # nothing was promised of them
