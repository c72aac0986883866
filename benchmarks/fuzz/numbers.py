"""Averages of groups, single suppressed cells, and values that chance changed: counted from the definitions."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.story import Kind, Rows, Story, columns_of, rows_of
from tests.house import brute
from tests.house.cases import random_claims
from tests.judges.perturbed import violations

SIMPLE = ("k-anonymity", "distinct", "p-sensitivity", "frequency")
PERTURBING = ("swapping", "shuffling", "noise", "pram")


def random_numbers(rng: random.Random, fewest: int = 1) -> tuple[dict[str, Any], Rows]:
    """One to three quasi-identifiers, numbers or words, a sensitive column, and some records."""
    columns: dict[str, Any] = {"id": "identifier"}
    values: dict[str, list[str]] = {}
    for i in range(rng.randint(1, 3)):
        columns[f"q{i}"] = "quasi-identifier"
        values[f"q{i}"] = [str(rng.randint(-20, 90)) for _ in range(6)] if rng.random() < 0.7 else list("abcd")
    columns["s0"], values["s0"] = "sensitive", [str(j) for j in range(rng.randint(1, 4))]
    records = [
        {"id": str(i)} | {name: rng.choice(options) for name, options in values.items()}
        for i in range(rng.randint(fewest, 24))
    ]
    return columns, records


class AveragedKind(Kind):
    """Groups that are published with their averages."""

    name: ClassVar[str] = "averaged"
    form: ClassVar[str] = "microaggregated table"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        columns, records = random_numbers(rng)
        claims = random_claims(rng, rng.sample(SIMPLE, rng.choice([1, 1, 2])))
        method = {"microaggregation": {"centre": rng.choice(["mean", "mean", "median", "mode"])}}
        tree = {"version": 1, "columns": columns, "protect": claims, "method": method}
        return Story(tree, columns_of(records), columns_of(records), records, "microaggregation")

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["behind"] = made.release.trace.rows["data"].tolist()

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows = rows_of(folder / "data.csv")
        if sorted(story.known["behind"]) != list(range(len(rows))):
            return ["other people"]
        return self.judge_spoilt(story, folder) + self._averages(story, rows)

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Who stands in which group nobody knows once rows were changed; numbers of people and values anybody can
        count."""
        rows = rows_of(folder / "data.csv")
        columns = brute.columns_of(story.tree)
        same = Counter(row["s0"] for row in rows) == Counter(record["s0"] for record in story.records)
        wrong = [] if same and len(rows) == len(story.records) else ["other values"]
        for claim in story.tree["protect"]:
            given, hide, model, level = brute.claim_of(claim, columns)
            if not all(brute.satisfies(group, rows, hide, model, level) for group in brute.classes(rows, given)):
                wrong.append(model)
        return wrong

    def _averages(self, story: Story, rows: Rows) -> list[str]:
        """Every group of rows that look alike shows the mean of its people's numbers, up to the digits that are
        written."""
        if story.tree["method"]["microaggregation"]["centre"] != "mean":
            return []
        quasi = brute.published_names(brute.columns_of(story.tree), "quasi-identifier")
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for row, person in zip(rows, story.known["behind"], strict=True):
            groups[tuple(row[name] for name in quasi)].append(person)
        for shown, people in groups.items():
            for name, text in zip(quasi, shown, strict=True):
                mine = [story.records[person][name] for person in people]
                if not mine[0].isalpha() and abs(float(text) - sum(map(float, mine)) / len(mine)) > 0.0051:
                    return [f"no mean of {name}"]
        return []


class SuppressedKind(Kind):
    """Single cells that are suppressed."""

    name: ClassVar[str] = "suppressed"
    form: ClassVar[str] = "locally suppressed table"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        columns, records = random_numbers(rng)
        claims = [{"subset-anonymity": {"k": rng.randint(1, 4), "m": rng.randint(1, 3)}}]
        tree = {"version": 1, "columns": columns, "protect": claims, "method": {"local-suppression": {"seconds": 0.2}}}
        return Story(tree, columns_of(records), columns_of(records), records, "local-suppression")

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows, columns = rows_of(folder / "data.csv"), brute.columns_of(story.tree)
        quasi = brute.published_names(columns, "quasi-identifier")
        level = story.tree["protect"][0]["subset-anonymity"]
        wrong = (
            []
            if len(rows) == len(story.records) and brute.perfect_matching(rows, story.records, columns)
            else ["untruthful"]
        )
        for known in combinations(quasi, min(level["m"], len(quasi))):
            if (
                min(Counter(tuple(row[name] for name in known) for row in rows).values(), default=level["k"])
                < level["k"]
            ):
                return [*wrong, "subset-anonymity"]
        return wrong

    def refused_falsely(self, story: Story) -> str:
        """A table that is suppressed everywhere is a release when there are k people at all."""
        level = story.tree["protect"][0]["subset-anonymity"]
        return "everything can be suppressed" if len(story.records) >= level["k"] else ""


class PerturbedKind(Kind):
    """Values that chance changed: what is left as it was, and how far a value may move."""

    name: ClassVar[str] = "perturbed"
    form: ClassVar[str] = "perturbed table"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        columns, records = random_numbers(rng, fewest=3)
        method = rng.choice(PERTURBING)
        settings: dict[str, Any] = {}
        if method == "swapping" and rng.random() < 0.7:
            settings["window"] = rng.choice([0.01, 0.2, 0.5, 1.0])
        elif method == "pram" and rng.random() < 0.7:
            settings["keep"] = rng.choice([0.1, 0.5, 0.99])
        elif method == "noise" and rng.random() < 0.7:
            settings["amount"] = rng.choice([0.001, 0.5, 4.0])
        if rng.random() < 0.3:
            settings["columns"] = ["q0"]
        tree = {"version": 1, "columns": columns, "method": {method: settings}}
        return Story(tree, columns_of(records), columns_of(records), records, method)

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["behind"] = made.release.trace.rows["data"].tolist()

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows, public = rows_of(folder / "data.csv"), json.loads((folder / "manifest.json").read_text())["public"]
        asked = story.tree["method"][story.method]
        quasi = brute.published_names(brute.columns_of(story.tree), "quasi-identifier")
        changed = asked.get("columns", quasi)
        return violations(story.method, asked, public, rows, story.known["behind"], story.records, changed)

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Which row was which record nobody can tell; values of columns anybody can count."""
        rows, asked = rows_of(folder / "data.csv"), story.tree["method"][story.method]
        quasi = brute.published_names(brute.columns_of(story.tree), "quasi-identifier")
        changed = asked.get("columns", quasi)
        moved = changed if story.method in ("noise", "pram") else []
        kept = [name for name in [*quasi, "s0"] if name not in moved]
        counted = all(Counter(row[name] for row in rows) == Counter(r[name] for r in story.records) for name in kept)
        known = all({row[name] for row in rows} <= {r[name] for r in story.records} for name in changed)
        right = len(rows) == len(story.records) and counted and (known or story.method == "noise")
        return [] if right else ["other values"]
