"""Drawn records: equals in every published column, levels kept, and δ by listing what a cell shows with and without a
person."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.fuzz.story import Kind, Story, columns_of, rows_of
from tests.house import brute
from tests.house.cases import random_tree

CELLS = 90
"""Sizes of a cell up to which δ is counted."""


class SampledKind(Kind):
    """(ε, δ)-differential privacy by sampling."""

    name: ClassVar[str] = "sampled"
    form: ClassVar[str] = "sampled table"
    weight: ClassVar[float] = 0.7

    def draw(self, rng: random.Random, place: Path) -> Story:
        columns: dict[str, Any] = {"id": "identifier"}
        values = {}
        for i in range(rng.randint(1, 2)):
            leaves = [f"{i}{letter}" for letter in "abcdef"[: rng.randint(2, 6)]]
            columns[f"q{i}"] = {
                "role": "quasi-identifier",
                "hierarchy": {f"all{i}": random_tree(rng, list(leaves), f"q{i}")},
            }
            values[f"q{i}"] = leaves
        columns["s0"], values["s0"] = "sensitive", [str(j) for j in range(rng.randint(1, 3))]
        records = [
            {"id": str(i)}
            | {name: rng.choice(options[: rng.randint(1, len(options))]) for name, options in values.items()}
            for i in range(rng.randint(0, 160))
        ] or [{"id": "0"} | {name: options[0] for name, options in values.items()}]
        level = {"epsilon": rng.choice([0.3, 0.7, 1.0, 2.0]), "delta": rng.choice([0.001, 0.01, 0.1])}
        settings: dict[str, Any] = {}
        if rng.random() < 0.5:
            settings["levels"] = {name: rng.randint(0, 2) for name in values if name.startswith("q")}
        if rng.random() < 0.3:
            settings["fraction"] = rng.choice([0.1, 0.25, 0.5])
        tree = {
            "version": 1,
            "columns": columns,
            "protect": [{"differential-privacy": level}],
            "method": {"sampled": settings},
        }
        return Story(tree, columns_of(records), columns_of(records), records, "sampled")

    def judge(self, story: Story, folder: Path) -> list[str]:
        rows = rows_of(folder / "data.csv")
        drawn = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["public"]
        level = story.tree["protect"][0]["differential-privacy"]
        wrong = []
        if not brute.perfect_matching(rows, story.records, brute.columns_of(story.tree)):
            wrong.append("untruthful")
        if any(count < drawn.get("threshold", 1) for count in Counter(tuple(row.values()) for row in rows).values()):
            wrong.append("fewer look-alikes than the manifest says")
        if (
            worst(drawn["fraction"], drawn.get("threshold", 1), level["epsilon"] - drawn.get("search", 0.0))
            > level["delta"] + 1e-12
        ):
            wrong.append("a person changes more than is promised")
        return wrong


def worst(fraction: float, threshold: int, epsilon: float) -> float:
    """The largest excess over all cells of up to so many records, in both directions."""
    shown = [_shown(n, fraction, threshold) for n in range(CELLS + 1)]
    pairs = [pair for n in range(1, CELLS + 1) for pair in ((shown[n], shown[n - 1]), (shown[n - 1], shown[n]))]
    return max(
        sum(max(chance - math.exp(epsilon) * other.get(what, 0.0), 0.0) for what, chance in one.items())
        for one, other in pairs
    )


def _shown(n: int, fraction: float, threshold: int) -> dict[int, float]:
    """How many of n records of a cell are published, and how likely."""
    found: Counter[int] = Counter()
    for drawn in range(n + 1):
        chance = math.comb(n, drawn) * fraction**drawn * (1 - fraction) ** (n - drawn)
        found[drawn if drawn >= threshold else 0] += chance  # type: ignore[assignment]
    return dict(found)
