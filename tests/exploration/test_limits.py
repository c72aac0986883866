"""What limits a column is what was put there to limit it; candidates side by side are counted again on plain rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.errors import PolicyError
from sfumato.data.table import Table
from sfumato.policy.policy import Policy
from sfumato.workflow.explore.comparison import compare, why_coarse
from sfumato.workflow.explore.explore import explore
from sfumato.workflow.explore.variants import Sweep
from sfumato.workflow.publish import publish

TOWNS = {"*": {"South": ["Ulm", "Augsburg"], "North": ["Kiel", "Emden"]}}


def policy(protect: list[Any], town: dict[str, Any] | None = None) -> Policy:
    columns = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        "town": {"role": "quasi-identifier", "hierarchy": TOWNS} | (town or {}),
        "illness": "sensitive",
    }
    return Policy.parse({"version": 1, "columns": columns, "protect": protect, "method": {"mondrian": {}}})


def people(rows: list[tuple[str, str, str]]) -> Table:
    ages, towns, ills = zip(*rows, strict=True)
    return Table(pa.table({"age": list(ages), "town": list(towns), "illness": list(ills)}))


PLAIN = [
    (age, town, ill) for age in ("31", "32") for town in ("Ulm", "Augsburg", "Kiel", "Emden") for ill in ("flu", "gout")
] * 2


def test_values_that_few_people_have() -> None:
    """One person of 95 keeps the ages of all who stand with them wide; without that person nothing is lost."""
    table = people([*PLAIN, ("95", "Ulm", "flu")])
    found = why_coarse(policy([{"k-anonymity": {"k": 4}}]), "age", table)
    first = found.limits[0]
    assert (first.kind, first.records, first.loss) == ("rare values", 1, 0.0)
    assert found.loss > 0 and "fewer than 4" in found.sentence


def test_a_boundary_of_another_column() -> None:
    """Towns may not rise, so ages have to."""
    rows = [(age, town, "flu") for age in ("31", "45", "62", "78") for town in ("Ulm", "Augsburg", "Kiel", "Emden")]
    bounded = policy([{"k-anonymity": {"k": 4}}], {"boundary": ["Ulm", "Augsburg", "Kiel", "Emden"]})
    found = why_coarse(bounded, "age", people(rows))
    limits = {limit.kind: limit for limit in found.limits}
    assert found.loss == 1.0
    assert limits["boundary"].what == "the boundary of 'town'" and limits["boundary"].records == 16
    assert limits["boundary"].gain(found.loss) > 0
    free = why_coarse(policy([{"k-anonymity": {"k": 4}}]), "age", people(rows))
    assert "boundary" not in {limit.kind for limit in free.limits}
    assert free.loss == limits["boundary"].loss


def test_one_claim_of_two() -> None:
    """Everybody has a twin in age and town, but twins share their illness: diversity is what costs."""
    rows = [
        (age, "Ulm", ill)
        for age, ill in (("31", "flu"), ("45", "gout"), ("62", "cold"), ("78", "fever"))
        for _ in range(4)
    ]
    claims = [{"k-anonymity": {"k": 2}}, {"l-diversity": {"l": 2}}]
    found = why_coarse(policy(claims), "age", people(rows))
    assert (found.limits[0].kind, found.limits[0].loss, found.limits[0].note) == ("claim", 0.0, "dropped")
    assert found.limits[0].what.startswith("the claim l-diversity")
    assert {limit.gain(found.loss) for limit in found.limits[1:]} == {0.0}


def test_a_column_that_is_published_as_it_is() -> None:
    found = why_coarse(policy([{"k-anonymity": {"k": 2}}]), "town", people(PLAIN))
    assert found.loss == 0.0 and "as it is" in found.sentence and found.nodes == () and found.classes == ()


def test_classes_stand_for_several_people() -> None:
    found = why_coarse(
        policy([{"k-anonymity": {"k": 5}}]), "age", people([*PLAIN, ("95", "Ulm", "flu"), ("12", "Kiel", "gout")])
    )
    assert found.classes and min(cell.records for cell in (*found.classes, *found.nodes)) >= 5
    assert set(found.classes[0].cells) == {"age", "town"}


def test_only_quasi_identifiers_are_asked_about() -> None:
    with pytest.raises(PolicyError, match="no quasi-identifier"):
        why_coarse(policy([{"k-anonymity": {"k": 2}}]), "illness", people(PLAIN))


def test_a_budget_leaves_limits_untried() -> None:
    found = why_coarse(policy([{"k-anonymity": {"k": 4}}]), "age", people([*PLAIN, ("95", "Ulm", "flu")]), budget=0.0)
    assert {limit.note for limit in found.limits} == {"not tried: no time left"} and "all of them" in found.sentence


def test_sides_are_what_plain_rows_say() -> None:
    table = people([*PLAIN, ("95", "Ulm", "flu"), ("12", "Kiel", "gout")])
    candidates = {str(k): policy([{"k-anonymity": {"k": k}}]) for k in (2, 6)}
    found = compare(candidates, table)
    rows = [(row["age"], row["town"]) for row in table.frame.to_pylist()]
    assert found.before.k == min(Counter(rows).values()) == 1
    assert found.before.risk.average == len(set(rows)) / len(rows)
    for name, each in candidates.items():
        part = publish(each, table).release.parts["data"].table.to_pylist()
        published = Counter((row["age"], row["town"]) for row in part)
        side = found.after[name]
        assert (side.k, side.classes, side.risk.highest) == (
            min(published.values()),
            len(published),
            1 / min(published.values()),
        )
        assert sum(size.records for size in side.sizes) == len(part) == side.records
        ages = Counter(row["age"] for row in part)
        assert dict(side.columns["age"].top) == dict(ages.most_common(5)) and side.columns["age"].values == len(ages)
        assert sum(side.columns["age"].spread) == pytest.approx(len(part), rel=1e-4)
    assert found.before.columns["age"].spread == (1.0, 16.0, 16.0, 1.0)


def test_baskets_are_explored_and_remembered_by_what_they_hold(tmp_path: Path) -> None:
    policy = Policy.parse(
        {
            "version": 1,
            "data": {"kind": "baskets"},
            "protect": [{"k-anonymity": {"k": 3}}],
            "method": {"nonreciprocal": {}},
        }
    )
    shop = [["tea", "rice"], ["tea"], ["rice", "soap"], ["soap"], ["tea", "soap"], ["rice"]] * 3
    first = explore(policy, shop, sweep=Sweep({"k": (2, 3)}), folder=tmp_path)
    done = [point for point in first.points if point.status == "published"]
    assert first.records == 18 and done and all(point.query_error is not None and point.loss is None for point in done)
    again = explore(policy, shop, sweep=Sweep({"k": (2, 3)}), folder=tmp_path, budget=0)
    assert {point.status for point in again.points} <= {"published", "infeasible"}  # nothing was run anew
    other = explore(policy, [*shop[1:], ["salt"]], sweep=Sweep({"k": (2, 3)}), folder=tmp_path, budget=0)
    assert {point.status for point in other.points} == {"not run"}
