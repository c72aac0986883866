"""A checker written from the definitions: plain Python over rows, no code of the product but the parsed policy's numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

Row = dict[str, str]
Tree = Any


def paths(tree: Tree, above: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """leaf → (leaf, …, root) of nested mappings and lists."""
    if isinstance(tree, dict):
        found: dict[str, tuple[str, ...]] = {}
        for label, below in tree.items():
            found |= paths(below, (label, *above))
        return found
    return {leaf: (leaf, *above) for leaf in tree}


def allowed_labels(leaf: str, column: dict[str, Any]) -> set[str]:
    """The labels this value may be published as, boundaries included."""
    if column.get("hierarchy") is None:
        return {leaf, "*"}
    chain = paths(column["hierarchy"])[leaf]
    boundary = set(column.get("boundary") or ())
    for i, label in enumerate(chain):
        if label in boundary:
            return set(chain[: i + 1])
    return set(chain)


def covers(row: Row, record: Row, columns: dict[str, dict[str, Any]]) -> bool:
    for name, column in columns.items():
        if column["role"] == "quasi-identifier" and row[name] not in allowed_labels(record[name], column):
            return False
        if column["role"] in ("sensitive", "other") and row[name] != record[name]:
            return False
    return True


def perfect_matching(rows: list[Row], records: list[Row], columns: dict[str, dict[str, Any]]) -> bool:
    """Every row stands for a record of its own (augmenting paths)."""
    edges = [[j for j, record in enumerate(records) if covers(row, record, columns)] for row in rows]
    owner: dict[int, int] = {}

    def augment(i: int, seen: set[int]) -> bool:
        for j in edges[i]:
            if j not in seen:
                seen.add(j)
                if j not in owner or augment(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    return all(augment(i, set()) for i in range(len(rows)))


def classes(rows: list[Row], given: list[str]) -> list[list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in given)].append(row)
    return list(groups.values())


def satisfies(group: list[Row], everything: list[Row], hide: list[str], model: str, level: dict[str, Any]) -> bool:
    counts = [Counter(row[name] for row in group) for name in hide]
    if model == "k-anonymity":
        return len(group) >= level["k"]
    if model == "p-sensitivity":
        return all(len(count) >= level["p"] for count in counts)
    if model == "alpha-k-anonymity":
        return len(group) >= level["k"] and all(max(c.values()) <= level["alpha"] * len(group) + 1e-9 for c in counts)
    if model == "k-linkability":
        return all(len(count) >= level["k"] for count in counts)
    if model == "k-diversity":
        return all(max(count.values()) * Fraction(str(level["k"])) <= len(group) for count in counts)
    if model == "l-diversity":
        return all(diverse(count, level) for count in counts)
    if model == "t-closeness":
        return all(
            distance(count, Counter(row[name] for row in everything), level["distance"]) <= level["t"] + 1e-9
            for name, count in zip(hide, counts, strict=True)
        )
    raise AssertionError(model)


def diverse(count: Counter[str], level: dict[str, Any]) -> bool:
    total, l = sum(count.values()), level["l"]
    kind = level.get("kind", "distinct")
    if kind == "distinct":
        return len(count) >= l
    if kind == "frequency":
        return max(count.values()) * l <= total
    if kind == "entropy":
        return -sum(n / total * math.log(n / total) for n in count.values()) >= math.log(l) - 1e-9
    ranked = sorted(count.values(), reverse=True)
    return len(ranked) >= l and ranked[0] < level["c"] * sum(ranked[l - 1 :])


def distance(count: Counter[str], overall: Counter[str], kind: str) -> float:
    n, m = sum(count.values()), sum(overall.values())
    gap = {value: Fraction(count[value], n) - Fraction(overall[value], m) for value in overall}
    if kind == "equal":
        return float(sum(abs(g) for g in gap.values()) / 2)
    order = sorted(overall, key=float)
    if len(order) < 2:
        return 0.0
    running = list(itertools.accumulate(gap[value] for value in order))
    return float(sum(abs(g) for g in running) / (len(order) - 1))


def violations(published: list[Row], records: list[Row], policy: dict[str, Any]) -> list[str]:
    """Everything that is wrong with a recoded release, by the definitions."""
    columns = {name: ({"role": c} if isinstance(c, str) else c) for name, c in policy["columns"].items()}
    given = [name for name, column in columns.items() if column["role"] == "quasi-identifier"]
    hide = [name for name, column in columns.items() if column["role"] == "sensitive"]
    wrong = []
    if any(set(row) != {name for name, column in columns.items() if column["role"] != "identifier"} for row in published):
        wrong.append("columns")
    if not perfect_matching(published, records, columns):
        wrong.append("untruthful or beyond a boundary")
    for claim in policy["protect"]:
        ((model, level),) = claim.items()
        if not all(satisfies(group, published, hide, model, level) for group in classes(published, given)):
            wrong.append(model)
    return wrong


def savable(records: list[Row], policy: dict[str, Any]) -> int:
    """How many records generalization alone can publish for claims on numbers and distinct values [boundaries Prop. 5, 6]."""
    columns = {name: ({"role": c} if isinstance(c, str) else c) for name, c in policy["columns"].items()}
    hide = [name for name, column in columns.items() if column["role"] == "sensitive"]
    quasi = [name for name, column in columns.items() if column["role"] == "quasi-identifier"]
    regions: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for record in records:
        regions[tuple(_ceiling(record[name], columns[name]) for name in quasi)].append(record)
    safe = 0
    for region in regions.values():
        if all(satisfies(region, records, hide, *next(iter(claim.items()))) for claim in policy["protect"]):
            safe += len(region)
    return safe


def _ceiling(leaf: str, column: dict[str, Any]) -> str:
    if column.get("hierarchy") is None:
        return "*"
    chain = paths(column["hierarchy"])[leaf]
    return next((label for label in chain if label in set(column.get("boundary") or ())), chain[-1])
