"""What cannot be had is refused with the reason and with a level that can: never as a defect, and never with an empty
promise."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import sfumato as sf
from tests.house.brute import claim_of, columns_of, satisfies, savable
from tests.house.cases import random_case
from tests.slow import SLOW

REPLACED = {"version": 1, "method": {"obfuscation": {}}}


def replaced(keep: list[str], *, domain: dict[str, Any] | None = None, **more: Any) -> sf.Policy:
    columns = {"g": "other", "a": {"role": "replaced", "domain": domain or {"integers": [0, 2]}}}
    return sf.Policy.parse(REPLACED | {"columns": columns, "keep": keep} | more)


DATA = {"g": ["x", "x", "y"], "a": ["2", "0", "1"]}


@pytest.mark.parametrize("heuristic", ["LM", "LM*", "IG"])
@pytest.mark.parametrize("engine", ["direct", "blocks"])
@pytest.mark.parametrize(
    "keep",
    [
        ["same_multiset(a)", "a in {0, 1}"],
        ["same_multiset(a)", "max(a) = 1"],
        ["same_multiset(a)", "count(a = 1) = 3"],
        ["same_multiset(a)", "sum(a) = 7"],
        ["same_multiset(a)", "at_least(2, a)"],
        ["a < 1", "a > 1"],
        ["sum(a) = 100"],
        ["unique(a)", "a <= 1"],
        ["g determines a", "unique(a)"],
    ],
)
def test_contradictory_rules(keep: list[str], engine: str, heuristic: str) -> None:
    policy = replaced(keep, method={"obfuscation": {"heuristic": heuristic, "engine": engine, "block": 2}})
    with pytest.raises(sf.Infeasible) as caught:
        sf.publish(policy, data=DATA)
    assert "defect" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("heuristic", ["LM", "LM*", "IG"])
def test_same_values_under_a_rule_that_some_order_of_them_keeps(heuristic: str) -> None:
    """IG makes tables from nothing; values that are to stay are exchanged instead."""
    for engine in ("direct", "blocks"):
        policy = replaced(
            ["same_multiset(a)", "a[1] <= a[2]"], method={"obfuscation": {"heuristic": heuristic, "engine": engine}}
        )
        made = sf.publish(policy, data=DATA | {"a": ["0", "2", "1"]})
        assert sorted(made.release.parts["data"].table.column("a").to_pylist()) == ["0", "1", "2"]


@pytest.mark.parametrize("level", [{"p-sensitivity": {"p": 4}}, {"l-diversity": {"l": 4, "kind": "frequency"}}])
def test_a_claim_that_rules_and_domains_do_not_leave(level: dict[str, Any]) -> None:
    claim = {"given": ["g"], "hide": "a", "by": level}
    for method in ({}, {"heuristic": "IG", "engine": "blocks"}):
        with pytest.raises(sf.Infeasible, match="does not keep what is asked"):
            sf.publish(replaced(["a <= 2"], protect=[claim], method={"obfuscation": method}), data=DATA)


def test_the_belief_about_a_release_is_the_same_whenever_it_is_judged(tmp_path: Path) -> None:
    """Reverse engineering draws worlds; the draws depend on what is judged and on nothing else."""
    data = {"g": ["x", "y"] * 30, "a": [str(n % 3) for n in range(60)]}
    claim = {"given": ["g"], "hide": "a", "by": {"l-diversity": {"l": 1.5, "kind": "frequency"}}}
    method = {"obfuscation": {"engine": "blocks", "block": 20}}
    folder = sf.publish(replaced(["sum(a) = 60"], protect=[claim], method=method), data=data).write(
        tmp_path / "out", report=False
    )
    found = [sf.verify(folder).findings[0] for _ in range(3)]
    assert found[0].grade.startswith("estimate")
    assert found[0] == found[1] == found[2]


def test_columns_that_hide_each_other_are_withheld_or_refused() -> None:
    """Nothing is visible here: all columns are hidden, and they are not to stand side by side."""
    columns = dict.fromkeys("ab", "other")
    tree = {"version": 1, "columns": columns, "protect": ["a -> b : 2-diversity", "b -> a : 2-diversity"]}
    policy = sf.Policy.parse(tree | {"method": {"multi-sensitive": {}}})
    with pytest.raises(sf.Infeasible, match="no group of records"):
        sf.publish(policy, data={"a": ["1", "2", "3", "4"], "b": ["1", "2", "3", "4"]})
    made = sf.publish(policy, data={"a": ["1", "1", "2", "2", "9"], "b": ["1", "2", "1", "2", "9"]})
    assert made.certificate.holds
    assert made.certificate.records.suppressed == 1


def offered(error: sf.Infeasible) -> dict[str, dict[str, Any]] | None:
    """The claim that an error says can be had."""
    found = re.search(r"([\w-]+ \{.*?\}) is the most", error.hint)
    return None if found is None else {(words := found[1].split(" ", 1))[0]: yaml.safe_load(words[1])}


WITH_ONE_LEVEL = [
    "k-anonymity",
    "p-sensitivity",
    "k-linkability",
    "k-diversity",
    "distinct",
    "frequency",
    "entropy",
    "equal",
]


def test_a_small_table_whose_original_breaks_a_rule_is_made_at_once() -> None:
    """Block by block nothing can be modified; the whole table as one block can."""
    policy = replaced(["a[1] < a[2]"], method={"obfuscation": {"heuristic": "LM", "block": 2}})
    made = sf.publish(policy, data=DATA | {"a": ["2", "0", "1"]})
    assert made.certificate.holds
    first, second = (made.release.trace.rows["data"].tolist().index(record) for record in (0, 1))
    values = made.release.parts["data"].table.column("a").to_pylist()
    assert int(values[first]) < int(values[second])


def test_the_level_that_is_named_can_be_had_and_nothing_above_it() -> None:
    """With the claim lowered to it there is a release; with whole levels, one more is one too many. Judged by the
    definitions."""
    named = 0
    for seed in range(20_000, 20_300 if SLOW else 20_090):
        models = random.Random(seed).sample(WITH_ONE_LEVEL, 1 + seed % 2)
        policy, records = random_case(seed, models)
        data = {name: [record[name] for record in records] for name in records[0]}
        try:
            sf.publish(sf.Policy.parse({**policy, "method": {"mondrian": {}}}), data=data)
            continue
        except sf.Infeasible as error:
            level = offered(error)
        if level is None:
            assert len(models) > 1, f"seed {seed}"
            continue
        named += 1
        sf.publish(sf.Policy.parse(lowered(policy, level) | {"method": {"mondrian": {}}}), data=data)
        ((model, figures),) = level.items()
        if model in ("k-anonymity", "p-sensitivity", "k-linkability"):
            ((key, value),) = figures.items()
            assert savable(records, lowered(policy, {model: {key: value + 1}})) == 0, f"seed {seed}"
    assert named > 6


def lowered(policy: dict[str, Any], claim: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The policy with this claim in the place of the one of the same model and kind."""
    ((model, level),) = claim.items()
    claims = list(policy["protect"])
    alike = [place for place, each in enumerate(claims) if model in each and _sort(each[model]) == _sort(level)]
    claims[alike[0]] = {model: claims[alike[0]][model] | level}
    return {**policy, "protect": claims}


def _sort(level: dict[str, Any]) -> tuple[Any, Any]:
    return level.get("kind", "distinct"), level.get("distance", "equal")


def test_the_enumeration_knows_when_a_claim_fails() -> None:
    policy, records = random_case(20_001, ["k-anonymity"])
    one = lowered(policy, {"k-anonymity": {"k": 1}})
    columns = columns_of(one)
    assert savable(records, one) == len(records)
    assert satisfies(records, records, *claim_of(one["protect"][0], columns)[1:])
