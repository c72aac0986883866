"""What a policy says about columns that matter more: importance, and the most general level that is allowed."""

from __future__ import annotations

import random
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.errors import Infeasible, PolicyError
from tests.secret import SEED

DATES = {"dates": ["month", "quarter", "year", "decade"]}


def people(rows: int = 400) -> dict[str, list[str]]:
    rng = random.Random(1)
    return {
        "age": [str(rng.randint(18, 80)) for _ in range(rows)],
        "born": [f"19{rng.randint(40, 99)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}" for _ in range(rows)],
        "zip": [f"{rng.randint(10000, 10399)}" for _ in range(rows)],
        "illness": [rng.choice("abcd") for _ in range(rows)],
    }


def policy(born: Any = None, method: str = "refined", **utility: Any) -> sf.Policy:
    columns = {
        "age": "quasi-identifier",
        "born": {"role": "quasi-identifier", "hierarchy": DATES, **(born or {})},
        "zip": {"role": "quasi-identifier", "hierarchy": {"prefix": 5}},
        "illness": "sensitive",
    }
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 4}}], "effort": "quick"}
    return sf.Policy.parse(tree | {"method": {method: {}}, "utility": utility})


@pytest.mark.parametrize("method", ["refined", "mondrian", "global", "optimal"])
@pytest.mark.parametrize("column", ["age", "born", "zip"])
def test_an_important_column_loses_less_and_the_release_is_certified(method: str, column: str) -> None:
    data = people(150 if method == "optimal" else 400)
    plain = sf.publish(policy(method=method), data=data, seed=SEED)
    steered = sf.publish(policy(method=method, importance={column: 20}), data=data, seed=SEED)
    assert steered.certificate.holds
    before, after = (sf.measure(each, original=data)["loss_by_column"] for each in (plain, steered))
    assert after[column] < before[column] or (method, after[column]) == ("global", before[column])
    assert steered.release.trace.optimality is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("importance", "says"),
    [
        ({"birth": 3}, "'birth' has an importance and is no quasi-identifier"),
        ({"illness": 3}, "is no quasi-identifier"),
        ({"age": 0}, "must be weights above 0"),
        ({"age": -1}, "must be weights above 0"),
    ],
)
def test_an_importance_without_effect_is_refused(importance: dict[str, float], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        policy(importance=importance)


def test_a_method_that_does_not_weigh_columns_refuses_an_importance() -> None:
    with pytest.raises(PolicyError, match=r"utility\.importance"):
        sf.publish(policy(method="clustering", importance={"age": 2}), data=people())


@pytest.mark.parametrize("level", ["year", 3])
def test_no_value_is_more_general_than_the_named_level(level: int | str) -> None:
    data = people()
    publication = sf.publish(policy({"at_most": level}), data=data, seed=SEED)
    shown = publication.release.parts["data"].table["born"].to_pylist()
    assert not [label for label in shown if label == "*" or label.endswith("s")]
    boundary = next(one for one in publication.certificate.findings if one.model == "boundaries")
    assert boundary.holds


def test_a_level_that_cannot_be_kept_is_infeasible() -> None:
    with pytest.raises(Infeasible):
        sf.publish(policy({"at_most": "day"}, suppress_at_most=0), data=people())


@pytest.mark.parametrize(
    ("born", "says"),
    [
        ({"at_most": "century"}, "no level 'century'"),
        ({"at_most": "year", "boundary": {"level": 2}}, "a boundary and 'at_most'"),
        ({"at_most": -1}, "at least 0"),
        ({"hierarchy": {"prefix": 4}, "at_most": "year"}, "write its number"),
        ({"hierarchy": "ranges", "at_most": 1}, "no hierarchy"),
    ],
)
def test_a_level_that_the_hierarchy_does_not_have_is_refused_before_data_is_read(born: Any, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        policy(born)


def test_the_width_of_default_intervals_is_a_level() -> None:
    tree = {
        "version": 1,
        "columns": {"age": {"role": "quasi-identifier", "at_most": "width 10"}, "illness": "sensitive"},
        "protect": [{"k-anonymity": {"k": 3}}],
    }
    publication = sf.publish(sf.Policy.parse(tree), data=people(), seed=SEED)
    assert "*" not in publication.release.parts["data"].table["age"].to_pylist()
    with pytest.raises(PolicyError, match="width 5, width 10, width 50"):
        sf.publish(sf.Policy.parse({**tree, "columns": {"age": {**tree["columns"]["age"], "at_most": "width 7"}}}),  # type: ignore[index]
                   data=people())  # fmt: skip


def test_a_draft_in_python_says_the_same() -> None:
    draft = sf.Policy.table().quasi("born", hierarchy=DATES, at_most="year").importance(born=3)
    read = draft.protect(sf.k_anonymity(3)).policy()
    assert read.utility.importance == {"born": 3}
    assert read.columns["born"].boundary == {"level": "year"}
