"""Set-valued records: possible worlds of every published row by listing them."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.story import Kind, Story, rows_of
from sfumato.data.baskets import Baskets
from sfumato.kinds.baskets.methods.blocks import BasketBlocking
from sfumato.kinds.baskets.methods.nonreciprocal import Nonreciprocal
from tests.house.cases import settings_of

SETTINGS = list(settings_of(Nonreciprocal, 0.0))
BLOCKS = list(settings_of(BasketBlocking, 0.0))
ITEMS = "abcde"
World = frozenset[str]


class BasketKind(Kind):
    """A base set, doubtful items and a threshold for every person."""

    name: ClassVar[str] = "baskets"
    form: ClassVar[str] = "baskets"
    weight: ClassVar[float] = 2.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        count = rng.randint(2, 14)
        sets = [sorted(item for item in ITEMS if rng.random() < 0.4) for _ in range(count)]
        labels = [f"l{rng.randint(0, rng.choice([2, 4, 8]))}" for _ in range(count)]
        tree: dict[str, Any] = {"version": 1, "data": {"kind": "baskets"}, "columns": {"label": "sensitive"}}
        tree["protect"] = rng.sample(_claims(rng), rng.choice([1, 1, 2]))
        tree["method"] = {"nonreciprocal": dict(rng.choice(SETTINGS))}
        data = Baskets.of(sets, {"label": labels}, names=list(ITEMS))
        records = [(frozenset(items), label) for items, label in zip(sets, labels, strict=True)]
        return Story(tree, data, data, records, "nonreciprocal")

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["candidates"] = made.release.trace.assignments.T.tolist()

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows = rows_of(folder / "data.csv")
        worlds = [_worlds(row) for row in rows]
        fits = [[person[0] in world for world in worlds] for person in story.records]
        wrong = [] if len(rows) == len(story.records) and _placed(story.records, rows, fits) else ["untruthful"]
        for claim in story.tree["protect"]:
            ((model, level),) = claim.items()
            if not all(
                self._holds(story, person, rows, worlds, fits, model, level) for person in range(len(story.records))
            ):
                wrong.append(model)
        return wrong

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Nobody keeps who was drawn with whom, so shares of labels among them are not demanded."""
        counted = [claim for claim in story.tree["protect"] if claim.get("l-diversity", {}).get("kind") != "frequency"]
        return super().judge_spoilt(replace(story, tree=story.tree | {"protect": counted}), folder)

    def _holds(
        self,
        story: Story,
        person: int,
        rows: list[Any],
        worlds: list[set[World]],
        fits: list[list[bool]],
        model: str,
        level: Any,
    ) -> bool:
        mine = [row for row, fit in enumerate(fits[person]) if fit]
        if model == "k-anonymity":
            return len(mine) >= level["k"]
        if model == "km-anonymity":
            items = sorted(story.records[person][0])
            known = [set(some) for size in range(1, level["m"] + 1) for some in combinations(items, size)]
            return all(sum(any(some <= world for world in each) for each in worlds) >= level["k"] for some in known)
        shown = {rows[row]["label"] for row in mine} - {""}
        if model == "p-sensitivity" or level.get("kind", "distinct") == "distinct":
            wanted = level.get("p", level.get("l"))
            return wanted <= 1 or len(shown) >= wanted  # a label that is withheld is one, whatever it is
        drawn = [row for row, people in enumerate(story.known["candidates"]) if person in people]
        counted = Counter(rows[row]["label"] for row in drawn if rows[row]["label"])
        return set(drawn) <= set(mine) and max(counted.values(), default=0) * level["l"] <= len(drawn)


class BlockKind(BasketKind):
    """Disjoint blocks, a row of its block for every person."""

    name: ClassVar[str] = "blocks"
    form: ClassVar[str] = "basket blocks"

    def draw(self, rng: random.Random, place: Path) -> Story:
        story = super().draw(rng, place)
        settings = dict(rng.choice(BLOCKS)) | ({"insiders": 1} if rng.random() < 0.2 else {})
        story.tree["method"] = {"blocks": settings}
        return replace(story, method="blocks")

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["behind"] = made.release.trace.rows["data"].tolist()

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows = rows_of(folder / "data.csv")
        blocks: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            blocks.setdefault(row["block"], []).append(place)
        behind = story.known["behind"]
        if sorted(behind) != list(range(len(rows))) or any(
            rows[place]["label"] not in ("", story.records[who][1]) for place, who in enumerate(behind)
        ):
            return ["untruthful"]
        wrong = []
        if not _dealt(folder):
            worlds = [_worlds(row) for row in rows]
            fit = all(
                story.records[behind[one]][0] in worlds[other]
                for some in blocks.values()
                for one in some
                for other in some
            )
            wrong += [] if fit else ["a record does not fit every row of its block"]
        return wrong + self._claimed(story, rows, list(blocks.values()))

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Who stands behind a row that was changed nobody knows; what is counted in blocks everybody can."""
        rows = rows_of(folder / "data.csv")
        blocks: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            blocks.setdefault(row["block"], []).append(place)
        labels, shown = (
            Counter(label for _, label in story.records),
            Counter(row["label"] for row in rows if row["label"]),
        )
        wrong = ["untruthful"] if len(rows) != len(story.records) or shown - labels else []
        return wrong + self._claimed(story, rows, list(blocks.values()))

    def _claimed(self, story: Story, rows: list[dict[str, str]], blocks: list[list[int]]) -> list[str]:
        """Claims on candidates and on labels that are shown; what hidden ones say is enumerated by the tests of the
        rule."""
        insiders = story.tree["method"]["blocks"].get("insiders", 0)
        wrong = []
        for claim in story.tree["protect"]:
            ((model, level),) = claim.items()
            for some in blocks:
                left, shown = (
                    len(some) - insiders,
                    Counter(rows[place]["label"] for place in some if rows[place]["label"]),
                )
                most, hidden = max(shown.values(), default=0), len(some) - shown.total()
                if model == "k-anonymity":
                    bad = left < level["k"]
                elif model == "l-diversity" and level.get("kind") == "frequency":
                    bad = min(most, left) * level["l"] > left
                else:
                    bad = model != "km-anonymity" and not hidden and len(shown) < level.get("p", level.get("l"))
                wrong += [model] * bad
        return wrong


def _dealt(folder: Path) -> bool:
    """Whether the rows of a block share its items out, and no row is anybody's."""
    return bool(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["public"].get("shows") == "dealt")


def _claims(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"k-anonymity": {"k": rng.randint(1, 5)}},
        {"l-diversity": {"l": rng.choice([1, 2, 3, 1.5]), "kind": "frequency"}},
        {"p-sensitivity": {"p": rng.randint(1, 3)}},
        {"l-diversity": {"l": rng.randint(1, 3)}},
        {"km-anonymity": {"k": rng.randint(1, 4), "m": rng.randint(1, 2)}},
    ]


def _worlds(row: dict[str, str]) -> set[World]:
    """Every set that differs from the base in at most so many of the doubtful items."""
    base, doubt = set(row["items"].split()), row["distance_items"].split()
    return {
        frozenset(base ^ set(some)) for size in range(int(row["threshold"]) + 1) for some in combinations(doubt, size)
    }


def _placed(people: list[Any], rows: list[dict[str, str]], fits: list[list[bool]]) -> bool:
    """Whether everybody has a row of their own: one of its worlds, and their label or none."""
    owner: dict[int, int] = {}

    def augment(person: int, seen: set[int]) -> bool:
        for row in range(len(rows)):
            fit = fits[person][row] and rows[row]["label"] in ("", people[person][1])
            if fit and row not in seen:
                seen.add(row)
                if row not in owner or augment(owner[row], seen):
                    owner[row] = person
                    return True
        return False

    return all(augment(person, set()) for person in range(len(people)))
