"""Perturbing methods: what stays, what changes, what can be undone on average, and how often a nearest row is found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.kinds.tables.checks import UnchangedColumns
from sfumato.kinds.tables.linkage_attacks import LinkageAttack
from sfumato.kinds.tables.recovery import recover_table
from tests.secret import SEED

ROWS = 1500
METHODS = ["swapping", "shuffling", "noise", "pram"]


def people() -> dict[str, list[str]]:
    rng = np.random.default_rng(SEED)
    age = rng.normal(45, 12, ROWS).round()
    pay = (age * 50 + rng.normal(0, 400, ROWS)).round(1)
    work = np.where(rng.random(ROWS) < 0.3 + 0.4 * (age > 45), "office", "field")
    return {
        "age": [f"{value:.0f}" for value in age],
        "pay": [f"{value:.1f}" for value in pay],
        "work": work.tolist(),
        "tenure": [f"{value:.0f}" for value in (age - 20 + rng.normal(0, 3, ROWS))],
    }


def policy(name: str, **settings: Any) -> sf.Policy:
    columns = {"age": "quasi-identifier", "pay": "quasi-identifier", "work": "sensitive", "tenure": "other"}
    return sf.Policy.parse({"version": 1, "columns": columns, "method": {name: settings}})


def made(name: str, **settings: Any) -> sf.Publication:
    return sf.publish(policy(name, **settings), data=people())


@pytest.mark.parametrize("name", METHODS)
def test_what_is_said_to_stay_stays(name: str, tmp_path: Path) -> None:
    data, publication = people(), made(name, **({"columns": ["work", "age"]} if name == "pram" else {}))
    rows, behind = publication.release.parts["data"].table.to_pydict(), publication.release.trace.rows["data"].tolist()
    changed = publication.release.form.columns  # type: ignore[attr-defined]
    for column in data:
        own = [data[column][record] for record in behind]
        if column not in changed:
            assert rows[column] == own
        else:
            assert sum(a != b for a, b in zip(rows[column], own, strict=True)) > ROWS // 20
            assert name in ("noise", "pram") or Counter(rows[column]) == Counter(own)
    assert publication.certificate.holds
    assert any("no privacy guarantee" in sentence for sentence in publication.certificate.assumptions)
    publication.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out", original=data).holds


def test_a_changed_column_is_found() -> None:
    from dataclasses import replace

    from sfumato.release.release import Part

    publication = made("swapping")
    table = publication.release.parts["data"].table
    for column in ("work", "age"):
        cells = table.column(column).to_pylist()
        other = next(cell for cell in cells if cell != cells[0])
        spoilt = table.set_column(table.column_names.index(column), column, [[other, *cells[1:]]])
        assert not UnchangedColumns().examine(replace(publication.exhibit, parts={"data": Part(spoilt)})).holds


def test_ranks_that_change_places_are_near() -> None:
    data, publication = people(), made("swapping", window=0.02)
    behind, shown = (
        publication.release.trace.rows["data"],
        publication.release.parts["data"].table.column("pay").to_pylist(),
    )
    own = np.array([float(data["pay"][record]) for record in behind.tolist()])
    new = np.array([float(cell) for cell in shown])
    ordered = np.sort(own)
    apart = np.abs(np.searchsorted(ordered, own) - np.searchsorted(ordered, new))
    assert apart.max() <= 0.02 * ROWS + np.unique(own, return_counts=True)[1].max()
    assert np.corrcoef(own, new)[0, 1] > 0.99


def test_noise_is_taken_off_again() -> None:
    data, publication = people(), made("noise", amount=0.5)
    pair = np.array([[float(v) for v in data["age"]], [float(v) for v in data["pay"]]])
    figures = recover_table(publication)["figures"]
    assert figures["variance of age"]["estimate"] == pytest.approx(pair[0].var(), rel=0.15)
    assert figures["correlation of age and pay"]["estimate"] == pytest.approx(np.corrcoef(pair)[0, 1], abs=0.05)
    assert figures["mean of pay"]["estimate"] == pytest.approx(
        pair[1].mean(), abs=5 * figures["mean of pay"]["standard_error"]
    )
    shown = np.array([float(v) for v in publication.release.parts["data"].table.column("age").to_pylist()])
    assert shown.var() > 1.3 * pair[0].var()


def test_tables_of_two_columns_are_corrected() -> None:
    rng = np.random.default_rng(SEED)
    first = rng.choice(["a", "b", "c"], 6000, p=[0.6, 0.3, 0.1])
    second = np.where(rng.random(6000) < 0.85, first, "a")
    columns = {"x": "quasi-identifier", "y": "quasi-identifier"}
    told = sf.Policy.parse({"version": 1, "columns": columns, "method": {"pram": {"keep": 0.7}}})
    publication = sf.publish(told, data={"x": first.tolist(), "y": second.tolist()})
    table = publication.release.parts["data"].table
    seen = Counter(zip(table.column("x").to_pylist(), table.column("y").to_pylist(), strict=True))
    truth = Counter(zip(first.tolist(), second.tolist(), strict=True))
    corrected = recover_table(publication)["figures"]["x × y"]
    pairs = [(a, b) for a in "abc" for b in "abc"]
    off = sum(abs(corrected[a][b] - truth[a, b]) for a, b in pairs)
    assert off < 0.35 * sum(abs(seen[pair] - truth[pair]) for pair in pairs)
    shares = Counter(table.column("x").to_pylist())
    assert all(abs(shares[value] / 6000 - (first == value).mean()) < 0.03 for value in "abc")


def test_shuffling_keeps_what_other_columns_say() -> None:
    publication = made("shuffling", columns=["pay"])
    data, table = people(), publication.release.parts["data"].table
    behind = publication.release.trace.rows["data"].tolist()
    own = np.array([[float(data[name][record]) for record in behind] for name in ("age", "pay")])
    new = np.array([float(cell) for cell in table.column("pay").to_pylist()])
    ranks = np.argsort(np.argsort(own, axis=1), axis=1)
    dealt = np.argsort(np.argsort(new))
    assert np.corrcoef(ranks[0], dealt)[0, 1] == pytest.approx(np.corrcoef(ranks[0], ranks[1])[0, 1], abs=0.08)


def test_risk_is_measured_and_falls_with_noise(tmp_path: Path) -> None:
    found = []
    for amount in (0.0001, 1.0):
        publication = made("noise", amount=amount)
        found.append(LinkageAttack(target="", original="").play(publication.exhibit))
    assert found[0]["linked_to_their_row"] > 0.5 > 10 * found[1]["linked_to_their_row"]
    assert found[0]["grade"].startswith("estimate")


@pytest.mark.parametrize("name", METHODS)
def test_promises_are_refused(name: str) -> None:
    columns = {"age": "quasi-identifier", "pay": "quasi-identifier", "work": "sensitive"}
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 2}}], "method": {name: {}}}
    with pytest.raises(sf.PolicyError, match="chance keeps no promise"):
        sf.publish(sf.Policy.parse(tree), data=people())
