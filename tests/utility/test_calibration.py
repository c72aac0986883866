"""Calibrated survey weights and weighted queries, counted again by loops over records."""

from __future__ import annotations

import csv
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, Infeasible, PolicyError
from sfumato.kinds.tables.methods import recoding
from sfumato.kinds.tables.query_error import errors

COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": "quasi-identifier",
    "region": "other",
    "ill": "sensitive",
    "w": "other",
}


def survey(rows: int = 240, seed: int = 4) -> dict[str, list[str]]:
    rng = random.Random(seed)
    sex = [rng.choice("mmf") for _ in range(rows)]
    return {
        "age": [str(rng.randint(18, 79)) for _ in range(rows)],
        "sex": sex,
        "region": [rng.choice(["north", "south"]) for _ in range(rows)],
        "ill": [rng.choice("xyz") for _ in range(rows)],
        "w": [f"{rng.uniform(20, 90 if one == 'm' else 300):.2f}" for one in sex],
    }


def policy(method: str = "mondrian", k: int = 4, **population: Any) -> sf.Policy:
    said = {"weight": "w", "calibrate": ["region", "sex"], "round": 5} | population
    said = {name: value for name, value in said.items() if value}
    tree = {
        "version": 1,
        "columns": COLUMNS,
        "protect": [{"k-anonymity": {"k": k}}],
        "method": method,
        "population": said,
    }
    return sf.Policy.parse(tree | {"utility": {"suppress_at_most": "20%"}})


def published(made: sf.Publication) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = made.release.parts["data"].table.to_pylist()
    return rows


@pytest.mark.parametrize(("method", "k"), [("mondrian", 4), ("global", 7), ("clustering", 4)])
def test_totals_stay_true_and_weights_tell_nobody_apart(method: str, k: int, tmp_path: Path) -> None:
    data = survey()
    made = sf.publish(policy(method, k), data=data)
    rows = published(made)
    for name in ("region", "sex"):
        own, shown = Counter[str](), Counter[str]()
        for value, weight in zip(data[name], data["w"], strict=True):
            own[value] += float(weight)
        for row in rows:
            shown[row[name]] += float(row["w"])
        own, shown = (
            Counter({"": each.total()}) if "*" in shown else each for each in (own, shown)
        )  # a label that covers all
        assert all(abs(own[value] - shown[value]) <= max(5, 0.001 * own[value]) for value in own)
    alike: dict[tuple[str, ...], set[float]] = defaultdict(set)
    for row in rows:
        assert float(row["w"]) % 5 == 0 and float(row["w"]) > 0
        alike[row["age"], row["sex"], row["region"]].add(float(row["w"]))
    assert all(max(each) - min(each) <= 5 for each in alike.values())
    out = made.write(tmp_path / "out", report=False)
    assert not sf.verify(out).violated and sf.verify(out, original=data).holds  # a recipient cannot compare totals
    assert len(set(data["w"])) > 5 * len({row["w"] for row in rows})


def test_suppressed_people_are_counted_with_the_others() -> None:
    """Somebody who stands for 999 people cannot be published with a few others; the totals speak of them, too."""
    alone = {"age": "79", "sex": "f", "region": "south", "ill": "x", "w": "999"}
    data = {name: [*values, alone[name]] for name, values in survey(60).items()}
    columns = COLUMNS | {"age": COLUMNS["age"] | {"boundary": {"level": 1}}}
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 3}}], "method": "mondrian"}
    tree |= {"population": {"weight": "w", "calibrate": ["region"]}, "utility": {"suppress_at_most": "60%"}}
    made = sf.publish(sf.Policy.parse(tree), data=data)
    assert made.release.suppressed > 0
    assert sum(float(row["w"]) for row in published(made)) == pytest.approx(sum(map(float, data["w"])), abs=2)


def test_a_forged_weight_and_a_method_that_forgets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = survey()
    out = sf.publish(policy(), data=data).write(tmp_path / "out", report=False)
    with (out / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    alike = Counter((row["age"], row["sex"], row["region"]) for row in rows)
    forged = next(
        row for row in rows if alike[row["age"], row["sex"], row["region"]] > 1
    )  # alone, only totals would tell
    forged["w"] = str(float(forged["w"]) + 50)
    with (out / "data.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert "calibrated weights" in [finding.model for finding in sf.verify(out).findings if not finding.holds]
    with monkeypatch.context() as patch, pytest.raises(AuditRefused, match="calibrated weights"):
        patch.setattr(recoding, "raked", lambda weights, margins: weights * 1.1)
        patch.setattr(recoding, "_require_kept", lambda *given: None)
        sf.publish(policy(), data=data)
    with monkeypatch.context() as patch, pytest.raises(AuditRefused, match="look alike"):
        patch.setattr(recoding, "raked", lambda weights, margins: np.array([float(w) for w in data["w"]]))
        patch.setattr(recoding, "_require_kept", lambda *given: None)
        sf.publish(policy(round=0.01), data=data)


def test_what_cannot_be_calibrated_is_refused() -> None:
    bins = np.array([0, 0, 1])
    with pytest.raises(Infeasible, match="no weights above zero"):
        recoding.raked(np.ones(3), [(bins, np.array([5.0, 5.0])), (np.array([0, 1, 1]), np.array([8.0, 2.0]))])
    assert recoding.raked(np.ones(3), [(bins, np.array([6.0, 4.0]))]).tolist() == [3, 3, 4]
    with pytest.raises(Infeasible, match="stand for nobody"):
        sf.publish(policy(round=5000), data=survey())
    with pytest.raises(PolicyError, match="role 'other'"):
        policy(weight="age")
    with pytest.raises(PolicyError, match="not published"):
        policy(calibrate=["income"])
    with pytest.raises(PolicyError, match="needs 'weight'"):
        policy(weight=None, fraction=0.5)
    with pytest.raises(PolicyError, match="recoded table"):
        sf.publish(policy("anatomy"), data=survey())


def test_weighted_queries_are_measured() -> None:
    """By loops over both tables, for one column at a time; and as many people as records where every weight is 1."""
    data = survey(300)
    made = sf.publish(policy(k=4), data=data)
    rows = published(made)
    own, shown = np.array([float(w) for w in data["w"]]), np.array([float(row["w"]) for row in rows])
    found = errors(made.exhibit, 40, 1, 0.4, weights=(shown, own))
    unweighted = errors(made.exhibit, 40, 1, 0.4)
    plain = []
    rng = np.random.default_rng(0)
    domains = made.exhibit.recoded | {"ill": None}
    for _ in range(40):
        name = list(domains)[int(rng.choice(len(domains), size=1, replace=False)[0])]
        domain = domains[name]
        leaves = list(domain.leaves) if domain is not None else sorted(set(data[name]))
        width = max(1, round(0.4 * len(leaves)))
        start = int(rng.integers(0, len(leaves) - width + 1))
        asked = set(leaves[start : start + width])
        truth = sum(weight for value, weight in zip(data[name], own, strict=True) if value in asked)
        guess = 0.0
        for row, weight in zip(rows, shown, strict=True):
            span = domain.interval(row[name]) if domain is not None else None
            below = [row[name]] if span is None else leaves[span[0] : span[1]]
            guess += weight * sum(value in asked for value in below) / len(below)
        plain.append(abs(guess - truth) / max(truth, 0.001 * own.sum()))
    assert found == pytest.approx(plain) and not np.allclose(found, unweighted)
    ones = sf.publish(policy(calibrate=[], round=None), data=data | {"w": ["1"] * 300})
    assert ones.utility["weighted_query_error"] == ones.utility["query_error"]
