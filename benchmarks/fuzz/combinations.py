"""Sub-tables and anatomies under rules that hide columns and combinations, judged by all possible worlds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import ClassVar

from benchmarks.fuzz.story import Kind, Story
from tests.judges.subtable_cases import METHODS, policy_of, random_rules, verdicts
from tests.judges.subtables import Sheet, Unjudged, beliefs, satisfied

MOST_WORLDS = 4_000


class CombinationKind(Kind):
    """One to three rules, each with a model of its own; distances of all three kinds."""

    name: ClassVar[str] = "combinations"
    form: ClassVar[str] = "sub-tables"
    weight: ClassVar[float] = 3.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        method = rng.choice(METHODS)
        data, rules = random_rules(rng, method, rng.choice([4, 5, 5, 6]), closeness=rng.random() < 0.4)
        tree = policy_of(data, rules, method)
        records = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
        return Story(tree, data, data, records, f"{method}, combinations")

    def judge(self, story: Story, folder: Path) -> list[str]:
        found = verdicts(folder, story.tree["protect"], MOST_WORLDS)
        return [str(rule) for rule, kept in zip(story.tree["protect"], found, strict=True) if not kept]

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """What the sub-table kind spoils is not spoilt twice: only whole claims are looked at here."""
        return []

    def release_exists(self, story: Story) -> str:
        """Every column in a table of its own is a release."""
        if story.tree["method"] == "anatomy":
            return ""
        alone = [Sheet((name,), tuple((value,) for value in values)) for name, values in story.data.items()]
        try:
            for rule in story.tree["protect"]:
                ((model, level),) = rule["by"].items()
                hide = list(rule["hide"])
                named = [sheet for sheet in alone if sheet.columns[0] in hide]
                if not satisfied(model, level, beliefs(named, [], hide)):
                    return ""
        except Unjudged:
            return ""
        return "every column may be published alone"
