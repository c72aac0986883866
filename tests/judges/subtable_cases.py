"""Random small tables with rules for sub-tables and anatomies, and the verdict of the judge about a folder."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.judges.subtables import MOST_WORLDS, beliefs_of, read_release, records_in_worlds, satisfied

METHODS = ("guardian", "utility-aware", "single-attribute", "anatomy")
ORDER = ["d1", "d0", "d2"]
TREE = {"any": {"few": ["d0"], "more": ["d1", "d2"]}}
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("l-diversity", {"l": 2}), ("l-diversity", {"l": 3}), ("l-diversity", {"l": 2, "kind": "frequency"}),
    ("l-diversity", {"l": 1.5, "kind": "frequency"}), ("l-diversity", {"l": 1.7, "kind": "entropy"}),
    ("l-diversity", {"l": 2, "kind": "recursive", "c": 2}), ("p-sensitivity", {"p": 2}), ("t-closeness", {"t": 0.2}),
    ("t-closeness", {"t": 0.4}), ("beta-likeness", {"beta": 0.5}), ("delta-disclosure", {"delta": 1.0}),
]  # fmt: skip
OF_ONE_COLUMN: list[tuple[str, dict[str, Any]]] = [
    ("t-closeness", {"t": 0.25, "distance": "ordered", "order": ORDER}),
    ("t-closeness", {"t": 0.4, "distance": "ordered", "order": ORDER}),
    ("t-closeness", {"t": 0.25, "distance": "hierarchical", "tree": TREE}),
    ("t-closeness", {"t": 0.4, "distance": "hierarchical", "tree": TREE}),
    ("beta-likeness", {"beta": 1, "kind": "enhanced"}),
]
"""Of column d alone, which has an order and a tree."""


def random_rules(
    chance: random.Random, method: str, most: int, *, closeness: bool = False
) -> tuple[dict[str, list[str]], list[dict[str, Any]]]:
    """A table of four columns and four to `most` rows, and one to three rules; of an anatomy one or two sensitive
    columns."""
    rows = chance.randint(4, most)
    data = {name: [f"{name}{chance.randrange(chance.choice([2, 3]))}" for _ in range(rows)] for name in "abcd"}
    if method == "anatomy":
        secret_columns = chance.choice(["d", "cd"])
        given = ["a", "b"]
        return data, [{"given": given, "hide": name, "by": _by(chance, name, closeness)} for name in secret_columns]
    rules: list[dict[str, Any]] = []
    for _ in range(chance.randint(1, 3)):
        hide = chance.sample("abcd", chance.choice([1, 1, 1, 2]))
        given = chance.sample([name for name in "abcd" if name not in hide], chance.choice([1, 2]))
        name = hide[0] if len(hide) == 1 else ""
        rule = {"given": given, "hide": name or hide, "by": _by(chance, name, closeness)}
        rules += [rule] if rule not in rules else []
    return data, rules


def _by(chance: random.Random, name: str, closeness: bool) -> dict[str, Any]:
    models = OF_ONE_COLUMN if closeness and name == "d" and chance.random() < 0.7 else MODELS
    return dict([chance.choice(models)])


def policy_of(data: dict[str, list[str]], rules: Sequence[dict[str, Any]], method: str) -> dict[str, Any]:
    hidden = {rule["hide"] for rule in rules} if method == "anatomy" else set()
    roles = {
        name: ("sensitive" if name in hidden else "quasi-identifier") if method == "anatomy" else "other"
        for name in data
    }
    return {"version": 1, "columns": roles, "protect": list(rules), "method": method}


def verdicts(folder: Path, rules: Sequence[dict[str, Any]], most: int = MOST_WORLDS) -> list[bool]:
    """For every rule whether all possible worlds keep it; `Unjudged` when there are more than `most` of them."""
    records = records_in_worlds(read_release(folder, rules[-1]["hide"][0]), most)
    found = []
    for rule in rules:
        ((model, level),) = rule["by"].items()
        found.append(satisfied(model, level, beliefs_of(records, rule["given"], list(rule["hide"]))))
    return found
