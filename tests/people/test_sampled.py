"""`private_sampling`: the level of a draw beside a plain enumeration of what is published with and without one
person."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import scipy

import sfumato as sf
from sfumato.kinds.tables.methods import private_sampling
from sfumato.models.differential_privacy import DifferentialPrivacy, Sampling, exceptions

AGES = {"*": {"young": ["20", "30"], "old": ["40", "50", "60"]}}


def outcomes(n: int, beta: float, k: int) -> dict[int, float]:
    """How many of n records of a cell are published: nothing below k."""
    found: dict[int, float] = {}
    for j in range(n + 1):
        shown = j if j >= k else 0
        found[shown] = found.get(shown, 0.0) + math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
    return found


def beyond(one: dict[int, float], other: dict[int, float], epsilon: float) -> float:
    """By how much one probability exceeds e^ε times the other, over the worst set of outcomes."""
    return sum(max(chance - math.exp(epsilon) * other.get(shown, 0.0), 0.0) for shown, chance in one.items())


@pytest.mark.parametrize(
    ("beta", "k", "epsilon"), [(0.3, 4, 0.5), (0.5, 3, 1.0), (0.1, 2, 0.2), (0.6, 12, 1.0), (0.39, 8, 0.5)]
)
def test_a_person_more_or_less_changes_no_more(beta: float, k: int, epsilon: float) -> None:
    """For cells of up to 80 records, in both directions."""
    delta = exceptions(Sampling(beta, k), epsilon)
    assert delta < 1
    for n in range(1, 80):
        with_, without = outcomes(n, beta, k), outcomes(n - 1, beta, k)
        assert beyond(with_, without, epsilon) <= delta + 1e-12
        assert beyond(without, with_, epsilon) <= delta + 1e-12


def test_a_threshold_less_is_not_enough_everywhere() -> None:
    """The computed δ is no idle number: with half the threshold some cell exceeds it."""
    delta = exceptions(Sampling(0.5, 20), 1.0)
    worst = max(beyond(outcomes(n, 0.5, 8), outcomes(n - 1, 0.5, 8), 1.0) for n in range(1, 60))
    assert worst > delta


def test_a_draw_that_is_too_likely_has_no_level() -> None:
    assert exceptions(Sampling(0.7, 1000), 1.0) == 1.0 and exceptions(Sampling(0.3, 50, 0.9), 1.0) == 1.0


def test_the_threshold_is_the_smallest_that_is_enough() -> None:
    model = DifferentialPrivacy(epsilon=1.0, delta=1e-4)
    k = model.threshold(0.4, 0.1)
    assert exceptions(Sampling(0.4, k, 0.1), 1.0) <= 1e-4 < exceptions(Sampling(0.4, k - 1, 0.1), 1.0)


def policy(**method: Any) -> sf.Policy:
    columns = {
        "name": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": AGES},
        "sex": "quasi-identifier",
        "ill": "sensitive",
    }
    protect = [{"differential-privacy": {"epsilon": 2.0, "delta": 0.001}}]
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": protect, "method": {"sampled": method}})


def people(rows: int = 3000) -> dict[str, list[str]]:
    draw = random.Random(4)
    return {
        "name": [str(i) for i in range(rows)],
        "age": [draw.choice(["20", "30", "40", "50", "60"]) for _ in range(rows)],
        "sex": [draw.choice("mf") for _ in range(rows)],
        "ill": [draw.choice(["flu", "gout"]) for _ in range(rows)],
    }


@pytest.mark.parametrize("method", [{}, {"levels": {"age": 1}}, {"fraction": 0.4}], ids=str)
def test_a_release_holds_and_says_what_is_the_methods_word(method: dict[str, Any], tmp_path: Path) -> None:
    publication = sf.publish(policy(**method), data=people())
    publication.write(tmp_path / "out", report=False)
    found = sf.verify(tmp_path / "out")
    assert found.holds and sf.verify(tmp_path / "out", original=people()).holds
    assert "if records were drawn as the manifest says" in found.findings[0].grade
    assert publication.certificate.records.input == len(
        publication.release.parts["data"]
    )  # the size of the original is not told
    assert "3000" not in (tmp_path / "out" / "certificate.json").read_text()


def test_a_threshold_that_rows_do_not_reach_is_found(tmp_path: Path) -> None:
    sf.publish(policy(), data=people()).write(tmp_path / "out", report=False)
    manifest = tmp_path / "out" / "manifest.json"
    tree = json.loads(manifest.read_text())
    tree["public"]["threshold"] = 10_000
    manifest.write_text(json.dumps(tree))
    assert sf.verify(tmp_path / "out").violated


def test_a_level_that_labels_do_not_stand_at_is_found(tmp_path: Path) -> None:
    sf.publish(policy(levels={"age": 1}), data=people()).write(tmp_path / "out", report=False)
    manifest = tmp_path / "out" / "manifest.json"
    tree = json.loads(manifest.read_text())
    assert tree["public"]["levels"]["age"] == 1 and sf.verify(tmp_path / "out").holds
    tree["public"]["levels"]["age"] = 0
    manifest.write_text(json.dumps(tree))
    found = sf.verify(tmp_path / "out")
    assert found.violated and "not written at the declared level" in str([finding.reason for finding in found.findings])


def test_a_method_that_forgets_the_threshold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = private_sampling._drawn
    monkeypatch.setattr(
        private_sampling,
        "_drawn",
        lambda task, form, ladders: _with(form, whole(task, form.with_public(threshold=1), ladders)),
    )
    with pytest.raises(sf.AuditRefused):
        sf.publish(policy(levels={"age": 0}), data=people(400))


def _with(form: Any, release: Any) -> Any:
    from dataclasses import replace

    return replace(release, form=form)


def test_levels_that_depend_on_the_data_are_refused() -> None:
    columns = {"age": {"role": "quasi-identifier", "hierarchy": "ranges"}}
    protect = [{"differential-privacy": {"epsilon": 1.0, "delta": 0.001}}]
    with pytest.raises(sf.PolicyError, match="would depend on the data"):
        sf.publish(
            sf.Policy.parse({"version": 1, "columns": columns, "protect": protect, "method": "sampled"}),
            data={"age": ["1"]},
        )


@pytest.mark.parametrize(("beta", "k", "epsilon"), [(0.3, 7, 0.6), (0.05, 4, 0.2), (0.6, 12, 1.5), (0.2, 30, 0.9)])
def test_the_largest_size_below_the_threshold_stands_for_all_smaller_ones(beta: float, k: int, epsilon: float) -> None:
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    sizes = range(k, int(20 * k / gamma))
    worst = max(float(scipy.stats.binom.sf(max(k, math.floor(gamma * n + 1e-12) + 1) - 1, n, beta)) for n in sizes)
    assert exceptions(Sampling(beta, k), epsilon) == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize(
    ("drawn", "epsilon"),
    [
        (Sampling(0.5, 10**12), 1.0),
        (Sampling(1e-12, 10**6), 1e-6),
        (Sampling(1 - math.exp(-1), 10), 1.0),
        (Sampling(1e-12, 1), 1e-6),
        (Sampling(1e-300, 10**30), 20.0),
        (Sampling(0.3, 10), -math.log1p(-0.3) + 1e-13),
    ],
)
def test_whatever_a_folder_says_a_level_is_soon_found(drawn: Sampling, epsilon: float) -> None:
    assert 0 <= exceptions(drawn, epsilon) <= 1
