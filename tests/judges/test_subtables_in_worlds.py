"""Random small tables and rules, published as sub-tables and anatomies: every certificate that holds is true in all
worlds."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from tests.judges.subtable_cases import METHODS, policy_of, random_rules, verdicts
from tests.judges.subtables import Sheet, Unjudged, beliefs, satisfied
from tests.secret import secret
from tests.slow import SLOW

CASES, MOST_WORLDS = (3_000, 50_000) if SLOW else (60, 4_000)


def publish(data: dict, rules: list[dict], method: str, seed: int) -> sf.Publication:
    return sf.publish(sf.Policy.parse(policy_of(data, rules, method)), data=pa.table(data), seed=secret(seed))


@pytest.mark.parametrize("method", METHODS)
def test_every_certificate_that_holds_is_true_in_all_worlds(method: str, tmp_path: Path) -> None:
    chance, seen = random.Random(f"worlds of {method}"), Counter[str]()
    for place in range(CASES):
        data, rules = random_rules(chance, method, 6 if SLOW else 5, closeness=chance.random() < 0.3)
        try:
            made = publish(data, rules, method, place)
        except (sf.Infeasible, sf.PolicyError) as error:
            seen[type(error).__name__] += 1
            continue
        folder = made.write(tmp_path / "out")
        try:
            found = verdicts(folder, rules, MOST_WORLDS)
            assert all(found), (data, rules, found)
            seen["judged"] += 1
        except Unjudged:
            seen["unjudged"] += 1
        shutil.rmtree(folder)
        for beside in tmp_path.iterdir():
            beside.unlink()
    assert seen["judged"] >= CASES // 6, seen


def test_the_judge_finds_buckets_that_are_split_by_value(tmp_path: Path) -> None:
    """The planted defect: rows of one value share a bucket. Every hidden value can be read, and the judge says so."""
    chance, found = random.Random(5), 0
    for _ in range(40):
        shown = [(f"{place}",) for place in range(4)]
        values = [chance.choice("xy") for _ in shown]
        buckets = tuple("1" if value == "x" else "2" for value in values)
        lists = {
            number: Counter({(value,): values.count(value)})
            for number, value in (("1", "x"), ("2", "y"))
            if value in values
        }
        sheet = Sheet(("a",), tuple(shown), buckets, ((("d",), lists),))
        found += not satisfied("l-diversity", {"l": 2}, beliefs([sheet], ["a"], ["d"]))
    assert found == 40


def test_the_judge_finds_a_column_beside_what_is_known(tmp_path: Path) -> None:
    """The planted defect of a published folder: the hidden column is written into the table of the known one."""
    data = {
        "a": ["a0", "a0", "a1", "a1"],
        "b": ["b0", "b1", "b0", "b1"],
        "c": ["c0", "c1", "c2", "c3"],
        "d": ["d0"] * 4,
    }
    rules = [{"given": ["a"], "hide": "b", "by": {"l-diversity": {"l": 2, "kind": "frequency"}}}]
    folder = publish(data, rules, "single-attribute", 1).write(tmp_path / "out")
    assert verdicts(folder, rules) == [True]
    table = next(file for file in folder.glob("table-*.csv") if file.read_text().startswith("a"))
    table.write_text("a,b\na0,b0\na0,b0\na1,b1\na1,b1\n")
    assert verdicts(folder, rules) == [False]


def test_the_judge_finds_a_distribution_that_is_far_in_order_or_tree() -> None:
    """Values that are near in the equal distance and far by their order, and the other way round."""
    shown, lists = ("0", "0", "1", "1"), {"1": Counter({("d0",): 1, ("d2",): 1}), "2": Counter({("d1",): 2})}
    sheet = Sheet(("a",), tuple((value,) for value in shown), ("1", "1", "2", "2"), ((("d",), lists),))
    seen = beliefs([sheet], ["a"], ["d"])
    far = {"distance": "ordered", "order": ["d0", "d2", "d1"]}  # the mass moves one step or two of two
    assert satisfied("t-closeness", {"t": 0.38, **far}, seen)
    assert not satisfied("t-closeness", {"t": 0.37, **far}, seen)
    near = {"distance": "hierarchical", "tree": {"any": {"x": ["d0"], "y": ["d1", "d2"]}}}
    assert satisfied("t-closeness", {"t": 0.38, **near}, seen)
    assert not satisfied("t-closeness", {"t": 0.37, **near}, seen)
