"""Numbers four ways: every method at the risk that was asked for, figures by their definitions, and what cannot be
compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import PolicyError
from sfumato.workflow.explore.numeric_methods import SETTINGS, explore_numbers, figures, found
from tests.command_line import run

ROLES = {
    "columns": {
        "height": {"role": "replaced", "domain": {"integers": [0, 300]}},
        "income": "quasi-identifier",
        "town": "other",
    }
}


def people(count: int = 30) -> dict[str, list[str]]:
    rng = np.random.default_rng(4)
    height = rng.normal(170, 9, count)
    income = 20 * (height - 170) + rng.normal(3000, 200, count)
    return {
        "height": [str(round(value)) for value in height],
        "income": [f"{value:.2f}" for value in income],
        "town": ["here"] * count,
    }


@pytest.fixture(scope="module")
def trials():
    return explore_numbers({"version": 1} | ROLES, people(), risk=0.3)


def test_all_four_stand_at_the_risk_that_was_asked_for(trials):
    assert [trial.method for trial in trials] == list(SETTINGS)
    done = [trial for trial in trials if trial.figures is not None]
    assert len(done) >= 3
    assert all(trial.risk <= 0.3 and trial.setting in SETTINGS[trial.method] for trial in done)
    assert all(trial.figures["moved"] > 0 for trial in done)


def test_microaggregation_narrows_and_noise_widens():
    """So many people, and so little risk, that chance cannot turn it round."""
    trials = explore_numbers({"version": 1} | ROLES, people(300), risk=0.02)
    spread = {trial.method: trial.figures["spread"] for trial in trials if trial.figures}
    assert spread["microaggregation"] < 1 < spread["noise"]
    assert spread["swapping"] == pytest.approx(1)


def test_figures_and_risk_by_their_definitions():
    before = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 41.0], [5.0, 50.0], [6.0, 60.0]])
    same = figures(before, before)
    assert (same["spread"], same["relation"], same["queries"], same["moved"]) == (1, 0, 0, 0)
    assert found(before, before) == 1
    turned = figures(before, before[::-1])
    assert turned["relation"] == pytest.approx(0) and turned["moved"] > 1
    mean = np.tile(before.mean(axis=0), (6, 1))
    assert found(before, mean) == pytest.approx(1 / 6)


def test_nothing_to_change_is_said():
    with pytest.raises(PolicyError, match="no column of numbers"):
        explore_numbers({"version": 1, "columns": {"town": "quasi-identifier"}}, {"town": ["a", "b", "c", "d"]})
    with pytest.raises(PolicyError, match="in a table"):
        explore_numbers({"version": 1, "data": {"kind": "graph"}, "protect": []}, None)


def test_the_command_tells_all_four(tmp_path: Path) -> None:
    table = people(24)
    lines = ["height,income,town", *(",".join(row) for row in zip(*table.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    tree = {"version": 1, "data": {"source": "people.csv"}} | ROLES
    (tmp_path / "policy.yaml").write_text(json.dumps(tree))
    told = run("explore", str(tmp_path / "policy.yaml"), "--numbers", "--risk", "0.6", "--json")
    assert [way["method"] for way in json.loads(told.stdout)["methods"]] == list(SETTINGS)
