"""Findings say what was compared, whom they count and which adversary was tried; each test breaks exactly that."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from click import unstyle

import sfumato as sf
from sfumato.audit.certify import certify, examine_all, judge_claims
from sfumato.audit.recount import definitions
from sfumato.audit.recount.recount import COUNTERS
from sfumato.core.errors import NotAssessed
from sfumato.data.table import Table
from sfumato.history.judge.sequence import SequenceLinks, _worst
from sfumato.kinds.person_evidence import ViolationCount, _found
from sfumato.kinds.tables.checks import AlibiRows, OtherColumns
from sfumato.kinds.tables.form import LinkedTable, Recoded
from sfumato.kinds.testdata import constraint_checks
from sfumato.kinds.testdata.form import Replaced
from sfumato.models.base import example_classes
from sfumato.models.beta_likeness import BetaLikeness
from sfumato.models.profitability import Profitability
from sfumato.release.certificate import Finding
from sfumato.release.release import Part
from sfumato.release.summary import decide_headline
from sfumato.release.view import ReleaseView
from sfumato.ui.cli.ledger import _summary
from sfumato.workflow.verify import _opened, beside
from tests.command_line import run
from tests.secret import secret
from tests.trust.every_form import copy_of, read, redo, release_of, write

INTERVALS = {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}


def finding(folder: Path, model: str, original: Any = None) -> Finding:
    return next(one for one in sf.verify(folder, original=original).findings if one.model == model)


def traced(folder: Path, made: sf.Publication, model: str, original: Any) -> Finding:
    """The finding with the provenance that the method kept."""
    view = replace(beside(_opened(folder), original, None, None), trace=made.release.trace)
    return next(one for one in certify(view) if one.model == model)


def parsed(columns: dict[str, Any], protect: list[Any], **more: Any) -> sf.Policy:
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": protect, **more})


def test_missing_values_are_compared_one_by_one_or_in_number(tmp_path: Path) -> None:
    """F12: with the columns alone two rows may exchange which of them lacks a value."""
    data = {"ward": ["N", "S"] * 10, "grade": ["", *["7"] * 19]}
    columns = {"ward": "other", "grade": {"role": "replaced", "domain": {"integers": [0, 9]}}}
    keep = ["grade <= original.grade + 9"]  # compares record by record, so the provenance is kept
    policy = sf.Policy.parse({"version": 1, "columns": columns, "keep": keep, "method": {"obfuscation": {}}})
    made = sf.publish(policy, data=data, seed=secret(3))
    folder = made.write(tmp_path / "out", report=False)
    assert "20 rows compared one by one" in traced(folder, made, "missing values", data).sentence
    assert "(20 cells compared)" in traced(folder, made, "kept columns", data).sentence
    rows = read(folder / "data.csv")
    lacking = next(place for place, row in enumerate(rows) if not row["grade"])
    other = next(place for place, row in enumerate(rows) if row["grade"] and row["ward"] != rows[lacking]["ward"])
    rows[lacking]["grade"], rows[other]["grade"] = rows[other]["grade"], ""
    write(folder / "data.csv", rows)
    redo(folder)
    assert traced(folder, made, "missing values", data).verdict is False
    alone = finding(folder, "missing values", data)
    assert alone.verdict is True and "as many missing values as" in alone.sentence
    rows[0]["ward"] = "E"
    write(folder / "data.csv", rows)
    redo(folder)
    assert finding(folder, "kept columns", data).sentence.startswith("In 1 row the combination")
    assert traced(folder, made, "kept columns", data).sentence.startswith("In 1 cell the value")


def test_findings_of_a_database_name_their_unit_and_have_clean_keys(tmp_path: Path) -> None:
    """F12 in databases: cells with the provenance, rows without it; F45: "above chance" has a space."""
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, points INTEGER NOT NULL, ward TEXT)")
        base.executemany("INSERT INTO customer VALUES (?, ?, ?)", [(n, n % 7, "NS"[n % 2]) for n in range(1, 41)])
    source = f"sqlite:///{tmp_path / 'shop.db'}"
    tree: dict[str, Any] = {"version": 1, "data": {"kind": "database", "source": source}}
    tree["columns"] = {"customer.points": {"role": "replaced", "domain": {"integers": [0, 99]}}}
    tree["keep"] = ["customer.points <= original.customer.points + 90"]
    made = sf.publish(sf.Policy.parse(tree), seed=secret(3))
    folder = made.write(tmp_path / "out", report=False)
    assert "40 rows compared one by one" in traced(folder, made, "kept cells", source).sentence
    fresh = traced(folder, made, "unchanged values", source)
    assert fresh.details["above_chance"] == fresh.achieved["above chance"]
    rows = read(folder / "customer.csv")
    rows[0]["ward"] = "E"
    write(folder / "customer.csv", rows)
    redo(folder)
    assert "In 1 cell the value" in traced(folder, made, "kept cells", source).sentence
    assert "In 1 row the combination" in finding(folder, "kept cells", source).sentence


def test_statistical_tests_of_graphs_are_estimates() -> None:
    """F16: a somewhat smaller noise than declared passes, so nothing was shown exactly."""
    graph = nx.gnp_random_graph(40, 0.2, seed=3)
    tree = {"version": 1, "data": {"kind": "graph"}, "protect": [{"edge-privacy": {"epsilon": 2.0}}]}
    for method, model in (({"edge-perturbation": {}}, "perturbation"), ({"private-figures": {}}, "figures")):
        made = sf.publish(sf.Policy.parse(tree | {"method": method}), data=graph, seed=secret(4))
        found = next(one for one in made.findings if one.model == model)
        assert found.certainty == "estimate" and found.verdict is True
    assert "triangles are not" in found.sentence  # F15


def test_row_linkage_names_its_attacks(tmp_path: Path) -> None:
    """F17: three ways to look for the nearest row; a better one may find more."""
    columns = {"v": {"role": "replaced", "domain": {"integers": [0, 60]}}}
    tree = {"version": 1, "columns": columns, "keep": ["localities(v)"]}
    tree |= {"method": {"pattern-walk": {"linked_at_most": 1.0}}}
    data = {"v": [str(value * 7 % 53) for value in range(24)]}
    made = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(5))
    found = next(one for one in made.findings if one.model == "linked rows")
    assert found.verdict is True and found.certainty == "estimate"
    assert "by rank and value" in found.sentence and "Another search may find more" in found.sentence


def test_counterfeits_are_said_to_be_declared() -> None:
    """F21: their number is read from the manifest."""
    asked = {"counterfeits_at_most": 0.5}
    found = Finding("counterfeits", True, asked, {"counterfeits_at_most": 0.1, "counterfeits": 2, "input": 20})
    assert found.sentence.startswith("2 counterfeit records declared beside 20 real ones")


def test_people_in_several_rows_are_counted_once() -> None:
    """F22: two people alike in two slots, both of which tell the same illness, are two people."""
    columns = {
        "patient": "identifier",
        "age": "quasi-identifier",
        "illness": {"role": "sensitive", "persistent": False},
    }
    person = {"columns": "patient", "rows": "linked"}
    policy = parsed(columns, [{"l-diversity": {"l": 2}}], person=person, method={"linked": {"groups": "mondrian"}})
    rows = {"person": ["1", "1", "2", "2"], "age": ["30", "40", "30", "40"], "illness": ["flu"] * 4}
    (found,) = judge_claims(ReleaseView(LinkedTable(), {"data": Part(pa.table(rows))}, policy))
    assert found is not None and found.verdict is False
    assert found.reason.startswith("2 people do not reach")


def test_people_of_related_tables_are_counted_once(tmp_path: Path) -> None:
    """F22 with a table of people: the groups that break a requirement, not their rows."""
    columns = {
        "patient": "identifier",
        "born": "quasi-identifier",
        "age": "other",
        "illness": {"role": "sensitive", "persistent": False},
    }
    tree = {"version": 1, "data": {"people": "people.csv"}, "columns": columns}
    tree |= {"person": {"columns": "patient", "rows": "linked"}, "method": {"related": {"groups": "mondrian"}}}
    mine = {"patient": ["1", "2", "3", "4"], "born": ["1990"] * 4}
    rows = {"patient": ["1", "2", "3", "4"] * 2, "age": ["30"] * 8, "illness": ["flu", "gout"] * 4}
    policy = sf.Policy.parse(tree | {"protect": [{"k-anonymity": {"k": 2}}]})
    made = sf.publish(policy, data={"people": mine, "rows": rows}, seed=secret(2))
    strict = sf.Policy.parse(tree | {"protect": [{"l-diversity": {"l": 3}}]})
    (found,) = judge_claims(replace(made.exhibit, policy=strict))
    assert found is not None and found.verdict is False
    assert found.reason.startswith("4 people do not reach")


def test_a_row_that_covers_nobody_is_no_row_beyond_its_boundary(tmp_path: Path) -> None:
    """F23: it is untruthful, and the boundary was not crossed."""
    columns = {"age": INTERVALS | {"boundary": {"level": 1}}, "ill": "other"}
    data = {"age": [str(20 + n % 20) for n in range(40)], "ill": ["a", "b"] * 20}
    policy = parsed(columns, [{"k-anonymity": {"k": 2}}], method="mondrian")
    made = sf.publish(policy, data=data, seed=secret(2))
    folder = made.write(tmp_path / "out", report=False)
    rows = read(folder / "data.csv")
    rows[0]["ill"] = "never seen"
    write(folder / "data.csv", rows)
    redo(folder)
    for look in (finding, lambda *asked: traced(asked[0], made, *asked[1:])):
        assert look(folder, "truthfulness", data).achieved == {"rows": 1}
        assert look(folder, "boundaries", data).verdict is True
    rows[0] |= {"ill": "a", "age": "20-39"}
    write(folder / "data.csv", rows)
    redo(folder)
    assert finding(folder, "boundaries", data).verdict is False


def test_other_columns_are_measured_for_the_forms_that_limits_names() -> None:
    """F24: recoded tables alone."""
    assert OtherColumns.forms == (Recoded,)
    page = Path("docs/explanation/limits.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| [other columns]"))
    assert [cell.strip() for cell in row.split("|")[2:7]] == [
        "measured, not promised",
        "not promised",
        "–",
        "–",
        "not promised",
    ]


def test_accepted_pairs_of_columns_are_counted() -> None:
    """F25: they were silent."""
    from sfumato.kinds.testdata.database_checks import finding_of

    class Pair:
        kept, cells, sentence = "b", 3, "3 values"

        def __str__(self) -> str:
            return "a in b"

    found = finding_of("surviving values", [Pair()], ("a in b",))  # type: ignore[list-item]
    assert found.verdict is True and found.details["accepted"] == 1 and "1 pair(s)" in found.reason


class Entry:
    """An entry of a ledger, as far as its summary asks."""

    number, when, forgets, imported = 1, "2026-01-01", False, False

    def __init__(self, findings: list[Finding]) -> None:
        certificate = {"findings": [one.to_json() for one in findings], "method": "mondrian"}
        self.body = {"certificate": certificate, "records": 4, "counterfeits": 0}


def test_a_ledger_lists_every_requirement_of_a_model() -> None:
    """F28: of two requirements of one model only the last was shown."""
    found = [Finding("l-diversity", True, {"l": n}, {"l": n}, ("age",), (hide,)) for n, hide in ((2, "a"), (3, "b"))]
    assert _summary(Entry(found))["found"] == {"l-diversity": "l 2; l 3"}


def test_verify_asks_for_the_evidence_that_is_missing(tmp_path: Path) -> None:
    """F29: where earlier releases are missing it advised `--original`."""
    columns = {"id": "identifier", "age": "quasi-identifier", "ill": "sensitive"}
    policy = parsed(columns, [{"k-anonymity": {"k": 2}}], key="id", method="mondrian")
    book, folder = tmp_path / "book.ledger", tmp_path / "out"
    for number in range(2):
        data = {"id": [str(n) for n in range(4)], "age": ["30", "30", "40", "40"], "ill": list("abab")}
        made = sf.publish(policy, data=data, ledger=book, new_ledger=not number, seed=secret(number))
        folder = made.write(tmp_path / f"out{number}", report=False)
    said = run("verify", str(folder)).stdout
    assert "--ledger FILE also checks what needs the earlier releases" in said
    again = run("verify", str(folder), "--ledger", str(book)).stdout
    assert "also checks what needs the earlier releases" not in again


def test_the_recount_is_no_requirement_of_a_report() -> None:
    """F30."""
    from sfumato.audit.report_sections import Promises

    folder, _ = release_of("recoded table")
    from sfumato.release.folder import read_folder

    said = str(Promises().render(read_folder(folder)))
    assert said.index("Requirements") < said.index("Files and certificate") < said.index("Independent recount")


def test_beta_limits_how_much_a_share_grows() -> None:
    """F31: from a share of 1/4 to 1/2 it grows by once itself, so beta is 1."""
    linkage = example_classes("aabb", "bbcc", "ddbb", "eeff")
    assert BetaLikeness(beta=3).achieved(linkage)["beta"] == 3.0  # e: from 2 of 16 to 2 of 4, four times its share
    assert "grow by more than {beta} times its share overall" in BetaLikeness.sentence


def test_profitability_holds_where_an_attack_pays_and_damage_is_small() -> None:
    """F33: the sentence said that an attacker gains nothing."""
    linkage = example_classes("ab")
    paying = Profitability(benefit=2, loss=4, gain=4, cost=1)  # gain 4 of 2 candidates is above the cost of 1
    assert bool(paying.satisfied(linkage).all())
    assert " or its expected damage" in Profitability.sentence


def test_people_without_a_figure_have_none() -> None:
    """F37: "among 0"."""
    assert "among" not in _found([ViolationCount(0, True, None)]).achieved
    assert _found([ViolationCount(0, True, 3)]).details == {"among": 3}


def test_no_sentence_counts_damaged_files(tmp_path: Path) -> None:
    """F39: one file may be named twice, as changed and with other rows; the sentence names it and counts nothing."""
    folder, _ = copy_of("recoded table", tmp_path)
    write(folder / "data.csv", read(folder / "data.csv")[:-1])
    found = finding(folder, "files")
    assert found.achieved["damaged"] == 2 and found.sentence.count("data.csv") == 2
    assert "2 " not in found.sentence


def test_the_list_of_what_is_recounted_is_that_of_the_code() -> None:
    """F40."""
    import sfumato.audit.recount as page

    told = " ".join((page.__doc__ or "").partition("What is counted")[2].partition("What is not")[0].split())
    forms = told.removeprefix("forms ").partition(" models ")[0].split(", ")
    models = told.partition(" models ")[2].partition(" In an anatomy")[0].split(", ")
    assert set(forms) == set(COUNTERS)
    assert set(models) == {name for name, one in definitions.DEFINITIONS.items() if one.count is not None}


def test_people_behind_covering_rows_are_counted_for_the_columns_of_the_claim() -> None:
    """F42: all quasi-identifiers were used, and the finding named none."""
    columns = {"id": "identifier", "age": "quasi-identifier", "zip": "quasi-identifier", "ill": "sensitive"}
    claim = {"given": ["age"], "hide": "ill", "by": {"k-linkability": {"k": 2}}}
    policy = parsed(columns, [claim], key="id")
    rows = {"age": ["30", "30", "40"], "zip": ["1", "2", "3"], "ill": ["flu", "gout", "flu"]}
    found = AlibiRows().examine(ReleaseView(Recoded(), {"data": Part(pa.table(rows))}, policy))
    assert found.achieved == {"people": 1} and found.given == ("age",)


def test_a_time_limit_is_no_leak() -> None:
    """F43: "n links undecided, so nothing is proven" read like one."""
    columns = {"age": "quasi-identifier", "ill": "sensitive"}
    (claim,) = parsed(columns, [{"p-sensitivity": {"p": 2}}]).claims
    judged = SequenceLinks(example_classes("ab"), "bound (at best this)", 3)
    found = _worst(claim, [judged], "over 2 releases")
    assert not found.holds and "could not be excluded within the time limit" in found.sentence


def test_differential_privacy_says_delta_for_the_epsilon_that_was_asked() -> None:
    """F44: the epsilon that was found is always the one that was asked for."""
    asked, found = {"epsilon": 2.0, "delta": 0.01}, {"epsilon": 2.0, "delta": 0.004}
    said = Finding("differential-privacy", True, asked, found).sentence
    assert said.startswith("With ε = 2, δ is at most 0.004")


def test_classes_with_counterfeits_are_of_records() -> None:
    """F46: "at least 2 people", of whom one may be nobody."""
    policy = parsed({"age": "quasi-identifier", "ill": "sensitive"}, [{"k-anonymity": {"k": 2}}])
    found = [Finding("k-anonymity", True, {"k": 2}, {"k": 2}, ("age",))]
    assert "2 people" in decide_headline(found, policy, Recoded()).sentence
    assert "2 records" in decide_headline(found, policy, Recoded(counterfeits=1)).sentence


def test_truthfulness_names_counterfeits_and_columns_left_out(tmp_path: Path) -> None:
    """F9, F47: with counterfeits not all rows cover a record, and shifted dates are compared elsewhere."""
    from sfumato.kinds.tables.truthfulness import Truthfulness

    columns = {"age": "quasi-identifier", "ill": "sensitive"}
    policy = parsed(columns, [{"k-anonymity": {"k": 2}}])
    original = Table(pa.table({"age": ["30", "30"], "ill": ["flu", "gout"]}))
    part = Part(pa.table({"age": ["30"] * 3, "ill": ["flu", "gout", "flu"]}))
    view = ReleaseView(Recoded(counterfeits=1), {"data": part}, policy, original=original)
    found = Truthfulness().examine(view)
    assert (
        found.sentence
        == "Of 3 published records, all but the 1 declared counterfeit ones cover an original record each."
    )
    visits = {"patient": "identifier", "age": "quasi-identifier", "day": {"role": "other", "dates": {"shift": 5}}}
    visits["ill"] = {"role": "sensitive", "persistent": False}
    person = {"columns": "patient", "rows": "linked"}
    tree = parsed(visits, [{"k-anonymity": {"k": 2}}], person=person, method={"linked": {"groups": "mondrian"}})
    data = {"patient": list("1122"), "age": ["30"] * 4, "day": ["2024-01-0" + c for c in "1212"], "ill": list("abab")}
    made = sf.publish(tree, data=data, seed=secret(1))
    said = next(one for one in made.findings if one.model == "truthfulness")
    assert "in all columns but day" in said.sentence


def test_rules_that_nobody_judges_on_counted_rows_are_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """F6: one such rule made all of them violated; one that is broken is still found."""
    columns = {"a": "other", "b": {"role": "replaced", "domain": {"integers": [0, 9]}}}
    tree = {"version": 1, "columns": columns, "keep": ["b >= 0", "b <= 9"], "method": {"obfuscation": {}}}
    policy = sf.Policy.parse(tree)
    view = ReleaseView(Replaced(), {"data": Part(pa.table({"a": ["1"], "b": ["3"]}), np.array([2]))}, policy)
    broken = {"b >= 0": 0}

    def judged(exhibit: ReleaseView, rule: Any) -> int:
        if rule.text not in broken:
            raise NotAssessed(f'nobody judges "{rule.text}"')
        return broken[rule.text]

    monkeypatch.setattr(constraint_checks, "_broken", judged)
    found = constraint_checks.RulesKept().examine(view)
    assert found.open and "b <= 9" in found.reason
    broken["b >= 0"] = 2
    assert constraint_checks.RulesKept().examine(view).verdict is False
    broken["b <= 9"], broken["b >= 0"] = 0, 0
    assert constraint_checks.RulesKept().examine(view).verdict is True


def test_totals_that_nobody_adds_up_over_files_are_not_assessed() -> None:
    """F6: what cannot be judged on a cluster is no violation."""
    columns = {"b": {"role": "replaced", "domain": {"integers": [0, 9]}}}
    tree = {"version": 1, "columns": columns, "keep": ["median(b) >= 3"], "method": {"obfuscation": {}}}
    policy = sf.Policy.parse(tree)
    view = ReleaseView(Replaced(), {"data": Part(pa.table({"b": ["3"]}), np.array([2]))}, policy)
    (rule,) = constraint_checks.judged(view)
    with pytest.raises(NotAssessed, match="different rows with their counts"):
        constraint_checks._broken(view, rule)


def test_suppressed_baskets_are_judged_for_recipients(tmp_path: Path) -> None:
    """F20: a certificate that admits more suppressed sets than the policy allows was accepted without the original."""
    folder, original = copy_of("baskets", tmp_path)
    policy = (folder / "policy.yaml").read_text() + "utility: {suppress_at_most: 0.01}\n"
    (folder / "policy.yaml").write_text(policy)
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["records"] |= {"input": certificate["records"]["input"] + 9, "suppressed": 9}
    (folder / "certificate.json").write_text(json.dumps(certificate))
    redo(folder)
    found = finding(folder, "suppression")
    assert found.verdict is False and "9 of 69 records are suppressed, the policy allows 1.000%" in found.reason
    assert finding(folder, "suppression", original).verdict is False


def test_ledger_show_marks_what_was_not_assessed(tmp_path: Path) -> None:
    """F27: `show` printed a cross for what was not assessed or measured, `import` a tick."""
    from sfumato.ui.cli._output import findings_lines

    found = [
        Finding("k-map", True, {"k": 2}, {}, ("age",), grade="not judged", reason="give the table of it"),
        Finding("formulas", True, {}, {"cells": 0}, grade="measured"),
    ]
    marks = [unstyle(line).strip()[0] for line in findings_lines(found)]
    assert marks == ["?", "·"]


def test_what_stays_out_of_docstrings() -> None:
    """F10, F41: two docstrings promised checks that do not exist."""
    from sfumato.kinds.baskets import block_evidence, checks

    assert "hidden about as often as stated" not in (checks.__doc__ or "")
    assert "original alone: " not in (block_evidence.__doc__ or "") or "not assessed" in (block_evidence.__doc__ or "")
    assert examine_all.__doc__
