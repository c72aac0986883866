"""What analysts ask for: figures against counts by hand, and models against data where the answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.workflow.report import write_report
from tests.secret import SEED, secret


def people(rows: int = 600) -> dict[str, list[str]]:
    rng = np.random.default_rng(SEED)
    age = rng.integers(20, 80, rows)
    sex = rng.choice(["m", "f"], rows)
    rich = (age + 20 * (sex == "m") + rng.normal(0, 5, rows)) > 58
    return {"age": age.astype(str).tolist(), "sex": sex.tolist(), "rich": np.where(rich, "yes", "no").tolist()}


def policy(method: dict[str, object], k: int = 5) -> sf.Policy:
    columns = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": "quasi-identifier",
        "rich": "sensitive",
    }
    return sf.Policy.parse({"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": k}}], "method": method})


def test_figures_are_those_counted_by_hand() -> None:
    data = {"age": ["20", "21", "22", "23"], "sex": ["m", "m", "m", "f"], "rich": ["yes", "no", "no", "no"]}
    made = sf.publish(policy({"global": {}}, 4), data=data)
    shown = made.release.parts["data"].table
    assert set(shown.column("sex").to_pylist()) == {"*"}
    found = sf.measure(made, parameters={"analysis": True})
    assert found["distribution_distance"]["sex"] == pytest.approx(0.25)  # half and half instead of three and one
    assert found["distribution_distance"]["rich"] == pytest.approx(0.0)
    assert found["means"]["age"]["original"] == pytest.approx(21.5)
    assert found["means"]["age"]["release"] == pytest.approx(21.5)
    assert found["means"]["age"]["total_error"] == pytest.approx(0.0)
    # pairs sex × rich: (m yes 1/4, m no 2/4, f no 1/4) against (each sex half of yes 1/4 and of no 3/4)
    pair = (abs(1 / 8 - 1 / 4) + abs(3 / 8 - 2 / 4) + abs(3 / 8 - 1 / 4) + 1 / 8) / 2
    age_sex = (3 * abs(1 / 8 - 1 / 4) + 1 / 8 * 3 + abs(1 / 8 - 1 / 4) + 1 / 8) / 2
    age_rich = (abs(1 / 16 - 1 / 4) + 3 / 16 + 3 * (abs(3 / 16 - 1 / 4) + 1 / 16)) / 2
    assert set(shown.column("age").to_pylist()) != {"20", "21", "22", "23"}
    assert found["pair_distance"] == pytest.approx((pair + age_sex + age_rich) / 3)
    assert "means" not in sf.measure(made, parameters={"queries": 5})


def test_averages_keep_means_and_lose_little_correlation() -> None:
    data = people() | {"pay": [str(int(age) * 10) for age in people()["age"]]}
    columns = {"age": "quasi-identifier", "pay": "quasi-identifier", "sex": "quasi-identifier", "rich": "sensitive"}
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [{"k-anonymity": {"k": 5}}],
        "method": {"microaggregation": {}},
    }
    found = sf.publish(sf.Policy.parse(tree), data=data).utility
    assert found["means"]["age"]["mean_error"] < 1e-4
    assert found["correlation_error"] < 0.05
    assert 0 <= found["variance_lost"] < 0.2


def test_survey_weights_weigh_means_and_totals() -> None:
    """Four people stand for 10, 20, 30 and 40; weights are rounded to 20 in the release, and ages are one range."""
    data = {"age": ["20", "30", "40", "50"], "w": ["10", "20", "30", "40"], "rich": ["yes", "no", "no", "no"]}
    columns = {
        "age": "quasi-identifier",
        "w": {"role": "quasi-identifier", "hierarchy": {"round": 20}},
        "rich": "sensitive",
    }
    claim = {"given": ["age"], "by": {"k-anonymity": {"k": 1}}}
    tree = {"version": 1, "columns": columns, "protect": [claim], "population": {"weight": "w"}, "method": "mondrian"}
    made = sf.publish(sf.Policy.parse(tree), data=data)
    assert sorted(made.release.parts["data"].table.column("w").to_pylist()) == ["20", "20", "40", "40"]
    found = sf.measure(made, parameters={"analysis": True})["means"]["age"]
    assert found["original"] == pytest.approx((20 * 10 + 30 * 20 + 40 * 30 + 50 * 40) / 100)
    assert found["release"] == pytest.approx((20 * 20 + 30 * 20 + 40 * 40 + 50 * 40) / 120)
    assert found["total_error"] == pytest.approx(4600 / 4000 - 1, rel=1e-4)
    hidden = sf.publish(sf.Policy.parse({**tree, "columns": {**columns, "w": "identifier"}}), data=data)
    unweighted = sf.measure(hidden, parameters={"analysis": True})["means"]["age"]
    assert unweighted["release"] == pytest.approx(35) and unweighted["mean_error"] == pytest.approx(5 / 40)


def test_queries_count_people_of_the_population() -> None:
    """Rounded weights of two men and two women; weights that are not shown count as the mean of those that are."""
    data = {"sex": ["m", "m", "f", "f"], "w": ["10", "20", "31", "42"], "rich": ["yes", "no", "no", "no"]}
    columns = {
        "sex": "quasi-identifier",
        "w": {"role": "quasi-identifier", "hierarchy": {"round": 20}},
        "rich": "sensitive",
    }
    tree = {"version": 1, "columns": columns, "protect": [{"given": ["sex"], "by": {"k-anonymity": {"k": 2}}}]}
    with pytest.raises(sf.PolicyError, match="no survey weights"):
        sf.estimate(sf.publish(sf.Policy.parse(tree), data=data)).count({"sex": "m"}, weighted=True)
    tree |= {"population": {"weight": "w"}}
    asked = sf.estimate(sf.publish(sf.Policy.parse(tree), data=data))
    assert asked.count({"sex": "m"}) == pytest.approx(2)
    assert asked.count({"sex": "m"}, weighted=True) == pytest.approx(20 + 20)
    assert asked.count({"sex": "f"}, weighted=True) == pytest.approx(40 + 40)
    assert asked.count({"rich": "yes"}, weighted=True) == pytest.approx(20)
    columns["w"] = {"role": "quasi-identifier", "hierarchy": "flat"}
    tree["protect"] = [{"given": ["w"], "by": {"k-anonymity": {"k": 2}}}]
    some = sf.estimate(sf.publish(sf.Policy.parse(tree), data=data | {"w": ["20", "20", "40", "99"]}))
    assert some.count({"sex": "f"}, weighted=True) == pytest.approx(20 + 20)
    tree["protect"] = [{"given": ["w"], "by": {"k-anonymity": {"k": 4}}}]
    with pytest.raises(sf.PolicyError, match="can be read"):
        sf.estimate(sf.publish(sf.Policy.parse(tree), data=data)).count({"sex": "m"}, weighted=True)


def test_the_private_report_tells_analysts_what_they_get(tmp_path: Path) -> None:
    data = people(200)
    sf.publish(policy({"mondrian": {}}), data=data, seed=secret(5)).write(tmp_path / "release")
    page = write_report(tmp_path / "release", data, tmp_path / "page.html", analysis=True, predict="rich").read_text(
        encoding="utf-8"
    )
    found = sf.measure(tmp_path / "release", original=data, parameters={"analysis": True})
    told = page[page.index("What analysts get") :]
    assert f"{found['means']['age']['release']:,.5g}" in told and "20.1 %" in told
    assert found["distribution_distance"]["age"] == pytest.approx(0.201, abs=0.0005)
    assert f"{found['pair_distance']:.3g}" in told and "gradient boosting" in told and "auc" in told
    assert "What analysts get" not in (tmp_path / "release" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["mondrian", "microaggregation"])
def test_models_learn_from_releases(method: str) -> None:
    pytest.importorskip("sklearn")
    data = people()
    train = {name: column[:400] for name, column in data.items()}
    held = {name: column[400:] for name, column in data.items()}
    made = sf.publish(policy({method: {}}), data=train)
    found = sf.measure(made, parameters={"predict": "rich", "held_out": held})["prediction"]
    for model in ("logistic regression", "gradient boosting"):
        assert found["original"][model]["auc"] > 0.9
        assert 0.8 < found["release"][model]["auc"] <= 1
    swapped = {**train, "rich": train["rich"][::-1]}
    nothing = sf.measure(
        sf.publish(policy({method: {}}), data=swapped), parameters={"predict": "rich", "held_out": held}
    )
    assert nothing["prediction"]["release"]["gradient boosting"]["auc"] < 0.75


def test_a_number_is_predicted_as_a_number() -> None:
    pytest.importorskip("sklearn")
    data = people()
    found = sf.measure(sf.publish(policy({"mondrian": {}}), data=data), parameters={"predict": "age"})["prediction"]
    assert found["original"]["gradient boosting"]["r2"] > 0.2
    with pytest.raises(sf.PolicyError, match="no column"):
        sf.measure(sf.publish(policy({"mondrian": {}}), data=data), parameters={"predict": "agee"})
