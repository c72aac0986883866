"""Tiny recoding policies, and their best release by trying every partition of the records; written from the
definitions."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from functools import cache
from typing import Any

Row = dict[str, str]
INFINITE = math.inf


def random_tree(rng: random.Random, leaves: list[str], name: str) -> Any:
    """A random tree with inner nodes here and there."""
    if len(leaves) <= 2 or rng.random() < 0.3:
        return {name: list(leaves)}
    cut = rng.randint(1, len(leaves) - 1)
    left, right = leaves[:cut], leaves[cut:]
    return {name: {**random_tree(rng, left, f"{name}a"), **random_tree(rng, right, f"{name}b")}}


def nodes(tree: Any) -> list[str]:
    if isinstance(tree, dict):
        return [label for key, below in tree.items() for label in (key, *nodes(below))]
    return []


def random_claims(rng: random.Random, linear: bool) -> list[dict[str, Any]]:
    kinds = ["k", "p", "distinct", "frequency", "alpha"] + ([] if linear else ["entropy", "recursive"])
    claims: list[dict[str, Any]] = [{"k-anonymity": {"k": rng.randint(2, 4)}}] if rng.random() < 0.6 else []
    for kind in rng.sample(kinds, 1 if claims else rng.randint(1, 2)):
        if kind == "k":
            claims.append({"k-anonymity": {"k": rng.randint(2, 4)}})
        elif kind == "p":
            claims.append({"p-sensitivity": {"p": rng.randint(2, 3)}})
        elif kind == "alpha":
            claims.append({"alpha-k-anonymity": {"alpha": rng.choice([0.5, 0.6, 0.75]), "k": rng.randint(1, 3)}})
        else:
            claims.append({"l-diversity": {"l": rng.choice([2, 2, 3]), "kind": kind}})
    return [claim for place, claim in enumerate(claims) if claim not in claims[:place]]  # equal ones are refused


def random_policy(
    seed: int, *, most: int = 9, linear: bool = True, budget: bool = False
) -> tuple[dict[str, Any], list[Row]]:
    """A policy without method, and records."""
    rng = random.Random(seed)
    columns: dict[str, Any] = {}
    values: dict[str, list[str]] = {}
    for i in range(rng.randint(1, 3)):
        name, size = f"q{i}", rng.randint(2, 6)
        columns[name] = {"role": "quasi-identifier"}
        if rng.random() < 0.25:
            values[name] = [str(v) for v in sorted(rng.sample(range(20), size))]
            columns[name]["hierarchy"] = "ranges"
        else:
            values[name] = [f"v{j}" for j in range(size)]
            if rng.random() < 0.8:
                columns[name]["hierarchy"] = random_tree(rng, values[name], name)
                inner = nodes(columns[name]["hierarchy"])
                if rng.random() < 0.3:
                    columns[name]["boundary"] = rng.sample(inner, rng.randint(1, min(2, len(inner))))
    columns["s"] = "sensitive"
    values["s"] = [f"s{j}" for j in range(rng.randint(2, 4))]
    records = [{name: rng.choice(some) for name, some in values.items()} for _ in range(rng.randint(3, most))]
    utility: dict[str, Any] = {"minimize": rng.choice(["loss", "loss", "ntil"] if not budget else ["loss"])}
    if budget:
        utility["suppress_at_most"] = rng.choice([0.1, 0.3, 0.5])
    return {"version": 1, "columns": columns, "protect": random_claims(rng, linear), "utility": utility}, records


def chains(tree: Any, above: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """leaf → (leaf, …, root)."""
    if isinstance(tree, dict):
        return {leaf: chain for label, below in tree.items() for leaf, chain in chains(below, (label, *above)).items()}
    return {leaf: (leaf, *above) for leaf in tree}


class Column:
    """What a quasi-identifier may be published as, and what that costs."""

    def __init__(self, spec: dict[str, Any], values: set[str], objective: str) -> None:
        self.ranges = spec.get("hierarchy") == "ranges"
        self.values, self.objective = values, objective
        tree = spec.get("hierarchy") or {"*": sorted(values)}
        self.chains = {} if self.ranges else chains(tree)
        self.boundary = set(spec.get("boundary") or ())
        self.known: dict[frozenset[str], float] = {}

    def ceiling(self, value: str) -> str:
        if self.ranges:
            return "*"
        return next((label for label in self.chains[value] if label in self.boundary), self.chains[value][-1])

    def cost(self, group: frozenset[str]) -> float:
        """The cost of the smallest publishable cell around some values of one region; most groups have the values of
        another."""
        if group not in self.known:
            self.known[group] = self._cost(group)
        return self.known[group]

    def _cost(self, group: frozenset[str]) -> float:
        if self.ranges:
            span = max(map(float, self.values)) - min(map(float, self.values))
            return (max(map(float, group)) - min(map(float, group))) / (span or 1.0)
        label = next(label for label in self.chains[min(group)] if all(label in self.chains[value] for value in group))
        if self.objective == "ntil":
            return self._height(label) / max(self._height(self.chains[min(group)][-1]), 1)
        below = sum(label in chain for chain in self.chains.values())
        return (below - 1) / max(len(self.chains) - 1, 1)

    def _height(self, label: str) -> int:
        """Longest way down, where nodes over the same leaves count once."""
        steps = []
        for chain in self.chains.values():
            if label in chain:
                inside = chain[: chain.index(label) + 1]
                steps.append(
                    len({frozenset(leaf for leaf, other in self.chains.items() if node in other) for node in inside})
                    - 1
                )
        return max(steps)


def holds(group: list[Row], claims: list[dict[str, Any]]) -> bool:
    count = Counter(row["s"] for row in group)
    ranked, total = sorted(count.values(), reverse=True), len(group)
    for claim in claims:
        ((model, level),) = claim.items()
        kind = level.get("kind", "distinct")
        if model == "k-anonymity":
            fine = total >= level["k"]
        elif model == "p-sensitivity":
            fine = len(count) >= level["p"]
        elif model == "alpha-k-anonymity":
            fine = total >= level["k"] and ranked[0] <= level["alpha"] * total + 1e-9
        elif kind == "distinct":
            fine = len(count) >= level["l"]
        elif kind == "frequency":
            fine = ranked[0] * level["l"] <= total
        elif kind == "entropy":
            fine = -sum(n / total * math.log(n / total) for n in ranked) >= math.log(level["l"]) - 1e-9
        else:
            fine = len(ranked) >= level["l"] and ranked[0] < 3.0 * sum(ranked[level["l"] - 1 :])
        if not fine:
            return False
    return True


def least_loss(policy: dict[str, Any], records: list[Row]) -> float | None:
    """The least possible figure over all partitions of the records; none when nothing can be published."""
    objective = policy["utility"]["minimize"]
    specs = {name: spec for name, spec in policy["columns"].items() if isinstance(spec, dict)}
    columns = {name: Column(spec, {row[name] for row in records}, objective) for name, spec in specs.items()}
    regions: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in records:
        regions[tuple(column.ceiling(row[name]) for name, column in columns.items())].append(row)
    whole = [rows for rows in regions.values() if holds(rows, policy["protect"])]
    must = len(records) - sum(map(len, whole))
    limit = policy["utility"].get("suppress_at_most")
    if not whole or (limit is not None and must > limit * len(records) + 1e-9):
        return None
    budget = int(limit * len(records) + 1e-9) - must if limit is not None else 0
    best = {0: 0.0}
    for rows in whole:
        costs = _best(rows, columns, policy["protect"], budget)
        best = {
            total: min(best[before] + costs[total - before] for before in best if 0 <= total - before <= budget)
            for total in range(budget + 1)
        }
    return (min(best.values()) + must) / len(records)


def _best(rows: list[Row], columns: dict[str, Column], claims: list[dict[str, Any]], budget: int) -> list[float]:
    """The least cost of one region when at most 0, 1, … `budget` of its records are suppressed by choice."""
    full = (1 << len(rows)) - 1

    @cache
    def cost(mask: int) -> float:
        group = [row for i, row in enumerate(rows) if mask >> i & 1]
        if not holds(group, claims):
            return INFINITE
        return (
            len(group)
            * sum(column.cost(frozenset(row[name] for row in group)) for name, column in columns.items())
            / len(columns)
        )

    @cache
    def best(mask: int, left: int) -> float:
        if not mask:
            return 0.0
        first = mask & -mask
        rest = mask ^ first
        found = 1.0 + best(rest, left - 1) if left else INFINITE
        some = rest
        while True:
            group = cost(first | some)
            if group < found:
                found = min(found, group + best(rest ^ some, left))
            if not some:
                return found
            some = (some - 1) & rest

    return [best(full, spent) for spent in range(budget + 1)]
