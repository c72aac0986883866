"""Anatomy: exact quasi-identifiers with a bucket number, and per bucket the counts of hidden values."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.fuzz.recoded import with_nulls
from benchmarks.fuzz.story import Kind, Rows, Story, columns_of, rows_of
from tests.house import brute
from tests.house.cases import random_claims

MODELS = ["p-sensitivity", "distinct", "frequency", "entropy", "recursive", "equal", "ordered"]


class AnatomyKind(Kind):
    """Two tables linked by buckets only."""

    name: ClassVar[str] = "anatomy"
    form: ClassVar[str] = "anatomy"
    weight: ClassVar[float] = 4.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        hidden = [f"s{i}" for i in range(rng.choice([1, 1, 2]))]
        quasi = [f"q{i}" for i in range(rng.randint(1, 2))]
        values = {name: [f"v{j}" for j in range(rng.randint(1, 4))] + [""] * (rng.random() < 0.2) for name in quasi}
        values |= {"note": ["x", "y"]} if rng.random() < 0.3 else {}
        values |= {name: [str(j) for j in range(rng.randint(2, 5))] for name in hidden}
        records = [{name: rng.choice(some) for name, some in values.items()} for _ in range(rng.randint(2, 12))]
        roles = dict.fromkeys(quasi, "quasi-identifier") | dict.fromkeys(hidden, "sensitive")
        tree: dict[str, Any] = {"version": 1, "columns": {name: roles.get(name, "other") for name in values}}
        tree["protect"] = [
            _partly(rng, claim, quasi, hidden)
            for claim in random_claims(rng, rng.sample(MODELS, rng.choice([1, 1, 2])))
        ]
        tree["method"] = {"anatomy": {}}
        return Story(tree, columns_of(with_nulls(rng, records)), columns_of(records), records, "anatomy")

    def judge(self, story: Story, folder: Path) -> list[str]:
        hidden = brute.published_names(brute.columns_of(story.tree), "sensitive")
        shown = rows_of(folder / "data.csv")
        visible = [name for name in story.records[0] if name not in hidden]
        wrong = []
        if {tuple(row) for row in shown} != {(*visible, "bucket")}:
            wrong.append("columns")
        if Counter(tuple(row[name] for name in visible) for row in shown) != Counter(
            tuple(r[n] for n in visible) for r in story.records
        ):
            wrong.append("other people")
        counts = {
            name: counts_of(folder / ("sensitive.csv" if len(hidden) == 1 else f"sensitive-{name}.csv"))
            for name in hidden
        }
        size = Counter(row["bucket"] for row in shown)
        if any({bucket: count.total() for bucket, count in listed.items()} != dict(size) for listed in counts.values()):
            wrong.append("buckets")
        elif not all(
            possible(shown, listed, people_of(story.records, visible, [name]), visible)
            for name, listed in counts.items()
        ):
            wrong.append("untruthful")
        for claim in story.tree["protect"]:
            given, hide, model, level = brute.claim_of(claim, brute.columns_of(story.tree))
            whole = [total(counts[name]) for name in hide]
            for rows in brute.classes(shown, given):
                if not brute.believed(len(rows), [mixture(rows, counts[name]) for name in hide], whole, model, level):
                    wrong.append(model)
                    break
        return wrong

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Whether people who look alike can be placed so in several buckets is more than `verify` decides, and it says
        so."""
        return [what for what in super().judge_spoilt(story, folder) if what != "untruthful"]

    def refused_falsely(self, story: Story) -> str:
        """One bucket of everybody is a release."""
        columns, records = brute.columns_of(story.tree), story.records
        claims = [brute.claim_of(claim, columns) for claim in story.tree["protect"]]
        one = all(brute.satisfies(records, records, hide, model, level) for _, hide, model, level in claims)
        return "one bucket holds everybody" if one else ""


def _partly(rng: random.Random, claim: dict[str, Any], quasi: list[str], hidden: list[str]) -> dict[str, Any]:
    if rng.random() < 0.6:
        return claim
    return {"given": rng.sample(quasi, rng.randint(1, len(quasi))), "hide": [rng.choice(hidden)], "by": claim}


def counts_of(file: Path) -> dict[str, Counter[str]]:
    """Per bucket how often each value is listed."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows_of(file):
        found[row["bucket"]][row["value"]] += int(row["count"])
    return dict(found)


def total(listed: dict[str, Counter[str]]) -> Counter[str]:
    return sum(listed.values(), Counter())


def mixture(rows: Rows, listed: dict[str, Counter[str]]) -> dict[str, Fraction]:
    """What somebody who knows only that a person is one of these rows believes."""
    belief: dict[str, Fraction] = defaultdict(Fraction)
    for row in rows:
        bucket = listed[row["bucket"]]
        for value, count in bucket.items():
            belief[value] += Fraction(count, bucket.total())
    return dict(belief)


def possible(
    shown: Rows, listed: dict[str, Counter[Any]], people: Counter[tuple[Any, Any]], visible: list[str]
) -> bool:
    """Whether people (visible and hidden values) can be placed so that every row and every entry of a bucket is
    somebody's.

    By trying everything; equal people are placed in the order of the buckets.
    """
    seats = Counter((tuple(row[name] for name in visible), row["bucket"]) for row in shown)
    slots = Counter({(bucket, value): count for bucket, values in listed.items() for value, count in values.items()})
    kinds, buckets = sorted(people), sorted(listed)

    def place(at: int, left: int, first: int) -> bool:
        if left == 0:
            return at + 1 == len(kinds) or place(at + 1, people[kinds[at + 1]], 0)
        for number in range(first, len(buckets)):
            seat, slot = (kinds[at][0], buckets[number]), (buckets[number], kinds[at][1])
            if seats[seat] and slots[slot]:
                seats[seat] -= 1
                slots[slot] -= 1
                if place(at, left - 1, number):
                    return True
                seats[seat] += 1
                slots[slot] += 1
        return False

    return place(0, people[kinds[0]], 0)


def people_of(records: Rows, visible: list[str], hidden: list[str]) -> Counter[tuple[Any, Any]]:
    """How many people there are of each kind; one hidden column is its value, several are a tuple."""
    return Counter(
        (tuple(record[n] for n in visible), record[hidden[0]] if len(hidden) == 1 else tuple(record[n] for n in hidden))
        for record in records
    )
