"""Findings say what was checked: a figure counts what its name says, and what was not compared is said to be open."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audit.certify import examine_all, judge_claims
from sfumato.data.table import Table
from sfumato.kinds.tables.checks import OnePseudonymEach
from sfumato.kinds.tables.evidence import PerturbedReading
from sfumato.kinds.tables.form import Microaggregated, PerturbedTable, Recoded
from sfumato.kinds.tables.truthfulness import Truthfulness
from sfumato.models.t_closeness import TCloseness
from sfumato.release.folder import provenance_path
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.secret import secret
from tests.trust.every_form import copy_of, redo, release_of

POLICY = sf.Policy.parse(
    {
        "version": 1,
        "columns": {"age": "quasi-identifier", "ward": "other", "illness": "sensitive"},
        "protect": [{"k-anonymity": {"k": 2}}],
    }
)


def finding(folder: Path, model: str, original: Any = None) -> sf.Finding:
    return next(one for one in sf.verify(folder, original=original).findings if one.model == model)


def counted(form: Any, beside: tuple[str, ...] = ()) -> ReleaseView:
    part = Part(pa.table({"age": ["30", "40"], "illness": ["flu", "gout"]}), np.array([2, 2]), beside)
    return ReleaseView(form, {"data": part}, POLICY)


def test_claims_on_counted_rows_that_nobody_reads_are_left_open() -> None:
    """F6: they were violations, although nothing was refuted."""
    (found,) = judge_claims(counted(Microaggregated()))
    assert found is not None and found.open
    assert "counted rows" in found.reason
    assert not [one for one in examine_all(counted(Microaggregated())) if one.model == "averages" and not one.holds]


def test_a_claim_on_a_perturbed_table_is_violated_and_not_open_at_once() -> None:
    """F7."""
    view = ReleaseView(PerturbedTable(how="noise", columns=("age",)), {}, POLICY)
    found = PerturbedReading().judge(view, POLICY.claims[0])
    assert found.verdict is False and not found.open


def test_rows_that_cover_nobody_are_counted_beside_what_was_not_compared() -> None:
    """F8: the number of wrong rows was lost where columns stood beside the classes."""
    original = Table(pa.table({"age": ["30", "30", "50", "50"], "illness": ["flu", "flu", "gout", "gout"]}))
    view = replace(counted(Recoded(), ("ward",)), original=original)
    found = Truthfulness().examine(view)
    assert found.verdict is False and found.achieved["rows"] == 2
    assert "1 column(s) beside the classes" in found.reason
    right = Table(pa.table({"age": ["30", "30", "40", "40"], "illness": ["flu", "flu", "gout", "gout"]}))
    assert Truthfulness().examine(replace(view, original=right)).open


def test_averages_of_groups_need_provenance(tmp_path: Path) -> None:
    """F11: without it only totals were compared, and the finding was exact."""
    folder, original = release_of("microaggregated table")
    assert provenance_path(folder).exists()
    assert finding(folder, "averages", original).verdict is True
    copy, _ = copy_of("microaggregated table", tmp_path)
    assert finding(copy, "averages", original).open


def test_calibrated_totals_need_the_original(tmp_path: Path) -> None:
    """F13: for a recipient totals are not compared."""
    rng = random.Random(2)
    data = {
        "sex": [rng.choice("FM") for _ in range(60)],
        "age": [str(rng.randint(20, 29)) for _ in range(60)],
        "w": ["10"] * 60,
    }
    columns = {
        "sex": "quasi-identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
        "w": "other",
    }
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 5}}], "method": "mondrian"}
    tree |= {"population": {"weight": "w", "calibrate": ["sex"]}}
    folder = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(2)).write(tmp_path / "out", report=False)
    assert finding(folder, "calibrated weights").open
    assert finding(folder, "calibrated weights", data).verdict is True


def test_columns_that_rules_tie_are_not_tested_for_echoes(tmp_path: Path) -> None:
    """F18: they were left out silently, and 0 of 0 columns held."""
    columns = {"a": "other", "b": {"role": "replaced", "domain": {"integers": [0, 90]}}}
    tree = {"version": 1, "columns": columns, "keep": ["b >= a"], "method": {"obfuscation": {}}}
    data = {"a": [str(n % 7) for n in range(40)], "b": [str(n % 9 + 10) for n in range(40)]}
    made = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(2))
    echo = next(one for one in made.findings if one.model == "echo")
    assert echo.verdict is None and echo.achieved == {"tested": 0, "skipped": 1}


def test_published_records_that_are_miscounted_are_said_to_be(tmp_path: Path) -> None:
    """F19: "5 records are suppressed, the certificate says 5"."""
    folder, original = copy_of("recoded table", tmp_path)
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["records"] |= {
        "input": certificate["records"]["input"] + 3,
        "published": certificate["records"]["published"] + 3,
    }
    (folder / "certificate.json").write_text(json.dumps(certificate))
    redo(folder)
    found = finding(folder, "suppression", original)
    assert found.verdict is False and found.achieved["miscounted"] == 3
    assert "120 records are published, the certificate says 123" in found.reason


def test_pseudonyms_and_people_that_are_mixed_up_are_counted(tmp_path: Path) -> None:
    """F38: three people under one pseudonym are one pseudonym of several people."""
    columns = {
        "patient": "identifier",
        "age": "quasi-identifier",
        "illness": {"role": "sensitive", "persistent": False},
    }
    policy = sf.Policy.parse({"version": 1, "columns": columns, "person": {"columns": "patient", "rows": "linked"}})
    original = Table(pa.table({"patient": ["a", "b", "c", "d"], "age": ["1"] * 4, "illness": ["x"] * 4}))
    from sfumato.kinds.tables.form import LinkedTable
    from sfumato.release.release import Provenance

    rows = {"data": np.arange(4)}
    for called, mixed in ((["1", "2", "3", "4"], 0), (["1", "1", "1", "4"], 1)):
        part = Part(pa.table({"person": called, "age": ["1"] * 4, "illness": ["x"] * 4}))
        view = ReleaseView(LinkedTable(), {"data": part}, policy, original=original, trace=Provenance(rows))
        assert OnePseudonymEach().examine(view).achieved["mixed"] == mixed


def test_ordered_closeness_with_missing_values_is_a_bound(tmp_path: Path) -> None:
    """M6: a missing value is moved first, and the numbers then, so the distance is never below the earth mover's."""
    data = {"age": [str(20 + n % 4) for n in range(40)], "pay": ["", "1", "2", "3", "4"] * 8}
    columns = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}}, "pay": "sensitive"}
    for missing, grade in (("", "bound (at most this)"), ("0", "exact")):
        tree = {
            "version": 1,
            "columns": columns,
            "protect": [{"t-closeness": {"t": 0.5, "distance": "ordered"}}],
            "method": "mondrian",
        }
        given = {**data, "pay": [pay or missing for pay in data["pay"]]}
        folder = sf.publish(sf.Policy.parse(tree), data=given).write(tmp_path / f"out{missing}", report=False)
        assert finding(folder, "t-closeness").grade == grade
        assert not sf.verify(folder, original=given).violated
        assert sf.verify(folder).holds


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_the_bound_lies_above_the_earth_movers_distance(distance: str) -> None:
    """By linear programming on random classes: a missing value is one apart from everything else."""
    from scipy.optimize import linprog

    from sfumato.models.base import Example, example_classes

    del Example
    rng = random.Random(5)
    loose = 0
    for _ in range(40):
        words = ["".join(rng.choice("123-") for _ in range(rng.randint(1, 5))) for _ in range(2)]
        linkage = example_classes(*words)
        labels = tuple("" if label == "-" else label for label in linkage.spread["value"].labels)
        linkage = replace(linkage, spread={"value": replace(linkage.spread["value"], labels=labels)})
        found = TCloseness(t=1.0, distance=distance).achieved(linkage)["t"]
        numbers = sorted(label for label in labels if label)
        if distance == "ordered" and not numbers:
            continue
        whole = np.array(["".join(words).count(label or "-") for label in labels]) / len("".join(words))
        cost = np.array([[_apart(one, other, numbers, distance) for other in labels] for one in labels])
        worst = 0.0
        for word in words:
            own = np.array([word.count(label or "-") for label in labels]) / len(word)
            size = len(labels)
            out = np.kron(np.eye(size), np.ones(size))
            into = np.kron(np.ones(size), np.eye(size))
            worst = max(
                worst, linprog(cost.reshape(-1), A_eq=np.vstack([out, into]), b_eq=np.concatenate([own, whole])).fun
            )
        assert found >= worst - 1e-6
        loose += found > worst + 1e-6
        exact = not TCloseness(t=1.0, distance=distance).is_bound(linkage)
        assert not exact or abs(found - worst) < 1e-5
    assert (loose > 0) == (distance == "ordered")


def _apart(one: str, other: str, numbers: list[str], distance: str) -> float:
    if one == other:
        return 0.0
    if distance == "equal" or not one or not other:
        return 1.0
    return abs(numbers.index(one) - numbers.index(other)) / max(len(numbers) - 1, 1)
