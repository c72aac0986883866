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
from tests.judges.subtables import Sheet, Unjudged, beliefs, beliefs_of, read_release, records_in_worlds, satisfied
from tests.secret import secret
from tests.slow import SLOW

CASES, MOST_WORLDS = (3_000, 50_000) if SLOW else (60, 4_000)
METHODS = ("guardian", "utility-aware", "single-attribute", "anatomy")
MODELS = [
    ("l-diversity", {"l": 2}), ("l-diversity", {"l": 3}), ("l-diversity", {"l": 2, "kind": "frequency"}),
    ("l-diversity", {"l": 1.5, "kind": "frequency"}), ("l-diversity", {"l": 1.7, "kind": "entropy"}),
    ("l-diversity", {"l": 2, "kind": "recursive", "c": 2}), ("p-sensitivity", {"p": 2}), ("t-closeness", {"t": 0.2}),
    ("t-closeness", {"t": 0.4}), ("beta-likeness", {"beta": 0.5}), ("delta-disclosure", {"delta": 1.0}),
]  # fmt: skip


def case(chance: random.Random, method: str) -> tuple[dict, list[dict]]:
    """A table of four columns and four to six rows, and one to three rules; of an anatomy one or two sensitive
    columns."""
    rows = chance.randint(4, 6 if SLOW else 5)
    data = {name: [f"{name}{chance.randrange(chance.choice([2, 3]))}" for _ in range(rows)] for name in "abcd"}
    if method == "anatomy":
        secret_columns = chance.choice(["d", "cd"])
        given = ["a", "b"]
        rules = [{"given": given, "hide": name, "by": dict([chance.choice(MODELS)])} for name in secret_columns]
        return data, rules
    rules = []
    for _ in range(chance.randint(1, 3)):
        hide = chance.sample("abcd", chance.choice([1, 1, 1, 2]))
        given = chance.sample([name for name in "abcd" if name not in hide], chance.choice([1, 2]))
        rule = {"given": given, "hide": hide if len(hide) > 1 else hide[0], "by": dict([chance.choice(MODELS)])}
        rules += [rule] if rule not in rules else []
    return data, rules


def publish(data: dict, rules: list[dict], method: str, seed: int) -> sf.Publication:
    hidden = {rule["hide"] for rule in rules} if method == "anatomy" else set()
    roles = {
        name: ("sensitive" if name in hidden else "quasi-identifier") if method == "anatomy" else "other"
        for name in data
    }
    return sf.publish(
        sf.Policy.parse({"version": 1, "columns": roles, "protect": rules, "method": method}),
        data=pa.table(data),
        seed=secret(seed),
    )


def judged(folder: Path, rules: list[dict]) -> list[bool]:
    """For every rule whether all possible worlds keep it."""
    records = records_in_worlds(read_release(folder, rules[-1]["hide"][0]), MOST_WORLDS)
    found = []
    for rule in rules:
        ((model, level),) = rule["by"].items()
        found.append(satisfied(model, level, beliefs_of(records, rule["given"], list(rule["hide"]))))
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_certificate_that_holds_is_true_in_all_worlds(method: str, tmp_path: Path) -> None:
    chance, seen = random.Random(f"worlds of {method}"), Counter[str]()
    for place in range(CASES):
        data, rules = case(chance, method)
        try:
            made = publish(data, rules, method, place)
        except (sf.Infeasible, sf.PolicyError) as error:
            seen[type(error).__name__] += 1
            continue
        folder = made.write(tmp_path / "out")
        try:
            verdicts = judged(folder, rules)
            assert all(verdicts), (data, rules, verdicts)
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
    assert judged(folder, rules) == [True]
    table = next(file for file in folder.glob("table-*.csv") if file.read_text().startswith("a"))
    table.write_text("a,b\na0,b0\na0,b0\na1,b1\na1,b1\n")
    assert judged(folder, rules) == [False]
