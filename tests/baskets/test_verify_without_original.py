"""Verifying baskets without the original: what the published files refute is refuted, what they leave open is said to
be open."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from random_baskets import random_sets

import sfumato as sf
from sfumato.audit.certify import judge_claims
from sfumato.data.baskets import Baskets
from sfumato.data.table import Table
from sfumato.kinds.baskets.evidence import possible_overlaps
from sfumato.kinds.baskets.form import Basket
from sfumato.kinds.baskets.published_baskets import PublishedBaskets, from_table, to_table
from sfumato.release.certificate import Certificate, Finding, Records
from sfumato.release.folder import provenance_path
from sfumato.release.release import Part
from sfumato.release.summary import LABELS, UNASSESSED, decide_headline
from sfumato.release.view import ReleaseView
from sfumato.ui.cli.verify import command
from sfumato.workflow.verify import Audit
from tests.secret import secret

NAMES = tuple("abcd")
few = st.lists(st.sets(st.sampled_from(NAMES), max_size=3), min_size=2, max_size=5)


def policy(*protect: dict[str, object]) -> sf.Policy:
    tree = {
        "version": 1,
        "data": {"kind": "baskets"},
        "columns": {"label": "sensitive"},
        "protect": list(protect),
        "method": {"nonreciprocal": {}},
    }
    return sf.Policy.parse(tree)


def people(count: int) -> Baskets:
    rng = np.random.default_rng(count)
    labels = np.array([f"l{i}" for i in rng.integers(0, 12, count)], dtype=object)
    return Baskets(random_sets(rng, count, 8), tuple("abcdefgh"), {"label": labels})


@given(few, few, st.lists(st.integers(0, 3), min_size=5, max_size=5))
@settings(max_examples=200, deadline=None)
def test_overlap_by_listing_worlds(bases: list[set[str]], doubts: list[set[str]], thresholds: list[int]) -> None:
    rows = min(len(bases), len(doubts))
    worlds = PublishedBaskets.of(
        [sorted(b) for b in bases[:rows]], [sorted(d) for d in doubts[:rows]], thresholds[:rows], names=NAMES
    )
    listed = [set(worlds.possible(row)) for row in range(rows)]
    found = possible_overlaps(worlds, np.arange(rows)).toarray()
    for i, j in product(range(rows), repeat=2):
        assert found[i, j] == bool(listed[i] & listed[j])


def test_overlap_never_loses_a_candidate() -> None:
    """The rows compatible with a person are among those that overlap the person's own row."""
    baskets = people(60)
    release = sf.publish(policy({"k-anonymity": {"k": 4}}), data=baskets, seed=secret(2)).release
    worlds = from_table(Table(release.parts["data"].table))
    near = possible_overlaps(worlds, np.arange(60)).toarray()
    for row, person in enumerate(release.trace.rows["data"]):
        compatible = [j for j in range(60) if baskets.set_of(int(person)) in set(worlds.possible(j))]
        assert all(near[row, j] for j in compatible)


def judged(worlds: PublishedBaskets, *protect: dict[str, object]) -> Finding:
    evidence = ReleaseView(Basket(separator=" "), {"data": Part(to_table(worlds))}, policy(*protect))
    return judge_claims(evidence)[0]


def test_a_row_on_its_own_refutes_k_anonymity() -> None:
    lonely = PublishedBaskets.of([["a"], ["a"], ["b", "c"]], [["b"], ["b"], []], [1, 1, 0], {"label": ["x", "y", "z"]})
    finding = judged(lonely, {"k-anonymity": {"k": 2}})
    assert not finding.holds
    assert finding.judged
    assert finding.achieved == {"k": 1}
    assert judged(lonely.take([0, 1]), {"k-anonymity": {"k": 2}}).grade == "not judged"


def test_too_few_labels_in_reach_refute_diversity() -> None:
    alike = PublishedBaskets.of([["a"]] * 3, [["b"]] * 3, [1] * 3, {"label": ["x", "x", ""]})
    assert not judged(alike, {"l-diversity": {"l": 2, "kind": "distinct"}}).holds
    mixed = PublishedBaskets.of([["a"]] * 3, [["b"]] * 3, [1] * 3, {"label": ["x", "y", ""]})
    assert not judged(mixed, {"l-diversity": {"l": 2, "kind": "distinct"}}).judged


@pytest.mark.parametrize("claim", [{"l-diversity": {"l": 3, "kind": "frequency"}}, {"km-anonymity": {"k": 2, "m": 2}}])
def test_what_cannot_be_refuted_is_left_open(claim: dict[str, object]) -> None:
    lonely = PublishedBaskets.of([["a"], ["b", "c"]], [[], []], [0, 0], {"label": ["x", "y"]})
    assert not judged(lonely, claim).judged


def test_the_first_line_and_the_document_name_what_is_open(tmp_path: Path) -> None:
    claims = ({"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 3, "kind": "frequency"}})
    baskets = people(60)
    folder = sf.publish(policy(*claims), data=baskets, seed=secret(1)).write(tmp_path / "out", report=False)
    shown = CliRunner().invoke(command, [str(folder)])
    assert shown.exit_code == 0
    assert shown.output.splitlines()[0] == f"! {UNASSESSED}."
    assert shown.output.count("?") == 2
    assert "--original FILE" in shown.output
    document = json.loads(CliRunner().invoke(command, [str(folder), "--json"]).output)
    assert document["holds"] is None and not document["complete"]
    assert document["not_judged"] == ["k-anonymity", "l-diversity"]
    assert [entry["holds"] for entry in document["findings"][:2]] == [None, None]
    verdict = sf.verify(folder, original=baskets)
    assert verdict.holds and verdict.complete
    assert verdict.summary().headline.label == LABELS["holds"]
    provenance_path(folder).unlink()
    verdict = sf.verify(folder, original=baskets)
    assert not verdict.violated and [finding.model for finding in verdict.open] == ["l-diversity"]
    assert verdict.summary().headline.label == UNASSESSED


def test_a_violation_is_not_hidden_by_what_is_open() -> None:
    verdict = Audit((Finding("k-anonymity", True, {"k": 3}, grade="not judged"), Finding("b", False)))
    assert decide_headline(verdict.findings, policy(), Basket()).label == LABELS["broken"]
    assert not verdict.holds


def test_what_was_not_judged_survives_writing_and_reading() -> None:
    certificate = Certificate((Finding("a", True, grade="not judged"), Finding("b", True)), Records(1, 1, 0))
    again = Certificate.from_json(json.loads(json.dumps(certificate.to_json())))
    assert [finding.judged for finding in again.findings] == [False, True]
    assert not again.violations and not again.complete
    assert not again.holds


def test_many_people_are_sampled_and_the_grade_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample still finds what is wrong with many rows; the least of a sample never shows that all is well."""
    from sfumato.kinds.baskets import checks as one_to_one
    from sfumato.kinds.baskets import evidence as reading

    baskets = people(900)
    folder = sf.publish(policy({"k-anonymity": {"k": 3}}), data=baskets, seed=secret(1)).write(
        tmp_path / "out", report=False
    )
    monkeypatch.setattr(reading, "EXACT_UP_TO", 600)
    monkeypatch.setattr(one_to_one, "EXACT_UP_TO", 600)
    provenance_path(folder).unlink()
    found = {finding.model: finding for finding in sf.verify(folder, original=baskets).findings}
    assert found["k-anonymity"].open and "500 of 900 people" in found["k-anonymity"].reason
    assert found["one-to-one"].verdict is None
    others = Baskets(random_sets(np.random.default_rng(77), 900, 8, 0.9), baskets.names, baskets.labels)
    wrong = {finding.model for finding in sf.verify(folder, original=others).findings if not finding.holds}
    assert {"k-anonymity", "one-to-one"} <= wrong
