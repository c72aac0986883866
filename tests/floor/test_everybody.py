"""Claims about a population whose table is at hand: the floor reads it by itself, and defects of shared ground are seen
there."""

from __future__ import annotations

import csv
import random
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audit import recount
from sfumato.audit.recount.definitions import NotRecounted
from sfumato.audit.recount.files import read_people
from sfumato.audit.recount.population import labels_for
from sfumato.core.errors import AuditRefused, ReleaseError
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.table import Table
from sfumato.io.hierarchy_files import build_generalization, save_hierarchy
from sfumato.io.value_coding import Coding
from sfumato.models import delta_presence
from sfumato.models.k_map import KMap
from sfumato.policy import generalizations
from sfumato.policy.sections import SampledPopulation
from sfumato.release.certificate import Finding
from tests.floor.test_mutations import method
from tests.secret import secret

TREE = {"all": {"south": ["Bari", "bari"], "north": ["Turin", "Asti"]}}
COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi-identifier", "hierarchy": {"top": 60, "intervals": [10, 20]}},
    "city": {"role": "quasi-identifier", "hierarchy": TREE},
    "ill": "sensitive",
}
PRESENCE = [{"delta-presence": {"at_least": 0.05, "at_most": 0.7}}]
ATTACKERS = [
    {"k-map": {"k": 6}},
    {"average-risk": {"risk": 0.2, "attacker": "journalist"}},
    {"profitability": {"benefit": 2, "loss": 4, "gain": 9, "cost": 1, "game": "journalist"}},
]


def world(folder: Path, separator: str = ",") -> dict[str, list[str]]:
    """A table of 40 of 90 people; everybody's ages and cities stand in a file."""
    rng = random.Random(8)
    people = [[str(rng.randint(18, 79)), rng.choice(["Bari", "bari", "Turin", "Asti"])] for _ in range(90)]
    with (folder / "everybody.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator).writerows([["age", "city"], *people])
    chosen = rng.sample(people, 40)
    return {
        "age": [age for age, _ in chosen],
        "city": [city for _, city in chosen],
        "ill": [rng.choice("xyz") for _ in chosen],
    }


def policy(folder: Path, protect: list[Any], method: str) -> sf.Policy:
    tree = {
        "version": 1,
        "columns": COLUMNS,
        "protect": protect,
        "method": method,
        "population": {"file": "everybody.csv"},
    }
    return sf.Policy.parse({**tree, "utility": {"suppress_at_most": 0.3}}, base=folder)


def refused(folder: Path, protect: list[Any], method: str) -> str:
    try:
        sf.publish(policy(folder, protect, method), data=world(folder), seed=secret(1))
    except AuditRefused as error:
        return error.what
    return ""


def texts(people: Table, name: str) -> list[str]:
    column = people.text(name)
    return [column.labels[code] for code in column.codes.tolist()]


def twice(old: Any, self: Any, *given: Any) -> Table:
    people = old(self, *given)
    return Table(pa.table({name: [*texts(people, name), *texts(people, name)] for name in people.names}))


def everything_below(old: Any, self: Any, label: str) -> Any:
    found = old(self, label)
    return found if found is None or found[1] - found[0] == 1 else (0, self.size)


def lower_top(old: Any, self: Any, value: str) -> Any:
    return "≥60" if value.isdigit() and int(value) >= 40 else old(self, value)


Mutation = tuple[str, Callable[[pytest.MonkeyPatch], object], list[Any], str]
"""A defect, how it is planted, and claims and method under which it shows."""
MUTATIONS: list[Mutation] = [
    ("everybody is read twice", lambda patch: method(patch, SampledPopulation, "read", twice), ATTACKERS, "mondrian"),
    (
        "four people less are enough",
        lambda patch: [
            patch.setattr(KMap, "satisfied", lambda self, link: link.candidates >= self.k - 4),
            patch.setattr(KMap, "people_behind", property(lambda self: self.k - 4)),
        ],
        ATTACKERS[:1],
        "mondrian",
    ),
    (
        "a label holds everybody",
        lambda patch: method(patch, Hierarchy, "interval", everything_below),
        ATTACKERS,
        "mondrian",
    ),
    ("the top lies lower than it says", lambda patch: method(patch, Coding, "coded", lower_top), ATTACKERS, "mondrian"),
    (
        "half of the rows are overlooked",
        lambda patch: method(
            patch, delta_presence.DeltaPresence, "achieved", lambda old, self, link: halved(old(self, link))
        ),
        PRESENCE,
        "global",
    ),
    ("everybody is read twice", lambda patch: method(patch, SampledPopulation, "read", twice), PRESENCE, "global"),
]


def halved(level: dict[str, Any]) -> dict[str, Any]:
    return {name: value / 2 + 0.05 * (name == "at_least") for name, value in level.items()}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[one[0].replace(" ", "-") for one in MUTATIONS])
def test_a_defect_in_shared_ground_is_refused_by_the_floor(
    mutation: Mutation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, plant, protect, method = mutation
    assert not refused(tmp_path, protect, method)
    monkeypatch.setattr(Finding, "__post_init__", lambda self: None)
    monkeypatch.setattr(generalizations, "_KEPT", OrderedDict())
    plant(monkeypatch)
    assert " floor: " in refused(tmp_path, protect, method), name


@pytest.mark.parametrize("separator", [",", ";"])
def test_the_floor_counts_what_verify_says(separator: str, tmp_path: Path) -> None:
    data = world(tmp_path, separator)
    for protect, way in ((ATTACKERS, "mondrian"), (PRESENCE, "global")):
        out = sf.publish(policy(tmp_path, protect, way), data=data).write(tmp_path / way, report=False)
        seen = sf.verify(out, population=tmp_path / "everybody.csv")
        assert seen.holds
        said = [finding.to_json() for finding in seen.findings]
        assert recount.disagreements(out, said, None, tmp_path / "everybody.csv") == []
        assert all(each.counted is False for each in recount.recount(out))
        wrong = [said[0] | {"achieved": {name: value + 0.1 for name, value in said[0]["achieved"].items()}}, *said[1:]]
        assert recount.disagreements(out, wrong, None, tmp_path / "everybody.csv")
        people = list(
            csv.DictReader((tmp_path / "everybody.csv").read_text(encoding="utf-8").splitlines(), delimiter=separator)
        )
        assert sf.verify(out, population=pa.Table.from_pylist(people)).holds


SPECS: list[tuple[Any, list[str]]] = [
    (None, ["1", "7", "12", "19", "33", "48", "007", "x", ""]),
    (None, ["1", "7", "12", "19", "33", "48", "5-9"]),
    ("flat", ["a", "b", ""]),
    ("ranges", ["-3", "-1.5", "0", "2", "10", "1.1e1"]),
    ({"intervals": ["5", "10"]}, ["-7", "0", "4", "5", "19", ""]),
    ({"intervals": ["0.5", "2"]}, ["-0.2", "0.5", "0.49", "1.75"]),
    ({"cuts": [["0", "18", "65", "120"], ["0", "65", "120"]]}, ["0", "17", "18", "64", "65", "119"]),
    ({"prefix": "3"}, ["71000", "71999", "8", "80", ""]),
    ({"dates": ["month", "quarter", "year", "decade"]}, ["2021-01-02", "2020-12-31", "1999-07-04T10:30", ""]),
    ({"dates": ["week"]}, ["2021-01-02", "2020-12-31", "2021-01-04"]),
    ({"order": ["none", "mild", "hard", "worst", "all to one"]}, ["none", "mild", "hard", "worst", "all to one"]),
    (TREE, ["Bari", "Asti", "Turin", "bari", ""]),
    (
        {"top": "90", "bottom": "18", "round": "5"},
        ["3", "18", "19", "42", "43", "47", "62", "88", "89", "90", "93", ""],
    ),
    ({"round": "2.5", "intervals": ["10"]}, ["-1", "1.25", "-1.25", "3.7", "12", "0"]),
    ({"recode": {"Bari": "bari", "Rome": ""}, **TREE}, ["Bari", "bari", "Asti", "Rome"]),
    ({"recode": {"NY": "East", "CA": "West"}}, ["NY", "CA", "TX", ""]),
]


@pytest.mark.parametrize(("written", "values"), SPECS, ids=[str(place) for place in range(len(SPECS))])
def test_a_label_fits_the_same_values_on_both_sides(written: Any, values: list[str], tmp_path: Path) -> None:
    """Every label of the tree, and texts that are none, against every value."""
    domain = build_generalization(written, values, column="x")
    wide = [(lo, hi) for lo in range(domain.size) for hi in range(lo + 1, domain.size + 1)]
    made = {
        domain.label(int(lo[0]), int(hi[0])) for lo, hi in (domain.close(np.array([a]), np.array([b])) for a, b in wide)
    }
    labels = {*made, *values, "*", "7****", "nobody", "mild to nobody"}
    found = labels_for(written, tmp_path, values, labels)
    for value in values:
        for label in labels:
            span, leaf = domain.interval(label), domain.code_of[value]
            assert (label in found[value]) == (span is not None and span[0] <= leaf < span[1]), (label, value)


def test_files_of_a_release_lists_and_strangers(tmp_path: Path) -> None:
    save_hierarchy(Hierarchy.from_paths([("a;b", 'q"', "*"), ("", 'q"', "*"), ("c", "p", "*")]), tmp_path / "tree.csv")
    found = labels_for("tree.csv", tmp_path, ["a;b", "", "c", "strange"], ['q"', "p", "*"])
    assert found == {"a;b": {'q"', "*"}, "": {'q"', "*"}, "c": {"p", "*"}, "strange": frozenset()}
    with pytest.raises(NotRecounted, match="list"):
        labels_for({"list": "countries"}, tmp_path, ["Italy"], ["Europe"])
    with pytest.raises(ReleaseError, match="no number"):
        labels_for({"intervals": ["5"]}, tmp_path, ["x"], ["0-4"])
    with pytest.raises(NotRecounted, match="two ways"):
        labels_for("ranges", tmp_path, ["1", "1.0"], ["1"])
    (tmp_path / "people.csv").write_text("age|city\n7|x\n7|x\n")
    assert read_people(tmp_path / "people.csv", ["city", "age"]) == {("x", "7"): 2}
    with pytest.raises(ReleaseError, match="lacks"):
        read_people(tmp_path / "people.csv", ["zip"])
